//! Place: where each index of a program lies, by [`layouts`](mod@super::layouts) of each tensor and each operation.
//!
//!     h = sum[i](w[i] * x[i])          w.0, x.0 and i on the grid axis:
//!                                      PE p holds w[p], w[p + P], ...; the sum goes through the trees
//!
//! Estimates are not exact: what is fused, and what runs beside what, is known when jobs are scheduled. So beside the cheapest placement there
//! are those that are cheapest among all with a tensor elsewhere.

use super::Program;
use super::axis::Axis;
use super::cost::Cost;
use super::layouts::eliminate::{Choice, MOST_ENTRIES};
use super::layouts::{Graph, Layout, PRICES, copies};
use super::padding;
use crate::fixed;
use crate::optimisations::{Disabled, Optimisation};
use crate::tensor::TensorId;
use arch::machine::Machine;
use std::cell::OnceCell;

/// Axes for all indices of a program, and what they are estimated to cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Per tensor, per dimension.
    pub(crate) tensors: Vec<Layout>,
    /// Per operation, per iterator.
    pub(crate) iterators: Vec<Layout>,
    /// Tensors of which there is a copy, and where it lies.
    pub(crate) copies: Vec<(TensorId, Layout)>,
    /// Estimated.
    pub(crate) cost: Cost,
}

impl Placement {
    /// Whether everything lies where it does in another one, whatever it is estimated to cost.
    pub(crate) fn lies_as(&self, other: &Placement) -> bool {
        self.tensors == other.tensors && self.iterators == other.iterators && self.copies == other.copies
    }

    /// A program of pieces that lies so.
    pub(crate) fn of_program(self, program: &Program) -> Program {
        let Placement { tensors, iterators, copies, .. } = self;
        copies::copied(Program { tensors, iterators, ..program.clone() }, &copies)
    }
}

/// Homes of a tensor that are tried beside its best one.
const OTHER_HOMES: usize = 6;

/// Entries of the largest table where a tensor lies elsewhere: these choices need not be the best.
const FEW_ENTRIES: u64 = 1 << 12;

/// Entries of all tables for which a program is placed with tensors elsewhere; a longer one is placed once.
const MOST_WORK: u64 = 1 << 21;

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

/// The placements of a program.
pub(crate) struct Places<'a> {
    program: &'a fixed::Program,
    machine: &'a Machine,
    axes: Vec<Axis>,
    unit: bool,
    disabled: Disabled,
    /// With indices on all PEs that end inside a column, and without.
    graphs: [OnceCell<Graph<'a>>; 2],
}

impl<'a> Places<'a> {
    /// Those of a program; with a scalar `unit` that does what it can, or without.
    pub(crate) fn of(program: &'a fixed::Program, machine: &'a Machine, unit: bool, disabled: Disabled) -> Places<'a> {
        Places { program, machine, axes: axes(machine), unit, disabled, graphs: Default::default() }
    }

    /// The graphs that may be looked at, the better one first.
    fn graphs(&self) -> impl Iterator<Item = &Graph<'a>> {
        let Places { program, machine, axes, unit, disabled, .. } = self;
        let all = [true, false].into_iter().zip(&self.graphs);
        all.filter(|(ragged, _)| !ragged || disabled.uses(Optimisation::Padding))
            .map(|(ragged, graph)| graph.get_or_init(|| Graph::of(program, machine, axes, *disabled, (*unit, ragged))))
    }

    /// Cheapest first, where a word in each PE has one of [`PRICES`]: the cheapest of all, and of a small program those with a tensor elsewhere. There is
    /// one at least.
    pub(crate) fn at(&self, price: u64) -> Vec<Placement> {
        let found = self.graphs().map(|graph| self.of_graph(graph, price)).find(|all| !all.is_empty());
        // Choices that are left out of tables which are too large may have been the only ones that are possible together.
        found
            .unwrap_or_else(|| self.graphs().last().map(|graph| graph.placement(&graph.inside())).into_iter().collect())
    }

    /// Those of a graph; none if padding does harm in the cheapest one.
    fn of_graph(&self, graph: &Graph<'_>, price: u64) -> Vec<Placement> {
        let Some(best) = graph.cheapest(price, MOST_ENTRIES) else { return Vec::new() };
        let Some(placement) = self.harmless(graph, &best) else { return Vec::new() };
        let (mut found, mut work) = (vec![placement], best.work);
        for (tensor, &first) in best.values.iter().enumerate().take(graph.tensors.len()) {
            let mut homes = vec![graph.home(tensor, first)];
            while homes.len() <= OTHER_HOMES && work < MOST_WORK {
                let elsewhere = |value| !homes.contains(&graph.home(tensor, value));
                let Some(choice) = graph.cheapest_with(price, tensor, elsewhere, FEW_ENTRIES) else { break };
                work += choice.work;
                homes.push(graph.home(tensor, choice.values[tensor]));
                let placement = self.harmless(graph, &choice);
                found.extend(placement.filter(|new| !found.iter().any(|known| known.lies_as(new))));
            }
        }
        found.sort_by_key(|placement| placement.cost.key());
        found
    }

    /// The placement of a choice, if padding does no harm there.
    fn harmless(&self, graph: &Graph<'_>, choice: &Choice) -> Option<Placement> {
        let placement = graph.placement(&choice.values);
        let harmless = padding::is_harmless(self.program, &placement.tensors, &placement.iterators, self.machine);
        harmless.then_some(placement)
    }

    /// Some placement, which would not be chosen: the cheapest of those with a tensor here, or with a copy of it.
    pub(crate) fn elsewhere(&self, number: usize) -> Vec<Placement> {
        let there = |graph: &Graph<'_>| {
            let choices = |(tensor, lies): (usize, &Vec<_>)| (0..lies.len()).map(move |value| (tensor, value));
            let all: Vec<(usize, usize)> = graph.tensors.iter().enumerate().flat_map(choices).collect();
            // Choices beside each other are alike.
            let (tensor, value) = *all.get((number * 37) % all.len().max(1))?;
            let choice = graph.cheapest_with(PRICES[0], tensor, |other| other == value, MOST_ENTRIES)?;
            self.harmless(graph, &choice)
        };
        self.graphs().find_map(there).map_or_else(|| self.at(PRICES[0]), |placement| vec![placement])
    }
}
