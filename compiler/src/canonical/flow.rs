//! Writers and readers of each tensor.

use super::expr::reads;
use crate::tensor::{Program, TensorId};

/// Writers and readers of every tensor, by nest number.
pub(crate) struct Flow {
    /// Nests that write the tensor, in order.
    pub(crate) writers: Vec<Vec<usize>>,
    /// Nests that read the tensor, in order, once per node.
    pub(crate) readers: Vec<Vec<usize>>,
    /// Needed after the last nest: named, or the next value of a state.
    pub(crate) kept: Vec<bool>,
}

impl Flow {
    pub(crate) fn of(program: &Program) -> Flow {
        let empty = || vec![Vec::new(); program.tensors.len()];
        let mut flow = Flow { writers: empty(), readers: empty(), kept: vec![false; program.tensors.len()] };
        for (number, nest) in program.nests.iter().enumerate() {
            flow.writers[nest.out.0].push(number);
            for tensor in reads(nest) {
                flow.readers[tensor.0].push(number);
            }
        }
        for (_, tensor) in &program.names {
            flow.kept[tensor.0] = true;
        }
        for update in &program.updates {
            flow.kept[update.next.0] = true;
            flow.kept[update.state.0] = true;
        }
        for descent in &program.descents {
            flow.kept[descent.gradient.0] = true;
            flow.kept[descent.state.0] = true;
        }
        flow
    }

    /// Whether some nest numbered in `range` writes `tensor`.
    pub(crate) fn written_in(&self, tensor: TensorId, range: std::ops::Range<usize>) -> bool {
        self.writers[tensor.0].iter().any(|number| range.contains(number))
    }
}

/// A name that no tensor has yet: `base.1`, `base.2`, ...
pub(crate) fn fresh_name(program: &Program, base: &str) -> String {
    let stem = match base.rsplit_once('.') {
        Some((stem, digits)) if !stem.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => base,
    };
    let taken = |name: &String| program.tensors.iter().any(|t| t.name == *name);
    let mut number = 1;
    loop {
        let name = format!("{stem}.{number}");
        if !taken(&name) {
            return name;
        }
        number += 1;
    }
}
