//! `sim`: the generated Verilog against the array, word by word and cycle by cycle, for some steps; waves of them.

use crate::arguments::{EngineName, Format, Global, Sim};
use crate::documents::Document;
use crate::output::{self, Talk};
use crate::render;
use crate::subject::{self, Subject};
use crate::wave::{self, Recording, WaveFormat};
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::distance::{Accuracy, Distance};
use sim::grid::Stalls;
use sim::train::engine::{Comparison, Engine};
use std::path::Path;
use workbench::engines::{EngineMaker, Rung, Which};
use workbench::simulators::Simulator;
use workbench::{Failure, Function, Source};

/// What two rungs of the ladder gave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Simulated {
    /// Steps of the run.
    steps: usize,
    /// Samples in them, or records.
    samples: usize,
    /// Cycles of the run.
    cycles: Option<u64>,
    /// Words compared with the rung above.
    words_compared: u64,
    /// Words that differ.
    words_differing: u64,
    /// Runs whose cycle counts differ.
    cycle_counts_differing: u64,
    /// The first difference.
    first_difference: Option<String>,
    /// How far the results are from those of the golden model.
    distance_from_golden: Distance,
}

/// The same for a function: `fixed` and array, and RTL if that is asked for, on its records.
fn function(
    global: &Global,
    options: &Sim,
    function: &Function,
    wave: Option<(&Path, WaveFormat)>,
    source: &Source,
    talk: &Talk,
) -> Result<(), Failure> {
    let image = function.climb.image();
    let machine = &image.machine;
    if wave.is_some() {
        wave::check(machine, 1, options)?;
    }
    let count = options.steps as usize;
    let stalls = || options.stalls.map_or_else(Stalls::none, |seed| Stalls::seeded(seed, 25, 25));
    let mut rungs = Vec::new();
    if options.engine == EngineName::Rtl {
        let simulator = Simulator::build(machine, talk)?;
        rungs.push(("rtl", function.run(simulator.device(machine), count, stalls())?));
    }
    rungs.insert(0, ("array", function.run(Array::new(machine), count, stalls())?));
    let mut first = None;
    let mut words = 0;
    for (name, outcome) in &rungs {
        match function.climb.compare_stream(outcome) {
            Ok(compared) => words += compared,
            Err(difference) => first = first.or(Some(format!("{name} differs from fixed: {difference}"))),
        }
    }
    if let Some(place) = wave {
        let recording = Recording { image, source: &source.text, batch: 1 };
        wave::record(&recording, options, place, talk, |waved| function.run(waved, count, stalls()).map(drop))?;
    }
    let cycles = rungs[0].1.cycles;
    let words_differ = first.is_some();
    let other = rungs.iter().map(|(_, outcome)| outcome.cycles).find(|&other| other != cycles);
    if let (None, Some(other)) = (&first, other) {
        first = Some(format!("rtl takes {other} cycles, the array {cycles}"));
    }
    let differs = first.clone().map(Failure::Mismatch);
    let Accuracy { distance, lost_bits } = &function.accuracy;
    let warnings: Vec<Diagnostic> = lost_bits.iter().cloned().collect();
    say(global, source, &warnings, talk);
    output::either(
        global.format,
        || {
            let distance = render::distance(*distance);
            format!("{count} records, {cycles} cycles; {words} words compared with fixed\n{distance}\n")
        },
        || {
            let simulated = Simulated {
                steps: count,
                samples: count,
                cycles: Some(cycles),
                words_compared: words,
                words_differing: u64::from(words_differ),
                cycle_counts_differing: u64::from(other.is_some()),
                first_difference: first,
                distance_from_golden: *distance,
            };
            Document::with(simulated, render::messages(source, &warnings)).mismatch(differs.as_ref())
        },
    )?;
    differs.map_or(Ok(()), Err)
}

/// Show warnings to people; a document has its own.
fn say(global: &Global, source: &Source, warnings: &[Diagnostic], talk: &Talk) {
    if global.format == Format::Text {
        render::warnings(source, warnings, talk);
    }
}

/// Simulate, compare, print.
pub fn run(global: &Global, options: &Sim, talk: &Talk) -> Result<(), Failure> {
    if !matches!(options.engine, EngineName::Array | EngineName::Rtl) {
        return Err(Failure::Usage("sim runs the grid: --engine array or rtl".to_owned()));
    }
    let wave = options.wave.as_deref().map(|path| Ok::<_, Failure>((path, wave::format(path)?))).transpose()?;
    let project = subject::project(global, options.target.program.as_deref(), &options.target.entry)?;
    let design = match Subject::new(&project, &options.target, talk)? {
        Subject::Function(inner) => return function(global, options, &inner, wave, &project.source, talk),
        Subject::Training(design) => design,
    };
    if wave.is_some() {
        wave::check(&design.images.machine, design.schedule.batch, options)?;
    }
    let mut maker = EngineMaker::new(options.engine.into(), &design.lowered, Some(&design.images), talk)?;
    maker.stalls = options.stalls;
    let mut sum = Comparison::default();
    let mut engine = maker.engine(Which::Full, &design.samples.signature);
    engine.load(&design.start);
    let steps = design.steps(options.steps as usize);
    let cycles = engine.run(&steps)?.cycles;
    let mut predictor = maker.engine(Which::Predict, &design.samples.signature);
    predictor.load(&engine.model());
    predictor.run(&design.samples.train[..design.samples.train.len().min(steps.len())])?;
    for comparison in [engine.comparison(), predictor.comparison()].into_iter().flatten() {
        sum.add(&comparison);
    }
    if let Some(place) = wave {
        let image = maker.image(Which::Full).ok_or_else(|| Failure::Bug("waves without an image".to_owned()))?;
        let recording = Recording { image, source: &project.source.text, batch: design.schedule.batch };
        wave::record(&recording, options, place, talk, |waved| {
            let mut device = maker.device(waved, Which::Full, &design.samples.signature);
            device.load(&design.start);
            Ok(device.run(&steps).map(drop)?)
        })?;
    }
    let samples = steps.len() * design.schedule.batch;
    let Accuracy { distance, lost_bits } = design.accuracy(steps.len())?;
    let warnings: Vec<Diagnostic> = lost_bits.into_iter().collect();
    say(global, &project.source, &warnings, talk);
    let rungs = Rung::from(options.engine).as_str();
    let differs = sum.first.as_ref().filter(|_| !sum.agrees());
    let differs = differs
        .map(|first| Failure::Mismatch(format!("{rungs} differs from what stands above it in the ladder: {first}")));
    output::either(
        global.format,
        || {
            format!(
                "{} steps, {} cycles; {} words compared with {}, {} differ; {} cycle counts differ\n{}\n",
                steps.len(),
                cycles.unwrap_or(0),
                sum.words,
                sum.with,
                sum.differing,
                sum.cycle_counts_differing,
                render::distance(distance)
            )
        },
        || {
            let simulated = Simulated {
                steps: steps.len(),
                samples,
                cycles,
                words_compared: sum.words,
                words_differing: sum.differing,
                cycle_counts_differing: sum.cycle_counts_differing,
                first_difference: sum.first.clone(),
                distance_from_golden: distance,
            };
            Document::with(simulated, render::messages(&project.source, &warnings)).mismatch(differs.as_ref())
        },
    )?;
    differs.map_or(Ok(()), Err)
}
