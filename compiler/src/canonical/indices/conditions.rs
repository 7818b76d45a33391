//! Conditions on iterators, the general way.

use super::{Draft, bounded, each_point, over, writes_each_once, zero_based};
use crate::canonical::expr::Expr;
use crate::canonical::expr::linear::terms;
use crate::canonical::logic::choose;
use crate::tensor::{
    Affine, Aggregate, Binary, Element, Guard, IterId, Iterator, Nest, Program, Role, Start, TensorId,
};

/// Words of one tensor that says which points exist; more become a vector for each condition.
const LARGEST_MASK: u64 = 4096;

/// Compute at every point of the box, and leave out what belongs to no point.
///
///     o[i] += x[k]            where 0 <= i - k < 9      =>     o[i] = sum[k](x[k] * m[i - k + 8])      m = 0 for -8..0, 1 for 0..9
///     o[i] += x[i + k - 1]    where 0 <= i + k - 1 < 9  =>     x.1 = 0, x[0], .. x[8], 0;   o[i] = sum[k](x.1[i + k])
///     o[i] = x[i]             where the condition       =>     o[i] = select(m[i], x[i], o[i])
///     o[i] max= x[k]          where 0 <= i - k < 9      =>     low = min[k](min(x[k], 0))
///                                                              o[i] = low + max[k](m[i - k + 8] * (min(x[k], 0) - low))
///                                                                         + max[k](m[i - k + 8] * max(x[k], 0))
///
/// Both maxima are of values from 0 up, so that a point that is left out may count as 0: the first is the answer if all values are
/// negative and takes `low` back to 0 else, the second is the answer if one is positive and 0 else. Elements without any point keep
/// what they have.
pub fn mask_conditions(program: &Program) -> Program {
    let mut draft = Draft::new(program);
    for nest in &program.nests {
        if nest.guards.is_empty() {
            draft.nests.push(nest.clone());
        } else {
            mask(&mut draft, nest);
        }
    }
    draft.finish()
}

fn mask(draft: &mut Draft, nest: &Nest) {
    let body = Expr::from_body(&nest.body);
    let old = old_value(draft, nest);
    let existing = existing(nest);
    let whole = existing.values.iter().all(|&exists| exists);
    let value = match nest.aggregate {
        Aggregate::Assign => {
            let value = choose(every(masks(draft, nest, &nest.guards)), inside(draft, nest, body), old);
            let iterators = nest.iterators.clone();
            draft.assign(iterators, nest.out, nest.out_index.clone(), &value, &nest.origin);
            return;
        }
        // A sum of no points is the 0 that is there already.
        Aggregate::Add if whole || nest.start == Start::Identity && old == Expr::Constant(0.0) => {
            return sum_of_existing(draft, nest, (nest.out, nest.out_index.clone()), body);
        }
        Aggregate::Add => {
            let (out, index) = beside(draft, nest);
            sum_of_existing(draft, nest, (out, index.clone()), body);
            Expr::Read(out, index)
        }
        Aggregate::Mul => {
            let value = choose(every(masks(draft, nest, &nest.guards)), inside(draft, nest, body), Expr::Constant(1.0));
            let (out, index) = beside(draft, nest);
            let nest =
                Nest { guards: Vec::new(), out, out_index: index.clone(), body: value.to_body(), ..nest.clone() };
            draft.nests.push(nest);
            Expr::Read(out, index)
        }
        Aggregate::Max | Aggregate::Min => extreme(draft, nest, body),
    };
    let value = if whole { value } else { choose(existing.read(draft, nest), value, old) };
    let iterators = nest.iterators[..nest.free].to_vec();
    draft.assign(iterators, nest.out, nest.out_index.clone(), &value, &nest.origin);
}

/// The body with reads that leave their tensors padded.
fn inside(draft: &mut Draft, nest: &Nest, body: Expr) -> Expr {
    body.map(&mut |e| match e {
        Expr::Read(tensor, index) => padded(draft, nest, tensor, index),
        other => other,
    })
}

/// A sum, or a maximum of values from 0 up, in which points that do not exist count as 0.
fn sum_of_existing(draft: &mut Draft, nest: &Nest, (out, out_index): (TensorId, Vec<Affine>), body: Expr) {
    let mut guards = nest.guards.clone();
    guards.retain(|guard| !zero_without(&body, guard, &draft.program));
    let body = inside(draft, nest, body);
    let value = masks(draft, nest, &guards).into_iter().fold(body, Expr::mul);
    draft.nests.push(Nest { guards: Vec::new(), out, out_index, body: value.to_body(), ..nest.clone() });
}

/// A maximum or minimum, by two maxima of values from 0 up.
fn extreme(draft: &mut Draft, nest: &Nest, body: Expr) -> Expr {
    let (tensor, index) = match body {
        Expr::Read(tensor, index) => (tensor, index),
        body => {
            let body = defined_everywhere(draft, nest, body);
            of_each_point(draft, nest, body)
        }
    };
    let shape = draft.program.tensors[tensor.0].shape.clone();
    let (iterators, place) = over(&shape);
    let signed = |e: Expr| if nest.aggregate == Aggregate::Max { e } else { Expr::neg(e) };
    let value = signed(Expr::Read(tensor, place.clone()));
    let with_zero =
        |operation, value: &Expr| Expr::Binary(operation, Box::new(value.clone()), Box::new(Expr::Constant(0.0)));
    let mut each = |value: &Expr| {
        let each = draft.like(nest.out, shape.clone());
        draft.assign(iterators.clone(), each, place.clone(), value, &nest.origin);
        each
    };
    let below = each(&with_zero(Binary::Min, &value));
    let above = each(&with_zero(Binary::Max, &value));
    let least = draft.like(nest.out, Vec::new());
    draft.nests.push(Nest {
        aggregate: if iterators.is_empty() { Aggregate::Assign } else { Aggregate::Min },
        iterators: iterators.clone(),
        free: 0,
        guards: Vec::new(),
        out: least,
        out_index: Vec::new(),
        start: Start::Identity,
        body: Expr::Read(below, place.clone()).to_body(),
        origin: nest.origin.clone(),
    });
    let raised = draft.like(nest.out, shape);
    let over_least = Expr::sub(Expr::Read(below, place.clone()), Expr::Read(least, Vec::new()));
    draft.assign(iterators, raised, place, &over_least, &nest.origin);
    let largest = Nest { aggregate: Aggregate::Max, start: Start::Identity, ..nest.clone() };
    let [raised, above] = [raised, above].map(|values| {
        let (out, out_index) = beside(draft, nest);
        sum_of_existing(draft, &largest, (out, out_index.clone()), Expr::Read(values, index.clone()));
        Expr::Read(out, out_index)
    });
    let found = signed(Expr::add(Expr::add(Expr::Read(least, Vec::new()), raised), above));
    let operation = if nest.aggregate == Aggregate::Max { Binary::Max } else { Binary::Min };
    let start = match &nest.start {
        Start::Identity => return found,
        Start::Fill(value) => Expr::Constant(*value),
        Start::Element { tensor, index } => Expr::Read(*tensor, index.clone()),
    };
    Expr::Binary(operation, Box::new(start), Box::new(found))
}

/// A body that has a value at the points that a condition leaves out, too: quotients and functions that have none of 0, which may be
/// padding, take 1 there. The least of all points would have no value else.
fn defined_everywhere(draft: &mut Draft, nest: &Nest, body: Expr) -> Expr {
    let mut or_one = |e: Expr| {
        let reads = !e.tensors().is_empty();
        if reads { choose(every(masks(draft, nest, &nest.guards)), e, Expr::Constant(1.0)) } else { e }
    };
    body.map(&mut |e| match e {
        Expr::Binary(
            operation @ (Binary::Div | Binary::DivControlled | Binary::DivFloor | Binary::RemFloor),
            value,
            by,
        ) => Expr::Binary(operation, value, Box::new(or_one(*by))),
        Expr::Call(function, mut arguments) if !function.domain().contains(0.0) => {
            let first = arguments.remove(0);
            arguments.insert(0, or_one(first));
            Expr::Call(function, arguments)
        }
        other => other,
    })
}

/// The values of a body at every point of the iterators it depends on, and how the nest reads them.
fn of_each_point(draft: &mut Draft, nest: &Nest, body: Expr) -> (TensorId, Vec<Affine>) {
    let body = inside(draft, nest, body);
    let used: Vec<IterId> = body.iterators().into_iter().collect();
    let iterators: Vec<Iterator> = used.iter().map(|i| nest.iterators[i.0].clone()).collect();
    let own: Vec<Affine> = (0..used.len()).map(|i| zero_based(IterId(i), &iterators)).collect();
    let position =
        |i: usize| used.iter().position(|u| u.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p)));
    let with: Vec<Affine> = (0..nest.iterators.len()).map(position).collect();
    let values = draft.like(nest.out, iterators.iter().map(|iterator| iterator.extent() as u32).collect());
    draft.assign(iterators, values, own, &body.substitute(&with), &nest.origin);
    (values, used.iter().map(|&i| zero_based(i, &nest.iterators)).collect())
}

/// A temporary with an element for each point of the free iterators.
fn beside(draft: &mut Draft, nest: &Nest) -> (TensorId, Vec<Affine>) {
    let free = &nest.iterators[..nest.free];
    let tensor = draft.like(nest.out, free.iter().map(|iterator| iterator.extent() as u32).collect());
    (tensor, (0..nest.free).map(|i| zero_based(IterId(i), &nest.iterators)).collect())
}

/// The element as it was: a constant where all elements have been filled with it, 0 if nothing has been written.
fn old_value(draft: &Draft, nest: &Nest) -> Expr {
    if matches!(draft.program.tensors[nest.out.0].role, Role::State | Role::InOut) {
        return Expr::Read(nest.out, nest.out_index.clone());
    }
    let mut writers = draft.nests.iter().filter(|earlier| earlier.out == nest.out);
    match (writers.next().map(|first| (first, Expr::from_body(&first.body))), writers.next()) {
        (None, _) => Expr::Constant(0.0),
        (Some((first, Expr::Constant(value))), None) if fills(first, &draft.program) => Expr::Constant(value),
        _ => Expr::Read(nest.out, nest.out_index.clone()),
    }
}

/// Whether a nest gives every element of its tensor a value.
fn fills(nest: &Nest, program: &Program) -> bool {
    let points: u64 = nest.iterators[..nest.free].iter().map(Iterator::extent).product();
    let elements: u64 = program.tensors[nest.out.0].shape.iter().map(|&extent| u64::from(extent)).product();
    nest.guards.is_empty() && points == elements && writes_each_once(nest)
}

/// 1 where all of these are 1.
fn every(masks: Vec<Expr>) -> Expr {
    masks.into_iter().reduce(Expr::mul).unwrap_or(Expr::Constant(1.0))
}

/// Whether, in a sum, the points that a condition leaves out add 0 anyway: something that is multiplied is read outside its tensor
/// there, where it is padded with zeros.
fn zero_without(body: &Expr, guard: &Guard, program: &Program) -> bool {
    let (value, bound) = bounded(guard);
    let outside = |e: &Expr| match e {
        Expr::Read(tensor, index) => index
            .iter()
            .zip(&program.tensors[tensor.0].shape)
            .any(|(form, &extent)| form == value && i64::from(extent) == bound),
        _ => false,
    };
    terms(body).iter().all(|term| term.factors.iter().any(outside))
}

/// The element of a tensor, or of a larger one with zeros around it where the index leaves the tensor.
///
///     x[i - 2]    i in 0..9    =>    x.1[0..11] = 0;   x.1[i + 2] = x[i];   x.1[i]
fn padded(draft: &mut Draft, nest: &Nest, tensor: TensorId, index: Vec<Affine>) -> Expr {
    let shape = draft.program.tensors[tensor.0].shape.clone();
    let reach = index.iter().zip(&shape).map(|(form, &extent)| {
        let (low, high) = form.range(&nest.iterators);
        (low.min(0), (high + 1).max(i64::from(extent)))
    });
    let reach: Vec<(i64, i64)> = reach.collect();
    let larger: Vec<u32> = reach.iter().map(|(low, high)| (high - low) as u32).collect();
    if larger == shape {
        return Expr::Read(tensor, index);
    }
    let copy = draft.like(tensor, larger.clone());
    let moved = |index: &[Affine]| -> Vec<Affine> {
        index.iter().zip(&reach).map(|(form, &(low, _))| form.plus(-low, &Affine::constant(1))).collect()
    };
    let (iterators, place) = over(&larger);
    draft.assign(iterators, copy, place, &Expr::Constant(0.0), &nest.origin);
    let (iterators, place) = over(&shape);
    draft.assign(iterators, copy, moved(&place), &Expr::Read(tensor, place), &nest.origin);
    Expr::Read(copy, moved(&index))
}

/// For every group of conditions that share iterators, which points exist: one tensor over these iterators, or a vector over the
/// values of each condition if that would be too large.
fn masks(draft: &mut Draft, nest: &Nest, guards: &[Guard]) -> Vec<Expr> {
    let mut groups: Vec<(Vec<IterId>, Vec<&Guard>)> = Vec::new();
    for guard in guards {
        let mut own: Vec<IterId> = bounded(guard).0.terms.iter().map(|term| term.0).collect();
        let mut members = vec![guard];
        groups.retain(|(iterators, others)| {
            let shares = iterators.iter().any(|iterator| own.contains(iterator));
            if shares {
                own.extend(iterators);
                members.extend(others);
            }
            !shares
        });
        own.sort_unstable();
        own.dedup();
        groups.push((own, members));
    }
    let mut masks = Vec::new();
    for (used, members) in groups {
        let own: Vec<Iterator> = used.iter().map(|i| nest.iterators[i.0].clone()).collect();
        if own.iter().map(Iterator::extent).product::<u64>() <= LARGEST_MASK {
            let position = |i: usize| used.iter().position(|u| u.0 == i).unwrap_or(0);
            let mut values = Vec::new();
            each_point(&own, |point| {
                let holds = |guard: &&Guard| {
                    let (value, bound) = bounded(guard);
                    let sum: i64 = value.terms.iter().map(|&(i, c)| c * point[position(i.0)]).sum();
                    (0..bound).contains(&(value.offset + sum))
                };
                values.push(members.iter().all(holds));
            });
            let shape = own.iter().map(|iterator| iterator.extent() as u32).collect();
            let index = used.iter().map(|&i| zero_based(i, &nest.iterators)).collect();
            masks.push(bits(draft, nest, shape, &values, index));
            continue;
        }
        for guard in members {
            let (value, bound) = bounded(guard);
            let (low, high) = value.range(&nest.iterators);
            let values: Vec<bool> = (low..=high).map(|value| (0..bound).contains(&value)).collect();
            let index = vec![value.plus(-low, &Affine::constant(1))];
            masks.push(bits(draft, nest, vec![values.len() as u32], &values, index));
        }
    }
    masks
}

/// An element of a tensor of zeros and ones.
fn bits(draft: &mut Draft, nest: &Nest, shape: Vec<u32>, values: &[bool], index: Vec<Affine>) -> Expr {
    let words = values.iter().map(|&value| f64::from(value)).collect();
    let element = Element::Int { bits: 2, signed: true };
    Expr::Read(draft.constants("mask", shape, words, element, nest.origin.span()), index)
}

/// For which values of the free iterators in conditions there is a point.
struct Existing {
    /// The free iterators that occur in conditions.
    iterators: Vec<IterId>,
    values: Vec<bool>,
}

impl Existing {
    fn read(&self, draft: &mut Draft, nest: &Nest) -> Expr {
        let shape = self.iterators.iter().map(|i| nest.iterators[i.0].extent() as u32).collect();
        let index = self.iterators.iter().map(|&i| zero_based(i, &nest.iterators)).collect();
        bits(draft, nest, shape, &self.values, index)
    }
}

fn existing(nest: &Nest) -> Existing {
    let mut used: Vec<IterId> =
        nest.guards.iter().flat_map(|guard| bounded(guard).0.terms.iter().map(|term| term.0)).collect();
    used.sort_unstable();
    used.dedup();
    let own: Vec<Iterator> = used.iter().map(|i| nest.iterators[i.0].clone()).collect();
    let free = used.iter().filter(|i| i.0 < nest.free).count();
    let mut values = Vec::new();
    let mut inner = 0;
    let each: u64 = own[free..].iter().map(Iterator::extent).product();
    let mut whole = vec![0; nest.iterators.len()];
    let mut found = false;
    each_point(&own, |point| {
        used.iter().zip(point).for_each(|(iterator, &value)| whole[iterator.0] = value);
        found |= nest.guards.iter().all(|guard| {
            let (value, bound) = bounded(guard);
            (0..bound).contains(&value.at(&whole))
        });
        inner += 1;
        if inner == each {
            values.push(found);
            (inner, found) = (0, false);
        }
    });
    used.truncate(free);
    Existing { iterators: used, values }
}
