//! Fixed-point IR to image.
//!
//!     fixed::Program ─▶ pieces ─▶ place ─▶ select ─▶ fuse ─▶ colour ─▶ schedule ─▶ allocate ─▶ encode ─▶ Image
//!                                  axes     jobs              pads      cycles       words       │
//!                       several variants and placements; the shortest step goes on            verify (replays the image)
//!
//! No pass here knows the source language, and none knows an algorithm by name. What the machine cannot do is refused
//! with E-BACKEND; nothing is silently spilled or approximated.

mod allocate;
mod board;
mod cost;
mod encode;
mod fuse;
mod job;
mod park;
mod pieces;
mod place;
mod schedule;
mod seam;
mod select;
mod streams;
mod tile;
mod trace;
mod verify;
mod windows;

use pieces::Pieces;
use tile::Tiled;

pub use allocate::Words;
pub use board::Cause;
pub use place::{Axis, Placement};
pub use verify::verify;

use crate::fixed::{Kind, Operation, Program, Role};
use arch::amounts::Amounts;
use arch::image::Image;
use arch::isa::AluInstruction;
use arch::machine::{Machine, MachineSpec};
use arch::{Code, Diagnostic};

/// An image, and what is worth knowing about how it came about.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What is loaded into the grid.
    pub image: Image,
    /// Where every tensor lies: its name and the axis of each dimension.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Alu instructions of the step, in order.
    pub steps: Vec<Step>,
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
}

impl Alternative {
    /// The longer of computing and loading.
    pub fn cycles(&self) -> u64 {
        self.step.max(self.load)
    }
}

/// One alu instruction of the step, as `explain` and the report show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub what: String,
    /// Source line, 0 = none.
    pub line: usize,
    /// First beat, relative to the first possible one.
    pub start: u64,
    /// Cycles from its first beat to its last, inclusive.
    pub length: u64,
    /// Cycles it waited for operands or ports.
    pub waited: u64,
    /// What for.
    pub cause: Option<Cause>,
    /// Where its results go through.
    pub unit: &'static str,
    /// Cycle in which its result can be read.
    pub readable: u64,
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The program is too large for the machine.
    DoesNotFit {
        /// The message.
        diagnostic: Box<Diagnostic>,
        /// Words per PE that would do on this grid.
        needed: Words,
    },
    /// The machine cannot do this at all.
    Unsupported(Box<Diagnostic>),
}

impl Refusal {
    fn unsupported(diagnostic: Diagnostic) -> Refusal {
        Refusal::Unsupported(Box::new(diagnostic))
    }

    fn too_large(diagnostic: Diagnostic, needed: Words) -> Refusal {
        Refusal::DoesNotFit { diagnostic: Box::new(diagnostic), needed }
    }

    /// The message.
    pub fn diagnostic(&self) -> &Diagnostic {
        match self {
            Refusal::DoesNotFit { diagnostic, .. } | Refusal::Unsupported(diagnostic) => diagnostic,
        }
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

/// Which placement is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The one with the shortest step.
    Best,
    /// One of all that fit.
    Spread { number: usize },
}

fn compile_as(
    program: &Program,
    machine: &Machine,
    line_of: &dyn Fn(arch::Span) -> usize,
    choice: Choice,
) -> Result<Compiled, Refusal> {
    let found = search(program, machine, choice)?;
    let image = found.image(program, machine, line_of)?;
    Ok(found.compiled(image))
}

/// The placement that was chosen, scheduled.
struct Found {
    pieces: Pieces,
    built: Built,
    alternatives: Vec<Alternative>,
    tiled: Option<Tiled>,
}

impl Found {
    /// The image, for a machine on which it fits and that is otherwise the one of the search. It is not verified yet.
    fn image(
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
        check_programs(&image)?;
        check_shifts(&image)?;
        Ok(image)
    }

    /// Cycles of all its tiles.
    fn cycles_of_batch(&self) -> u64 {
        self.built.cycles * self.tiled.as_ref().map_or(1, |tiled| u64::from(tiled.tiles))
    }

    /// Everything about an image of it, which is verified here.
    fn compiled(mut self, image: Image) -> Compiled {
        verify(&image);
        let chosen = self.built.alternative();
        self.alternatives.sort_by_key(|alternative| (*alternative != chosen, alternative.cycles()));
        Compiled {
            placement: chosen.placement,
            steps: steps(&image, &self.built.schedule, &causes(&self.built, &image.machine)),
            used: self.built.allocation.words,
            tile: self.tiled.map(|tiled| tiled.size),
            alternatives: self.alternatives,
            image,
        }
    }
}

/// Place and schedule a program.
fn search(program: &Program, machine: &Machine, choice: Choice) -> Result<Found, Refusal> {
    if program.word != machine.word() || program.accumulator > machine.accumulator() {
        let message = format!(
            "the program was made for words of {} and accumulators of {} bits, the machine has {} and {}",
            program.word,
            program.accumulator,
            machine.word(),
            machine.accumulator()
        );
        return Err(Refusal::unsupported(Diagnostic::global(Code::Backend, message)));
    }
    if let Some(division) = program.operations.iter().find(|operation| matches!(operation.kind, Kind::Divide { .. }))
        && !machine.divider()
    {
        let message =
            format!("`{}` is a quotient, and the machine has no dividers", program.tensors[division.out.0].name);
        let diagnostic = Diagnostic::new(Code::Backend, division.span, message).with_label("divided here");
        return Err(Refusal::unsupported(diagnostic.with_help("`divider = true` in the [machine] table adds them")));
    }
    if let Some(extreme) = program.operations.iter().find(|operation| compares(operation))
        && !machine.extremes()
    {
        let name = &program.tensors[extreme.out.0].name;
        let message = format!("`{name}` is the largest or smallest of several values, and the machine only adds");
        let diagnostic = Diagnostic::new(Code::Backend, extreme.span, message).with_label("compared here");
        let help = "`extremes = true` in the [machine] table lets accumulators and trees compare";
        return Err(Refusal::unsupported(diagnostic.with_help(help)));
    }
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
        let mut scheduled = 0;
        let mut placements = place::place(&pieces.program, machine);
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
            let built = match build(&pieces.program, tiled.is_some(), &placement, machine, available) {
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
        }
    }
    let Some((built, number)) = best else {
        let (_, needed) = closest.expect("placing everything locally is always possible");
        return Err(too_large(machine, available, needed));
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
struct Built {
    storages: Vec<select::Storage>,
    schedule: schedule::Schedule,
    allocation: allocate::Allocation,
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
        Alternative { placement, step: self.schedule.length, load: self.load }
    }

    /// Less is better.
    fn merit(&self) -> (u64, u64, u32, usize) {
        let words = self.allocation.words;
        let all = words.model + 2 * words.data + 2 * words.temporary + 3 * words.gradient;
        (self.cycles, self.schedule.length, all, self.schedule.jobs.len())
    }
}

/// Schedule one placement; `Err` inside: the words it would need.
fn build(
    program: &Program,
    tiled: bool,
    placement: &Placement,
    machine: &Machine,
    available: Words,
) -> Result<Result<Built, Words>, Refusal> {
    let mut selection = select::select(program, placement, machine, tiled);
    fuse::fuse_functions(&mut selection);
    let mut jobs = Vec::new();
    for job in selection.jobs.into_iter().flat_map(|job| seam::expand(job, machine)) {
        let span = job.span;
        let Some(fitted) = job.fit_levels(machine) else {
            let message = "this sum runs over more indices than an instruction has loops";
            let diagnostic = Diagnostic::new(Code::Backend, span, message);
            return Err(Refusal::unsupported(diagnostic.with_help("split it into two statements")));
        };
        jobs.extend(fitted);
    }
    selection.jobs = jobs;
    let allocate::Coloured { storages, jobs, pads } = allocate::colour(&selection);
    let in_order = allocate::allocate(&storages, &pads, &jobs);
    let always = Words { temporary: 0, ..in_order.words };
    if always.beyond(available) > 0 {
        return Ok(Err(in_order.words));
    }
    let mut schedule = schedule::schedule(&storages, &jobs, &pads, machine);
    let mut allocation = allocate::allocate(&storages, &pads, &schedule.jobs);
    if allocation.words.beyond(available) > 0 {
        // Another order keeps fewer temporaries alive at a time.
        if in_order.words.beyond(available) > 0 {
            return Ok(Err(in_order.words));
        }
        (schedule, allocation) = (schedule::in_order(&storages, &jobs, &pads, machine), in_order);
    }
    let tensors = program.tensors.iter().zip(&placement.tensors);
    let load = tensors.map(|(tensor, axes)| cost::Cost::of_tensor(tensor, axes, machine).load).sum();
    let cycles = schedule.length.max(load);
    Ok(Ok(Built { storages, schedule, allocation, load, cycles }))
}

fn too_large(machine: &Machine, available: Words, needed: Words) -> Refusal {
    let pads = [
        ("model", needed.model, available.model),
        ("data", needed.data, available.data),
        ("temporary", needed.temporary, available.temporary),
        ("gradient", needed.gradient, available.gradient),
    ];
    let short = || pads.into_iter().filter(|&(_, need, have)| need > have);
    let list = |each: &dyn Fn((&str, u32, u32)) -> String| short().map(each).collect::<Vec<_>>().join(", ");
    let message = format!(
        "the program does not fit {machine}: per PE it needs {}",
        list(&|(pad, need, have)| format!("{need} words of {pad} scratchpad where the machine has {have}"))
    );
    let depths = format!(
        "{} would do on this grid; so would more PEs",
        list(&|(pad, need, _)| format!("{pad}_depth = {}", need.next_power_of_two()))
    );
    Refusal::too_large(Diagnostic::global(Code::Backend, message).with_help(depths), needed)
}

/// Instructions must fit program memories and fields, tables their memory.
fn check_programs(image: &Image) -> Result<(), Refusal> {
    let depth = image.machine.program_depth();
    let streams = [
        ("alu", image.alu.len()),
        ("root", image.root.len()),
        ("move", image.moves.len()),
        ("load", image.load.len()),
        ("scalar", image.scalar.len()),
    ];
    for (name, instructions) in streams {
        if instructions > depth as usize {
            let message =
                format!("the {name} program has {instructions} instructions, the machine has room for {depth}");
            let help = format!("program_depth = {} would do", instructions.next_power_of_two());
            let diagnostic = Diagnostic::global(Code::Backend, message).with_help(help);
            return Err(Refusal::too_large(diagnostic, Words::default()));
        }
    }
    let entries: usize = image.tables.iter().map(|t| t.entries.len()).sum();
    if entries > image.machine.table_entries() as usize {
        let message = format!(
            "the function tables need {entries} entries, the machine has room for {}",
            image.machine.table_entries()
        );
        return Err(Refusal::too_large(Diagnostic::global(Code::Backend, message), Words::default()));
    }
    encode::check_fields(image).map_err(|error| {
        let message = format!("an instruction does not fit its microcode word: {error}");
        Refusal::unsupported(Diagnostic::global(Code::Backend, message))
    })
}

/// Every shift must be one that the machine does.
fn check_shifts(image: &Image) -> Result<(), Refusal> {
    let machine = &image.machine;
    let of_alu = |needed: fn(&AluInstruction) -> Option<u32>| {
        let amounts = image.alu.iter().zip(&image.comments);
        amounts.filter_map(move |(instruction, (what, line))| Some((needed(instruction)?, what.as_str(), *line)))
    };
    let of_root = image.root.iter().filter_map(|root| Some((root.needed_shift()?, "a root", 0)));
    let alignments: Vec<_> = of_alu(AluInstruction::needed_alignment).collect();
    let shifts: Vec<_> = of_alu(AluInstruction::needed_shift).collect();
    let kinds = [
        ("alignments", machine.alignments(), image.alignments(), alignments),
        ("shifts", machine.shifts(), image.shifts(), shifts),
        ("root_shifts", machine.root_shifts(), image.root_shifts(), of_root.collect()),
    ];
    for (key, has, needed, uses) in kinds {
        if let Some((amount, what, line)) = uses.into_iter().find(|&(amount, ..)| !has.contains(amount)) {
            let place = if line == 0 { String::new() } else { format!(" (line {line})") };
            let message =
                format!("`{what}`{place} shifts by {amount}, which the machine does not do: its {key} are {has}");
            let list: Vec<String> =
                needed.into_iter().flat_map(Amounts::iter).map(|amount| amount.to_string()).collect();
            let help = format!(
                "`{key} = [{}]` in the [machine] table would do; left out, a grid for a board gets what its program needs",
                list.join(", ")
            );
            return Err(Refusal::unsupported(Diagnostic::global(Code::Backend, message).with_help(help)));
        }
    }
    Ok(())
}

/// Why each job waits: the schedule, replayed.
fn causes(built: &Built, machine: &Machine) -> Vec<Option<Cause>> {
    let pads: Vec<_> = built.allocation.homes.iter().map(|home| home.pad).collect();
    let mut board = board::Board::new(machine, &built.storages, &pads);
    let jobs = built.schedule.jobs.iter().zip(&built.schedule.slots);
    jobs.map(|(job, slot)| {
        let words = board::Words::of(job, machine);
        let cause = board.cause(job, &words, slot.alu.first);
        board.place(job, &words, slot.alu.first);
        cause
    })
    .collect()
}

/// Where the results of a job go through.
fn unit(job: &job::Job) -> &'static str {
    match &job.sink {
        job::Sink::Pad(_) => "PEs",
        job::Sink::Tree { unit: arch::timing::Unit::Row, .. } => "row roots",
        job::Sink::Tree { unit: arch::timing::Unit::Global, .. } => "global root",
        job::Sink::Output => "output",
    }
}

fn steps(image: &Image, schedule: &schedule::Schedule, causes: &[Option<Cause>]) -> Vec<Step> {
    let slots = schedule.slots.iter().zip(&image.comments).zip(schedule.jobs.iter().zip(causes));
    slots
        .map(|((slot, (what, line)), (job, cause))| Step {
            cause: cause.clone(),
            unit: unit(job),
            what: what.clone(),
            line: *line,
            start: slot.alu.first,
            length: slot.alu.last - slot.alu.first + 1,
            waited: slot.waited,
            readable: slot.readable,
        })
        .collect()
}

/// Whether a program divides by what is not constant, or rounds to whole numbers.
pub fn needs_divider(program: &Program) -> bool {
    program.operations.iter().any(|operation| matches!(operation.kind, Kind::Divide { .. }))
}

fn compares(operation: &Operation) -> bool {
    matches!(operation.kind, Kind::MultiplyAdd { combine, .. } if combine.compares())
}

/// Whether a program has maxima or minima of several values.
pub fn needs_extremes(program: &Program) -> bool {
    program.operations.iter().any(compares)
}

/// Depths of the gradient pads that are tried where the specification leaves them out: first as many bits as the data pads have. A
/// placement that is a little faster, but keeps the sums of a whole model in every PE, is not worth them.
fn gradient_depths(spec: &MachineSpec, machine: &Machine) -> Vec<u32> {
    let bits = 2 * machine.data_depth() * machine.word() / machine.accumulator();
    let first = (bits.next_power_of_two() / 2).max(16);
    spec.gradient_depth.map_or_else(|| vec![first, 4 * first, 1 << 16], |depth| vec![depth])
}

/// Compile for a machine whose scratchpad and program depths, dividers, extremes and gradient pads, where the specification leaves them
/// out, are what the program needs.
///
/// # Errors
/// As [`compile`]; a specification that is no machine is a diagnostic, too.
pub fn compile_fitted(
    program: &Program,
    spec: &MachineSpec,
    line_of: &dyn Fn(arch::Span) -> usize,
) -> Result<Compiled, Refusal> {
    let machine = |spec: MachineSpec| {
        Machine::try_from(spec).map_err(|e| Refusal::unsupported(Diagnostic::global(Code::Config, e.to_string())))
    };
    let largest = MachineSpec {
        model_depth: spec.model_depth.or(Some(1 << 16)),
        data_depth: spec.data_depth.or(Some(1 << 15)),
        temporary_depth: spec.temporary_depth.or(Some(1 << 16)),
        program_depth: spec.program_depth.or(Some(2048)),
        divider: spec.divider.or(Some(needs_divider(program))),
        extremes: spec.extremes.or(Some(needs_extremes(program))),
        ..spec.clone()
    };
    let mut tried: Option<Result<(Found, Machine), Refusal>> = None;
    for gradient_depth in gradient_depths(spec, &machine(largest.clone())?) {
        let roomy = machine(MachineSpec { gradient_depth: Some(gradient_depth), ..largest.clone() })?;
        match search(program, &roomy, Choice::Best) {
            Err(refusal @ Refusal::DoesNotFit { .. }) => tried = Some(Err(refusal)),
            other => {
                tried = Some(other.map(|found| (found, roomy)));
                break;
            }
        }
    }
    let (found, roomy) = tried.expect("one depth at least is tried")?;
    let image = found.image(program, &roomy, line_of)?;
    let used = found.built.allocation.words;
    let instructions = [image.alu.len(), image.root.len(), image.moves.len(), image.load.len(), image.scalar.len()];
    let longest = instructions.into_iter().max().unwrap_or(0) as u32;
    // At least a few words, so that small programs share a grid.
    let fitted = MachineSpec {
        model_depth: spec.model_depth.or(Some(used.model.max(16))),
        data_depth: spec.data_depth.or(Some(used.data.max(16))),
        temporary_depth: spec.temporary_depth.or(Some(used.temporary.max(16))),
        program_depth: spec.program_depth.or(Some(longest.max(16))),
        divider: spec.divider.or(Some(needs_divider(program))),
        extremes: spec.extremes.or(Some(needs_extremes(program))),
        gradient_depth: spec.gradient_depth.or(Some(if used.gradient == 0 { 0 } else { used.gradient.max(16) })),
        ..spec.clone()
    };
    // Nothing but depths differs: what was found is what would be found.
    let image = found.image(program, &machine(fitted)?, line_of)?;
    Ok(found.compiled(image))
}
