//! Layouts: an axis for each index of each tensor and of each operation by itself, for programs of any length.
//!
//!     a[q] = sum[p](w[q][p] * x[p])       q in the PE, p on the grid; a.0 on the grid
//!     b[q] = sum[p](v[q][p] * a[p])       the same: what leaves the trees lies where the next operation has it
//!
//! Each tensor and each operation is a variable, its layouts are the values. An operation costs its cycles, which follow from where it computes and
//! where its result lies ([`Cost::of_operation`]; what the buses cannot do is impossible), and reads a tensor only where that
//! lies as its iterators do. So a weight is one variable for all that read and write it. What the grid computes may lie somewhere, and a copy of
//! it where the buses take it ([`copies`]): who reads it takes the one or the other. The cheapest choice is exact ([`eliminate`]).
//! Words have a price: with a higher one, memory is spared for cycles, and with several there is a choice for the machine.

pub(crate) mod copies;
pub(crate) mod eliminate;

use super::axis::Axis;
use super::carries;
use super::cost::{self, Cost};
use super::legal::starts;
use super::place::Placement;
use crate::fixed::{self, Operation, for_each_access};
use crate::optimisations::{Disabled, Optimisation};
use crate::tensor::{Affine, TensorId};
use arch::machine::Machine;
use eliminate::{Choice, Factor, NEVER, Rest};

/// Prices of a word in each PE, in parts of a cycle; the first one only decides between layouts of the same speed.
pub(crate) const PRICES: &[u64] = &[1, PART / 16, PART, 16 * PART, 256 * PART];

/// Parts of a cycle.
const PART: u64 = 1 << 10;

/// An axis per index.
pub(crate) type Layout = Vec<Axis>;

/// Where a tensor lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lies {
    home: Layout,
    /// Where a copy of it lies, and the cycles in which that is made.
    copy: Option<(Layout, u64)>,
}

/// Where indices may lie.
pub(crate) struct Graph<'a> {
    program: &'a fixed::Program,
    machine: &'a Machine,
    disabled: Disabled,
    /// Whether the scalar unit does what it can.
    unit: bool,
    /// Per tensor.
    pub(crate) tensors: Vec<Vec<Lies>>,
    /// Per operation.
    operations: Vec<Vec<Layout>>,
    /// What operations cost, and which layouts they read.
    rest: Rest,
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

/// Whether an operation whose iterators lie on `axes` can read a tensor there at an index.
fn reads(axes: &[Axis], index: &[Affine], lies: &[Axis]) -> bool {
    index.iter().zip(lies).all(|(form, &axis)| match (form.as_iterator(), form.as_constant()) {
        (Some(iterator), _) => axes[iterator.0] == axis,
        // No mask takes an element out of the middle of a column.
        (None, Some(_)) => axis != Axis::Tall,
        (None, None) => axis == Axis::Local,
    })
}

/// Per iterator of an operation whether it has to stay inside the PE: what the trees cannot sum, and what an index is computed from.
fn inside(operation: &Operation) -> Vec<bool> {
    let mut inside: Vec<bool> = (0..operation.iterators.len()).map(|i| starts::stays_inside(operation, i)).collect();
    for_each_access(operation, |_, index, _| {
        let computed = index.iter().filter(|form| form.as_iterator().is_none());
        computed.flat_map(|form| &form.terms).for_each(|&(iterator, _)| inside[iterator.0] = true);
    });
    inside
}

/// Whether the elements before the first one of a result that changes over to all PEs are written by their numbers: a rough mask computes with them, too.
fn begins_written(program: &fixed::Program, operation: &Operation, axes: &[Axis], out: &[Axis]) -> bool {
    operation.out_index.iter().zip(out).enumerate().all(|(dimension, (form, &to))| {
        let Some(iterator) = form.as_iterator().filter(|i| to == Axis::Tall && axes[i.0] != to) else { return true };
        let written = |element: i64| {
            let mut writers = program.operations.iter().filter(|other| other.out == operation.out);
            writers.any(|other| other.out_index[dimension].as_constant() == Some(element))
        };
        (0..operation.iterators[iterator.0].low).all(written)
    })
}

impl<'a> Graph<'a> {
    /// Of a program on some axes; with a scalar `unit` that does what it can, and with `ragged` indices on all PEs, which end inside a column or begin
    /// behind elements that are written by their number.
    pub(crate) fn of(
        program: &'a fixed::Program,
        machine: &'a Machine,
        axes: &[Axis],
        disabled: Disabled,
        (unit, ragged): (bool, bool),
    ) -> Graph<'a> {
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
            for (form, may) in operation.out_index.iter().zip(&mut of_tensors[operation.out.0]) {
                match (form.as_iterator(), form.as_constant()) {
                    (Some(_), _) => {}
                    (None, Some(_)) if ragged => {}
                    (None, Some(_)) => may.retain(|axis| *axis != Axis::Tall),
                    (None, None) => *may = vec![Axis::Local],
                }
            }
            let whole = |i: usize| {
                let range = &operation.iterators[i];
                ragged || range.low == 0 && range.high % i64::from(machine.pus()) == 0
            };
            let may = inside(operation).into_iter().enumerate().map(|(i, inside)| {
                let fits = |axis: &Axis| if inside { *axis == Axis::Local } else { *axis != Axis::Tall || whole(i) };
                spread.iter().copied().filter(fits).collect()
            });
            operations.push(layouts(&may.collect::<Vec<Vec<Axis>>>()));
        }
        let touches = carries::touches(program);
        let lie = |(number, may): (usize, &Vec<Vec<Axis>>)| {
            let homes: Vec<Lies> = layouts(may).into_iter().map(|home| Lies { home, copy: None }).collect();
            if !disabled.uses(Optimisation::Carries) {
                return homes;
            }
            copies::with_copies(program, TensorId(number), &touches[number], homes, &layouts(may), machine)
        };
        let tensors = of_tensors.iter().enumerate().map(lie).collect();
        let graph = Graph { program, machine, disabled, unit, tensors, operations, rest: Rest::new(&[], Vec::new()) };
        Graph { rest: Rest::new(&graph.sizes(), graph.factors()), ..graph }
    }

    /// Where a tensor lies, by the number of its choice, without its copy.
    pub(crate) fn home(&self, tensor: usize, value: usize) -> &Layout {
        &self.tensors[tensor][value].home
    }

    /// The cheapest choice, where a word has a price; tables have so many entries at most.
    pub(crate) fn cheapest(&self, price: u64, most: u64) -> Option<Choice> {
        self.priced(price).cheapest(most)
    }

    /// The cheapest choice with only some of a tensor.
    pub(crate) fn cheapest_with(
        &self,
        price: u64,
        tensor: usize,
        may: impl Fn(usize) -> bool,
        most: u64,
    ) -> Option<Choice> {
        self.priced(price).only(tensor, may)?.cheapest(most)
    }

    fn sizes(&self) -> Vec<usize> {
        self.tensors.iter().map(Vec::len).chain(self.operations.iter().map(Vec::len)).collect()
    }

    /// What operations cost, and which layouts they read.
    fn factors(&self) -> Vec<Factor> {
        let mut factors = Vec::new();
        for (number, (operation, layouts)) in self.program.operations.iter().zip(&self.operations).enumerate() {
            let own = self.tensors.len() + number;
            let out = operation.out.0;
            let cycles = |axes: &Layout, to: &Layout| {
                let begins = begins_written(self.program, operation, axes, to);
                let cost = begins
                    .then(|| Cost::of_operation(self.program, operation, axes, to, self.machine, self.unit))
                    .flatten();
                // The scalar unit works beside the PEs.
                cost.map_or(NEVER, |cost| (cost.compute * PART).saturating_add(cost.scalar * (PART / 4)))
            };
            let costs = layouts.iter().flat_map(|axes| self.tensors[out].iter().map(move |to| (axes, &to.home)));
            factors
                .push(Factor { variables: vec![own, out], costs: costs.map(|(axes, to)| cycles(axes, to)).collect() });
            for_each_access(operation, |tensor, index, written| {
                if written {
                    return;
                }
                // What an operation writes it does not read from a copy.
                let copied = tensor != operation.out;
                let reads = |axes: &Layout, lies: &Lies| {
                    let fits = reads(axes, index, &lies.home)
                        || copied && lies.copy.as_ref().is_some_and(|(copy, _)| reads(axes, index, copy));
                    if fits { 0 } else { NEVER }
                };
                let costs = layouts.iter().flat_map(|axes| self.tensors[tensor.0].iter().map(move |lies| (axes, lies)));
                let costs = costs.map(|(axes, lies)| reads(axes, lies)).collect();
                factors.push(Factor { variables: vec![own, tensor.0], costs });
            });
        }
        factors
    }

    /// The cost of a tensor and of its copy.
    fn of_tensor(&self, number: usize, lies: &Lies) -> Cost {
        let tensor = &self.program.tensors[number];
        let home = Cost::of_tensor(tensor, &lies.home, self.machine, self.disabled);
        let Some((copy, compute)) = &lies.copy else { return home };
        home.plus(Cost {
            compute: *compute,
            words: cost::local_words(&tensor.shape, copy, self.machine),
            ..Cost::default()
        })
    }

    /// All costs, those of tensors among them: their way in and out, and their words at a price.
    fn priced(&self, price: u64) -> Rest {
        let mut rest = self.rest.clone();
        for (number, layouts) in self.tensors.iter().enumerate() {
            rest.weigh(number, |value| {
                let cost = self.of_tensor(number, &layouts[value]);
                // Loading and the output stream run beside the step.
                ((cost.compute + cost.emit) * PART)
                    .saturating_add((cost.load + cost.leave) * (PART / 16))
                    .saturating_add(cost.words.saturating_mul(price))
            });
        }
        rest
    }

    /// The choice with everything inside the PEs, which is always possible.
    pub(crate) fn inside(&self) -> Vec<usize> {
        let local = |layout: &Layout| layout.iter().all(|axis| *axis == Axis::Local);
        let tensors =
            self.tensors.iter().map(|all| all.iter().position(|lies| lies.copy.is_none() && local(&lies.home)));
        let operations = self.operations.iter().map(|all| all.iter().position(local));
        tensors.chain(operations).map(|at| at.expect("every index may lie inside the PEs")).collect()
    }

    /// The placement of a choice.
    pub(crate) fn placement(&self, values: &[usize]) -> Placement {
        let (of_tensors, of_operations) = values.split_at(self.tensors.len());
        let lies: Vec<&Lies> = self.tensors.iter().zip(of_tensors).map(|(lies, &value)| &lies[value]).collect();
        let tensors: Vec<Layout> = lies.iter().map(|lies| lies.home.clone()).collect();
        let axes = self.operations.iter().zip(of_operations);
        let iterators: Vec<Layout> = axes.map(|(layouts, &value)| layouts[value].clone()).collect();
        let mut cost = Cost::default();
        for (operation, axes) in self.program.operations.iter().zip(&iterators) {
            let out = &tensors[operation.out.0];
            let own = Cost::of_operation(self.program, operation, axes, out, self.machine, self.unit);
            cost = own.map_or(cost, |own| cost.plus(own));
        }
        for (number, lies) in lies.iter().enumerate() {
            cost = cost.plus(self.of_tensor(number, lies));
        }
        let copy = |(number, lies): (usize, &&Lies)| Some((TensorId(number), lies.copy.as_ref()?.0.clone()));
        let copies = lies.iter().enumerate().filter_map(copy).collect();
        Placement { tensors, iterators, copies, cost }
    }
}

#[cfg(test)]
mod tests;
