//! Segments: a function in parts, each a program of its own, one after the other on the same machine.
//!
//! ```text
//! operations   0   1   2   3               4   5
//! segments    [0   1   2] [3, half of it] [3, the other half] [4   5]
//!                       └─ the host keeps what later segments read
//! ```
//!
//! The laws, which [`check()`] holds:
//!
//! 1. Each point of each operation runs once, in some segment, and after all that wrote what it reads.
//! 2. A tensor of a segment is a box of one of the program, with the same binary point; an operation is that of the program but for where boxes and loops
//!    begin.
//! 3. What a segment takes as input is input of the program or a result of earlier segments; what later ones or the host read, it sends.
//!
//! So words are those of the program as a whole, wherever it is cut.

mod blocks;
mod check;
mod cut;
mod region;

pub use check::check;
pub use cut::{Cycles, cut};
pub use region::Region;

use super::{Kind, Operand, Operation, Program, Role, Tensor, for_each_access};
use crate::tensor::{Affine, TensorId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Some points of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Number of the operation.
    pub operation: usize,
    /// What each loop runs over.
    pub loops: Vec<Range<i64>>,
}

impl Part {
    /// All points of an operation.
    pub fn whole(program: &Program, operation: usize) -> Part {
        let loops = program.operations[operation].iterators.iter().map(|iterator| iterator.low..iterator.high);
        Part { operation, loops: loops.collect() }
    }

    /// Loops over all other points of its operation; some may come twice.
    fn others(&self, program: &Program) -> Vec<Vec<Range<i64>>> {
        let all = Part::whole(program, self.operation).loops;
        let beside = |level: usize| {
            let (own, whole) = (&self.loops[level], &all[level]);
            let sides = [whole.start..own.start, own.end..whole.end].into_iter().filter(|side| !side.is_empty());
            sides.map(move |side| (level, side))
        };
        let others = (0..all.len()).flat_map(beside).map(|(level, side)| {
            let mut loops = all.clone();
            loops[level] = side;
            loops
        });
        others.collect()
    }
}

/// Some operations of a program as a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// What it computes.
    pub program: Program,
    /// For each tensor of it, where it lies in one of the whole program.
    pub places: Vec<(TensorId, Region)>,
    /// What it runs.
    pub parts: Vec<Part>,
}

impl Segment {
    /// The segment that runs these parts.
    pub fn new(whole: &Program, parts: Vec<Part>) -> Segment {
        let places = region::touched(whole, &parts);
        let elsewhere = read_elsewhere(whole, &parts, &places);
        let places: Vec<(TensorId, Region)> = places.into_iter().collect();
        let numbers: BTreeMap<TensorId, usize> = places.iter().enumerate().map(|(n, (id, _))| (*id, n)).collect();
        let written: Vec<TensorId> = parts.iter().map(|part| whole.operations[part.operation].out).collect();
        let tensor = |(id, place): &(TensorId, Region)| {
            let tensor = &whole.tensors[id.0];
            let computed = matches!(tensor.role, Role::Temporary | Role::Output);
            let role = match &tensor.role {
                Role::Parameter(words) => Role::Parameter(Arc::from(place.words(&tensor.shape, words))),
                _ if computed && !written.contains(id) => Role::Input,
                Role::Temporary if elsewhere.contains(id) => Role::Output,
                role => role.clone(),
            };
            Tensor { role, shape: place.shape(), columns: place.columns(tensor), ..tensor.clone() }
        };
        let mut program = Program {
            word: whole.word,
            accumulator: whole.accumulator,
            tensors: places.iter().map(tensor).collect(),
            operations: Vec::new(),
            tables: Vec::new(),
            names: Vec::new(),
        };
        let mut tables: Vec<usize> = Vec::new();
        for part in &parts {
            let moved = moved(&whole.operations[part.operation], part, &|id| {
                let number = numbers[&id];
                (TensorId(number), &places[number].1)
            });
            program.operations.push(with_tables_of(moved, &mut tables));
        }
        let mut used = 0;
        for table in tables {
            let mut table = whole.tables[table].clone();
            // They lie in the table memory one behind the other, as those of the whole program do.
            table.usage.base = used;
            used += table.entries.len() as u32;
            program.tables.push(table);
        }
        let named = whole.names.iter().filter_map(|(name, id)| Some((name.clone(), TensorId(*numbers.get(id)?))));
        program.names = named.collect();
        Segment { program, places, parts }
    }

    /// The words of one of its tensors, of those of the whole program.
    pub fn words_of(&self, whole: &Program, tensor: usize, words: &[i64]) -> Vec<i64> {
        let (id, place) = &self.places[tensor];
        place.words(&whole.tensors[id.0].shape, words)
    }

    /// Put the words of one of its tensors where they belong.
    pub fn put(&self, whole: &Program, tensor: usize, words: &[i64], into: &mut [i64]) {
        let (id, place) = &self.places[tensor];
        place.put(&whole.tensors[id.0].shape, words, into);
    }
}

/// The tensors of which other points of operations than these read an element of a place.
fn read_elsewhere(whole: &Program, parts: &[Part], places: &BTreeMap<TensorId, Region>) -> BTreeSet<TensorId> {
    let mut read = BTreeSet::new();
    for (number, operation) in whole.operations.iter().enumerate() {
        let own = parts.iter().find(|part| part.operation == number);
        for loops in own.map_or_else(|| vec![Part::whole(whole, number).loops], |part| part.others(whole)) {
            for_each_access(operation, |tensor, index, writes| {
                let meets = |place: &Region| Region::of(index, &loops).meets(place);
                if !writes && places.get(&tensor).is_some_and(meets) {
                    read.insert(tensor);
                }
            });
        }
    }
    read
}

/// An operation over some of its points, from 0 on, on boxes of its tensors.
fn moved<'a>(operation: &Operation, part: &Part, place: &dyn Fn(TensorId) -> (TensorId, &'a Region)) -> Operation {
    let index = |forms: &[Affine], low: &[u32]| -> Vec<Affine> {
        let form = |(form, &low): (&Affine, &u32)| {
            let begins = form.terms.iter().map(|(iterator, factor)| factor * part.loops[iterator.0].start);
            Affine { offset: form.offset + begins.sum::<i64>() - i64::from(low), terms: form.terms.clone() }
        };
        forms.iter().zip(low).map(form).collect()
    };
    let operand = |operand: &Operand| match operand {
        Operand::Read { tensor, index: forms } => {
            let (id, within) = place(*tensor);
            Operand::Read { tensor: id, index: index(forms, &within.low) }
        }
        constant @ Operand::Constant { .. } => constant.clone(),
    };
    let (out, within) = place(operation.out);
    let mut iterators = operation.iterators.clone();
    for (iterator, range) in iterators.iter_mut().zip(&part.loops) {
        (iterator.low, iterator.high) = (0, range.end - range.start);
    }
    Operation {
        iterators,
        out,
        out_index: index(&operation.out_index, &within.low),
        kind: operation.kind.map(operand),
        ..operation.clone()
    }
}

/// The operation with the number that its table has among those of its segment.
fn with_tables_of(mut operation: Operation, tables: &mut Vec<usize>) -> Operation {
    if let Kind::Function { table, .. } = &mut operation.kind {
        let known = tables.iter().position(|known| known == table);
        let number = known.unwrap_or_else(|| {
            tables.push(*table);
            tables.len() - 1
        });
        *table = number;
    }
    operation
}
