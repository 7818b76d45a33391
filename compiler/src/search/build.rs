//! Build: one placement as jobs, with and without the scalar unit, scheduled, with addresses.

use super::limits::Limits;
use super::{Alternative, Choice};
use crate::fixed::Role;
use crate::image::encode;
use crate::image::refuse::{self, Refusal};
use crate::jobs::job::{Datapath, Job};
use crate::jobs::{self, StorageId, conclusion, fuse, levels, reshard, scalar, select, streams, strips};
use crate::optimisations::{Disabled, Optimisation};
use crate::placed::{self, cost};
use crate::scheduled::allocate::Allocation;
use crate::scheduled::colour::Coloured;
use crate::scheduled::schedule::Schedule;
use crate::scheduled::{self, Words, allocate, colour, schedule};
use arch::image::Image;
use arch::machine::Machine;
use arch::{Code, Diagnostic};

/// More words than any machine has: what is never the closest to fitting.
pub(crate) const NEVER: Words = Words { model: 1 << 30, data: 1 << 30, temporary: 1 << 30, gradient: 1 << 30 };

/// A program that is placed, scheduled and has its addresses.
pub(crate) struct Built {
    pub(crate) placed: placed::Program,
    /// What is scheduled.
    pub(crate) jobs: jobs::Program,
    pub(crate) scheduled: scheduled::Program,
    /// Words of the pads that are in use.
    pub(crate) words: Words,
    /// Transfers of one step's input.
    load: u64,
    /// Beats of one step's output, where placements differ in them.
    emit: u64,
    /// Transfers of the output stream, likewise.
    leave: u64,
    /// The longer of loading, and computing and sending.
    pub(crate) cycles: u64,
    /// The same of a tile that is not the last one of its batch.
    tile_cycles: u64,
    /// What ends a batch whose sums are there; only for machines that share batches.
    pub(crate) conclusion: Option<scheduled::Program>,
}

impl Built {
    /// Instructions that load what arrives with every step.
    pub(crate) fn loads(&self, machine: &Machine, disabled: Disabled) -> usize {
        let inputs = self.scheduled.storages().iter().enumerate().filter(|(_, storage)| storage.role == Role::Input);
        inputs.map(|(number, storage)| streams::load(storage, StorageId(number), 0, machine, disabled).len()).sum()
    }

    /// The image for a machine, which is not verified yet.
    ///
    /// # Errors
    /// It has more instructions than the machine has room for, or shifts that the machine does not do.
    pub(crate) fn image(&self, machine: &Machine, disabled: Disabled) -> Result<Image, Refusal> {
        let image = encode::encode(&self.scheduled, machine, disabled);
        refuse::check_programs(&image)?;
        refuse::check_shifts(&image)?;
        Ok(image)
    }

    pub(crate) fn alternative(&self) -> Alternative {
        let placement = self.scheduled.storages().iter().map(|s| (s.name.clone(), s.axes.clone())).collect();
        let scalar = self.scheduled.jobs().iter().filter(|job| job.on == Datapath::Scalar).count();
        Alternative {
            placement,
            step: self.scheduled.length,
            load: self.load,
            emit: self.emit,
            leave: self.leave,
            scalar,
        }
    }

    /// Cycles of some tiles before the last one, and of it.
    pub(crate) fn cycles_with(&self, before: u32) -> u64 {
        u64::from(before) * self.tile_cycles + self.cycles
    }

    /// Cycles of the machine that has most of a batch of so many tiles, from its first load to the weights.
    pub(crate) fn cycles_divided(&self, tiles: u32, machines: u32) -> u64 {
        match &self.conclusion {
            Some(conclusion) => self.load + u64::from(tiles.div_ceil(machines)) * self.tile_cycles + conclusion.length,
            None => 2 * self.load + self.cycles_with((tiles - 1).div_ceil(machines)),
        }
    }

    /// Schedule what ends a batch of so many tiles with the sums of all machines, if that is possible without samples, shorter than their last
    /// tile, and there is room for it.
    pub(crate) fn conclude(&mut self, limits: Limits<'_>, tiles: u32, machines: u32) {
        let machine = limits.machine;
        let Some(jobs) = conclusion::conclusion(&self.jobs) else { return };
        let Ok(built) = arrange(&self.placed, jobs, cost::Cost::default(), limits) else { return };
        let kept = |program: &scheduled::Program| {
            let all = program.storages().iter().zip(&program.homes);
            let kept = all.filter(|(storage, _)| matches!(storage.role, Role::State | Role::Parameter(_)));
            kept.map(|(storage, home)| (storage.name.clone(), *home)).collect::<Vec<_>>()
        };
        if kept(&built.scheduled) != kept(&self.scheduled) {
            return;
        }
        let words = Words {
            temporary: self.words.temporary.max(built.words.temporary),
            model: self.words.model.max(built.words.model),
            ..self.words
        };
        let instructions = self.scheduled.jobs().len() + built.scheduled.jobs().len();
        if limits.missing(words, instructions) > 0 {
            return;
        }
        // What sends the weights afterwards waits for the results of the program's own last tile.
        let length = built.scheduled.landed(machine).max(built.scheduled.length);
        let last_tile = self.cycles_divided(tiles, machines);
        self.conclusion = Some(scheduled::Program { length, tile_length: length, ..built.scheduled });
        if self.cycles_divided(tiles, machines) < last_tile {
            self.words = words;
        } else {
            self.conclusion = None;
        }
    }

    /// Cycles of a batch.
    pub(crate) fn cycles_of_batch(&self) -> u64 {
        self.cycles_with(self.placed.tile.map_or(0, |tile| tile.count - 1))
    }

    /// The same where the input of a batch comes in so many cycles, each tile of it while the one before is computed.
    pub(crate) fn cycles_with_input(&self, input: u64) -> u64 {
        let tiles = self.placed.tile.map_or(1, |tile| u64::from(tile.count));
        let input = input.div_ceil(tiles);
        (tiles - 1) * self.tile_cycles.max(input) + self.cycles.max(input)
    }

    /// Less is better.
    pub(crate) fn merit(&self) -> (u64, u64, u32, usize) {
        let words = self.words;
        let all = words.model + 2 * words.data + 2 * words.temporary + 3 * words.gradient;
        (self.cycles_of_batch(), self.scheduled.length, all, self.scheduled.jobs().len())
    }
}

/// The jobs of a placement.
///
/// # Errors
/// A sum over more indices than an instruction has loops.
pub(crate) fn jobs(placed: &placed::Program, machine: &Machine) -> Result<jobs::Program, Refusal> {
    let fused = fuse::fuse(&select::select(placed, machine));
    let expanded = reshard::expand(&fused, machine);
    levels::fit(&expanded, machine).map_err(|job| Refusal::unsupported(too_deep(&job)))
}

/// The error that a job sums over more loops than an instruction has.
pub(crate) fn too_deep(job: &Job) -> Diagnostic {
    let message = "this sum runs over more indices than an instruction has loops";
    Diagnostic::new(Code::Backend, job.origin.span(), message).with_help("split it into two statements")
}

/// Into how many parts the work of the scalar unit is cut, if it is used.
const PARTS: [u32; 4] = [1, 2, 4, 8];

/// Schedule one placement, with and without the scalar unit, or `only` with it; `Err` inside: the words it would need.
pub(crate) fn build(
    placed: &placed::Program,
    limits: Limits<'_>,
    choice: Choice,
    only: bool,
) -> Result<Result<Built, Words>, Refusal> {
    let machine = limits.machine;
    let without_unit = jobs(placed, machine)?;
    // Schedules of programs that no memory holds would take minutes, and not run.
    let instructions = without_unit.jobs.len();
    if !only && instructions > machine.program_depth() as usize {
        return Err(refuse::too_long("alu", instructions, machine.program_depth()));
    }
    let tensors = placed.fixed.tensors.iter().zip(&placed.tensors);
    let costs = tensors.map(|(tensor, axes)| cost::Cost::of_tensor(tensor, axes, machine, limits.disabled));
    let streams = costs.fold(cost::Cost::default(), cost::Cost::plus);
    let there = machine.scalar().then(|| scalar::assign(&without_unit)).flatten();
    let arranged = |jobs: jobs::Program| arrange(placed, jobs, streams, limits);
    if let (Choice::Spread { number }, Some(there)) = (choice, &there) {
        return Ok(arranged(scalar::in_parts(there, PARTS[number % PARTS.len()], machine)));
    }
    let mut best = if only { Err(NEVER) } else { arranged(without_unit) };
    if let Some(there) = &there {
        let of_unit = there.jobs.iter().filter(|job| job.on == Datapath::Scalar);
        let longest = of_unit.filter_map(|job| job.loops.first()).max();
        for parts in PARTS.into_iter().filter(|&parts| parts == 1 || longest.is_some_and(|&most| parts <= most)) {
            best = match (best, arranged(scalar::in_parts(there, parts, machine))) {
                (Ok(best), Ok(other)) if other.cycles_of_batch() < best.cycles_of_batch() => Ok(other),
                (Err(_), Ok(other)) => Ok(other),
                (best, _) => best,
            };
        }
    }
    Ok(best)
}

/// Words of what stays in the pads from step to step, however a program is scheduled.
pub(crate) fn kept_words(placed: &placed::Program, machine: &Machine) -> Words {
    let mut words = Words::default();
    for (tensor, axes) in placed.fixed.tensors.iter().zip(&placed.tensors) {
        let own = u32::try_from(cost::local_words(&tensor.shape, axes, machine)).unwrap_or(1 << 30);
        let pad = match tensor.role {
            Role::Input => &mut words.data,
            Role::State | Role::Parameter(_) => &mut words.model,
            Role::Temporary | Role::Output => continue,
        };
        *pad = pad.saturating_add(own).min(1 << 30);
    }
    words
}

/// Pads, cycles and addresses.
type Timed = (Coloured, Schedule, Allocation);

/// Give jobs cycles and their storages addresses; or the words they would need. Where they are `sure` to fit one after the other, or are not
/// tried.
fn timed(coloured: &Coloured, instructions: usize, limits: Limits<'_>, sure: bool) -> Result<Timed, Words> {
    let machine = limits.machine;
    let in_order = allocate::allocate(coloured, &coloured.program.jobs, &allocate::one_by_one(&coloured.program.jobs));
    let least = if sure { in_order.words } else { Words { temporary: 0, ..in_order.words } };
    if limits.missing(least, instructions) > 0 {
        return Err(in_order.words);
    }
    let addresses = |schedule: &Schedule| allocate::allocate(coloured, &schedule.jobs, &schedule.windows());
    let longest_first = limits.disabled.uses(Optimisation::Order);
    let mut schedule = if longest_first { schedule::schedule } else { schedule::in_order }(coloured, machine);
    let mut allocation = addresses(&schedule);
    if limits.missing(allocation.words, instructions) > 0 {
        // Another order keeps fewer temporaries alive at a time.
        schedule = schedule::in_order(coloured, machine);
        allocation = addresses(&schedule);
        if limits.missing(allocation.words, instructions) > 0 {
            return Err(allocation.words);
        }
    }
    Ok((coloured.clone(), schedule, allocation))
}

/// Words of the strips that are tried: the longer they are, the fewer instructions there are.
const STRIPS: [u32; 3] = [32, 16, 8];

/// The same with what updates read in the model pad, if it fits so.
fn in_strips(jobs: &jobs::Program, limits: Limits<'_>) -> Option<Timed> {
    STRIPS.into_iter().filter(|_| limits.disabled.uses(Optimisation::Strips)).find_map(|words| {
        let strips::Stripped { program, kept } = strips::strips(jobs, words, limits.machine)?;
        let program = levels::fit(&program, limits.machine).ok()?;
        timed(&colour::colour_with(&program, &kept), program.jobs.len(), limits, true).ok()
    })
}

/// Schedule some jobs and give their storages addresses; or the words they would need.
fn arrange(
    placed: &placed::Program,
    jobs: jobs::Program,
    streams: cost::Cost,
    limits: Limits<'_>,
) -> Result<Built, Words> {
    let plain = timed(&colour::colour(&jobs), jobs.jobs.len(), limits, false);
    let (coloured, schedule, allocation) = match plain {
        Ok(found) => found,
        Err(words) => in_strips(&jobs, limits).ok_or(words)?,
    };
    let scheduled = scheduled::Program::new(&coloured, &schedule, &allocation);
    let cost::Cost { load, emit, leave, .. } = streams;
    let streams = load.max(leave);
    let [cycles, tile_cycles] = [scheduled.length, scheduled.tile_length].map(|length| (length + emit).max(streams));
    Ok(Built {
        placed: placed.clone(),
        jobs,
        scheduled,
        words: allocation.words,
        load,
        emit,
        leave,
        cycles,
        tile_cycles,
        conclusion: None,
    })
}
