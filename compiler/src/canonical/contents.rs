//! Contents that the caller supplies and gets back: an input, and a result that starts as its copy.

use super::flow::fresh_name;
use crate::tensor::{Affine, Aggregate, Body, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId};

/// Give every tensor that is input and result at once a result of its own.
///
///     O: in and out;  O[i] = O[i] + sum[j](A[i][j])      =>      O.1[i] = O[i];  O.1[i] = O.1[i] + sum[j](A[i][j])
pub fn separate_contents(program: &Program) -> Program {
    let mut result = program.clone();
    let both: Vec<usize> = (0..program.tensors.len()).filter(|&t| program.tensors[t].role == Role::InOut).collect();
    for &id in &both {
        let tensor = &program.tensors[id];
        result.tensors[id].role = Role::Input;
        let new = TensorId(result.tensors.len());
        let name = fresh_name(&result, &tensor.name);
        result.tensors.push(Tensor { name, role: Role::Output, ..tensor.clone() });
        for nest in &mut result.nests {
            move_nest(nest, TensorId(id), new);
        }
        for (_, named) in &mut result.names {
            if named.0 == id {
                *named = new;
            }
        }
        result.nests.insert(0, copy(tensor, TensorId(id), new));
    }
    result
}

/// Let a nest read and write another tensor.
fn move_nest(nest: &mut Nest, from: TensorId, to: TensorId) {
    if nest.out == from {
        nest.out = to;
    }
    if let Start::Element { tensor, .. } = &mut nest.start
        && *tensor == from
    {
        *tensor = to;
    }
    for node in &mut nest.body.nodes {
        if let Node::Read { tensor, .. } | Node::Gather { tensor, .. } = node
            && *tensor == from
        {
            *tensor = to;
        }
    }
}

/// All of a tensor.
fn copy(tensor: &Tensor, from: TensorId, to: TensorId) -> Nest {
    let extents = tensor.shape.iter().enumerate();
    let index: Vec<Affine> = (0..tensor.shape.len()).map(|i| Affine::iterator(IterId(i))).collect();
    Nest {
        iterators: extents.map(|(d, &n)| Iterator { name: format!("i{d}"), low: 0, high: i64::from(n) }).collect(),
        free: tensor.shape.len(),
        guards: Vec::new(),
        out: to,
        out_index: index.clone(),
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body: Body { nodes: vec![Node::Read { tensor: from, index }] },
        origin: tensor.span.into(),
    }
}
