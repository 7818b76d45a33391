//! The golden evaluator on every node of tensor IR, on Nests made by hand.

use arch::{Code, Span};
use compiler::language::{Options, tabla};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, Guard, IterId, Iterator, Nest, Node, NodeId, Program, Role,
    Start, Tensor, TensorId, Unary, Update,
};
use sim::golden::Golden;
use std::time::Instant;

fn tensor(name: &str, shape: &[u32], role: Role) -> Tensor {
    Tensor { name: name.into(), shape: shape.to_vec(), role, element: Element::Real, span: Span::default() }
}

fn iterators(ranges: &[(i64, i64)]) -> Vec<Iterator> {
    ranges.iter().enumerate().map(|(n, &(low, high))| Iterator { name: format!("i{n}"), low, high }).collect()
}

fn at(iterator: usize) -> Affine {
    Affine::iterator(IterId(iterator))
}

/// A Nest that writes tensor `out`; the rest is set by the test.
fn nest(out: usize, ranges: &[(i64, i64)], free: usize, nodes: Vec<Node>) -> Nest {
    Nest {
        iterators: iterators(ranges),
        free,
        guards: Vec::new(),
        out: TensorId(out),
        out_index: (0..free).map(at).collect(),
        aggregate: if free < ranges.len() { Aggregate::Add } else { Aggregate::Assign },
        start: Start::Identity,
        body: Body { nodes },
        origin: arch::Origin::default(),
    }
}

fn program(tensors: Vec<Tensor>, nests: Vec<Nest>) -> Program {
    Program { tensors, nests, ..Program::default() }
}

fn read(tensor: usize, index: &[Affine]) -> Node {
    Node::Read { tensor: TensorId(tensor), index: index.to_vec() }
}

fn values(golden: &Golden, tensor: usize) -> Vec<Option<f64>> {
    golden.value(TensorId(tensor)).collect()
}

fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

#[test]
fn guards_cut_the_inner_loop_exactly() {
    // o[i] += x[2i - k] where it exists: strided, with both ends cut; and o[4] has no point at all.
    let value = Affine { offset: 0, terms: vec![(IterId(0), 2), (IterId(1), -1)] };
    for (bound, expected) in
        [(5, [Some(1.0), Some(9.0), Some(21.0), Some(9.0), None]), (1, [Some(1.0), Some(1.0), None, None, None])]
    {
        let mut sum = nest(1, &[(0, 5), (0, 3)], 1, vec![read(0, std::slice::from_ref(&value))]);
        sum.guards = vec![Guard::Within { value: value.clone(), bound }];
        let tensors = vec![tensor("x", &[5], Role::Input), tensor("o", &[5], Role::Temporary)];
        let mut golden = Golden::new(&program(tensors, vec![sum]));
        golden.set(TensorId(0), &[1.0, 3.0, 5.0, 7.0, 9.0]);
        golden.step().unwrap();
        assert_eq!(values(&golden, 1), expected);
    }
}

/// Rows that are longer than a block, and sums whose bits depend on the order of their values.
#[test]
fn a_convolution_at_the_border_adds_in_its_order() {
    const ROWS: i64 = 3;
    const COLUMNS: i64 = 700;
    let beside = |free: usize, tap: usize| Affine { offset: -1, terms: vec![(IterId(free), 1), (IterId(tap), 1)] };
    let inside = |value: Affine, bound: i64| Guard::Within { value, bound };
    let nodes = vec![
        read(0, &[beside(0, 2), beside(1, 3)]),
        read(1, &[at(2), at(3)]),
        Node::Binary(Binary::Mul, NodeId(0), NodeId(1)),
    ];
    let mut sum = nest(2, &[(0, ROWS), (0, COLUMNS), (0, 3), (0, 3)], 2, nodes);
    sum.guards = vec![inside(beside(0, 2), ROWS), inside(beside(1, 3), COLUMNS)];
    let image: Vec<f64> = (0..ROWS * COLUMNS).map(|n| (n * 37 % 101) as f64 / 7.0).collect();
    let weights: Vec<f64> = (0..9).map(|n| f64::from(n - 4) / 3.0).collect();
    let mut expected = Vec::new();
    for (y, x) in (0..ROWS).flat_map(|y| (0..COLUMNS).map(move |x| (y, x))) {
        let mut total = 0.0;
        for (j, k) in (0..3).flat_map(|j| (0..3).map(move |k| (j, k))) {
            let (row, column) = (y + j - 1, x + k - 1);
            if (0..ROWS).contains(&row) && (0..COLUMNS).contains(&column) {
                total += image[(row * COLUMNS + column) as usize] * weights[(j * 3 + k) as usize];
            }
        }
        expected.push(total);
    }
    let shape = [ROWS as u32, COLUMNS as u32];
    let weights = tensor("w", &[3, 3], Role::Parameter(weights.into()));
    let tensors = vec![tensor("a", &shape, Role::Input), weights, tensor("o", &shape, Role::Temporary)];
    let mut golden = Golden::new(&program(tensors, vec![sum]));
    golden.set(TensorId(0), &image);
    golden.step().unwrap();
    assert_eq!(values(&golden, 2), some(&expected));
}

#[test]
fn a_zero_guard_keeps_one_point() {
    // o[i] += x[q] where i - 1 - 2q == 0
    let mut sum = nest(1, &[(0, 6), (0, 3)], 1, vec![read(0, &[at(1)])]);
    sum.guards = vec![Guard::Zero { value: Affine { offset: -1, terms: vec![(IterId(0), 1), (IterId(1), -2)] } }];
    let fill = nest(1, &[(0, 6)], 1, vec![Node::Constant(0.0)]);
    let tensors = vec![tensor("x", &[3], Role::Input), tensor("o", &[6], Role::Temporary)];
    let mut golden = Golden::new(&program(tensors, vec![fill, sum]));
    golden.set(TensorId(0), &[1.0, 2.0, 3.0]);
    golden.step().unwrap();
    assert_eq!(values(&golden, 1), some(&[0.0, 1.0, 0.0, 2.0, 0.0, 3.0]));
}

#[test]
#[allow(clippy::float_cmp, reason = "these results are exact")]
fn every_aggregate_and_every_start() {
    let x = [3.0, -1.0, 2.0];
    let run = |aggregate: Aggregate, start: Start| {
        let mut reduce = nest(1, &[(0, 3)], 0, vec![read(0, &[at(0)])]);
        (reduce.aggregate, reduce.start) = (aggregate, start);
        let tensors = vec![
            tensor("x", &[3], Role::Input),
            tensor("o", &[], Role::Temporary),
            tensor("b", &[2], Role::Parameter([7.0, 9.0].into())),
        ];
        let mut golden = Golden::new(&program(tensors, vec![reduce]));
        golden.set(TensorId(0), &x);
        golden.step().unwrap();
        values(&golden, 1)[0].unwrap()
    };
    let results: Vec<f64> = [Aggregate::Add, Aggregate::Mul, Aggregate::Min, Aggregate::Max]
        .into_iter()
        .flat_map(|aggregate| {
            let element = Start::Element { tensor: TensorId(2), index: vec![Affine::constant(1)] };
            [Start::Identity, Start::Fill(2.5), element].map(|start| run(aggregate, start))
        })
        .collect();
    assert_eq!(results, [4.0, 6.5, 13.0, -6.0, -15.0, -54.0, -1.0, -1.0, -1.0, 3.0, 3.0, 9.0]);
}

#[test]
fn undefined_elements_spread_and_division_is_controlled() {
    let divide = nest(
        2,
        &[(0, 5)],
        1,
        vec![read(0, &[at(0)]), read(1, &[at(0)]), Node::Binary(Binary::DivControlled, NodeId(0), NodeId(1))],
    );
    let sum = nest(3, &[(0, 5)], 0, vec![read(2, &[at(0)])]);
    let tensors = vec![
        tensor("x", &[5], Role::Input),
        tensor("y", &[5], Role::Input),
        tensor("q", &[5], Role::Temporary),
        tensor("s", &[], Role::Temporary),
    ];
    let mut golden = Golden::new(&program(tensors, vec![divide, sum]));
    golden.set(TensorId(0), &[6.0, 0.0, 1.0, 2.0, 4.0]);
    golden.set_partly(TensorId(1), &[Some(3.0), Some(0.0), Some(0.0), None, Some(4.0)]);
    golden.step().unwrap();
    assert_eq!(values(&golden, 2), [Some(2.0), Some(0.0), None, None, Some(1.0)]);
    assert_eq!(values(&golden, 3), [None]);
    // The next sample has no trace of it.
    golden.set(TensorId(1), &[1.0; 5]);
    golden.step().unwrap();
    assert_eq!(values(&golden, 3), [Some(13.0)]);
    assert_eq!(golden.ranges().tensors[0], Some((0.0, 6.0)));
    assert_eq!(golden.ranges().tensors[2], Some((0.0, 6.0)));
}

#[test]
fn a_computed_index_is_checked() {
    let gather =
        nest(2, &[(0, 3)], 1, vec![read(1, &[at(0)]), Node::Gather { tensor: TensorId(0), index: vec![NodeId(0)] }]);
    let tensors =
        vec![tensor("x", &[2], Role::Input), tensor("at", &[3], Role::Input), tensor("o", &[3], Role::Temporary)];
    let mut golden = Golden::new(&program(tensors, vec![gather]));
    golden.set(TensorId(0), &[5.0, 6.0]);
    golden.set(TensorId(1), &[1.0, 0.0, 1.0]);
    golden.step().unwrap();
    assert_eq!(values(&golden, 2), some(&[6.0, 5.0, 6.0]));
    golden.set(TensorId(1), &[1.0, 2.0, 1.0]);
    assert_eq!(golden.step().unwrap_err().code, Code::Bounds);
}

#[test]
fn integers_divide_towards_minus_infinity_and_do_not_overflow() {
    let operation = |operator: Binary, a: f64, b: f64, bits: u32| {
        let nodes = vec![Node::Constant(a), Node::Constant(b), Node::Binary(operator, NodeId(0), NodeId(1))];
        let mut out = tensor("o", &[], Role::Temporary);
        out.element = Element::Int { bits, signed: true };
        let mut golden = Golden::new(&program(vec![out], vec![nest(0, &[], 0, nodes)]));
        golden.step().map(|()| values(&golden, 0)[0].unwrap()).map_err(|error| error.code)
    };
    for (a, b, quotient, remainder) in
        [(7.0, 2.0, 3.0, 1.0), (-7.0, 2.0, -4.0, 1.0), (7.0, -2.0, -4.0, -1.0), (-7.0, -2.0, 3.0, -1.0)]
    {
        assert_eq!(operation(Binary::DivFloor, a, b, 32), Ok(quotient));
        assert_eq!(operation(Binary::RemFloor, a, b, 32), Ok(remainder));
    }
    assert_eq!(operation(Binary::DivFloor, 1.0, 0.0, 32), Err(Code::Const));
    assert_eq!(operation(Binary::Mul, 16.0, 8.0, 8), Err(Code::Const));
    assert_eq!(operation(Binary::Mul, -16.0, 8.0, 8), Ok(-128.0));
}

#[test]
#[allow(clippy::float_cmp, reason = "these results are exact")]
fn scalar_operations() {
    let evaluate = |nodes: Vec<Node>| {
        let mut golden = Golden::new(&program(vec![tensor("o", &[], Role::Temporary)], vec![nest(0, &[], 0, nodes)]));
        golden.step().unwrap();
        values(&golden, 0)[0].unwrap()
    };
    let two = |operator| {
        evaluate(vec![Node::Constant(2.0), Node::Constant(-3.0), Node::Binary(operator, NodeId(0), NodeId(1))])
    };
    let all = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Min,
        Binary::Max,
        Binary::Lt,
        Binary::Le,
        Binary::Gt,
        Binary::Ge,
        Binary::Eq,
        Binary::Ne,
        Binary::And,
        Binary::Or,
    ];
    assert_eq!(all.map(two), [-1.0, 5.0, -6.0, -3.0, 2.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    let one = |value: f64, node: Node| evaluate(vec![Node::Constant(value), node]);
    assert_eq!(one(2.5, Node::Unary(Unary::Neg, NodeId(0))), -2.5);
    assert_eq!(one(2.5, Node::Unary(Unary::Not, NodeId(0))), 0.0);
    assert_eq!(one(-2.7, Node::Cast(Element::Int { bits: 8, signed: true }, NodeId(0))), -2.0);
    assert_eq!(one(0.3, Node::Cast(Element::Bool, NodeId(0))), 1.0);
    let near = |function: Function, x: f64, y: f64| (one(x, Node::Call(function, vec![NodeId(0)])) - y).abs() < 1e-8;
    assert!(near(Function::Sigmoid, 0.015_625, 0.503_906_170_53));
    assert!(near(Function::Gaussian, 0.0, 0.398_942_280_40));
    assert!(near(Function::SigmoidSymmetric, 2.0, 0.761_594_155_96));
    let select = Node::Select { condition: NodeId(0), yes: NodeId(1), no: NodeId(0) };
    assert_eq!(evaluate(vec![Node::Constant(0.0), Node::Constant(1.0), select]), 0.0);
}

#[test]
fn an_update_replaces_what_the_next_tensor_has() {
    let write = nest(
        1,
        &[(1, 3)],
        1,
        vec![read(0, &[at(0)]), Node::Constant(10.0), Node::Binary(Binary::Mul, NodeId(0), NodeId(1))],
    );
    let mut program = program(vec![tensor("w", &[3], Role::State), tensor("w.1", &[3], Role::Temporary)], vec![write]);
    program.updates = vec![Update { state: TensorId(0), next: TensorId(1) }];
    let mut golden = Golden::new(&program);
    golden.set(TensorId(0), &[1.0, 2.0, 3.0]);
    for expected in [[1.0, 20.0, 30.0], [1.0, 200.0, 300.0]] {
        golden.step().unwrap();
        assert_eq!(values(&golden, 0), some(&expected));
    }
}

#[test]
fn an_index_is_a_value_in_every_loop() {
    // o[i, j] = 10 i + j, and the same beside a gather: p[i, j] = x[i] with the index computed.
    let nodes = vec![
        Node::Iterator(IterId(0)),
        Node::Constant(10.0),
        Node::Binary(Binary::Mul, NodeId(0), NodeId(1)),
        Node::Iterator(IterId(1)),
        Node::Binary(Binary::Add, NodeId(2), NodeId(3)),
    ];
    let gathered = vec![Node::Iterator(IterId(0)), Node::Gather { tensor: TensorId(0), index: vec![NodeId(0)] }];
    let boxed = [(0, 2), (1, 4)];
    let mut gather = nest(2, &boxed, 2, gathered);
    gather.out_index[1] = Affine::constant(-1).plus(1, &at(1));
    let mut values_of = nest(1, &boxed, 2, nodes);
    values_of.out_index.clone_from(&gather.out_index);
    let tensors = vec![
        tensor("x", &[2], Role::Parameter([5.0, 7.0].into())),
        tensor("o", &[2, 3], Role::Temporary),
        tensor("p", &[2, 3], Role::Temporary),
    ];
    let mut golden = Golden::new(&program(tensors, vec![values_of, gather]));
    golden.step().unwrap();
    assert_eq!(values(&golden, 1), some(&[1.0, 2.0, 3.0, 11.0, 12.0, 13.0]));
    assert_eq!(values(&golden, 2), some(&[5.0, 5.0, 5.0, 7.0, 7.0, 7.0]));
}

#[test]
fn long_loops_are_cut_into_blocks() {
    let mut golden = {
        let sum = nest(
            1,
            &[(0, 3), (0, 1000)],
            1,
            vec![read(0, &[at(0), at(1)]), Node::Iterator(IterId(1)), Node::Binary(Binary::Mul, NodeId(0), NodeId(1))],
        );
        Golden::new(&program(vec![tensor("x", &[3, 1000], Role::Input), tensor("o", &[3], Role::Temporary)], vec![sum]))
    };
    let x: Vec<f64> = (0..3000).map(|n| f64::from(n / 1000)).collect();
    golden.set(TensorId(0), &x);
    golden.step().unwrap();
    assert_eq!(values(&golden, 1), some(&[0.0, 499_500.0, 999_000.0]));
}

/// Speed is printed, not judged.
#[test]
fn training_is_fast_enough_for_data_sets() {
    let logistic = "mu = 0.1; m = 784; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m]; \
                    h = sum[i](w[i] * x[i]); h = sigmoid(h); d = h - y; g[i] = d * x[i];";
    let layers = "mu = 0.1; a = 785; b = 129; c = 11; model_input x[a]; model_output y[c]; model v[b][a], w[c][b]; \
                  gradient gv[b][a] -> v, gw[c][b] -> w; iterator p[0:a], q[0:b], q_[1:b], r[1:c]; \
                  h[q_] = sigmoid(sum[p](v[q_][p] * x[p])); h[0] = 1; o[r] = sigmoid(sum[q](w[r][q] * h[q])); \
                  d[r] = o[r] - y[r]; e[q_] = sum[r](w[r][q_] * d[r]) * (h[q_] * (1 - h[q_])); \
                  gv[q_][p] = e[q_] * x[p]; gw[r][q] = d[r] * h[q];";
    let small = "mu = 0.1; m = 4; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m]; \
                 d = sum[i](w[i] * x[i]) - y; g[i] = d * x[i];";
    for (text, steps) in [(logistic, 2000), (layers, 20), (small, 100_000)] {
        let (program, _) = tabla::parse(text, &Options::default()).unwrap();
        let points = |nest: &Nest| nest.iterators.iter().map(Iterator::extent).product::<u64>();
        let nodes: u64 = program.nests.iter().map(|nest| points(nest) * nest.body.nodes.len() as u64).sum();
        let mut golden = Golden::new(&program);
        for (id, tensor) in program.tensors.iter().enumerate() {
            let elements: u32 = tensor.shape.iter().product();
            let values: Vec<f64> = (0..elements).map(|n| f64::from(n % 17) / 100.0 - 0.05).collect();
            if matches!(tensor.role, Role::Input | Role::Label | Role::State) {
                golden.set(TensorId(id), &values);
            }
        }
        let start = Instant::now();
        for _ in 0..steps {
            golden.step().unwrap();
        }
        let seconds = start.elapsed().as_secs_f64();
        eprintln!(
            "{:.0} M nodes/s, {:.1} µs a step",
            nodes as f64 * f64::from(steps) / seconds / 1e6,
            seconds / f64::from(steps) * 1e6
        );
    }
}
