//! Dead code: nests and tensors nobody asks for.

use super::expr::reads;
use super::flow::Flow;
use crate::tensor::{Node, Program, Role, Start, TensorId};

/// Remove nests that no name and no update depends on.
///
///     d = h - y; g = d * x; w' = w - mu * d * x      (only the update is wanted)
///     =>  d = h - y; w' = w - mu * d * x
pub fn remove_dead_nests(program: &Program) -> Program {
    let mut wanted = Flow::of(program).kept;
    let mut alive = vec![false; program.nests.len()];
    for (number, nest) in program.nests.iter().enumerate().rev() {
        if wanted[nest.out.0] {
            alive[number] = true;
            for tensor in reads(nest) {
                wanted[tensor.0] = true;
            }
        }
    }
    let mut result = program.clone();
    let mut flags = alive.iter();
    result.nests.retain(|_| *flags.next().expect("one flag per nest"));
    result
}

/// Remove tensors that nothing mentions, and number the others anew. Inputs, labels and state stay: they are the interface.
///
///     %0 = x, %1 (unused), %2 = h     =>     %0 = x, %1 = h
pub fn remove_dead_tensors(program: &Program) -> Program {
    let flow = Flow::of(program);
    let mut number = Vec::with_capacity(program.tensors.len());
    let mut tensors = Vec::new();
    for (old, tensor) in program.tensors.iter().enumerate() {
        let interface = matches!(tensor.role, Role::Input | Role::Label | Role::State | Role::InOut);
        let used = interface || flow.kept[old] || !flow.writers[old].is_empty() || !flow.readers[old].is_empty();
        number.push(used.then_some(TensorId(tensors.len())));
        if used {
            tensors.push(tensor.clone());
        }
    }
    let new = |id: TensorId| number[id.0].expect("a tensor in use has a number");
    let mut result = program.clone();
    for tensor in &mut tensors {
        if let Role::Gradient(state) = &mut tensor.role {
            *state = new(*state);
        }
    }
    result.tensors = tensors;
    for nest in &mut result.nests {
        nest.out = new(nest.out);
        if let Start::Element { tensor, .. } = &mut nest.start {
            *tensor = new(*tensor);
        }
        for node in &mut nest.body.nodes {
            if let Node::Read { tensor, .. } | Node::Gather { tensor, .. } = node {
                *tensor = new(*tensor);
            }
        }
    }
    for (_, tensor) in &mut result.names {
        *tensor = new(*tensor);
    }
    for update in &mut result.updates {
        (update.state, update.next) = (new(update.state), new(update.next));
    }
    for descent in &mut result.descents {
        (descent.state, descent.gradient) = (new(descent.state), new(descent.gradient));
    }
    result
}
