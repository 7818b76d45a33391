//! The plain evaluator, golden, and golden after the canonical passes agree: on every conformance program, on random programs, on
//! every operation.
//!
//! A program that they differ on is minimised and written into `random/found`, where this file and `ladder_random` replay it.

use crate::cases;
use crate::generator;
use arch::{Origin, Span};
use compiler::language::{Language, Options, parse};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start,
    Tensor, TensorId, Unary,
};
use generator::agreement::{Agreement, Inputs, agree, evaluators_agree};
use generator::trial::{Kind, Trial, Verdict, keep, of_tape};
use generator::{tape, wide};
use serde_json::{Map, Value};
use sim::eval::{read_inputs, with_shapes_of};
use std::path::Path;

/// Every positive conformance program, from its inputs.
#[test]
fn conformance_programs_agree() {
    let (mut three, mut complaints) = (0, Vec::new());
    for case in cases::all().iter().filter(|case| case["kind"] == "positive") {
        let file = case["file"].as_str().expect("a file");
        let text = std::fs::read_to_string(cases::folder().join(file)).expect("the program is there");
        let extension = file.rsplit('.').next().unwrap_or_default();
        let language = Language::of_extension(extension).expect("a known extension");
        if language == Language::Preprocessor {
            continue;
        }
        let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object());
        let inputs: Map<_, _> = given.flatten().map(|(name, value)| (name.clone(), value.clone())).collect();
        let inputs = Value::Object(inputs);
        let options = Options { entry: case["entry"].as_str().map(str::to_owned), ..Options::default() };
        let (program, _) = parse(language, &text, &with_shapes_of(&inputs, options)).expect("the program is right");
        match agree(&program, &[read_inputs(&program, &inputs).expect("the inputs fit")]) {
            Ok(agreement) => three += usize::from(agreement == Agreement::Three),
            Err(why) => complaints.push(format!("{file}: {why}")),
        }
    }
    println!("{three} programs in three ways");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(three >= 130, "only {three} programs in three ways");
}

/// Trials of a kind, and how many of them were compared in three ways.
fn trials(kind: Kind, seed: u64, count: u64) -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/found");
    let mut three = 0;
    for number in 0..count {
        let tape = tape::random(seed, number, 30 + (number * 7 % 170) as usize);
        match of_tape(kind, &tape).agree() {
            Verdict::Climbed(ways) => three += u64::from(ways == 3),
            Verdict::Refused(_) => {}
            Verdict::Fell(_) => {
                let name = format!("agree-{kind:?}-{seed}-{number}").to_lowercase();
                panic!("{}", keep(kind, &tape, &folder, &name, Trial::agree));
            }
        }
    }
    three
}

#[test]
fn random_programs_of_all_that_tensor_ir_can_say_agree() {
    let three = trials(Kind::Wide, 1, 150);
    println!("{three} in three ways");
    assert!(three >= 110, "only {three} in three ways");
}

#[test]
fn random_programs_of_the_ladder_agree() {
    assert!(trials(Kind::Tabla, 1, 150) >= 140);
    assert!(trials(Kind::Ir, 1, 150) >= 140);
}

/// The generator says what tensor IR has; each of these in more than a few of the programs.
#[test]
fn the_generator_uses_tensor_ir() {
    let programs: Vec<(Program, Vec<Inputs>)> =
        (0..200).map(|number| wide::program(&tape::random(1, number, 30 + (number * 7 % 170) as usize))).collect();
    let nests =
        |holds: &dyn Fn(&Nest) -> bool| programs.iter().filter(|(program, _)| program.nests.iter().any(holds)).count();
    let bodies = |holds: fn(&Node) -> bool| nests(&|nest| nest.body.nodes.iter().any(holds));
    let outer = |nest: &Nest| {
        let last = nest.iterators.len().saturating_sub(1);
        nest.body.nodes.iter().any(|node| matches!(node, Node::Iterator(IterId(n)) if *n < last))
    };
    let several = |(program, _): &&(Program, Vec<Inputs>)| {
        let writers = |id| program.nests.iter().filter(|nest| nest.out == TensorId(id)).count();
        (0..program.tensors.len()).any(|id| writers(id) > 1)
    };
    let missing = |(_, steps): &&(Program, Vec<Inputs>)| {
        steps.iter().flatten().any(|(_, values)| values.iter().any(Option::is_none))
    };
    let counts = [
        ("an index of an outer loop as a value", nests(&outer)),
        ("a gather", bodies(|node| matches!(node, Node::Gather { .. }))),
        ("a choice", bodies(|node| matches!(node, Node::Select { .. }))),
        ("a cast", bodies(|node| matches!(node, Node::Cast(..)))),
        ("an integer quotient", bodies(|node| matches!(node, Node::Binary(Binary::DivFloor, ..)))),
        ("a guard", nests(&|nest| !nest.guards.is_empty())),
        ("a sum", nests(&|nest| nest.aggregate == Aggregate::Add)),
        ("a product", nests(&|nest| nest.aggregate == Aggregate::Mul)),
        ("a minimum", nests(&|nest| nest.aggregate == Aggregate::Min)),
        ("a maximum", nests(&|nest| nest.aggregate == Aggregate::Max)),
        ("a start", nests(&|nest| matches!(nest.start, Start::Element { .. }))),
        ("a long loop", nests(&|nest| nest.iterators.last().is_some_and(|last| last.extent() > 256))),
        ("several writers", programs.iter().filter(several).count()),
        ("inputs without a value", programs.iter().filter(missing).count()),
        ("descent", programs.iter().filter(|(program, _)| !program.descents.is_empty()).count()),
        ("a next state", programs.iter().filter(|(program, _)| !program.updates.is_empty()).count()),
    ];
    println!("{counts:?}");
    for (what, count) in counts {
        assert!(count >= 10, "only {count} of 200 programs have {what}");
    }
}

/// One operation on inputs, element by element.
fn operation(arity: usize, node: impl FnOnce(Vec<NodeId>) -> Node, rows: &[[f64; 3]]) -> (Program, Vec<Inputs>) {
    let tensor = |name: &str, role: Role| Tensor {
        name: name.to_owned(),
        shape: vec![rows.len() as u32],
        role,
        element: Element::Real,
        span: Span::default(),
    };
    let index = vec![Affine::iterator(IterId(0))];
    let mut body = Body::default();
    let operands: Vec<NodeId> =
        (0..arity).map(|n| body.push(Node::Read { tensor: TensorId(n), index: index.clone() })).collect();
    body.push(node(operands));
    let nest = Nest {
        iterators: vec![Iterator { name: "i".to_owned(), low: 0, high: rows.len() as i64 }],
        free: 1,
        guards: Vec::new(),
        out: TensorId(3),
        out_index: index.clone(),
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body,
        origin: Origin::default(),
    };
    let mut program = Program { nests: vec![nest], ..Program::default() };
    program.tensors = ["a", "b", "c"].map(|name| tensor(name, Role::Input)).to_vec();
    program.tensors.push(tensor("o", Role::Output));
    program.names = vec![("o".to_owned(), TensorId(3))];
    let column = |n: usize| (TensorId(n), rows.iter().map(|row| Some(row[n])).collect());
    (program, vec![vec![column(0), column(1), column(2)]])
}

#[test]
fn every_operation_agrees() {
    let triples = |values: &[f64]| -> Vec<[f64; 3]> {
        values.iter().flat_map(|&a| values.iter().map(move |&b| [a, b, 0.75 * a - b])).collect()
    };
    let ends = triples(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, -0.0, 1e-300, -40.0]);
    let values: Vec<f64> = (-24..=24).map(|n| f64::from(n) / 8.0).chain([-30.0, 30.0]).collect();
    let rows: Vec<[f64; 3]> = triples(&values).into_iter().chain(ends.iter().copied()).collect();
    // Far from 0 last places are large, and integers have an end.
    let near: Vec<[f64; 3]> = rows.iter().copied().filter(|row| row.iter().all(|value| value.abs() <= 4.0)).collect();
    let whole: Vec<[f64; 3]> = near.iter().map(|row| [row[0] * 8.0, row[1] * 8.0 + 0.5, 1.0].map(f64::floor)).collect();
    let nonzero: Vec<[f64; 3]> = whole.into_iter().filter(|row| row[1] != 0.0).collect();
    let check = |what: String, rows: &[[f64; 3]], arity: usize, node: &dyn Fn(&[NodeId]) -> Node| {
        let (program, steps) = operation(arity, |of| node(&of), rows);
        let finite = rows.iter().flatten().all(|value| value.is_finite());
        match if finite { agree(&program, &steps) } else { evaluators_agree(&program, &steps) } {
            Ok(Agreement::Fault) => panic!("{what}: the values are refused"),
            Ok(_) => {}
            Err(why) => panic!("{what}: {why}"),
        }
    };
    for operator in [Unary::Neg, Unary::Not] {
        check(format!("{operator:?}"), &rows, 1, &|of| Node::Unary(operator, of[0]));
        check(format!("{operator:?}"), &near, 1, &|of| Node::Unary(operator, of[0]));
    }
    for operator in BINARY {
        let integer = matches!(operator, Binary::DivFloor | Binary::RemFloor);
        let node = |of: &[NodeId]| Node::Binary(operator, of[0], of[1]);
        check(format!("{operator:?}"), if integer { &nonzero } else { &near }, 2, &node);
        if !integer {
            check(format!("{operator:?}"), &rows, 2, &node);
        }
    }
    let select = |of: &[NodeId]| Node::Select { condition: of[0], yes: of[1], no: of[2] };
    check("select".to_owned(), &rows, 3, &select);
    check("select".to_owned(), &near, 3, &select);
    let int = |bits, signed| Element::Int { bits, signed };
    for element in [Element::Real, Element::Bool, int(8, true), int(32, true)] {
        check(format!("{element:?}"), &rows, 1, &|of| Node::Cast(element, of[0]));
        check(format!("{element:?}"), &near, 1, &|of| Node::Cast(element, of[0]));
    }
    // Canonical form has functions written out for words, which know no negative zero and nothing that small. Negative numbers have
    // whole powers only; the power of 0 is a logarithm's. Remainders divide.
    let word = |value: &f64| *value == 0.0 && value.is_sign_positive() || value.abs() > 1e-9;
    let words: Vec<[f64; 3]> = near.iter().copied().filter(|row| row.iter().all(word)).collect();
    let powers: Vec<[f64; 3]> =
        words.iter().copied().filter(|row| row[0] > 0.0 || row[0] < 0.0 && row[1].fract() == 0.0).collect();
    let divisors: Vec<[f64; 3]> = words.iter().copied().filter(|row| row[1] != 0.0).collect();
    for (function, arity) in FUNCTIONS {
        let rows = match function {
            Function::Pow => &powers,
            Function::Fmod | Function::Remainder => &divisors,
            _ => &words,
        };
        check(format!("{function:?}"), rows, arity, &|of| Node::Call(function, of.to_vec()));
        check(format!("{function:?}"), &ends, arity, &|of| Node::Call(function, of.to_vec()));
    }
}

const BINARY: [Binary; 17] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Div,
    Binary::DivFloor,
    Binary::DivControlled,
    Binary::RemFloor,
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

/// With the number of arguments.
const FUNCTIONS: [(Function, usize); 41] = [
    (Function::Sigmoid, 1),
    (Function::SigmoidSymmetric, 1),
    (Function::Gaussian, 1),
    (Function::Log, 1),
    (Function::Exp, 1),
    (Function::Tanh, 1),
    (Function::Sqrt, 1),
    (Function::Rsqrt, 1),
    (Function::Pow, 2),
    (Function::Abs, 1),
    (Function::Floor, 1),
    (Function::Ceil, 1),
    (Function::Round, 1),
    (Function::Trunc, 1),
    (Function::Sin, 1),
    (Function::Cos, 1),
    (Function::Tan, 1),
    (Function::Asin, 1),
    (Function::Acos, 1),
    (Function::Atan, 1),
    (Function::Atan2, 2),
    (Function::Sinh, 1),
    (Function::Cosh, 1),
    (Function::Asinh, 1),
    (Function::Acosh, 1),
    (Function::Atanh, 1),
    (Function::Cbrt, 1),
    (Function::Erf, 1),
    (Function::Erfc, 1),
    (Function::Exp2, 1),
    (Function::Exp10, 1),
    (Function::Expm1, 1),
    (Function::Log2, 1),
    (Function::Log10, 1),
    (Function::Log1p, 1),
    (Function::Copysign, 2),
    (Function::Fdim, 2),
    (Function::Fmod, 2),
    (Function::Remainder, 2),
    (Function::Hypot, 2),
    (Function::Fma, 3),
];
