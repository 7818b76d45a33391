//! Search: fixed-point IR to image. The only file that knows all stages.
//!
//!     fixed::Program ─▶ variants (pieces, windows) ─▶ placements, cheapest first ─▶ jobs ─▶ pads, schedule, addresses ─▶ Image
//!                                                  the shortest step goes on ◀──────────────────┘                verified
//!
//! Nothing here knows the source language, and nothing knows an algorithm by name. What the machine cannot do is refused
//! with E-BACKEND; nothing is silently spilled or approximated.

mod fitted;
mod steps;

pub use fitted::compile_fitted;
pub use steps::Step;

use crate::fixed::{Program, Role};
use crate::image::refuse::{self, Refusal};
use crate::image::{encode, verify::verify};
use crate::jobs::job::{Datapath, Job};
use crate::jobs::select::{self, Selection, Storage};
use crate::jobs::{fuse, reshard, scalar, streams};
use crate::placed::cost;
use crate::placed::pieces::Pieces;
use crate::placed::place::{self, Axis, Placement};
use crate::placed::tile::{self, Tiled};
use crate::scheduled::allocate::{self, Words};
use crate::scheduled::schedule::{self, Schedule};
use arch::image::Image;
use arch::machine::Machine;
use arch::{Code, Diagnostic};

/// An image, and what is worth knowing about how it came about.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What is loaded into the grid.
    pub image: Image,
    /// Where every tensor lies: its name and the axis of each dimension.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Alu and scalar instructions of the step, in the order in which they start.
    pub steps: Vec<Step>,
    /// For each scalar instruction how many alu instructions of the step come before it in the order of the program.
    pub follows: Vec<u32>,
    /// Scratchpad words in use, per PE.
    pub used: Words,
    /// Samples of a tile, where the batch runs in tiles ([`Image::tiles`] of them).
    pub tile: Option<u32>,
    /// What else was scheduled, best first; the one that was chosen is the first.
    pub alternatives: Vec<Alternative>,
}

/// A placement that was scheduled, chosen or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    /// The axis of each dimension, by tensor.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Cycles from the start of a step to the start of the next, if its input is there.
    pub step: u64,
    /// Transfers of one step's input.
    pub load: u64,
    /// Instructions of the scalar unit.
    pub scalar: usize,
}

impl Alternative {
    /// The longer of computing and loading.
    pub fn cycles(&self) -> u64 {
        self.step.max(self.load)
    }
}

/// Compile for a machine. `line_of` gives the source line of a span, for listings.
///
/// # Errors
/// When the program needs more than the machine has, or something it cannot do.
pub fn compile(
    program: &Program,
    machine: &Machine,
    line_of: &dyn Fn(arch::Span) -> usize,
) -> Result<Compiled, Refusal> {
    compile_as(program, machine, line_of, Choice::Best)
}

/// Compile with some other placement, which would not be chosen: results do not depend on it, and tests see to that.
///
/// # Errors
/// As [`compile`].
pub fn compile_elsewhere(program: &Program, machine: &Machine, number: usize) -> Result<Compiled, Refusal> {
    compile_as(program, machine, &|_| 0, Choice::Spread { number })
}

fn compile_as(
    program: &Program,
    machine: &Machine,
    line_of: &dyn Fn(arch::Span) -> usize,
    choice: Choice,
) -> Result<Compiled, Refusal> {
    let found = search(program, machine, choice)?;
    let image = found.image(program, machine, line_of)?;
    Ok(found.compiled(image, line_of))
}

/// Which placement is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The one with the shortest step.
    Best,
    /// One of all that fit.
    Spread { number: usize },
}

/// The placement that was chosen, scheduled.
pub(crate) struct Found {
    pieces: Pieces,
    pub(crate) built: Built,
    alternatives: Vec<Alternative>,
    tiled: Option<Tiled>,
}

impl Found {
    /// The image, for a machine on which it fits and that is otherwise the one of the search. It is not verified yet.
    pub(crate) fn image(
        &self,
        program: &Program,
        machine: &Machine,
        line_of: &dyn Fn(arch::Span) -> usize,
    ) -> Result<Image, Refusal> {
        let Built { storages, schedule, allocation, .. } = &self.built;
        let decided = encode::Decided {
            pieces: &self.pieces,
            storages,
            homes: &allocation.homes,
            schedule,
            tiled: self.tiled.as_ref(),
        };
        let image = encode::encode(program, machine, decided, line_of);
        refuse::check_programs(&image)?;
        refuse::check_shifts(&image)?;
        Ok(image)
    }

    /// Cycles of all its tiles.
    fn cycles_of_batch(&self) -> u64 {
        self.built.cycles * self.tiled.as_ref().map_or(1, |tiled| u64::from(tiled.tiles))
    }

    /// Everything about an image of it, which is verified here.
    pub(crate) fn compiled(mut self, image: Image, line_of: &dyn Fn(arch::Span) -> usize) -> Compiled {
        let follows = self.built.follows();
        verify(&image, &follows);
        let chosen = self.built.alternative();
        self.alternatives.sort_by_key(|alternative| (*alternative != chosen, alternative.cycles()));
        Compiled {
            placement: chosen.placement,
            steps: steps::steps(&self.built, &image.machine, line_of),
            follows,
            used: self.built.allocation.words,
            tile: self.tiled.map(|tiled| tiled.size),
            alternatives: self.alternatives,
            image,
        }
    }
}

/// Place and schedule a program.
pub(crate) fn search(program: &Program, machine: &Machine, choice: Choice) -> Result<Found, Refusal> {
    refuse::check_program(program, machine)?;
    let least = tile::least_data(program, machine.pes());
    let whole = || search_as(program, None, machine, choice);
    // What cannot fit need not be tried, unless for the message.
    let refusal = match (least <= u64::from(machine.data_depth())).then(whole) {
        Some(Ok(found)) => return Ok(found),
        Some(Err(refusal @ Refusal::Unsupported(_))) => return Err(refusal),
        Some(Err(refusal)) => Some(refusal),
        None => None,
    };
    let why = match in_tiles(program, machine, choice) {
        Ok(found) => return Ok(found),
        Err(why) => why,
    };
    let refusal = match refusal.map_or_else(whole, Err) {
        Ok(found) => return Ok(found),
        Err(refusal) => refusal,
    };
    Err(match (refusal, why) {
        (Refusal::DoesNotFit { mut diagnostic, needed }, Some(why)) => {
            let help = diagnostic.help.take().unwrap_or_default();
            diagnostic.help = Some(format!("{help}; {why}"));
            Refusal::DoesNotFit { diagnostic, needed }
        }
        (refusal, _) => refusal,
    })
}

/// Place and schedule a program whose batch does not fit as a whole in the largest tiles that do; or why that is not possible, if there is
/// something to say.
fn in_tiles(program: &Program, machine: &Machine, choice: Choice) -> Result<Found, Option<String>> {
    let batch = tile::batch(program).ok_or(None)?;
    let cannot = |why: tile::Whole| Some(format!("the batch cannot be cut into tiles: {}", why.why));
    tile::cut(program, batch).map_err(cannot)?;
    if machine.gradient_depth() == 0 {
        return Err(Some("with `gradient_depth` in the [machine] table it could run in tiles".to_owned()));
    }
    let found = |size: u32| {
        let tiled = tile::cut(program, size).ok()?;
        let may_fit = tile::least_data(&tiled.program, machine.pes()) <= u64::from(machine.data_depth());
        may_fit.then(|| search_as(&tiled.program, Some(&tiled), machine, choice).ok())?
    };
    // Smaller tiles fit better: those at `small` do, those before `large` do not.
    let sizes = tile::sizes(batch);
    let (mut large, mut small) = (0, sizes.len() - 1);
    let mut best = found(sizes[small]).ok_or_else(|| Some("not even tiles of one sample fit".to_owned()))?;
    while large < small {
        let middle = usize::midpoint(large, small);
        match found(sizes[middle]) {
            Some(larger) => (best, small) = (larger, middle),
            None => large = middle + 1,
        }
    }
    // A few samples may lie better than many.
    let smaller = sizes[small..].iter().skip(1).take(SMALLER_TILES);
    for next in smaller.filter_map(|&size| found(size)) {
        if next.cycles_of_batch() < best.cycles_of_batch() {
            best = next;
        }
    }
    Ok(best)
}

/// Sizes of tiles below the largest that fits that are tried.
const SMALLER_TILES: usize = 6;

/// Place and schedule a program as it is, which may be one tile's.
fn search_as(program: &Program, tiled: Option<&Tiled>, machine: &Machine, choice: Choice) -> Result<Found, Refusal> {
    let available = allocate::available(machine);
    let mut closest: Option<(u64, Words)> = None;
    let mut best: Option<(Built, usize)> = None;
    let mut alternatives: Vec<Alternative> = Vec::new();
    let mut variants = Pieces::variants(program, machine);
    let most_loads = MOST_LOADS.min(machine.program_depth() as usize);
    for (number, pieces) in variants.iter().enumerate() {
        let unit = machine.scalar()
            && choice == Choice::Best
            && pieces.program.operations.iter().any(|operation| cost::can_be_scalar(&pieces.program, operation));
        let mut seen: Vec<Placement> = Vec::new();
        for unit in [false, true].into_iter().take(1 + usize::from(unit)) {
            let mut scheduled = 0;
            let mut placements = place::place(&pieces.program, machine, unit);
            if let Choice::Spread { number: wanted } = choice {
                // One placement of one variant.
                let at = wanted / variants.len() % placements.len().max(1);
                placements.rotate_left(at);
                if wanted % variants.len() != number {
                    continue;
                }
            }
            for placement in placements {
                // Estimates are too high rather than too low; the runner-up is worth knowing in any case.
                let reach = if scheduled < 2 { 8 } else { 2 };
                let far = best.as_ref().is_some_and(|(best, _)| placement.cost > reach * best.cycles);
                let enough = match choice {
                    Choice::Best => scheduled == SCHEDULED_PLACEMENTS,
                    Choice::Spread { .. } => scheduled == 1,
                };
                if enough || far {
                    break;
                }
                if seen.iter().any(|other| other.lies_as(&placement)) {
                    scheduled += 1;
                    continue;
                }
                let built = match build(&pieces.program, tiled.is_some(), &placement, machine, choice, unit) {
                    // Windows of many dimensions take many instructions to load or many loops; the program as it is has to do then.
                    Err(_) if number > 0 => Err(NEVER),
                    Ok(Ok(built)) if number > 0 && built.loads(machine) > most_loads => Err(NEVER),
                    other => other?,
                };
                match built {
                    Ok(built) => {
                        scheduled += 1;
                        alternatives.push(built.alternative());
                        if best.as_ref().is_none_or(|(best, _)| built.merit() < best.merit()) {
                            best = Some((built, number));
                        }
                    }
                    Err(words) => {
                        let missing = words.beyond(available);
                        if closest.is_none_or(|(least, _)| missing < least) {
                            closest = Some((missing, words));
                        }
                    }
                }
                seen.push(placement);
            }
        }
    }
    let Some((built, number)) = best else {
        let (_, needed) = closest.expect("placing everything locally is always possible");
        return Err(refuse::too_large(machine, available, needed));
    };
    Ok(Found { pieces: variants.swap_remove(number), built, alternatives, tiled: tiled.cloned() })
}

/// Placements of a program that are scheduled, of those with the least estimated cost.
const SCHEDULED_PLACEMENTS: usize = 6;

/// Instructions that may load the tensors of a program that is not as it was written.
const MOST_LOADS: usize = 64;

/// More words than any machine has: what is never the closest to fitting.
const NEVER: Words = Words { model: 1 << 30, data: 1 << 30, temporary: 1 << 30, gradient: 1 << 30 };

/// A program that is placed, scheduled and has its addresses.
pub(crate) struct Built {
    pub(crate) storages: Vec<Storage>,
    pub(crate) schedule: Schedule,
    pub(crate) allocation: allocate::Allocation,
    load: u64,
    cycles: u64,
}

impl Built {
    /// Instructions that load what arrives with every step.
    fn loads(&self, machine: &Machine) -> usize {
        let inputs =
            self.storages.iter().zip(&self.allocation.homes).filter(|(storage, _)| storage.role == Role::Input);
        inputs.map(|(storage, &home)| streams::load(storage, home, 0, machine).len()).sum()
    }

    fn alternative(&self) -> Alternative {
        let placement = self.storages.iter().map(|s| (s.name.clone(), s.axes.clone())).collect();
        let scalar = self.schedule.jobs.iter().filter(|job| job.on == Datapath::Scalar).count();
        Alternative { placement, step: self.schedule.length, load: self.load, scalar }
    }

    /// For each job of the scalar unit how many of the PEs' come before it.
    fn follows(&self) -> Vec<u32> {
        let mut before = 0;
        let mut count = |job: &Job| {
            before += u32::from(job.on == Datapath::Engines);
            (job.on == Datapath::Scalar).then_some(before)
        };
        self.schedule.jobs.iter().filter_map(&mut count).collect()
    }

    /// Less is better.
    fn merit(&self) -> (u64, u64, u32, usize) {
        let words = self.allocation.words;
        let all = words.model + 2 * words.data + 2 * words.temporary + 3 * words.gradient;
        (self.cycles, self.schedule.length, all, self.schedule.jobs.len())
    }
}

/// The jobs of a placement.
fn jobs(program: &Program, tiled: bool, placement: &Placement, machine: &Machine) -> Result<Selection, Refusal> {
    let mut selection = select::select(program, placement, machine, tiled);
    fuse::fuse_functions(&mut selection);
    let mut jobs = Vec::new();
    for job in selection.jobs.into_iter().flat_map(|job| reshard::expand(job, machine)) {
        let span = job.span;
        let Some(fitted) = job.fit_levels(machine) else {
            let message = "this sum runs over more indices than an instruction has loops";
            let diagnostic = Diagnostic::new(Code::Backend, span, message);
            return Err(Refusal::unsupported(diagnostic.with_help("split it into two statements")));
        };
        jobs.extend(fitted);
    }
    Ok(Selection { jobs, ..selection })
}

/// Into how many parts the work of the scalar unit is cut, if it is used.
const PARTS: [u32; 4] = [1, 2, 4, 8];

/// Schedule one placement, with and without the scalar unit, or `only` with it; `Err` inside: the words it would need.
fn build(
    program: &Program,
    tiled: bool,
    placement: &Placement,
    machine: &Machine,
    choice: Choice,
    only: bool,
) -> Result<Result<Built, Words>, Refusal> {
    let selection = jobs(program, tiled, placement, machine)?;
    let tensors = program.tensors.iter().zip(&placement.tensors);
    let load = tensors.map(|(tensor, axes)| cost::Cost::of_tensor(tensor, axes, machine).load).sum();
    let mut there = selection.clone();
    let useful = machine.scalar() && scalar::assign(&mut there.jobs, &there.storages);
    let with_unit = |parts: u32| {
        let jobs = scalar::in_parts(there.jobs.clone(), parts, machine);
        arrange(&there.storages, &jobs, load, machine)
    };
    if let (Choice::Spread { number }, true) = (choice, useful) {
        return Ok(with_unit(PARTS[number % PARTS.len()]));
    }
    let without = || arrange(&selection.storages, &selection.jobs, load, machine);
    let mut best = if only { Err(NEVER) } else { without() };
    let longest = there.jobs.iter().filter(|job| job.on == Datapath::Scalar).filter_map(|job| job.loops.first()).max();
    for parts in PARTS.into_iter().filter(|&parts| useful && (parts == 1 || longest.is_some_and(|&most| parts <= most)))
    {
        best = match (best, with_unit(parts)) {
            (Ok(best), Ok(other)) if other.cycles < best.cycles => Ok(other),
            (Err(_), Ok(other)) => Ok(other),
            (best, _) => best,
        };
    }
    Ok(best)
}

/// Schedule some jobs and give their storages addresses; or the words they would need.
fn arrange(storages: &[Storage], jobs: &[Job], load: u64, machine: &Machine) -> Result<Built, Words> {
    let available = allocate::available(machine);
    let allocate::Coloured { storages, jobs, pads } = allocate::colour(storages, jobs);
    let in_order = allocate::allocate(&storages, &pads, &jobs, &allocate::one_by_one(&jobs));
    let always = Words { temporary: 0, ..in_order.words };
    if always.beyond(available) > 0 {
        return Err(in_order.words);
    }
    let addresses = |schedule: &Schedule| allocate::allocate(&storages, &pads, &schedule.jobs, &schedule.windows());
    let mut schedule = schedule::schedule(&storages, &jobs, &pads, machine);
    let mut allocation = addresses(&schedule);
    if allocation.words.beyond(available) > 0 {
        // Another order keeps fewer temporaries alive at a time.
        schedule = schedule::in_order(&storages, &jobs, &pads, machine);
        allocation = addresses(&schedule);
        if allocation.words.beyond(available) > 0 {
            return Err(allocation.words);
        }
    }
    let cycles = schedule.length.max(load);
    Ok(Built { storages, schedule, allocation, load, cycles })
}
