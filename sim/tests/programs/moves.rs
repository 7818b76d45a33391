//! Layout changes cost moves, and no arithmetic.

mod carries;
mod networks;

use crate::languages::{Outcome, climb_text};
use arch::machine::{Machine, MachineSpec};
use arch::timing;
use compiler::language::Language;
use serde_json::json;
use sim::array::Array;
use sim::grid::Stalls;

/// Words of the tensor that is laid out: 8 x 8.
const WORDS: u32 = 64;

/// Between a square and a product: what is laid out, from `P` to `R`; how `O` is made of it; words that move.
const MOVES: [(&str, &str, &str, u32); 5] = [
    (
        "reshape",
        "R(a, b) = P((a * 16 + b) / 8, (a * 16 + b) % 8) where a in 0:4, b in 0:16",
        "O(a, b) = R(a, b) * 1.5",
        WORDS,
    ),
    ("flatten", "R(k) = P(k / 8, k % 8) where k in 0:64", "O(k) = R(k) * 1.5", WORDS),
    ("transpose", "R(j, i) = P(i, j)", "O(i, j) = R(i, j) * 1.5", WORDS),
    ("repeat", "R(i, j) = P(i / 2, j) where i in 0:16", "O(i, j) = R(i, j) * 1.5", 2 * WORDS),
    ("upsample", "R(i, j) = P(i / 2, j / 2) where i in 0:16, j in 0:16", "O(i, j) = R(i, j) * 1.5", 4 * WORDS),
];

fn spec() -> MachineSpec {
    MachineSpec { pus: Some(8), pes_per_pu: Some(8), ..MachineSpec::default() }
}

/// Cycles of a step of `P(i, j) = X(i, j) * X(i, j)`, and of what follows.
fn cycles(follows: &str) -> u32 {
    let text = format!("def f(float(A, B) X) -> (O) {{\n  P(i, j) = X(i, j) * X(i, j)\n{follows}\n}}");
    let rows: Vec<Vec<f64>> =
        (0..8).map(|i| (0..8).map(|j| f64::from((8 * i + j) * 37 % 64) / 64.0 - 0.5).collect()).collect();
    let outcome = climb_text(Language::TensorComprehensions, &text, &json!({ "X": rows }), None, &spec());
    let Outcome::Climbs(climb) = outcome else { panic!("{follows}: refused") };
    let grid = Array::new(&climb.image().machine);
    climb.run(grid, Stalls::none()).unwrap_or_else(|fall| panic!("{follows}: {fall}"));
    climb.image().step_length
}

/// What is laid out is moved once, over the buses of eight rows: an eighth of a cycle for each word, and the way of the last one to where it is used. A sum over all words, of which all
/// but one are multiplied with 0, takes 64 times as long.
#[test]
fn layouts_cost_no_more_than_moves() {
    let without = cycles("O(i, j) = P(i, j) * 1.5");
    let way = timing::move_to_alu(&Machine::try_from(spec()).expect("8 x 8 PEs")) as u32;
    for (name, layout, use_, words) in MOVES {
        let with = cycles(&format!("  {layout}\n  {use_}"));
        assert!(with <= without + words / 8 + way, "{name}: {with} cycles, {without} without it, {words} words");
    }
}
