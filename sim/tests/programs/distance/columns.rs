//! Columns of inputs with binary points of their own, and masks before a softmax: how close they come to golden, on every rung.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::{Columns, Numbers};
use compiler::tensor::Program;
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues, Upper};

/// Three columns whose sizes are a factor of 16000 apart.
fn table() -> Vec<f64> {
    let row = |i: i32| [3000.0 - 40.0 * f64::from(i), 0.19 - 0.01 * f64::from(i), 9.0 + 0.5 * f64::from(i)];
    (0..8).flat_map(row).collect()
}

/// A scaler before a layer, a layer alone, distances divided by variances, and a comparison with a threshold for each column.
const SCALED: [&str; 4] = [
    "d[i][j] = x[i][j] - m[j]  for i in 0..8, j in 0..3
     s[i][j] = d[i][j] / v[j]  for i in 0..8, j in 0..3
     y[i][k] += w[k][j] * s[i][j]  for i in 0..8, k in 0..2  over j in 0..3",
    "y[i][k] += w[k][j] * x[i][j]  for i in 0..8, k in 0..2  over j in 0..3",
    "d[i][j] = x[i][j] - m[j]  for i in 0..8, j in 0..3
     s[i][j] = d[i][j] * d[i][j] / v[j]  for i in 0..8, j in 0..3
     y[i][k] += s[i][j]  for i in 0..8, k in 0..2  over j in 0..3",
    "s[i][j] = x[i][j] < m[j]  for i in 0..8, j in 0..3
     y[i][k] += w[k][j] * s[i][j]  for i in 0..8, k in 0..2  over j in 0..3",
];

fn program(body: &str) -> Program {
    // Weights of the raw columns, so that each of them matters.
    let w =
        if body.contains("s[") { "2.0, -1.0, 0.5, 1.0, 3.0, -0.25" } else { "0.001, 12.5, 0.3, -0.002, 31.0, -0.1" };
    let used = |name: &str, text: String| if body.contains(&format!("{name}[")) { text } else { String::new() };
    let declared = [
        "input x[8][3]\n".to_owned(),
        used("m", "parameter m[3] = [2860.0, 0.155, 10.75]\n".to_owned()),
        used("v", "parameter v[3] = [91.0, 0.023, 1.145]\n".to_owned()),
        used("w", format!("parameter w[2][3] = [{w}]\n")),
        used("d", "temporary d[8][3]\n".to_owned()),
        used("s", "temporary s[8][3]\n".to_owned()),
        "output y[8][2]\n".to_owned(),
    ];
    let body = body.lines().map(|line| line.trim().to_owned() + "\n").collect::<String>();
    (declared.concat() + &body + "name y = y\n").parse().expect("a good text")
}

fn options() -> Options {
    Options { keep: Keep::Prediction { names: vec!["y".to_owned()], states: Vec::new() }, batch: Batch::SINGLE }
}

fn upper(program: &Program, steps: &[NamedValues], word: u32) -> Upper {
    Upper::new(program, &options(), &NamedValues::new(), steps, &Numbers::of_width(word)).expect("it fits")
}

fn columns(upper: &Upper) -> Option<&Columns> {
    upper.fixed.tensors.iter().find(|tensor| tensor.name == "x").and_then(|tensor| tensor.columns.as_ref())
}

#[test]
fn small_columns_keep_their_bits_beside_large_ones() {
    for body in SCALED {
        let program = program(body);
        let steps = [NamedValues::from([("x".to_owned(), table())])];
        let upper = upper(&program, &steps, 16);
        let columns = columns(&upper).unwrap_or_else(|| panic!("one binary point for all:\n{}", upper.fixed));
        // 3000 / 0.19 is between 2^13 and 2^14, 3000 / 12.5 between 2^7 and 2^8; one bit of room.
        assert_eq!((columns.dimension, columns.more.as_slice()), (1, &[0, 12, 6][..]), "{body}");
        let accuracy = upper.accuracy().expect("values have a meaning");
        assert!(accuracy.verdict.suffices && accuracy.distance.relative < 2e-3, "{body}: {:?}", accuracy.distance);
        assert_eq!(upper.fixed, upper.fixed.to_string().parse().expect("it reads back"), "{body}");
    }
}

/// What reads a column by a function, beside another input or as a result has no constant that could take its power of two in.
#[test]
fn an_input_that_is_read_otherwise_has_one_binary_point() {
    for body in [
        "y[i][k] = sigmoid(x[i][k])  for i in 0..8, k in 0..2",
        "y[i][k] = x[i][k] * x[i][k]  for i in 0..8, k in 0..2",
        "y[i][k] += x[i][j]  for i in 0..8, k in 0..2  over j in 0..3",
    ] {
        let steps = [NamedValues::from([("x".to_owned(), table())])];
        assert_eq!(columns(&upper(&program(body), &steps, 16)), None, "{body}");
    }
    // Columns of like sizes.
    let same: Vec<f64> = (0..24).map(|n| 1.0 + f64::from(n) / 8.0).collect();
    assert_eq!(columns(&upper(&program(SCALED[0]), &[NamedValues::from([("x".to_owned(), same)])], 16)), None);
}

#[test]
fn the_array_computes_the_words_of_columns() {
    for body in SCALED {
        let steps = [NamedValues::from([("x".to_owned(), table())])];
        let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(2), ..MachineSpec::default() };
        let climb = Climb::new(&program(body), &options(), &NamedValues::new(), &steps, &spec).expect("it fits");
        let agreement = climb.run(Array::new(&climb.image().machine), Stalls::none()).expect("the same words");
        assert!(agreement.words >= 16);
    }
}

/// A mask far below all exponents takes no bits from them.
#[test]
fn masks_leave_a_softmax_its_bits() {
    let text = "input z[4][6]
input b[6]
temporary s[4][6]
temporary m[4]
temporary d[4][6]
temporary e[4][6]
temporary t[4]
output y[4][6]
s[i][j] = z[i][j] + b[j]  for i in 0..4, j in 0..6
m[i] max= s[i][j]  for i in 0..4  over j in 0..6
d[i][j] = s[i][j] - m[i]  for i in 0..4, j in 0..6
e[i][j] = exp(d[i][j])  for i in 0..4, j in 0..6
t[i] += e[i][j]  for i in 0..4  over j in 0..6
y[i][j] = e[i][j] / t[i]  for i in 0..4, j in 0..6
name y = y
";
    let program: Program = text.parse().expect("a good text");
    let z: Vec<f64> = (0..24).map(|n| f64::from(n * 7 % 24) / 4.0 - 2.7).collect();
    for low in [-1e4, -1e9, -65504.0] {
        let steps =
            [NamedValues::from([("z".to_owned(), z.clone()), ("b".to_owned(), vec![0.0, low, 0.0, 0.0, low, 0.0])])];
        // Twelve bits that reach so far have no place for what bounds the mask, and the verdict says so.
        for word in [12, 16, 24].into_iter().filter(|&word| word >= 16 || low == -1e4) {
            let accuracy = upper(&program, &steps, word).accuracy().expect("values have a meaning");
            assert!(accuracy.verdict.suffices, "{low}, {word} bits: {}", accuracy.verdict);
        }
    }
    // Scores that are scaled in the same sum, and a mask that is a constant times zeros and ones.
    for (sum, declared) in [
        ("s[i][j] = b[j] + 0.35 * z[i][j]", "input b[6]"),
        ("s[i][j] = z[i][j] - 10000 * b[j]", "parameter b[6] = [0, 1, 0, 0, 1, 0]"),
    ] {
        let text = text.replace("s[i][j] = z[i][j] + b[j]", sum).replace("input b[6]", declared);
        let values = |name: &str, values: &[f64]| (name.to_owned(), values.to_vec());
        let mask = declared.starts_with("input").then(|| values("b", &[0.0, -1e4, 0.0, 0.0, -1e4, 0.0]));
        let steps = [[values("z", &z)].into_iter().chain(mask).collect::<NamedValues>()];
        let accuracy =
            upper(&text.parse().expect("a good text"), &steps, 16).accuracy().expect("values have a meaning");
        assert!(accuracy.verdict.suffices, "{sum}: {}", accuracy.verdict);
    }
    // Whole numbers that no word of eight bits holds: they are rounded, not refused.
    let declared = "parameter c[6] = [0, 10000, 0, 0, 10000, 0]\ntemporary b[6]";
    let sum = "b[j] = -c[j]  for j in 0..6\ns[i][j] = b[j] + 0.35 * z[i][j]";
    let text = text.replace("s[i][j] = z[i][j] + b[j]", sum).replace("input b[6]", declared);
    for word in [8, 16] {
        let steps = [NamedValues::from([("z".to_owned(), z.clone())])];
        let accuracy = upper(&text.parse().expect("a good text"), &steps, word).accuracy();
        let verdict = accuracy.expect("values have a meaning").verdict;
        assert_eq!(verdict.suffices, word == 16, "{word} bits: {verdict}");
    }
    // A row that is masked as a whole has its largest value there.
    let all = [NamedValues::from([("z".to_owned(), z), ("b".to_owned(), vec![-1e4; 6])])];
    let found = upper(&program, &all, 16);
    assert!(!found.fixed.tensors.iter().any(|tensor| tensor.name.contains(".masked")), "{}", found.fixed);
}
