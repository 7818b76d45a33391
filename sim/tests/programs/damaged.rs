//! Conformance programs with random damage, and their inputs: no front end panics, what is accepted keeps the laws of tensor IR (the front ends
//! verify it) and can be evaluated.

use crate::cases;
use compiler::language::{Language, Limits, Options, parse};
use serde_json::Value;
use sim::eval::{evaluate, with_shapes_of};
use sim::golden::Golden;

/// A generator of numbers that needs no seed from outside (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// What is inserted: signs and words of all languages.
const PIECES: &[&str] = &[
    ";",
    "[",
    "]",
    "(",
    ")",
    "=",
    "+=!",
    "max=!",
    "<",
    ">=",
    ":",
    ",",
    "0",
    "1",
    "2",
    "3",
    "7",
    "1000000007",
    "0.5",
    " i ",
    " j ",
    " k ",
    " N ",
    " x ",
    " w ",
    "+",
    "-",
    "*",
    "/",
    "%",
    "//",
    "#",
    ".",
    "^",
    "\n",
    "\n  ",
    " where i in 0:3 ",
    "sum[i](",
    "norm(",
    "log(",
    "$n",
    "?",
    "A",
    "O",
    "O[i]",
    "A(i)",
    "i + ",
    "2*",
    " - 1",
    "min(",
    "select(",
    "[1 2]",
    "int32(",
];

fn damaged(text: &str, numbers: &mut Numbers) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=numbers.below(2) {
        let at = numbers.below(characters.len() + 1);
        match numbers.below(5) {
            0 if at < characters.len() => {
                characters.remove(at);
            }
            1 => {
                // Another character of the text: often an accepted program with another meaning.
                let other = numbers.below(characters.len());
                if let (Some(&copy), true) = (characters.get(other), at < characters.len()) {
                    characters[at] = copy;
                }
            }
            2 => {
                let to = (at + numbers.below(12)).min(characters.len());
                characters.drain(at..to);
            }
            _ => {
                let piece = PIECES[numbers.below(PIECES.len())];
                characters.splice(at..at, piece.chars());
            }
        }
    }
    characters.into_iter().collect()
}

/// Damaged versions of each program.
const ROUNDS: usize = 300;

#[test]
fn what_is_accepted_can_be_evaluated() {
    let limits = Limits { elements: 1 << 14, elements_in_all: 1 << 18, points: 1 << 18, ..Limits::default() };
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut evaluated, mut all) = (0, 0, 0);
    for case in cases::all() {
        let path = cases::folder().join(case["file"].as_str().expect("a file name"));
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let language = Language::of_extension(extension).expect("a known extension");
        let text = std::fs::read_to_string(&path).expect("the program is there");
        let inputs =
            if case["inputs"].is_object() { case["inputs"].clone() } else { Value::Object(serde_json::Map::new()) };
        let options = with_shapes_of(&inputs, Options { limits, ..Options::default() });
        if case["kind"] != "positive" {
            continue;
        }
        for _ in 0..ROUNDS {
            all += 1;
            let text = damaged(&text, &mut numbers);
            let Ok((program, _)) = parse(language, &text, &options) else { continue };
            accepted += 1;
            evaluated += usize::from(evaluate(&program, &inputs, &mut Golden::new(&program)).is_ok());
        }
    }
    eprintln!("{all} programs, {accepted} accepted, {evaluated} evaluated");
    assert!(evaluated > all / 30, "too few programs survive the damage to test anything");
}
