//! Blocks: an index that an input is read along, together with others, is dealt out to the PEs in blocks and not in turn.
//!
//!     o[i] = sum[k](w[k] * x[i + k])    i in 0..8, 2 PEs    =>    o[p][q] = sum[k](w[k] * x.in[p][q + k])    p in 0..2, q in 0..4
//!
//! A [window](super::windows) for each result makes neighbours on one PE load the same elements again: 4 results of 3 products take 12 words, where
//! 6 are different. In a block they are beside each other and read what they share. What lies at `p` is row by row where it was: results
//! leave as before, and an element of `x.in` is `x[4 * p + m]`. Whether it pays is for the shortest step.

use super::classes::Classes;
use super::pieces::rewritten;
use super::windows::is_computed;
use super::{Piece, Program};
use crate::fixed::{self, Operation, Role, Tensor, for_each_access};
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// The program with blocks, in every way that is tried: one class of indices, and if there are several all of them, which comes last.
pub(crate) fn variants(whole: &Program, machine: &Machine) -> Vec<Program> {
    let count = candidates(&whole.fixed).len();
    let alone: Vec<Program> = (0..count).filter_map(|number| in_blocks(whole, number, machine)).collect();
    // Once one is cut, classes have other numbers, and what is inside its blocks could be cut like any other.
    let mut all = whole.clone();
    let mut cut = 0;
    while cut < alone.len() {
        let more = (0..candidates(&all.fixed).len()).find_map(|number| in_blocks(&all, number, machine));
        let Some(more) = more else { break };
        all = more;
        cut += 1;
    }
    alone.into_iter().chain((cut > 1).then_some(all)).collect()
}

/// Classes of free indices along which inputs are read together with other indices.
fn candidates(program: &fixed::Program) -> Vec<usize> {
    let classes = Classes::of(program);
    let mut found = BTreeSet::new();
    for (operation, own) in program.operations.iter().zip(&classes.iterators) {
        for_each_access(operation, |tensor, index, _| {
            let input = program.tensors[tensor.0].role == Role::Input;
            // One index alone, `2 * i`, shares nothing with its neighbours.
            let shared = index.iter().filter(|form| input && is_computed(form) && form.terms.len() > 1);
            let free = shared.flat_map(|form| &form.terms).filter(|term| term.0.0 < operation.free && term.1 > 0);
            found.extend(free.map(|term| own[term.0.0]));
        });
    }
    found.into_iter().collect()
}

/// How many blocks an index of so many values has: as many as there are PEs, or rows, or columns.
fn blocks(extent: u32, machine: &Machine) -> Option<u32> {
    let lanes = [machine.pes(), machine.pus(), machine.pes_per_pu()];
    lanes.into_iter().filter(|&lanes| lanes > 1 && extent > lanes && extent.is_multiple_of(lanes)).max()
}

/// An input, its dimension that is read at a sum, the coefficient of the index that is cut, and the first element of a block that is read.
type Window = (TensorId, usize, i64, i64);

/// One class of indices that is cut.
struct Cut<'a> {
    program: &'a fixed::Program,
    classes: Classes,
    class: usize,
    /// Values of a block.
    size: i64,
}

impl Cut<'_> {
    fn dimension(&self, tensor: TensorId) -> Option<usize> {
        self.classes.tensors[tensor.0].iter().position(|&class| class == self.class)
    }

    fn iterator(&self, operation: usize) -> Option<usize> {
        self.classes.iterators[operation].iter().position(|&class| class == self.class)
    }

    /// Whether all that counts along the class counts all of it, one by one, and only inputs are read otherwise.
    fn is_possible(&self, extent: u32, pieces: &[Option<Piece>]) -> bool {
        let several = |own: &Vec<usize>| own.iter().filter(|&&class| class == self.class).count() > 1;
        let Cut { program, classes, .. } = self;
        if classes.tensors.iter().chain(&classes.iterators).any(several) {
            return false;
        }
        let whole =
            |tensor: usize| self.dimension(TensorId(tensor)).is_none_or(|d| program.tensors[tensor].shape[d] == extent);
        if !(0..program.tensors.len()).all(whole) {
            return false;
        }
        // The samples of a tile stay together.
        let samples = |tensor: usize| {
            let (piece, dimension) = (pieces[tensor].as_ref()?, self.dimension(TensorId(tensor))?);
            let form = &piece.index[piece.samples?];
            form.terms.iter().any(|term| term.0.0 == dimension).then_some(())
        };
        if (0..program.tensors.len()).any(|tensor| samples(tensor).is_some()) {
            return false;
        }
        program.operations.iter().enumerate().all(|(number, operation)| {
            let own = self.iterator(number);
            let range = own.map(|i| &operation.iterators[i]);
            let mut possible = range.is_none_or(|range| (range.low, range.high) == (0, i64::from(extent)));
            for_each_access(operation, |tensor, index, written| {
                let of_class = self.dimension(tensor);
                let mut sums = 0;
                for (d, form) in index.iter().enumerate() {
                    let coefficient = own.and_then(|i| form.terms.iter().find(|term| term.0.0 == i)).map(|term| term.1);
                    let alone = form.as_iterator().is_some();
                    // An element by its number, or a sum, along what is cut.
                    possible &= of_class != Some(d) || alone;
                    if let (Some(coefficient), false) = (coefficient, alone) {
                        sums += 1;
                        let input = program.tensors[tensor.0].role == Role::Input;
                        possible &= coefficient > 0 && input && !written && of_class.is_none();
                    }
                }
                possible &= sums < 2;
            });
            possible
        })
    }

    /// What a read along the class becomes, with the part of the index inside a block; `None` where it stays as it is.
    fn window(&self, operation: usize, tensor: TensorId, index: &[Affine]) -> Option<(Window, Affine)> {
        let own = self.iterator(operation)?;
        let sum = |form: &Affine| form.terms.iter().find(|term| term.0.0 == own).map(|term| term.1);
        let at = index.iter().position(|form| form.as_iterator().is_none() && sum(form).is_some())?;
        let coefficient = sum(&index[at])?;
        // In a block the index runs from 0 to its size.
        let mut iterators = self.program.operations[operation].iterators.clone();
        iterators[own].high = self.size;
        let low = index[at].range(&iterators).0;
        Some(((tensor, at, coefficient, low), index[at].plus(-1, &Affine::constant(low))))
    }

    /// A form over iterators, or dimensions, one of which has become two: what counted it counts the block.
    fn behind(form: &Affine, cut: Option<usize>, block: i64) -> Affine {
        let Some(cut) = cut else { return form.clone() };
        let terms = form.terms.iter().flat_map(|&(IterId(number), coefficient)| match number.cmp(&cut) {
            std::cmp::Ordering::Less => vec![(IterId(number), coefficient)],
            std::cmp::Ordering::Equal => vec![(IterId(cut), coefficient * block), (IterId(cut + 1), coefficient)],
            std::cmp::Ordering::Greater => vec![(IterId(number + 1), coefficient)],
        });
        let terms = terms.filter(|term| term.1 != 0).collect();
        Affine { offset: form.offset, terms }
    }
}

/// The program with the candidate of this number in blocks; `None` where it cannot be cut, or there are no more values than blocks.
fn in_blocks(whole: &Program, candidate: usize, machine: &Machine) -> Option<Program> {
    let program = &whole.fixed;
    let class = candidates(program)[candidate];
    let classes = Classes::of(program);
    let extent = *classes.extents.get(&class)?;
    let count = blocks(extent, machine)?;
    let cut = Cut { program, classes, class, size: i64::from(extent / count) };
    if !cut.is_possible(extent, &whole.pieces) {
        return None;
    }
    let (extents, mut read) = windows(program, &cut);
    let (mut fixed, mut pieces) = (program.clone(), whole.pieces.clone());
    for (id, (tensor, piece)) in fixed.tensors.iter_mut().zip(&mut pieces).enumerate() {
        let Some(d) = cut.dimension(TensorId(id)) else { continue };
        tensor.shape[d] = count;
        tensor.shape.insert(d + 1, cut.size as u32);
        if let Some(piece) = piece {
            piece.index.iter_mut().for_each(|form| *form = Cut::behind(form, Some(d), cut.size));
        }
    }
    let mut places: BTreeMap<Window, TensorId> = BTreeMap::new();
    for (window, extent) in extents {
        let (of, d, coefficient, low) = window;
        let original = &program.tensors[of.0];
        let mut name = format!("{}.in", original.name);
        while fixed.tensors.iter().any(|tensor| tensor.name == name) {
            name.push('+');
        }
        let mut tensor = Tensor { name, ..original.clone() };
        tensor.shape[d] = count;
        tensor.shape.insert(d + 1, extent);
        // The first element of a block, and how far behind it.
        let along = |form: &Affine| {
            let own = form.terms.iter().find(|term| term.0.0 == d).map_or(0, |term| term.1);
            let mut form = Cut::behind(form, Some(d), coefficient * cut.size);
            form.offset += own * low;
            form
        };
        let piece = pieces[of.0].clone().map(|piece| Piece { index: piece.index.iter().map(along).collect(), ..piece });
        // What nothing reads as it is need not be loaded.
        let place = if read.insert(of) { of } else { TensorId(fixed.tensors.len()) };
        if place == of {
            (fixed.tensors[of.0], pieces[of.0]) = (tensor, piece);
        } else {
            fixed.tensors.push(tensor);
            pieces.push(piece);
        }
        places.insert(window, place);
    }
    let operations = program.operations.iter().enumerate();
    fixed.operations =
        operations.map(|(number, operation)| cut_operation(&cut, number, operation, count, &places)).collect();
    fixed::verify(&fixed);
    Some(Program::local(fixed, pieces, whole.tile))
}

/// The extent of each window, and the tensors that are still read as they are.
fn windows(program: &fixed::Program, cut: &Cut<'_>) -> (BTreeMap<Window, u32>, BTreeSet<TensorId>) {
    let mut extents: BTreeMap<Window, u32> = BTreeMap::new();
    let mut read: BTreeSet<TensorId> = BTreeSet::new();
    for (number, operation) in program.operations.iter().enumerate() {
        for_each_access(operation, |tensor, index, _| {
            let Some((window, inside)) = cut.window(number, tensor, index) else {
                read.insert(tensor);
                return;
            };
            let mut iterators = operation.iterators.clone();
            iterators[cut.iterator(number).expect("it reads along the class")].high = cut.size;
            let extent = u32::try_from(inside.range(&iterators).1 + 1).unwrap_or(u32::MAX);
            let largest = extents.entry(window).or_insert(extent);
            *largest = extent.max(*largest);
        });
    }
    (extents, read)
}

/// An operation over blocks, and what is inside them.
fn cut_operation(
    cut: &Cut<'_>,
    number: usize,
    operation: &Operation,
    count: u32,
    places: &BTreeMap<Window, TensorId>,
) -> Operation {
    let own = cut.iterator(number);
    let mut result = rewritten(operation, |tensor, index| {
        if let Some((window, inside)) = cut.window(number, tensor, index) {
            let own = own.expect("it reads along the class");
            let forms = index.iter().enumerate().flat_map(|(d, form)| {
                if d != window.1 {
                    return vec![Cut::behind(form, Some(own), 1)];
                }
                // Inside a block the index that is cut counts from 0.
                vec![Affine::iterator(IterId(own)), Cut::behind(&inside, Some(own), 0)]
            });
            return (places[&window], forms.collect());
        }
        let of_class = cut.dimension(tensor);
        let forms = index.iter().enumerate().flat_map(|(d, form)| match (own, of_class) {
            (Some(own), Some(dimension)) if d == dimension => {
                vec![Affine::iterator(IterId(own)), Affine::iterator(IterId(own + 1))]
            }
            _ => vec![Cut::behind(form, own, 1)],
        });
        (tensor, forms.collect())
    });
    if let Some(own) = own {
        result.iterators[own] = Iterator { high: i64::from(count), ..result.iterators[own].clone() };
        result.iterators.insert(own + 1, Iterator { low: 0, high: cut.size, ..operation.iterators[own].clone() });
        result.free += usize::from(own < operation.free);
    }
    result
}
