//! Tensors without elements, statements without points.

use crate::tensor::Program;

/// Take away nests without points, which write nothing, and names of tensors without elements.
///
///     s = 0; s = s + sum[i](x[i]) for i in 0:0; name e = e (no elements)     =>     s = 0
pub fn remove_empty(program: &Program) -> Program {
    let mut result = program.clone();
    result.nests.retain(|nest| nest.iterators.iter().all(|iterator| iterator.extent() > 0));
    result.names.retain(|(_, tensor)| !program.tensors[tensor.0].shape.contains(&0));
    result
}
