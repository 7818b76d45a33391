//! Planted faults: wrong formats and values in programs of fixed point, caught by the laws of their verifier or by exact values.

use super::oracle::{Case, case};
use super::rendered;
use arch::division::Rounding;
use arch::isa::Combine;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::{Finish, Kind, Numbers, Operand, Operation, Program, Role, laws};
use compiler::tensor::TensorId;
use sim::fixed::Fixed;
use sim::ladder::{NamedValues, Upper};
use std::collections::BTreeMap;

/// Changes an operation; whether there was something to change.
type Change = fn(&mut Operation) -> bool;

fn kind(operation: &mut Operation, change: impl FnOnce(&mut Kind) -> Option<()>) -> bool {
    change(&mut operation.kind).is_some()
}

macro_rules! multiply_add {
    ($($field:ident),+ => $change:expr) => {
        |operation| kind(operation, |kind| match kind {
            Kind::MultiplyAdd { $($field,)+ .. } => $change,
            _ => None,
        })
    };
}

/// A constant among the operands.
fn constant(kind: &mut Kind) -> Option<(&mut i64, &mut i32)> {
    let operands: Vec<&mut Operand> = match kind {
        Kind::MultiplyAdd { start, product, .. } => {
            start.iter_mut().chain(product.iter_mut().flat_map(|(a, b)| [a, b])).collect()
        }
        Kind::Divide { dividend, divisor, .. } => vec![dividend, divisor],
        Kind::Product { .. } | Kind::Function { .. } => Vec::new(),
    };
    operands.into_iter().find_map(|operand| match operand {
        Operand::Constant { word, fraction } if *word != 0 => Some((word, fraction)),
        _ => None,
    })
}

const CHANGES: &[(&str, Change)] = &[
    ("the start is aligned by one more", multiply_add!(start, align => start.as_ref().map(|_| *align += 1))),
    ("the start is aligned by one less", multiply_add!(align => align.checked_sub(1).map(|less| *align = less))),
    ("the sum is shifted by one more", multiply_add!(shift => { *shift += 1; Some(()) })),
    ("the sum is shifted by one less", multiply_add!(shift => shift.checked_sub(1).map(|less| *shift = less))),
    ("products are doubled", multiply_add!(product, scale => product.as_ref().map(|_| *scale += 1))),
    ("products are halved", multiply_add!(product, scale => product.as_ref().map(|_| *scale -= 1))),
    (
        "a sum becomes a difference",
        multiply_add!(product, combine => (product.is_some() && *combine == Combine::Add).then(|| *combine = Combine::Subtract)),
    ),
    (
        "a difference becomes a sum",
        multiply_add!(combine => (*combine == Combine::Subtract).then(|| *combine = Combine::Add)),
    ),
    (
        "a maximum becomes a minimum",
        multiply_add!(combine => (*combine == Combine::Maximum).then(|| *combine = Combine::Minimum)),
    ),
    (
        "a minimum becomes a maximum",
        multiply_add!(combine => (*combine == Combine::Minimum).then(|| *combine = Combine::Maximum)),
    ),
    ("a maximum becomes a sum", multiply_add!(combine => combine.compares().then(|| *combine = Combine::Add))),
    (
        "a comparison becomes a sum",
        multiply_add!(finish => (*finish == Finish::Negative).then(|| *finish = Finish::Round)),
    ),
    (
        "a sum becomes a comparison",
        multiply_add!(finish => (*finish == Finish::Round).then(|| *finish = Finish::Negative)),
    ),
    (
        "the start is left out",
        multiply_add!(start, align, product => product.as_ref().and(start.take()).map(|_| *align = 0)),
    ),
    ("the product is left out", multiply_add!(product => product.take().map(|_| ()))),
    ("a difference is squared", multiply_add!(product, square => product.as_ref().map(|_| *square = true))),
    ("a constant is one more", |operation| kind(operation, |kind| constant(kind).map(|(word, _)| *word += 1))),
    ("a constant is negated", |operation| kind(operation, |kind| constant(kind).map(|(word, _)| *word = -*word))),
    ("the point of a constant moves", |operation| {
        kind(operation, |kind| constant(kind).map(|(_, fraction)| *fraction += 1))
    }),
    ("a quotient is rounded to nearest", |operation| {
        kind(operation, |kind| match kind {
            Kind::Divide { rounding, .. } if *rounding == Rounding::Down => {
                *rounding = Rounding::Nearest;
                Some(())
            }
            _ => None,
        })
    }),
    ("the dividend is shifted by one more", |operation| {
        kind(operation, |kind| match kind {
            Kind::Divide { places, .. } => {
                *places += 1;
                Some(())
            }
            _ => None,
        })
    }),
    ("a sum has a term less", |operation| {
        let summed = operation.free..operation.iterators.len();
        operation.iterators[summed].first_mut().map(|iterator| iterator.high -= 1).is_some()
    }),
    ("the last element is not written", |operation| {
        operation.iterators[..operation.free].first_mut().map(|iterator| iterator.high -= 1).is_some()
    }),
];

/// The point of a tensor moved, with all that reads and writes it: the laws of shifts hold, the words are others.
fn moved(program: &Program, tensor: TensorId, by: i32) -> Option<Program> {
    let mut program = program.clone();
    program.tensors[tensor.0].fraction += by;
    if let Role::Parameter(_) = program.tensors[tensor.0].role {
        return None;
    }
    let reads = |operand: &Operand| matches!(operand, Operand::Read { tensor: read, .. } if *read == tensor);
    for operation in &mut program.operations {
        let writes = operation.out == tensor;
        match &mut operation.kind {
            Kind::MultiplyAdd { start, align, product, scale, shift, finish, .. } => {
                if let Some((a, b)) = product {
                    *scale += by * (i32::from(reads(a)) + i32::from(reads(b)));
                }
                if start.as_ref().is_some_and(reads) {
                    let moved = *align as i32 - by;
                    match (u32::try_from(moved), &product) {
                        (Ok(moved), _) => *align = moved,
                        (Err(_), None) => *shift = u32::try_from(*shift as i32 + by).ok()?,
                        _ => return None,
                    }
                }
                if writes && *finish == Finish::Round {
                    *shift = u32::try_from(*shift as i32 - by).ok()?;
                }
            }
            Kind::Divide { dividend, divisor, places, .. } => {
                let more = by * (i32::from(writes) + i32::from(reads(divisor)) - i32::from(reads(dividend)));
                *places = u32::try_from(*places as i32 + more).ok()?;
            }
            Kind::Product { .. } | Kind::Function { .. } => return None,
        }
    }
    Some(program)
}

fn lowered(case: &Case) -> Option<Program> {
    let program = rendered::program(case).expect("a program");
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let numbers = Numbers::of_width(case.word);
    Upper::new(&program, &options, &NamedValues::new(), &[case.inputs()], &numbers).ok().map(|upper| upper.fixed)
}

/// Whether the words are those of the exact values.
fn is_exact(case: &Case, program: &Program) -> bool {
    let mut fixed = Fixed::new(program);
    for (name, values) in &case.inputs() {
        if let Some(tensor) = fixed.tensor(name) {
            fixed.set_real(tensor, values);
        }
    }
    fixed.step();
    rendered::results(case).iter().all(|(name, number)| {
        let (_, id) = program.names.iter().find(|(known, _)| known == name).expect("a result");
        fixed.values(*id) == case.elements(*number)
    })
}

/// How often a fault was caught by a law, by a value, and not at all: where it changes nothing.
#[derive(Default)]
struct Caught {
    law: u32,
    value: u32,
    silent: u32,
}

#[test]
fn planted_faults_are_caught() {
    let mut caught: BTreeMap<&str, Caught> = BTreeMap::new();
    for number in 0..200 {
        let case = case(3, number);
        let Some(program) = lowered(&case) else { continue };
        assert!(is_exact(&case, &program), "{}", case.text());
        let mut judge = |what: &'static str, mutant: &Program| {
            let entry = caught.entry(what).or_default();
            if laws(mutant).is_err() {
                entry.law += 1;
            } else if is_exact(&case, mutant) {
                entry.silent += 1;
            } else {
                entry.value += 1;
            }
        };
        for at in 0..program.operations.len() {
            for (what, change) in CHANGES {
                let mut mutant = program.clone();
                if change(&mut mutant.operations[at]) {
                    judge(what, &mutant);
                }
            }
        }
        for tensor in (0..program.tensors.len()).map(TensorId) {
            for (what, by) in
                [("a tensor has a bit more after its point", 1), ("a tensor has a bit less after its point", -1)]
            {
                let mut mutant = program.clone();
                mutant.tensors[tensor.0].fraction += by;
                judge(what, &mutant);
            }
            for (what, by) in [
                ("a tensor and all around it have a bit more", 1),
                ("a tensor and all around it have a bit less", -1),
                ("a tensor and all around it have four bits less", -4),
                ("a tensor and all around it have eight bits more", 8),
            ] {
                if let Some(mutant) = moved(&program, tensor, by) {
                    judge(what, &mutant);
                }
            }
        }
        judge("words are half as wide", &Program { word: program.word / 2, ..program.clone() });
        judge("the accumulator is a word", &Program { accumulator: program.word, ..program.clone() });
    }
    for (what, Caught { law, value, silent }) in &caught {
        println!("{what}: {law} by a law, {value} by a value, {silent} change nothing");
    }
    assert!(caught.len() >= 25, "{} kinds of faults", caught.len());
    for (what, Caught { law, value, .. }) in &caught {
        assert!(law + value > 0, "never caught: {what}");
    }
}
