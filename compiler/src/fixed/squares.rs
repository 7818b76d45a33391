//! Squares: a difference that is nothing but squared is no word of its own.
//!
//!     d[i][k] = x[k] - c[i][k]; s[i] = sum[k](d[i][k] * d[i][k])      =>      s[i] = sum[k]((x[k] - c[i][k]) * (x[k] - c[i][k]))
//!
//! An engine makes the difference and its square in one beat, and the difference is exact: it is neither rounded nor saturated. For that both
//! operands need one binary point, the coarser one. No result may get worse by it. As it was, a difference carried the errors of its operands
//! and half of its own last place; now it carries, instead of the latter, half of the last place that the finer operand is rounded to. So
//! that must not be coarser than the difference's own, unless nothing is rounded at all; and nobody else may read what gets coarser.

use super::Program as Fixed;
use super::numbers::{NumberReport, Numbers};
use crate::canonical::dead::remove_dead_tensors;
use crate::canonical::expr::{Expr, substitute};
use crate::canonical::flow::Flow;
use crate::canonical::primitive::{Atom, Primitive};
use crate::ranges::Ranges;
use crate::tensor::{Affine, Aggregate, Element, Nest, Program, Role, Tensor, TensorId};
use arch::Diagnostic;
use arch::isa::Combine;
use arch::number::{quantise, to_f64};
use std::collections::BTreeMap;

/// A program in fixed point, and how its binary points were found.
type Lowered = (Fixed, NumberReport);

/// A difference that is only squared.
struct Difference {
    /// The nest that makes it.
    nest: usize,
    tensor: TensorId,
    /// From what; an element.
    from: TensorId,
    /// What is subtracted.
    less: Operand,
    /// What stands for an element of it.
    value: Expr,
}

/// What is subtracted.
enum Operand {
    Tensor(TensorId),
    Constant(f64),
}

/// The program with as many differences squared in one beat as lose nothing by it; `lowered` is what it is without, and `lower` makes
/// fixed point of a program. `None` where there are none.
pub(super) fn in_one_beat(
    program: &Program,
    ranges: &Ranges,
    numbers: &Numbers,
    lowered: &Lowered,
    lower: impl Fn(&Program, &Ranges) -> Result<Lowered, Vec<Diagnostic>>,
) -> Option<Lowered> {
    let mut differences = found(program);
    while !differences.is_empty() {
        let (squared, ranges) = without(program, ranges, &differences);
        let fused = lower(&squared, &ranges).ok()?;
        let judge = Judge { program, numbers, before: fractions(&lowered.1), after: fractions(&fused.1) };
        let all = differences.len();
        differences.retain(|difference| judge.keeps(difference, &squared));
        if differences.len() == all {
            let as_good = fused.1.notes.len() <= lowered.1.notes.len() && judge.spares(&differences);
            return as_good.then_some(fused);
        }
    }
    None
}

/// Differences that are squared and else nothing, in programs that are primitive.
fn found(program: &Program) -> Vec<Difference> {
    let flow = Flow::of(program);
    (0..program.nests.len()).filter_map(|nest| difference(program, &flow, nest)).collect()
}

fn difference(program: &Program, flow: &Flow, number: usize) -> Option<Difference> {
    let nest = &program.nests[number];
    let tensor = nest.out;
    let Tensor { role, element, .. } = &program.tensors[tensor.0];
    let own = matches!(role, Role::Temporary | Role::Output) && *element == Element::Real && !flow.kept[tensor.0];
    let each = nest.free == nest.iterators.len() && nest.out_index.len() == nest.free && nest.guards.is_empty();
    if !own || !each || flow.writers[tensor.0].len() != 1 || flow.readers[tensor.0].is_empty() {
        return None;
    }
    let Some(Primitive::MultiplyAdd {
        start: Some(start),
        product: Some((Atom::Read(other, other_at), Atom::Constant(1.0))),
        square: false,
        scale: 0,
        combine,
        negative: false,
        whole: false,
    }) = Primitive::of(nest).filter(|_| nest.aggregate == Aggregate::Assign)
    else {
        return None;
    };
    let other_value = Expr::Read(other, other_at);
    let (from, from_value, less, less_value) = match (start, combine) {
        (Atom::Read(from, at), Combine::Subtract) => (from, Expr::Read(from, at), Operand::Tensor(other), other_value),
        // A difference may have either sign where it is squared.
        (Atom::Constant(start), combine) => {
            let less = if combine == Combine::Subtract { start } else { -start };
            (other, other_value, Operand::Constant(less), Expr::Constant(less))
        }
        (Atom::Read(..), _) => return None,
    };
    let difference = Difference { nest: number, tensor, from, less, value: Expr::sub(from_value, less_value) };
    let last = *flow.readers[tensor.0].last()?;
    let steady = difference.operands().all(|operand| {
        let next = program.updates.iter().filter(|update| update.state == operand).map(|update| update.next);
        let changed = |tensor: TensorId| flow.written_in(tensor, number..last + 1);
        !changed(operand) && !next.into_iter().any(changed)
    });
    let squares = |&reader: &usize| {
        let nest = difference.squared(program, &program.nests[reader]);
        matches!(nest.as_ref().and_then(Primitive::of), Some(Primitive::MultiplyAdd { square: true, .. }))
    };
    (steady && flow.readers[tensor.0].iter().all(squares)).then_some(difference)
}

impl Difference {
    /// The tensors it is made of.
    fn operands(&self) -> impl Iterator<Item = TensorId> + use<> {
        let less = if let Operand::Tensor(less) = self.less { Some(less) } else { None };
        [self.from].into_iter().chain(less)
    }

    /// A nest that reads it, with the difference in its place; `None` where it is read at a computed place.
    fn squared(&self, program: &Program, reader: &Nest) -> Option<Nest> {
        let writer = &program.nests[self.nest];
        // The place of each iterator of the writer among the dimensions.
        let mut places: Vec<Option<usize>> = vec![None; writer.iterators.len()];
        for (dimension, form) in writer.out_index.iter().enumerate() {
            places[form.as_iterator()?.0] = Some(dimension);
        }
        let places: Vec<usize> = places.into_iter().collect::<Option<_>>()?;
        let body = Expr::from_body(&reader.body).map(&mut |e| match e {
            Expr::Read(tensor, index) if tensor == self.tensor => {
                let with: Vec<Affine> = places.iter().map(|&dimension| index[dimension].clone()).collect();
                self.value.clone().map(&mut |e| match e {
                    Expr::Read(tensor, index) => {
                        Expr::Read(tensor, index.iter().map(|form| substitute(form, &with)).collect())
                    }
                    other => other,
                })
            }
            other => other,
        });
        let mut origin = reader.origin.clone();
        origin.join(&writer.origin);
        Some(Nest { body: body.to_body(), origin, ..reader.clone() })
    }
}

/// The program in which these are no tensors, and the ranges of its tensors.
fn without(program: &Program, ranges: &Ranges, differences: &[Difference]) -> (Program, Ranges) {
    let mut result = program.clone();
    for difference in differences {
        for nest in &mut result.nests {
            let reads = crate::canonical::expr::reads(nest).contains(&difference.tensor);
            if let Some(squared) = difference.squared(program, nest).filter(|_| reads) {
                *nest = squared;
            }
        }
    }
    let gone: Vec<TensorId> = differences.iter().map(|difference| difference.tensor).collect();
    result.nests.retain(|nest| !gone.contains(&nest.out));
    let result = remove_dead_tensors(&result);
    let of = |name: &str| program.tensors.iter().position(|tensor| tensor.name == name);
    let range = |name: &str| of(name).and_then(|id| ranges.tensors.get(id).copied().flatten());
    let ranges = Ranges::of_tensors(result.tensors.iter().map(|tensor| range(&tensor.name)).collect());
    (result, ranges)
}

/// Binary points by name.
fn fractions(report: &NumberReport) -> BTreeMap<&str, i32> {
    report.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.fraction)).collect()
}

/// Whether anything gets worse.
struct Judge<'a> {
    program: &'a Program,
    numbers: &'a Numbers,
    before: BTreeMap<&'a str, i32>,
    after: BTreeMap<&'a str, i32>,
}

impl Judge<'_> {
    fn name(&self, tensor: TensorId) -> &str {
        &self.program.tensors[tensor.0].name
    }

    /// Bits after the binary point that a tensor has lost.
    fn lost(&self, tensor: TensorId) -> i32 {
        let name = self.name(tensor);
        match (self.before.get(name), self.after.get(name)) {
            (Some(before), Some(after)) => before - after,
            _ => 0,
        }
    }

    /// Whether the difference is as accurate as it was, and nobody else reads what has become coarser for it.
    fn keeps(&self, difference: &Difference, squared: &Program) -> bool {
        let point = |tensor: TensorId| self.after.get(self.name(tensor)).copied();
        let (Some(own), Some(point)) = (self.before.get(self.name(difference.tensor)), point(difference.from)) else {
            return false;
        };
        let exact = match difference.less {
            Operand::Tensor(_) => difference.operands().all(|operand| self.lost(operand) <= 0),
            Operand::Constant(value) => {
                let (word, clipped) = quantise(value, point, self.numbers.word);
                self.lost(difference.from) <= 0 && !clipped && to_f64(word, point).total_cmp(&value).is_eq()
            }
        };
        let spared = difference.operands().all(|operand| self.lost(operand) <= 0 || self.is_private(operand, squared));
        spared && (exact || point >= *own)
    }

    /// Whether a tensor is read in squared differences only, and may have any binary point.
    fn is_private(&self, tensor: TensorId, squared: &Program) -> bool {
        let program = self.program;
        let name = self.name(tensor);
        let named = program.names.iter().any(|(_, named)| *named == tensor)
            || program.updates.iter().any(|update| update.state == tensor || update.next == tensor);
        let Some(id) = squared.tensors.iter().position(|other| other.name == name) else { return false };
        let squares = |nest: &&Nest| {
            let started = Primitive::of(nest);
            matches!(started, Some(Primitive::MultiplyAdd { square: true, ref start, .. })
                if !matches!(start, Some(Atom::Read(tensor, _)) if tensor.0 == id))
        };
        let reads = |nest: &&Nest| crate::canonical::expr::reads(nest).contains(&TensorId(id));
        !named
            && !self.numbers.fractions.contains_key(name)
            && squared.nests.iter().filter(reads).all(|nest| squares(&nest))
    }

    /// Whether no other tensor has lost bits.
    fn spares(&self, differences: &[Difference]) -> bool {
        (0..self.program.tensors.len()).map(TensorId).all(|tensor| {
            self.lost(tensor) <= 0 || differences.iter().flat_map(Difference::operands).any(|operand| operand == tensor)
        })
    }
}
