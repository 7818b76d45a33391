//! Place: on which axis of the grid each index lives.
//!
//!     h = sum[i](w[i] * x[i])          w.0, x.0, i are one class;  class on the grid axis:
//!                                      PE p holds w[p], w[p + P], ...; the sum goes through the trees
//!
//! Indices that meet in an access (`w[i]` and iterator `i`) form a *class*; each class is placed as a whole, so operands
//! always lie where they are used, and a tensor is replicated along the axes it does not use. Placing everything
//! locally is always possible (every PE does everything); among all other choices a cost model picks. Nothing here
//! knows what the program is.

use super::cost;
use crate::fixed::{Kind, Operand, Operation, Program};
use crate::tensor::{Affine, TensorId};
use arch::isa::Finish;
use arch::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// Where the values of one index go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Axis {
    /// Consecutive words of one PE.
    Local,
    /// Cyclic over the columns (PEs of a PU).
    Column,
    /// Cyclic over the rows (PUs).
    Row,
    /// Cyclic over all PEs, columns fastest.
    Grid,
}

impl Axis {
    /// All axes.
    pub const ALL: [Axis; 4] = [Axis::Local, Axis::Column, Axis::Row, Axis::Grid];

    /// Number of lanes of this axis.
    pub fn lanes(self, machine: &Machine) -> u32 {
        match self {
            Axis::Local => 1,
            Axis::Column => machine.pes_per_pu(),
            Axis::Row => machine.pus(),
            Axis::Grid => machine.pes(),
        }
    }

    /// Whether two different indices of one tensor or operation may lie on these axes.
    fn agrees_with(self, other: Axis) -> bool {
        matches!(
            (self, other),
            (Axis::Local, _) | (_, Axis::Local) | (Axis::Row, Axis::Column) | (Axis::Column, Axis::Row)
        )
    }
}

impl std::fmt::Display for Axis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Axis::Local => "local",
            Axis::Column => "columns",
            Axis::Row => "rows",
            Axis::Grid => "grid",
        })
    }
}

/// The axes of every tensor dimension and every iterator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Per tensor, per dimension.
    pub tensors: Vec<Vec<Axis>>,
    /// Per operation, per iterator.
    pub iterators: Vec<Vec<Axis>>,
    /// Estimated cycles of one step.
    pub cost: u64,
}

/// Call `visit` for every access of an operation: the tensor, its index, whether it is written.
pub(super) fn for_each_access(operation: &Operation, mut visit: impl FnMut(TensorId, &[Affine], bool)) {
    let mut read = |operand: &Operand| {
        if let Operand::Read { tensor, index } = operand {
            visit(*tensor, index, false);
        }
    };
    match &operation.kind {
        Kind::MultiplyAdd { start, product, .. } => {
            start.iter().for_each(&mut read);
            if let Some((a, b)) = product {
                read(a);
                read(b);
            }
        }
        Kind::Product { factor, .. } => read(factor),
        Kind::Function { input, .. } => read(input),
    }
    visit(operation.out, &operation.out_index, true);
}

/// The classes of a program: which indices have to be placed together, and which classes meet.
struct Classes {
    tensors: Vec<Vec<usize>>,
    iterators: Vec<Vec<usize>>,
    /// Classes that may leave the PE.
    movable: Vec<usize>,
    /// Pairs of classes that meet in a tensor or an operation.
    meet: BTreeSet<(usize, usize)>,
}

fn find(parents: &mut [usize], mut node: usize) -> usize {
    while parents[node] != node {
        parents[node] = parents[parents[node]];
        node = parents[node];
    }
    node
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
    for (operation, own) in program.operations.iter().zip(&iterators) {
        for_each_access(operation, |tensor, index, _| {
            for (affine, &dimension) in index.iter().zip(&tensors[tensor.0]) {
                if let Some(iterator) = affine.as_iterator() {
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
        let inside = match &operation.kind {
            Kind::Product { .. } => true,
            Kind::MultiplyAdd { start, finish, .. } => start.is_some() || *finish == Finish::Negative,
            Kind::Function { .. } => false,
        };
        if inside {
            own[operation.free..].iter().for_each(|&node| local[node] = true);
        }
    }
    let mut root = |node: &mut usize| *node = find(&mut parents, *node);
    tensors.iter_mut().flatten().for_each(&mut root);
    iterators.iter_mut().flatten().for_each(&mut root);
    let mut stays: BTreeSet<usize> = (0..count).filter(|&n| local[n]).map(|n| find(&mut parents, n)).collect();
    let mut meet = BTreeSet::new();
    for group in tensors.iter().chain(&iterators) {
        for (n, &a) in group.iter().enumerate() {
            for &b in &group[n + 1..] {
                if a == b {
                    // Two indices of one class in one place, as in `a[i][i]`.
                    stays.insert(a);
                }
                meet.insert((a.min(b), a.max(b)));
            }
        }
    }
    let mut extents: BTreeMap<usize, u32> = BTreeMap::new();
    for (tensor, own) in program.tensors.iter().zip(&tensors) {
        for (&extent, &class) in tensor.shape.iter().zip(own) {
            let largest = extents.entry(class).or_insert(0);
            *largest = extent.max(*largest);
        }
    }
    let mut movable: Vec<usize> =
        extents.iter().filter(|&(class, &extent)| extent > 1 && !stays.contains(class)).map(|(&c, _)| c).collect();
    movable.sort_by_key(|class| std::cmp::Reverse(extents[class]));
    // 4^8 placements are tried at most; what is beyond are the smallest indices of an unusually large program.
    movable.truncate(8);
    Classes { tensors, iterators, movable, meet }
}

/// All placements worth trying, cheapest first. The last one, all local, always works if it fits.
pub(super) fn place(program: &Program, machine: &Machine) -> Vec<Placement> {
    let classes = classes(program);
    let mut found: Vec<Placement> = Vec::new();
    let axes: Vec<Axis> = Axis::ALL.into_iter().filter(|a| *a == Axis::Local || a.lanes(machine) > 1).collect();
    let axes: Vec<Axis> = if machine.pus() == 1 || machine.pes_per_pu() == 1 {
        // With a single row or column the grid axis is that column or row.
        axes.into_iter().filter(|a| *a == Axis::Local || *a == Axis::Grid).collect()
    } else {
        axes
    };
    let total = axes.len().pow(classes.movable.len() as u32);
    for number in 0..total {
        let mut rest = number;
        let mut chosen: BTreeMap<usize, Axis> = BTreeMap::new();
        for &class in &classes.movable {
            chosen.insert(class, axes[rest % axes.len()]);
            rest /= axes.len();
        }
        let axis = |class: &usize| chosen.get(class).copied().unwrap_or(Axis::Local);
        if classes.meet.iter().any(|(a, b)| !axis(a).agrees_with(axis(b))) {
            continue;
        }
        let place = |groups: &[Vec<usize>]| groups.iter().map(|g| g.iter().map(axis).collect()).collect();
        let mut placement =
            Placement { tensors: place(&classes.tensors), iterators: place(&classes.iterators), cost: 0 };
        placement.cost = cost::step(program, machine, &placement);
        found.push(placement);
    }
    found.sort_by_key(|p| p.cost);
    found
}
