//! Layouts: an axis for each index of each tensor and of each operation by itself, for programs of any length.
//!
//!     a[q] = sum[p](w[q][p] * x[p])       q in the PE, p on the grid; a.0 on the grid
//!     b[q] = sum[p](v[q][p] * a[p])       the same: what leaves the trees lies where the next operation has it
//!
//! Each tensor and each operation is a variable, its layouts are the values. An operation costs its cycles, which follow from where it computes and
//! where its result lies ([`Cost::of_operation`]; what the buses cannot do is impossible), and reads a tensor only where that
//! lies as its iterators do. So a weight is one variable for all that read and write it. The cheapest choice is exact ([`eliminate`]).
//! Words have a price: with a higher one, memory is spared for cycles, and with several there is a choice for the machine.

pub(crate) mod eliminate;

use super::axis::Axis;
use super::cost::Cost;
use super::padding;
use super::place::Placement;
use crate::fixed::{self, Finish, Kind, Operation, for_each_access};
use crate::means::Without;
use arch::machine::Machine;
use eliminate::{Factor, NEVER, eliminate};
use std::collections::BTreeMap;

/// Prices of a word in each PE, in parts of a cycle; the first one only decides between layouts of the same speed.
const PRICES: [u64; 5] = [1, PART / 16, PART, 16 * PART, 256 * PART];

/// Parts of a cycle.
const PART: u64 = 1 << 10;

/// An axis per index.
type Layout = Vec<Axis>;

/// Where indices may lie.
struct Graph<'a> {
    program: &'a fixed::Program,
    machine: &'a Machine,
    without: Without,
    /// Per tensor.
    tensors: Vec<Vec<Layout>>,
    /// Per operation.
    operations: Vec<Vec<Layout>>,
}

/// All layouts of indices each of which may lie on some axes.
fn layouts(may: &[Vec<Axis>]) -> Vec<Layout> {
    let mut all: Vec<Layout> = vec![Vec::new()];
    for own in may {
        let longer = all.iter().flat_map(|layout| {
            let fits = own.iter().filter(|axis| layout.iter().all(|other| other.agrees_with(**axis)));
            fits.map(|&axis| layout.iter().copied().chain([axis]).collect()).collect::<Vec<Layout>>()
        });
        all = longer.collect();
    }
    all
}

/// Per iterator of an operation whether it has to stay inside the PE: what the trees cannot sum, and what an index is computed from.
fn inside(operation: &Operation) -> Vec<bool> {
    let trees_cannot = match &operation.kind {
        Kind::Product { .. } => true,
        // Every PE would add the start; the largest of several that start alike is the same.
        Kind::MultiplyAdd { start, combine, finish, .. } => {
            start.is_some() && !combine.compares() || *finish == Finish::Negative
        }
        Kind::Divide { .. } | Kind::Function { .. } => false,
    };
    let mut inside: Vec<bool> = (0..operation.iterators.len()).map(|i| trees_cannot && i >= operation.free).collect();
    for_each_access(operation, |_, index, _| {
        let computed = index.iter().filter(|form| form.as_iterator().is_none());
        computed.flat_map(|form| &form.terms).for_each(|&(iterator, _)| inside[iterator.0] = true);
    });
    inside
}

impl<'a> Graph<'a> {
    fn of(program: &'a fixed::Program, machine: &'a Machine, axes: &[Axis], without: Without) -> Graph<'a> {
        let grid = axes.contains(&Axis::Row);
        let spread: Vec<Axis> = axes.iter().copied().chain(grid.then_some(Axis::Tall)).collect();
        let mut of_tensors: Vec<Vec<Vec<Axis>>> = program
            .tensors
            .iter()
            .map(|tensor| {
                tensor.shape.iter().map(|&n| if n > 1 { spread.clone() } else { vec![Axis::Local] }).collect()
            })
            .collect();
        let mut operations = Vec::new();
        for operation in &program.operations {
            for_each_access(operation, |tensor, index, _| {
                for (form, may) in index.iter().zip(&mut of_tensors[tensor.0]) {
                    match (form.as_iterator(), form.as_constant()) {
                        (Some(_), _) => {}
                        // No mask takes an element out of the middle of a column.
                        (None, Some(_)) => may.retain(|axis| *axis != Axis::Tall),
                        (None, None) => *may = vec![Axis::Local],
                    }
                }
            });
            let whole = |i: usize| {
                let range = &operation.iterators[i];
                range.low == 0 && range.high % i64::from(machine.pus()) == 0
            };
            let may = inside(operation).into_iter().enumerate().map(|(i, inside)| {
                let fits = |axis: &Axis| if inside { *axis == Axis::Local } else { *axis != Axis::Tall || whole(i) };
                spread.iter().copied().filter(fits).collect()
            });
            operations.push(layouts(&may.collect::<Vec<Vec<Axis>>>()));
        }
        let tensors = of_tensors.iter().map(|may| layouts(may)).collect();
        Graph { program, machine, without, tensors, operations }
    }

    fn sizes(&self) -> Vec<usize> {
        self.tensors.iter().chain(&self.operations).map(Vec::len).collect()
    }

    /// What operations cost, and which layouts they read.
    fn factors(&self) -> Vec<Factor> {
        let mut factors = Vec::new();
        for (number, (operation, layouts)) in self.program.operations.iter().zip(&self.operations).enumerate() {
            let own = self.tensors.len() + number;
            let out = operation.out.0;
            let cycles = |axes: &Layout, to: &Layout| {
                let cost = Cost::of_operation(self.program, operation, axes, to, self.machine, false);
                cost.map_or(NEVER, |cost| cost.compute.saturating_mul(PART))
            };
            let costs = layouts.iter().flat_map(|axes| self.tensors[out].iter().map(move |to| (axes, to)));
            factors
                .push(Factor { variables: vec![own, out], costs: costs.map(|(axes, to)| cycles(axes, to)).collect() });
            for_each_access(operation, |tensor, index, written| {
                if written {
                    return;
                }
                let plain: Vec<(usize, usize)> =
                    index.iter().enumerate().filter_map(|(d, form)| Some((d, form.as_iterator()?.0))).collect();
                let reads = |axes: &Layout, lies: &Layout| {
                    let fits = plain.iter().all(|&(dimension, iterator)| axes[iterator] == lies[dimension]);
                    if fits { 0 } else { NEVER }
                };
                let costs = layouts.iter().flat_map(|axes| self.tensors[tensor.0].iter().map(move |lies| (axes, lies)));
                let costs = costs.map(|(axes, lies)| reads(axes, lies)).collect();
                factors.push(Factor { variables: vec![own, tensor.0], costs });
            });
        }
        factors
    }

    /// What tensors cost: their way in and out, and their words at a price.
    fn prices(&self, price: u64) -> impl Iterator<Item = Factor> {
        self.tensors.iter().enumerate().map(move |(number, layouts)| {
            let cost = |axes: &Layout| {
                let cost = Cost::of_tensor(&self.program.tensors[number], axes, self.machine, self.without);
                // Loading and the output stream run beside the step.
                (cost.emit * PART)
                    .saturating_add((cost.load + cost.leave) * (PART / 16))
                    .saturating_add(cost.words.saturating_mul(price))
            };
            Factor { variables: vec![number], costs: layouts.iter().map(cost).collect() }
        })
    }

    /// The placement of a choice.
    fn placement(&self, values: &[usize]) -> Placement {
        let (of_tensors, of_operations) = values.split_at(self.tensors.len());
        let pick = |all: &[Vec<Layout>], values: &[usize]| -> Vec<Layout> {
            all.iter().zip(values).map(|(layouts, &value)| layouts[value].clone()).collect()
        };
        let (tensors, iterators) = (pick(&self.tensors, of_tensors), pick(&self.operations, of_operations));
        let mut cost = Cost::default();
        for (operation, axes) in self.program.operations.iter().zip(&iterators) {
            let out = &tensors[operation.out.0];
            let own = Cost::of_operation(self.program, operation, axes, out, self.machine, false);
            cost = own.map_or(cost, |own| cost.plus(own));
        }
        for (tensor, axes) in self.program.tensors.iter().zip(&tensors) {
            cost = cost.plus(Cost::of_tensor(tensor, axes, self.machine, self.without));
        }
        Placement { tensors, iterators, cost, beside: false }
    }
}

/// The fastest layouts, and leaner ones that are slower.
pub(crate) fn placements(
    program: &fixed::Program,
    machine: &Machine,
    axes: &[Axis],
    without: Without,
) -> Vec<Placement> {
    let graph = Graph::of(program, machine, axes, without);
    let (sizes, factors) = (graph.sizes(), graph.factors());
    let mut found: BTreeMap<(u64, u64), Placement> = BTreeMap::new();
    for price in PRICES {
        let all = factors.iter().cloned().chain(graph.prices(price)).collect();
        let Some(choice) = eliminate(&sizes, all, eliminate::MOST_ENTRIES) else { continue };
        let placement = graph.placement(&choice.values);
        if padding::is_harmless(program, &placement.tensors, &placement.iterators, machine) {
            found.entry((placement.cost.cycles(), placement.cost.words)).or_insert(placement);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests;
