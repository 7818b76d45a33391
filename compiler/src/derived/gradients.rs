//! Sums of contributions as Nests.
//!
//! ```text
//! one contribution                 h.gradient[i] = c
//! several, to the same box         h.gradient.1[i] = c1;    h.gradient[i] = h.gradient.1[i] + c2
//! to different boxes               h.gradient[i] = 0 for all;  h.gradient[i] = h.gradient[i] + c   in each box
//! a number                         no Nest: it is put where it is read
//! ```

use super::builder::Builder;
use super::scatter::{Contribution, Ranges, over_box};
use crate::canonical::fresh_name;
use crate::tensor::{Affine, Aggregate, Element, IterId, Nest, Node, NodeId, Program, Role, Start, Tensor, TensorId};
use arch::Span;
use std::collections::BTreeMap;

/// The gradients of all tensors.
#[derive(Default)]
pub(super) struct Gradients {
    /// Contributions that have no Nest yet.
    pending: BTreeMap<TensorId, Vec<Contribution>>,
    made: BTreeMap<TensorId, Made>,
}

/// A gradient with a value.
#[derive(Debug, Clone)]
pub(super) struct Made {
    source: Source,
    /// The elements that have a value; the gradient of the others is 0.
    pub(super) ranges: Ranges,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Tensor(TensorId),
    Number(f64),
}

impl Made {
    /// An element of the gradient.
    pub(super) fn read(&self, b: &mut Builder, index: &[Affine]) -> NodeId {
        match self.source {
            Source::Tensor(tensor) => b.read(tensor, index.to_vec()),
            Source::Number(value) => b.constant(value),
        }
    }

    /// The same elements, in another tensor.
    pub(super) fn moved_to(&self, tensor: TensorId) -> Made {
        Made { source: Source::Tensor(tensor), ranges: self.ranges.clone() }
    }

    /// The tensor, if it is one.
    pub(super) fn tensor(&self) -> Option<TensorId> {
        match self.source {
            Source::Tensor(tensor) => Some(tensor),
            Source::Number(_) => None,
        }
    }
}

/// How a gradient is going to be used.
pub(super) struct Use {
    /// The elements that somebody asks for.
    pub(super) needed: Ranges,
    /// Whether those who ask can do with a part of these elements.
    pub(super) divisible: bool,
    /// Whether more will be added after it has been read, or elements set to 0.
    pub(super) changes: bool,
    /// Whether it must be a tensor.
    pub(super) kept: bool,
}

impl Gradients {
    /// Add to the gradient of a tensor.
    pub(super) fn give(&mut self, tensor: TensorId, contribution: Contribution) {
        self.pending.entry(tensor).or_default().push(contribution);
    }

    /// The gradient of a tensor, with everything that has been given so far; `None` if that is nothing.
    pub(super) fn make(&mut self, program: &mut Program, tensor: TensorId, wanted: &Use) -> Option<Made> {
        let name = format!("{}.gradient", program.tensors[tensor.0].name);
        let mut forms = Vec::new();
        for mut contribution in self.pending.remove(&tensor).unwrap_or_default() {
            if contribution.restrict(&wanted.needed) {
                forms.push(contribution.untangled(program, &name));
            }
        }
        if let Some(made) = self.made.get(&tensor) {
            let gradient = made.tensor().expect("a gradient that changes is a tensor");
            for form in &forms {
                append(program, gradient, form, Some(gradient));
            }
            return Some(made.clone());
        }
        if forms.is_empty() {
            return None;
        }
        let made = make(program, tensor, &name, &forms, wanted);
        self.made.insert(tensor, made.clone());
        Some(made)
    }
}

fn make(program: &mut Program, tensor: TensorId, name: &str, forms: &[Contribution], wanted: &Use) -> Made {
    let Tensor { shape, span, .. } = program.tensors[tensor.0].clone();
    let everything: Ranges = shape.iter().map(|&extent| (0, i64::from(extent))).collect();
    if let ([Contribution { body, iterators, .. }], false, false) = (forms, wanted.kept, wanted.changes)
        && let ([Node::Constant(value)], true) = (body.nodes.as_slice(), iterators.is_empty() && shape.is_empty())
    {
        return Made { source: Source::Number(*value), ranges: everything };
    }
    let exact = forms[0].exact_box().filter(|first| {
        let same = forms.iter().all(|form| form.exact_box().as_ref() == Some(first));
        same && !wanted.changes && (wanted.divisible || holds(first, &wanted.needed))
    });
    if let Some(ranges) = exact {
        let mut sum = None;
        for (number, form) in forms.iter().enumerate() {
            let name = if number + 1 == forms.len() { name.to_owned() } else { format!("{name}.{}", number + 1) };
            let next = new_tensor(program, &name, shape.clone(), span);
            append(program, next, form, sum);
            sum = Some(next);
        }
        return Made { source: Source::Tensor(sum.expect("there is a contribution")), ranges };
    }
    let gradient = new_tensor(program, name, shape, span);
    let mut zero = Builder::default();
    zero.constant(0.0);
    append(program, gradient, &over_box(&everything, zero.body, span), None);
    for (number, form) in forms.iter().enumerate() {
        append(program, gradient, form, (number > 0).then_some(gradient));
    }
    Made { source: Source::Tensor(gradient), ranges: everything }
}

fn holds(outer: &[(i64, i64)], inner: &[(i64, i64)]) -> bool {
    outer.iter().zip(inner).all(|(outer, inner)| outer.0 <= inner.0 && inner.1 <= outer.1)
}

/// `out[index] = before[index] + contribution`
fn append(program: &mut Program, out: TensorId, form: &Contribution, before: Option<TensorId>) {
    let (free, Contribution { iterators, guards, index, body, span }) = form.ordered();
    let sums = free < iterators.len();
    let (mut start, mut body) = (Start::Identity, body);
    match before {
        Some(tensor) if sums => start = Start::Element { tensor, index: index.clone() },
        Some(tensor) => {
            let root = body.root();
            let mut b = Builder::new(body);
            let old = b.read(tensor, index.clone());
            let sum = b.add(old, root);
            body = b.rooted(sum);
        }
        None => {}
    }
    let aggregate = if sums { Aggregate::Add } else { Aggregate::Assign };
    program.nests.push(Nest {
        iterators,
        free,
        guards,
        out,
        out_index: index,
        aggregate,
        start,
        body,
        origin: span.into(),
    });
}

/// A new temporary of real numbers; its name is unique.
pub(super) fn new_tensor(program: &mut Program, name: &str, shape: Vec<u32>, span: Span) -> TensorId {
    let taken = program.tensors.iter().any(|tensor| tensor.name == name);
    let name = if taken { fresh_name(program, name) } else { name.to_owned() };
    program.tensors.push(Tensor { name, shape, role: Role::Temporary, element: Element::Real, span });
    TensorId(program.tensors.len() - 1)
}

/// The index of every element of a tensor: one iterator for each dimension.
pub(super) fn identity(rank: usize) -> Vec<Affine> {
    (0..rank).map(|d| Affine::iterator(IterId(d))).collect()
}
