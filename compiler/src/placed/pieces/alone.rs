//! Alone: the last values of an index that would fill the grid evenly without them, where the index is also summed over.
//!
//!     a[q] = sum[p](w[q][p] * x[p]),  q in 0..5, 4 PEs     =>      a[q] = sum[p](w[q][p] * x[p]),  q in 0..4
//!     h = sum[q](v[q] * a[q])                                      a[4] = sum[p](w.last[p] * x.again[p])
//!                                                                  h = sum[q](v[q] * a[q])
//!
//! Half a sum cannot be rounded, so `a` and `v` stay whole; what only one value of the index needs is apart ([`pieces`](super) has the
//! indices that nothing sums over). Where the products of the last ones would have a wave to themselves, `p` lies on the PEs for them.

use super::{copy_for_rest, named, rewritten};
use crate::fixed::{self, Role, Tensor, for_each_access};
use crate::placed::classes::Classes;
use crate::placed::{Piece, Program, tile};
use crate::tensor::{Affine, IterId, TensorId};
use arch::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The program with the last values apart of the longest index where that fills the grid; `None` where there is no such index.
pub(crate) fn last(program: &Program, machine: &Machine) -> Option<Program> {
    let classes = Classes::of(&program.fixed);
    // Each sample of a tile is computed like the others.
    let samples = program.tile.map(|_| tile::samples(&program.fixed, &classes)).unwrap_or_default();
    let mut others = classes.movable.iter().copied().filter(|class| !samples.contains(class));
    others.find_map(|class| Some(Apart::new(program, &classes, class, machine)?.done(&classes, class)))
}

/// A program that is taken apart.
struct Apart<'a> {
    whole: &'a Program,
    /// The values that are apart.
    values: Range<i64>,
    /// Operations of which they are apart, with the iterator of the class.
    split: BTreeMap<usize, usize>,
    /// Tensors of which the elements from the first of these values on are apart, with the dimension of the class.
    cut: BTreeMap<usize, usize>,
}

/// Values that are apart at most: each has operations and instructions of its own.
pub(crate) const MOST_APART: i64 = 8;

impl<'a> Apart<'a> {
    fn new(whole: &'a Program, classes: &Classes, class: usize, machine: &Machine) -> Option<Apart<'a>> {
        let program = &whole.fixed;
        let mut iterators = BTreeMap::new();
        let mut summed: BTreeSet<usize> = BTreeSet::new();
        for (number, (operation, own)) in program.operations.iter().zip(&classes.iterators).enumerate() {
            let mut of_class = (0..own.len()).filter(|&iterator| own[iterator] == class);
            let Some(iterator) = of_class.next() else { continue };
            if of_class.next().is_some() {
                return None;
            }
            if iterator >= operation.free {
                for_each_access(operation, |tensor, _, _| _ = summed.insert(tensor.0));
            } else {
                iterators.insert(number, iterator);
            }
        }
        let cut: BTreeMap<usize, usize> = (0..program.tensors.len())
            .filter(|tensor| !summed.contains(tensor))
            .filter_map(|tensor| Some((tensor, classes.tensors[tensor].iter().position(|&own| own == class)?)))
            .collect();
        let (mut split, mut numbered) = (BTreeMap::new(), false);
        for (number, operation) in program.operations.iter().enumerate() {
            for_each_access(operation, |tensor, index, _| {
                let Some(&dimension) = cut.get(&tensor.0) else { return };
                match iterators.get(&number) {
                    Some(&iterator) if index[dimension].as_iterator().is_some() => {
                        split.insert(number, iterator);
                    }
                    _ => numbered = true,
                }
            });
        }
        let ranges = || split.iter().map(|(&number, &iterator)| &program.operations[number].iterators[iterator]);
        let high = ranges().map(|range| range.high).max()?;
        let pes = i64::from(machine.pes());
        let values = high - high % pes..high;
        let fills = high > pes
            && (1..=MOST_APART).contains(&(high % pes))
            && ranges().all(|range| (range.low, range.high) == (0, high));
        let small = cut.iter().all(|(&tensor, &dimension)| {
            let Tensor { role, shape, .. } = &program.tensors[tensor];
            // A bias may lie behind them.
            let behind = i64::from(shape[dimension]) - high;
            !matches!(role, Role::Output | Role::Parameter(_)) && (0..=1).contains(&behind)
        });
        // What one value asks for fills the grid by itself: less is not worth instructions of its own.
        let worth = split.iter().any(|(&number, &iterator)| {
            let others =
                program.operations[number].iterators.iter().enumerate().filter(|(other, _)| *other != iterator);
            others.map(|(_, range)| (range.high - range.low).max(0)).product::<i64>() >= pes
        });
        (fills && small && worth && !numbered && !summed.is_empty()).then_some(Apart { whole, values, split, cut })
    }

    fn done(&self, classes: &Classes, class: usize) -> Program {
        let Apart { whole, values, split, cut } = self;
        let (mut fixed, mut pieces) = (whole.fixed.clone(), whole.pieces.clone());
        let mut apart: BTreeMap<(usize, i64), TensorId> = BTreeMap::new();
        for (&tensor, &dimension) in cut {
            let own = &whole.fixed.tensors[tensor];
            for element in values.start..i64::from(own.shape[dimension]) {
                let used = values.contains(&element);
                if !used && own.role == Role::Temporary {
                    continue;
                }
                let id = TensorId(fixed.tensors.len());
                let mut shape = own.shape.clone();
                shape.remove(dimension);
                let name = named(&fixed.tensors, &own.name, if used { ".last" } else { ".behind" });
                fixed.tensors.push(Tensor { name, shape, ..own.clone() });
                pieces.push(whole.pieces[tensor].as_ref().map(|piece| element_of(piece, own, dimension, element)));
                if used {
                    apart.insert((tensor, element), id);
                }
            }
            fixed.tensors[tensor].shape[dimension] = values.start as u32;
            if let Some(piece) = &mut pieces[tensor] {
                // What is left is a range of the whole tensor's elements.
                piece.turned.retain(|&turned| turned != dimension);
            }
        }
        let mut copies: BTreeMap<usize, TensorId> = BTreeMap::new();
        let mut operations = Vec::new();
        for (number, operation) in whole.fixed.operations.iter().enumerate() {
            let Some(&iterator) = split.get(&number) else {
                operations.push(operation.clone());
                continue;
            };
            let mut main = operation.clone();
            main.iterators[iterator].high = values.start;
            operations.push(main);
            for value in values.clone() {
                let mut last = rewritten(operation, |tensor, index| {
                    let mut index: Vec<Affine> = index.iter().map(|form| without(form, iterator, value)).collect();
                    if let Some(&own) = apart.get(&(tensor.0, value)) {
                        index.remove(cut[&tensor.0]);
                        return (own, index);
                    }
                    if classes.tensors[tensor.0].contains(&class) {
                        return (tensor, index);
                    }
                    let copy = copies.get(&tensor.0).copied();
                    let copy = copy.unwrap_or_else(|| copy_for_rest(&mut fixed, &mut pieces, &mut copies, tensor));
                    (copy, index)
                });
                last.iterators.remove(iterator);
                last.free -= 1;
                operations.push(last);
            }
        }
        fixed.operations = operations;
        fixed::verify(&fixed);
        Program::local(fixed, pieces, whole.tile)
    }
}

/// The piece that is one element along a dimension.
fn element_of(piece: &Piece, tensor: &Tensor, dimension: usize, element: i64) -> Piece {
    // The last of what is turned is the first of the whole tensor.
    let first = piece.turned.contains(&dimension) && element + 1 == i64::from(tensor.shape[dimension]);
    let element = if first { -1 } else { element };
    let behind = |dimensions: &[usize]| -> Vec<usize> {
        let others = dimensions.iter().filter(|&&other| other != dimension);
        others.map(|&other| other - usize::from(other > dimension)).collect()
    };
    let index = piece.index.iter().map(|form| without(form, dimension, element)).collect();
    Piece { index, turned: behind(&piece.turned), ..piece.clone() }
}

/// A form at one value of an iterator or a dimension, which is left out: those behind it move up.
fn without(form: &Affine, iterator: usize, value: i64) -> Affine {
    let mut result = Affine::constant(form.offset);
    for &(IterId(other), coefficient) in &form.terms {
        match other.cmp(&iterator) {
            std::cmp::Ordering::Equal => result.offset += coefficient * value,
            std::cmp::Ordering::Less => result.terms.push((IterId(other), coefficient)),
            std::cmp::Ordering::Greater => result.terms.push((IterId(other - 1), coefficient)),
        }
    }
    result
}
