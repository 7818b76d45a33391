//! Fuse: a function on the way of a sum.
//!
//!     h   ─▶ tree ─▶ root (round) ─▶ bus ─▶ pad        =>    h.1 ─▶ tree ─▶ root (round, table) ─▶ bus ─▶ pad
//!     h.1 ─▶ tree ─▶ root (table) ─▶ bus ─▶ pad
//!
//! The root rounds the sum to the word that the function is defined on, so no bit changes.

use super::job::{Access, Job, Sink, Source};
use super::{Program, Storage};
use crate::fixed::Role;
use arch::isa::{Combine, Finish, RootFunction};
use arch::timing::Unit;

/// Whether `function` does nothing but apply a table to every word that `sum` writes.
fn follows(sum: &Job, function: &Job) -> bool {
    let (
        Sink::Tree { unit: Unit::Row | Unit::Global, function: None, write, walk: None, .. },
        Sink::Tree { function: Some(RootFunction::Table(_)), shift: 0, .. },
    ) = (&sum.sink, &function.sink)
    else {
        return false;
    };
    let results = sum.loops.len() - sum.reduce;
    let written = Access { strides: write.strides[..results].to_vec(), ..write.clone() };
    let plain =
        function.b == Source::Word(1) && !function.square && function.c.is_none() && function.combine == Combine::Add;
    sum.finish == Finish::Round
        && plain
        && function.reduce == 0
        && sum.loops[..results] == function.loops
        && function.a.as_ref() == Some(&written)
}

fn reads(job: &Job, storage: usize) -> bool {
    job.reads().any(|access| access.storage.0 == storage)
}

/// Whether nobody but one function needs what `sum` writes.
fn private(storage: usize, storages: &[Storage], jobs: &[Job]) -> bool {
    let writers = jobs.iter().filter(|job| job.write().is_some_and(|w| w.storage.0 == storage)).count();
    storages[storage].role == Role::Temporary
        && writers == 1
        && jobs.iter().filter(|job| reads(job, storage)).count() == 1
}

/// The same program with functions that roots apply to sums as they pass.
pub(crate) fn fuse(program: &Program) -> Program {
    let mut program = program.clone();
    let mut number = 0;
    while number < program.jobs.len() {
        let sum = &program.jobs[number];
        let written = sum.write().map(|access| access.storage.0);
        let partner = written.filter(|&s| private(s, &program.storages, &program.jobs)).and_then(|storage| {
            let at = (number + 1..program.jobs.len()).find(|&n| reads(&program.jobs[n], storage))?;
            follows(sum, &program.jobs[at]).then_some(at)
        });
        if let Some(at) = partner {
            let function = program.jobs.remove(at);
            take_in(&mut program.jobs[number], function);
        }
        number += 1;
    }
    program
}

/// Let the root of `sum` apply `function`, and the bus write where that writes.
fn take_in(sum: &mut Job, function: Job) {
    let Sink::Tree { function: table, write, lanes, walk, .. } = function.sink else {
        unreachable!("a function goes through a tree")
    };
    let summed = sum.loops.len() - function.loops.len();
    let strides = write.strides.iter().copied().chain(std::iter::repeat_n(0, summed)).collect();
    if let Sink::Tree { function, write: own, lanes: own_lanes, walk: own_walk, .. } = &mut sum.sink {
        (*function, *own, *own_lanes, *own_walk) = (table, Access { strides, ..write }, lanes, walk);
    }
    sum.what = format!("{}, {}", sum.what, function.what);
    sum.origin.join(&function.origin);
}
