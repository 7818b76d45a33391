//! The laws of a scheduled program, checked.

use super::Program;
use super::schedule::Touched;
use super::timetable::{Footprint, Timetable};
use crate::fixed::Role;
use crate::jobs;
use crate::jobs::job::{Access, Datapath, Job, Sink};
use arch::isa::{LEVELS, Pad};
use arch::machine::Machine;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program, machine: &Machine) {
    if let Err(broken) = laws(program, machine) {
        panic!("the schedule is broken: {broken}\n{program}");
    }
}

/// The first law that is broken, in words.
///
/// # Errors
/// If there is one.
pub fn laws(program: &Program, machine: &Machine) -> Result<(), String> {
    jobs::laws(&program.step, machine)?;
    law!(1, program.homes.len() == program.storages().len(), "every storage has a home");
    law!(1, program.starts.len() == program.jobs().len(), "every job has a start");
    for job in program.jobs() {
        law!(1, job.loops.len() <= LEVELS, "{}: more loops than an instruction has", job.what);
        let walks = matches!(job.sink, Sink::Tree { walk: Some(_), .. });
        law!(1, !walks, "{}: its rounds over the columns have not been made", job.what);
        verify_reads(program, job)?;
    }
    verify_pads(program, machine)?;
    verify_shared(program)?;
    verify_cycles(program, machine)?;
    Ok(())
}

/// Law 3.
fn verify_reads(program: &Program, job: &Job) -> Result<(), String> {
    let mut reads: Vec<&Access> = Vec::new();
    for access in job.reads() {
        if reads.contains(&access) {
            continue;
        }
        let pad = program.homes[access.storage.0].pad;
        let free = reads.iter().all(|other| program.homes[other.storage.0].pad != pad);
        law!(3, free, "{}: two words of {pad} in one beat", job.what);
        reads.push(access);
    }
    Ok(())
}

/// Laws 2 and 4: pads.
fn verify_pads(program: &Program, machine: &Machine) -> Result<(), String> {
    let depth = |pad| match pad {
        Pad::Model => machine.model_depth(),
        Pad::Data => machine.data_depth(),
        Pad::T0 | Pad::T1 => machine.temporary_depth(),
    };
    for (storage, home) in program.storages().iter().zip(&program.homes) {
        let right = match storage.role {
            Role::Input => home.pad == Pad::Data,
            Role::State | Role::Parameter(_) => home.pad == Pad::Model,
            Role::Temporary | Role::Output => home.pad != Pad::Data,
        };
        law!(2, right, "{} lies in {}", storage.name, home.pad);
        law!(2, home.base + storage.words <= depth(home.pad), "{} lies beyond the end of {}", storage.name, home.pad);
    }
    for job in program.jobs() {
        let carried = matches!(job.sink, Sink::Tree { .. }) || job.on == Datapath::Scalar;
        let Some(write) = job.write().filter(|_| carried) else { continue };
        let pad = program.homes[write.storage.0].pad;
        law!(2, matches!(pad, Pad::T0 | Pad::T1), "{}: a bus cannot write {pad}", job.what);
    }
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
fn verify_shared(program: &Program) -> Result<(), String> {
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
fn verify_cycles(program: &Program, machine: &Machine) -> Result<(), String> {
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
