//! A function of constants: every function of tensor IR, down to `array`.

use arch::function::Hardware;
use arch::machine::MachineSpec;
use arch::{Origin, Span};
use compiler::canonical::{Batch, Keep, Options};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start,
    Tensor, TensorId,
};
use sim::array::Array;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};

/// `o[i] = x[i] * f(arguments)`
fn program(function: Function, arguments: &[f64]) -> Program {
    let tensor = |name: &str, role| Tensor {
        name: name.to_owned(),
        shape: vec![3],
        role,
        element: Element::Real,
        span: Span::default(),
    };
    let index = vec![Affine::iterator(IterId(0))];
    let mut body = Body::default();
    let element = body.push(Node::Read { tensor: TensorId(0), index: index.clone() });
    let constants: Vec<NodeId> = arguments.iter().map(|&value| body.push(Node::Constant(value))).collect();
    let value = body.push(Node::Call(function, constants));
    body.push(Node::Binary(Binary::Mul, element, value));
    let nest = Nest {
        iterators: vec![Iterator { name: "i".into(), low: 0, high: 3 }],
        free: 1,
        guards: Vec::new(),
        out: TensorId(1),
        out_index: index,
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body,
        origin: Origin::default(),
    };
    Program {
        tensors: vec![tensor("x", Role::Input), tensor("o", Role::Output)],
        nests: vec![nest],
        names: vec![("o".into(), TensorId(1))],
        ..Program::default()
    }
}

#[test]
fn a_function_of_constants_has_a_value_on_every_rung() {
    let spec = MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(2),
        word: Some(16),
        divider: Some(true),
        table_entries: Some(4096),
        ..MachineSpec::default()
    };
    let step = NamedValues::from([("x".to_owned(), vec![1.0, -0.5, 0.25])]);
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let constants = [-1000.0, -1.0, 0.0, 0.5, 4.0, 1000.0];
    let mut climbed = 0;
    let on_the_grid = |function: &&Function| !matches!(function.hardware(), Hardware::None);
    let functions: Vec<&Function> = Function::ALL.iter().filter(on_the_grid).collect();
    for &&function in &functions {
        for first in constants {
            for second in if function.arity() == 1 { &constants[..1] } else { &constants[..] } {
                let arguments = &[first, *second, 0.25][..function.arity()];
                let value = function.value([first, *second, 0.25]);
                let what = format!("{function:?}{arguments:?}");
                let climb = Climb::new(
                    &program(function, arguments),
                    &options,
                    &NamedValues::new(),
                    std::slice::from_ref(&step),
                    &spec,
                )
                .unwrap_or_else(|errors| panic!("{what}: {errors:?}"));
                let fall = climb.run(Array::new(&climb.image().machine), Stalls::none()).err();
                assert_eq!(fall, None, "{what}");
                // What no word can hold saturates.
                let holds = value.is_finite() && value.abs() < 1e6;
                assert!(!holds || climb.distance <= 2.0, "{what}: {}", climb.distance);
                climbed += 1;
            }
        }
    }
    assert!(climbed >= 6 * functions.len(), "{climbed} climbs");
}
