//! Classes: which indices have to lie on the same axis.
//!
//!     h[q] = sum[i](w[q][i] * x[i])      =>      {h.0, w.0, q}   {w.1, x.0, i}      the two meet in `w`
//!
//! Indices that meet in an access (`w[q][i]` and iterators `q` and `i`) form a *class*; each class is placed as a whole, so operands
//! always lie where they are used, and a tensor is replicated along the axes it does not use. An index that is computed from several
//! iterators, or of something that the trees cannot do, stays inside the PE.

use super::carries;
use super::legal::starts;
use crate::fixed::{Program, for_each_access};
use arch::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// The classes of a program: which indices have to be placed together, and which classes meet.
pub(crate) struct Classes {
    /// Per tensor, per dimension.
    pub(crate) tensors: Vec<Vec<usize>>,
    /// Per operation, per iterator.
    pub(crate) iterators: Vec<Vec<usize>>,
    /// Classes that may leave the PE, longest first.
    pub(crate) movable: Vec<usize>,
    /// Classes two indices of which meet in one tensor or operation, so that none of them can leave the PE.
    pub(crate) tangled: BTreeSet<usize>,
    /// Length of the longest index of each class.
    pub(crate) extents: BTreeMap<usize, u32>,
}

/// The representative of a node, in a forest of nodes that belong together.
pub(crate) fn find(parents: &mut [usize], mut node: usize) -> usize {
    while parents[node] != node {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    node
}

impl Classes {
    /// The classes that do not fill the grid evenly, longest first, and where to cut them.
    pub(crate) fn uneven(&self, machine: &Machine) -> Vec<(usize, i64)> {
        let pes = machine.pes();
        let uneven = |&class: &usize| {
            let extent = self.extents[&class];
            (extent > pes && !extent.is_multiple_of(pes)).then_some((class, i64::from(extent - extent % pes)))
        };
        self.movable.iter().filter_map(uneven).collect()
    }

    /// The classes of a program.
    pub(crate) fn of(program: &Program) -> Classes {
        classes(program)
    }
}

fn classes(program: &Program) -> Classes {
    let mut count = 0;
    let mut fresh = |n: usize| -> Vec<usize> {
        count += n;
        (count - n..count).collect()
    };
    let mut tensors: Vec<Vec<usize>> = program.tensors.iter().map(|t| fresh(t.shape.len())).collect();
    let mut iterators: Vec<Vec<usize>> = program.operations.iter().map(|o| fresh(o.iterators.len())).collect();
    let mut parents: Vec<usize> = (0..count).collect();
    let mut local = vec![false; count];
    let carried = carries::free_iterators(program);
    for (number, (operation, own)) in program.operations.iter().zip(&iterators).enumerate() {
        for_each_access(operation, |tensor, index, written| {
            for (affine, &dimension) in index.iter().zip(&tensors[tensor.0]) {
                if let Some(iterator) = affine.as_iterator() {
                    if written && carried.contains(&(number, iterator)) {
                        continue;
                    }
                    let (a, b) = (find(&mut parents, dimension), find(&mut parents, own[iterator.0]));
                    parents[a] = b;
                } else if affine.as_constant().is_none() {
                    // An address that is computed from several iterators has to be computed inside the PE.
                    local[dimension] = true;
                    affine.terms.iter().for_each(|&(iterator, _)| local[own[iterator.0]] = true);
                }
            }
        });
        // What the trees cannot do is summed (or chained) inside the PE.
        let inside = own.iter().enumerate().filter(|&(iterator, _)| starts::stays_inside(operation, iterator));
        inside.for_each(|(_, &node)| local[node] = true);
    }
    let mut root = |node: &mut usize| *node = find(&mut parents, *node);
    tensors.iter_mut().flatten().for_each(&mut root);
    iterators.iter_mut().flatten().for_each(&mut root);
    let mut stays: BTreeSet<usize> = (0..count).filter(|&n| local[n]).map(|n| find(&mut parents, n)).collect();
    let mut tangled = BTreeSet::new();
    for group in tensors.iter().chain(&iterators) {
        for (n, &a) in group.iter().enumerate() {
            for &b in &group[n + 1..] {
                if a == b {
                    // Two indices of one class in one place, as in `a[i][i]`.
                    stays.insert(a);
                    tangled.insert(a);
                }
            }
        }
    }
    let extents = extents(program, &tensors);
    let mut movable: Vec<usize> =
        extents.iter().filter(|&(class, &extent)| extent > 1 && !stays.contains(class)).map(|(&c, _)| c).collect();
    movable.sort_by_key(|class| std::cmp::Reverse(extents[class]));
    Classes { tensors, iterators, movable, tangled, extents }
}

/// The largest extent of each class.
fn extents(program: &Program, tensors: &[Vec<usize>]) -> BTreeMap<usize, u32> {
    let mut extents: BTreeMap<usize, u32> = BTreeMap::new();
    for (tensor, own) in program.tensors.iter().zip(tensors) {
        for (&extent, &class) in tensor.shape.iter().zip(own) {
            let largest = extents.entry(class).or_insert(0);
            *largest = extent.max(*largest);
        }
    }
    extents
}
