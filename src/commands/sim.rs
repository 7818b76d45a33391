//! `sim`: the generated Verilog against the array, word by word and cycle by cycle, for some steps; waves of them.

use crate::arguments::{Format, Global, Sim};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use crate::wave::{self, Recording, WaveFormat};
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use sim::array::Array;
use sim::distance::{Distance, Verdict};
use sim::grid::Stalls;
use sim::pace::Pace;
use sim::train::compared::Compare;
use sim::train::engine::{Comparison, Engine};
use std::path::Path;
use workbench::documents::Document;
use workbench::engines::{EngineMaker, Rung, Which};
use workbench::report::figures;
use workbench::saturation::{self, Saturation, Unit};
use workbench::simulators::Simulator;
use workbench::{Design, Failure, Function, Project, Subject, documents};

/// What two rungs of the ladder gave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Simulated {
    /// Steps of the run.
    steps: usize,
    /// Samples in them, or records.
    samples: usize,
    /// Cycles of the run, from its start to its last word: the first steps fill the grid, the last ones empty it.
    cycles: Option<u64>,
    /// The same steps in the middle of a stream without stalls, and what no grid of this size can beat.
    #[serde(flatten)]
    pace: Pace,
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
    /// Whether the words suffice.
    verdict: Verdict,
    /// Values that were clipped to the word: of a training in these steps and the predictions after them, of a function in its records.
    saturations: Vec<Saturation>,
}

/// What a simulation gave, and what is said about it.
pub(super) struct Simulation {
    pub(super) simulated: Simulated,
    /// What the words were compared with.
    with: String,
    /// What fixed point lost.
    warnings: Vec<Diagnostic>,
    /// Rungs that should agree do not.
    differs: Option<Failure>,
}

/// A function on its records: `fixed` and array, and RTL if that is asked for.
fn function(
    project: &Project,
    options: &Sim,
    function: &Function,
    wave: Option<(&Path, WaveFormat)>,
    talk: &Talk,
) -> Result<Simulation, Failure> {
    let image = function.climb.image();
    let machine = &image.machine;
    if wave.is_some() {
        wave::check(machine, 1, options)?;
    }
    let per_step = function.climb.per_step;
    let count = options.steps as usize * per_step;
    let stalls = || options.stalls.map_or_else(Stalls::none, |seed| Stalls::seeded(seed, 25, 25));
    let mut rungs = Vec::new();
    if options.engine == Rung::Rtl {
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
        let recording = Recording { image, source: &project.source.text, batch: per_step };
        wave::record(&recording, options, place, talk, |waved| function.run(waved, count, stalls()).map(drop))?;
    }
    let cycles = rungs[0].1.cycles;
    let words_differ = first.is_some();
    let other = rungs.iter().map(|(_, outcome)| outcome.cycles).find(|&other| other != cycles);
    if let (None, Some(other)) = (&first, other) {
        first = Some(format!("rtl takes {other} cycles, the array {cycles}"));
    }
    let count = rungs[0].1.steps.len();
    let accuracy = &function.accuracy;
    let clipped = &function.climb.clipped;
    Ok(Simulation {
        differs: first.clone().map(Failure::Mismatch),
        simulated: Simulated {
            steps: count.div_ceil(per_step),
            samples: count,
            cycles: Some(cycles),
            pace: function.pace()?,
            words_compared: words,
            words_differing: u64::from(words_differ),
            cycle_counts_differing: u64::from(other.is_some()),
            first_difference: first,
            distance_from_golden: accuracy.distance,
            verdict: accuracy.verdict.clone(),
            saturations: Saturation::all(project, clipped, Unit::Record),
        },
        with: "fixed".to_owned(),
        warnings: accuracy
            .warnings()
            .chain(saturation::warnings(clipped, Unit::Record))
            .chain(function.calibration.clone().filter(|_| function.calibrated))
            .collect(),
    })
}

/// Some steps of a training, and a prediction with the weights after them.
fn training(
    project: &Project,
    options: &Sim,
    design: &Design,
    wave: Option<(&Path, WaveFormat)>,
    talk: &Talk,
) -> Result<Simulation, Failure> {
    if wave.is_some() {
        wave::check(&design.images.machine, design.schedule.batch, options)?;
    }
    let mut maker = EngineMaker::new(options.engine, &design.lowered, Some(&design.images), talk)?;
    (maker.stalls, maker.compare) = (options.stalls, Compare::EveryUpdate);
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
    let accuracy = design.accuracy(project, steps.len())?;
    let (clipped, predicted) = (engine.clipped(), predictor.clipped());
    let [updates, rows] = [(&clipped, Unit::Update), (&predicted, Unit::Row)]
        .map(|(clipped, unit)| Saturation::all(project, clipped, unit));
    let warnings = accuracy.warnings().chain(saturation::warnings(&clipped, Unit::Update));
    let warnings = warnings.chain(saturation::warnings(&predicted, Unit::Row)).collect();
    let rungs = options.engine.as_str();
    let differs = sum.first.as_ref().filter(|_| !sum.agrees());
    let differs = differs.map(|first| Failure::Mismatch(format!("{rungs} differs from the engine above it: {first}")));
    Ok(Simulation {
        simulated: Simulated {
            steps: steps.len(),
            samples: steps.len() * design.schedule.batch,
            cycles,
            pace: design.pace()?,
            words_compared: sum.words,
            words_differing: sum.differing,
            cycle_counts_differing: sum.cycle_counts_differing,
            first_difference: sum.first.clone(),
            distance_from_golden: accuracy.distance,
            verdict: accuracy.verdict.clone(),
            saturations: updates.into_iter().chain(rows).collect(),
        },
        with: sum.with.clone(),
        warnings,
        differs,
    })
}

impl Simulation {
    /// Simulate and compare.
    ///
    /// # Errors
    /// The grid is stuck, a tool is missing, waves cannot be written.
    pub(super) fn new(project: &Project, subject: &Subject, options: &Sim, talk: &Talk) -> Result<Simulation, Failure> {
        let wave = options.wave.as_deref().map(|path| Ok::<_, Failure>((path, wave::format(path)?))).transpose()?;
        match subject {
            Subject::Function(inner) => function(project, options, inner, wave, talk),
            Subject::Training(design) => training(project, options, design, wave, talk),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let Simulated { steps, cycles, words_compared, words_differing, cycle_counts_differing, .. } = self.simulated;
        format!(
            "{steps} steps, {} cycles from start to end; {words_compared} words compared with {}, {words_differing} differ; \
             {cycle_counts_differing} cycle counts differ\n{}{}\n{}\n",
            cycles.unwrap_or(0),
            self.with,
            figures::pace(&self.simulated.pace),
            figures::distance(self.simulated.distance_from_golden),
            self.simulated.verdict
        )
    }
}

/// Simulate, compare, print.
pub fn run(global: &Global, options: &Sim, talk: &Talk) -> Result<(), Failure> {
    if !matches!(options.engine, Rung::Array | Rung::Rtl) {
        return Err(Failure::Usage("sim runs the grid: --engine array or rtl".to_owned()));
    }
    // What cannot be written is said before the work, not after it.
    options.wave.as_deref().map(wave::format).transpose()?;
    let project = subject::target(global, &options.target)?;
    let subject = subject::subject(&project, &options.target, talk)?;
    let simulation = Simulation::new(&project, &subject, options, talk)?;
    if global.format == Format::Text {
        render::warnings(&project.source, &simulation.warnings, talk);
    }
    let text = simulation.text();
    let Simulation { simulated, warnings, differs, .. } = simulation;
    let denied = Some(&simulated.saturations).filter(|_| options.deny_saturation);
    let inaccurate = Some(&simulated.verdict).filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    let failed = differs.or_else(|| Saturation::denied(denied?)).or(inaccurate);
    output::either(
        global.format,
        || text,
        || Document::with(simulated, documents::messages(&project.source, &warnings)).failed(failed.as_ref()),
    )?;
    failed.map_or(Ok(()), Err)
}
