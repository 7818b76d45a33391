//! The laws of fixed-point IR, checked.

use super::{Kind, Operand, Operation, Program, Role};
use crate::tensor::{Affine, TensorId};
use arch::division::{Rounding, most_places};
use arch::isa::Finish;
use arch::number::{word_max, word_min};

/// Check the laws of the module head.
///
/// Law 2's claim on the accumulator is the business of [`super::lower()`]: where formats alone do not prove it, its report says so.
/// Law 5 is checked by tensor: some operation before writes it, or an operation of the step before (for states).
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program) {
    let mut written: Vec<bool> =
        program.tensors.iter().map(|t| matches!(t.role, Role::Input | Role::State | Role::Parameter(_))).collect();
    for tensor in &program.tensors {
        if let Role::Parameter(words) = &tensor.role {
            let elements: usize = tensor.shape.iter().map(|&n| n as usize).product();
            assert_eq!(words.len(), elements, "parameter {} has its words", tensor.name);
            assert!(words.iter().all(|&w| fits(program, w)), "words of {}", tensor.name);
        }
    }
    for operation in &program.operations {
        let name = &program.tensors[operation.out.0].name;
        assert!(operation.free <= operation.iterators.len(), "{name}: free iterators");
        assert!(operation.iterators.iter().all(|i| i.extent() > 0), "{name}: empty range");
        assert!(
            !matches!(program.tensors[operation.out.0].role, Role::Input | Role::Parameter(_)),
            "{name} is read-only"
        );
        inside(program, operation, operation.out, &operation.out_index, true);
        for (operand, free_only) in operands(&operation.kind) {
            match operand {
                Operand::Constant { word, .. } => assert!(fits(program, *word), "{name}: constant {word}"),
                Operand::Read { tensor, index } => {
                    assert!(written[tensor.0], "{name} reads {} before it is written", program.tensors[tensor.0].name);
                    inside(program, operation, *tensor, index, free_only);
                    assert!(
                        *tensor != operation.out || *index == operation.out_index,
                        "{name} reads another element of itself"
                    );
                }
            }
        }
        formats(program, operation);
        written[operation.out.0] = true;
    }
}

fn fits(program: &Program, word: i64) -> bool {
    (word_min(program.word)..=word_max(program.word)).contains(&i128::from(word))
}

/// The operands of an operation, and whether each may mention free iterators only.
fn operands(kind: &Kind) -> Vec<(&Operand, bool)> {
    match kind {
        Kind::MultiplyAdd { start, product, .. } => {
            let mut list: Vec<(&Operand, bool)> = start.iter().map(|s| (s, true)).collect();
            if let Some((a, b)) = product {
                list.extend([(a, false), (b, false)]);
            }
            list
        }
        Kind::Product { factor, .. } => vec![(factor, false)],
        Kind::Divide { dividend, divisor, .. } => vec![(dividend, true), (divisor, true)],
        Kind::Function { input, .. } => vec![(input, true)],
    }
}

fn inside(program: &Program, operation: &Operation, tensor: TensorId, index: &[Affine], free_only: bool) {
    let tensor = &program.tensors[tensor.0];
    assert_eq!(index.len(), tensor.shape.len(), "rank of {}", tensor.name);
    for (form, &extent) in index.iter().zip(&tensor.shape) {
        assert!(form.terms.iter().all(|t| t.0.0 < operation.iterators.len()), "iterators of {}", tensor.name);
        assert!(
            !free_only || form.terms.iter().all(|t| t.0.0 < operation.free),
            "{}: free iterators only",
            tensor.name
        );
        let (low, high) = form.range(&operation.iterators);
        assert!(low >= 0 && high < i64::from(extent), "{}: index {low}..={high} of {extent}", tensor.name);
    }
}

fn formats(program: &Program, operation: &Operation) {
    let out = &program.tensors[operation.out.0];
    let fraction = |operand: &Operand| match operand {
        Operand::Read { tensor, .. } => program.tensors[tensor.0].fraction,
        Operand::Constant { fraction, .. } => *fraction,
    };
    match &operation.kind {
        Kind::MultiplyAdd { start, align, product, scale, combine, shift, finish } => {
            let sum = match (product, start) {
                (Some((a, b)), _) => fraction(a) + fraction(b) - scale,
                (None, Some(start)) => fraction(start) + *align as i32,
                (None, None) => out.fraction + *shift as i32,
            };
            assert!(!combine.compares() || product.is_some(), "{}: something is compared", out.name);
            assert!(*align <= 63 && *shift <= 63, "{}: shifts", out.name);
            assert!(!matches!(product, Some((Operand::Constant { .. }, _))), "{}: the first factor is read", out.name);
            if let Some(start) = start {
                assert_eq!(fraction(start) + *align as i32, sum, "{}: align", out.name);
            }
            match finish {
                Finish::Round => assert_eq!(sum - *shift as i32, out.fraction, "{}: shift", out.name),
                Finish::Negative => assert_eq!(out.fraction, 0, "{}: comparison", out.name),
            }
            assert!(
                operation.iterators.len() == operation.free || product.is_some(),
                "{}: a reduction adds something up",
                out.name
            );
        }
        Kind::Product { factor, shift, one } => {
            assert_eq!(fraction(factor), *shift as i32, "{}: shift of a product", out.name);
            assert_eq!(*one, 1 << out.fraction, "{}: start of a product", out.name);
        }
        Kind::Divide { dividend, divisor, places, rounding } => {
            assert_eq!(operation.free, operation.iterators.len(), "{}: a division reduces nothing", out.name);
            assert!(*places <= most_places(program.word), "{}: places", out.name);
            let quotient = fraction(dividend) + *places as i32 - fraction(divisor);
            assert_eq!(quotient, out.fraction, "{}: quotient", out.name);
            assert!(*rounding == Rounding::Nearest || out.fraction == 0, "{}: a whole number", out.name);
        }
        Kind::Function { table, input } => {
            let table = &program.tables[*table];
            assert_eq!(operation.free, operation.iterators.len(), "{}: a function reduces nothing", out.name);
            assert_eq!((fraction(input), out.fraction), (table.input_fraction, table.output_fraction), "{}", out.name);
            assert_eq!(table.word, program.word);
        }
    }
}
