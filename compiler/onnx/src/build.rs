//! Writes tensor IR: tensors and Nests, with what is constant computed at once.
//!
//! ```text
//! map([2, 3], |at| read(x, at) + read(b, at))       =>     o[i][j] = x[i][j] + b[j]
//! reduce([2], [3], Add, |i, j| read(x, [i, j]))     =>     o[i] += x[i][j]
//! ```

use crate::elements::{Constants, Kind, count};
use crate::expression::{Ex, fixed, it};
use crate::extents::common;
use crate::fold;
use crate::integers::{Inexact, inexact, reads};
use arch::{Code, Span};
use compiler::language::Limits;
use compiler::tensor::{
    Affine, Aggregate, Element, Guard, IterId, Iterator, Nest, Program, Role, Start, Tensor, TensorId,
};
use std::collections::{BTreeMap, BTreeSet};

/// Why a node cannot be translated, without its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// Code of the diagnostic.
    pub(crate) code: Code,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

impl Refusal {
    /// A refusal with a code.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), help: None }
    }

    /// With what to do.
    #[must_use]
    pub(crate) fn help(self, help: impl Into<String>) -> Refusal {
        Refusal { help: Some(help.into()), ..self }
    }
}

/// What is not supported, and what to do.
pub(crate) fn unsupported<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Code::Unsupported, message).help(help))
}

/// Shapes that do not fit.
pub(crate) fn misfit<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(Code::Shape, message))
}

/// What a translation gives.
pub(crate) type Translated<T> = Result<T, Refusal>;

/// A tensor of the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Val {
    /// Which one.
    pub(crate) id: TensorId,
    /// Its element type.
    pub(crate) kind: Kind,
}

/// The loops of a Nest.
#[derive(Debug, Clone)]
pub(crate) struct Loops {
    /// Extents of the free iterators.
    pub(crate) free: Vec<i64>,
    /// Extents of the reduction iterators, which come after.
    pub(crate) over: Vec<i64>,
    /// Conditions.
    pub(crate) guards: Vec<Guard>,
    /// How values are combined.
    pub(crate) aggregate: Aggregate,
    /// Where that starts.
    pub(crate) start: Start,
}

impl Loops {
    /// One value for each point.
    pub(crate) fn each(free: &[i64]) -> Loops {
        let (aggregate, start) = (Aggregate::Assign, Start::Identity);
        Loops { free: free.to_vec(), over: Vec::new(), guards: Vec::new(), aggregate, start }
    }

    /// Values combined over some iterators.
    pub(crate) fn over(free: &[i64], over: &[i64], aggregate: Aggregate) -> Loops {
        Loops { over: over.to_vec(), aggregate, ..Loops::each(free) }
    }

    /// With `0 <= value < bound`.
    #[must_use]
    pub(crate) fn within(mut self, value: Affine, bound: i64) -> Loops {
        self.guards.push(Guard::Within { value, bound });
        self
    }

    fn points(&self) -> u64 {
        let each = self.free.iter().chain(&self.over);
        each.fold(1u64, |points, &extent| points.saturating_mul(extent.max(0) as u64))
    }

    fn iterator(&self, number: usize) -> (i64, bool) {
        let free = self.free.len();
        if number < free { (self.free[number], true) } else { (self.over[number - free], false) }
    }

    /// Whether every free point has a point whose guards hold. Sure only if each condition has iterators of its own.
    fn always_some(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.guards.iter().all(|guard| {
            let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
            let own = value.terms.iter().all(|(IterId(n), _)| self.iterator(*n).1 || seen.insert(*n));
            own && self.holds_somewhere(guard, value)
        })
    }

    fn holds_somewhere(&self, guard: &Guard, value: &Affine) -> bool {
        let values = |wanted: bool| -> Vec<i64> {
            let terms = value.terms.iter().filter(|(IterId(n), _)| self.iterator(*n).1 == wanted);
            terms.fold(vec![0], |values, &(IterId(n), coefficient)| {
                let with = |value: i64| (0..self.iterator(n).0).map(move |at| value + coefficient * at);
                let mut all: Vec<i64> = values.into_iter().flat_map(with).collect();
                all.sort_unstable();
                all.dedup();
                all
            })
        };
        let (free, over) = (values(true), values(false));
        free.iter().all(|free| {
            over.iter().any(|over| match guard {
                Guard::Within { bound, .. } => (0..*bound).contains(&(value.offset + free + over)),
                Guard::Zero { .. } => value.offset + free + over == 0,
            })
        })
    }
}

/// Points of constant Nests that are computed here, and operations in all, beside those of shapes and the like.
const FOLDED: u64 = 1 << 22;
const FOLDED_IN_ALL: u64 = 1 << 24;
const FEW: u64 = 64;

/// Statements of a program.
const NESTS: usize = 1 << 17;

/// A program under construction.
pub(crate) struct Builder {
    /// What there is so far.
    pub(crate) program: Program,
    /// Where the current node is in the listing.
    pub(crate) span: Span,
    /// What the current results are called.
    pub(crate) name: String,
    /// Names that are taken, and how many others were made of each.
    names: BTreeMap<String, usize>,
    limits: Limits,
    folded: u64,
    elements: u64,
    /// Constants that are not exact.
    pub(crate) inexact: Inexact,
}

impl Builder {
    /// An empty program.
    pub(crate) fn new(limits: Limits) -> Builder {
        Builder {
            program: Program::default(),
            span: Span::default(),
            name: "value".into(),
            names: BTreeMap::new(),
            limits,
            folded: 0,
            elements: 0,
            inexact: Inexact::default(),
        }
    }

    /// Most elements of a tensor.
    pub(crate) fn most(&self) -> u64 {
        self.limits.elements
    }

    /// A name that no tensor has yet.
    fn fresh(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while self.names.contains_key(&name) {
            let number = self.names.entry(wanted.to_owned()).or_default();
            *number += 1;
            name = format!("{wanted}.{number}");
        }
        self.names.insert(name.clone(), 0);
        name
    }

    /// A new tensor.
    pub(crate) fn tensor(&mut self, shape: &[i64], kind: Kind, role: Role) -> Translated<Val> {
        let limit = |message: String| Refusal::new(Code::Limit, message).help("`--limit` raises a limit");
        let elements = count(shape, self.limits.elements).ok_or_else(|| {
            limit(format!("a result of the shape {shape:?} has more than {} elements", self.limits.elements))
        })?;
        self.elements += elements as u64;
        if self.elements > self.limits.elements_in_all {
            return Err(limit(format!("all tensors have more than {} elements", self.limits.elements_in_all)));
        }
        if shape.len() > self.limits.rank {
            return Err(limit(format!(
                "a result of the shape {shape:?} has more than {} dimensions",
                self.limits.rank
            )));
        }
        let wanted = self.name.clone();
        let name = self.fresh(&wanted);
        let shape = shape.iter().map(|&extent| extent as u32).collect();
        // Hosts may give truth values where the graph has them, and whole numbers only where it has integers.
        let element = match (&role, kind) {
            (Role::Input, Kind::Bool) => Element::Bool,
            (Role::Input, Kind::Int { bits, signed }) => Element::Int { bits, signed },
            _ => Element::Real,
        };
        self.program.tensors.push(Tensor { name, shape, role, element, span: self.span });
        Ok(Val { id: TensorId(self.program.tensors.len() - 1), kind })
    }

    /// Constants.
    pub(crate) fn constants(&mut self, shape: &[i64], kind: Kind, values: Vec<f64>) -> Translated<Val> {
        if count(shape, self.limits.elements) != Some(values.len()) {
            return misfit(format!("{} constants do not have the shape {shape:?}", values.len()));
        }
        self.tensor(shape, kind, Role::Parameter(values.into()))
    }

    /// Constants of a file.
    pub(crate) fn read_constants(&mut self, constants: Constants) -> Translated<Val> {
        let Constants { shape, kind, values } = constants;
        let told = inexact(&self.name, kind, &values);
        let value = self.constants(&shape, kind, values)?;
        self.inexact.read(value.id, told);
        Ok(value)
    }

    /// A constant number.
    pub(crate) fn scalar(&mut self, kind: Kind, value: f64) -> Translated<Val> {
        self.constants(&[], kind, vec![value])
    }

    /// Extents.
    pub(crate) fn shape(&self, value: Val) -> Vec<i64> {
        self.program.tensors[value.id.0].shape.iter().map(|&extent| i64::from(extent)).collect()
    }

    /// Number of dimensions.
    pub(crate) fn rank(&self, value: Val) -> usize {
        self.program.tensors[value.id.0].shape.len()
    }

    /// The elements, if they are constant.
    pub(crate) fn known(&self, value: Val) -> Option<&[f64]> {
        if let Role::Parameter(values) = &self.program.tensors[value.id.0].role { Some(values) } else { None }
    }

    /// An element, where extents of 1 and missing dimensions are repeated along an index of more dimensions.
    pub(crate) fn read(&self, value: Val, at: &[Affine]) -> Ex {
        Ex::Read(value.id, self.broadcast_index(value, at))
    }

    fn broadcast_index(&self, value: Val, at: &[Affine]) -> Vec<Affine> {
        let shape = &self.program.tensors[value.id.0].shape;
        // Of more dimensions than indices only some get one, which `push` notices.
        let skip = at.len().saturating_sub(shape.len());
        shape.iter().zip(&at[skip..]).map(|(&extent, at)| if extent == 1 { fixed(0) } else { at.clone() }).collect()
    }

    /// The same in loops of a shape: what has the extent of a loop follows it, an extent of 1, too.
    fn read_along(&self, value: Val, at: &[Affine], loops: &[i64]) -> Ex {
        let shape = self.shape(value);
        let skip = at.len().saturating_sub(shape.len());
        let place = |n: usize| if shape[n] == loops[skip + n] { at[skip + n].clone() } else { fixed(0) };
        Ex::Read(value.id, (0..shape.len().min(at.len())).map(place).collect())
    }

    /// The common shape of values that are repeated along extents of 1.
    pub(crate) fn broadcast(&self, values: &[Val]) -> Translated<Vec<i64>> {
        let shapes: Vec<Vec<i64>> = values.iter().map(|&value| self.shape(value)).collect();
        broadcast_shapes(&shapes)
    }

    /// Add a Nest.
    pub(crate) fn nest(&mut self, out: Val, out_index: Vec<Affine>, loops: &Loops, body: &Ex) -> Translated<()> {
        if loops.points() > self.limits.points {
            let message = format!("it takes more than {} steps", self.limits.points);
            return Err(Refusal::new(Code::Limit, message).help("`--limit points=N` raises the limit"));
        }
        if loops.free.contains(&0) {
            return Ok(());
        }
        let mut loops = loops.clone();
        let some = loops.guards.is_empty() || loops.over.is_empty() || loops.always_some();
        if (loops.over.contains(&0) || !some) && loops.start == Start::Identity {
            let value = Ex::Number(fold::identity(loops.aggregate));
            let fill = Loops::each(&loops.free);
            self.push(out, out_index.clone(), &fill, &value)?;
            if loops.over.contains(&0) {
                return Ok(());
            }
            loops.start = Start::Element { tensor: out.id, index: out_index.clone() };
        }
        self.push(out, out_index, &loops, body)
    }

    fn push(&mut self, out: Val, out_index: Vec<Affine>, loops: &Loops, body: &Ex) -> Translated<()> {
        let extents = loops.free.iter().chain(&loops.over);
        let iterators = extents.enumerate().map(|(n, &high)| Iterator { name: format!("d{n}"), low: 0, high });
        if self.program.nests.len() >= NESTS {
            let message = format!("the graph becomes more than {NESTS} statements");
            return Err(Refusal::new(Code::Limit, message)
                .help("loops and recurrent layers are written out: give them fewer steps"));
        }
        let reduces = !loops.over.is_empty();
        let aggregate = if reduces { loops.aggregate } else { Aggregate::Assign };
        // Without iterators to combine over, the start takes part as an operand.
        let body = match (&loops.start, reduces) {
            (Start::Element { tensor, index }, false) if loops.aggregate == Aggregate::Add => {
                Ex::Read(*tensor, index.clone()) + body.clone()
            }
            _ => body.clone(),
        };
        self.program.nests.push(Nest {
            free: loops.free.len(),
            iterators: iterators.collect(),
            guards: loops.guards.clone(),
            out: out.id,
            out_index,
            aggregate,
            start: if reduces { loops.start.clone() } else { Start::Identity },
            body: body.to_body(),
            origin: self.span.into(),
        });
        // An operator need not compare every extent of its operands with those of others.
        let nest = &self.program.nests[self.program.nests.len() - 1];
        compiler::tensor::accesses(&self.program, nest)
            .or_else(|fault| misfit(format!("the shapes of its operands do not fit together ({})", fault.why)))
    }

    /// Let a value be computed in one place, so that it equals itself wherever it is compared.
    pub(crate) fn store(&mut self, value: Val) {
        let role = &mut self.program.tensors[value.id.0].role;
        if *role == Role::Temporary {
            *role = Role::Stored;
        }
    }

    /// A new tensor and the number of Nests before the first one that writes it.
    pub(crate) fn begin(&mut self, shape: &[i64], kind: Kind) -> Translated<(Val, usize)> {
        Ok((self.tensor(shape, kind, Role::Temporary)?, self.program.nests.len()))
    }

    /// All Nests that write a tensor are there: if they read constants only, so is the tensor.
    pub(crate) fn finish(&mut self, (out, first): (Val, usize)) -> Val {
        let nests = &self.program.nests[first..];
        let elements: u64 = self.program.tensors[out.id.0].shape.iter().map(|&extent| u64::from(extent)).product();
        if elements == 0 {
            self.program.tensors[out.id.0].role = Role::Parameter([].into());
            return out;
        }
        let points = nests.iter().map(|nest| {
            let extents = nest.iterators.iter().map(Iterator::extent);
            extents.fold(1u64, u64::saturating_mul)
        });
        let points: u64 = points.fold(0, u64::saturating_add);
        let constant =
            |tensor: &TensorId| *tensor == out.id || matches!(self.program.tensors[tensor.0].role, Role::Parameter(_));
        let are_constant = nests.iter().flat_map(reads).all(|tensor| constant(&tensor));
        let most = nests.iter().map(|nest| nest.body.nodes.len() as u64 + 2).max().unwrap_or(0);
        let work = if points > FEW { points * most } else { 0 };
        if points > FOLDED || self.folded + work > FOLDED_IN_ALL || !are_constant {
            return out;
        }
        self.folded += work;
        self.inexact.computed(out.id, nests.iter().flat_map(reads));
        if let Some(values) = fold::evaluate(&self.program.tensors, nests, out.id) {
            self.program.nests.truncate(first);
            self.program.tensors[out.id.0].role = Role::Parameter(values.into());
        }
        out
    }

    /// A tensor of one Nest that writes each element.
    pub(crate) fn nested(&mut self, shape: &[i64], kind: Kind, loops: &Loops, body: &Ex) -> Translated<Val> {
        let begun = self.begin(shape, kind)?;
        let index = (0..shape.len()).map(it).collect();
        self.nest(begun.0, index, loops, body)?;
        self.hold_sum(begun.0, loops);
        Ok(self.finish(begun))
    }

    /// One value for each element.
    pub(crate) fn map(
        &mut self,
        shape: &[i64],
        kind: Kind,
        body: impl FnOnce(&Builder, &[Affine]) -> Ex,
    ) -> Translated<Val> {
        let at: Vec<Affine> = (0..shape.len()).map(it).collect();
        let body = body(self, &at);
        self.nested(shape, kind, &Loops::each(shape), &body)
    }

    /// Values combined for each element; the indices are those of the result and those that are combined over.
    pub(crate) fn reduce(
        &mut self,
        shape: &[i64],
        over: &[i64],
        kind: Kind,
        aggregate: Aggregate,
        body: impl FnOnce(&Builder, &[Affine], &[Affine]) -> Ex,
    ) -> Translated<Val> {
        let at: Vec<Affine> = (0..shape.len()).map(it).collect();
        let inner: Vec<Affine> = (shape.len()..shape.len() + over.len()).map(it).collect();
        let body = body(self, &at, &inner);
        if over.is_empty() {
            return self.nested(shape, kind, &Loops::each(shape), &body);
        }
        self.nested(shape, kind, &Loops::over(shape, over, aggregate), &body)
    }

    /// One value of values that are repeated to a common shape.
    pub(crate) fn zip(&mut self, values: &[Val], kind: Kind, body: impl FnOnce(Vec<Ex>) -> Ex) -> Translated<Val> {
        let shape = self.broadcast(values)?;
        let wide = shape.clone();
        self.map(&shape, kind, |b, at| body(values.iter().map(|&value| b.read_along(value, at, &wide)).collect()))
    }

    /// One value of each.
    pub(crate) fn apply(&mut self, value: Val, body: impl FnOnce(Ex) -> Ex) -> Translated<Val> {
        let shape = self.shape(value);
        self.map(&shape, value.kind, |_, at| body(Ex::Read(value.id, at.to_vec())))
    }

    /// The same elements, row-major, in another shape.
    ///
    ///     [4, 6] to [2, 12]:     o[a][6*b + c] = x[2*a + b][c]     the extents 2, 2, 6 make both shapes
    pub(crate) fn reshape(&mut self, value: Val, shape: &[i64]) -> Translated<Val> {
        let from = self.shape(value);
        if from == shape {
            return Ok(value);
        }
        if count(&from, u64::MAX) != count(shape, u64::MAX) {
            return misfit(format!("{from:?} cannot become {shape:?}: the number of elements differs"));
        }
        if let Some(values) = self.known(value) {
            let values = values.to_vec();
            return self.constants(shape, value.kind, values);
        }
        if let Some((extents, of_from, of_to)) = common(&from, shape) {
            let begun = self.begin(shape, value.kind)?;
            self.nest(begun.0, of_to, &Loops::each(&extents), &Ex::Read(value.id, of_from))?;
            return Ok(self.finish(begun));
        }
        self.map(shape, value.kind, |_, at| {
            let flat = at
                .iter()
                .zip(shape)
                .fold(Affine::default(), |flat, (at, &extent)| Affine::default().plus(extent, &flat).plus(1, at));
            let mut inner = 1;
            let mut index: Vec<Ex> = from
                .iter()
                .rev()
                .map(|&extent| {
                    let whole = Ex::At(flat.clone()).floor_div(inner as f64);
                    inner *= extent;
                    whole.floor_rem(extent as f64)
                })
                .collect();
            index.reverse();
            Ex::Gather(value.id, index)
        })
    }

    /// Dimensions in another order: dimension `n` of the result is `order[n]`.
    pub(crate) fn transpose(&mut self, value: Val, order: &[usize]) -> Translated<Val> {
        let from = self.shape(value);
        if order.len() != from.len() {
            return misfit(format!("{from:?} does not have {} dimensions", order.len()));
        }
        let shape: Vec<i64> = order.iter().map(|&n| from[n]).collect();
        let mut index = vec![fixed(0); from.len()];
        order.iter().enumerate().for_each(|(n, &of)| index[of] = it(n));
        self.map(&shape, value.kind, |_, _| Ex::Read(value.id, index))
    }

    /// A value repeated to a larger shape.
    pub(crate) fn expand(&mut self, value: Val, shape: &[i64]) -> Translated<Val> {
        if self.shape(value) == shape {
            return Ok(value);
        }
        self.map(shape, value.kind, |b, at| b.read(value, at))
    }

    /// Part of a dimension: `count` elements from `start`, every `step`-th.
    pub(crate) fn part(&mut self, value: Val, axis: usize, start: i64, count: i64, step: i64) -> Translated<Val> {
        let mut shape = self.shape(value);
        shape[axis] = count;
        self.map(&shape, value.kind, |_, at| {
            let mut at = at.to_vec();
            at[axis] = Affine::constant(start).plus(step, &at[axis]);
            Ex::Read(value.id, at)
        })
    }

    /// Values one behind the other.
    pub(crate) fn concat(&mut self, values: &[Val], axis: usize) -> Translated<Val> {
        let mut shape = self.shape(values[0]);
        let others =
            |shape: &[i64]| shape.iter().enumerate().filter(|(n, _)| *n != axis).map(|(_, &e)| e).collect::<Vec<_>>();
        for &value in values {
            let own = self.shape(value);
            if own.len() != shape.len() || others(&own) != others(&shape) {
                return misfit(format!("{own:?} cannot be put behind {shape:?} along axis {axis}"));
            }
        }
        shape[axis] = values.iter().map(|&value| self.shape(value)[axis]).sum();
        if values.len() == 1 {
            return Ok(values[0]);
        }
        let begun = self.begin(&shape, values[0].kind)?;
        let mut offset = 0;
        for &value in values {
            let own = self.shape(value);
            let read: Vec<Affine> = (0..own.len()).map(it).collect();
            let mut index = read.clone();
            index[axis].offset += offset;
            offset += own[axis];
            self.nest(begun.0, index, &Loops::each(&own), &Ex::Read(value.id, read))?;
        }
        Ok(self.finish(begun))
    }
}

/// The common shape of shapes that are repeated along extents of 1.
pub(crate) fn broadcast_shapes(shapes: &[Vec<i64>]) -> Translated<Vec<i64>> {
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for shape in shapes {
        for (extent, &own) in common.iter_mut().rev().zip(shape.iter().rev()) {
            if own != 1 && *extent != 1 && own != *extent {
                let shown: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
                return misfit(format!("the shapes {} do not fit together", shown.join(" and ")));
            }
            if own != 1 {
                *extent = own;
            }
        }
    }
    Ok(common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_computed_at_once() {
        let mut b = Builder::new(Limits::default());
        let x = b.constants(&[2, 3], Kind::FLOAT, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let sum = b.reduce(&[2], &[3], Kind::FLOAT, Aggregate::Add, |b, i, j| b.read(x, &[i[0].clone(), j[0].clone()]));
        assert_eq!(b.known(sum.unwrap()), Some(&[6.0, 15.0][..]));
        let turned = b.transpose(x, &[1, 0]).unwrap();
        assert_eq!(b.known(turned), Some(&[1.0, 4.0, 2.0, 5.0, 3.0, 6.0][..]));
        let both = b.concat(&[x, x], 0).unwrap();
        assert_eq!((b.shape(both), b.program.nests.len()), (vec![4, 3], 0));
    }
}
