//! Starts: a sum over PEs starts in the first of them, with a copy of what it starts with that is 0 in the others.
//!
//!     y[i] = b[i] + sum[k](w[i][k] * x[k])         k on the columns
//!     =>  e[c] = 0;  e[0] = 1;  b.7[i][c] = b[i] * e[c];  y[i] = b.7[i][0] + sum[k](w[i][k] * x[k])          c on the columns

use crate::fixed::{self, Finish, Kind, Operand, Operation, Role, Tensor};
use crate::placed::Program;
use crate::placed::axis::Axis;
use crate::placed::cost::local_count;
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use arch::machine::Machine;
use std::collections::BTreeSet;

/// Whether an iterator stays inside the PE since no tree can sum over it: it is part of a chain, of a comparison with 0, or of a sum that changes
/// what it starts with.
pub(crate) fn stays_inside(operation: &Operation, iterator: usize) -> bool {
    iterator >= operation.free
        && match &operation.kind {
            Kind::Product { .. } | Kind::MultiplyAdd { finish: Finish::Negative, .. } => true,
            // The largest of several that start alike is the same.
            Kind::MultiplyAdd { start: Some(start), combine, product, .. } if !combine.compares() => {
                product.is_none() || matches!(start, Operand::Read { tensor, .. } if *tensor == operation.out)
            }
            Kind::MultiplyAdd { .. } | Kind::Divide { .. } | Kind::Function { .. } => false,
        }
}

/// The lanes over which a sum that starts with something goes, rows or columns or both, and which of them has its first product.
pub(crate) fn summed(operation: &Operation, axes: &[Axis], machine: &Machine) -> Vec<(Axis, u32)> {
    let adds = matches!(&operation.kind, Kind::MultiplyAdd { start: Some(_), combine, .. } if !combine.compares());
    let (rows, columns) = (machine.pus(), machine.pes_per_pu());
    let mut lanes = BTreeSet::new();
    for (iterator, axis) in operation.iterators.iter().zip(axes).skip(if adds { operation.free } else { axes.len() }) {
        let first = iterator.low.rem_euclid(axis.lanes(machine).into()) as u32;
        match axis {
            Axis::Local => {}
            Axis::Row | Axis::Column => _ = lanes.insert((*axis, first)),
            Axis::Grid => lanes.extend([(Axis::Row, first / columns), (Axis::Column, first % columns)]),
            Axis::Tall => lanes.extend([(Axis::Row, first % rows), (Axis::Column, first / rows)]),
        }
    }
    lanes.into_iter().collect()
}

/// Beats that copy what a sum starts with: to the first of its PEs, or out of the pad of weights, where it lies with a factor.
pub(crate) fn copied(program: &fixed::Program, operation: &Operation, axes: &[Axis], machine: &Machine) -> u64 {
    let Kind::MultiplyAdd { start: Some(Operand::Read { tensor, index }), product: Some((a, b)), .. } = &operation.kind
    else {
        return 0;
    };
    let is_kept = |tensor: &TensorId| matches!(program.tensors[tensor.0].role, Role::State | Role::Parameter(_));
    let is_weight = |factor: &Operand| matches!(factor, Operand::Read { tensor, .. } if is_kept(tensor));
    let reduces = operation.iterators.len() > operation.free;
    let collides = reduces && is_kept(tensor) && (is_weight(a) || is_weight(b));
    if !collides && summed(operation, axes, machine).is_empty() {
        return 0;
    }
    used(index).into_iter().map(|i| local_count(&operation.iterators[i], axes[i], machine)).product()
}

/// Iterators that an index depends on, in their order.
fn used(index: &[Affine]) -> Vec<usize> {
    let used: BTreeSet<usize> = index.iter().flat_map(|form| &form.terms).map(|term| term.0.0).collect();
    used.into_iter().collect()
}

/// Whether what a sum over these lanes starts with is such a copy already.
pub(crate) fn is_copy(start: &Operand, lanes: &[(Axis, u32)], program: &fixed::Program) -> bool {
    let Operand::Read { tensor, index } = start else { return false };
    let writers = |tensor: TensorId| program.operations.iter().filter(move |operation| operation.out == tensor);
    let mut kinds = writers(*tensor).map(|operation| &operation.kind);
    let Some(Kind::MultiplyAdd { start: None, product: Some((Operand::Read { tensor: unit, .. }, _)), .. }) =
        kinds.next()
    else {
        return false;
    };
    let first: Vec<Affine> = lanes.iter().map(|&(_, first)| Affine::constant(first.into())).collect();
    let word = |operation: &Operation| match operation.kind {
        Kind::MultiplyAdd { start: Some(Operand::Constant { word, .. }), product: None, .. } => {
            Some((word, operation.out_index == first))
        }
        _ => None,
    };
    let is_unit = writers(*unit).map(word).eq([Some((0, false)), Some((1, true))]);
    kinds.next().is_none() && is_unit && index.ends_with(&first)
}

/// Give each sum over PEs a start of its own in the first of them.
pub(crate) fn starts(program: &Program, machine: &Machine) -> Program {
    let (mut result, operations) = program.taken_apart();
    let mut copies = Copies { machine, units: Vec::new(), known: Vec::new() };
    for (operation, axes) in operations {
        let lanes = summed(operation, axes, machine);
        let mut own = operation.clone();
        if let Kind::MultiplyAdd { start: Some(start), .. } = &mut own.kind
            && !lanes.is_empty()
            && !is_copy(start, &lanes, &program.fixed)
        {
            *start = copies.of(&mut result, start, (operation, axes), &lanes);
        }
        copies.known.retain(|known| known.copied != Operand::Read { tensor: operation.out, index: Vec::new() });
        result.add(own, axes.clone());
    }
    result
}

/// A start that is copied to the first lane.
struct Known {
    /// What the copy is a product of.
    factors: (Operand, Operand),
    /// What it is a copy of, without an index.
    copied: Operand,
    iterators: Vec<Iterator>,
    home: Vec<Axis>,
    copy: TensorId,
}

/// Copies of starts: sums that start with the same share one.
struct Copies<'a> {
    machine: &'a Machine,
    /// Tensors that are 1 in the first of some lanes, and 0 in the others.
    units: Vec<(Vec<(Axis, u32)>, TensorId)>,
    known: Vec<Known>,
}

impl Copies<'_> {
    /// The tensor that is 1 in the first of these lanes.
    fn unit(&mut self, result: &mut Program, lanes: &[(Axis, u32)], reader: &Operation) -> TensorId {
        if let Some((_, unit)) = self.units.iter().find(|(of, _)| of == lanes) {
            return *unit;
        }
        let shape: Vec<u32> = lanes.iter().map(|(axis, _)| axis.lanes(self.machine)).collect();
        let (name, span) = ("first".to_owned(), reader.origin.span());
        let tensor = Tensor { name, shape, role: Role::Temporary, fraction: 0, columns: None, span };
        let home: Vec<Axis> = lanes.iter().map(|(axis, _)| *axis).collect();
        let out = result.add_temporary(tensor, home.clone());
        let written = |word: i64, iterators: Vec<Iterator>, out_index: Vec<Affine>| Operation {
            free: iterators.len(),
            iterators,
            out,
            out_index,
            kind: Kind::exact(Some(Operand::Constant { word, fraction: 0 }), None),
            origin: reader.origin.clone(),
        };
        let all = self.over(lanes);
        let index = (0..all.len()).map(|i| Affine::iterator(IterId(i))).collect();
        result.add(written(0, all, index), home);
        let first = lanes.iter().map(|&(_, first)| Affine::constant(first.into())).collect();
        result.add(written(1, Vec::new(), first), Vec::new());
        self.units.push((lanes.to_vec(), out));
        out
    }

    /// An iterator over each of the lanes.
    fn over(&self, lanes: &[(Axis, u32)]) -> Vec<Iterator> {
        let high = |axis: &Axis| i64::from(axis.lanes(self.machine));
        lanes.iter().map(|(axis, _)| Iterator { name: axis.to_string(), low: 0, high: high(axis) }).collect()
    }

    /// A start, as an element of a tensor that has it in the first of these lanes.
    fn of(
        &mut self,
        result: &mut Program,
        start: &Operand,
        (reader, axes): (&Operation, &[Axis]),
        lanes: &[(Axis, u32)],
    ) -> Operand {
        let unit = self.unit(result, lanes, reader);
        let (name, fraction, index) = match start {
            Operand::Read { tensor, index } => {
                let Tensor { name, fraction, .. } = &result.fixed.tensors[tensor.0];
                (name.clone(), *fraction, index.as_slice())
            }
            Operand::Constant { word, fraction } => (word.to_string(), *fraction, [].as_slice()),
        };
        // One element for each value of the iterators that it depends on.
        let used = used(index);
        let mut iterators: Vec<Iterator> = used.iter().map(|&i| reader.iterators[i].clone()).collect();
        iterators.extend(self.over(lanes));
        let home: Vec<Axis> = used.iter().map(|&i| axes[i]).chain(lanes.iter().map(|lane| lane.0)).collect();
        let own = |i: usize| Affine::iterator(IterId(i));
        let position = |i: IterId| IterId(used.iter().position(|&used| used == i.0).expect("it is used"));
        let moved = |form: &Affine| Affine {
            offset: form.offset,
            terms: form.terms.iter().map(|&(i, coefficient)| (position(i), coefficient)).collect(),
        };
        let (word, copied) = match start {
            Operand::Read { tensor, index } => {
                let at = |index| Operand::Read { tensor: *tensor, index };
                (at(index.iter().map(moved).collect()), at(Vec::new()))
            }
            constant @ Operand::Constant { .. } => (constant.clone(), constant.clone()),
        };
        let one = Operand::Read { tensor: unit, index: (used.len()..iterators.len()).map(own).collect() };
        let factors = (one, word);
        let ranges = |all: &[Iterator]| all.iter().map(|i| (i.low, i.high)).collect::<Vec<_>>();
        let same = |known: &&Known| {
            (&known.factors, &known.home, ranges(&known.iterators)) == (&factors, &home, ranges(&iterators))
        };
        let copy = if let Some(known) = self.known.iter().find(same) {
            known.copy
        } else {
            let shape = iterators.iter().map(|iterator| iterator.high as u32).collect();
            let span = reader.origin.span();
            let tensor = Tensor { name, shape, role: Role::Temporary, fraction, columns: None, span };
            let copy = result.add_temporary(tensor, home.clone());
            let operation = Operation {
                free: iterators.len(),
                out_index: (0..iterators.len()).map(own).collect(),
                iterators: iterators.clone(),
                out: copy,
                kind: Kind::exact(None, Some(factors.clone())),
                origin: reader.origin.clone(),
            };
            result.add(operation, home.clone());
            self.known.push(Known { factors, copied, iterators, home, copy });
            copy
        };
        let first = lanes.iter().map(|&(_, first)| Affine::constant(first.into()));
        Operand::Read { tensor: copy, index: used.into_iter().map(own).chain(first).collect() }
    }
}
