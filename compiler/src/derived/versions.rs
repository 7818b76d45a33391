//! Every element gets one value.
//!
//! ```text
//! a[i] = ...            i in 0..4              a[i]   = ...
//! b    = f(a[1])                        =>     b      = f(a[1])
//! a[i] = g(a[i])        i in 1..3              a.1[i] = a[i]           what has a value so far
//! c    = h(a[0], a[1])                         a.1[i] = g(a[i])        i in 1..3
//!                                              c      = h(a.1[0], a.1[1])
//! ```
//!
//! The adjoint of a Nest reads, after the last Nest, the values that the Nest read: they must still be there. A Nest that writes
//! elements with a value therefore writes another tensor, which starts as a copy unless the Nest writes all of it.

use super::Objective;
use super::builder::Builder;
use crate::canonical::fresh_name;
use crate::tensor::coverage::{Coverage, Region};
use crate::tensor::{Affine, Aggregate, IterId, Iterator, Nest, Node, Program, Role, Start, Tensor, TensorId, region};

/// A program in which no Nest overwrites a value, but for those it has just copied; and the objective on it.
pub(super) fn assign_once(program: &Program, objective: &Objective) -> (Program, Objective) {
    let mut versions = Versions {
        original: objective,
        objective: objective.clone(),
        result: Program { nests: Vec::new(), ..program.clone() },
        current: (0..program.tensors.len()).map(TensorId).collect(),
        written: program.tensors.iter().map(|tensor| Coverage::none(&tensor.shape)).collect(),
    };
    for nest in &program.nests {
        versions.nest(nest);
    }
    let Versions { mut result, current, mut objective, .. } = versions;
    for (_, tensor) in &mut result.names {
        *tensor = current[tensor.0];
    }
    for update in &mut result.updates {
        update.next = current[update.next.0];
    }
    for descent in &mut result.descents {
        descent.gradient = current[descent.gradient.0];
    }
    objective.value = current[objective.value.0];
    (result, objective)
}

struct Versions<'o> {
    original: &'o Objective,
    objective: Objective,
    result: Program,
    /// The tensor that holds the values of each tensor of the program now.
    current: Vec<TensorId>,
    /// Elements that have a value, by tensor of the program.
    written: Vec<Coverage>,
}

impl Versions<'_> {
    fn nest(&mut self, nest: &Nest) {
        let loss = self.original.losses.iter().position(|loss| loss.value == nest.out);
        if let Some(number) = loss {
            let (old, new) = (&self.original.losses[number], &mut self.objective.losses[number]);
            new.at = self.current[old.at.0];
            new.prediction = self.current[old.prediction.0];
            new.label = self.current[old.label.0];
        }
        let mut new = nest.clone();
        for node in &mut new.body.nodes {
            if let Node::Read { tensor, .. } | Node::Gather { tensor, .. } = node {
                *tensor = self.current[tensor.0];
            }
        }
        if let Start::Element { tensor, .. } = &mut new.start {
            *tensor = self.current[tensor.0];
        }
        let region = region(nest, &nest.out_index);
        let written = &self.written[nest.out.0];
        if written.touches(&region) && loss.is_none() {
            let whole = nest.guards.is_empty() && region.is_box() && dense(nest) && written.lies_in(&region);
            let boxes = if whole { Vec::new() } else { written.boxes() };
            self.next_version(nest.out, &boxes);
        }
        new.out = self.current[nest.out.0];
        self.written[nest.out.0].add(&region);
        self.result.nests.push(new);
    }

    /// A new tensor for the values of `tensor`, with a copy of these boxes.
    fn next_version(&mut self, tensor: TensorId, boxes: &[Vec<(i64, i64)>]) {
        let old = self.current[tensor.0];
        let name = fresh_name(&self.result, &self.result.tensors[old.0].name);
        let new = Tensor { name, ..self.result.tensors[old.0].clone() };
        // The last version is the result.
        self.result.tensors[old.0].role = Role::Temporary;
        let id = TensorId(self.result.tensors.len());
        self.current[tensor.0] = id;
        let span = new.span;
        self.result.tensors.push(new);
        for ranges in boxes {
            let index: Vec<Affine> = (0..ranges.len()).map(|d| Affine::iterator(IterId(d))).collect();
            let mut value = Builder::default();
            value.read(old, index.clone());
            self.result.nests.push(element_wise(id, ranges, index, value, span));
        }
    }
}

/// `out[index] = value` over a box whose iterators are the dimensions.
pub(super) fn element_wise(
    out: TensorId,
    ranges: &[(i64, i64)],
    out_index: Vec<Affine>,
    value: Builder,
    span: arch::Span,
) -> Nest {
    Nest {
        iterators: iterators(ranges),
        free: ranges.len(),
        guards: Vec::new(),
        out,
        out_index,
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body: value.body,
        origin: span.into(),
    }
}

/// One iterator for each dimension of a box.
pub(super) fn iterators(ranges: &[(i64, i64)]) -> Vec<Iterator> {
    let iterator = |(d, &(low, high)): (usize, &(i64, i64))| Iterator { name: format!("d{d}"), low, high };
    ranges.iter().enumerate().map(iterator).collect()
}

/// Whether a Nest writes every element between the smallest and the largest.
fn dense(nest: &Nest) -> bool {
    nest.out_index.iter().all(|form| matches!(form.terms.as_slice(), [] | [(_, 1 | -1)]))
}

/// The elements that the Nests with these numbers write, as one box.
pub(super) fn bounding_box<'n>(nests: impl std::iter::Iterator<Item = &'n Nest>) -> Option<Vec<(i64, i64)>> {
    nests
        .map(|nest| region(nest, &nest.out_index).ranges)
        .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect())
}

/// The elements of a tensor that have a value after the last Nest, as boxes.
pub(super) fn written_boxes(program: &Program, tensor: TensorId) -> Vec<Vec<(i64, i64)>> {
    let Tensor { shape, role, .. } = &program.tensors[tensor.0];
    let mut written = if role.is_computed() { Coverage::none(shape) } else { Coverage::all(shape) };
    for nest in program.nests.iter().filter(|nest| nest.out == tensor) {
        written.add(&region(nest, &nest.out_index));
    }
    written.boxes()
}

/// Whether two Nests may write the same element.
pub(super) fn overlap(a: &Nest, b: &Nest) -> bool {
    let (a, b): (Region, Region) = (region(a, &a.out_index), region(b, &b.out_index));
    a.touches(&b)
}
