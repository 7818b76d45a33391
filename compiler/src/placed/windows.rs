//! Windows (im2col): an input that is read at a sum of indices becomes one with a dimension for each of them, which the host fills.
//!
//!     o[i] = sum[k](x[i + k] * w[k])      =>      o[i] = sum[k](x.at[i][k] * w[k])       x.at[i][k] = x[i + k]
//!
//! An address that several indices make is computed inside a PE, so `i` and `k` could not leave it. A window lies like any other
//! tensor: with `i` on the grid, each PE holds the words of its own results. The same element is sent once for each place that needs it:
//! more transfers, fewer cycles. Which dimensions are worth it is for the cost model: each is tried alone, and all together.

use super::pieces::rewritten;
use super::{Piece, Program};
use crate::fixed::{self, Role, Tensor, for_each_access};
use crate::tensor::{Affine, IterId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// The program with windows, in every way that is tried; all dimensions together come last.
pub(crate) fn variants(whole: &Program) -> Vec<Program> {
    let program = &whole.fixed;
    let mut dimensions = BTreeSet::new();
    for operation in &program.operations {
        for_each_access(operation, |tensor, index, _| {
            let input = program.tensors[tensor.0].role == Role::Input;
            dimensions.extend((0..index.len()).filter(|&d| input && is_computed(&index[d])));
        });
    }
    let alone = dimensions.iter().map(|&dimension| BTreeSet::from([dimension]));
    let mut choices: Vec<BTreeSet<usize>> = alone.collect();
    if dimensions.len() > 1 {
        choices.push(dimensions);
    }
    choices.iter().filter_map(|choice| with_windows(whole, choice)).collect()
}

/// Whether an address has to be computed for an index.
pub(crate) fn is_computed(form: &Affine) -> bool {
    form.as_iterator().is_none() && form.as_constant().is_none()
}

/// A tensor, and for each of its dimensions that becomes a window the offset and the coefficients.
type Window = (TensorId, Vec<Option<(i64, Vec<i64>)>>);

/// What a read becomes.
fn window(program: &fixed::Program, choice: &BTreeSet<usize>, tensor: TensorId, index: &[Affine]) -> Option<Window> {
    let input = program.tensors[tensor.0].role == Role::Input;
    let opened = |(d, form): (usize, &Affine)| {
        let opens = input && choice.contains(&d) && is_computed(form);
        opens.then(|| (form.offset, form.terms.iter().map(|term| term.1).collect()))
    };
    let dimensions: Vec<_> = index.iter().enumerate().map(opened).collect();
    dimensions.iter().any(Option::is_some).then_some((tensor, dimensions))
}

/// `None` where an index runs below 0 before it is added.
fn with_windows(unopened: &Program, choice: &BTreeSet<usize>) -> Option<Program> {
    let program = &unopened.fixed;
    // The shape of each window, and the tensors that are still read as they are.
    let mut shapes: BTreeMap<Window, Vec<u32>> = BTreeMap::new();
    let mut whole: BTreeSet<TensorId> = BTreeSet::new();
    for operation in &program.operations {
        let mut below = false;
        for_each_access(operation, |tensor, index, _| {
            let Some(window) = window(program, choice, tensor, index) else {
                whole.insert(tensor);
                return;
            };
            let mut shape = Vec::new();
            for (d, form) in index.iter().enumerate() {
                if window.1[d].is_none() {
                    shape.push(program.tensors[tensor.0].shape[d]);
                    continue;
                }
                for &(iterator, _) in &form.terms {
                    let iterator = &operation.iterators[iterator.0];
                    below |= iterator.low < 0;
                    shape.push(u32::try_from(iterator.high).unwrap_or(0));
                }
            }
            let largest = shapes.entry(window).or_insert_with(|| shape.clone());
            largest.iter_mut().zip(shape).for_each(|(largest, extent)| *largest = extent.max(*largest));
        });
        if below {
            return None;
        }
    }
    let (mut opened_program, mut pieces) = (program.clone(), unopened.pieces.clone());
    let mut places: BTreeMap<Window, TensorId> = BTreeMap::new();
    for (window, shape) in shapes {
        let (of, dimensions) = &window;
        let original = &program.tensors[of.0];
        let mut name = format!("{}.at", original.name);
        while opened_program.tensors.iter().any(|tensor| tensor.name == name) {
            name.push('+');
        }
        let (tensor, piece) = (
            Tensor { name, shape, ..original.clone() },
            unopened.pieces[of.0].clone().map(|whole| Piece { index: index(dimensions), ..whole }),
        );
        // What nothing reads as it is need not be loaded.
        let place = if whole.insert(*of) { *of } else { TensorId(opened_program.tensors.len()) };
        if place == *of {
            (opened_program.tensors[of.0], pieces[of.0]) = (tensor, piece);
        } else {
            opened_program.tensors.push(tensor);
            pieces.push(piece);
        }
        places.insert(window, place);
    }
    let operations = program.operations.iter().map(|operation| {
        rewritten(operation, |tensor, index| match window(program, choice, tensor, index) {
            Some(window) => (places[&window], opened(&window, index)),
            None => (tensor, index.to_vec()),
        })
    });
    opened_program.operations = operations.collect();
    fixed::verify(&opened_program);
    Some(Program::local(opened_program, pieces, unopened.tile))
}

/// The index of the original tensor, over the dimensions of its window.
fn index(dimensions: &[Option<(i64, Vec<i64>)>]) -> Vec<Affine> {
    let mut own = 0;
    let mut next = || {
        own += 1;
        IterId(own - 1)
    };
    let form = |dimension: &Option<(i64, Vec<i64>)>| match dimension {
        None => Affine::iterator(next()),
        Some((offset, coefficients)) => {
            Affine { offset: *offset, terms: coefficients.iter().map(|&coefficient| (next(), coefficient)).collect() }
        }
    };
    dimensions.iter().map(form).collect()
}

/// The index of a window, where the original was read.
fn opened(window: &Window, index: &[Affine]) -> Vec<Affine> {
    let dimensions = window.1.iter().zip(index);
    let forms = dimensions.flat_map(|(opens, form)| match opens {
        None => vec![form.clone()],
        Some(_) => form.terms.iter().map(|&(iterator, _)| Affine::iterator(iterator)).collect(),
    });
    forms.collect()
}
