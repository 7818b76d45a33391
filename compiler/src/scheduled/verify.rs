//! The laws of a scheduled program, checked.

use super::schedule::Touched;
use super::timetable::{Footprint, Timetable};
use super::{Home, Program};
use crate::fixed::Role;
use crate::jobs::job::{Access, Datapath, Job, Sink};
use crate::jobs::{self, Storage, text};
use crate::laws::{Check, Entity, Laws, Report, Stage, law, stop_at};
use arch::isa::Pad;
use arch::machine::Machine;

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
    let mut report = Report::including(Stage::Scheduled, jobs::laws(&program.step, machine));
    report.of_program(verify_counts(program));
    if !report.is_clean() {
        return report.laws();
    }
    for (number, job) in program.jobs().iter().enumerate() {
        report.of(Entity::Job(number), || text::job(job, &program.step.tables), verify_job(program, job, machine));
    }
    let mut used = vec![false; program.homes.len()];
    for access in program.jobs().iter().flat_map(|job| job.reads().chain(job.write())) {
        used[access.storage.0] = true;
    }
    for (number, home) in program.homes.iter().enumerate() {
        let storage = &program.storages()[number];
        // What became part of another job has no words.
        if storage.role == Role::Temporary && !used[number] {
            continue;
        }
        report.of(Entity::Storage(number), || text::storage(number, storage), verify_home(storage, *home, machine));
    }
    report.of_program(verify_shared(program));
    if report.is_clean() {
        report.of_program(verify_cycles(program, machine));
    }
    report.laws()
}

/// Law 1.
fn verify_counts(program: &Program) -> Check {
    law!(1, program.homes.len() == program.storages().len(), "every storage has a home");
    law!(1, program.starts.len() == program.jobs().len(), "every job has a start");
    Ok(())
}

/// Laws 1 to 3 of one job.
fn verify_job(program: &Program, job: &Job, machine: &Machine) -> Check {
    law!(1, job.loops.len() <= machine.loops() as usize, "more loops than an instruction has");
    let walks = matches!(job.sink, Sink::Tree { walk: Some(_), .. });
    law!(1, !walks, "its rounds over the columns have not been made");
    verify_reads(program, job)?;
    let carried = matches!(job.sink, Sink::Tree { .. }) || job.on == Datapath::Scalar;
    if let Some(write) = job.write().filter(|_| carried) {
        let pad = program.homes[write.storage.0].pad;
        law!(2, Pad::TEMPORARY.contains(&pad), "a bus cannot write {pad}");
    }
    Ok(())
}

/// Law 3.
fn verify_reads(program: &Program, job: &Job) -> Check {
    let mut reads: Vec<&Access> = Vec::new();
    for access in job.reads() {
        if reads.contains(&access) {
            continue;
        }
        let pad = program.homes[access.storage.0].pad;
        let free = reads.iter().all(|other| program.homes[other.storage.0].pad != pad);
        law!(3, free, "two words of {pad} in one beat");
        reads.push(access);
    }
    Ok(())
}

/// Laws 2 and 4: pads.
fn verify_home(storage: &Storage, home: Home, machine: &Machine) -> Check {
    let right = match storage.role {
        Role::Input => home.pad == Pad::Data,
        Role::State | Role::Parameter(_) => home.pad == Pad::Model,
        Role::Temporary | Role::Output => home.pad != Pad::Data,
    };
    law!(2, right, "it lies in {}", home.pad);
    law!(2, home.base + storage.words <= home.pad.depth(machine), "it lies beyond the end of {}", home.pad);
    Ok(())
}

/// When a storage is alive: first and last beat, and first and last job in the order of the program.
#[derive(Debug, Clone, Copy)]
struct Life {
    beats: (u64, u64),
    jobs: (u64, u64),
}

impl Life {
    fn ends_before(self, other: Life) -> bool {
        self.beats.1 < other.beats.0 && self.jobs.1 < other.jobs.0
    }
}

/// The life of each storage that holds anything; what is streamed in is there from the first cycle, and what is streamed ends never.
fn lives(program: &Program) -> Vec<Option<Life>> {
    let mut lives: Vec<Option<Life>> = vec![None; program.storages().len()];
    for (place, (job, &start)) in (0..).zip(program.jobs().iter().zip(&program.starts)) {
        let end = start + job.cycles() - 1;
        for access in job.reads().chain(job.write()) {
            let life = lives[access.storage.0].get_or_insert(Life { beats: (start, end), jobs: (place, place) });
            life.beats = (life.beats.0.min(start), life.beats.1.max(end));
            life.jobs.1 = place;
        }
    }
    for (storage, life) in program.storages().iter().zip(&mut lives) {
        match storage.role {
            Role::Temporary => {}
            Role::Output => life.iter_mut().for_each(|life| (life.beats.1, life.jobs.1) = (u64::MAX, u64::MAX)),
            Role::Input | Role::State | Role::Parameter(_) => {
                *life = Some(Life { beats: (0, u64::MAX), jobs: (0, u64::MAX) });
            }
        }
    }
    lives
}

/// Law 4: words.
fn verify_shared(program: &Program) -> Check {
    let lives = lives(program);
    let alive: Vec<(usize, Life)> = (0..).zip(&lives).filter_map(|(number, life)| Some((number, (*life)?))).collect();
    for (n, &(one, life)) in alive.iter().enumerate() {
        for &(other, other_life) in &alive[n + 1..] {
            let (home, other_home) = (program.homes[one], program.homes[other]);
            let (storage, other_storage) = (&program.storages()[one], &program.storages()[other]);
            let beside = home.base + storage.words <= other_home.base
                || other_home.base + other_storage.words <= home.base
                || home.pad != other_home.pad;
            let apart = life.ends_before(other_life) || other_life.ends_before(life);
            law!(4, beside || apart, "{} and {} share words of {}", storage.name, other_storage.name, home.pad);
        }
    }
    Ok(())
}

/// Laws 5 and 6.
fn verify_cycles(program: &Program, machine: &Machine) -> Check {
    let pads = program.pads();
    let mut timetable = Timetable::new(machine, program.storages(), &pads);
    for (place, (job, &start)) in program.jobs().iter().zip(&program.starts).enumerate() {
        let words = Footprint::of(job, machine);
        let mut earliest = timetable.start(job, timetable.words_ready(&words));
        if start < earliest {
            // The timetable knows words, not lanes: two jobs may write the same word of different PEs in any order.
            earliest = timetable.start(job, words_of_lanes_ready(program, machine, place, &pads));
        }
        law!(5, start >= earliest, "{} starts in cycle {start}, and could in {earliest}", job.what);
        timetable.place(job, &words, start);
    }
    let length = timetable.length();
    law!(6, program.length >= length, "the step is {} cycles long, and takes {length}", program.length);
    let (tile, least) = (program.tile_length, timetable.tile_length(program.jobs()));
    law!(6, tile >= least && tile <= program.length, "a tile is {tile} cycles long, and takes {least}");
    Ok(())
}

/// The first cycle in which the words of a job are ready, if only those jobs before it count that touch the same words of the same PEs.
fn words_of_lanes_ready(program: &Program, machine: &Machine, place: usize, pads: &[Pad]) -> u64 {
    let own = Touched::of(&program.jobs()[place], machine);
    let mut timetable = Timetable::new(machine, program.storages(), pads);
    for (job, &start) in program.jobs().iter().zip(&program.starts).take(place) {
        let earlier = Touched::of(job, machine);
        if earlier.lag(&own).is_some() {
            timetable.place(job, &earlier.words, start);
        }
    }
    timetable.words_ready(&own.words)
}

#[cfg(test)]
mod tests {
    use super::{Program, laws, verify};
    use crate::laws::first;
    use crate::text::changed;
    use arch::machine::{Machine, MachineSpec};

    /// z comes between h, which passes the global root, and g, which waits for it.
    const GAP: &str = "scheduled 20 cycles
jobs word 16 accumulator 48
storage %0 x [4] on [local] strides [1] words 4 q 8 input of x [4] at [d0] in data at 0
storage %1 w [4] on [local] strides [1] words 4 q 8 state of w [4] at [d0] in model at 0
storage %2 h [] on [] strides [] words 1 q 8 temporary in t0 at 4
storage %3 g [4] on [local] strides [1] words 4 q 8 temporary in t1 at 0
storage %4 z [4] on [local] strides [1] words 4 q 8 temporary in t0 at 0
storage %5 y [] on [] strides [] words 1 q 8 input of y [] at [] in data at 4
at 0 job \"h multiply-add\" pes over 4: %2[0] = global root ( + %1[k0] * %0[k0] >> 0 ) >> 8
at 7 job \"z copy\" pes for 4: %4[k0] = %0[k0] << 0 + 0 >> 0
at 14 job \"g multiply-add\" pes for 4: %3[k0] = + %0[k0] * %2[0] >> 8
";

    /// The second job writes h of row 1 before the first one's comes to row 0.
    const ROWS: &str = "scheduled 20 cycles
jobs word 16 accumulator 48
storage %0 x [4] on [local] strides [1] words 4 q 8 input of x [4] at [d0] in data at 0
storage %1 w [4] on [local] strides [1] words 4 q 8 state of w [4] at [d0] in model at 0
storage %2 h [] on [] strides [] words 1 q 8 temporary in t0 at 0
storage %3 g [4] on [local] strides [1] words 4 q 8 temporary in t1 at 0
at 0 job \"h multiply-add\" pes over 4: %2[0] = global root ( + %1[k0] * %0[k0] >> 0 ) >> 8  lanes row 0..1
at 4 job \"h copy\" pes: %2[0] = %0[0] << 0 + 0 >> 0  lanes row 1..2
at 14 job \"g multiply-add\" pes for 4: %3[k0] = + %0[k0] * %2[0] >> 8
";

    /// The last read of d, by the scalar unit, and the first write of e are in one cycle.
    const UNIT: &str = "scheduled 30 cycles
jobs word 16 accumulator 48
storage %0 x [4] on [local] strides [1] words 4 q 8 input of x [4] at [d0] in data at 0
storage %1 y [] on [] strides [] words 1 q 8 input of y [] at [] in data at 4
storage %2 d [] on [] strides [] words 1 q 8 temporary in t0 at 0
storage %3 f [] on [] strides [] words 1 q 8 temporary in t1 at 0
storage %4 e [] on [] strides [] words 1 q 8 temporary in t0 at 1
at 0 job \"d multiply-add\" scalar: %2[0] = + %1[0] * 3 >> 0  to scalar
at 9 job \"f multiply-add\" scalar: %3[0] = + %2[0] * 3 >> 0  to scalar
at 9 job \"e copy\" pes: %4[0] = %0[0] << 0 + 0 >> 0
";

    fn machine() -> Machine {
        let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(2), scalar: Some(true), ..MachineSpec::default() };
        Machine::try_from(spec).expect("a machine")
    }

    #[test]
    fn every_law_is_checked() {
        for right in [GAP, ROWS, UNIT] {
            assert_eq!(laws(&right.parse().expect("a good text"), &machine()), Ok(()));
        }
        for (law, text, from, to) in [
            (1, GAP, "pes for 4: %4[k0]", "pes for 1 1 1 1 4: %4[k4]"),
            (1, GAP, ">> 8\nat 7", ">> 8  walk along k0 column step 1\nat 7"),
            (2, GAP, "in data at 0", "in t1 at 4"),
            (2, GAP, "in model at 0", "in t1 at 4"),
            (2, GAP, "temporary in t1 at 0", "temporary in data at 8"),
            (2, GAP, "in data at 4", "in data at 100000"),
            (2, GAP, "in t0 at 4", "in model at 4"),
            (2, &UNIT.replace("to scalar", "to pes scalar"), "temporary in t0 at 0", "temporary in model at 0"),
            (3, GAP, "= + %0[k0] * %2[0]", "= + %4[k0] * %2[0]"),
            // h is waited for while z is written, and z is written behind g's sum, which it precedes in the program.
            (4, GAP, "in t0 at 4", "in t0 at 3"),
            (4, GAP, "in data at 4", "in data at 3"),
            (
                4,
                &GAP.replace("%4[k0] = %0", "%4[k0 + 0] = %0").replace("at 7 job", "at 20 job"),
                "in t0 at 0",
                "in t1 at 0",
            ),
            (4, UNIT, "in t0 at 1", "in t0 at 0"),
            (5, GAP, "at 14", "at 13"),
            (5, ROWS, "at 14", "at 13"),
            (5, ROWS, "lanes row 1..2", "lanes row 0..1"),
            (6, GAP, "scheduled 20 cycles", "scheduled 19 cycles"),
            (6, GAP, "scheduled 20 cycles", "scheduled 20 cycles, tile 10"),
        ] {
            assert_eq!(first(laws(&changed(text, from, to), &machine())).0, law, "{to}");
        }
        for part in ["homes", "starts"] {
            let mut program: Program = GAP.parse().expect("a good text");
            if part == "homes" {
                program.homes.pop().map(|_| ())
            } else {
                program.starts.pop().map(|_| ())
            };
            assert!(laws(&program, &machine()).is_err_and(|broken| broken[0].law == 1), "{part}");
        }
    }

    #[test]
    #[should_panic(expected = "law 5 of the schedule")]
    fn a_bug_stops_the_compiler() {
        verify(&changed::<Program>(GAP, "at 14", "at 13"), &machine());
    }
}
