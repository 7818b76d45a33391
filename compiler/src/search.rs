//! Search: fixed-point IR to image. The only module that knows all stages.
//!
//!     fixed::Program ─▶ variants (tile, windows, blocks, doubles, firsts, pieces) ─▶ placements, cheapest first ─▶ build: jobs, pads, schedule, addresses ─▶ Image
//!                                                       the shortest step goes on ◀───────────┘                              verified
//!
//! Nothing here knows the source language, and nothing knows an algorithm by name. What the machine cannot do is refused
//! with E-BACKEND; nothing is silently spilled or approximated.

mod build;
mod divided;
mod fitted;
mod limits;
pub mod passes;
mod rectifiers;
mod steps;

pub use fitted::{compile_divided, compile_fitted, compile_fitted_without, compile_on_board, with_tables};
pub use limits::Board;
pub use steps::Step;

use crate::fixed::Program;
use crate::image::encode;
use crate::image::refuse::{self, Refusal};
use crate::optimisations::{Disabled, Optimisation};
use crate::placed::place::{Placement, Places};
use crate::placed::{self, Axis, blocks, carries, cost, doubles, firsts, layouts, pieces, tile, windows};
use crate::scheduled::Words;
use crate::{image, jobs, scheduled};
use arch::image::Image;
use arch::machine::Machine;
use build::{Built, NEVER, build};
use limits::Limits;

/// An image, and what is worth knowing about how it came about.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What is loaded into the grid.
    pub image: Image,
    /// Where every tensor lies: its name and the axis of each dimension.
    pub placement: Vec<(String, Vec<Axis>)>,
    /// Alu and scalar instructions of the step, in the order in which they start.
    pub steps: Vec<Step>,
    /// Scratchpad words in use, per PE.
    pub used: Words,
    /// Samples of a tile, where the batch runs in tiles ([`Image::tiles`] of them).
    pub tile: Option<u32>,
    /// Cycles of a batch, all its tiles.
    pub cycles: u64,
    /// The same on the board that it was compiled for, where its input may come more slowly than it is used.
    pub cycles_on_board: u64,
    /// Whether more room might have made it shorter: the batch was cut, or something that would not fit was left out.
    pub squeezed: bool,
    /// What ends a batch whose sums are all in the gradient pads, where several machines share batches: a step without input.
    pub conclusion: Option<Image>,
    /// What else was scheduled, best first; the one that was chosen is the first.
    pub alternatives: Vec<Alternative>,
    /// What the stages before the image were.
    pub stages: Stages,
}

/// The stages of a program between fixed-point IR and image. Each was verified, and none was changed after that.
#[derive(Debug, Clone)]
pub struct Stages {
    /// In pieces, with axes.
    pub placed: placed::Program,
    /// As vector operations.
    pub jobs: jobs::Program,
    /// With cycles and addresses.
    pub scheduled: scheduled::Program,
}

impl Compiled {
    /// The same for a machine that differs in its shifters only, and has those that the image uses. It is verified again.
    ///
    /// # Panics
    /// When the machine lacks a shift that the image uses.
    #[must_use]
    pub fn on(self, machine: &Machine) -> Compiled {
        let on = |image: Image| {
            let image = Image { machine: machine.clone(), ..image };
            refuse::check_shifts(&image).expect("the machine has every shift that the image uses");
            image::verify(&image);
            image
        };
        Compiled { image: on(self.image), conclusion: self.conclusion.map(on), ..self }
    }
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
    /// Beats of one step's output; 0 where the output has one lane, and all placements send the same.
    pub emit: u64,
    /// Transfers of one step's output, likewise.
    pub leave: u64,
    /// Instructions of the scalar unit.
    pub scalar: usize,
}

impl Alternative {
    /// The longest of loading, of computing and sending, and of the output stream.
    pub fn cycles(&self) -> u64 {
        (self.step + self.emit).max(self.load).max(self.leave)
    }
}

/// Compile for a machine.
///
/// # Errors
/// When the program needs more than the machine has, or something it cannot do.
pub fn compile(program: &Program, machine: &Machine) -> Result<Compiled, Refusal> {
    compile_as(program, machine, Choice::Best)
}

/// Compile with some other placement, which would not be chosen: results do not depend on it, and tests see to that.
///
/// # Errors
/// As [`compile`].
pub fn compile_elsewhere(program: &Program, machine: &Machine, number: usize) -> Result<Compiled, Refusal> {
    compile_as(program, machine, Choice::Spread { number })
}

fn compile_as(program: &Program, machine: &Machine, choice: Choice) -> Result<Compiled, Refusal> {
    let found = search(program, Limits::of(machine), choice)?;
    let image = found.image(machine)?;
    Ok(found.compiled(image))
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
    built: Built,
    alternatives: Vec<Alternative>,
    /// The fewest cycles, by estimate, of what was left out as it would not fit.
    left_out: Option<u64>,
    /// Optimisations that were disabled.
    disabled: Disabled,
}

impl Found {
    /// Words of the pads that are in use.
    pub(crate) fn words(&self) -> Words {
        self.built.words
    }

    /// The image, for a machine on which it fits and that is otherwise the one of the search. It is not verified yet.
    pub(crate) fn image(&self, machine: &Machine) -> Result<Image, Refusal> {
        self.built.image(machine, self.disabled)
    }

    /// Instructions of a stream that come behind those of the image, at most.
    pub(crate) fn instructions_behind(&self) -> usize {
        self.built.conclusion.as_ref().map_or(0, |conclusion| conclusion.jobs().len())
    }

    /// Cycles of all its tiles.
    fn cycles_of_batch(&self) -> u64 {
        self.built.cycles_of_batch()
    }

    /// Cycles of a batch on a board, where its input may come more slowly than it is used.
    fn cycles_on_board(&self, limits: Limits<'_>) -> u64 {
        let Some(input) = limits.board.and_then(|on| on.board.input) else { return self.cycles_of_batch() };
        let machine = limits.fitted(self.words(), self.built.jobs.jobs.len());
        let image = machine.and_then(|machine| self.image(&machine).ok());
        self.built.cycles_with_input(image.map_or(0, |image| input(&image)))
    }

    /// Whether less room than there could be made it slower. Estimates are too high rather than too low.
    fn is_squeezed(&self, limits: Limits<'_>) -> bool {
        let waits = self.cycles_on_board(limits) > self.cycles_of_batch();
        waits || self.left_out.is_some_and(|cycles| limits.board.is_some() || cycles < 2 * self.cycles_of_batch())
    }

    /// Everything about an image of it. Its stages are verified here.
    pub(crate) fn compiled(mut self, image: Image) -> Compiled {
        let Built { placed, jobs, scheduled, conclusion, .. } = &self.built;
        let conclusion = conclusion.as_ref().map(|conclusion| {
            scheduled::verify(conclusion, &image.machine);
            let conclusion = encode::step(conclusion, &image.machine);
            image::verify(&conclusion);
            conclusion
        });
        placed::verify(placed, &image.machine);
        jobs::verify(jobs, &image.machine);
        scheduled::verify(scheduled, &image.machine);
        image::verify(&image);
        let chosen = self.built.alternative();
        let cycles = self.cycles_of_batch();
        self.alternatives.sort_by_key(|alternative| (*alternative != chosen, alternative.cycles()));
        let Built { placed, jobs, scheduled, words, .. } = self.built;
        Compiled {
            placement: chosen.placement,
            steps: steps::steps(&scheduled, &image.machine),
            used: words,
            tile: placed.tile.map(|tile| tile.samples),
            cycles,
            cycles_on_board: cycles,
            squeezed: self.left_out.is_some() || placed.tile.is_some(),
            conclusion,
            alternatives: self.alternatives,
            image,
            stages: Stages { placed, jobs, scheduled },
        }
    }
}

/// Place and schedule a program.
pub(crate) fn search(program: &Program, limits: Limits<'_>, choice: Choice) -> Result<Found, Refusal> {
    let machine = limits.machine;
    refuse::check_program(program, machine)?;
    let program = &rectifiers::suited(program, machine);
    let least = tile::least_data(program, machine.pes());
    let whole = || search_as(&placed::Program::whole(program), limits, choice);
    // What cannot fit need not be tried, unless for the message.
    let refusal = match (least <= u64::from(machine.data_depth())).then(whole) {
        // What is squeezed onto a board, or into pads that something faster does not fit, or waits for its input, may be faster in tiles.
        Some(Ok(found)) if choice == Choice::Best && found.is_squeezed(limits) => {
            // Tiles have pads for sums: where no board says that there is room, they have to be worth it.
            let least = if limits.board.is_some() { 1.0 } else { WORTH_TILES };
            return Ok(match in_tiles(program, limits, choice) {
                Ok(tiles) if least * (tiles.cycles_on_board(limits) as f64) < found.cycles_on_board(limits) as f64 => {
                    tiles
                }
                _ => found,
            });
        }
        Some(Ok(found)) => return Ok(found),
        Some(Err(refusal)) => Some(refusal),
        None => None,
    };
    let why = match in_tiles(program, limits, choice) {
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
fn in_tiles(program: &Program, limits: Limits<'_>, choice: Choice) -> Result<Found, Option<String>> {
    let machine = limits.machine;
    let batch = tile::batch(program).ok_or(None)?;
    let cannot = |why: tile::Whole| Some(format!("the batch cannot be cut into tiles: {}", why.why));
    tile::cut(program, batch).map_err(cannot)?;
    if machine.gradient_depth() == 0 {
        return Err(Some("with `gradient_depth` in the [machine] table it could run in tiles".to_owned()));
    }
    let found = |size: u32| {
        let tiled = tile::cut(program, size).map_err(|_| None)?;
        let may_fit = tile::least_data(&tiled.fixed, machine.pes()) <= u64::from(machine.data_depth());
        if may_fit { search_as(&tiled, limits, choice).map_err(Some) } else { Err(None) }
    };
    let none_fits = |refusal: Option<Refusal>| {
        let why = refusal.map_or_else(String::new, |refusal| format!(": {}", refusal.diagnostic().message));
        Some(format!("not even tiles of one sample fit{why}"))
    };
    // Smaller tiles fit better: those at `small` do, those before `large` do not.
    let sizes = tile::sizes(batch);
    let (mut large, mut small) = (0, sizes.len() - 1);
    let mut best = found(sizes[small]).map_err(none_fits)?;
    while large < small {
        let middle = usize::midpoint(large, small);
        match found(sizes[middle]) {
            Ok(larger) => (best, small) = (larger, middle),
            Err(_) => large = middle + 1,
        }
    }
    // A few samples may lie better than many.
    let smaller = sizes[small..].iter().skip(1).take(SMALLER_TILES);
    for next in smaller.filter_map(|&size| found(size).ok()) {
        if next.cycles_on_board(limits) < best.cycles_on_board(limits) {
            best = next;
        }
    }
    Ok(best)
}

/// How many times faster than a whole batch tiles have to be, where nothing but the pads decides.
const WORTH_TILES: f64 = 1.1;

/// Sizes of tiles below the largest that fits that are tried.
const SMALLER_TILES: usize = 6;

/// What placements are looked for of: the program as it is, with strided reads taken apart, with windows, and in blocks, what each becomes with tensors that are there twice or are copied, and what
/// each of these becomes when every index that can be cut at a multiple of the grid is; the program as it is with its indices turned; and that with its last values apart.
fn variants(program: &placed::Program, machine: &Machine, disabled: Disabled) -> Vec<placed::Program> {
    let mut variants = vec![pieces::without_unread(program)];
    if disabled.uses(Optimisation::Carries) {
        variants.extend(carries::strides::split(&variants[0]));
    }
    if disabled.uses(Optimisation::Windows) {
        let opened: Vec<placed::Program> = variants.iter().flat_map(windows::variants).collect();
        variants.extend(opened);
    }
    if disabled.uses(Optimisation::Blocks) {
        variants.extend(blocks::variants(&variants[0], machine));
    }
    if disabled.uses(Optimisation::Doubles) {
        let doubled: Vec<placed::Program> = variants.iter().filter_map(doubles::doubled).collect();
        variants.extend(doubled);
    }
    if disabled.uses(Optimisation::Copies) {
        variants.extend(doubles::copied(&variants[0]));
    }
    if disabled.uses(Optimisation::Pieces) {
        let cut: Vec<placed::Program> = variants.iter().filter_map(|whole| pieces::evenly(whole, machine)).collect();
        variants.extend(cut);
    }
    let turned = disabled.uses(Optimisation::Firsts).then(|| firsts::turned(&variants[0], machine)).flatten();
    if disabled.uses(Optimisation::Pieces) {
        let apart = pieces::alone::last(turned.as_ref().unwrap_or(&variants[0]), machine);
        variants.extend(apart);
    }
    variants.extend(turned);
    variants
}

/// The best of what has been tried, and what else there was.
struct Tried {
    best: Option<Built>,
    alternatives: Vec<Alternative>,
    /// Of what does not fit the words that come closest, and how many are missing.
    closest: Option<(u64, Words)>,
    /// And the fewest cycles, by estimate.
    left_out: Option<u64>,
    /// Why the first one that has room in the pads is none: its instructions or shifts.
    refused: Option<Refusal>,
}

impl Tried {
    /// Leave out what the machine has pads, but no program memory or shifters for, if it would be the best.
    fn runs(&mut self, built: Built, limits: Limits<'_>) -> Result<Built, Words> {
        if !self.is_best(&built) {
            return Ok(built);
        }
        match built.image(limits.machine, limits.disabled) {
            Ok(_) => Ok(built),
            Err(refusal) => {
                self.refused.get_or_insert(refusal);
                Err(NEVER)
            }
        }
    }

    fn is_best(&self, built: &Built) -> bool {
        self.best.as_ref().is_none_or(|best| built.merit() < best.merit())
    }

    /// Take note of a placement that was built, or of the words it would need, and of its estimate. Whether it was built.
    fn add(&mut self, built: Result<Built, Words>, estimate: u64, limits: Limits<'_>) -> bool {
        match built {
            Ok(built) => {
                self.alternatives.push(built.alternative());
                if self.is_best(&built) {
                    self.best = Some(built);
                }
                true
            }
            Err(words) => {
                let missing = limits.missing(words, 0);
                if self.closest.is_none_or(|(least, _)| missing < least) {
                    self.closest = Some((missing, words));
                }
                let estimate = if words == NEVER { u64::MAX } else { estimate };
                self.left_out = Some(self.left_out.map_or(estimate, |least| least.min(estimate)));
                false
            }
        }
    }
}

/// Place and schedule a program as it is, which may be one tile's.
fn search_as(program: &placed::Program, limits: Limits<'_>, choice: Choice) -> Result<Found, Refusal> {
    let machine = limits.machine;
    let mut tried = Tried { best: None, alternatives: Vec::new(), closest: None, left_out: None, refused: None };
    let variants = variants(program, machine, limits.disabled);
    search_among(&variants, limits, choice, &mut tried)?;
    let Some(built) = tried.best else {
        if let Some(refusal) = tried.refused {
            return Err(refusal);
        }
        let (_, needed) = tried.closest.expect("placing everything locally is always possible");
        return Err(refuse::too_large(machine, limits.available(), needed));
    };
    Ok(Found { built, alternatives: tried.alternatives, left_out: tried.left_out, disabled: limits.disabled })
}

/// Place and schedule variants of a program.
fn search_among(
    variants: &[placed::Program],
    limits: Limits<'_>,
    choice: Choice,
    tried: &mut Tried,
) -> Result<(), Refusal> {
    let machine = limits.machine;
    for (number, pieces) in variants.iter().enumerate() {
        let mut operations = pieces.fixed.operations.iter();
        let can_be_scalar = |operation| cost::can_be_scalar(&pieces.fixed, operation);
        let unit = machine.scalar() && choice == Choice::Best && operations.any(can_be_scalar);
        let mut seen: Vec<Placement> = Vec::new();
        for unit in [false, true].into_iter().take(1 + usize::from(unit)) {
            let places = Places::of(&pieces.fixed, machine, unit, limits.disabled);
            match choice {
                // Leaner layouts than the fastest only where these do not fit.
                Choice::Best => {
                    for &price in layouts::PRICES {
                        if search_placements(
                            (number, pieces, unit),
                            places.at(price),
                            (limits, choice),
                            &mut seen,
                            tried,
                        )? > 0
                        {
                            break;
                        }
                    }
                }
                // One placement of one variant.
                Choice::Spread { number: wanted } if wanted % variants.len() != number => {}
                Choice::Spread { number: wanted } => {
                    let placements = places.elsewhere(wanted / variants.len());
                    search_placements((number, pieces, unit), placements, (limits, choice), &mut seen, tried)?;
                }
            }
        }
    }
    Ok(())
}

/// Schedule placements of a variant, by its number, with or without the scalar unit; how many were built.
fn search_placements(
    (number, pieces, unit): (usize, &placed::Program, bool),
    placements: Vec<Placement>,
    (limits, choice): (Limits<'_>, Choice),
    seen: &mut Vec<Placement>,
    tried: &mut Tried,
) -> Result<usize, Refusal> {
    let machine = limits.machine;
    let most_loads = MOST_LOADS.min(machine.program_depth() as usize);
    let mut scheduled = 0;
    for placement in placements {
        // Estimates are too high rather than too low; the runner-up is worth knowing in any case.
        let reach = if scheduled < 2 { 8 } else { 2 };
        let far = tried.best.as_ref().is_some_and(|best| placement.cost.cycles() > reach * best.cycles);
        if scheduled == SCHEDULED_PLACEMENTS || far {
            break;
        }
        if seen.iter().any(|other| other.lies_as(&placement)) {
            scheduled += 1;
            continue;
        }
        let placed = placement.clone().of_program(pieces);
        let kept = limits.board.map(|_| build::kept_words(&placed, machine));
        if let Some(kept) = kept.filter(|&kept| limits.missing(kept, 0) > 0) {
            // What is kept alone is too much.
            tried.add(Err(kept), placement.cost.cycles(), limits);
            continue;
        }
        let built = match build(&placed, limits, choice, unit) {
            Err(refusal @ Refusal::DoesNotFit { .. }) => {
                tried.refused.get_or_insert(refusal);
                Err(NEVER)
            }
            // Windows of many dimensions take many instructions to load or many loops; the program as it is has to do then.
            Err(_) if number > 0 => Err(NEVER),
            Ok(Ok(built)) if number > 0 && built.loads(machine, limits.disabled) > most_loads => Err(NEVER),
            Ok(Ok(built)) => tried.runs(built, limits),
            other => other?,
        };
        scheduled += usize::from(tried.add(built, placement.cost.cycles(), limits));
        seen.push(placement);
    }
    Ok(scheduled)
}

/// Placements of a program that are scheduled, of those with the least estimated cost.
const SCHEDULED_PLACEMENTS: usize = 24;

/// Instructions that may load the tensors of a program that is not as it was written.
const MOST_LOADS: usize = 64;
