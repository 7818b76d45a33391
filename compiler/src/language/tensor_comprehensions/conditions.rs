//! Reads under a condition: only the branch that is taken reads.
//!
//! ```text
//! i >= 2 ? A(i - 2) : 0        every i that takes the branch lies inside: read A at max(min(i - 2, N - 1), 0)
//! B(i) > 0 ? A(I(i)) : 0       known when it runs: read A at (B(i) > 0 ? I(i) : 0)
//! i >= 1 ? A(i - 2) : 0        i = 1 takes the branch and leaves A: E-BOUNDS
//! ```
//!
//! Tensor IR evaluates both branches of a choice and asks that every access is inside its tensor; a read that is not taken gets some other
//! index, and its value is dropped. The first form depends on the index alone, so that it becomes a padded copy of the tensor and no
//! comparison with every element.

use super::lower::Lowering;
use super::ranges::Range;
use super::value::Frame;
use crate::tensor::{Binary, Body, Element, IterId, Node, NodeId, TensorId, Unary};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeSet;

/// Operations that may be done, for one statement, to decide whether branches that are taken leave a tensor; beyond them it is left to the
/// run.
const MOST_WORK: u64 = 1 << 24;

/// Conditions on the way to an expression up to which it is asked whether they exclude each other.
const MOST_CONDITIONS: usize = 64;

/// A condition and the value it has.
type Condition = (NodeId, bool);

/// A read under conditions.
#[derive(Debug)]
pub(super) struct Guarded {
    /// Its node: a read, or a gather.
    pub(super) read: NodeId,
    pub(super) tensor: TensorId,
    /// Whether the branch that it stands in is taken.
    pub(super) taken: NodeId,
    pub(super) places: Vec<Place>,
    pub(super) span: Span,
}

/// The index in one dimension, counted from 0, and what may take its place.
#[derive(Debug)]
pub(super) struct Place {
    index: NodeId,
    /// The nearest index that is inside.
    clamped: NodeId,
    /// The index where the conditions hold, else 0.
    selected: NodeId,
    /// Coordinates in the program.
    range: Range,
}

/// Where an index is inside its tensor.
enum Inside {
    /// At every point.
    Always,
    /// At every point that can take the branch.
    WhereTaken,
    /// Known when it runs.
    Unknown,
    /// Not at this value, and the branch is taken there.
    Never(i64),
}

impl Frame<'_> {
    /// From here on, what is read is evaluated where the condition has this value, until `path` is cut again.
    pub(super) fn under(&mut self, condition: NodeId, holds: bool) {
        let term = if holds { condition } else { self.body.push(Node::Unary(Unary::Not, condition)) };
        let all = self.path.last().map_or(term, |&outer| self.body.push(Node::Binary(Binary::And, outer, term)));
        self.path.push(all);
    }

    /// Whether no point can take the current branch, whatever its index variables are.
    pub(super) fn is_never_taken(&self) -> bool {
        let Some(&taken) = self.path.last().filter(|_| self.path.len() <= MOST_CONDITIONS) else { return false };
        let nodes = Evaluation::of(&self.body, [taken]);
        nodes.value(&nodes.at(&[]), taken) == Some(0.0)
    }

    /// The nodes for an index (counted from 0) in a dimension with these coordinates; `taken` says whether it is read at all.
    pub(super) fn place(&mut self, index: NodeId, range: Range, taken: NodeId) -> Place {
        let last = self.body.push(Node::Constant((range.1 - range.0 - 1) as f64));
        let zero = self.body.push(Node::Constant(0.0));
        let below = self.body.push(Node::Binary(Binary::Min, index, last));
        let clamped = self.body.push(Node::Binary(Binary::Max, below, zero));
        let selected = self.body.push(Node::Select { condition: taken, yes: index, no: zero });
        Place { index, clamped, selected, range }
    }
}

impl<'s> Lowering<'s, '_> {
    /// Give reads that some point does not take an index inside their tensor. `None` where a branch that is taken leaves it.
    pub(super) fn settle_guarded(&mut self, frame: &mut Frame<'s>, ranges: &[Range]) -> Option<()> {
        if self.rough {
            return Some(());
        }
        let mut work = MOST_WORK;
        for guarded in std::mem::take(&mut frame.guarded) {
            let mut always = true;
            let mut index = Vec::new();
            for place in &guarded.places {
                let inside = inside(&frame.body, guarded.taken, place, ranges, &mut work);
                always &= matches!(inside, Inside::Always);
                index.push(match inside {
                    Inside::Always => place.index,
                    Inside::WhereTaken => place.clamped,
                    Inside::Unknown => place.selected,
                    Inside::Never(value) => {
                        let (low, high) = place.range;
                        let label = format!("index {}, coordinates {low}:{high}", value + low);
                        self.report(
                            Diagnostic::new(Code::Bounds, guarded.span, "this access leaves its tensor")
                                .with_label(label)
                                .with_help("the branch is taken there: correct its condition, or the index"),
                        );
                        return None;
                    }
                });
            }
            if !always {
                frame.body.nodes[guarded.read.0] = Node::Gather { tensor: guarded.tensor, index };
            }
        }
        Some(())
    }
}

/// Where an index lies inside its tensor.
fn inside(body: &Body, taken: NodeId, place: &Place, ranges: &[Range], work: &mut u64) -> Inside {
    let extent = place.range.1 - place.range.0;
    let nodes = Evaluation::of(body, [place.index]);
    let (low, high) = nodes.extremes(ranges);
    if low >= 0.0 && high < extent as f64 {
        return Inside::Always;
    }
    if !nodes.is_static() || *work == 0 {
        return Inside::Unknown;
    }
    let conditions = literals(body, taken);
    let own = nodes.iterators();
    // Conditions on the same index variables often suffice, and have few points.
    let near = |&(node, _): &Condition| Evaluation::of(body, [node]).iterators().is_subset(&own);
    let few: Vec<Condition> = conditions.iter().copied().filter(near).collect();
    match at_points(body, &few, place.index, extent, ranges, work) {
        Some(Inside::WhereTaken) => Inside::WhereTaken,
        _ => at_points(body, &conditions, place.index, extent, ranges, work).unwrap_or(Inside::Unknown),
    }
}

/// [`inside`], point by point; `None` where there are too many.
fn at_points(
    body: &Body,
    conditions: &[Condition],
    index: NodeId,
    extent: i64,
    ranges: &[Range],
    work: &mut u64,
) -> Option<Inside> {
    let nodes = Evaluation::of(body, conditions.iter().map(|condition| condition.0).chain([index]));
    let iterators: Vec<usize> = nodes.iterators().into_iter().collect();
    let nodes_in_all = nodes.needed.len() as u64;
    let extents = iterators.iter().map(|&iterator| (ranges[iterator].1 - ranges[iterator].0) as u64);
    let points = extents.fold(1, u64::saturating_mul);
    // To collect the nodes takes as long as many points.
    let cost = points.saturating_add(64).saturating_mul(nodes_in_all);
    let affordable = cost <= *work;
    *work = work.saturating_sub(if affordable { cost } else { 64 * nodes_in_all });
    if !affordable {
        return None;
    }
    let mut point: Vec<i64> = ranges.iter().map(|range| range.0).collect();
    let mut found = Inside::WhereTaken;
    loop {
        let values = nodes.at(&point);
        let (mut possible, mut certain) = (true, true);
        for &(node, holds) in conditions {
            match nodes.value(&values, node) {
                Some(value) => possible &= (value != 0.0) == holds,
                None => certain = false,
            }
        }
        if possible {
            match nodes.value(&values, index) {
                Some(value) if value >= 0.0 && value < extent as f64 => {}
                Some(value) if certain => return Some(Inside::Never(value as i64)),
                _ => found = Inside::Unknown,
            }
        }
        let Some(next) = iterators.iter().rposition(|&iterator| point[iterator] + 1 < ranges[iterator].1) else {
            return Some(found);
        };
        point[iterators[next]] += 1;
        for &iterator in &iterators[next + 1..] {
            point[iterator] = ranges[iterator].0;
        }
    }
}

/// Conditions that hold together, each without `&&` and `!` where it can be.
fn literals(body: &Body, taken: NodeId) -> Vec<Condition> {
    let (mut open, mut found) = (vec![(taken, true)], Vec::new());
    while let Some((node, holds)) = open.pop() {
        match (&body.nodes[node.0], holds) {
            (Node::Unary(Unary::Not, a), _) => open.push((*a, !holds)),
            (Node::Binary(Binary::And, a, b), true) | (Node::Binary(Binary::Or, a, b), false) => {
                open.extend([(*a, holds), (*b, holds)]);
            }
            _ => found.push((node, holds)),
        }
    }
    found
}

/// The nodes that some values need, in their order; values that depend on tensors are not known.
struct Evaluation<'b> {
    body: &'b Body,
    needed: Vec<usize>,
}

impl<'b> Evaluation<'b> {
    fn of(body: &'b Body, wanted: impl IntoIterator<Item = NodeId>) -> Evaluation<'b> {
        let (mut open, mut needed) = (Vec::from_iter(wanted), BTreeSet::new());
        while let Some(node) = open.pop() {
            if needed.insert(node.0) {
                open.extend(body.nodes[node.0].operands());
            }
        }
        Evaluation { body, needed: needed.into_iter().collect() }
    }

    /// Index variables that occur in them.
    fn iterators(&self) -> BTreeSet<usize> {
        let iterators = self.needed.iter().filter_map(|&node| match self.body.nodes[node] {
            Node::Iterator(IterId(iterator)) => Some(iterator),
            _ => None,
        });
        iterators.collect()
    }

    /// Whether they depend on index variables alone.
    fn is_static(&self) -> bool {
        let unknown =
            |&node: &usize| matches!(self.body.nodes[node], Node::Read { .. } | Node::Gather { .. } | Node::Call(..));
        !self.needed.iter().any(unknown)
    }

    /// Their values at a point.
    fn at(&self, point: &[i64]) -> Vec<Option<f64>> {
        let mut values = Vec::with_capacity(self.needed.len());
        for &node in &self.needed {
            let value = evaluated(&self.body.nodes[node], point, |operand| self.value(&values, operand));
            values.push(value);
        }
        values
    }

    fn value<T: Copy>(&self, values: &[T], node: NodeId) -> T {
        values[self.needed.partition_point(|&needed| needed < node.0)]
    }

    /// Bounds of the last one over all points.
    fn extremes(&self, ranges: &[Range]) -> (f64, f64) {
        let mut bounds: Vec<(f64, f64)> = Vec::with_capacity(self.needed.len());
        for &node in &self.needed {
            let of = |operand: &NodeId| self.value(&bounds, *operand);
            let found = match &self.body.nodes[node] {
                Node::Constant(value) => (*value, *value),
                Node::Iterator(IterId(iterator)) => (ranges[*iterator].0 as f64, (ranges[*iterator].1 - 1) as f64),
                Node::Unary(Unary::Neg, a) => (-of(a).1, -of(a).0),
                Node::Unary(Unary::Not, _) | Node::Cast(Element::Bool, _) => (0.0, 1.0),
                Node::Binary(operator, a, b) => bounded(*operator, of(a), of(b)),
                Node::Select { yes, no, .. } => (of(yes).0.min(of(no).0), of(yes).1.max(of(no).1)),
                Node::Cast(Element::Int { signed: false, .. }, a) => (0.0, of(a).1.max(0.0)),
                Node::Cast(_, a) if of(a).0 >= 0.0 => (0.0, of(a).1),
                _ => (f64::NEG_INFINITY, f64::INFINITY),
            };
            let known = !(found.0.is_nan() || found.1.is_nan());
            bounds.push(if known { found } else { (f64::NEG_INFINITY, f64::INFINITY) });
        }
        bounds.pop().unwrap_or((f64::NEG_INFINITY, f64::INFINITY))
    }
}

/// Bounds of an operation on bounded values.
fn bounded(operator: Binary, a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    match operator {
        Binary::Add => (a.0 + b.0, a.1 + b.1),
        Binary::Sub => (a.0 - b.1, a.1 - b.0),
        Binary::Mul => {
            let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            let unknown = products.iter().any(|product| product.is_nan());
            let edges = products
                .into_iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), product| (low.min(product), high.max(product)));
            if unknown { (f64::NAN, f64::NAN) } else { edges }
        }
        Binary::Min => (a.0.min(b.0), a.1.min(b.1)),
        Binary::Max => (a.0.max(b.0), a.1.max(b.1)),
        Binary::RemFloor if b.0 > 0.0 => (0.0, b.1 - 1.0),
        Binary::DivFloor if b.0 == b.1 && b.0 > 0.0 => ((a.0 / b.0).floor(), (a.1 / b.0).floor()),
        Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne | Binary::And | Binary::Or => {
            (0.0, 1.0)
        }
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// The value of a node at a point, if it is known before the program runs.
fn evaluated(node: &Node, point: &[i64], of: impl Fn(NodeId) -> Option<f64>) -> Option<f64> {
    let truth = |holds: bool| Some(f64::from(u8::from(holds)));
    match node {
        Node::Constant(value) => Some(*value),
        Node::Iterator(IterId(iterator)) => Some(*point.get(*iterator)? as f64),
        Node::Unary(Unary::Neg, a) => Some(-of(*a)?),
        Node::Unary(Unary::Not, a) => truth(of(*a)? == 0.0),
        Node::Binary(Binary::And, a, b) => match (of(*a), of(*b)) {
            (Some(0.0), _) | (_, Some(0.0)) => truth(false),
            (a, b) => a.and(b).and(truth(true)),
        },
        Node::Binary(Binary::Or, a, b) => match (of(*a), of(*b)) {
            (Some(value), _) | (_, Some(value)) if value != 0.0 => truth(true),
            (a, b) => a.and(b).and(truth(false)),
        },
        Node::Binary(operator, a, b) => {
            let (a, b) = (of(*a)?, of(*b)?);
            match operator {
                Binary::Add => Some(a + b),
                Binary::Sub => Some(a - b),
                Binary::Mul => Some(a * b),
                Binary::Div => Some(a / b),
                Binary::DivFloor if b != 0.0 => Some((a / b).floor()),
                Binary::RemFloor if b != 0.0 => Some(a - b * (a / b).floor()),
                Binary::Min => Some(a.min(b)),
                Binary::Max => Some(a.max(b)),
                Binary::Lt => truth(a < b),
                Binary::Le => truth(a <= b),
                Binary::Gt => truth(a > b),
                Binary::Ge => truth(a >= b),
                Binary::Eq => truth(a == b),
                Binary::Ne => truth(a != b),
                _ => None,
            }
        }
        Node::Select { condition, yes, no } => of(if of(*condition)? == 0.0 { *no } else { *yes }),
        Node::Cast(Element::Real, a) => of(*a),
        Node::Cast(Element::Bool, a) => truth(of(*a)? != 0.0),
        Node::Cast(Element::Int { bits, signed }, a) => {
            let magnitude = f64::from(bits - u32::from(*signed)).exp2();
            let low = if *signed { -magnitude } else { 0.0 };
            Some(of(*a)?.trunc().clamp(low, magnitude - 1.0))
        }
        Node::Read { .. } | Node::Gather { .. } | Node::Call(..) => None,
    }
}
