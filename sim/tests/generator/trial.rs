//! One random program on the whole ladder, and what is kept of one that falls.
//!
//!     plain = golden ≈ fixed = array = rtl, on several grids, without and with stalls, after an abort and a reset, twice in a row,
//!     and fixed = array for all inputs
//!
//! A program that falls is written to `found/` as JSON: its text and values (or, for tensor IR, its tape), and the batch. CI replays them.

use super::agreement::{Agreement, Inputs, agree};
use super::identities::{PASSING_EFFORT, rewrites};
use super::{RandomProgram, ir, program, steps, tape, wide};
use arch::machine::MachineSpec;
use arch::{Code, Machine};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::tensor::{Program, TensorId};
use serde_json::{Value, json};
use sim::array::Array;
use sim::grid::{Grid, Lockstep, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A grid of some size.
pub(crate) fn grid(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        table_entries: Some(1 << 12),
        ..MachineSpec::default()
    }
}

/// Grids with fixed memories, so that one hardware serves many programs.
pub(crate) fn hardware(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        model_depth: Some(256),
        data_depth: Some(256),
        temporary_depth: Some(128),
        program_depth: Some(64),
        table_entries: Some(2048),
        gradient_depth: Some(0),
        extremes: Some(true),
        squares: Some(true),
        // Some do without: they take more operations for the same words.
        rectifiers: Some(pes_per_pu.is_multiple_of(2)),
        limits: Some(pes_per_pu.is_multiple_of(2) && pus.is_multiple_of(2)),
        scalar: Some(true),
        loops: Some(4 + (pus + pes_per_pu) % 3),
        column_buses: Some(pus.is_multiple_of(pes_per_pu) || pes_per_pu.is_multiple_of(pus)),
        ..grid(pus, pes_per_pu, word)
    }
}

/// The same with gradient pads, and data pads too small for a batch.
pub(crate) fn hardware_for_tiles(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec { data_depth: Some(16), gradient_depth: Some(64), ..hardware(pus, pes_per_pu, word) }
}

/// Hardware that was built.
pub(crate) struct Hardware {
    pub(crate) spec: MachineSpec,
    pub(crate) machine: Machine,
    pub(crate) library: Library,
}

impl Hardware {
    pub(crate) fn build(spec: MachineSpec) -> Hardware {
        let machine = Machine::try_from(spec.clone()).expect("a possible machine");
        let options = sim::verilator::Options::brief();
        let library = Library::build(&hdl::elaborate(&machine), &options).unwrap_or_else(|error| panic!("{error}"));
        Hardware { spec, machine, library }
    }
}

/// What a tape makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A TABLA program.
    Tabla,
    /// A program of tensor IR that the machine can hold.
    Ir,
    /// A program of tensor IR with all that it can say.
    Wide,
}

/// What is tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Trial {
    /// A TABLA program.
    Tabla(RandomProgram),
    /// A program of tensor IR, by the tape it is made of.
    Ir(Vec<u16>),
    /// The same, evaluated on real numbers only.
    Wide(Vec<u16>),
}

/// How it went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// It climbed, so many times; or was evaluated alike, in so many ways.
    Climbed(u32),
    /// It is not for these machines; with a diagnostic.
    Refused(String),
    /// It fell.
    Fell(String),
}

/// Two steps of `size` samples each, all different.
fn batches(samples: &[NamedValues], size: u32) -> Vec<NamedValues> {
    let scaled = |(number, sample): (usize, &NamedValues)| -> NamedValues {
        let factor = 1.0 - (number / samples.len()) as f64 / 16.0;
        let scale = |values: &Vec<f64>| values.iter().map(|value| value * factor).collect();
        sample.iter().map(|(name, values)| (name.clone(), scale(values))).collect()
    };
    let all: Vec<NamedValues> = samples.iter().cycle().enumerate().take(2 * size as usize).map(scaled).collect();
    all.chunks(size as usize).flat_map(|batch| steps(batch, size)).collect()
}

/// The trial that a tape makes.
pub(crate) fn of_tape(kind: Kind, tape: &[u16]) -> Trial {
    match kind {
        Kind::Tabla => Trial::Tabla(program(tape)),
        Kind::Ir => Trial::Ir(tape.to_vec()),
        Kind::Wide => Trial::Wide(tape.to_vec()),
    }
}

/// Values by tensor instead of by name.
fn by_tensor(program: &Program, values: &NamedValues) -> Inputs {
    let place = |name: &String| program.tensors.iter().position(|tensor| tensor.name == *name).expect("a tensor");
    let elements = |values: &Vec<f64>| values.iter().copied().map(Some).collect();
    values.iter().map(|(name, values)| (TensorId(place(name)), elements(values))).collect()
}

impl Trial {
    fn parts(&self) -> Result<(Program, NamedValues, Vec<NamedValues>, bool), String> {
        match self {
            Trial::Tabla(program) => {
                // The generator knows nothing of elements without a value.
                let parsed = language::parse(Language::Tabla, &program.text, &language::Options::default());
                let (parsed, _) = parsed.map_err(|errors| errors[0].message.clone())?;
                Ok((parsed, program.model.clone(), program.samples.clone(), program.trains))
            }
            Trial::Ir(tape) => {
                let (program, model, samples) = ir::program(tape);
                compiler::tensor::verify(&program);
                Ok((program, model, samples, false))
            }
            Trial::Wide(_) => Err("it is not made for machines".to_owned()),
        }
    }

    /// Evaluate it on real numbers in all ways: plain, golden, canonical.
    pub(crate) fn agree(&self) -> Verdict {
        self.caught(Trial::agreement)
    }

    /// Check each canonical pass, in every use of the program; how many rewrites there were.
    #[allow(dead_code, reason = "of scripts/soak")]
    pub(crate) fn identities(&self) -> Verdict {
        self.caught(|trial| {
            let program = match trial {
                Trial::Wide(tape) => wide::program(tape).0,
                Trial::Tabla(_) | Trial::Ir(_) => match trial.parts() {
                    Ok((program, ..)) => program,
                    Err(why) => return Verdict::Refused(why),
                },
            };
            match rewrites(&program, PASSING_EFFORT) {
                Ok(count) => Verdict::Climbed(count as u32),
                // A conversion at the end of its interval, which roundings decide at every draw.
                Err(broken) if !broken.difference.certain => Verdict::Refused(broken.to_string()),
                Err(broken) => Verdict::Fell(broken.to_string()),
            }
        })
    }

    fn agreement(&self) -> Verdict {
        let (program, steps) = if let Trial::Wide(tape) = self {
            let (program, steps) = wide::program(tape);
            compiler::tensor::verify(&program);
            (program, steps)
        } else {
            let (program, model, samples, _) = match self.parts() {
                Ok(parts) => parts,
                Err(why) => return Verdict::Refused(why),
            };
            let mut steps: Vec<Inputs> = samples.iter().map(|sample| by_tensor(&program, sample)).collect();
            steps[0].extend(by_tensor(&program, &model));
            (program, steps)
        };
        match agree(&program, &steps) {
            Ok(Agreement::Three) => Verdict::Climbed(3),
            Ok(Agreement::Two) => Verdict::Climbed(2),
            Ok(Agreement::Fault) => Verdict::Refused("its values have no meaning".to_owned()),
            Err(why) => Verdict::Fell(why),
        }
    }

    /// Climb on all grids; `hardware` also as RTL. A panic, a verifier's among them, is a fall.
    pub(crate) fn run(&self, grids: &[MachineSpec], hardware: &[Hardware]) -> Verdict {
        self.caught(|trial| trial.climb(grids, hardware))
    }

    /// The verdict of `climb`, or its panic.
    pub(crate) fn caught(&self, climb: impl FnOnce(&Trial) -> Verdict) -> Verdict {
        catch_unwind(AssertUnwindSafe(|| climb(self))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Verdict::Fell(format!("panic: {text}"))
        })
    }

    /// How far golden and fixed are apart on a grid, in last places of the results; nothing where it is refused.
    pub(crate) fn distance(&self, spec: &MachineSpec) -> Option<f64> {
        let (program, model, samples, _) = self.parts().ok()?;
        let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
        Climb::new(&program, &options, &model, &steps(&samples, 1), spec).ok().map(|climb| climb.distance)
    }

    fn climb(&self, grids: &[MachineSpec], hardware: &[Hardware]) -> Verdict {
        let (program, model, samples, trains) = match self.parts() {
            Ok(parts) => parts,
            Err(why) => return Verdict::Refused(why),
        };
        let mut climbed = 0;
        let mut refused = None;
        let batches: &[(u32, Reduction)] = if trains {
            &[(1, Reduction::Mean), (3, Reduction::Mean), (3, Reduction::Sum)]
        } else {
            &[(1, Reduction::Mean)]
        };
        for &(size, reduction) in batches {
            let options = Options { keep: Keep::AllNames, batch: Batch { size, reduction } };
            let steps = steps(&samples, size);
            let specs = grids.iter().map(|spec| (spec, None)).chain(hardware.iter().map(|h| (&h.spec, Some(h))));
            for (spec, hardware) in specs {
                let climb = match Climb::new(&program, &options, &model, &steps, spec) {
                    Ok(climb) => climb,
                    Err(errors) if errors.iter().all(|error| error.code == Code::Backend) => {
                        refused = Some(errors[0].message.clone());
                        continue;
                    }
                    Err(errors) => {
                        // Values that are not numbers are the golden model's to refuse.
                        refused = Some(errors[0].message.clone());
                        continue;
                    }
                };
                if !climb.distance.is_finite() {
                    return Verdict::Fell(format!("fixed is {} last places from golden", climb.distance));
                }
                if let Err(why) = everything(&climb, hardware) {
                    let rung = if hardware.is_some() { "rtl" } else { "array" };
                    return Verdict::Fell(format!("batch {size}, {rung} of {}: {why}", climb.image().machine));
                }
                climbed += 1;
            }
        }
        match refused {
            Some(why) if climbed == 0 => Verdict::Refused(why),
            _ => Verdict::Climbed(climbed),
        }
    }

    /// Evaluate in all ways, climb as it is, on all grids, then in batches that run in tiles, on the first of them and on `tiled`. The first fall is the verdict.
    pub(crate) fn run_whole_and_in_tiles(
        &self,
        grids: &[MachineSpec],
        hardware: &[Hardware],
        tiled: Option<&Hardware>,
    ) -> Verdict {
        let agreement = self.agree();
        if matches!(agreement, Verdict::Fell(_)) || matches!(self, Trial::Wide(_)) {
            return agreement;
        }
        let whole = self.run(grids, hardware);
        let in_tiles = [(&grids[0], None)].into_iter().chain(tiled.map(|tiled| (&tiled.spec, Some(tiled))));
        let mut verdicts = in_tiles.map(|(spec, hardware)| self.run_in_tiles(spec, hardware));
        if matches!(whole, Verdict::Fell(_)) {
            return whole;
        }
        verdicts.find(|verdict| matches!(verdict, Verdict::Fell(_))).unwrap_or(whole)
    }

    /// Climb with batches that run in tiles: on a grid whose data pads hold a part of each batch, or on `hardware` as it is.
    pub(crate) fn run_in_tiles(&self, spec: &MachineSpec, hardware: Option<&Hardware>) -> Verdict {
        self.caught(|trial| trial.climb_in_tiles(spec, hardware))
    }

    fn climb_in_tiles(&self, spec: &MachineSpec, hardware: Option<&Hardware>) -> Verdict {
        let (program, model, samples, _) = match self.parts() {
            Ok((.., false)) => return Verdict::Refused("it has no gradient".to_owned()),
            Ok(parts) => parts,
            Err(why) => return Verdict::Refused(why),
        };
        let mut climbed = 0;
        for (size, reduction) in [(6, Reduction::Mean), (12, Reduction::Sum)] {
            let options = Options { keep: Keep::AllNames, batch: Batch { size, reduction } };
            let steps = batches(&samples, size);
            let new = |spec: &MachineSpec| Climb::new(&program, &options, &model, &steps, spec);
            let specs: Vec<MachineSpec> = if let Some(hardware) = hardware {
                vec![hardware.spec.clone()]
            } else {
                let whole = MachineSpec { data_depth: Some(1 << 15), gradient_depth: Some(0), ..spec.clone() };
                let Ok(whole) = new(&whole) else { continue };
                let part = |share: u32| (whole.compiled.used.data / share).max(2).next_power_of_two() / 2;
                let with = |depth: u32| MachineSpec { data_depth: Some(depth.max(2)), ..spec.clone() };
                [1, 3, 6].map(|share| with(part(share))).to_vec()
            };
            for climb in specs.iter().filter_map(|spec| new(spec).ok()).filter(|climb| climb.image().tiles > 1) {
                if let Err(why) = everything(&climb, hardware) {
                    let image = climb.image();
                    return Verdict::Fell(format!("batch {size} in {} tiles on {}: {why}", image.tiles, image.machine));
                }
                climbed += 1;
            }
        }
        Verdict::Climbed(climbed)
    }

    /// What a file in `found/` holds.
    pub(crate) fn to_json(&self, why: &str) -> Value {
        match self {
            Trial::Tabla(program) => json!({
                "why": why,
                "text": program.text.lines().collect::<Vec<_>>(),
                "model": program.model,
                "samples": program.samples,
                "trains": program.trains,
            }),
            Trial::Ir(tape) => {
                json!({ "why": why, "ir": tape, "program": ir::program(tape).0.to_string().lines().collect::<Vec<_>>() })
            }
            Trial::Wide(tape) => {
                json!({ "why": why, "wide": tape, "program": wide::program(tape).0.to_string().lines().collect::<Vec<_>>() })
            }
        }
    }

    /// From a file in `found/`.
    pub(crate) fn from_json(value: &Value) -> Trial {
        let take = |name: &str| value[name].clone();
        let tape = |name: &str| serde_json::from_value(take(name)).expect("a tape");
        if value["ir"].is_array() {
            return Trial::Ir(tape("ir"));
        }
        if value["wide"].is_array() {
            return Trial::Wide(tape("wide"));
        }
        let lines: Vec<String> = serde_json::from_value(take("text")).expect("lines of text");
        Trial::Tabla(RandomProgram {
            text: lines.join("\n") + "\n",
            model: serde_json::from_value(take("model")).expect("weights"),
            samples: serde_json::from_value(take("samples")).expect("samples"),
            trains: value["trains"] == true,
        })
    }
}

/// A simpler trial that falls, too, and why.
pub(crate) fn simplest(kind: Kind, tape: &[u16], mut fall: impl FnMut(&Trial) -> Verdict) -> (Trial, String) {
    let fell = |verdict: Verdict| match verdict {
        Verdict::Fell(why) => Some(why),
        _ => None,
    };
    let tape = tape::shrink(tape, |tape| fell(fall(&of_tape(kind, tape))).is_some());
    let trial = of_tape(kind, &tape);
    let why = fell(fall(&trial)).expect("shrinking keeps the failure");
    (trial, why)
}

/// Make the program of a tape that falls small, and keep it in a folder, where the tests replay it; says what fell, and where it is now.
pub(crate) fn keep(kind: Kind, tape: &[u16], folder: &Path, name: &str, fall: impl FnMut(&Trial) -> Verdict) -> String {
    let (trial, why) = simplest(kind, tape, fall);
    let file = folder.join(format!("{name}.json"));
    let written =
        std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, format!("{:#}\n", trial.to_json(&why))));
    match written {
        Ok(()) => format!("{why}; wrote {}", file.display()),
        Err(error) => format!("{why}; cannot write {}: {error}\n{:#}", file.display(), trial.to_json(&why)),
    }
}

/// A grid that can be reset.
pub(crate) trait Reset: Grid {
    fn reset(&mut self);
}

impl Reset for Array {
    fn reset(&mut self) {
        Array::reset(self);
    }
}

impl Reset for GridDevice {
    fn reset(&mut self) {
        GridDevice::reset(self);
    }
}

impl<A: Reset, B: Reset> Reset for Lockstep<A, B> {
    fn reset(&mut self) {
        let (left, right) = self.grids_mut();
        left.reset();
        right.reset();
    }
}

fn everything(climb: &Climb, hardware: Option<&Hardware>) -> Result<(), String> {
    let machine = &climb.image().machine;
    climb.prove()?;
    let Some(hardware) = hardware else { return survives(climb, &mut Array::new(machine)) };
    let mut pair = Lockstep::new(Array::new(machine), GridDevice::new(&hardware.library, &hardware.machine));
    let survived = survives(climb, &mut pair);
    match pair.mismatch() {
        Some(mismatch) => Err(format!("array against rtl: {mismatch}")),
        None => survived,
    }
}

/// Every way in which a host may treat a grid; whatever happens, after a reset it computes what it should.
fn survives(climb: &Climb, grid: &mut impl Reset) -> Result<(), String> {
    let say = |what: &str, fall: sim::ladder::Fall| format!("{what}: {fall}");
    let first = climb.run(&mut *grid, Stalls::none()).map_err(|fall| say("first run", fall))?;
    let again = climb.run(&mut *grid, Stalls::none()).map_err(|fall| say("second run", fall))?;
    if first != again {
        return Err(format!("the second run is another one: {again:?} after {first:?}"));
    }
    // What is offered between runs is not taken.
    let beat = vec![1; climb.image().machine.stream_words() as usize];
    for _ in 0..20 {
        if grid.cycle(Some(&beat), true) != sim::grid::CycleResult::default() {
            return Err("a beat was taken, or a word came out, between two runs".to_owned());
        }
    }
    climb.run(&mut *grid, Stalls::seeded(7, 30, 30)).map_err(|fall| say("stalled run", fall))?;
    // The host goes away in the middle: the first cycles, the middle, a little before the end.
    for cycles in [2, first.cycles / 2, first.cycles - 1] {
        climb.abandon(&mut *grid, cycles);
        grid.reset();
        let after = climb.run(&mut *grid, Stalls::none()).map_err(|fall| say("after a reset", fall))?;
        if after != first {
            return Err(format!("after a reset in cycle {cycles} it is another run: {after:?} instead of {first:?}"));
        }
    }
    Ok(())
}
