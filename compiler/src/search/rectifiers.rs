//! Rectifiers: the positive part of a word is what its sum becomes, or a few operations where the machine has no `rectifiers`.
//!
//!     h[i] = round(sum[k](w[i][k] * x[k]))              fused        r[i] = positive(sum[k](w[i][k] * x[k]))
//!     r[i] = positive(h[i])                      =>
//!                                                    otherwise     h[i] = ...;  n[i] = negative(h[i]);  r[i] = h[i] - n[i] * h[i]
//!
//! Both give the same words: `h` and `r` have one binary point, so nothing is rounded between them. Likewise a limit, where the machine has
//! `limits`; otherwise `min(p, 6)` is `6 - max(6 - p, 0)`, which is exact, since `p` is not negative.

use crate::canonical::expr::substitute;
use crate::fixed::{Finish, Kind, Operand, Operation, Program, Role, SumBound, Tensor, for_each_access};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::division::Rounding;
use arch::isa::{Combine, UNLIMITED};
use arch::machine::Machine;
use arch::number::word_max;

/// The program as the machine computes positive parts.
pub(crate) fn suited(program: &Program, machine: &Machine) -> Program {
    let mut result = program.clone();
    let largest = word_max(program.word) as i32;
    // A positive part of positive parts is one, with the smaller limit.
    let mut number = 0;
    while number < result.operations.len() {
        let of_positives =
            rectified(&result.operations[number]).filter(|(value, _)| is_positive(&result, value.tensor));
        let merged = of_positives.and_then(|(value, limit)| merged(&mut result, number, &value, limit));
        number = merged.unwrap_or(number + 1);
    }
    number = 0;
    while number < result.operations.len() {
        let Some((value, limit)) = rectified(&result.operations[number]) else {
            number += 1;
            continue;
        };
        if limit != UNLIMITED && (!machine.limits() || limit >= largest) {
            if limit < largest {
                applied_after(&mut result, number, limit);
            } else {
                finished(&mut result.operations[number], UNLIMITED);
            }
            continue;
        }
        number = if machine.rectifiers() {
            merged(&mut result, number, &value, limit).unwrap_or(number + 1)
        } else {
            spelled_out(&mut result, number, value)
        };
    }
    crate::fixed::verify(&result);
    result
}

/// An element that is read.
struct Element {
    tensor: TensorId,
    index: Vec<Affine>,
}

/// What an operation is the positive part of.
fn rectified(operation: &Operation) -> Option<(Element, i32)> {
    match &operation.kind {
        Kind::MultiplyAdd {
            start: Some(Operand::Read { tensor, index }),
            product: None,
            finish: Finish::Positive(limit),
            ..
        } => Some((Element { tensor: *tensor, index: index.clone() }, *limit)),
        _ => None,
    }
}

/// Whether all that write a tensor take positive parts.
fn is_positive(program: &Program, tensor: TensorId) -> bool {
    let takes = |kind: &Kind| matches!(kind, Kind::MultiplyAdd { finish: Finish::Positive(_), .. });
    program.operations.iter().filter(|operation| operation.out == tensor).all(|operation| takes(&operation.kind))
}

/// Which iterator of the reader counts each dimension of a tensor; `None` where it does not read every element once.
fn dimensions(program: &Program, reader: &Operation, value: &Element) -> Option<Vec<Option<IterId>>> {
    let mut seen = vec![false; reader.iterators.len()];
    let shape = &program.tensors[value.tensor.0].shape;
    let dimensions: Option<Vec<Option<IterId>>> = value
        .index
        .iter()
        .zip(shape)
        .map(|(form, &extent)| match form.as_iterator() {
            Some(iterator) => {
                let range = &reader.iterators[iterator.0];
                let whole = (range.low, range.high) == (0, i64::from(extent));
                (whole && !std::mem::replace(&mut seen[iterator.0], true)).then_some(Some(iterator))
            }
            None => (form.as_constant() == Some(0) && extent == 1).then_some(None),
        })
        .collect();
    dimensions.filter(|_| seen.iter().all(|seen| *seen))
}

/// The operations that write a tensor, if they are sums, before `number`.
fn sums(program: &Program, tensor: TensorId, number: usize) -> Option<Vec<usize>> {
    let writers: Vec<usize> = (0..program.operations.len()).filter(|&n| program.operations[n].out == tensor).collect();
    let sum = |&n: &usize| {
        let rounds =
            |finish: &Finish| matches!(finish, Finish::Round | Finish::Whole(Rounding::Nearest) | Finish::Positive(_));
        n < number && matches!(&program.operations[n].kind, Kind::MultiplyAdd { finish, .. } if rounds(finish))
    };
    (!writers.is_empty() && writers.iter().all(sum)).then_some(writers)
}

/// Let the sums become the positive part at once, if nothing else needs them: the number of the next operation.
fn merged(program: &mut Program, number: usize, value: &Element, limit: i32) -> Option<usize> {
    let reader = program.operations[number].clone();
    let (tensor, out) = (value.tensor, reader.out);
    let (sum, positive) = (&program.tensors[tensor.0], &program.tensors[out.0]);
    if sum.role != Role::Temporary || sum.fraction != positive.fraction || sum.columns.is_some() {
        return None;
    }
    let writers = sums(program, tensor, number)?;
    let dimensions = dimensions(program, &reader, value)?;
    let mut free = true;
    for (n, operation) in program.operations.iter().enumerate() {
        for_each_access(operation, |accessed, _, written| {
            free &= accessed != tensor || written || n == number;
            free &= accessed != out || n == number || !(writers[0]..number).contains(&n);
        });
    }
    if !free {
        return None;
    }
    for &writer in &writers {
        let operation = &mut program.operations[writer];
        let mut with = vec![Affine::default(); reader.iterators.len()];
        for (form, iterator) in operation.out_index.iter().zip(&dimensions) {
            if let Some(iterator) = iterator {
                with[iterator.0] = form.clone();
            }
        }
        operation.out = out;
        operation.out_index = reader.out_index.iter().map(|form| substitute(form, &with)).collect();
        operation.origin.join(&reader.origin);
        let before = match operation.kind {
            Kind::MultiplyAdd { finish: Finish::Positive(limit), .. } => limit,
            _ => UNLIMITED,
        };
        finished(operation, limit.min(before));
    }
    program.operations.remove(number);
    Some(number)
}

/// The value less itself where it is negative: the number of the next operation.
fn spelled_out(program: &mut Program, number: usize, value: Element) -> usize {
    let reader = &program.operations[number];
    let Kind::MultiplyAdd { shift, .. } = reader.kind else { unreachable!("a positive part is a sum") };
    let (sign, more) = sign_of_sum(program, number, &value).unwrap_or_else(|| sign_of_word(program, number, &value));
    let number = number + more;
    let word = Operand::Read { tensor: value.tensor, index: value.index };
    program.operations[number].kind = Kind::MultiplyAdd {
        start: Some(word.clone()),
        align: 0,
        product: Some((Operand::Read { tensor: sign.tensor, index: sign.index }, word)),
        square: false,
        scale: 0,
        combine: Combine::Subtract,
        shift,
        finish: Finish::Round,
        bound: SumBound::Formats,
    };
    number + 1
}

/// Leave a positive part without its limit, and apply that to it.
fn applied_after(program: &mut Program, number: usize, limit: i32) {
    let reader = program.operations[number].clone();
    let fraction = program.tensors[reader.out.0].fraction;
    let shape: Vec<u32> = reader.iterators.iter().map(|iterator| iterator.extent() as u32).collect();
    let index = zero_based(&reader.iterators);
    let mut temporary = || {
        let tensor = signs(program, reader.out, shape.clone());
        program.tensors[tensor.0].fraction = fraction;
        Element { tensor, index: index.clone() }
    };
    let [part, less, rest] = [(); 3].map(|()| temporary());
    let of = |element: &Element| Operand::Read { tensor: element.tensor, index: element.index.clone() };
    let into =
        |out: &Element, kind| Operation { out: out.tensor, out_index: out.index.clone(), kind, ..reader.clone() };
    let sum = |start, product: Option<(Operand, Operand)>, finish| Kind::MultiplyAdd {
        start: Some(start),
        align: 0,
        combine: if product.is_some() { Combine::Subtract } else { Combine::Add },
        product,
        square: false,
        scale: 0,
        shift: 0,
        finish,
        bound: SumBound::Formats,
    };
    let difference = |from: &Element| {
        let (limit, one) =
            (Operand::Constant { word: limit.into(), fraction }, Operand::Constant { word: 1, fraction: 0 });
        sum(limit, Some((of(from), one)), Finish::Round)
    };
    let mut new = [
        into(&part, reader.kind.clone()),
        into(&less, difference(&part)),
        into(&rest, sum(of(&less), None, Finish::Positive(UNLIMITED))),
        Operation { kind: difference(&rest), ..reader.clone() },
    ];
    finished(&mut new[0], UNLIMITED);
    program.operations.splice(number..=number, new);
}

/// Let a sum become its positive part.
fn finished(operation: &mut Operation, limit: i32) {
    if let Kind::MultiplyAdd { finish, .. } = &mut operation.kind {
        *finish = Finish::Positive(limit);
    }
}

/// An index that counts from 0.
fn zero_based(iterators: &[Iterator]) -> Vec<Affine> {
    let from =
        |(n, iterator): (usize, &Iterator)| Affine::iterator(IterId(n)).plus(-1, &Affine::constant(iterator.low));
    iterators.iter().enumerate().map(from).collect()
}

/// Another tensor, of 0 and 1.
fn signs(program: &mut Program, of: TensorId, shape: Vec<u32>) -> TensorId {
    let Tensor { name, span, .. } = &program.tensors[of.0];
    let (name, span) = (format!("{name}.{}", program.tensors.len()), *span);
    program.tensors.push(Tensor { name, shape, role: Role::Temporary, fraction: 0, columns: None, span });
    TensorId(program.tensors.len() - 1)
}

/// Compare what a value is rounded from, beside it, where that is no longer than comparing the value; and how many operations are new.
fn sign_of_sum(program: &mut Program, number: usize, value: &Element) -> Option<(Element, usize)> {
    let writers = sums(program, value.tensor, number)?;
    let &[writer] = writers.as_slice() else { return None };
    let sum = &program.operations[writer];
    if sum.free < sum.iterators.len() || reads(sum, value.tensor) {
        return None;
    }
    let mut compared = sum.clone();
    if let Kind::MultiplyAdd { finish, shift, combine, .. } = &mut compared.kind {
        if combine.compares() {
            return None;
        }
        (*finish, *shift) = (Finish::Negative, 0);
    }
    // Somebody else may have compared it, such as a gradient.
    let known = (0..number).find(|&n| {
        let other = &program.operations[n];
        let own = (&compared.kind, &compared.iterators, &compared.out_index);
        let mut between = (n.min(writer) + 1..number).filter(|&m| m != n).map(|m| &program.operations[m]);
        let temporary = program.tensors[other.out.0].role == Role::Temporary;
        temporary
            && (&other.kind, &other.iterators, &other.out_index) == own
            && between.all(|operation| operation.out != other.out && !reads(other, operation.out))
    });
    if let Some(known) = known {
        return Some((Element { tensor: program.operations[known].out, index: value.index.clone() }, 0));
    }
    let shape = program.tensors[value.tensor.0].shape.clone();
    compared.out = signs(program, value.tensor, shape);
    let tensor = compared.out;
    program.operations.insert(writer, compared);
    Some((Element { tensor, index: value.index.clone() }, 1))
}

/// Compare the value.
fn sign_of_word(program: &mut Program, number: usize, value: &Element) -> (Element, usize) {
    let reader = program.operations[number].clone();
    let shape = reader.iterators.iter().map(|iterator| iterator.extent() as u32).collect();
    let index = zero_based(&reader.iterators);
    let out = signs(program, value.tensor, shape);
    let mut compared = Operation { out, out_index: index.clone(), ..reader };
    if let Kind::MultiplyAdd { finish, shift, .. } = &mut compared.kind {
        (*finish, *shift) = (Finish::Negative, 0);
    }
    program.operations.insert(number, compared);
    (Element { tensor: out, index }, 1)
}

/// Whether an operation reads a tensor.
fn reads(operation: &Operation, tensor: TensorId) -> bool {
    let mut found = false;
    for_each_access(operation, |accessed, _, written| found |= accessed == tensor && !written);
    found
}
