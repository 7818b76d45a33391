//! Windows (im2col): an input that is read at a sum of indices becomes one with a dimension for each of them, which the host fills.
//!
//!     o[i] = sum[k](x[i + k] * w[k])      =>      o[i] = sum[k](x.at[i][k] * w[k])       x.at[i][k] = x[i + k]
//!
//! An address that several indices make is computed inside a PE, so `i` and `k` could not leave it. A window lies like any other
//! tensor: with `i` on the grid, each PE holds the words of its own results. The same element is sent once for each place that needs it:
//! more transfers, fewer cycles. So does what is computed of an input element by element ([`maps`]). Which dimensions are worth it is for the cost model: each is tried alone, and all together.

mod maps;

use super::pieces::rewritten;
use super::{Piece, Program};
use crate::fixed::{self, Operation, Role, Tensor, for_each_access};
use crate::tensor::{Affine, IterId, TensorId};
use std::collections::{BTreeMap, BTreeSet};

/// The program with windows, in every way that is tried; all dimensions together come last.
pub(crate) fn variants(whole: &Program) -> Vec<Program> {
    let program = &whole.fixed;
    let inputs = |program: &fixed::Program| computed(program, |t| program.tensors[t.0].role == Role::Input);
    let of_inputs = choices(inputs(program)).into_iter().filter_map(|choice| with_windows(whole, &choice));
    let maps = maps::of(program);
    let of_maps = choices(computed(program, |t| maps.contains_key(&t))).into_iter().filter_map(|choice| {
        let fixed = maps::with_windows(program, &choice)?;
        let choice = inputs(&fixed);
        // What is computed is not streamed.
        let mut pieces = whole.pieces.clone();
        pieces.resize(fixed.tensors.len(), None);
        with_windows(&Program::local(fixed, pieces, whole.tile), &choice)
    });
    of_inputs.chain(of_maps).collect()
}

/// Dimensions in which such tensors are read at computed addresses.
fn computed(program: &fixed::Program, of: impl Fn(TensorId) -> bool) -> BTreeSet<usize> {
    let mut dimensions = BTreeSet::new();
    for operation in &program.operations {
        for_each_access(operation, |tensor, index, _| {
            dimensions.extend((0..index.len()).filter(|&d| of(tensor) && is_computed(&index[d])));
        });
    }
    dimensions
}

/// Each dimension alone, and all together.
fn choices(dimensions: BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
    let alone = dimensions.iter().map(|&dimension| BTreeSet::from([dimension]));
    let mut choices: Vec<BTreeSet<usize>> = alone.collect();
    if dimensions.len() > 1 {
        choices.push(dimensions);
    }
    choices
}

/// Whether an address has to be computed for an index.
pub(crate) fn is_computed(form: &Affine) -> bool {
    form.as_iterator().is_none() && form.as_constant().is_none()
}

/// For each dimension that becomes a window the offset and the coefficients.
type Opened = Vec<Option<(i64, Vec<i64>)>>;

/// What is opened of a tensor.
type Window = (TensorId, Opened);

/// What is opened where a tensor is read at an index.
fn window(index: &[Affine], of: impl Fn(usize) -> bool) -> Option<Opened> {
    let opened = |(d, form): (usize, &Affine)| {
        let opens = of(d) && is_computed(form);
        opens.then(|| (form.offset, form.terms.iter().map(|term| term.1).collect()))
    };
    let dimensions: Opened = index.iter().enumerate().map(opened).collect();
    dimensions.iter().any(Option::is_some).then_some(dimensions)
}

/// The shape of the part of a window that is read at an index; `None` where an iterator runs below 0 before it is added.
fn extents(program: &fixed::Program, operation: &Operation, window: &Window, index: &[Affine]) -> Option<Vec<u32>> {
    let mut shape = Vec::new();
    for (d, form) in index.iter().enumerate() {
        if window.1[d].is_none() {
            shape.push(program.tensors[window.0.0].shape[d]);
            continue;
        }
        for &(iterator, _) in &form.terms {
            let iterator = &operation.iterators[iterator.0];
            if iterator.low < 0 {
                return None;
            }
            shape.push(u32::try_from(iterator.high).unwrap_or(0));
        }
    }
    Some(shape)
}

/// Make room for another part of a window.
fn widen(shapes: &mut BTreeMap<Window, Vec<u32>>, window: Window, shape: Vec<u32>) {
    let largest = shapes.entry(window).or_insert_with(|| shape.clone());
    largest.iter_mut().zip(shape).for_each(|(largest, extent)| *largest = extent.max(*largest));
}

/// A name for a window.
fn fresh(tensors: &[Tensor], of: &str) -> String {
    let mut name = format!("{of}.at");
    while tensors.iter().any(|tensor| tensor.name == name) {
        name.push('+');
    }
    name
}

fn with_windows(unopened: &Program, choice: &BTreeSet<usize>) -> Option<Program> {
    let program = &unopened.fixed;
    let input = |tensor: TensorId| program.tensors[tensor.0].role == Role::Input;
    let of_input = |tensor: TensorId, index: &[Affine]| {
        window(index, |d| choice.contains(&d)).filter(|_| input(tensor)).map(|opened| (tensor, opened))
    };
    // The shape of each window, and the tensors that are still read as they are.
    let mut shapes: BTreeMap<Window, Vec<u32>> = BTreeMap::new();
    let mut whole: BTreeSet<TensorId> = BTreeSet::new();
    for operation in &program.operations {
        let mut below = false;
        for_each_access(operation, |tensor, index, _| match of_input(tensor, index) {
            Some(window) => match extents(program, operation, &window, index) {
                Some(shape) => widen(&mut shapes, window, shape),
                None => below = true,
            },
            None => {
                whole.insert(tensor);
            }
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
        let name = fresh(&opened_program.tensors, &original.name);
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
        rewritten(operation, |tensor, index| match of_input(tensor, index) {
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
