//! The text form and the calls from Rust give the same programs.

use compiler::language::{Options, tile as text};
use tile::{Graph, Program, TensorDim, TensorIndex, TensorOutput, cond, function, index, select};

/// The program of a text, for inputs of these shapes.
fn parsed(program: &str, shapes: &[(&str, &[u32])]) -> Program {
    let shapes = shapes.iter().map(|&(name, shape)| (name.to_owned(), shape.to_vec())).collect();
    text::parse(program, &Options { shapes, ..Options::default() }).expect("the text is right").0
}

/// Equal but for the places in the source: in the text of the programs those stand behind an `@`.
fn assert_same(built: &Program, parsed: &Program) {
    let without_places = |program: &Program| {
        let text = program.to_string();
        let lines = text.lines().map(|line| line.rsplit_once("  @ ").map_or(line, |(text, _)| text).to_owned());
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_places(built), without_places(parsed));
}

#[test]
fn a_convolution_with_constraint_and_default() {
    let graph = Graph::new();
    let (input, kernel, p) = (graph.placeholder("I", &[9]), graph.placeholder("K", &[3]), graph.placeholder("P", &[9]));
    let [x_size, k_size] = TensorDim::array();
    let [x, k] = TensorIndex::array(["x", "k"]);
    input.bind_dims(x_size);
    kernel.bind_dims(k_size);
    let output = TensorOutput::new(x_size)
        .at(x)
        .sum(input.at(x + 2 * k - 1) * kernel.at(k))
        .constrain(x - k, k_size)
        .use_default(&p)
        .build();
    let built = graph.build([&output]).expect("the calls are right");
    let program = "def f(I, K, P):\n  X, KX = TensorDims(2)\n  x, k = TensorIndexes(2)\n  I.bind_dims(X)\n  K.bind_dims(KX)\n  \
                   O = TensorOutput(X)\n  O[x] += I[x + 2 * k - 1] * K[k]\n  O.add_constraint(x - k < KX)\n  \
                   O.use_default(P)\n  return O\n";
    assert_same(&built, &parsed(program, &[("I", &[9]), ("K", &[3]), ("P", &[9])]));
}

#[test]
fn elementwise_lines_with_functions_and_sizes() {
    let graph = Graph::new();
    let (a, b) = (graph.placeholder("A", &[2, 3]), graph.placeholder("B", &[3]));
    let [m, n] = TensorDim::array();
    a.bind_dims((m, n));
    let d = (&a + &b * 2.0 - function::exp(&a) / (m * n)).named("D");
    let e = select(Into::<tile::Elementwise>::into(&d).less(0.0), 0.1 * &d, function::max(&d, &b)).named("E");
    let built = graph.build([&e, &d]).expect("the calls are right");
    let program = "def f(A, B):\n  M, N = TensorDims(2)\n  A.bind_dims(M, N)\n  D = A + B * 2.0 - exp(A) / (M * N)\n  \
                   E = select(D < 0.0, 0.1 * D, max(D, B))\n  return E, D\n";
    assert_same(&built, &parsed(program, &[("A", &[2, 3]), ("B", &[3])]));
}

#[test]
fn the_place_of_a_maximum() {
    let graph = Graph::new();
    let input = graph.placeholder("I", &[4]);
    let size = TensorDim::new();
    let n = TensorIndex::new("n");
    input.bind_dims(size);
    let max = TensorOutput::new(()).named("Max").at(()).max(input.at(n)).build();
    let places = index(&graph, size, 0).named("IX");
    let place = TensorOutput::new(()).at(()).max(cond(input.at(n), max.at(()), places.at(n))).build();
    let built = graph.build([&place]).expect("the calls are right");
    let program = "def f(I):\n  N = TensorDim()\n  n = TensorIndex()\n  I.bind_dims(N)\n  Max = TensorOutput()\n  Max[()] >= I[n]\n  \
                   IX = index([N], 0)\n  O = TensorOutput()\n  O[()] >= cond(I[n], Max[()], IX[n])\n  return O\n";
    assert_same(&built, &parsed(program, &[("I", &[4])]));
}

#[test]
fn aggregations_are_those_of_the_text() {
    type Make = fn(tile::Target, tile::Access) -> tile::Contraction;
    let forms: [(&str, Make); 5] = [
        ("+=", |target, access| target.sum(access)),
        ("*=", |target, access| target.product(access)),
        (">=", |target, access| target.max(access)),
        ("<=", |target, access| target.min(access)),
        ("=", |target, access| target.assign(access)),
    ];
    for (operator, make) in forms {
        let graph = Graph::new();
        let input = graph.placeholder("I", &[4]);
        let size = TensorDim::new();
        let i = TensorIndex::new("i");
        input.bind_dims(size);
        let output = make(TensorOutput::new(size + 1).at(i + 1), input.at(i)).build();
        let built = graph.build([&output]).expect("the calls are right");
        let program = format!(
            "def f(I):\n  N = TensorDim()\n  i = TensorIndex()\n  I.bind_dims(N)\n  O = TensorOutput(N + 1)\n  O[i + 1] {operator} I[i]\n  return O\n"
        );
        assert_same(&built, &parsed(&program, &[("I", &[4])]));
    }
}

#[test]
fn faults_have_the_place_of_the_call() {
    let graph = Graph::new();
    let input = graph.placeholder("I", &[4, 4]);
    let [i, j] = TensorIndex::array(["i", "j"]);
    let line = line!() + 1;
    let output = TensorOutput::new(TensorDim::new()).at(i).sum(input.at((i, j))).build();
    let faults = graph.build([&output]).unwrap_err();
    assert_eq!(faults[0].diagnostic.code.as_str(), "E-UNDEF");
    assert_eq!((faults[0].place.file(), faults[0].place.line()), (file!(), line));
    let line = line!() + 1;
    let faults = graph.build(Vec::<&tile::Tensor>::new()).unwrap_err();
    assert_eq!(
        (faults.last().unwrap().diagnostic.code.as_str(), faults.last().unwrap().place.line()),
        ("E-OUTPUT", line)
    );
}
