//! Windows of what is computed of an input element by element: it is computed anew for each place that needs it.
//!
//!     t[i] = round(x[i] * 3);  o[i] = sum[k](t[i + k] * w[k])
//!     =>    t.at[i][k] = round(x[i + k] * 3);  o[i] = sum[k](t.at[i][k] * w[k])
//!
//! What the host fills is then a window of `x`.

use super::{Opened, Window, extents, index, opened, window};
use crate::canonical::expr::substitute;
use crate::fixed::{Kind, Operation, Program, Role, Tensor, for_each_access};
use crate::placed::pieces::rewritten;
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// Tensors that are computed of inputs element by element, and the operation of each.
pub(super) fn of(program: &Program) -> BTreeMap<TensorId, usize> {
    let mut maps: BTreeMap<TensorId, usize> = BTreeMap::new();
    for (number, operation) in program.operations.iter().enumerate() {
        if is_map(program, operation, &maps) {
            maps.insert(operation.out, number);
        }
    }
    maps
}

/// Whether an operation computes all elements of a temporary, each of the same element of inputs or of such temporaries.
fn is_map(program: &Program, operation: &Operation, maps: &BTreeMap<TensorId, usize>) -> bool {
    let out = &program.tensors[operation.out.0];
    let alone = program.operations.iter().filter(|other| other.out == operation.out).count() == 1;
    let sum = matches!(operation.kind, Kind::MultiplyAdd { .. });
    let mut all = sum && alone && out.role == Role::Temporary && operation.free == operation.iterators.len();
    let whole = |(form, &extent): (&Affine, &u32)| match form.as_iterator() {
        Some(iterator) => {
            let range = &operation.iterators[iterator.0];
            (range.low, range.high) == (0, i64::from(extent))
        }
        None => extent == 1,
    };
    all &= operation.out_index.iter().zip(&out.shape).all(whole);
    let counted = |index: &[Affine]| index.iter().filter_map(Affine::as_iterator).collect::<Vec<IterId>>();
    let mut reads = false;
    for_each_access(operation, |tensor, index, written| {
        let source = program.tensors[tensor.0].role == Role::Input || maps.contains_key(&tensor);
        let plain = index.iter().all(|form| form.as_iterator().is_some() || form.as_constant() == Some(0));
        reads |= !written;
        all &= written || source && plain && counted(index) == counted(&operation.out_index);
    });
    all && reads
}

/// The program with windows of maps that are read in the dimensions of a choice; `None` where there are none.
pub(super) fn with_windows(program: &Program, choice: &BTreeSet<usize>) -> Option<Program> {
    let mut result = program.clone();
    // From the last map to the first: what it is computed of is read at its windows then.
    let mut maps: Vec<(usize, TensorId)> = of(program).into_iter().map(|(map, number)| (number, map)).collect();
    maps.sort_unstable_by_key(|&(number, _)| std::cmp::Reverse(number));
    let read = |operation: &Operation, index: &[Affine]| {
        // What a window is computed of is read at the window.
        let made = operation.out.0 >= program.tensors.len();
        window(index, |d| made || choice.contains(&d))
    };
    for (_, map) in maps {
        result = with_windows_of(&result, map, read)?;
    }
    (result.operations != program.operations).then_some(result)
}

fn with_windows_of(
    program: &Program,
    map: TensorId,
    read: impl Fn(&Operation, &[Affine]) -> Option<Opened>,
) -> Option<Program> {
    let own = |operation: &Operation, tensor: TensorId, index: &[Affine]| {
        read(operation, index).filter(|_| tensor == map).map(|opened| (tensor, opened))
    };
    let mut shapes: BTreeMap<Window, Vec<u32>> = BTreeMap::new();
    let mut whole = false;
    for operation in &program.operations {
        let mut below = false;
        for_each_access(operation, |tensor, index, written| match own(operation, tensor, index) {
            Some(window) => match extents(program, operation, &window, index) {
                Some(shape) => super::widen(&mut shapes, window, shape),
                None => below = true,
            },
            None => whole |= tensor == map && !written,
        });
        if below {
            return None;
        }
    }
    let mut result = program.clone();
    let mut places: BTreeMap<Window, TensorId> = BTreeMap::new();
    let number = program.operations.iter().position(|operation| operation.out == map)?;
    let mut made = Vec::new();
    for (window, shape) in shapes {
        let name = super::fresh(&result.tensors, &program.tensors[map.0].name);
        let place = TensorId(result.tensors.len());
        made.push(at_window(&program.operations[number], place, &window, &shape));
        result.tensors.push(Tensor { name, shape, ..program.tensors[map.0].clone() });
        places.insert(window, place);
    }
    if made.is_empty() {
        return Some(result);
    }
    for operation in &mut result.operations {
        *operation = rewritten(operation, |tensor, index| match own(operation, tensor, index) {
            Some(window) => (places[&window], opened(&window, index)),
            None => (tensor, index.to_vec()),
        });
    }
    // What nothing reads as it is need not be computed.
    result.operations.splice(number..number + usize::from(!whole), made);
    Some(result)
}

/// The map where a window of its result is computed.
fn at_window(operation: &Operation, out: TensorId, window: &Window, shape: &[u32]) -> Operation {
    let named = |n: usize| Iterator { name: format!("w{n}"), low: 0, high: i64::from(shape[n]) };
    let iterators: Vec<Iterator> = (0..shape.len()).map(named).collect();
    let own = (0..shape.len()).map(|n| Affine::iterator(IterId(n))).collect();
    // The element of the whole result, and what each iterator counts of it.
    let element = index(&window.1);
    let mut counts = vec![Affine::default(); operation.iterators.len()];
    for (form, at) in operation.out_index.iter().zip(element) {
        if let Some(iterator) = form.as_iterator() {
            counts[iterator.0] = at;
        }
    }
    let at = |index: &[Affine]| index.iter().map(|form| substitute(form, &counts)).collect();
    let mut result = rewritten(operation, |tensor, index| (tensor, at(index)));
    (result.free, result.iterators) = (iterators.len(), iterators);
    (result.out, result.out_index) = (out, own);
    result
}
