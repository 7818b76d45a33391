//! Programs to fixed-point programs to images for one machine.

pub mod checked;
pub mod design;
pub mod fit;
pub mod resources;
pub mod room;
pub mod subject;
pub mod supply;
pub(crate) mod too_large;

use crate::config::value_span;
use crate::engines::{NamedRanges, Programs, ranges_of};
use crate::failure::Failure;
use crate::fit::{FitRequest, Fitted, Input, fit};
use crate::progress::Progress;
use crate::project::Project;
use crate::supply::Epochs;
use arch::diagnostic::line_column;
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Image, Machine, Span};
use compiler::fixed::{self, NumberReport, Role, state_between_records};
use compiler::image::Refusal;
use compiler::language::nearest;
use compiler::placed::shares;
use compiler::search::{self, Compiled, with_tables};
use compiler::tensor;
use std::collections::BTreeMap;

/// The fixed-point programs of a training, or of a prediction alone.
pub struct Lowered {
    /// One update per full batch; not for a prediction alone.
    pub full: Option<fixed::Program>,
    /// One update for what an epoch leaves over.
    pub rest: Option<fixed::Program>,
    /// The prediction for one sample.
    pub predict: fixed::Program,
    /// How the binary points of `full` were found, or of `predict`.
    pub numbers: NumberReport,
}

/// Refuse a binary point for a name that the program does not have.
///
/// # Errors
/// `E-CONFIG` with its place in the config.
pub fn check_fractions(project: &Project, program: &tensor::Program) -> Result<(), Failure> {
    let Some((_, source)) = &project.config_source else { return Ok(()) };
    let names = || {
        let tensors = program.tensors.iter().map(|tensor| tensor.name.as_str());
        program.names.iter().map(|(name, _)| name.as_str()).chain(tensors)
    };
    let unknown = project.config.numbers.fractions.keys().filter(|name| !names().any(|known| known == name.as_str()));
    let wrong = unknown.map(|name| {
        let span = value_span(&source.text, &["numbers", "fractions", name]).unwrap_or_default();
        let message = format!("the program has no `{name}`, whose binary point [numbers.fractions] gives");
        let diagnostic = Diagnostic::new(Code::Config, span, message);
        match nearest(name, names()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic.with_help("the report lists the names"),
        }
    });
    let wrong: Vec<Diagnostic> = wrong.collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::about(source, wrong)) }
}

/// Refuse tensors without elements, which words and streams do not have.
///
/// # Errors
/// There is one.
pub fn check_elements(project: &Project, program: &tensor::Program) -> Result<(), Failure> {
    let empty = program.tensors.iter().filter(|tensor| tensor.shape.contains(&0)).map(|tensor| {
        let message = format!("`{}` has the shape {:?}, so no elements", tensor.name, tensor.shape);
        let help = "only golden computes with nothing; leave this value out of the program";
        Diagnostic::new(Code::Backend, tensor.span, message).with_label("empty").with_help(help)
    });
    let empty: Vec<Diagnostic> = empty.collect();
    if empty.is_empty() { Ok(()) } else { Err(Failure::about(&project.source, empty)) }
}

fn lower(
    project: &Project,
    program: &tensor::Program,
    ranges: &NamedRanges,
    weights: &BTreeMap<String, i32>,
) -> Result<(fixed::Program, NumberReport), Failure> {
    let mut numbers = project.numbers();
    numbers.fractions.extend(weights.iter().map(|(name, &fraction)| (name.clone(), fraction)));
    let (program, report) = fixed::lower(program, &ranges_of(program, ranges), &numbers)
        .map_err(|diagnostics| Failure::about(&project.source, diagnostics))?;
    fixed::verify(&program);
    Ok((program, report))
}

impl Lowered {
    /// Choose the binary points. Weights have the same ones in all programs, because they pass from one to the other.
    ///
    /// # Errors
    /// What the numbers of the machine cannot hold.
    pub fn new(
        project: &Project,
        programs: &Programs,
        ranges: &NamedRanges,
        progress: &dyn Progress,
    ) -> Result<Lowered, Failure> {
        let (full, report) = lower(project, &programs.full, ranges, &BTreeMap::new())?;
        progress.warnings(&project.source, &report.notes);
        let weights = weights_of(&full);
        let rest = match &programs.rest {
            Some(program) => Some(lower(project, program, ranges, &weights)?.0),
            None => None,
        };
        let (predict, _) = lower(project, &programs.predict, ranges, &weights)?;
        Ok(Lowered { full: Some(full), rest, predict, numbers: report })
    }

    /// Bits after the binary point of the weights.
    pub fn fractions(&self) -> BTreeMap<String, i32> {
        weights_of(self.full.as_ref().unwrap_or(&self.predict))
    }

    /// The same for a prediction alone.
    ///
    /// # Errors
    /// What the numbers of the machine cannot hold.
    pub fn prediction(
        project: &Project,
        program: &tensor::Program,
        ranges: &NamedRanges,
        progress: &dyn Progress,
    ) -> Result<Lowered, Failure> {
        let (predict, numbers) = lower(project, program, ranges, &BTreeMap::new())?;
        progress.warnings(&project.source, &numbers.notes);
        Ok(Lowered { full: None, rest: None, predict, numbers })
    }
}

/// Weights and their binary points.
fn weights_of(program: &fixed::Program) -> BTreeMap<String, i32> {
    let state = program.tensors.iter().filter(|tensor| tensor.role == Role::State);
    state.map(|tensor| (tensor.name.clone(), tensor.fraction)).collect()
}

/// The images of a training, all for one machine.
pub struct Images {
    /// The grid: what the config says, with depths that hold all images where it says nothing.
    pub machine: Machine,
    /// One update per full batch; not for a prediction alone.
    pub full: Option<Compiled>,
    /// One update for what an epoch leaves over.
    pub rest: Option<Compiled>,
    /// The prediction for one sample.
    pub predict: Compiled,
}

impl Images {
    /// Compile all programs for one machine, which is fitted to them, and to how the samples of these `epochs` come to it; the batches of a training
    /// are divided over so many `machines`.
    ///
    /// # Errors
    /// The program does not fit (with the smallest machine that would do), or the machine cannot do it.
    pub fn compile(
        project: &Project,
        lowered: &Lowered,
        machines: Option<u32>,
        epochs: Option<Epochs>,
    ) -> Result<Images, Failure> {
        // A machine that hands out sums keeps some, also where nobody else has a part of the batch.
        let spec = project.spec();
        let ranks = project.config.build.ranks.unwrap_or(1);
        let hands_out = (spec.partial_sums == Some(true) && spec.gradient_depth != Some(0)).then_some(ranks);
        let divides = |program: &fixed::Program| shares::shares(program).is_ok();
        let machines =
            machines.or(project.divided).or(hands_out).filter(|_| lowered.full.as_ref().is_some_and(divides));
        let programs: Vec<&fixed::Program> =
            lowered.full.iter().chain(&lowered.rest).chain([&lowered.predict]).collect();
        let input = epochs.map(|epochs| move |image: &Image, machine: &Machine| epochs.input(project, image, machine));
        let input = input.as_ref().map(|input| input as Input<'_>);
        let request = FitRequest { machines, input, ..project.fit_request() };
        let Fitted { machine, compiled } = fitted(project, &programs, &request)?;
        let mut compiled = compiled.into_iter();
        let mut next = || compiled.next().expect("each program has its image");
        let full = lowered.full.as_ref().map(|_| next());
        let rest = lowered.rest.as_ref().map(|_| next());
        Ok(Images { machine, full, rest, predict: next() })
    }
}

/// Source line of a span; 0 where there is none.
pub fn line_of(project: &Project, span: Span) -> usize {
    if span == Span::default() { 0 } else { line_column(&project.source.text, span.start).0 }
}

/// The specification of a grid for a function. Its tables and accumulators stay those of the project, so that other functions run on it, too.
pub(crate) fn spec_of_function(project: &Project, program: &fixed::Program) -> MachineSpec {
    let mut spec = with_tables(&project.spec(), program);
    if let Ok(machine) = Machine::try_from(spec.clone()) {
        spec.table_entries = Some(machine.table_entries());
        spec.accumulator = Some(machine.accumulator());
    }
    spec
}

/// The image of a function.
///
/// # Errors
/// As [`Images::compile`].
pub fn of_function(project: &Project, program: &fixed::Program) -> Result<Compiled, Failure> {
    let request = FitRequest { spec: spec_of_function(project, program), ..project.fit_request() };
    let fitted = fitted(project, &[program], &request).map_err(|failure| match failure {
        Failure::DoesNotFit { source, mut diagnostics } if state_between_records(program).is_none() => {
            for diagnostic in &mut diagnostics {
                let help = diagnostic.help.take().map_or_else(String::new, |help| format!("{help}; "));
                diagnostic.help = Some(help + IN_SEGMENTS);
            }
            Failure::DoesNotFit { source, diagnostics }
        }
        other => other,
    });
    Ok(fitted?.compiled.remove(0))
}

/// What helps where a function is too large.
pub(crate) const IN_SEGMENTS: &str =
    "with `segments = \"auto\"` in [build], `build`, `eval`, `explain`, `prove` and `run` take it in segments";

fn fitted(project: &Project, programs: &[&fixed::Program], request: &FitRequest<'_>) -> Result<Fitted, Failure> {
    fit(programs, request).map_err(|unfit| refused(project, programs[unfit.program], unfit.refusal))
}

/// Whether a program fits the config's machine.
pub fn fits(project: &Project, program: &tensor::Program, ranges: &NamedRanges) -> bool {
    let lowered = lower(project, program, ranges, &BTreeMap::new());
    lowered.is_ok_and(|(program, _)| search::compile_fitted(&program, &project.spec()).is_ok())
}

/// What to tell the user when there is no image: if larger memories would do, which.
pub(crate) fn refused(project: &Project, program: &fixed::Program, refusal: Refusal) -> Failure {
    let source = project.source.clone();
    let Refusal::DoesNotFit { diagnostic, .. } = refusal else {
        return Failure::about(&source, vec![refusal.diagnostic().clone()]);
    };
    let open = MachineSpec {
        model_depth: None,
        data_depth: None,
        temporary_depth: None,
        program_depth: None,
        gradient_depth: None,
        ..with_tables(&project.spec(), program)
    };
    let mut diagnostic = *diagnostic;
    if let Ok(compiled) = search::compile_fitted(program, &open) {
        let machine = compiled.image.machine;
        diagnostic.help = Some(format!(
            "the smallest {} x {} grid that would do has model_depth = {}, data_depth = {}, temporary_depth = {}, \
             program_depth = {}; depths that the config leaves out follow from the program",
            machine.pus(),
            machine.pes_per_pu(),
            machine.model_depth(),
            machine.data_depth(),
            machine.temporary_depth(),
            machine.program_depth()
        ));
    }
    Failure::DoesNotFit { source, diagnostics: vec![diagnostic] }
}
