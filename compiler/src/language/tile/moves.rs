//! Moves of elements by several indices, and sorting.
//!
//! ```text
//! scatter_nd(D, I, [4, 3])   for each m, n:  O[m, n, x] = the sum over i of: D[i, x] if I[i, 0] == m and I[i, 1] == n, else 0
//! argsort(X)                 rank[i] = the number of elements before X[i];   O[r] = the sum over i of: i if rank[i] == r, else 0
//! ```

use super::ast::Name;
use super::elementwise::{Draft, Value};
use super::forms::{counters, each};
use super::lower::Lowering;
use crate::tensor::{Affine, Aggregate, Binary, Body, IterId, Nest, Node, NodeId, Start, TensorId};
use arch::{Code, Diagnostic};

impl<'s> Lowering<'s, '_> {
    /// `O[b.., i.., x..] = T[b.., I[b.., i.., 0], I[b.., i.., 1].., x..]`
    pub(super) fn gathered_nd(
        &mut self,
        table: TensorId,
        indices: TensorId,
        common: i64,
        function: Name<'s>,
    ) -> Option<Value> {
        let (old, by) = (self.shape(table), self.shape(indices));
        let count = by.last().map_or(0, |&count| count as usize);
        let common = usize::try_from(common).unwrap_or(usize::MAX);
        let fits = common < by.len() && (1..=old.len().saturating_sub(common)).contains(&count);
        if !fits || old[..common] != by[..common] {
            let message = format!("indices of shape {by:?} do not fit a tensor of shape {old:?}");
            let label = format!("{common} dimensions in common, then {count} indices");
            self.report(Diagnostic::new(Code::Shape, function.span, message).with_label(label));
            return None;
        }
        let outer = &by[..by.len() - 1];
        let shape = [outer, &old[common + count..]].concat();
        let out = self.tensor(function.text, shape.clone(), function.span)?;
        let mut body = Body::default();
        let index = (0..old.len())
            .map(|dimension| match dimension {
                n if n < common => body.push(Node::Iterator(IterId(n))),
                n if n < common + count => body.push(coordinate(indices, outer, 0, n - common)),
                n => body.push(Node::Iterator(IterId(n - common - count + outer.len()))),
            })
            .collect();
        body.push(Node::Gather { tensor: table, index });
        self.move_elements(out, counters(&shape), each(&shape, 0), body, function.span);
        Some(Value { node: Draft::Read(out), shape })
    }

    /// `O[m, n.., x..]`: the sum of `D[i.., x..]` where `I[i..]` is `m, n..`.
    pub(super) fn scattered_nd(
        &mut self,
        data: TensorId,
        indices: TensorId,
        shape: Vec<u32>,
        function: Name<'s>,
    ) -> Option<Value> {
        let (from, by) = (self.shape(data), self.shape(indices));
        let count = by.last().map_or(0, |&count| count as usize);
        let outer = &by[..by.len().saturating_sub(1)];
        let fits = (1..=shape.len()).contains(&count) && from.starts_with(outer);
        if !fits || from[outer.len()..] != shape[count..] {
            let message = format!("shape {from:?} with indices {by:?} does not fit into {shape:?}");
            self.report(Diagnostic::new(Code::Shape, function.span, message).with_label("here"));
            return None;
        }
        let rest = &shape[count..];
        let out = self.tensor(function.text, shape.clone(), function.span)?;
        let free = shape.len();
        let mut body = Body::default();
        let mut condition: Option<NodeId> = None;
        for n in 0..count {
            let found = body.push(coordinate(indices, outer, free, n));
            let place = body.push(Node::Iterator(IterId(n)));
            let here = body.push(Node::Binary(Binary::Eq, found, place));
            condition = Some(match condition {
                Some(condition) => body.push(Node::Binary(Binary::And, condition, here)),
                None => here,
            });
        }
        let yes = body.push(Node::Read { tensor: data, index: [each(outer, free), each(rest, count)].concat() });
        let no = body.push(Node::Constant(0.0));
        body.push(Node::Select { condition: condition?, yes, no });
        let aggregate = if outer.is_empty() { Aggregate::Assign } else { Aggregate::Add };
        self.reduce(out, &[&shape[..], outer].concat(), free, aggregate, body, function);
        Some(Value { node: Draft::Read(out), shape })
    }

    /// The indices that sort along an axis.
    pub(super) fn argsorted(&mut self, tensor: TensorId, axis: usize, function: Name<'s>) -> Option<Value> {
        let shape = self.shape(tensor);
        let (rank, out) = (
            self.tensor(function.text, shape.clone(), function.span)?,
            self.tensor(function.text, shape.clone(), function.span)?,
        );
        let own = IterId(axis);
        let other = IterId(shape.len());
        let at = |tensor, place: IterId| {
            let mut index = each(&shape, 0);
            index[axis] = Affine::iterator(place);
            Node::Read { tensor, index }
        };
        let all = [&shape[..], &shape[axis..=axis]].concat();
        // Before an element: those that are less, and equal ones in front of it.
        let mut body = Body::default();
        let (a, b) = (body.push(at(tensor, other)), body.push(at(tensor, own)));
        let (i, j) = (body.push(Node::Iterator(other)), body.push(Node::Iterator(own)));
        let less = body.push(Node::Binary(Binary::Lt, a, b));
        let equal = body.push(Node::Binary(Binary::Eq, a, b));
        let front = body.push(Node::Binary(Binary::Lt, i, j));
        let tie = body.push(Node::Binary(Binary::And, equal, front));
        body.push(Node::Binary(Binary::Add, less, tie));
        self.reduce(rank, &all, shape.len(), Aggregate::Add, body, function);
        let mut body = Body::default();
        let (found, place) = (body.push(at(rank, other)), body.push(Node::Iterator(own)));
        let condition = body.push(Node::Binary(Binary::Eq, found, place));
        let (yes, no) = (body.push(Node::Iterator(other)), body.push(Node::Constant(0.0)));
        body.push(Node::Select { condition, yes, no });
        self.reduce(out, &all, shape.len(), Aggregate::Add, body, function);
        Some(Value { node: Draft::Read(out), shape })
    }

    /// A nest over a box, whose first dimensions are those of the result.
    pub(super) fn reduce(
        &mut self,
        out: TensorId,
        all: &[u32],
        free: usize,
        aggregate: Aggregate,
        body: Body,
        function: Name,
    ) {
        let out_index = (0..free).map(|n| Affine::iterator(IterId(n))).collect();
        let (guards, start, origin) = (Vec::new(), Start::Identity, function.span.into());
        let iterators = counters(all);
        self.push(Nest { iterators, free, guards, out, out_index, aggregate, start, body, origin });
    }
}

/// Index number `n` of those that stand in the last dimension, at the iterators from `first` on.
fn coordinate(indices: TensorId, outer: &[u32], first: usize, n: usize) -> Node {
    let index = each(outer, first).into_iter().chain([Affine::constant(n as i64)]).collect();
    Node::Read { tensor: indices, index }
}
