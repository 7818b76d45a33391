//! Fixed-point IR: the program with every rounding decided. Bit-exact, and without any notion of a grid.
//!
//! Every [`Operation`] is what one vector instruction of the array can do:
//!
//!     MultiplyAdd   out = finish( (start << align) ± sum over reduction points of a * b ),  each product worth a * b * 2^scale;
//!                   or the largest or smallest of start and products; `(a - b) * (a - b)` in place of `a * b` if it squares
//!     Product       out = left-to-right chain  p = round(p * a), starting at the first a
//!     Divide        out = finish( (a << places) / b )
//!     Function      out = table(a)
//!
//! The laws, checked by [`verify()`]:
//!
//! 1. A tensor is a box of words; `fraction` is the number of bits after the binary point (may be negative or exceed the width).
//! 2. `MultiplyAdd`: with f(product) = f(a) + f(b) - scale: `align = f(product) - f(start) >= 0`, `shift = f(product) - f(out) >= 0`,
//!    both at most 63. The first factor is never a constant. What is absent is neither aligned, scaled nor combined: one value, one spelling.
//!    Where a difference is squared, f(a) = f(b).
//! 3. `finish = Positive` rounds as `Round` does, then takes 0 for what is negative, and the limit for what is above. `Negative` gives a word 0 or 1 and `f(out) = 0`.
//!    `finish = Whole`: `f(out) = 0`, too. Down, the sum is one value `a` with `n = f(a)` bits after its point: `a << -n` if there are none,
//!    else `a - 1/2 + 2^-(n+1)`, which never lies half way between two whole numbers, and is nearest to `floor(a)`.
//! 4. An operation that reads the tensor it writes does so only at the index it writes.
//! 5. Every element read has been written, or belongs to an input, state or parameter tensor.
//! 6. `Divide`: `f(out) = f(a) + places - f(b)`, `places` at most [`arch::division::most_places`]; it reduces nothing, and towards minus
//!    infinity `f(out) = 0`.
//! 7. The result of a `Product` is rounded at every step: `f(a) + f(out) - f(out) = f(a)` is the shift of each step.
//! 8. Every access stays inside its tensor, over the whole box.
//! 9. Every *final* sum fits the accumulator: [`Operation::sum_bits`] is at most `accumulator`, whatever the words are. Then sums may be
//!    associated in any way modulo `2^accumulator`, and no order overflows. Where formats do not show it, an operation says so by
//!    [`SumBound::Ranges`]: its sum fits for values in the ranges that were measured or declared, and the report says so, too.
//! 10. A whole number has no negative fraction: comparisons, whole constants, and sums, products and extremes of these that fit a word.
//!     Those that do not fit are rounded, and the report says so (W-NUMBER).
//! 11. Copies and extremes do not move the point: what only they write has at most as many bits after it as the finest of its sources.
//!
//! How far results are from real numbers: an operation adds at most half a last place of its result, a function
//! [`arch::function::MAX_ERROR`] last places, and it carries on the errors `e` of its operands: `e(a * b) <= |a| e(b) + |b| e(a)`,
//! `e(f(a)) <= max |f'| e(a)`. Results that saturate (they are counted) and comparisons of values closer than their errors are outside
//! this bound. For one step of the published programs all this stays below one last place of the program's coarsest tensor; tests
//! hold it to two.

mod channels;
mod columns;
mod copies;
mod formats;
mod lower;
mod masks;
mod numbers;
mod quotients;
mod reach;
mod records;
mod refine;
pub mod segments;
mod squares;
mod tables;
mod text;
mod updates;
mod verify;
mod whole;

pub use channels::with_channels;
pub(crate) use columns::COPY;
pub use columns::Columns;
pub use lower::lower;
pub(crate) use masks::NEAR;
pub use numbers::{NumberReport, Numbers, TensorNumbers};
pub(crate) use quotients::RECIPROCAL;
pub use records::{of_record, of_records, state_between_records};
pub use verify::{laws, verify};

use crate::tensor::{Affine, Iterator, TensorId};
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::{self, Combine};
use arch::{Origin, Span};
use std::sync::Arc;

/// A program with every rounding decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Word width in bits.
    pub word: u32,
    /// Accumulator width in bits.
    pub accumulator: u32,
    /// All tensors; ids are those of this program (not of the tensor program it came from).
    pub tensors: Vec<Tensor>,
    /// What is computed, in order.
    pub operations: Vec<Operation>,
    /// Function tables used by the operations.
    pub tables: Vec<FunctionTable>,
    /// Final value of each name of the source program.
    pub names: Vec<(String, TensorId)>,
}

impl Program {
    /// The narrowest accumulator with which the program keeps law 9: that of its widest sum, or the one it was made for, where only the
    /// ranges of values bound a sum. At least two words wide.
    pub fn narrowest_accumulator(&self) -> u32 {
        let bits = |operation: &Operation| match operation.bound() {
            SumBound::Formats => operation.sum_bits(self.word),
            SumBound::Ranges => self.accumulator,
        };
        self.operations.iter().map(bits).max().unwrap_or(0).max(2 * self.word)
    }

    /// Words of its tensors of a kind.
    pub fn words(&self, is_meant: impl Fn(&Role) -> bool) -> u64 {
        let meant = self.tensors.iter().filter(|tensor| is_meant(&tensor.role));
        meant.map(|tensor| tensor.shape.iter().map(|&extent| u64::from(extent)).product::<u64>()).sum()
    }

    /// Words of weights and constants in each of so many PEs at least, wherever they lie.
    pub fn least_kept(&self, pes: u32) -> u32 {
        self.words(|role| matches!(role, Role::State | Role::Parameter(_))).div_ceil(u64::from(pes)) as u32
    }

    /// Whether an operation reads or writes weights or constants.
    pub fn touches_kept(&self, operation: &Operation) -> bool {
        let mut kept = false;
        for_each_access(operation, |tensor, _, _| {
            kept |= matches!(self.tensors[tensor.0].role, Role::State | Role::Parameter(_));
        });
        kept
    }
}

/// Call `visit` for every access of an operation: the tensor, its index, whether it is written.
pub fn for_each_access(operation: &Operation, mut visit: impl FnMut(TensorId, &[Affine], bool)) {
    let mut read = |operand: &Operand| {
        if let Operand::Read { tensor, index } = operand {
            visit(*tensor, index, false);
        }
    };
    match &operation.kind {
        Kind::MultiplyAdd { start, product, .. } => {
            start.iter().for_each(&mut read);
            if let Some((a, b)) = product {
                read(a);
                read(b);
            }
        }
        Kind::Product { factor, .. } => read(factor),
        Kind::Divide { dividend, divisor, .. } => {
            read(dividend);
            read(divisor);
        }
        Kind::Function { input, .. } => read(input),
    }
    visit(operation.out, &operation.out_index, true);
}

impl Operation {
    /// Products, or what else it computes, of all its results together.
    pub fn points(&self) -> u64 {
        self.iterators.iter().map(Iterator::extent).product()
    }

    /// What bounds its sum.
    pub fn bound(&self) -> SumBound {
        match self.kind {
            Kind::MultiplyAdd { bound, .. } => bound,
            Kind::Product { .. } | Kind::Divide { .. } | Kind::Function { .. } => SumBound::Formats,
        }
    }

    /// Bits of the largest sum that words of this width can make, sign included.
    pub fn sum_bits(&self, word: u32) -> u32 {
        let largest = |operand: &Operand| match operand {
            Operand::Read { .. } => 1u128 << (word - 1),
            Operand::Constant { word, .. } => u128::from(word.unsigned_abs()),
        };
        match &self.kind {
            Kind::MultiplyAdd { start, align, product, square, combine, .. } => {
                let terms: u128 = self.iterators[self.free..].iter().map(|i| i.extent() as u128).product();
                let start = start.as_ref().map_or(0, |operand| largest(operand) << align);
                let product = product.as_ref().map_or(0, |(a, b)| {
                    let (a, b) = (largest(a), largest(b));
                    if *square { (a + b) * (a + b) } else { a * b }
                });
                let bound = if combine.compares() {
                    start.max(product)
                } else {
                    start.saturating_add(terms.saturating_mul(product))
                };
                // As many bits as the bound has, and the sign.
                u128::BITS - bound.leading_zeros() + 1
            }
            Kind::Product { .. } | Kind::Function { .. } => 2 * word,
            // Dividend and divisor in one sum.
            Kind::Divide { .. } => 2 * word + 2,
        }
    }
}

/// One tensor of words.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Unique name.
    pub name: String,
    /// Extents, outermost first.
    pub shape: Vec<u32>,
    /// What it is for.
    pub role: Role,
    /// Bits after the binary point.
    pub fraction: i32,
    /// More of them for each column of an input: the host multiplies values by these powers of two, and constants of the program divide by them.
    pub columns: Option<Columns>,
    /// Where it comes from.
    pub span: Span,
}

impl Tensor {
    /// Bits after the binary point of an element, counted row by row.
    pub fn fraction_of(&self, element: usize) -> i32 {
        let more = self.columns.as_ref().map_or(0, |columns| columns.of_element(&self.shape, element));
        self.fraction + more
    }
}

/// What a tensor is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Arrives with every step (inputs and labels).
    Input,
    /// Kept from step to step; written in place by operations.
    State,
    /// Constant words, row-major.
    Parameter(Arc<[i64]>),
    /// Intermediate result.
    Temporary,
    /// Sent to the host after every step.
    Output,
}

/// One operation: for every point of the free iterators, one word.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// Free iterators first, reduction iterators after.
    pub iterators: Vec<Iterator>,
    /// How many of them are free.
    pub free: usize,
    /// Tensor written.
    pub out: TensorId,
    /// Element written.
    pub out_index: Vec<Affine>,
    /// What is computed.
    pub kind: Kind,
    /// Where it comes from.
    pub origin: Origin,
}

/// What an operation computes, of operands as they are written or, for those that run it, as they are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind<O = Operand> {
    /// `finish((start << align) ± sum(a * b))`
    MultiplyAdd {
        /// Where accumulation starts; `None`: there is nothing before the first product. Its index mentions free iterators only.
        start: Option<O>,
        /// Left shift of the start.
        align: u32,
        /// The factors, the first of which is not a constant; `None`: nothing is added.
        product: Option<(O, O)>,
        /// Their difference, which is exact, is what is multiplied, by itself.
        square: bool,
        /// Exponent of a power of two that every product is multiplied with by moving the binary point: a constant factor
        /// of the source that costs nothing. It is already part of `align` and `shift`.
        scale: i32,
        /// How start and products are combined.
        combine: Combine,
        /// Right shift of the accumulator.
        shift: u32,
        /// How the accumulator becomes a word.
        finish: Finish,
        /// What shows that the final sum fits the accumulator.
        bound: SumBound,
    },
    /// Left-to-right product over the reduction iterators, rounded at each step.
    Product {
        /// The factor.
        factor: O,
        /// Right shift after each multiplication (the fraction bits of `factor`).
        shift: u32,
        /// The start of the chain: 1 in the format of the result.
        one: i64,
    },
    /// `out = dividend * 2^places / divisor`, rounded once ([`arch::division::divide`]); no reduction iterators.
    Divide {
        /// What is divided.
        dividend: O,
        /// By what.
        divisor: O,
        /// Left shift of the dividend.
        places: u32,
        /// How the quotient becomes a word.
        rounding: Rounding,
    },
    /// `out = tables[table](input)`; no reduction iterators.
    Function {
        /// Which table.
        table: usize,
        /// The argument.
        input: O,
    },
}

impl<O> Kind<O> {
    /// A word, a product, or the sum of both, in whose format its result is: nothing is shifted.
    pub(crate) fn exact(start: Option<O>, product: Option<(O, O)>) -> Kind<O> {
        Kind::MultiplyAdd {
            start,
            align: 0,
            product,
            square: false,
            scale: 0,
            combine: Combine::Add,
            shift: 0,
            finish: Finish::Round,
            bound: SumBound::Formats,
        }
    }

    /// The same of other operands.
    pub fn map<P>(&self, mut other: impl FnMut(&O) -> P) -> Kind<P> {
        match *self {
            Kind::MultiplyAdd { ref start, align, ref product, square, scale, combine, shift, finish, bound } => {
                let (start, product) =
                    (start.as_ref().map(&mut other), product.as_ref().map(|(a, b)| (other(a), other(b))));
                Kind::MultiplyAdd { start, align, product, square, scale, combine, shift, finish, bound }
            }
            Kind::Product { ref factor, shift, one } => Kind::Product { factor: other(factor), shift, one },
            Kind::Divide { ref dividend, ref divisor, places, rounding } => {
                Kind::Divide { dividend: other(dividend), divisor: other(divisor), places, rounding }
            }
            Kind::Function { table, ref input } => Kind::Function { table, input: other(input) },
        }
    }
}

/// How a sum becomes a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The number that it is: rounded to the format, once.
    Round,
    /// 1 if it is negative, else 0.
    Negative,
    /// The number that it is, rounded likewise, or 0 if that is negative; at most this, if it is a word. [`UNLIMITED`](isa::UNLIMITED) is none.
    Positive(i32),
    /// A whole number that the program asks for: [rounding to nearest](Rounding::Nearest) (halves to the even one), or [down](Rounding::Down)
    /// what is multiplied by 1 or aligned. The accumulator rounds as ever, to no bits after the point.
    Whole(Rounding),
}

impl Finish {
    /// What the accumulator does.
    pub fn alu(self) -> isa::Finish {
        match self {
            Finish::Round | Finish::Whole(_) => isa::Finish::Round,
            Finish::Negative => isa::Finish::Negative,
            Finish::Positive(limit) => isa::Finish::Positive(limit),
        }
    }
}

/// What shows that a final sum fits the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumBound {
    /// The formats: no words make a larger one.
    Formats,
    /// The ranges of the values: words outside of them could.
    Ranges,
}

/// A word that enters an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// An element.
    Read {
        /// Which tensor.
        tensor: TensorId,
        /// Which element.
        index: Vec<Affine>,
    },
    /// A constant.
    Constant {
        /// The word.
        word: i64,
        /// Its fraction bits.
        fraction: i32,
    },
}
