//! Temporaries count their elements as the tensors around them do.

use super::flow::Flow;
use crate::tensor::{Affine, Nest, Node, Program, Role, Start, TensorId};

/// Give a temporary that is always read and written `k` places before the iterator's value `k` more elements, so that its indices are
/// the iterators themselves.
///
///     s[q-1] = ...;  a[q] = f(s[q-1])      q in 1..4     =>     s[q] = ...;  a[q] = f(s[q])
///
/// Elements with equal indices lie in the same place of a grid; the first `k` elements are never used.
pub fn align_origins(program: &Program) -> Program {
    let flow = Flow::of(program);
    let mut result = program.clone();
    for id in (0..program.tensors.len()).map(TensorId) {
        let tensor = &program.tensors[id.0];
        if flow.kept[id.0] || !tensor.role.is_computed() {
            continue;
        }
        let gathered = |node: &Node| matches!(node, Node::Gather { tensor, .. } if *tensor == id);
        if program.nests.iter().any(|nest| nest.body.nodes.iter().any(gathered)) {
            continue;
        }
        for dimension in 0..tensor.shape.len() {
            let mut offsets: Vec<Option<i64>> = Vec::new();
            for nest in &mut result.nests {
                each_index(nest, id, &mut |index| {
                    offsets.push(match index[dimension].terms.as_slice() {
                        [(_, 1)] => Some(index[dimension].offset),
                        _ => None,
                    });
                });
            }
            let Some(&Some(offset)) = offsets.first() else { continue };
            if offset >= 0 || offsets.iter().any(|other| *other != Some(offset)) {
                continue;
            }
            for nest in &mut result.nests {
                each_index(nest, id, &mut |index| index[dimension].offset = 0);
            }
            let aligned = &mut result.tensors[id.0];
            aligned.shape[dimension] += (-offset) as u32;
            // A gradient that has not the shape of its weights any more is like other values.
            if let Role::Gradient(_) = aligned.role {
                aligned.role = Role::Temporary;
            }
        }
    }
    result
}

/// Visit every index of `tensor` in a nest, written or read.
fn each_index(nest: &mut Nest, tensor: TensorId, f: &mut impl FnMut(&mut Vec<Affine>)) {
    if nest.out == tensor {
        f(&mut nest.out_index);
    }
    if let Start::Element { tensor: t, index } = &mut nest.start
        && *t == tensor
    {
        f(index);
    }
    for node in &mut nest.body.nodes {
        if let Node::Read { tensor: t, index } = node
            && *t == tensor
        {
            f(index);
        }
    }
}
