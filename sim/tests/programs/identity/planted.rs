//! Wrong rewrites, planted: the result of every pass with one thing changed. What the plain evaluator tells apart, the identity test must.

use super::all;
use super::identities::{uses, with_uneven_rates};
use compiler::canonical::{Options, PASSES, canonicalise_watched};
use compiler::identity::{Effort, Side, compare, law};
use compiler::tensor::{
    self, Aggregate, Binary, Function, Nest, Node, NodeId, Program, Role, Start, Tensor, TensorId, Unary,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::eval::Engine;
use sim::plain::Plain;
use std::collections::BTreeMap;

/// All draws for every program: a threshold is seen where values lie on its two sides.
const EFFORT: Effort = Effort(20_000_000);

/// Changes of one rewrite that are tried.
const TRIES: usize = 4;
/// Of a pass of which nothing has been caught yet: few programs of the suite are changed by it.
const PATIENCE: usize = 40;

/// How the planted faults of a pass came out.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    caught: usize,
    /// The plain evaluator sees no difference, and neither does the identity test.
    equivalent: usize,
}

/// Two stages of a program, next to each other.
struct Rewrite {
    pass: &'static str,
    before: (Program, bool),
    after: (Program, bool),
}

fn rewrites(program: &Program, options: &Options) -> Vec<Rewrite> {
    let mut found = Vec::new();
    let mut before = (program.clone(), false);
    let _refused = canonicalise_watched(program, options, &mut |pass, program| {
        let after = (program.clone(), before.1 || pass.name == "vectorise");
        let before = std::mem::replace(&mut before, after.clone());
        if before.0 != after.0 {
            found.push(Rewrite { pass: pass.name, before, after });
        }
    });
    found
}

/// One thing changed somewhere, if the result is a program.
fn changed(program: &Program, random: &mut ChaCha8Rng) -> Option<Program> {
    let mut below = |limit: usize| random.next_u32() as usize % limit.max(1);
    let mut wrong = program.clone();
    if program.nests.is_empty() {
        return None;
    }
    let number = below(program.nests.len());
    match below(8) {
        0 => drop(wrong.nests.remove(number)),
        1 => {
            let nest = &mut wrong.nests[number];
            let summed = nest.free..nest.iterators.len();
            let iterator = nest.iterators.get_mut(summed.start + below(summed.len()))?;
            iterator.high -= 1;
        }
        2 => wrong.nests[number] = with_other_aggregate(&program.nests[number]),
        3 => wrong.nests[number].start = Start::Fill(0.75),
        _ => {
            let nodes = &mut wrong.nests[number].body.nodes;
            let at = below(nodes.len());
            nodes[at] = other_node(&nodes[at], &program.tensors, &mut below)?;
        }
    }
    (wrong != *program && tensor::laws(&wrong).is_ok()).then_some(wrong)
}

fn with_other_aggregate(nest: &Nest) -> Nest {
    let aggregate = match nest.aggregate {
        Aggregate::Assign => Aggregate::Assign,
        Aggregate::Add | Aggregate::Min => Aggregate::Max,
        Aggregate::Mul | Aggregate::Max => Aggregate::Add,
    };
    Nest { aggregate, ..nest.clone() }
}

/// A slip of the pen.
fn other_node(node: &Node, tensors: &[Tensor], below: &mut impl FnMut(usize) -> usize) -> Option<Node> {
    Some(match node {
        Node::Constant(value) => Node::Constant(if *value == 0.0 { 1.0 } else { value * [1.5, -1.0, 0.5][below(3)] }),
        Node::Read { tensor, index } if below(2) == 0 && !index.is_empty() => {
            let mut index = index.clone();
            let at = below(index.len());
            index[at].offset += if below(2) == 0 { 1 } else { -1 };
            Node::Read { tensor: *tensor, index }
        }
        Node::Read { tensor, index } => {
            let shape = &tensors[tensor.0].shape;
            let like: Vec<usize> =
                (0..tensors.len()).filter(|&t| t != tensor.0 && tensors[t].shape == *shape).collect();
            Node::Read { tensor: TensorId(*like.get(below(like.len()))?), index: index.clone() }
        }
        Node::Unary(Unary::Neg, a) => Node::Binary(Binary::Add, *a, *a),
        Node::Binary(operation, a, b) => match (operation, below(2)) {
            (Binary::Sub | Binary::Div | Binary::Lt | Binary::DivFloor, 0) => Node::Binary(*operation, *b, *a),
            (Binary::Add, _) => Node::Binary(Binary::Sub, *a, *b),
            (Binary::Sub, _) | (Binary::Mul, 0) => Node::Binary(Binary::Add, *a, *b),
            (Binary::Mul, _) => Node::Binary(Binary::Mul, *a, *a),
            (Binary::Max, _) => Node::Binary(Binary::Min, *a, *b),
            (_, _) => Node::Unary(Unary::Neg, *a),
        },
        Node::Select { condition, yes, no } => Node::Select { condition: *condition, yes: *no, no: *yes },
        Node::Call(function, arguments) => match arguments.as_slice() {
            [argument] if *function != Function::Tanh => Node::Call(Function::Tanh, vec![*argument]),
            [argument] => Node::Unary(Unary::Neg, *argument),
            _ => return None,
        },
        Node::Unary(Unary::Not, a) | Node::Cast(_, a) => Node::Unary(Unary::Neg, NodeId(a.0)),
        Node::Iterator(_) | Node::Gather { .. } => return None,
    })
}

/// Whether the plain evaluator tells two programs with the same tensors apart, at a few points.
fn plainly_differ(one: &Program, other: &Program) -> bool {
    (1..4).any(|salt| {
        let of = |program: &Program| -> Option<Vec<f64>> {
            let mut plain = Plain::new(program);
            for (id, tensor) in program.tensors.iter().enumerate() {
                if matches!(tensor.role, Role::Input | Role::Label | Role::State | Role::InOut) {
                    let count = tensor.shape.iter().map(|&n| n as usize).product();
                    let real = |k: usize| 0.3 + libm::fabs(libm::sin((k * 7 + id * 13 + salt * 29) as f64)) * 1.3;
                    let whole = |k: usize| ((k + id + salt) % 2) as f64;
                    let value = |k| if tensor.element == tensor::Element::Real { real(k) } else { whole(k) };
                    plain.set(TensorId(id), &(0..count).map(|k| Some(value(k))).collect::<Vec<_>>());
                }
            }
            plain.step().ok()?;
            let updated = program.updates.iter().map(|update| update.state);
            let descended = program.descents.iter().map(|descent| descent.state);
            let results = program.names.iter().map(|(_, tensor)| *tensor).chain(updated).chain(descended);
            Some(results.flat_map(|tensor| plain.value(tensor)).map(|value| value.unwrap_or(f64::NAN)).collect())
        };
        match (of(one), of(other)) {
            (Some(one), Some(other)) => one.iter().zip(&other).any(|(a, b)| (a - b).abs() > 1e-6 * a.abs().max(1.0)),
            _ => false,
        }
    })
}

#[test]
fn planted_wrong_rewrites_are_caught() {
    let mut random = ChaCha8Rng::seed_from_u64(45);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut escaped = Vec::new();
    for (file, program) in all() {
        let program = with_uneven_rates(&program);
        for options in uses(&program) {
            for Rewrite { pass, before, after } in rewrites(&program, &options) {
                for attempt in 0..PATIENCE {
                    if attempt >= TRIES && tallies.get(pass).is_some_and(|tally| tally.caught > 0) {
                        break;
                    }
                    let Some(wrong) = changed(&after.0, &mut random) else { continue };
                    let side = |program, vectorised| Side { program, batch: options.batch, vectorised };
                    let found = compare(side(&before.0, before.1), side(&wrong, after.1), law(pass), EFFORT);
                    let tally = tallies.entry(pass).or_default();
                    // Batches of programs that speak of one sample are not the plain evaluator's.
                    let single = options.batch.size == 1 || after.1 && after.0.descents.is_empty();
                    match found {
                        Err(_) => tally.caught += 1,
                        Ok(_) if single && plainly_differ(&after.0, &wrong) => {
                            escaped.push(format!("{file} after {pass}:\n{}\nbecame\n{wrong}", after.0));
                        }
                        Ok(_) => tally.equivalent += 1,
                    }
                }
            }
        }
    }
    for (pass, tally) in &tallies {
        println!("{pass}: {} caught, {} the same function", tally.caught, tally.equivalent);
    }
    assert!(escaped.is_empty(), "{} escaped:\n{}", escaped.len(), escaped[0]);
    let caught: usize = tallies.values().map(|tally| tally.caught).sum();
    assert!(caught >= 400, "{caught}");
    let blind: Vec<&str> = PASSES.iter().map(|pass| pass.name).collect();
    let seeing = |pass: &&str| tallies.get(pass).is_none_or(|tally| tally.caught == 0);
    let blind: Vec<&str> = blind.into_iter().filter(seeing).collect();
    assert!(blind.is_empty(), "nothing planted in {blind:?} was caught");
}
