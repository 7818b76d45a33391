//! The laws of a placed program, checked.

use super::axis::Axis;
use super::cost::{Route, route};
use super::reshard::{self, Reshard};
use super::{Program, padding, tile};
use crate::fixed::{self, Kind, Operation, Role, for_each_access};
use crate::tensor::{Affine, IterId};
use arch::isa::Finish;
use arch::machine::Machine;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program, machine: &Machine) {
    if let Err(broken) = laws(program, machine) {
        panic!("the placed program is broken: {broken}\n{program}");
    }
}

/// The first law that is broken, in words.
///
/// # Errors
/// If there is one.
pub fn laws(program: &Program, machine: &Machine) -> Result<(), String> {
    let Program { fixed, tensors, iterators, pieces, .. } = program;
    fixed::laws(fixed)?;
    let counts = (tensors.len(), iterators.len(), pieces.len());
    law!(1, counts == (fixed.tensors.len(), fixed.operations.len(), fixed.tensors.len()), "everything has a place");
    for (tensor, axes) in fixed.tensors.iter().zip(tensors) {
        law!(1, axes.len() == tensor.shape.len(), "each dimension of {} has an axis", tensor.name);
        agree(&tensor.name, axes)?;
    }
    for (operation, axes) in fixed.operations.iter().zip(iterators) {
        let name = &fixed.tensors[operation.out.0].name;
        law!(1, axes.len() == operation.iterators.len(), "each iterator of {name} has an axis");
        agree(name, axes)?;
        verify_operation(program, operation, axes, machine)?;
    }
    let harmless = padding::is_harmless(fixed, tensors, iterators, machine);
    law!(5, harmless, "the padding of a tall index is computed with, and holds more than zeros");
    for number in 0..fixed.tensors.len() {
        verify_piece(program, number)?;
    }
    verify_tiles(program)?;
    Ok(())
}

/// Law 2.
fn agree(name: &str, axes: &[Axis]) -> Result<(), String> {
    for (n, one) in axes.iter().enumerate() {
        for other in &axes[n + 1..] {
            law!(2, one.agrees_with(*other), "{name}: one index on {one}, another on {other}");
        }
    }
    Ok(())
}

/// Laws 3 to 6.
fn verify_operation(program: &Program, operation: &Operation, axes: &[Axis], machine: &Machine) -> Result<(), String> {
    let name = &program.fixed.tensors[operation.out.0].name;
    let mut accesses = Vec::new();
    for_each_access(operation, |tensor, index, written| accesses.push((tensor, index.to_vec(), written)));
    for (tensor, index, written) in accesses {
        let read = &program.fixed.tensors[tensor.0].name;
        for (form, &axis) in index.iter().zip(&program.tensors[tensor.0]) {
            if let Some(iterator) = form.as_iterator() {
                let same = written || axes[iterator.0] == axis;
                law!(3, same, "{name}: {read} on {axis}, its iterator on {}", axes[iterator.0]);
            } else if form.as_constant().is_none() {
                let local = axis == Axis::Local && form.terms.iter().all(|term| axes[term.0.0] == Axis::Local);
                law!(3, local, "{name}: a computed index of {read} has left the PE");
            }
        }
    }
    let reshard = Reshard::of(operation, axes, &program.tensors[operation.out.0], machine);
    law!(4, reshard.is_ok(), "{name}: the bus cannot take its results to where they lie");
    let reshard = reshard.ok().flatten();
    let masks = reshard::masks_exist(&program.fixed, operation, axes, reshard);
    law!(5, masks.is_met(operation, machine), "{name}: no mask holds a tall iterator to its elements");
    let inside = match &operation.kind {
        Kind::Product { .. } => true,
        Kind::MultiplyAdd { start, combine, finish, .. } => {
            start.is_some() && !combine.compares() || *finish == Finish::Negative
        }
        Kind::Divide { .. } | Kind::Function { .. } => false,
    };
    let summed = axes[operation.free..].iter().all(|axis| *axis == Axis::Local);
    law!(6, !inside || summed, "{name}: the trees cannot do this sum");
    let stays = route(operation, axes, reshard) == Route::Inside;
    law!(6, !inside || reshard.is_some() || stays, "{name}: the trees cannot do this");
    Ok(())
}

/// Law 7.
fn verify_piece(program: &Program, number: usize) -> Result<(), String> {
    let tensor = &program.fixed.tensors[number];
    let Some(piece) = &program.pieces[number] else {
        law!(7, tensor.role == Role::Temporary, "{} is streamed, and a piece of nothing", tensor.name);
        return Ok(());
    };
    let name = &tensor.name;
    law!(7, tensor.role != Role::Temporary, "the temporary {name} is a piece");
    law!(7, piece.index.len() == piece.shape.len(), "{name}: an index for each dimension of {}", piece.name);
    for &dimension in &piece.turned {
        let own = |form: &Affine| *form == Affine { offset: 1, ..Affine::iterator(IterId(dimension)) };
        let of = piece.index.iter().position(own);
        let all = of.is_some_and(|whole| tensor.shape.get(dimension) == Some(&piece.shape[whole]));
        law!(7, all, "{name}: dimension {dimension} is turned, and not all of one of {}", piece.name);
    }
    for (d, (form, &extent)) in piece.index.iter().zip(&piece.shape).enumerate() {
        if form.terms.iter().any(|term| piece.turned.contains(&term.0.0)) {
            continue;
        }
        let tile = program.tile.filter(|_| piece.samples == Some(d));
        let extent = tile.map_or(extent, |tile| tile.samples);
        let inside = |(low, high): (i64, i64)| low >= 0 && high < i64::from(extent);
        // What no operation reads of a window may lie outside: it is padding.
        let right = inside(reach(form, &tensor.shape)) || inside(reads_of(program, number, form));
        law!(7, right, "{name}: outside {}", piece.name);
    }
    Ok(())
}

/// The smallest and the largest value of a form over the dimensions of a tensor at what is read of the tensor.
fn reads_of(program: &Program, number: usize, form: &Affine) -> (i64, i64) {
    let mut all: Option<(i64, i64)> = None;
    for operation in &program.fixed.operations {
        for_each_access(operation, |tensor, index, written| {
            if tensor.0 == number && !written {
                let at =
                    |sum: Affine, &(dimension, coefficient): &(IterId, i64)| sum.plus(coefficient, &index[dimension.0]);
                let (low, high) = form.terms.iter().fold(Affine::constant(form.offset), at).range(&operation.iterators);
                let (least, most) = all.unwrap_or((low, high));
                all = Some((least.min(low), most.max(high)));
            }
        });
    }
    all.unwrap_or((0, 0))
}

/// The smallest and the largest value of a form over the elements of a box.
fn reach(form: &Affine, shape: &[u32]) -> (i64, i64) {
    form.terms.iter().fold((form.offset, form.offset), |(low, high), &(dimension, coefficient)| {
        let last = coefficient * (i64::from(shape[dimension.0]) - 1);
        (low + last.min(0), high + last.max(0))
    })
}

/// Law 8.
fn verify_tiles(program: &Program) -> Result<(), String> {
    let Some(tile) = program.tile else {
        let samples = program.pieces.iter().flatten().find(|piece| piece.samples.is_some());
        law!(8, samples.is_none(), "a piece of some samples where a step has all");
        return Ok(());
    };
    for piece in program.pieces.iter().flatten() {
        let Some(dimension) = piece.samples else { continue };
        law!(8, piece.shape[dimension] == tile.samples * tile.count, "{}: samples of a batch", piece.name);
    }
    if let Err(whole) = tile::tiles(&program.fixed) {
        return Err(format!("law 8: a step is a tile, but {}", whole.why));
    }
    Ok(())
}
