//! Passes: each decision of the stages behind fixed-point IR by its name, from the text of one stage to that of the next.
//!
//!     jobs word 16 ...     ── fuse ──▶         jobs word 16 ...
//!     jobs word 16 ...     ── colour ──▶       coloured ...
//!     coloured ...         ── schedule ──▶     scheduled 57 cycles ...
//!
//! Nothing is decided here: a pass is a function of its stage, between reading and printing. What is read and what is made are
//! held to the laws of their stages. [`crate::ir`] lists these passes with those of the other stages.

use super::build::too_deep;
use super::rectifiers;
use crate::fixed;
use crate::image::text::Written;
use crate::image::{self, encode, refuse};
use crate::jobs::{self, fuse, levels, reshard, scalar, select, strips};
use crate::optimisations::Disabled;
use crate::placed::carries::strides;
use crate::placed::cost::Cost;
use crate::placed::legal::{constants, slices, starts, write_back};
use crate::placed::place::Places;
use crate::placed::{self, blocks, doubles, firsts, layouts, pieces, tile, windows};
use crate::scheduled::colour::{self, Coloured};
use crate::scheduled::{self, allocate, schedule};
use crate::text;
use arch::machine::Machine;
use arch::{Code, Diagnostic};

type Outcome = Result<String, Vec<Diagnostic>>;

/// A decision that can be run by itself.
pub struct Pass {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in one line.
    pub does: &'static str,
    /// Text in, text out, for a machine.
    pub run: fn(&str, &Machine) -> Outcome,
}

/// All of them, in the order in which a program goes through them.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "rectifiers",
        does: "fixed to fixed: positive parts are what sums become, or operations where the machine has no rectifiers",
        run: |text, machine| {
            let program = text::read(text, fixed::laws)?;
            Ok(rectifiers::suited(&program, machine).to_string())
        },
    },
    Pass {
        name: "tile",
        does: "fixed to placed: a batch as steps of one program, the largest that are smaller than it",
        run: tile,
    },
    Pass {
        name: "strides",
        does: "placed: temporaries that are read with a stride get a dimension for it",
        run: |text, machine| of_placed(text, machine, |p, _| strides::split(p).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "windows",
        does: "placed: inputs that are read at a sum of indices get a dimension for each",
        run: |text, machine| of_placed(text, machine, |p, _| windows::variants(p).pop().unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "blocks",
        does: "placed: indices along which inputs are read lie on the PEs in blocks",
        run: |text, machine| of_placed(text, machine, |p, m| blocks::variants(p, m).pop().unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "doubles",
        does: "placed: tensors that are read in two ways become two",
        run: |text, machine| of_placed(text, machine, |p, _| doubles::doubled(p).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "copies",
        does: "placed: what is computed and read in two ways is copied for the second of them",
        run: |text, machine| of_placed(text, machine, |p, _| doubles::copied(p).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "pieces",
        does: "placed: indices that do not fill the grid evenly are cut",
        run: |text, machine| of_placed(text, machine, |p, m| pieces::evenly(p, m).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "firsts",
        does: "placed: indices whose first values are apart are turned",
        run: |text, machine| of_placed(text, machine, |p, m| firsts::turned(p, m).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "alone",
        does: "placed: the last values of an index that is summed over are apart where the others fill the grid",
        run: |text, machine| of_placed(text, machine, |p, m| pieces::alone::last(p, m).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "place",
        does: "placed: the cheapest axis of each index, wherever it lay, with copies of what is read elsewhere",
        run: |text, machine| of_placed(text, machine, fastest),
    },
    Pass {
        name: "cost",
        does: "placed to an estimate: cycles of operations, transfers and words of tensors",
        run: cost,
    },
    Pass {
        name: "slices",
        does: "placed: an element that is read by its number becomes a tensor",
        run: |text, machine| of_placed(text, machine, slices::slices),
    },
    Pass {
        name: "constants",
        does: "placed: a constant divisor becomes a tensor",
        run: |text, machine| of_placed(text, machine, |p, _| constants::spell_out(p)),
    },
    Pass {
        name: "starts",
        does: "placed: a sum over PEs starts with a copy that is 0 in all of them but the first",
        run: |text, machine| of_placed(text, machine, starts::starts),
    },
    Pass {
        name: "write_back",
        does: "placed: what a bus brings to a weight goes through a temporary",
        run: |text, machine| of_placed(text, machine, write_back::write_back),
    },
    Pass { name: "select", does: "placed to jobs: operations become vector operations", run: select },
    Pass {
        name: "fuse",
        does: "jobs: roots apply functions to sums as they pass",
        run: |text, machine| of_jobs(text, machine, |p, _| fuse::fuse(p)),
    },
    Pass {
        name: "reshard",
        does: "jobs: a job for each round of a result over the columns",
        run: |text, machine| of_jobs(text, machine, reshard::expand),
    },
    Pass { name: "levels", does: "jobs: no more loops than an instruction has", run: levels },
    Pass {
        name: "scalar",
        does: "jobs: what is the same in all PEs goes to the scalar unit",
        run: |text, machine| of_jobs(text, machine, |p, _| scalar::assign(p).unwrap_or_else(|| p.clone())),
    },
    Pass {
        name: "parts",
        does: "jobs: the work of the scalar unit in two parts",
        run: |text, machine| of_jobs(text, machine, |p, machine| scalar::in_parts(p, 2, machine)),
    },
    Pass {
        name: "strips",
        does: "jobs: what updates read waits in the model pad, and comes in strips of four words",
        run: |text, machine| {
            of_jobs(text, machine, |p, m| {
                strips::strips(p, 4, m).map_or_else(|| p.clone(), |stripped| stripped.program)
            })
        },
    },
    Pass { name: "colour", does: "jobs to coloured: every storage gets a pad", run: colour },
    Pass {
        name: "order",
        does: "coloured to scheduled: jobs in the order in which they are written",
        run: |text, machine| timed(text, machine, schedule::in_order),
    },
    Pass {
        name: "schedule",
        does: "coloured to scheduled: the order with the shortest step",
        run: |text, machine| timed(text, machine, schedule::schedule),
    },
    Pass { name: "allocate", does: "scheduled: every storage gets an address", run: allocate },
    Pass { name: "encode", does: "scheduled to image: jobs become instructions", run: encode },
    Pass { name: "verify", does: "image: two steps are replayed, word by word; nothing changes", run: verify },
];

fn tile(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, fixed::laws)?;
    let largest = tile::batch(&program).and_then(|batch| tile::sizes(batch).first().copied());
    let cannot =
        |why: &str| vec![Diagnostic::global(Code::Backend, format!("the batch cannot be cut into tiles: {why}"))];
    let size = largest.ok_or_else(|| cannot("it has one sample, or inputs differ in their samples"))?;
    let tiled = tile::cut(&program, size).map_err(|whole| cannot(&whole.why))?;
    placed::verify(&tiled, machine);
    Ok(tiled.to_string())
}

type OfPlaced = fn(&placed::Program, &Machine) -> placed::Program;

fn of_placed(text: &str, machine: &Machine, run: OfPlaced) -> Outcome {
    let program = text::read(text, |program| placed::laws(program, machine))?;
    let result = run(&program, machine);
    placed::verify(&result, machine);
    Ok(result.to_string())
}

/// With the placement that is estimated to take least.
fn fastest(program: &placed::Program, machine: &Machine) -> placed::Program {
    let first = Places::of(&program.fixed, machine, false, Disabled::NOTHING).at(layouts::PRICES[0]).into_iter().next();
    first.map_or_else(|| program.clone(), |placement| placement.of_program(program))
}

/// What each operation and each tensor is estimated to cost.
fn cost(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, |program| placed::laws(program, machine))?;
    let fixed = &program.fixed;
    let mut estimate = String::new();
    for (number, (operation, axes)) in fixed.operations.iter().zip(&program.iterators).enumerate() {
        let out = &program.tensors[operation.out.0];
        let cost = Cost::of_operation(fixed, operation, axes, out, machine, false).expect("it has been verified");
        estimate += &format!("operation %{number}: {} cycles\n", cost.compute);
    }
    for (number, (tensor, axes)) in fixed.tensors.iter().zip(&program.tensors).enumerate() {
        let cost = Cost::of_tensor(tensor, axes, machine, Disabled::NOTHING);
        estimate += &format!("tensor %{number}: {} transfers, {} words\n", cost.load, cost.words);
    }
    Ok(estimate)
}

fn select(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, |program| placed::laws(program, machine))?;
    let result = select::select(&program, machine);
    jobs::verify(&result, machine);
    Ok(result.to_string())
}

type OfJobs = fn(&jobs::Program, &Machine) -> jobs::Program;

fn of_jobs(text: &str, machine: &Machine, run: OfJobs) -> Outcome {
    let program = text::read(text, |program| jobs::laws(program, machine))?;
    let result = run(&program, machine);
    jobs::verify(&result, machine);
    Ok(result.to_string())
}

fn levels(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, |program| jobs::laws(program, machine))?;
    let result = levels::fit(&program, machine).map_err(|job| vec![too_deep(&job)])?;
    jobs::verify(&result, machine);
    Ok(result.to_string())
}

fn colour(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, |program| jobs::laws(program, machine))?;
    Ok(colour::colour(&program).to_string())
}

/// Cycles by some order, and addresses.
fn timed(text: &str, machine: &Machine, run: fn(&Coloured, &Machine) -> schedule::Schedule) -> Outcome {
    let coloured = text::read(text, |coloured: &Coloured| jobs::laws(&coloured.program, machine))?;
    let schedule = run(&coloured, machine);
    let allocation = allocate::allocate(&coloured, &schedule.jobs, &schedule.windows());
    let scheduled = scheduled::Program::new(&coloured, &schedule, &allocation);
    scheduled::verify(&scheduled, machine);
    Ok(scheduled.to_string())
}

/// Other addresses: those of the text do not matter.
fn allocate(text: &str, machine: &Machine) -> Outcome {
    let program: scheduled::Program = text::read(text, |_| Ok(()))?;
    let coloured = Coloured { program: program.step.clone(), pads: program.pads() };
    let beats: Vec<_> = program.slots(machine).iter().map(|slot| slot.issue).collect();
    let allocation = allocate::allocate(&coloured, program.jobs(), &beats);
    let result = scheduled::Program { homes: allocation.homes, ..program };
    scheduled::verify(&result, machine);
    Ok(result.to_string())
}

fn encode(text: &str, machine: &Machine) -> Outcome {
    let program = text::read(text, |program| scheduled::laws(program, machine))?;
    let image = encode::encode(&program, machine, Disabled::NOTHING);
    let fits = refuse::check_programs(&image).and_then(|()| refuse::check_shifts(&image));
    fits.map_err(|refusal| vec![refusal.diagnostic().clone()])?;
    image::verify(&image);
    Ok(Written(image).to_string())
}

/// The image brings its own machine.
fn verify(text: &str, _: &Machine) -> Outcome {
    let image: Written = text::read(text, |written: &Written| image::laws(&written.0))?;
    Ok(image.to_string())
}
