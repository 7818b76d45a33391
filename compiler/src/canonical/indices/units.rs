//! Loops of one value.

use super::{accesses, bounded};
use crate::canonical::expr::substitute;
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Guard, IterId, Iterator, Nest, Node, NodeId, Program, Start, Tensor,
};

/// A loop of one value goes, and its value stands where the iterator stood:
///
///     c[n][g + m] += x[n][g + k] * w[g + m][k]   n, m, k in 0..1, g in 0..256      =>     c[0][g] = x[0][g] * w[g][0]
///
/// The back end lays an index on an axis of the grid if it is one iterator; a sum with an iterator that is always 0 would keep it inside
/// the PEs. An iterator that alone picks one of several elements (`x[i]`, `i` in 7..8) stays: the element lies where it says.
pub fn remove_unit_loops(program: &Program) -> Program {
    let nests = program.nests.iter().filter_map(|nest| without_units(nest, &program.tensors)).collect();
    Program { nests, ..program.clone() }
}

/// The nest without such loops; `None` if a condition on them does not hold: it has no points.
fn without_units(nest: &Nest, tensors: &[Tensor]) -> Option<Nest> {
    let mut goes: Vec<bool> = nest.iterators.iter().map(|iterator| iterator.extent() == 1).collect();
    for (tensor, index) in accesses(nest) {
        for (form, &extent) in index.iter().zip(&tensors[tensor.0].shape) {
            if let ([(iterator, _)], true) = (form.terms.as_slice(), extent > 1) {
                goes[iterator.0] = false;
            }
        }
    }
    if !goes.contains(&true) {
        return Some(nest.clone());
    }
    let mut iterators: Vec<Iterator> = Vec::new();
    let mut with: Vec<Affine> = Vec::new();
    for (iterator, &goes) in nest.iterators.iter().zip(&goes) {
        if goes {
            with.push(Affine::constant(iterator.low));
        } else {
            with.push(Affine::iterator(IterId(iterators.len())));
            iterators.push(iterator.clone());
        }
    }
    let mut guards = Vec::new();
    for guard in &nest.guards {
        let (value, bound) = bounded(guard);
        let value = substitute(value, &with);
        match (value.as_constant(), guard) {
            (Some(value), _) if !(0..bound).contains(&value) => return None,
            (Some(_), _) => {}
            (None, Guard::Within { .. }) => guards.push(Guard::Within { value, bound }),
            (None, Guard::Zero { .. }) => guards.push(Guard::Zero { value }),
        }
    }
    let index = |forms: &[Affine]| forms.iter().map(|form| substitute(form, &with)).collect::<Vec<_>>();
    let start = match &nest.start {
        Start::Element { tensor, index: forms } => Start::Element { tensor: *tensor, index: index(forms) },
        other => other.clone(),
    };
    let node = |node: &Node| match node {
        Node::Read { tensor, index: forms } => Node::Read { tensor: *tensor, index: index(forms) },
        Node::Iterator(iterator) => match with[iterator.0].as_constant() {
            Some(value) => Node::Constant(value as f64),
            None => Node::Iterator(with[iterator.0].terms[0].0),
        },
        other => other.clone(),
    };
    let body = Body { nodes: nest.body.nodes.iter().map(node).collect() };
    let free = goes[..nest.free].iter().filter(|goes| !**goes).count();
    let summed = nest.free < nest.iterators.len() && free == iterators.len();
    let result = Nest { iterators, free, guards, out_index: index(&nest.out_index), start, body, ..nest.clone() };
    Some(if summed { assigned(result) } else { result })
}

/// A nest that combines a single value with its start, as an assignment.
fn assigned(mut nest: Nest) -> Nest {
    let start = match std::mem::replace(&mut nest.start, Start::Identity) {
        Start::Identity => None,
        Start::Fill(start) => Some(Node::Constant(start)),
        Start::Element { tensor, index } => Some(Node::Read { tensor, index }),
    };
    let operation = match std::mem::replace(&mut nest.aggregate, Aggregate::Assign) {
        Aggregate::Assign | Aggregate::Add => Binary::Add,
        Aggregate::Mul => Binary::Mul,
        Aggregate::Min => Binary::Min,
        Aggregate::Max => Binary::Max,
    };
    if let Some(start) = start {
        let value: NodeId = nest.body.root();
        let start = nest.body.push(start);
        nest.body.push(Node::Binary(operation, start, value));
    }
    nest
}
