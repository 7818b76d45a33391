//! Place: on which axis of the grid each index lives.
//!
//!     h = sum[i](w[i] * x[i])          w.0, x.0, i are one class;  class on the grid axis:
//!                                      PE p holds w[p], w[p + P], ...; the sum goes through the trees
//!
//! Indices that meet in an access (`w[i]` and iterator `i`) form a *class*; each class is placed as a whole, so operands
//! always lie where they are used, and a tensor is replicated along the axes it does not use. Placing everything
//! locally is always possible (every PE does everything); among all other choices a cost model picks. Nothing here
//! knows what the program is.

use super::cost::Cost;
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
    /// Cyclic over all PEs, rows fastest: what [`crate::jobs::reshard`] makes of rows.
    Tall,
}

impl Axis {
    /// The axes that are tried for every index.
    pub const ALL: [Axis; 4] = [Axis::Local, Axis::Column, Axis::Row, Axis::Grid];

    /// Number of lanes of this axis.
    pub fn lanes(self, machine: &Machine) -> u32 {
        match self {
            Axis::Local => 1,
            Axis::Column => machine.pes_per_pu(),
            Axis::Row => machine.pus(),
            Axis::Grid | Axis::Tall => machine.pes(),
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
            Axis::Tall => "grid, rows fastest",
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

impl Placement {
    /// Whether everything lies where it does in another one, whatever it is estimated to cost.
    pub(crate) fn lies_as(&self, other: &Placement) -> bool {
        self.tensors == other.tensors && self.iterators == other.iterators
    }
}

/// Call `visit` for every access of an operation: the tensor, its index, whether it is written.
pub(crate) fn for_each_access(operation: &Operation, mut visit: impl FnMut(TensorId, &[Affine], bool)) {
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
        Kind::Divide { dividend, divisor, .. } => {
            read(dividend);
            read(divisor);
        }
        Kind::Function { input, .. } => read(input),
    }
    visit(operation.out, &operation.out_index, true);
}

/// The classes of a program: which indices have to be placed together, and which classes meet.
pub(crate) struct Classes {
    /// Per tensor, per dimension.
    pub(crate) tensors: Vec<Vec<usize>>,
    /// Per operation, per iterator.
    pub(crate) iterators: Vec<Vec<usize>>,
    /// Classes that may leave the PE, longest first.
    movable: Vec<usize>,
    /// Pairs of classes that meet in a tensor or an operation.
    meet: BTreeSet<(usize, usize)>,
    extents: BTreeMap<usize, u32>,
}

fn find(parents: &mut [usize], mut node: usize) -> usize {
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
        Classes::with_reshards(program, &[])
    }

    fn placement(&self, cost: Cost, way: &Way) -> Placement {
        let place = |groups: &[Vec<usize>]| -> Vec<Vec<Axis>> {
            groups.iter().map(|g| g.iter().map(|&class| axis_of(way, class)).collect()).collect()
        };
        Placement { tensors: place(&self.tensors), iterators: place(&self.iterators), cost: cost.cycles() }
    }

    /// The classes of a program in which the results of some operations, along one iterator each, need not lie where that does.
    fn with_reshards(program: &Program, reshards: &[(usize, usize)]) -> Classes {
        classes(program, reshards)
    }
}

fn classes(program: &Program, reshards: &[(usize, usize)]) -> Classes {
    let mut count = 0;
    let mut fresh = |n: usize| -> Vec<usize> {
        count += n;
        (count - n..count).collect()
    };
    let mut tensors: Vec<Vec<usize>> = program.tensors.iter().map(|t| fresh(t.shape.len())).collect();
    let mut iterators: Vec<Vec<usize>> = program.operations.iter().map(|o| fresh(o.iterators.len())).collect();
    let mut parents: Vec<usize> = (0..count).collect();
    let mut local = vec![false; count];
    for (number, (operation, own)) in program.operations.iter().zip(&iterators).enumerate() {
        for_each_access(operation, |tensor, index, written| {
            for (affine, &dimension) in index.iter().zip(&tensors[tensor.0]) {
                if let Some(iterator) = affine.as_iterator() {
                    if written && reshards.contains(&(number, iterator.0)) {
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
        let inside = match &operation.kind {
            Kind::Product { .. } => true,
            // Every PE would add the start; the largest of several that start alike is the same.
            Kind::MultiplyAdd { start, combine, finish, .. } => {
                start.is_some() && !combine.compares() || *finish == Finish::Negative
            }
            Kind::Divide { .. } | Kind::Function { .. } => false,
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
    Classes { tensors, iterators, movable, meet, extents }
}

/// Indices of one independent part of a program that are tried on all axes: 4^8 ways at most; what is beyond are the smallest
/// indices of an unusually large program.
const TRIED_INDICES: usize = 8;

/// Ways that are kept for each of several independent parts, and altogether.
const KEPT_WAYS: usize = 6;
const KEPT_COMBINATIONS: usize = 512;
/// The last placements of a long list are far from the best.
const KEPT_PLACEMENTS: usize = 4096;

/// Operations and tensors that have to do with each other through some class.
#[derive(Default)]
struct Part {
    classes: Vec<usize>,
    operations: Vec<usize>,
    tensors: Vec<usize>,
}

/// Independent parts: no class of one meets an operation or a tensor of another.
fn parts(program: &Program, classes: &Classes, together: &[(usize, usize)]) -> Vec<Part> {
    let largest = classes.tensors.iter().chain(&classes.iterators).flatten().max().map_or(0, |&c| c + 1);
    let mut parents: Vec<usize> = (0..largest).collect();
    for &(one, other) in together {
        let (a, b) = (find(&mut parents, one), find(&mut parents, other));
        parents[a] = b;
    }
    let mut of_operation: Vec<Option<usize>> = Vec::new();
    for (operation, own) in program.operations.iter().zip(&classes.iterators) {
        let mut all = own.clone();
        for_each_access(operation, |tensor, _, _| all.extend(&classes.tensors[tensor.0]));
        for pair in all.windows(2) {
            let (a, b) = (find(&mut parents, pair[0]), find(&mut parents, pair[1]));
            parents[a] = b;
        }
        of_operation.push(all.first().copied());
    }
    for own in &classes.tensors {
        for pair in own.windows(2) {
            let (a, b) = (find(&mut parents, pair[0]), find(&mut parents, pair[1]));
            parents[a] = b;
        }
    }
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for &class in &classes.movable {
        parts.entry(find(&mut parents, class)).or_default().classes.push(class);
    }
    let nowhere = usize::MAX;
    for (number, class) in of_operation.iter().enumerate() {
        let part = class.map_or(nowhere, |class| find(&mut parents, class));
        parts.entry(part).or_default().operations.push(number);
    }
    for (number, own) in classes.tensors.iter().enumerate() {
        let part = own.first().map_or(nowhere, |&class| find(&mut parents, class));
        parts.entry(part).or_default().tensors.push(number);
    }
    parts.into_values().collect()
}

/// Axes of some classes; the others are local.
type Way = Vec<(usize, Axis)>;

fn axis_of(way: &Way, class: usize) -> Axis {
    way.iter().find(|(c, _)| *c == class).map_or(Axis::Local, |&(_, axis)| axis)
}

/// What the ways to place a program are looked for in.
struct Search<'a> {
    program: &'a Program,
    classes: &'a Classes,
    machine: &'a Machine,
    axes: &'a [Axis],
    /// Classes whose axis is decided.
    decided: Way,
    /// Whether the scalar unit does what it can.
    unit: bool,
}

impl Search<'_> {
    /// The cost of a way to place some operations and tensors, if the machine can do it.
    fn cost(&self, part: &Part, way: &Way) -> Option<Cost> {
        let place = |own: &[usize]| own.iter().map(|&class| axis_of(way, class)).collect::<Vec<Axis>>();
        let mut cost = Cost::default();
        for &number in &part.operations {
            let operation = &self.program.operations[number];
            let (axes, out) = (place(&self.classes.iterators[number]), place(&self.classes.tensors[operation.out.0]));
            cost = cost.plus(Cost::of_operation(self.program, operation, &axes, &out, self.machine, self.unit)?);
        }
        for &number in &part.tensors {
            let axes = place(&self.classes.tensors[number]);
            cost = cost.plus(Cost::of_tensor(&self.program.tensors[number], &axes, self.machine));
        }
        Some(cost)
    }

    /// All ways to place one part, cheapest first.
    fn ways(&self, part: &Part) -> Vec<(Cost, Way)> {
        let open = part.classes.iter().filter(|class| self.decided.iter().all(|(known, _)| known != *class));
        let tried: Vec<usize> = open.copied().take(TRIED_INDICES).collect();
        let mut found = Vec::new();
        for number in 0..self.axes.len().pow(tried.len() as u32) {
            let mut rest = number;
            let known = self.decided.iter().filter(|(class, _)| part.classes.contains(class));
            let mut way: Way = known.copied().collect();
            for &class in &tried {
                let axis = self.axes[rest % self.axes.len()];
                if axis != Axis::Local {
                    way.push((class, axis));
                }
                rest /= self.axes.len();
            }
            if self.classes.meet.iter().any(|&(a, b)| !axis_of(&way, a).agrees_with(axis_of(&way, b))) {
                continue;
            }
            found.extend(self.cost(part, &way).map(|cost| (cost, way)));
        }
        found.sort_by_key(|(cost, _)| cost.key());
        found
    }
}

/// Pairs of reshards that are tried, and placements with reshards that are kept.
const TRIED_RESHARDS: usize = 64;
const KEPT_WITH_RESHARDS: usize = 4;

/// Placements in which an index lies on the rows here and on all PEs there, cheapest first.
fn with_reshards(program: &Program, machine: &Machine, axes: &[Axis], unit: bool) -> Vec<(Cost, Placement)> {
    let whole = Classes::of(program);
    // Operations along which an index may change over: that index is longer than there are rows.
    let mut writers: Vec<(usize, usize, usize)> = Vec::new();
    for (number, operation) in program.operations.iter().enumerate() {
        for (dimension, form) in operation.out_index.iter().enumerate() {
            let Some(iterator) = form.as_iterator() else { continue };
            let class = whole.tensors[operation.out.0][dimension];
            if whole.movable.contains(&class) && whole.extents[&class] > 2 * machine.pus() {
                writers.push((number, iterator.0, dimension));
            }
        }
    }
    let pairs =
        writers.iter().enumerate().flat_map(|(n, &first)| writers[n + 1..].iter().map(move |&next| (first, next)));
    let mut found: Vec<(Cost, Placement)> = Vec::new();
    for ((out, iterator, dimension), (back, back_iterator, back_dimension)) in pairs.take(TRIED_RESHARDS) {
        let classes = Classes::with_reshards(program, &[(out, iterator), (back, back_iterator)]);
        let result =
            |operation: usize, dimension: usize| classes.tensors[program.operations[operation].out.0][dimension];
        let (rows, tall) = (classes.iterators[out][iterator], result(out, dimension));
        let turns = rows != tall
            && classes.iterators[back][back_iterator] == tall
            && result(back, back_dimension) == rows
            && classes.movable.contains(&rows)
            && classes.movable.contains(&tall);
        // An element that is read by its number would have to be masked out of the middle of a column.
        let numbered = program.operations.iter().any(|operation| {
            let mut found = false;
            for_each_access(operation, |tensor, index, written| {
                let own = &classes.tensors[tensor.0];
                found |= !written && index.iter().zip(own).any(|(form, class)| *class == tall && form.terms.is_empty());
            });
            found
        });
        // Elements before the first one are computed with, where a mask is only rough: they have to have a value.
        let target = program.operations[out].out;
        let written = |element: i64| {
            program
                .operations
                .iter()
                .any(|other| other.out == target && other.out_index[dimension].as_constant() == Some(element))
        };
        let defined = (0..program.operations[out].iterators[iterator].low).all(written);
        if !turns || numbered || !defined {
            continue;
        }
        let decided = vec![(rows, Axis::Row), (tall, Axis::Tall)];
        let search = Search { program, classes: &classes, machine, axes, decided, unit };
        let mut best: Option<(Cost, Way)> = Some((Cost::default(), Way::new()));
        for part in &parts(program, &classes, &[(rows, tall)]) {
            best = best
                .zip(search.ways(part).into_iter().next())
                .map(|((cost, way), (more, other))| (cost.plus(more), way.into_iter().chain(other).collect()));
        }
        found.extend(best.map(|(cost, way)| (cost, classes.placement(cost, &way))));
    }
    found.sort_by_key(|(cost, _)| cost.key());
    found.truncate(KEPT_WITH_RESHARDS);
    found
}

/// All placements worth trying, cheapest first; with a scalar `unit` that does what it can, or without. Everything in the PE, which
/// always works if it fits, is among them.
pub(crate) fn place(program: &Program, machine: &Machine, unit: bool) -> Vec<Placement> {
    let classes = Classes::of(program);
    let axes: Vec<Axis> = Axis::ALL.into_iter().filter(|a| *a == Axis::Local || a.lanes(machine) > 1).collect();
    let axes: Vec<Axis> = if machine.pus() == 1 || machine.pes_per_pu() == 1 {
        // With a single row or column the grid axis is that column or row.
        axes.into_iter().filter(|a| *a == Axis::Local || *a == Axis::Grid).collect()
    } else {
        axes
    };
    let resharded = if axes.contains(&Axis::Row) { with_reshards(program, machine, &axes, unit) } else { Vec::new() };
    let search = Search { program, classes: &classes, machine, axes: &axes, decided: Way::new(), unit };
    let parts = parts(program, &classes, &[]);
    let mut found: Vec<(Cost, Way)> = vec![(Cost::default(), Way::new())];
    let free = parts.iter().filter(|part| !part.classes.is_empty()).count();
    for part in &parts {
        let mut ways = search.ways(part);
        if free > 1 {
            // The fastest ones, and the one with the fewest words.
            let least = ways.iter().min_by_key(|(cost, _)| cost.words).cloned();
            ways.truncate(KEPT_WAYS);
            ways.extend(least.filter(|least| !ways.contains(least)));
        }
        let combined = found.iter().flat_map(|(cost, way)| {
            ways.iter().map(move |(other, more)| (cost.plus(*other), way.iter().chain(more).copied().collect()))
        });
        found = combined.collect();
        found.sort_by_key(|(cost, _): &(Cost, Way)| cost.key());
        if free > 1 && found.len() > KEPT_COMBINATIONS {
            let least = found.iter().min_by_key(|(cost, _)| cost.words).cloned();
            found.truncate(KEPT_COMBINATIONS);
            found.extend(least.filter(|least| !found.contains(least)));
        }
    }
    if found.len() > KEPT_PLACEMENTS {
        let least = found.iter().min_by_key(|(cost, _)| cost.words).cloned();
        found.truncate(KEPT_PLACEMENTS);
        found.extend(least);
    }
    let mut placements: Vec<(Cost, Placement)> =
        found.into_iter().map(|(cost, way)| (cost, classes.placement(cost, &way))).collect();
    placements.extend(resharded);
    placements.sort_by_key(|(cost, _)| cost.key());
    placements.into_iter().map(|(_, placement)| placement).collect()
}
