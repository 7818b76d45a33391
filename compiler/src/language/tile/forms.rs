//! Calls whose arguments are more than values: indices, casts, and moves of elements.
//!
//! ```text
//! index([M, N], 1)          each element is its index along an axis
//! cast(X, int8)             cut towards zero, within the limits of the type
//! reshape(X, [M * N])       the same elements, row by row, in another shape
//! gather(T, I)              O[i.., x..] = T[I[i..], x..]; gather(T, I, axis) along another axis
//! gather_nd(T, I)           O[i.., x..] = T[I[i.., 0], I[i.., 1].., x..]; gather_nd(T, I, n): the first n dimensions are common
//! scatter(D, I, N)          O[n, x..] = the sum of D[i.., x..] where I[i..] is n
//! scatter_nd(D, I, [M, N])  O[m, n, x..] = the sum of D[i.., x..] where I[i.., 0] is m and I[i.., 1] is n
//! argsort(X, axis)          the indices that sort along an axis, by default the last; equal elements keep their order
//! ```

use super::ast::{Expression, Form, Name};
use super::elementwise::{Draft, Operation, Value};
use super::lower::Lowering;
use crate::language::tensor_comprehensions;
use crate::tensor::{Affine, Aggregate, Binary, Body, Element, IterId, Iterator, Nest, Node, NodeId, Start, TensorId};
use arch::{Code, Diagnostic, Span};

impl<'s> Lowering<'s, '_> {
    /// The value of such a call.
    pub(super) fn form(&mut self, function: Name<'s>, arguments: &[Expression<'s>]) -> Option<Value> {
        match (function.text, arguments) {
            ("index", [Expression { form: Form::List(sizes), .. }, axis]) => {
                let shape = self.extents(sizes)?;
                let axis = self.axis(axis, shape.len())?;
                Some(Value { node: Draft::Axis(axis), shape })
            }
            ("cast", [value, Expression { form: Form::Name(kind), .. }]) => {
                let Some(element) = tensor_comprehensions::element(kind.text) else {
                    let message = format!("`{}` is not a type", kind.text);
                    self.report(Diagnostic::new(Code::Type, kind.span, message).with_label("such as `int8`"));
                    return None;
                };
                let value = self.draft(value)?;
                Some(if element == Element::Real { value } else { Value::apply(Operation::Cast(element), value) })
            }
            ("reshape", [value, Expression { form: Form::List(sizes), .. }]) => {
                let (tensor, shape) = (self.moved(value, function)?, self.extents(sizes)?);
                self.reshaped(tensor, shape, function)
            }
            ("gather", [table, indices, rest @ ..]) if rest.len() < 2 => {
                let (table, indices) = (self.moved(table, function)?, self.moved(indices, function)?);
                let axis = match rest {
                    [axis] => self.axis(axis, self.shape(table).len())?,
                    _ => self.not_scalar(table, function.span)?,
                };
                self.gathered(table, indices, axis, function)
            }
            ("gather_nd", [table, indices, rest @ ..]) if rest.len() < 2 => {
                let (table, indices) = (self.moved(table, function)?, self.moved(indices, function)?);
                let common = rest.first().map_or(Some(0), |common| self.size(common))?;
                self.gathered_nd(table, indices, common, function)
            }
            ("scatter_nd", [data, indices, Expression { form: Form::List(sizes), .. }]) => {
                let (data, indices) = (self.moved(data, function)?, self.moved(indices, function)?);
                let shape = self.extents(sizes)?;
                self.scattered_nd(data, indices, shape, function)
            }
            ("argsort", [value, rest @ ..]) if rest.len() < 2 => {
                let tensor = self.moved(value, function)?;
                let axis = match rest {
                    [axis] => self.axis(axis, self.shape(tensor).len())?,
                    _ => self.not_scalar(tensor, function.span).map(|_| self.shape(tensor).len() - 1)?,
                };
                self.argsorted(tensor, axis, function)
            }
            ("scatter", [data, indices, size]) => {
                let (data, indices) = (self.moved(data, function)?, self.moved(indices, function)?);
                let extent = self.extents(std::slice::from_ref(size))?[0];
                self.scattered(data, indices, extent, function)
            }
            _ => {
                let message = format!("`{}` takes {}", function.text, takes(function.text));
                self.report(Diagnostic::new(Code::Arity, function.span, message).with_label("here"));
                None
            }
        }
    }

    /// An axis of a shape; a negative one counts from the end.
    fn axis(&mut self, axis: &Expression<'s>, rank: usize) -> Option<usize> {
        let number = self.size(axis)?;
        let counted = if number < 0 { number + rank as i64 } else { number };
        usize::try_from(counted).ok().filter(|&counted| counted < rank).or_else(|| {
            let message = format!("there is no axis {number}");
            self.report(Diagnostic::new(Code::Rank, axis.span, message).with_label("axis"));
            None
        })
    }

    fn not_scalar(&mut self, table: TensorId, place: Span) -> Option<usize> {
        if self.shape(table).is_empty() {
            self.report(Diagnostic::new(Code::Rank, place, "a scalar has no axis").with_label("here"));
            return None;
        }
        Some(0)
    }

    /// An operand as a tensor of its own.
    fn moved(&mut self, value: &Expression<'s>, function: Name<'s>) -> Option<TensorId> {
        self.elementwise(value, function.text, value.span)
    }

    fn reshaped(&mut self, tensor: TensorId, shape: Vec<u32>, function: Name<'s>) -> Option<Value> {
        let old = self.shape(tensor);
        let count = |shape: &[u32]| shape.iter().map(|&extent| u64::from(extent)).product::<u64>();
        if count(&old) != count(&shape) {
            let message = format!("{} elements do not become {}", count(&old), count(&shape));
            self.report(
                Diagnostic::new(Code::Shape, function.span, message).with_label(format!("{old:?} to {shape:?}")),
            );
            return None;
        }
        if old == shape {
            return Some(Value { node: Draft::Read(tensor), shape });
        }
        // By way of the elements in a row, so that all indices are affine.
        let mut tensor = tensor;
        if old.len() != 1 {
            let flat = self.tensor(function.text, vec![count(&old) as u32], function.span)?;
            let iterators = counters(&old);
            let read = Node::Read { tensor, index: each(&old, 0) };
            self.move_elements(flat, iterators, vec![place_in_row(&old)], Body { nodes: vec![read] }, function.span);
            tensor = flat;
        }
        if shape.len() != 1 {
            let out = self.tensor(function.text, shape.clone(), function.span)?;
            let read = Node::Read { tensor, index: vec![place_in_row(&shape)] };
            self.move_elements(out, counters(&shape), each(&shape, 0), Body { nodes: vec![read] }, function.span);
            tensor = out;
        }
        Some(Value { node: Draft::Read(tensor), shape })
    }

    fn gathered(&mut self, table: TensorId, indices: TensorId, axis: usize, function: Name<'s>) -> Option<Value> {
        let (old, by) = (self.shape(table), self.shape(indices));
        let shape = [&old[..axis], &by, &old[axis + 1..]].concat();
        let out = self.tensor(function.text, shape.clone(), function.span)?;
        let mut body = Body::default();
        let found = body.push(Node::Read { tensor: indices, index: each(&by, axis) });
        let index: Vec<NodeId> = (0..old.len())
            .map(|dimension| match dimension.cmp(&axis) {
                std::cmp::Ordering::Less => body.push(Node::Iterator(IterId(dimension))),
                std::cmp::Ordering::Equal => found,
                std::cmp::Ordering::Greater => body.push(Node::Iterator(IterId(dimension + by.len() - 1))),
            })
            .collect();
        body.push(Node::Gather { tensor: table, index });
        self.move_elements(out, counters(&shape), each(&shape, 0), body, function.span);
        Some(Value { node: Draft::Read(out), shape })
    }

    fn scattered(&mut self, data: TensorId, indices: TensorId, extent: u32, function: Name<'s>) -> Option<Value> {
        let (from, by) = (self.shape(data), self.shape(indices));
        if from.len() < by.len() || from[..by.len()] != by[..] {
            let message = format!("shape {from:?} does not begin with that of the indices");
            self.report(Diagnostic::new(Code::Shape, function.span, message).with_label(format!("indices {by:?}")));
            return None;
        }
        let rest = &from[by.len()..];
        let shape = [&[extent], rest].concat();
        let out = self.tensor(function.text, shape.clone(), function.span)?;
        let free = shape.len();
        let mut body = Body::default();
        let found = body.push(Node::Read { tensor: indices, index: each(&by, free) });
        let row = body.push(Node::Iterator(IterId(0)));
        let condition = body.push(Node::Binary(Binary::Eq, found, row));
        let index = [each(&by, free), each(rest, 1)].concat();
        let yes = body.push(Node::Read { tensor: data, index });
        let no = body.push(Node::Constant(0.0));
        body.push(Node::Select { condition, yes, no });
        let aggregate = if by.is_empty() { Aggregate::Assign } else { Aggregate::Add };
        self.reduce(out, &[&shape[..], &by].concat(), free, aggregate, body, function);
        Some(Value { node: Draft::Read(out), shape })
    }

    /// One element of the body at each point.
    pub(super) fn move_elements(
        &mut self,
        out: TensorId,
        iterators: Vec<Iterator>,
        out_index: Vec<Affine>,
        body: Body,
        span: Span,
    ) {
        let (free, guards, origin) = (iterators.len(), Vec::new(), span.into());
        let (aggregate, start) = (Aggregate::Assign, Start::Identity);
        self.push(Nest { iterators, free, guards, out, out_index, aggregate, start, body, origin });
    }
}

/// An iterator for each dimension.
pub(super) fn counters(shape: &[u32]) -> Vec<Iterator> {
    let counter = |(n, &extent): (usize, &u32)| Iterator { name: format!("d{n}"), low: 0, high: i64::from(extent) };
    shape.iter().enumerate().map(counter).collect()
}

/// One iterator for each dimension, from a number on.
pub(super) fn each(shape: &[u32], first: usize) -> Vec<Affine> {
    (first..first + shape.len()).map(|n| Affine::iterator(IterId(n))).collect()
}

/// Where an element lies, row by row.
fn place_in_row(shape: &[u32]) -> Affine {
    let (mut place, mut stride) = (Affine::default(), 1);
    for (n, &extent) in shape.iter().enumerate().rev() {
        place = place.plus(stride, &Affine::iterator(IterId(n)));
        stride *= i64::from(extent);
    }
    place
}

/// The arguments of a form, in words.
fn takes(form: &str) -> &'static str {
    match form {
        "index" => "a list of sizes and an axis",
        "cast" => "a tensor and a type, such as `int8`",
        "reshape" => "a tensor and a list of sizes",
        "gather" => "a tensor, a tensor of indices, and possibly an axis",
        "gather_nd" => "a tensor, a tensor of indices, and possibly the number of common dimensions",
        "scatter_nd" => "a tensor, a tensor of indices, and a list of sizes",
        "argsort" => "a tensor, and possibly an axis",
        _ => "a tensor, a tensor of indices, and a size",
    }
}
