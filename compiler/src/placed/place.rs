//! Place: on which axis of the grid each class of indices lies.
//!
//!     h = sum[i](w[i] * x[i])          w.0, x.0, i are one class;  class on the grid axis:
//!                                      PE p holds w[p], w[p + P], ...; the sum goes through the trees
//!
//! Placing everything locally is always possible (every PE does everything); among all other choices a cost model picks. All ways to
//! place the classes of an independent part of the program are tried; what is cheapest for each part is cheapest for the program.

use super::Program;
use super::axis::Axis;
use super::classes::{Classes, find};
use super::cost::Cost;
use super::layouts;
use super::padding;
use crate::fixed::{self, for_each_access};
use crate::optimisations::{Disabled, Optimisation};
use crate::tensor::TensorId;
use arch::machine::Machine;
use std::collections::BTreeMap;

/// Axes for all indices of a program, and what they are estimated to cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Per tensor, per dimension.
    pub(crate) tensors: Vec<Vec<Axis>>,
    /// Per operation, per iterator.
    pub(crate) iterators: Vec<Vec<Axis>>,
    /// Tensors of which there is a copy, and where it lies.
    pub(crate) copies: Vec<(TensorId, Vec<Axis>)>,
    /// Estimated.
    pub(crate) cost: Cost,
    /// Whether it is tried beside the cheapest ones: its estimate is of another kind.
    pub(crate) beside: bool,
}

impl Placement {
    fn of(classes: &Classes, cost: Cost, way: &Way) -> Placement {
        let place = |groups: &[Vec<usize>]| -> Vec<Vec<Axis>> {
            groups.iter().map(|g| g.iter().map(|&class| axis_of(way, class)).collect()).collect()
        };
        let (tensors, iterators) = (place(&classes.tensors), place(&classes.iterators));
        Placement { tensors, iterators, copies: Vec::new(), cost, beside: false }
    }

    /// Whether everything lies where it does in another one, whatever it is estimated to cost.
    pub(crate) fn lies_as(&self, other: &Placement) -> bool {
        self.tensors == other.tensors && self.iterators == other.iterators && self.copies == other.copies
    }

    /// A program of pieces that lies so.
    pub(crate) fn of_program(self, program: &Program) -> Program {
        let Placement { tensors, iterators, copies, .. } = self;
        layouts::copies::copied(Program { tensors, iterators, ..program.clone() }, &copies)
    }
}

/// Indices of one independent part of a program that are tried on all axes: 4^8 ways at most; what is beyond are the smallest
/// indices of an unusually large program.
const TRIED_INDICES: usize = 8;

/// Estimates of operations that placements of classes may take.
const MOST_ESTIMATES: usize = 1 << 18;

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
fn parts(program: &fixed::Program, classes: &Classes, together: &[(usize, usize)]) -> Vec<Part> {
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
    program: &'a fixed::Program,
    classes: &'a Classes,
    machine: &'a Machine,
    axes: &'a [Axis],
    /// Classes whose axis is decided.
    decided: Way,
    /// Whether the scalar unit does what it can.
    unit: bool,
    /// Optimisations that are disabled.
    disabled: Disabled,
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
            cost = cost.plus(Cost::of_tensor(&self.program.tensors[number], &axes, self.machine, self.disabled));
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

/// Pairs of reshards that are looked at, those that are tried, and placements with reshards that are kept.
const SEEN_RESHARDS: usize = 1024;
const TRIED_RESHARDS: usize = 64;
const KEPT_WITH_RESHARDS: usize = 4;

/// Where an index lies in one part of a program, and where in the other: results of the one change over, and results of the other change back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// On the rows here, on all PEs there: the wide part of a layer, and all else about its units.
    RowsAndTall,
    /// In each PE here, on the columns there: samples where their inputs lie on the columns, and where only their units do.
    InsideAndColumns,
}

impl Change {
    /// Here and there.
    fn axes(self) -> (Axis, Axis) {
        match self {
            Change::RowsAndTall => (Axis::Row, Axis::Tall),
            Change::InsideAndColumns => (Axis::Local, Axis::Column),
        }
    }

    /// The shortest index that is tried: where it would be spread, it fills that twice.
    fn shortest(self, machine: &Machine) -> u32 {
        2 * match self {
            Change::RowsAndTall => machine.pus(),
            Change::InsideAndColumns => machine.pes_per_pu(),
        }
    }

    /// Whether masks can do what operations along the index ask for there; result `(operation, dimension)` changes over, and classes are those
    /// of the program then, `there` the one of the index.
    fn has_masks(
        self,
        program: &fixed::Program,
        classes: &Classes,
        there: usize,
        (out, dimension): (usize, usize),
    ) -> bool {
        if self == Change::InsideAndColumns {
            return true;
        }
        // An element that is read by its number would have to be masked out of the middle of a column.
        let numbered = program.operations.iter().any(|operation| {
            let mut found = false;
            for_each_access(operation, |tensor, index, written| {
                let own = &classes.tensors[tensor.0];
                found |=
                    !written && index.iter().zip(own).any(|(form, class)| *class == there && form.terms.is_empty());
            });
            found
        });
        // Elements before the first one are computed with, where a mask is only rough: they have to have a value.
        let operation = &program.operations[out];
        let written = |element: i64| {
            let mut writers = program.operations.iter().filter(|other| other.out == operation.out);
            writers.any(|other| other.out_index[dimension].as_constant() == Some(element))
        };
        let low =
            operation.out_index[dimension].as_iterator().map_or(0, |iterator| operation.iterators[iterator.0].low);
        !numbered && (0..low).all(written)
    }
}

/// Placements in which an index lies elsewhere in one part of the program than in the other, cheapest first.
fn with_reshards(
    program: &fixed::Program,
    machine: &Machine,
    axes: &[Axis],
    unit: bool,
    disabled: Disabled,
    change: Change,
) -> Vec<Placement> {
    let whole = Classes::of(program);
    // Operations along which an index may change over: that index is long.
    let mut writers: Vec<(usize, usize, usize)> = Vec::new();
    for (number, operation) in program.operations.iter().enumerate() {
        for (dimension, form) in operation.out_index.iter().enumerate() {
            let Some(iterator) = form.as_iterator() else { continue };
            let class = whole.tensors[operation.out.0][dimension];
            if whole.movable.contains(&class) && whole.extents[&class] >= change.shortest(machine) {
                writers.push((number, iterator.0, dimension));
            }
        }
    }
    let pairs =
        writers.iter().enumerate().flat_map(|(n, &first)| writers[n + 1..].iter().map(move |&next| (first, next)));
    let mut found: Vec<Placement> = Vec::new();
    let mut tried = 0;
    for ((out, iterator, dimension), (back, back_iterator, back_dimension)) in pairs.take(SEEN_RESHARDS) {
        let classes = Classes::with_reshards(program, &[(out, iterator), (back, back_iterator)]);
        let result =
            |operation: usize, dimension: usize| classes.tensors[program.operations[operation].out.0][dimension];
        let (here, there) = (classes.iterators[out][iterator], result(out, dimension));
        let turns = here != there
            && classes.iterators[back][back_iterator] == there
            && result(back, back_dimension) == here
            && classes.movable.contains(&here)
            && classes.movable.contains(&there);
        if !turns || !change.has_masks(program, &classes, there, (out, dimension)) {
            continue;
        }
        tried += 1;
        if tried > TRIED_RESHARDS {
            break;
        }
        let decided = vec![(here, change.axes().0), (there, change.axes().1)];
        let search = Search { program, classes: &classes, machine, axes, decided, unit, disabled };
        let mut best: Option<(Cost, Way)> = Some((Cost::default(), Way::new()));
        for part in &parts(program, &classes, &[(here, there)]) {
            best = best
                .zip(search.ways(part).into_iter().next())
                .map(|((cost, way), (more, other))| (cost.plus(more), way.into_iter().chain(other).collect()));
        }
        let placement = best.map(|(cost, way)| Placement::of(&classes, cost, &way));
        let pads = |lies: &Placement| padding::is_harmless(program, &lies.tensors, &lies.iterators, machine);
        let even = |lies: &Placement| !padding::exists(program, &lies.iterators, machine);
        found.extend(
            placement.filter(|lies| if disabled.uses(Optimisation::Padding) { pads(lies) } else { even(lies) }),
        );
    }
    found.sort_by_key(|placement| placement.cost.key());
    found.truncate(KEPT_WITH_RESHARDS);
    found
}

/// Sums whose results are tried on the columns.
const TRIED_ON_COLUMNS: usize = 8;

/// The cheapest placement in which results that leave the trees one after the other lie on the columns ([`reshard`](super::reshard)). They
/// are put there one by one, always the one that saves most.
fn on_columns(
    program: &fixed::Program,
    machine: &Machine,
    axes: &[Axis],
    unit: bool,
    disabled: Disabled,
) -> Option<Placement> {
    let whole = Classes::of(program);
    if whole.movable.len() > TRIED_INDICES {
        return None;
    }
    let mut sums: Vec<OnColumns> = Vec::new();
    for (number, operation) in program.operations.iter().enumerate() {
        let is_sum =
            matches!(operation.kind, fixed::Kind::MultiplyAdd { .. }) && operation.iterators.len() > operation.free;
        for (dimension, form) in operation.out_index.iter().enumerate().filter(|_| is_sum) {
            let Some(iterator) = form.as_iterator() else { continue };
            let class = whole.tensors[operation.out.0][dimension];
            if whole.movable.contains(&class) && whole.extents[&class] > machine.pes_per_pu() {
                sums.push(OnColumns { operation: number, iterator: iterator.0, dimension });
            }
        }
    }
    sums.truncate(TRIED_ON_COLUMNS);
    let (mut chosen, mut best): (Vec<OnColumns>, Option<Placement>) = (Vec::new(), None);
    loop {
        let others = sums.iter().filter(|sum| !chosen.contains(sum));
        let with = |sum: &OnColumns| {
            let all = [&chosen[..], &[*sum]].concat();
            Some((all_on_columns(program, machine, axes, (unit, disabled), &all)?, *sum))
        };
        let next = others.filter_map(with).min_by_key(|(placement, _)| placement.cost.key());
        match next {
            Some((placement, sum)) if best.as_ref().is_none_or(|best| placement.cost.key() < best.cost.key()) => {
                chosen.push(sum);
                best = Some(placement);
            }
            _ => return best.map(|best| Placement { beside: true, ..best }),
        }
    }
}

/// A dimension of the result of a sum that is to lie on the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OnColumns {
    operation: usize,
    iterator: usize,
    dimension: usize,
}

/// The cheapest placement with these results on the columns.
fn all_on_columns(
    program: &fixed::Program,
    machine: &Machine,
    axes: &[Axis],
    (unit, disabled): (bool, Disabled),
    sums: &[OnColumns],
) -> Option<Placement> {
    let reshards: Vec<(usize, usize)> = sums.iter().map(|sum| (sum.operation, sum.iterator)).collect();
    let classes = Classes::with_reshards(program, &reshards);
    let (mut decided, mut together) = (Way::new(), Vec::new());
    for sum in sums {
        let inside = classes.iterators[sum.operation][sum.iterator];
        let columns = classes.tensors[program.operations[sum.operation].out.0][sum.dimension];
        let known = |class: usize, axis: Axis| decided.iter().all(|&(other, at)| other != class || at == axis);
        if !classes.movable.contains(&columns) || !known(inside, Axis::Local) || !known(columns, Axis::Column) {
            return None;
        }
        decided.extend([(inside, Axis::Local), (columns, Axis::Column)]);
        together.push((inside, columns));
    }
    let contradicts = |&(class, axis): &(usize, Axis)| decided.iter().any(|&(other, at)| other == class && at != axis);
    if decided.iter().any(contradicts) {
        return None;
    }
    let parts = parts(program, &classes, &together);
    let search = Search { program, classes: &classes, machine, axes, decided, unit, disabled };
    let (mut cost, mut way) = (Cost::default(), Way::new());
    for part in &parts {
        let (more, other) = search.ways(part).into_iter().next()?;
        cost = cost.plus(more);
        way.extend(other);
    }
    Some(Placement::of(&classes, cost, &way))
}

/// The axes that are tried.
fn axes(machine: &Machine) -> Vec<Axis> {
    let axes: Vec<Axis> = Axis::ALL.into_iter().filter(|a| *a == Axis::Local || a.lanes(machine) > 1).collect();
    if machine.pus() == 1 || machine.pes_per_pu() == 1 {
        // With a single row or column the grid axis is that column or row.
        axes.into_iter().filter(|a| *a == Axis::Local || *a == Axis::Grid).collect()
    } else {
        axes
    }
}

/// Placements that begin with one that need not be good: of `all`, or one of layouts of each index by itself, in turn.
pub(crate) fn elsewhere(
    program: &fixed::Program,
    machine: &Machine,
    disabled: Disabled,
    number: usize,
    all: impl Fn() -> Vec<Placement>,
) -> Vec<Placement> {
    let by_itself = || layouts::elsewhere(program, machine, &axes(machine), disabled, number / 2);
    if let Some(layout) = (number % 2 == 1).then(by_itself).flatten() {
        return vec![layout];
    }
    let mut placements = all();
    let at = number / 2 % placements.len().max(1);
    placements.rotate_left(at);
    placements
}

/// Whether a program has more classes of indices than can be tried on all axes, or so many operations that it would take long.
pub(crate) fn has_many_classes(program: &fixed::Program) -> bool {
    let classes = Classes::of(program);
    let costly = |part: &Part| {
        let ways = Axis::ALL.len().pow(part.classes.len().min(TRIED_INDICES) as u32);
        part.classes.len() > TRIED_INDICES || ways * part.operations.len() > MOST_ESTIMATES
    };
    parts(program, &classes, &[]).iter().any(costly)
}

/// All placements worth trying, cheapest first; with a scalar `unit` that does what it can, or without. Everything in the PE, which
/// always works if it fits, is among them, unless there are `prices` of words: then each index is placed by itself ([`layouts`]).
pub(crate) fn place(
    program: &fixed::Program,
    machine: &Machine,
    unit: bool,
    disabled: Disabled,
    prices: Option<&[u64]>,
) -> Vec<Placement> {
    let classes = Classes::of(program);
    let axes = axes(machine);
    let parts = parts(program, &classes, &[]);
    let conversions = [Optimisation::Reshards, Optimisation::Returns, Optimisation::Columns]
        .into_iter()
        .all(|optimisation| disabled.uses(optimisation));
    if let Some(prices) = prices.filter(|_| conversions) {
        return layouts::placements(program, machine, &axes, disabled, prices);
    }
    let mut resharded = Vec::new();
    for (change, along, optimisation) in [
        (Change::RowsAndTall, Axis::Row, Optimisation::Reshards),
        (Change::InsideAndColumns, Axis::Column, Optimisation::Returns),
    ] {
        if axes.contains(&along) && disabled.uses(optimisation) {
            resharded.extend(with_reshards(program, machine, &axes, unit, disabled, change));
        }
    }
    let search = Search { program, classes: &classes, machine, axes: &axes, decided: Way::new(), unit, disabled };
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
    let mut placements: Vec<Placement> = found.iter().map(|(cost, way)| Placement::of(&classes, *cost, way)).collect();
    placements.extend(resharded);
    if axes.contains(&Axis::Column) && disabled.uses(Optimisation::Columns) {
        placements.extend(on_columns(program, machine, &axes, unit, disabled));
    }
    if !unit && conversions {
        let fastest = layouts::placements(program, machine, &axes, disabled, &layouts::PRICES[..1]);
        placements.extend(fastest.into_iter().map(|placement| Placement { beside: true, ..placement }));
    }
    placements.sort_by_key(|placement| placement.cost.key());
    placements
}
