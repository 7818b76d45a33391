//! Constants: what is multiplied in a PE has a word from a pad, also a divisor, which goes to its root so.
//!
//!     a = x / 3          =>    3.9 = 3;   a = x / 3.9
//!
//! An operation that reads no tensor at all is one word, which is written as it is ([`result`]).

use crate::fixed::{Finish, Kind, Operand, Operation, Role, Tensor};
use crate::placed::Program;
use arch::division::divide;
use arch::function::FunctionTable;
use arch::isa::Combine;
use arch::number::{round_half_even, saturate};

/// Make each constant divisor a tensor.
pub(crate) fn spell_out(program: &Program) -> Program {
    let (mut result, operations) = program.taken_apart();
    for (operation, axes) in operations {
        let mut operation = operation.clone();
        let whole = self::result(&operation, program.fixed.word, &program.fixed.tables).is_some();
        if let (Some(divisor), false) = (constant_divisor(&mut operation.kind), whole) {
            let (origin, shape) = (operation.origin.clone(), Vec::new());
            let Operand::Constant { word, fraction } = *divisor else { unreachable!("it is a constant") };
            let (name, role, span) = (word.to_string(), Role::Temporary, origin.span());
            let out = result.add_temporary(Tensor { name, shape, role, fraction, columns: None, span }, Vec::new());
            let read = Operand::Read { tensor: out, index: Vec::new() };
            let kind = Kind::exact(Some(std::mem::replace(divisor, read)), None);
            let (iterators, out_index) = (Vec::new(), Vec::new());
            result.add(Operation { iterators, free: 0, out, out_index, kind, origin }, Vec::new());
        }
        result.add(operation, axes.clone());
    }
    result
}

/// The divisor, if it is a constant. The first factor of a product never is.
fn constant_divisor(kind: &mut Kind) -> Option<&mut Operand> {
    match kind {
        Kind::Divide { divisor: divisor @ Operand::Constant { .. }, .. } => Some(divisor),
        _ => None,
    }
}

/// The word of an operation that reads no tensor.
pub(crate) fn result(operation: &Operation, word_bits: u32, tables: &[FunctionTable]) -> Option<i64> {
    let word = |operand: &Operand| match operand {
        Operand::Constant { word, .. } => Some(i128::from(*word)),
        Operand::Read { .. } => None,
    };
    let points: i128 = operation.iterators[operation.free..].iter().map(|i| i128::from(i.extent())).product();
    match &operation.kind {
        Kind::MultiplyAdd { start, align, product, square, combine, shift, finish, .. } => {
            let start = match start {
                Some(start) => Some(word(start)? << align),
                None => None,
            };
            let product = match product {
                Some((a, b)) if *square => Some((word(a)? - word(b)?).pow(2)),
                Some((a, b)) => Some(word(a)? * word(b)?),
                None => None,
            };
            let sum = match combine {
                Combine::Add => start.unwrap_or(0) + product.unwrap_or(0) * points,
                Combine::Subtract => start.unwrap_or(0) - product.unwrap_or(0) * points,
                Combine::Maximum | Combine::Minimum => {
                    start.into_iter().chain(product).reduce(|one, other| combine.join(one, other))?
                }
            };
            Some(match finish {
                Finish::Negative => i64::from(sum < 0),
                Finish::Positive(limit) => {
                    saturate(round_half_even(sum, *shift), word_bits).0.clamp(0, i64::from(*limit))
                }
                Finish::Round | Finish::Whole(_) => saturate(round_half_even(sum, *shift), word_bits).0,
            })
        }
        Kind::Product { factor, shift, one } => {
            let factor = word(factor)?;
            let step = |result: i64| saturate(round_half_even(i128::from(result) * factor, *shift), word_bits).0;
            Some((0..points).fold(*one, |result, _| step(result)))
        }
        Kind::Divide { dividend, divisor, places, rounding } => {
            Some(divide(word(dividend)? as i64, word(divisor)? as i64, *places, *rounding, word_bits).0)
        }
        Kind::Function { table, input } => Some(tables[*table].evaluate(word(input)? as i64).0),
    }
}
