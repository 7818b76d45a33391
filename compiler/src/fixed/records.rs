//! Several records in one step of a function.
//!
//!     h[i]   = sum[j](w[i][j] * x[j])               one record per step
//!     h[r,i] = sum[j](w[i][j] * x[r,j])             R of them: w is read once for all
//!
//! Each word is computed as for its record alone, so no word depends on how many records share a step. What follows from weights and
//! constants only stays as it is.

use super::{Kind, Operand, Operation, Program, Role, for_each_access};
use crate::tensor::{Affine, IterId, Iterator, TensorId};

/// The state that a program writes, if it writes any: its records follow one another then, and no step can have two.
pub fn state_between_records(program: &Program) -> Option<TensorId> {
    let mut written = program.operations.iter().map(|operation| operation.out);
    written.find(|out| program.tensors[out.0].role == Role::State)
}

/// Whether each tensor has other words for each record.
pub fn of_record(program: &Program) -> Vec<bool> {
    let mut own: Vec<bool> = program.tensors.iter().map(|tensor| tensor.role == Role::Input).collect();
    // An element may be read before another writer makes its tensor one of the record.
    loop {
        let before = own.clone();
        for operation in &program.operations {
            for_each_access(operation, |tensor, _, _| own[operation.out.0] |= own[tensor.0]);
        }
        if own == before {
            return own;
        }
    }
}

/// The program of `records` records per step: what belongs to a record gets them as its first dimension.
///
/// # Panics
/// When several records share a step of a program with a [state between them](state_between_records).
pub fn of_records(program: &Program, records: u32) -> Program {
    if records == 1 {
        return program.clone();
    }
    assert!(state_between_records(program).is_none(), "records of a stream follow one another");
    let mut several = program.clone();
    let own = of_record(program);
    for (tensor, _) in several.tensors.iter_mut().zip(&own).filter(|(_, own)| **own) {
        tensor.shape.insert(0, records);
        tensor.columns.iter_mut().for_each(|columns| columns.dimension += 1);
    }
    for operation in several.operations.iter_mut().filter(|operation| own[operation.out.0]) {
        operation.iterators.insert(0, Iterator { name: "r".into(), low: 0, high: i64::from(records) });
        operation.free += 1;
        index_by_record(&mut operation.out_index, true);
        for operand in operands(operation) {
            if let Operand::Read { tensor, index } = operand {
                index_by_record(index, own[tensor.0]);
            }
        }
    }
    several
}

/// The index behind the loop over records, of an element that belongs to one if `own`.
fn index_by_record(index: &mut Vec<Affine>, own: bool) {
    for form in index.iter_mut() {
        form.terms.iter_mut().for_each(|(iterator, _)| iterator.0 += 1);
    }
    if own {
        index.insert(0, Affine::iterator(IterId(0)));
    }
}

fn operands(operation: &mut Operation) -> Vec<&mut Operand> {
    match &mut operation.kind {
        Kind::MultiplyAdd { start, product, .. } => {
            start.iter_mut().chain(product.iter_mut().flat_map(|(a, b)| [a, b])).collect()
        }
        Kind::Product { factor, .. } => vec![factor],
        Kind::Divide { dividend, divisor, .. } => vec![dividend, divisor],
        Kind::Function { input, .. } => vec![input],
    }
}
