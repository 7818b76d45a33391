//! The laws of jobs, checked.

use super::job::{Access, Copies, Counts, Datapath, Job, Sink, Source, Walk};
use super::lanes::Lanes;
use super::{Program, Storage, text};
use crate::fixed::Role;
use crate::laws::{Check, Entity, Laws, Report, Stage, law, stop_at};
use crate::placed::Axis;
use arch::isa::RootFunction;
use arch::machine::Machine;
use std::collections::BTreeSet;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program, machine: &Machine) {
    stop_at(laws(program, machine), || program.to_string());
}

/// The laws that are broken.
///
/// # Errors
/// If there are any.
pub fn laws(program: &Program, machine: &Machine) -> Laws {
    let mut report = Report::new(Stage::Jobs);
    for (number, storage) in program.storages.iter().enumerate() {
        report.of(Entity::Storage(number), || text::storage(number, storage), verify_storage(storage));
    }
    for (number, job) in program.jobs.iter().enumerate() {
        report.of(Entity::Job(number), || text::job(job, &program.tables), verify_job(program, job, machine));
    }
    report.of_program(verify_unit(program));
    report.of_program(verify_parked(program));
    report.laws()
}

/// Law 8: pieces.
fn verify_storage(storage: &Storage) -> Check {
    let streamed = !matches!(storage.role, Role::Temporary);
    law!(8, streamed == storage.piece.is_some(), "a storage is streamed, or a piece of nothing");
    Ok(())
}

/// Laws 1, 4, 6 and 7 of one job.
fn verify_job(program: &Program, job: &Job, machine: &Machine) -> Check {
    verify_shape(program, job)?;
    verify_walk(job, machine)?;
    verify_lanes(&job.lanes, job, machine)?;
    verify_roles(program, job)?;
    if let Sink::Tree { function, lanes, .. } = &job.sink {
        verify_lanes(lanes, job, machine)?;
        if let Some(RootFunction::Table(usage)) = function {
            let known = program.tables.iter().any(|table| table.usage == *usage);
            law!(7, known, "the root applies a table that the program does not have");
        }
    }
    Ok(())
}

/// The words of a storage that an access touches: the first and the last.
pub(crate) fn reach(access: &Access, loops: &[u32]) -> (i64, i64) {
    access.strides.iter().zip(loops).fold((access.offset, access.offset), |(low, high), (&stride, &count)| {
        let last = stride * (i64::from(count) - 1);
        (low + last.min(0), high + last.max(0))
    })
}

/// Laws 1 to 3.
fn verify_shape(program: &Program, job: &Job) -> Check {
    law!(1, job.loops.iter().all(|&count| count > 0), "a loop that runs never");
    law!(1, job.reduce <= job.loops.len() && job.interval > 0, "loops that are summed over");
    // Rounds over the columns have not been made yet: offsets do not reach beyond what they will.
    let walks = matches!(job.sink, Sink::Tree { walk: Some(_), .. });
    for access in job.reads().chain(job.write()).chain(job.parked()) {
        law!(1, access.strides.len() == job.loops.len(), "a stride for each loop");
    }
    for access in job.reads().chain(job.write()) {
        let storage = &program.storages[access.storage.0];
        let (low, high) = reach(access, &job.loops);
        let inside = low >= 0 && (walks || high < i64::from(storage.words));
        law!(1, inside, "words {low} to {high} of {}, which has {}", storage.name, storage.words);
    }
    for access in job.write().into_iter().chain(job.parked()) {
        let summed = &access.strides[job.loops.len() - job.reduce..];
        law!(1, summed.iter().all(|&stride| stride == 0), "a result moves inside its sum");
    }
    law!(1, job.a.is_some() || job.b == Source::Word(0), "half a product");
    Ok(())
}

/// Law 1 for what walks to another axis.
fn verify_walk(job: &Job, machine: &Machine) -> Check {
    let Sink::Tree { walk: Some(walk), .. } = &job.sink else { return Ok(()) };
    match *walk {
        Walk::Along { level, axis, .. } => {
            law!(1, level < job.loops.len(), "a walk of a loop that is not there");
            law!(1, axis != Axis::Local, "a walk along no lanes");
        }
        Walk::Inside { level, axis, low, high, .. } => {
            law!(1, level < job.loops.len(), "a walk of a loop that is not there");
            let lanes = axis.lanes(machine);
            let waves = high.saturating_sub(1) / lanes + 1;
            law!(1, low < high && job.loops[level] == waves - low / lanes, "a walk of other words than there are");
        }
        Walk::ToRows { waves, columns, words, .. } => {
            law!(1, waves.max(columns) < job.loops.len(), "a walk of a loop that is not there");
            let full = u64::from(job.loops[waves] - 1) * u64::from(machine.pes_per_pu());
            law!(1, full < u64::from(words), "a walk of more words than there are");
        }
    }
    Ok(())
}

/// Law 4.
fn verify_lanes(lanes: &Lanes, job: &Job, machine: &Machine) -> Check {
    let mut axes = Vec::new();
    for bound in &lanes.bounds {
        law!(4, matches!(bound.axis, Axis::Row | Axis::Column | Axis::Grid), "a bound on {}", bound.axis);
        law!(4, !axes.contains(&bound.axis), "two bounds on {}", bound.axis);
        law!(4, bound.level.is_none_or(|level| level < job.loops.len()), "a bound of a loop that is not there");
        axes.push(bound.axis);
    }
    law!(4, !axes.contains(&Axis::Grid) || axes.len() == 1, "bounds on the whole grid and on a part of it");
    for (level, lanes) in [(lanes.pick_row, machine.pus()), (lanes.pick_column, machine.pes_per_pu())] {
        let counts = level.is_none_or(|level| job.loops.get(level).is_some_and(|&count| count <= lanes));
        law!(4, counts, "a pick of a lane that is not there");
    }
    Ok(())
}

/// Law 6.
fn verify_roles(program: &Program, job: &Job) -> Check {
    let Some(write) = job.write() else { return Ok(()) };
    let storage = &program.storages[write.storage.0];
    let bus = matches!(job.sink, Sink::Tree { .. }) || job.on == Datapath::Scalar;
    let may = match storage.role {
        Role::Input | Role::Parameter(_) => false,
        Role::State => !bus && job.copies == Copies::ENGINES,
        Role::Temporary | Role::Output => true,
    };
    law!(6, may, "{} cannot be written so", storage.name);
    law!(6, job.copies.engines || job.copies.scalar, "nobody takes the result");
    Ok(())
}

/// Law 5.
fn verify_unit(program: &Program) -> Check {
    let kept = |storage: &Storage| matches!(storage.role, Role::State | Role::Parameter(_));
    let writers = |storage: usize| {
        let writes = move |job: &&Job| job.write().is_some_and(|write| write.storage.0 == storage);
        program.jobs.iter().filter(writes)
    };
    for job in &program.jobs {
        for read in job.reads() {
            let storage = &program.storages[read.storage.0];
            let mut others = writers(read.storage.0);
            let there = match job.on {
                Datapath::Engines => others.all(|writer| writer.copies.engines),
                Datapath::Scalar => {
                    law!(5, !kept(storage), "{}: the scalar unit has no {}", job.what, storage.name);
                    storage.role == Role::Input || others.all(|writer| writer.copies.scalar)
                }
            };
            law!(5, there, "{}: {} is not written where it is read", job.what, storage.name);
        }
        let stays = matches!(job.sink, Sink::Pad(_)) && job.lanes == Lanes::default() && job.counts == Counts::Every;
        law!(5, job.on == Datapath::Engines || stays, "{}: the scalar unit has no mask and no tree", job.what);
    }
    Ok(())
}

/// Law 8.
fn verify_parked(program: &Program) -> Check {
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    for job in &program.jobs {
        law!(8, job.counts == Counts::Every || program.tile.is_some(), "{}: there are no tiles", job.what);
        let Some(parked) = job.parked() else { continue };
        for word in words(parked, &job.loops) {
            law!(8, word >= 0 && taken.insert(word), "{}: gradient word {word} belongs to another sum", job.what);
        }
    }
    Ok(())
}

/// The words that an access touches, one for each point of the loops that move it.
fn words(access: &Access, loops: &[u32]) -> Vec<i64> {
    let moving = access.strides.iter().zip(loops).filter(|(stride, _)| **stride != 0);
    moving.fold(vec![access.offset], |words, (&stride, &count)| {
        words.iter().flat_map(|&word| (0..i64::from(count)).map(move |step| word + stride * step)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{Program, laws, verify};
    use crate::laws::first;
    use crate::text::changed;
    use arch::machine::{Machine, MachineSpec};

    /// A batch in two tiles; `%0[7 - ...]` goes backwards.
    const TILES: &str = "jobs word 16 accumulator 48
tile 3 samples, 2 tiles
table 0 sigmoid word 16 q 12 -> q 15 log2 4 at 0
storage %0 x [3, 3] on [local, local] strides [3, 1] words 9 q 8 input of x [6, 3] at [d0, d1] samples 0
storage %1 w [3] on [local] strides [1] words 3 q 8 state of w [3] at [d0]
storage %2 h [3] on [local] strides [1] words 3 q 8 temporary
storage %3 s [3] on [local] strides [1] words 3 q 8 temporary
storage %4 r [3] on [local] strides [1] words 3 q 8 temporary
job \"h multiply-add\" pes for 3 over 3: %2[k0] = + %1[k1] * %0[3*k0 + k1] >> 8
job \"r multiply-add\" pes for 3 over 3: %4[k0] = global root ( + %1[k1] * %0[3*k0 - k1 + 2] >> 8 ) >> 0
job \"s multiply-add\" pes for 3 over 3: %3[k0] = + %2[k1] * %0[k0 + 3*k1] >> 8  over tiles %3[k0]
job \"w multiply-add\" pes for 3: %1[k0] = %1[k0] << 8 - %3[k0] * 128 >> 8  last tile
";

    /// The scalar unit has h and y, and sends d.
    const UNIT: &str = "jobs word 16 accumulator 48
storage %0 x [4] on [local] strides [1] words 4 q 8 input of x [4] at [d0]
storage %1 w [4] on [local] strides [1] words 4 q 8 state of w [4] at [d0]
storage %2 y [] on [] strides [] words 1 q 8 input of y [] at []
storage %3 h [] on [] strides [] words 1 q 8 temporary
storage %4 d [] on [] strides [] words 1 q 8 temporary
job \"h multiply-add\" pes over 4: %3[0] = global root ( + %1[k0] * %0[k0] >> 0 ) >> 8  to scalar
job \"d multiply-add\" scalar: %4[0] = %3[0] << 0 - %2[0] * 1 >> 0  to pes
job \"w multiply-add\" pes for 4: %1[k0] = %1[k0] << 8 - %4[0] * %0[k0] >> 8
";

    /// Rows of 4 columns: 9 words leave a row in three rounds, 10 words of columns come into each PE.
    const WALKS: &str = "jobs word 16 accumulator 48
storage %0 a [3] on [local] strides [1] words 3 q 8 temporary
storage %1 b [12] on [local] strides [1] words 12 q 8 temporary
storage %2 t [10] on [column] strides [1] words 3 q 8 temporary
storage %3 u [10] on [local] strides [1] words 10 q 8 temporary
storage %4 c [3] on [column] strides [1] words 1 q 8 temporary
job \"b copy\" pes for 3 4: %1[4*k0 + k1] = row root ( + %0[k0] * 1 >> 0  lanes column k1 ) >> 0  walk rows k0 columns k1 words 9 lanes 0..2
job \"u multiply-add\" pes for 3: %3[0] = row root ( + %2[k0] * 1 >> 0 ) >> 0  walk inside k0 column 1..10 step 1
job \"c multiply-add\" pes for 3: %4[0] = row root ( + %0[k0] * 1 >> 0 ) >> 0  walk along k0 column step 1
";

    fn machine() -> Machine {
        let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(4), ..MachineSpec::default() };
        Machine::try_from(spec).expect("a machine")
    }

    #[test]
    fn every_law_is_checked() {
        for right in [TILES, UNIT, WALKS] {
            assert_eq!(laws(&right.parse().expect("a good text"), &machine()), Ok(()));
        }
        for (law, text, from, to) in [
            (1, TILES, "for 3 over 3: %2", "for 0 over 3: %2"),
            (1, TILES, "%0[3*k0 + k1]", "%0[3*k0 + k1 + 1]"),
            (1, TILES, "%0[3*k0 + k1]", "%0[3*k0 + k1 - 1]"),
            (1, TILES, "%0[3*k0 - k1 + 2]", "%0[3*k0 - k1 + 1]"),
            (1, TILES, "%0[3*k0 - k1 + 2]", "%0[3*k0 - k1 + 3]"),
            (1, TILES, "%2[k0]", "%2[k1]"),
            (1, TILES, "over tiles %3[k0]", "over tiles %3[k1]"),
            (1, TILES, "+ %1[k1] * %0[3*k0 + k1]", "+ 3"),
            (4, TILES, "+ k1] >> 8", "+ k1] >> 8  lanes row 0..1, row 1..2"),
            (4, TILES, "+ k1] >> 8", "+ k1] >> 8  lanes pe 0..1, row 1..2"),
            (4, TILES, "+ k1] >> 8", "+ k1] >> 8  lanes row k0"),
            (4, TILES, "+ 2] >> 8", "+ 2] >> 8  lanes row k0"),
            (4, TILES, ">> 0\n", ">> 0  lanes row k0\n"),
            (6, TILES, "%2[k0] =", "%0[k0] ="),
            (6, TILES, "%4[k0] =", "%1[k0] ="),
            (6, TILES, "last tile", "to pes scalar  last tile"),
            (6, TILES, "last tile", "to none  last tile"),
            (8, TILES, " of w [3] at [d0]", ""),
            (8, TILES, "tile 3 samples, 2 tiles\n", ""),
            (8, TILES, "over tiles %3[k0]", "over tiles %3[k0 - 1]"),
            (8, TILES, "] >> 8 ) >> 0", "] >> 8 ) >> 0  over tiles %3[k0 + 2]"),
            (5, UNIT, "%2[0] * 1", "%1[0] * 1"),
            (5, UNIT, "to scalar", "to pes"),
            (5, UNIT, "to pes", "to scalar"),
            (5, UNIT, "to pes", "lanes row 0..1  to pes"),
            (5, &UNIT.replace("48\n", "48\ntile 3 samples, 2 tiles\n"), "to pes", "to pes  last tile"),
            (5, UNIT, "%3[0] << 0 - %2[0] * 1 >> 0", "global root ( %3[0] << 0 - %2[0] * 1 >> 0 ) >> 0"),
            (1, WALKS, "words 9", "words 8"),
            (1, WALKS, "column 1..10", "column 1..14"),
            (1, WALKS, "column 1..10", "column 4..10"),
            (1, WALKS, "column 1..10", "column 10..10"),
        ] {
            assert_eq!(first(laws(&changed(text, from, to), &machine())).0, law, "{to}");
        }
        let table = changed(TILES, "] >> 8 ) >> 0", "] >> 8 ) >> 0 table 0");
        assert_eq!(laws(&table, &machine()), Ok(()));
        let without = Program { tables: Vec::new(), ..table };
        assert!(laws(&without, &machine()).is_err_and(|broken| broken[0].law == 7));
    }

    #[test]
    #[should_panic(expected = "law 5 of the list of jobs")]
    fn a_bug_stops_the_compiler() {
        verify(&changed::<Program>(UNIT, "to scalar", "to pes"), &machine());
    }
}
