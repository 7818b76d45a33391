//! Writers and readers of each tensor.

use super::expr::{Expr, reads};
use super::fuse::Inverse;
use crate::tensor::{Affine, Aggregate, Nest, Program, Role, TensorId, Unary};

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

/// Nodes of a definition that is followed.
const LARGEST: usize = 16;

/// What is known where a nest reads.
pub(crate) struct Known<'a> {
    pub(crate) program: &'a Program,
    pub(crate) flow: &'a Flow,
    pub(crate) reader: usize,
}

impl Known<'_> {
    /// A constant, or an element of a tensor of equal constants.
    pub(crate) fn constant(&self, e: &Expr) -> Option<f64> {
        match e {
            Expr::Constant(value) => Some(*value),
            Expr::Unary(Unary::Neg, a) => self.constant(a).map(|value| -value),
            Expr::Read(tensor, _) => match &self.program.tensors[tensor.0].role {
                Role::Parameter(values) => values.first().copied().filter(|first| values.iter().all(|v| v == first)),
                _ => None,
            },
            _ => None,
        }
    }

    /// How an element is computed, where one nest does that, of values that have not changed since.
    pub(crate) fn definition(&self, tensor: TensorId, index: &[Affine]) -> Option<Expr> {
        let &[writer] = self.flow.writers[tensor.0].as_slice() else { return None };
        let Nest { body, aggregate, guards, .. } = &self.program.nests[writer];
        let plain = *aggregate == Aggregate::Assign && guards.is_empty() && body.nodes.len() <= LARGEST;
        let value = matches!(self.program.tensors[tensor.0].role, Role::Temporary | Role::Output);
        if !plain || !value || writer >= self.reader {
            return None;
        }
        let body = Expr::from_body(body);
        let own = self.program.nests[self.reader].out;
        let changed = |source: &TensorId| *source == own || self.flow.written_in(*source, writer + 1..self.reader);
        if body.tensors().iter().any(changed) {
            return None;
        }
        let (writer, reader) = (&self.program.nests[writer], &self.program.nests[self.reader]);
        let at = Inverse::of(writer)?.apply(index);
        let range = |form: &Affine| form.range(&reader.iterators);
        let is_written = at.iter().zip(&writer.iterators).all(|(form, own)| {
            let (low, high) = range(form);
            own.low <= low && high < own.high
        });
        let constants = writer.out_index.iter().zip(index).filter(|(own, _)| own.terms.is_empty());
        let of_constants = constants.into_iter().all(|(own, form)| range(form) == (own.offset, own.offset));
        (is_written && of_constants).then(|| body.substitute(&at))
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
