//! More bits never give a larger error: every function, and what is commonly made of several.
//!
//! Expected values are computed here in 64-bit arithmetic, by other formulas than the programs' own. The words are those of `fixed`, with
//! the table memory that a grid has where nobody says otherwise.

#![allow(clippy::print_stdout, reason = "what was measured is shown beside what is asserted")]

use crate::languages::{Outcome, climb_text};
use arch::function::Function;
use arch::machine::MachineSpec;
use arch::number::to_f64;
use compiler::language::Language;
use serde_json::{Value, json};

/// Word widths.
const WIDTHS: [u32; 8] = [8, 10, 12, 16, 20, 24, 28, 32];

fn machine(word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(2),
        word: Some(word),
        model_depth: Some(1024),
        data_depth: Some(1024),
        temporary_depth: Some(4096),
        program_depth: Some(1024),
        divider: Some(true),
        extremes: Some(true),
        squares: Some(true),
        ..MachineSpec::default()
    }
}

/// What the words of one width show.
#[derive(Debug, Clone, Copy)]
struct Shown {
    /// Largest distance from the expected values.
    error: f64,
    /// One unit of the result's last place.
    unit: f64,
}

/// A program of Tensor Comprehensions with a result `O`, at one width.
fn shown(text: &str, inputs: &Value, expected: &[f64], word: u32) -> Shown {
    match climb_text(Language::TensorComprehensions, text, inputs, None, &machine(word)) {
        Outcome::Climbs(climb) => {
            let (fraction, words) = climb.words("O").expect("the result has words");
            let found = words.iter().map(|&word| to_f64(word, fraction));
            let error = found.zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
            Shown { error, unit: to_f64(1, fraction) }
        }
        Outcome::Refused(why) => panic!("{word} bits: {why}\n{text}"),
    }
}

/// The law for one program: no error is larger than one at fewer bits, but for half a unit of those fewer bits.
fn by_width(what: &str, text: &str, inputs: &Value, expected: &[f64], failures: &mut Vec<String>) -> Vec<Shown> {
    let all: Vec<Shown> = WIDTHS.iter().map(|&word| shown(text, inputs, expected, word)).collect();
    let errors: Vec<String> = all.iter().map(|shown| format!("{:.1e}", shown.error)).collect();
    println!("{what:20} {}", errors.join(" "));
    for (number, wide) in all.iter().enumerate() {
        for narrow in &all[..number] {
            if wide.error > narrow.error + narrow.unit / 2.0 {
                failures.push(format!("{what}: {errors:?} at {WIDTHS:?} bits"));
                return all;
            }
        }
    }
    all
}

/// Multiples of an eighth that lie apart, exact at all widths.
fn arguments(low: f64, high: f64, count: usize) -> Vec<f64> {
    (0..count).map(|n| ((low + (high - low) * n as f64 / (count - 1) as f64) * 8.0).round() / 8.0).collect()
}

#[test]
fn more_bits_of_every_function() {
    let mut failures = Vec::new();
    for &function in Function::ALL {
        let Some(name) = function.in_comprehensions().first() else { continue };
        if matches!(function.hardware(), arch::function::Hardware::None) {
            continue;
        }
        let (low, high) = match function.domain() {
            arch::function::Domain::Reals => (-3.0, 3.0),
            arch::function::Domain::Above(least) | arch::function::Domain::From(least) => (least + 0.125, least + 7.0),
            arch::function::Domain::Within(end) | arch::function::Domain::Inside(end) => (-end + 0.125, end - 0.125),
            arch::function::Domain::Between(low, high) => (low + 0.125, high - 0.125),
        };
        let first = arguments(low, high, 17);
        let others = [arguments(1.0, 2.0, 17), arguments(-1.0, 1.0, 17)];
        let names = ["A", "B", "C"];
        let names = &names[..function.arity()];
        let parameters: Vec<String> = names.iter().map(|name| format!("float(N) {name}")).collect();
        let reads: Vec<String> = names.iter().map(|name| format!("{name}(i)")).collect();
        let text = format!("def f({}) -> (O) {{ O(i) = {name}({}) }}", parameters.join(", "), reads.join(", "));
        let inputs = json!({ "A": first, "B": others[0], "C": others[1] });
        let inputs: serde_json::Map<_, _> = inputs
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect();
        let expected: Vec<f64> = (0..17).map(|n| function.value([first[n], others[0][n], others[1][n]])).collect();
        by_width(name, &text, &Value::Object(inputs), &expected, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Sizes of the rows of a table.
const ROWS: [f64; 4] = [0.125, 1.0, 4.0, 0.5];

/// A composition: its text, inputs and expected values, and whether it has to be within 4 units at 16 bits and 100 times better at 32.
struct Composition {
    name: &'static str,
    text: &'static str,
    inputs: Value,
    expected: Vec<f64>,
    held: bool,
}

#[expect(clippy::too_many_lines, reason = "one table of programs")]
fn compositions() -> Vec<Composition> {
    let x: [f64; 8] = [0.5, -1.25, 2.0, 0.125, -0.75, 1.5, -2.0, 0.25];
    let y: [f64; 8] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let v: [f64; 8] = [0.25, 0.5, 1.0, 0.125, 0.75, 0.0625, 0.375, 1.5];
    let total: f64 = x.iter().map(|x| x.exp()).sum();
    let mean = x.iter().sum::<f64>() / 8.0;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 8.0;
    let deviation = (variance + 0.0625).sqrt();
    let each = |f: &dyn Fn(usize) -> f64| (0..8).map(f).collect::<Vec<f64>>();
    let error_function = |x: f64| Function::Erf.value([x, 0.0, 0.0]);
    let wide = x.map(|x| 6.0 * x);
    let (of_x, of_wide) = (json!({ "A": x }), json!({ "A": wide }));
    let composition =
        |name, text, inputs: &Value, expected, held| Composition { name, text, inputs: inputs.clone(), expected, held };
    vec![
        composition(
            "log-sum-exp",
            "def f(float(N) A) -> (O) {\n  m max=! A(i)\n  s +=! exp(A(i) - m)\n  O = log(s) + m\n}",
            &of_x,
            vec![total.ln()],
            true,
        ),
        composition(
            "softmax",
            "def f(float(N) A) -> (O) {\n  m max=! A(i)\n  E(i) = exp(A(i) - m)\n  s +=! E(i)\n  O(i) = E(i) / s\n}",
            &of_x,
            each(&|i| x[i].exp() / total),
            true,
        ),
        composition(
            "cross-entropy gradient",
            "def f(float(N) A, float(N) Y) -> (O) {\n  E(i) = exp(A(i))\n  s +=! E(i)\n  l = log(s)\n  O(i) = exp(A(i) - l) - Y(i)\n}",
            &json!({ "A": x, "Y": y }),
            each(&|i| x[i].exp() / total - y[i]),
            true,
        ),
        composition(
            "cross entropy",
            "def f(float(N) A, float(N) Y) -> (O) {\n  m max=! A(i)\n  s +=! exp(A(i) - m)\n  l +=! A(i) * Y(i)\n  O = log(s) + m - l\n}",
            &json!({ "A": x, "Y": y }),
            vec![total.ln() - x[2]],
            true,
        ),
        composition(
            "layer norm of rows of deviations from 1/8 to 4",
            "def f(float(R, N) A) -> (O) {\n  m(r) +=! A(r, i) * 0.125\n  D(r, i) = A(r, i) - m(r)\n  v(r) +=! D(r, i) * D(r, i) * 0.125\n  O(r, i) = D(r, i) * rsqrt(v(r) + 0.0001)\n}",
            &json!({ "A": ROWS.map(|size| x.map(|x| size * x)) }),
            ROWS.iter()
                .flat_map(|size| each(&|i| size * (x[i] - mean) / (size * size * variance + 0.0001).sqrt()))
                .collect(),
            false,
        ),
        composition(
            "layer norm",
            "def f(float(N) A) -> (O) {\n  m +=! A(i) * 0.125\n  D(i) = A(i) - m\n  v +=! D(i) * D(i) * 0.125\n  O(i) = D(i) * rsqrt(v + 0.0625)\n}",
            &of_x,
            each(&|i| (x[i] - mean) / deviation),
            true,
        ),
        composition(
            "RMSprop",
            "def f(float(N) A, float(N) G, float(N) V) -> (O) {\n  W(i) = 0.9 * V(i) + 0.1 * G(i) * G(i)\n  O(i) = A(i) - 0.125 * G(i) / (sqrt(W(i)) + 0.01)\n}",
            &json!({ "A": x, "G": y, "V": v }),
            each(&|i| x[i] - 0.125 * y[i] / ((0.9 * v[i] + 0.1 * y[i] * y[i]).sqrt() + 0.01)),
            false,
        ),
        composition(
            "Adam",
            "def f(float(N) A, float(N) G, float(N) M, float(N) V) -> (O) {\n  P(i) = 0.9 * M(i) + 0.1 * G(i)\n  W(i) = 0.99 * V(i) + 0.01 * G(i) * G(i)\n  O(i) = A(i) - 0.125 * P(i) / (sqrt(W(i)) + 0.01)\n}",
            &json!({ "A": x, "G": y, "M": v, "V": v }),
            each(&|i| {
                let (p, w) = (0.9 * v[i] + 0.1 * y[i], 0.99 * v[i] + 0.01 * y[i] * y[i]);
                x[i] - 0.125 * p / (w.sqrt() + 0.01)
            }),
            false,
        ),
        composition(
            "softplus",
            "def f(float(N) A) -> (O) { O(i) = log(1 + exp(A(i))) }",
            &of_x,
            each(&|i| x[i].exp().ln_1p()),
            true,
        ),
        composition(
            "softplus of large values",
            "def f(float(N) A) -> (O) { O(i) = log(1 + exp(A(i))) }",
            &of_wide,
            each(&|i| wide[i].exp().ln_1p()),
            true,
        ),
        composition(
            "sigmoid by an exponential",
            "def f(float(N) A) -> (O) { O(i) = 1.0 / (1.0 + exp(0.0 - A(i))) }",
            &of_wide,
            each(&|i| 1.0 / (1.0 + (-wide[i]).exp())),
            true,
        ),
        composition(
            "sigmoid by a power, with names",
            "def f(float(N) A) -> (O) {\n  T(i) = 0.0 - A(i)\n  E(i) = exp(T(i))\n  D(i) = E(i) + 1.0\n  O(i) = pow(D(i), -1.0)\n}",
            &of_wide,
            each(&|i| 1.0 / (1.0 + (-wide[i]).exp())),
            true,
        ),
        composition(
            "tanh by exponentials",
            "def f(float(N) A) -> (O) { O(i) = (exp(A(i)) - exp(0.0 - A(i))) / (exp(A(i)) + exp(0.0 - A(i))) }",
            &of_wide,
            each(&|i| wide[i].tanh()),
            true,
        ),
        composition(
            "tanh by one exponential",
            "def f(float(N) A) -> (O) { O(i) = (exp(2.0 * A(i)) - 1.0) / (1.0 + exp(2.0 * A(i))) }",
            &of_wide,
            each(&|i| wide[i].tanh()),
            true,
        ),
        composition(
            "SiLU by an exponential",
            "def f(float(N) A) -> (O) { O(i) = A(i) / (1.0 + exp(0.0 - A(i))) }",
            &of_wide,
            each(&|i| wide[i] / (1.0 + (-wide[i]).exp())),
            true,
        ),
        composition(
            "tanh by hyperbolic functions",
            "def f(float(N) A) -> (O) { O(i) = sinh(A(i)) / cosh(A(i)) }",
            &of_wide,
            each(&|i| wide[i].tanh()),
            true,
        ),
        composition(
            "logarithm of a sigmoid",
            "def f(float(N) A) -> (O) {\n  S(i) = 1.0 / (1.0 + exp(0.0 - A(i)))\n  O(i) = log(S(i))\n}",
            &of_wide,
            each(&|i| -(-wide[i]).exp().ln_1p()),
            true,
        ),
        composition(
            "ELU by a choice",
            "def f(float(N) A) -> (O) { O(i) = A(i) > 0.0 ? A(i) : exp(A(i)) - 1.0 }",
            &of_wide,
            each(&|i| if wide[i] > 0.0 { wide[i] } else { wide[i].exp_m1() }),
            true,
        ),
        composition(
            "log-sum-exp of a mean, without a maximum",
            "def f(float(N) A) -> (O) {\n  s +=! exp(A(i))\n  m = s / 8.0\n  O = log(m)\n}",
            &of_wide,
            vec![(wide.iter().map(|x| x.exp()).sum::<f64>() / 8.0).ln()],
            true,
        ),
        composition(
            "softmax by a reciprocal, without a maximum",
            "def f(float(N) A) -> (O) {\n  s +=! exp(A(i))\n  r = 1.0 / (s + 0.001)\n  O(i) = exp(A(i)) * r\n}",
            &of_wide,
            each(&|i| wide[i].exp() / (wide.iter().map(|x| x.exp()).sum::<f64>() + 0.001)),
            true,
        ),
        composition(
            "GELU",
            "def f(float(N) A) -> (O) { O(i) = gelu(A(i)) }",
            &of_x,
            each(&|i| 0.5 * x[i] * (1.0 + error_function(x[i] / std::f64::consts::SQRT_2))),
            false,
        ),
        composition(
            "SiLU",
            "def f(float(N) A) -> (O) { O(i) = silu(A(i)) }",
            &of_x,
            each(&|i| x[i] / (1.0 + (-x[i]).exp())),
            false,
        ),
    ]
}

#[test]
fn more_bits_of_compositions() {
    let mut failures = Vec::new();
    for Composition { name, text, inputs, expected, held } in compositions() {
        let all = by_width(name, text, &inputs, &expected, &mut failures);
        let (at_16, at_32) = (all[3], all[7]);
        if held && at_16.error > 4.0 * at_16.unit {
            failures.push(format!("{name}: {:.1} units of the last place at 16 bits", at_16.error / at_16.unit));
        }
        if held && at_32.error * 100.0 > at_16.error.max(at_16.unit / 2.0) {
            failures.push(format!("{name}: {:.1e} at 16 bits, {:.1e} at 32", at_16.error, at_32.error));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
