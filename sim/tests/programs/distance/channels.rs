//! Channels of hidden layers with powers of two of their own: closer to the values by hand than one binary point for each tensor.

use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::fixed::{self, Numbers, Role};
use compiler::tensor::Program;
use sim::array::Array;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues, Upper};

/// Powers of two of the rows of `w`; columns of `v` have their reciprocals.
const SIZES: [i32; 4] = [0, -10, -3, -7];
const W: [[f64; 3]; 4] = [[0.41, -0.77, 0.13], [0.59, 0.23, -0.61], [-0.37, 0.83, 0.47], [0.71, -0.29, 0.53]];
const B: [f64; 4] = [0.11, -0.07, 0.19, 0.05];
const V: [[f64; 4]; 2] = [[0.67, -0.31, 0.43, 0.79], [-0.53, 0.89, 0.17, -0.61]];

/// What is between the two layers.
const BETWEEN: [&str; 3] = [
    "r[n][o] = g[n][o] max 0  for n in 0..8, o in 0..4",
    "r[n][o] = select(g[n][o] < 0, 0.125 * g[n][o], g[n][o])  for n in 0..8, o in 0..4",
    "r[n][o] = sigmoid(g[n][o])  for n in 0..8, o in 0..4",
];

fn inputs() -> Vec<f64> {
    (0..24).map(|n| f64::from(n * 7 % 24) / 12.0 - 0.93).collect()
}

/// Both layers; the sum of the first in two pieces, as that of a padded convolution, or in one. A hidden tensor may be a result, too.
fn program(between: &str, pieces: bool, asked: &str) -> Program {
    let list = |values: Vec<f64>| format!("{values:?}");
    let w = W.iter().zip(SIZES).flat_map(|(row, size)| row.map(|w| libm::ldexp(w, size))).collect();
    let b = B.iter().zip(SIZES).map(|(&b, size)| libm::ldexp(b, size)).collect();
    let v = V.iter().flat_map(|row| row.iter().zip(SIZES).map(|(&v, size)| libm::ldexp(v, -size))).collect();
    let sum = |samples| format!("h[n][o] += w[o][i] * x[n][i]  for n in {samples}, o in 0..4  over i in 0..3\n");
    let sums = if pieces { sum("0..1") + &sum("1..8") } else { sum("0..8") };
    let text = format!(
        "input x[8][3]\nparameter w[4][3] = {}\nparameter b[4] = {}\nparameter v[2][4] = {}\ntemporary h[8][4]\ntemporary g[8][4]\n\
        temporary r[8][4]\noutput y[8][2]\n{sums}g[n][o] = h[n][o] + b[o]  for n in 0..8, o in 0..4\n{between}\n\
        y[n][p] += v[p][o] * r[n][o]  for n in 0..8, p in 0..2  over o in 0..4\n{asked}name y = y\n",
        list(w),
        list(b),
        list(v)
    );
    text.parse().unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

/// The values by hand.
fn expected(between: impl Fn(f64) -> f64) -> Vec<f64> {
    let row = |x: &[f64]| -> Vec<f64> {
        let hidden = |o: usize| {
            let sum = (0..3).map(|i| W[o][i] * x[i]).sum::<f64>() + B[o];
            libm::ldexp(between(libm::ldexp(sum, SIZES[o])), -SIZES[o])
        };
        V.iter().map(|v| (0..4).map(|o| v[o] * hidden(o)).sum()).collect()
    };
    inputs().chunks(3).flat_map(row).collect()
}

fn options() -> Options {
    Options { keep: Keep::AllNames, batch: Batch::SINGLE }
}

fn steps() -> [NamedValues; 1] {
    [NamedValues::from([("x".to_owned(), inputs())])]
}

/// Largest error of the words of `y`.
fn error(program: &fixed::Program, expected: &[f64]) -> f64 {
    let mut run = Fixed::new(program);
    let find = |name: &str| run.tensor(name).expect("it is there");
    let (x, y) = (find("x"), find("y"));
    run.set_real(x, &inputs());
    run.step();
    run.values(y).iter().zip(expected).map(|(found, y)| (found - y).abs()).fold(0.0, f64::max)
}

/// The same with one binary point for each tensor: the ranges of golden know no elements.
fn with_one_point(program: &Program) -> fixed::Program {
    let program = canonicalise(program, &options()).expect("it has a form");
    let mut golden = Golden::new(&program);
    let x = program.tensors.iter().position(|tensor| tensor.name == "x").expect("it is there");
    golden.set(compiler::tensor::TensorId(x), &inputs());
    golden.step().expect("values have a meaning");
    fixed::lower(&program, golden.ranges(), &Numbers::of_width(16)).expect("it fits").0
}

/// Sizes of the rows of `w` in words: bits of the largest.
fn bits(program: &fixed::Program) -> Vec<u32> {
    let w = program.tensors.iter().find(|tensor| tensor.name == "w").expect("it is there");
    let Role::Parameter(words) = &w.role else { panic!("w is constant") };
    let size = |row: &[i64]| row.iter().map(|word| 64 - word.unsigned_abs().leading_zeros()).max().unwrap();
    words.chunks(3).map(size).collect()
}

#[test]
fn small_channels_keep_their_bits_beside_large_ones() {
    for (between, by_hand) in BETWEEN.iter().zip([|x: f64| x.max(0.0), |x: f64| if x < 0.0 { 0.125 * x } else { x }]) {
        for pieces in [false, true] {
            let (program, expected) = (program(between, pieces, ""), expected(by_hand));
            let upper =
                Upper::new(&program, &options(), &NamedValues::new(), &steps(), &Numbers::of_width(16)).unwrap();
            let one = with_one_point(&program);
            let (own, shared) = (error(&upper.fixed, &expected), error(&one, &expected));
            // Ten bits of the smallest row are lost with one binary point, and its column is 2^10 large.
            assert!(own < 0.0005 && shared > 10.0 * own, "{between}: {own} and {shared}");
            assert!(bits(&upper.fixed).iter().all(|&bits| bits >= 13) && bits(&one).contains(&5), "{}", upper.fixed);
            let count = |program: &fixed::Program| program.operations.len();
            assert_eq!(count(&upper.fixed), count(&one), "an operation more");
        }
    }
}

/// A function of the channels, or one that is a result, has no constant that could take the powers in.
#[test]
fn channels_that_are_read_otherwise_have_one_binary_point() {
    for (between, asked) in [(BETWEEN[2], ""), (BETWEEN[0], "name g = g\n")] {
        let program = program(between, false, asked);
        let upper = Upper::new(&program, &options(), &NamedValues::new(), &steps(), &Numbers::of_width(16)).unwrap();
        assert_eq!(upper.fixed, with_one_point(&program), "{between}");
    }
}

#[test]
fn the_array_computes_the_words_of_channels() {
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(2), ..MachineSpec::default() };
    for pieces in [false, true] {
        let program = program(BETWEEN[0], pieces, "");
        let climb = Climb::new(&program, &options(), &NamedValues::new(), &steps(), &spec).expect("it fits");
        climb.run(Array::new(&climb.image().machine), Stalls::none()).expect("the same words");
        climb.prove().expect("the same for all inputs");
    }
}
