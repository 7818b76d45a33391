//! Gradients of extremes in words: one element gets the gradient, the first that attains the extreme, whatever rounding does to the values.
//!
//! The words of a step on the grid stand beside golden of the derived program, before any pass: weights that should move and do not, or
//! the other way round, are far away.

use crate::losses::golden;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::derived::optimisers::Optimiser;
use compiler::derived::training::{Measure, Minimised, Training};
use compiler::language::{self, Language};
use compiler::rounding::Rounding;
use compiler::tensor::Program;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

/// A program, the shapes of its inputs, its weights, and what is minimised.
struct Given {
    language: Language,
    text: &'static str,
    shapes: &'static [(&'static str, &'static [u32])],
    weights: &'static [&'static str],
    loss: &'static str,
}

const TC: Language = Language::TensorComprehensions;

const GIVEN: &[Given] = &[
    Given {
        language: TC,
        text: "def f(float(6) X, float(6) A) -> (L) { M max=! A(i) * X(i)\n L = M }",
        shapes: &[],
        weights: &["A"],
        loss: "L",
    },
    Given {
        language: TC,
        text: "def f(float(6) X, float(6) A, float(6) B) -> (L) { M min=! A(i) * X(i) + B(i)\n L = M }",
        shapes: &[],
        weights: &["A", "B"],
        loss: "L",
    },
    Given {
        language: TC,
        text: "def f(float(2,5,5) X, float(3,2,2,2) K, float(3) B) -> (L) {
            H(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
            P(m,h,w) max=! H(m,2*h+i,2*w+j) + B(m) where i in 0:2, j in 0:2, h in 0:2, w in 0:2
            L +=! P(m,h,w) * P(m,h,w)
        }",
        shapes: &[],
        weights: &["K", "B"],
        loss: "L",
    },
    Given {
        language: TC,
        text: "def f(float(1,6,6) X, float(2,1,2,2) K, float(2) B) -> (L) {
            H(m,h,w) +=! X(c,h+kh,w+kw) * K(m,c,kh,kw)
            P(m,h,w) max=! fmax(H(m,h+i,w+j) + B(m), 0.0) where i in 0:3, j in 0:3
            L +=! P(m,h,w)
        }",
        shapes: &[],
        weights: &["K", "B"],
        loss: "L",
    },
    Given {
        language: TC,
        text: "def f(float(4) A, float(5) B, float(4,5) X) -> (L) {
            R(i) max=! X(i,j) * B(j)
            M max=! A(i) * B(j) + X(i,j)
            S min=! R(i) * A(i)
            L = M + S
        }",
        shapes: &[],
        weights: &["A", "B"],
        loss: "L",
    },
    Given {
        language: TC,
        text: "def f(float(15,20) X, float(15) A, float(20) B) -> (L) { M max=! A(i) * B(j) * X(i,j)\n L = M }",
        shapes: &[],
        weights: &["A", "B"],
        loss: "L",
    },
    Given {
        language: Language::Tile,
        text: "def f(X, W, B):\n  N = TensorDim()\n  i, j, k = TensorIndexes(3)\n  X.bind_dims(N)\n  P = TensorOutput((N + 1) // 2)
  S = X * W + B\n  P[i] >= S[2 * i + j]\n  P.add_constraint(j < 2)\n  L = TensorOutput()\n  L[()] += P[k]\n  return L\n",
        shapes: &[("X", &[7]), ("W", &[7]), ("B", &[7])],
        weights: &["W", "B"],
        loss: "out0",
    },
];

/// Number of the program with more points than a word of 8 bits counts.
const MANY_POINTS: usize = 5;

const RATE: f64 = 0.3;

fn derived(given: &Given) -> Program {
    let objective = Minimised {
        loss: Measure::Scalar(given.loss.to_owned()),
        prediction: String::new(),
        label: None,
        weights: given.weights.iter().map(|&name| name.to_owned()).collect(),
        rate: Some(RATE),
    };
    let training = Training { objective: Some(objective), optimiser: Optimiser::PLAIN, rounding: Rounding::default() };
    let options = language::Options {
        shapes: given.shapes.iter().map(|&(name, shape)| (name.to_owned(), shape.to_vec())).collect(),
        training: Some(training),
        ..language::Options::default()
    };
    language::parse(given.language, given.text, &options).unwrap_or_else(|e| panic!("{e:?}\n{}", given.text)).0
}

/// Values between -1 and 1, whose products need more than 16 bits.
fn values(program: &Program, batch: usize, salt: usize, whole: bool) -> (NamedValues, Vec<NamedValues>) {
    let (model, steps) = crate::made_up::values(program, batch as u32, 1);
    let of = |name: &str, values: &[f64]| -> Vec<f64> {
        let place = |k: usize| (k + 7 * salt) * 37 % 101 + name.bytes().map(usize::from).sum::<usize>();
        let at = |k: usize| if whole { [0.5, 1.0, -0.5, 1.0][place(k) % 4] } else { 0.97 * libm::sin(place(k) as f64) };
        (0..values.len()).map(at).collect()
    };
    let all = |values: &NamedValues| values.iter().map(|(name, v)| (name.clone(), of(name, v))).collect();
    (all(&model), steps.iter().map(all).collect())
}

/// The weights after a step, by golden of the derived program: each sample by itself, and the mean of the gradients.
fn expected(program: &Program, model: &NamedValues, step: &NamedValues, batch: usize) -> NamedValues {
    let mut moved = model.clone();
    for sample in 0..batch {
        let own = step.iter().map(|(name, values)| {
            let size = values.len() / batch;
            (name.clone(), values[sample * size..(sample + 1) * size].to_vec())
        });
        let golden = golden(program, &model.iter().map(|(n, v)| (n.clone(), v.clone())).chain(own).collect());
        for descent in &program.descents {
            let weights = moved.get_mut(&program.tensors[descent.state.0].name).expect("a weight");
            for (weight, gradient) in weights.iter_mut().zip(golden.value(descent.gradient)) {
                *weight -= descent.rate / batch as f64 * gradient.unwrap_or(0.0);
            }
        }
    }
    moved
}

/// Largest distance of the weights after a step on the grid from golden, as a part of the largest movement.
fn distance(given: &Given, word: u32, batch: usize, salt: usize, whole: bool) -> f64 {
    let program = derived(given);
    let (model, steps) = values(&program, batch, salt, whole);
    let expected = expected(&program, &model, &steps[0], batch);
    let movement = |(name, values): (&String, &Vec<f64>)| {
        values.iter().zip(&model[name]).map(|(new, old)| (new - old).abs()).fold(0.0, f64::max)
    };
    let movement: f64 = expected.iter().map(movement).fold(0.0, f64::max);
    assert!(movement > 0.0, "nothing moves\n{}", given.text);
    let options = Options {
        keep: Keep::Training { predictions: vec![] },
        batch: Batch { size: batch as u32, reduction: Reduction::Mean },
    };
    let spec = MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(4),
        word: Some(word),
        data_depth: Some(1 << 12),
        temporary_depth: Some(1 << 12),
        ..MachineSpec::default()
    };
    let what = format!("{word} bits, batch {batch}, salt {salt}, whole: {whole}\n{}", given.text);
    let climb = Climb::new(&program, &options, &model, &steps, &spec).unwrap_or_else(|e| panic!("{e:?}\n{what}"));
    climb.run(Array::new(&climb.image().machine), Stalls::none()).unwrap_or_else(|fall| panic!("{fall}\n{what}"));
    let mut largest: f64 = 0.0;
    let mut fixed = sim::fixed::Fixed::new(&climb.fixed);
    for (name, values) in model.iter().chain(&steps[0]) {
        let tensor = fixed.tensor(name).unwrap_or_else(|| panic!("{name} is not there\n{what}"));
        fixed.set_real(tensor, values);
    }
    fixed.step();
    for (name, values) in &expected {
        let found = fixed.values(fixed.tensor(name).expect("a weight"));
        for (found, expected) in found.iter().zip(values) {
            largest = largest.max((found - expected).abs());
        }
    }
    largest / movement
}

/// Whole halves: every value is exact in words, and most extremes are attained several times.
#[test]
fn exact_extremes_move_the_first_of_equal_elements() {
    let mut wrong = Vec::new();
    for (number, given) in GIVEN.iter().enumerate() {
        for (word, batch, salt) in [(8, 1, 1), (8, 2, 5), (12, 1, 1), (16, 1, 2), (16, 3, 3), (24, 2, 4)] {
            let far = distance(given, word, batch, salt, true);
            if far > 16.0 * libm::ldexp(1.0, -(word as i32)) {
                wrong.push(format!("program {number}, {word} bits, batch {batch}: {far}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Values of which every product is rounded.
#[test]
fn rounded_extremes_move_an_element_that_attains_them() {
    let mut wrong = Vec::new();
    for (number, given) in GIVEN.iter().enumerate() {
        for word in [8, 9, 10, 12, 16] {
            for (batch, salt) in [(1, 1), (1, 2), (3, 4), (3, 5)] {
                // The largest of three times 300 values are less than a last place of 8 bits apart.
                if (word, batch, number) == (8, 3, MANY_POINTS) {
                    continue;
                }
                let far = distance(given, word, batch, salt, false);
                // Another element would be off by a third of the movement and more.
                if far > 40.0 * libm::ldexp(1.0, -(word as i32)) {
                    wrong.push(format!("program {number}, {word} bits, batch {batch}, salt {salt}: {far}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// By hand: where a derivative jumps, the table at the head of `compiler::derived` says which side counts.
#[test]
fn ties_go_to_the_first() {
    let cases: &[(&str, &[f64], &[f64])] = &[
        ("L max=! W(i)", &[1.0, 2.0, 2.0, -1.0], &[0.0, 1.0, 0.0, 0.0]),
        ("L min=! W(i)", &[1.0, -2.0, 2.0, -2.0], &[0.0, 1.0, 0.0, 0.0]),
        // W[1] * W[1] is the first 4 of two; it varies twice as fast.
        ("L max=! W(i) * W(i)", &[1.0, 2.0, -2.0, 0.0], &[0.0, 4.0, 0.0, 0.0]),
        // The first 2 is W[0] * W[1], before W[1] * W[0] and W[2] * W[0].
        ("L max=! W(i) * W(j) * 1.0 where i in 0:1, j in 1:4", &[1.0, 2.0, 2.0, 0.0], &[2.0, 1.0, 0.0, 0.0]),
        // 2 is in the first row and in the second.
        ("R(i) max=! W(i + j) where i in 0:2, j in 0:3\n L min=! R(i)", &[0.0, 2.0, 2.0, 1.0], &[0.0, 1.0, 0.0, 0.0]),
        ("M max=! W(i)\n L = fmax(M, W(3))", &[1.0, 0.0, 1.0, 1.0], &[1.0, 0.0, 0.0, 0.0]),
        ("L +=! fmax(W(i), 0.0)", &[0.0, 1.0, -1.0, 0.0], &[0.0, 1.0, 0.0, 0.0]),
        ("L +=! fmin(fmax(W(i), 0.0 - 1.0), 1.0)", &[-1.0, 1.0, 0.5, -2.0], &[0.0, 0.0, 1.0, 0.0]),
        ("L +=! fmax(W(i), W(3 - i)) where i in 0:4", &[1.0, 1.0, 1.0, 1.0], &[1.0, 1.0, 1.0, 1.0]),
        ("L +=! fabs(W(i))", &[0.0, 2.0, -2.0, 0.0], &[0.0, 1.0, -1.0, 0.0]),
        // All are 0, and so is what the maximum starts from, which comes first.
        ("L = 0.0\n L max= W(i)", &[0.0, 0.0, -1.0, 0.0], &[0.0, 0.0, 0.0, 0.0]),
        ("L = 2.0 * W(3)\n L max= W(i)", &[1.0, 1.0, -1.0, 0.5], &[0.0, 0.0, 0.0, 2.0]),
    ];
    for (lines, weights, expected) in cases {
        let text: &'static str = format!("def f(float(4) W) -> (L) {{\n {lines}\n}}").leak();
        let program = derived(&Given { language: TC, text, shapes: &[], weights: &["W"], loss: "L" });
        let golden = golden(&program, &NamedValues::from([("W".to_owned(), weights.to_vec())]));
        let found: Vec<f64> = golden.value(program.descents[0].gradient).map(|value| value.unwrap_or(0.0)).collect();
        assert_eq!(found, *expected, "{lines}");
    }
}

/// A value that is computed again equals its extreme, and itself, in words as on golden: it is rounded once.
#[test]
fn recomputed_values_equal_their_extremes_in_words() {
    let bodies = [
        "M max=! A(i) * X(i)\n E(i) = A(i) * X(i) == M ? 1.0 : 0.0",
        "M max=! A(i) * X(i)\n E(i) = M <= X(i) * A(i) ? 1.0 : 0.0",
        "M min=! A(i) * X(i) + B(i)\n E(i) = A(i) * X(i) + B(i) > M ? 0.0 : 1.0",
        "M max=! A(i) + 0.001 * X(i)\n D(i) = A(i) + 0.001 * X(i) - M\n E(i) = D(i) >= 0.0 ? 1.0 : 0.0",
        "P(i) = A(i) * X(i)\n M max=! P(i)\n E(i) = A(i) * X(i) >= M ? 1.0 : 0.0",
        "P(i) = A(i) * X(i)\n E(i) = A(i) * X(i) == P(i) ? 1.0 : 0.0",
        "M max=! A(i) * X(i)\n N max=! X(i) * A(i)\n E(i) = (M == N) && (A(i) * X(i) == N) ? 1.0 : 0.0",
        "M(i) max=! A(i) * X(j)\n E(i) = M(i) == A(i) * X(3) ? 1.0 : 0.0",
    ];
    let given = NamedValues::from([
        ("A".to_owned(), vec![0.31, 0.77, 1.13, -0.41]),
        ("X".to_owned(), vec![0.91, 1.37, 0.71, 0.23]),
        ("B".to_owned(), vec![0.07, -0.93, 0.31, 0.57]),
    ]);
    for body in bodies {
        let text = format!("def f(float(4) A, float(4) X, float(4) B) -> (E) {{\n {body}\n}}");
        let (program, _) = language::parse(TC, &text, &language::Options::default()).expect("a program");
        let own = given.iter().filter(|(name, _)| program.tensors.iter().any(|tensor| tensor.name == **name));
        let given: NamedValues = own.map(|(name, values)| (name.clone(), values.clone())).collect();
        let named = |name: &str| program.names.iter().find(|(known, _)| known == name).expect("a result").1;
        let expected: Vec<f64> =
            golden(&program, &given).value(named("E")).map(|value| value.unwrap_or(-1.0)).collect();
        assert!(expected.contains(&1.0), "{body}: {expected:?}");
        for word in [8, 11, 16, 24, 32] {
            let spec = MachineSpec { pus: Some(1), pes_per_pu: Some(2), word: Some(word), ..MachineSpec::default() };
            let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
            let climb = Climb::new(&program, &options, &NamedValues::new(), std::slice::from_ref(&given), &spec)
                .expect("an image");
            climb
                .run(Array::new(&climb.image().machine), Stalls::none())
                .unwrap_or_else(|fall| panic!("{fall}\n{body}"));
            let (fraction, words) = climb.words("E").expect("a result");
            let found: Vec<f64> = words.iter().map(|&word| libm::ldexp(word as f64, -fraction)).collect();
            assert_eq!(found, expected, "{word} bits: {body}");
        }
    }
}
