//! Stages of a project as text: its program after a pass.
//!
//! ```text
//! project, data ──▶ tensor ──pass──▶ ... ──pass──▶ canonical ──ranges, lower──▶ fixed ──search──▶ placed, jobs, scheduled, image
//!                                                    printed after any of them
//! ```
//!
//! Later stages are not computed, so a program that they refuse can be printed, too.

use crate::design::prepare;
use crate::engines::step_options;
use crate::evaluation;
use crate::failure::Failure;
use crate::functions;
use crate::images::{self, Lowered};
use crate::plan::Choices;
use crate::progress::Progress;
use crate::project::Project;
use crate::records::Records;
use crate::samples::{self, Data};
use compiler::canonical::{self, PASSES, canonicalise_watched};
use compiler::image::text::Written;
use compiler::language::nearest;
use compiler::search::{Compiled, Stages};
use compiler::{fixed, tensor};
use serde_json::Value;
use sim::eval::read_inputs;
use std::collections::BTreeMap;

/// Stages with a text form, and what each is.
const STAGES: [(&str, &str); 8] = [
    ("tensor", "tensor IR, as the language says it"),
    ("derived", "the same: gradients of what is minimised are derived as it is read"),
    ("canonical", "tensor IR after the last pass, each nest one operation"),
    ("fixed", "fixed-point IR, every rounding decided"),
    ("placed", "fixed-point IR of one step in pieces, each index on an axis of the grid"),
    ("jobs", "vector operations on the words of each PE"),
    ("scheduled", "jobs with start cycles, storages with pads and addresses"),
    ("image", "microcode and what the streams carry"),
];

/// The text of a stage that fixed-point IR is, or becomes.
fn text_of(
    name: &str,
    program: &fixed::Program,
    compile: impl FnOnce() -> Result<Compiled, Failure>,
) -> Result<String, Failure> {
    if name == "fixed" {
        return Ok(program.to_string());
    }
    let Compiled { stages: Stages { placed, jobs, scheduled }, image, .. } = compile()?;
    Ok(match name {
        "placed" => placed.to_string(),
        "jobs" => jobs.to_string(),
        "scheduled" => scheduled.to_string(),
        _ => Written(image).to_string(),
    })
}

/// Whether a stage is fixed-point IR or comes behind it.
fn is_behind(name: &str) -> bool {
    STAGES[3..].iter().any(|(stage, _)| *stage == name)
}

/// Everything that a program can be printed after, with one line each, in the order in which a program meets it. A pass that runs
/// more than once is `name`, `name.2`, ...
pub fn names() -> Vec<(String, &'static str)> {
    let stage = |number: usize| (STAGES[number].0.to_owned(), STAGES[number].1);
    let mut runs = Runs::default();
    let passes = PASSES.iter().map(|pass| (runs.name(pass.name), pass.does)).collect();
    [vec![stage(0), stage(1)], passes, (2..STAGES.len()).map(stage).collect()].concat()
}

/// How often each pass has run.
#[derive(Default)]
struct Runs(BTreeMap<&'static str, usize>);

impl Runs {
    /// The name of the next run of a pass.
    fn name(&mut self, pass: &'static str) -> String {
        let count = self.0.entry(pass).or_insert(0);
        *count += 1;
        if *count == 1 { pass.to_owned() } else { format!("{pass}.{count}") }
    }
}

/// What decides sizes and ranges.
#[derive(Debug, Clone, Copy)]
pub enum Given<'a> {
    /// The data of a training, and how it goes.
    Training(&'a Data, &'a Choices),
    /// The records of a function.
    Function(Option<&'a Records>),
    /// What `eval` is given, with the program as it reads it.
    Evaluation(&'a tensor::Program, &'a Value),
}

/// The program after a stage or a pass.
///
/// # Errors
/// There is no such stage or pass; whatever is wrong with the program up to there.
pub fn text_after(project: &Project, given: Given<'_>, name: &str, progress: &dyn Progress) -> Result<String, Failure> {
    known(name, names().iter().map(|(name, _)| name.as_str()))?;
    project.is_program()?;
    match given {
        Given::Training(data, asked) if is_behind(name) => {
            let (training, ranges) = prepare(project, data, asked, progress)?;
            let lowered = Lowered::new(project, &training.programs, &ranges, progress)?;
            let full = lowered.full.as_ref().expect("a training has updates");
            let images = || training.programs.images(project, &training.samples.program, &lowered, &ranges, None);
            let compile = || Ok(images()?.full.expect("a training has updates"));
            text_of(name, full, compile)
        }
        Given::Training(data, asked) => {
            let samples = samples::for_image(project, data, asked, samples::LARGEST_MADE_UP, progress)?;
            let schedule = samples.schedule()?;
            let options = step_options(schedule.batch, schedule.reduction);
            after_pass(project, &samples.program, &options, name)
        }
        Given::Function(records) => {
            let read = functions::Read::new(project, records, progress)?;
            if is_behind(name) {
                let program = read.upper(project, progress)?.fixed;
                return text_of(name, &program, || images::of_function(project, &program));
            }
            after_pass(project, &read.program, &read.options(), name)
        }
        Given::Evaluation(program, inputs) if is_behind(name) => {
            let inputs = read_inputs(program, inputs).map_err(|wrong| Failure::about(&project.source, wrong))?;
            let upper = evaluation::Lowered::new(project, program, &inputs)?.upper;
            progress.warnings(&project.source, &upper.numbers.notes);
            let program = upper.fixed;
            text_of(name, &program, || images::of_function(project, &program))
        }
        Given::Evaluation(program, _) => after_pass(project, program, &evaluation::Lowered::OPTIONS, name),
    }
}

fn after_pass(
    project: &Project,
    program: &tensor::Program,
    options: &canonical::Options,
    name: &str,
) -> Result<String, Failure> {
    if matches!(name, "tensor" | "derived") {
        return Ok(program.to_string());
    }
    project.check_size(program)?;
    let (mut runs, mut found) = (Runs::default(), None);
    let result = canonicalise_watched(program, options, &mut |pass, program| {
        if runs.name(pass.name) == name {
            found = Some(program.to_string());
        }
    });
    match (found, result) {
        (Some(found), _) => Ok(found),
        (None, Ok(canonical)) => Ok(canonical.to_string()),
        (None, Err(diagnostics)) => Err(Failure::about(&project.source, diagnostics)),
    }
}

/// Refuse a name that is not among these.
///
/// # Errors
/// With the nearest one.
pub fn known<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Result<(), Failure> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`tabla-gen ir --list` names them".to_owned(),
    };
    Err(Failure::Usage(format!("no stage or pass is named `{name}`; {hint}")))
}
