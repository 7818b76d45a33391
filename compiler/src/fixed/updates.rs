//! Updates that are not rounded to the nearest word: weights with more bits than a word, and rounding by chance.
//!
//! ```text
//! w = round(w + s), s the exact sum       =>      master of more bits, w.low their lower part:
//!                                                 c = round(w.low + s)                  to the last place of w
//!                                                 r = round(c - s)                      to the last place of w.low; small, since c is nearly s
//!                                                 w.low = w.low - r;  w = w + c         exact
//!
//!                                                 by chance, -1/2 < w.dither < 1/2 last places of w:
//!                                                 c = round(w.dither + s);  w = w + c
//! ```
//!
//! `w` and `w.low` together are the master: it is rounded once, to its own last place, and `w` is its upper part, rounded to nearest. An exact sum that
//! is a word changes nothing by chance. The dithers of the next step come from a recurrence modulo 1, whose words have all bits but the sign after the
//! point:
//!
//! ```text
//! w.dither = g[j] - 2^-word                       of the j-th weight, modulo 6; in last places of w
//! q = rint(2^-word - sum[k](a[k]*g[k]))
//! g = (g[1], ..., g[5], q + sum[k](a[k]*g[k]))    -1/2 < g <= 1/2: 63 * 2^(word-2) steps until it comes back
//! ```

use super::numbers::{NumberReport, TensorNumbers};
use super::{Finish, Kind, Operand, Operation, Program, Role, SumBound, Tensor};
use crate::rounding::{self, Rounding};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::Origin;
use arch::division;
use arch::isa::Combine;

/// The coefficients `a`. Modulo 2 the recurrence has the longest period, and modulo 4 and 8 it doubles.
const RECURRENCE: [i64; rounding::GENERATOR_WORDS as usize] = [3, 1, 2, 2, 0, 0];

/// Let the updates of the weights that have states for it round as it was asked; `updates` are states with their next values.
pub(super) fn round(
    program: &mut Program,
    report: &mut NumberReport,
    updates: &[(TensorId, TensorId)],
    rounding: Rounding,
) {
    let find = |program: &Program, name: String| {
        program.tensors.iter().position(|tensor| tensor.role == Role::State && tensor.name == name).map(TensorId)
    };
    let mut rounded = Rounded { program, report };
    let mut dithers = Vec::new();
    for &(state, next) in updates {
        let Tensor { name, fraction, .. } = rounded.program.tensors[state.0].clone();
        if let Some(low) = find(rounded.program, rounding::low(&name))
            && let Rounding::Nearest { master } = rounding
        {
            let word = rounded.program.word;
            let more = (master as u32).clamp(word, rounding::most_bits(word)) as i32 - word as i32;
            rounded.set_fraction(low, fraction + more);
            if more > 0 {
                rounded.each_update((state, next), |rounded, update| rounded.master(update, low));
            }
        } else if let Some(dither) = find(rounded.program, rounding::dither(&name)) {
            rounded.set_fraction(dither, fraction + rounded.program.word as i32);
            rounded.each_update((state, next), |rounded, update| rounded.by_chance(update, dither));
            dithers.push((dither, fraction));
        }
    }
    if let (Some(state), false) = (find(rounded.program, rounding::GENERATOR.to_owned()), dithers.is_empty()) {
        rounded.generate(state, &dithers);
    }
}

/// An update, `out = finish((state << align) ± sum of products)`.
struct Update {
    operation: Operation,
    align: u32,
    /// Bits after the point of the exact sum.
    exact: i32,
    /// Bits after the point of the state.
    fraction: i32,
}

struct Rounded<'a> {
    program: &'a mut Program,
    report: &'a mut NumberReport,
}

impl Rounded<'_> {
    /// Replace each update of a state by what `made` makes of it.
    fn each_update(
        &mut self,
        (state, next): (TensorId, TensorId),
        mut made: impl FnMut(&mut Self, &Update) -> Vec<Operation>,
    ) {
        let fraction = self.program.tensors[state.0].fraction;
        for operation in std::mem::take(&mut self.program.operations) {
            let align = (operation.out == state || operation.out == next)
                .then(|| alignment(&operation, state))
                .flatten()
                // Otherwise it is exact.
                .filter(|&align| align > 0);
            match align {
                Some(align) => {
                    let update = Update { operation, align, exact: fraction + align as i32, fraction };
                    let operations = made(self, &update);
                    self.program.operations.extend(operations);
                }
                None => self.program.operations.push(operation),
            }
        }
    }

    fn master(&mut self, update: &Update, low: TensorId) -> Vec<Operation> {
        let Update { operation, align, exact, fraction } = update;
        let fine = self.program.tensors[low.0].fraction;
        let (mut operations, start) = self.aligned(update, low, operation.out_index.clone());
        let carry = self.temporary(operation, "carry", *fraction);
        let kept = fine.min(*exact);
        let rest = self.temporary(operation, "rest", kept);
        let read = |tensor| Operand::Read { tensor, index: operation.out_index.clone() };
        operations.push(update.with(carry, start, false, *align));
        operations.push(update.with(rest, (read(carry), *align), true, (exact - kept) as u32));
        let more = (fine - kept) as u32;
        let one = Operand::Constant { word: 1 << more, fraction: more as i32 };
        operations.push(update.sum(low, read(low), (read(rest), one), Combine::Subtract));
        operations.push(update.carried(carry));
        operations
    }

    fn by_chance(&mut self, update: &Update, dither: TensorId) -> Vec<Operation> {
        let (mut operations, start) = self.aligned(update, dither, Vec::new());
        let carry = self.temporary(&update.operation, "carry", update.fraction);
        operations.push(update.with(carry, start, false, update.align));
        operations.push(update.carried(carry));
        operations
    }

    /// What an update starts with instead of its state, and its alignment; a coarser copy where the sum has fewer bits.
    fn aligned(&mut self, update: &Update, tensor: TensorId, index: Vec<Affine>) -> (Vec<Operation>, (Operand, u32)) {
        let fine = self.program.tensors[tensor.0].fraction;
        if fine <= update.exact {
            return (Vec::new(), (Operand::Read { tensor, index }, (update.exact - fine) as u32));
        }
        let copy = self.like(tensor, "coarse", update.exact);
        let source = Operand::Read { tensor, index: index.clone() };
        let free = if index.is_empty() { 0 } else { update.operation.free };
        let operation = Operation {
            iterators: update.operation.iterators[..free].to_vec(),
            free,
            out: copy,
            out_index: index.clone(),
            kind: Sum { shift: (fine - update.exact) as u32, ..Sum::of(Some(source), None) }.kind(),
            origin: update.operation.origin.clone(),
        };
        (vec![operation], (Operand::Read { tensor: copy, index }, 0))
    }

    /// The dithers of the next step, with the bits after the point of their weights, and the generator's next state.
    fn generate(&mut self, state: TensorId, dithers: &[(TensorId, i32)]) {
        let (word, count) = (self.program.word as i32, RECURRENCE.len() as i64);
        self.set_fraction(state, word - 1);
        let factors = self.like(state, "factors", 1);
        self.program.tensors[factors.0].role = Role::Parameter(RECURRENCE.iter().map(|factor| 2 * factor).collect());
        let (whole, next) = (self.like(state, "whole", 0), self.like(state, "next", word - 1));
        self.program.tensors[whole.0].shape = Vec::new();
        let origin = Origin::new([self.program.tensors[state.0].span], []);
        let operation = |(extent, free): (i64, usize), out, out_index: &[Affine], kind| Operation {
            iterators: (extent > 0)
                .then(|| Iterator { name: "k".to_owned(), low: 0, high: extent })
                .into_iter()
                .collect(),
            free,
            out,
            out_index: out_index.to_vec(),
            kind,
            origin: origin.clone(),
        };
        let element = Affine::iterator(IterId(0));
        let read = |tensor, index: &[Affine]| Operand::Read { tensor, index: index.to_vec() };
        let at = |tensor| read(tensor, std::slice::from_ref(&element));
        let mut made = Vec::new();
        for (number, &(dither, fraction)) in dithers.iter().enumerate() {
            let chosen = read(state, &[Affine::constant(number as i64 % count)]);
            let least = Operand::Constant { word: -1, fraction: fraction + word };
            let two = Operand::Constant { word: 2, fraction: 1 };
            let sum = Sum { scale: -fraction, ..Sum::of(Some(least), Some((chosen, two))) };
            made.push(operation((0, 0), dither, &[], sum.kind()));
        }
        let product = || Some((at(state), at(factors)));
        let little = Operand::Constant { word: 1, fraction: word };
        let nearest = Finish::Whole(division::Rounding::Nearest);
        let rounded =
            Sum { combine: Combine::Subtract, shift: word as u32, finish: nearest, ..Sum::of(Some(little), product()) };
        let rest = Sum { align: word as u32, shift: 1, ..Sum::of(Some(read(whole, &[])), product()) };
        made.push(operation((count, 0), whole, &[], rounded.kind()));
        made.push(operation((count, 0), next, &[Affine::constant(count - 1)], rest.kind()));
        let later = read(state, &[element.plus(1, &Affine::constant(1))]);
        let kept = std::slice::from_ref(&element);
        made.push(operation((count - 1, 1), next, kept, Sum::of(Some(later), None).kind()));
        made.push(operation((count, 1), state, kept, Sum::of(Some(at(next)), None).kind()));
        for operation in &mut made {
            self.bound(operation);
        }
        self.program.operations.extend(made);
    }

    /// Its sum is that of few words, whatever its factors could be.
    fn bound(&self, operation: &mut Operation) {
        let bits = operation.sum_bits(self.program.word);
        if let (Kind::MultiplyAdd { bound, .. }, true) = (&mut operation.kind, bits > self.program.accumulator) {
            *bound = SumBound::Ranges;
        }
    }

    fn set_fraction(&mut self, tensor: TensorId, fraction: i32) {
        self.program.tensors[tensor.0].fraction = fraction;
        let name = &self.program.tensors[tensor.0].name;
        for numbers in self.report.tensors.iter_mut().filter(|numbers| numbers.name == *name) {
            numbers.fraction = fraction;
            "the rounding of updates".clone_into(&mut numbers.decided);
        }
    }

    /// A temporary of the shape of what an operation writes.
    fn temporary(&mut self, operation: &Operation, name: &str, fraction: i32) -> TensorId {
        self.like(operation.out, name, fraction)
    }

    /// A temporary of a tensor's shape, with a name made of its name.
    fn like(&mut self, tensor: TensorId, name: &str, fraction: i32) -> TensorId {
        let original = &self.program.tensors[tensor.0];
        let mut name = format!("{}.{name}", original.name);
        while self.program.tensors.iter().any(|tensor| tensor.name == name) {
            name.push('+');
        }
        let tensor = Tensor { name: name.clone(), role: Role::Temporary, fraction, columns: None, ..original.clone() };
        self.program.tensors.push(tensor);
        let decided = "the rounding of updates".to_owned();
        self.report.tensors.push(TensorNumbers { name, range: None, fraction, decided });
        TensorId(self.program.tensors.len() - 1)
    }
}

impl Update {
    /// The same sum with another start, of the opposite sign or not, to another tensor.
    fn with(&self, out: TensorId, (from, by): (Operand, u32), opposite: bool, right: u32) -> Operation {
        let mut operation = Operation { out, ..self.operation.clone() };
        if let Kind::MultiplyAdd { start, align, combine, shift, .. } = &mut operation.kind {
            (*start, *align, *shift) = (Some(from), by, right);
            *combine = match (*combine, opposite) {
                (Combine::Add, true) => Combine::Subtract,
                (Combine::Subtract, true) => Combine::Add,
                (same, _) => same,
            };
        }
        operation
    }

    /// A sum of two words, exact in the format of the start.
    fn sum(&self, out: TensorId, start: Operand, product: (Operand, Operand), combine: Combine) -> Operation {
        let Operation { iterators, free, out_index, origin, .. } = &self.operation;
        Operation {
            iterators: iterators[..*free].to_vec(),
            free: *free,
            out,
            out_index: out_index.clone(),
            kind: Sum { combine, ..Sum::of(Some(start), Some(product)) }.kind(),
            origin: origin.clone(),
        }
    }

    /// The state and what was carried.
    fn carried(&self, carry: TensorId) -> Operation {
        let Kind::MultiplyAdd { start: Some(state), .. } = &self.operation.kind else {
            unreachable!("it was found so")
        };
        let carry = Operand::Read { tensor: carry, index: self.operation.out_index.clone() };
        let product = (carry, Operand::Constant { word: 1, fraction: 0 });
        self.sum(self.operation.out, state.clone(), product, Combine::Add)
    }
}

/// How far a state is shifted that an operation adds a sum to.
fn alignment(operation: &Operation, state: TensorId) -> Option<u32> {
    match &operation.kind {
        Kind::MultiplyAdd {
            start: Some(Operand::Read { tensor, index }),
            align,
            product: Some(_),
            combine: Combine::Add | Combine::Subtract,
            finish: Finish::Round,
            ..
        } if *tensor == state && *index == operation.out_index => Some(*align),
        _ => None,
    }
}

/// A sum of a start and a product.
struct Sum {
    start: Option<Operand>,
    align: u32,
    product: Option<(Operand, Operand)>,
    scale: i32,
    combine: Combine,
    shift: u32,
    finish: Finish,
}

impl Sum {
    /// Neither aligned nor shifted.
    fn of(start: Option<Operand>, product: Option<(Operand, Operand)>) -> Sum {
        Sum { start, align: 0, product, scale: 0, combine: Combine::Add, shift: 0, finish: Finish::Round }
    }

    fn kind(self) -> Kind {
        let Sum { start, align, product, scale, combine, shift, finish } = self;
        let bound = SumBound::Formats;
        Kind::MultiplyAdd { start, align, product, square: false, scale, combine, shift, finish, bound }
    }
}
