//! Programs to fixed-point programs to images for one machine.

use crate::config::{Config, value_span};
use crate::engines::{NamedRanges, Programs, ranges_of};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::project::Project;
use arch::amounts::Amounts;
use arch::diagnostic::line_column;
use arch::image::Image;
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Machine, Span};
use compiler::fixed::{self, NumberReport, Numbers, Role};
use compiler::image::{self, Refusal};
use compiler::language::nearest;
use compiler::search::{self, Compiled};
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

/// What the machine's numbers look like, and what the user decided about them.
pub fn numbers(config: &Config) -> Numbers {
    let mut numbers = Numbers::of_machine(&config.machine);
    numbers.fractions.clone_from(&config.numbers.fractions);
    numbers.headroom = config.numbers.headroom.unwrap_or(numbers.headroom);
    numbers
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

fn lower(
    project: &Project,
    program: &tensor::Program,
    ranges: &NamedRanges,
    weights: &BTreeMap<String, i32>,
) -> Result<(fixed::Program, NumberReport), Failure> {
    let mut numbers = numbers(&project.config);
    numbers.fractions.extend(weights.iter().map(|(name, &fraction)| (name.clone(), fraction)));
    fixed::lower(program, &ranges_of(program, ranges), &numbers)
        .map_err(|diagnostics| Failure::about(&project.source, diagnostics))
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
    /// Compile all programs for one machine.
    ///
    /// # Errors
    /// The program does not fit (with the smallest machine that would do), or the machine cannot do it.
    pub fn compile(project: &Project, lowered: &Lowered) -> Result<Images, Failure> {
        let narrow = Narrow::of(project, lowered);
        let programs = [narrow.full.as_ref(), narrow.rest.as_ref(), Some(&narrow.predict)];
        let mut common = project.config.spec.clone();
        common.accumulator = narrow.accumulator;
        if common.table_entries.is_none() {
            // Without functions the grid has no function units; with some, at least the smallest memory.
            let entries =
                |program: &fixed::Program| program.tables.iter().map(|table| table.entries.len()).sum::<usize>();
            let most = programs.into_iter().flatten().map(entries).max().unwrap_or(0) as u32;
            let divides = programs.into_iter().flatten().any(image::needs_divider);
            common.table_entries = Some(if most == 0 && !divides { 0 } else { most.max(64) });
        }
        for program in programs.into_iter().flatten() {
            let spec = MachineSpec { accumulator: narrow.accumulator, ..project.config.spec.clone() };
            let machine = fitted_to(project, program, &spec)?.image.machine;
            widen(&mut common, &project.config.spec, &machine);
        }
        let common = Machine::try_from(common).map_err(|error| {
            Failure::about(&project.source, vec![Diagnostic::global(Code::Backend, error.to_string())])
        })?;
        let line_of = |span: Span| line_of(project, span);
        let compile = |program: &fixed::Program| {
            search::compile(program, &common, &line_of).map_err(|refusal| refused(project, program, refusal))
        };
        let optional = |program: &Option<fixed::Program>| program.as_ref().map(compile).transpose();
        let (mut full, mut rest, mut predict) =
            (optional(&narrow.full)?, optional(&narrow.rest)?, compile(&narrow.predict)?);
        let all = full.iter_mut().chain(&mut rest).chain([&mut predict]);
        let machine = with_shifters(project, all.map(|compiled| &mut compiled.image).collect());
        Ok(Images { machine, full, rest, predict })
    }
}

/// The programs of a training for a board, with accumulators no wider than they need; as they are, where the config says how
/// wide they shall be, or names no board.
struct Narrow {
    full: Option<fixed::Program>,
    rest: Option<fixed::Program>,
    predict: fixed::Program,
    /// What the machine is to have.
    accumulator: Option<u32>,
}

impl Narrow {
    fn of(project: &Project, lowered: &Lowered) -> Narrow {
        let (mut full, mut rest, mut predict) = (lowered.full.clone(), lowered.rest.clone(), lowered.predict.clone());
        let mut accumulator = project.config.spec.accumulator;
        let mut programs: Vec<&mut fixed::Program> = full.iter_mut().chain(&mut rest).chain([&mut predict]).collect();
        if project.board.facts().is_some() || accumulator.is_some() {
            let needed = programs.iter().map(|program| program.narrowest_accumulator()).max();
            let width = accumulator.or(needed).unwrap_or_default();
            for program in &mut programs {
                program.accumulator = program.accumulator.min(width.max(program.narrowest_accumulator()));
            }
            accumulator = Some(width);
        }
        Narrow { full, rest, predict, accumulator }
    }
}

/// Give the machine of some images, which is the same for all, the shifters that they need: a machine for a board, where its config
/// does not list the amounts.
fn with_shifters(project: &Project, images: Vec<&mut Image>) -> Machine {
    let union = |amounts: fn(&Image) -> Option<Amounts>| {
        images.iter().filter_map(|image| amounts(image)).reduce(Amounts::or).unwrap_or(Amounts::NONE)
    };
    let machine = images[0].machine.clone();
    if project.board.facts().is_none() {
        return machine;
    }
    let given = &project.config.spec;
    let spec = MachineSpec {
        alignments: given.alignments.or(Some(union(Image::alignments))),
        shifts: given.shifts.or(Some(union(Image::shifts))),
        root_shifts: given.root_shifts.or(Some(union(Image::root_shifts))),
        ..MachineSpec::from(machine)
    };
    let machine = Machine::try_from(spec).expect("shifters make no machine impossible");
    for image in images {
        image.machine = machine.clone();
    }
    machine
}

/// Source line of a span; 0 where there is none.
pub fn line_of(project: &Project, span: Span) -> usize {
    if span == Span::default() { 0 } else { line_column(&project.source.text, span.start).0 }
}

/// Counts by source line, from counts by place.
pub fn by_line(project: &Project, counts: &[(Span, u64)]) -> BTreeMap<usize, u64> {
    let mut lines = BTreeMap::new();
    for &(span, count) in counts {
        *lines.entry(line_of(project, span)).or_insert(0) += count;
    }
    lines
}

/// Compile for the config's machine, with depths and shifters as needed where it says nothing.
///
/// # Errors
/// As [`Images::compile`].
pub fn fitted(project: &Project, program: &fixed::Program) -> Result<Compiled, Failure> {
    let mut compiled = fitted_to(project, program, &project.config.spec)?;
    with_shifters(project, vec![&mut compiled.image]);
    Ok(compiled)
}

fn fitted_to(project: &Project, program: &fixed::Program, spec: &MachineSpec) -> Result<Compiled, Failure> {
    // What does not follow from its config alone might not fit the board.
    let spec = MachineSpec { scalar: spec.scalar.or(project.board.facts().map(|_| false)), ..spec.clone() };
    search::compile_fitted(program, &spec, &|span| line_of(project, span))
        .map_err(|refusal| refused(project, program, refusal))
}

/// Whether a program fits the config's machine.
pub fn fits(project: &Project, program: &tensor::Program, ranges: &NamedRanges) -> bool {
    let lowered = lower(project, program, ranges, &BTreeMap::new());
    lowered.is_ok_and(|(program, _)| search::compile_fitted(&program, &project.config.spec, &|_| 0).is_ok())
}

/// Make the depths that the user left open large enough for `machine`.
fn widen(common: &mut MachineSpec, user: &MachineSpec, machine: &Machine) {
    let wider = |known: &mut Option<u32>, user: Option<u32>, needed: u32| {
        if user.is_none() {
            *known = Some(known.unwrap_or(0).max(needed));
        }
    };
    wider(&mut common.model_depth, user.model_depth, machine.model_depth());
    wider(&mut common.data_depth, user.data_depth, machine.data_depth());
    wider(&mut common.temporary_depth, user.temporary_depth, machine.temporary_depth());
    wider(&mut common.program_depth, user.program_depth, machine.program_depth());
    wider(&mut common.gradient_depth, user.gradient_depth, machine.gradient_depth());
    if user.divider.is_none() {
        common.divider = Some(common.divider.unwrap_or(false) || machine.divider());
    }
    if user.extremes.is_none() {
        common.extremes = Some(common.extremes.unwrap_or(false) || machine.extremes());
    }
    if user.scalar.is_none() {
        common.scalar = Some(common.scalar.unwrap_or(false) || machine.scalar());
    }
}

/// What to tell the user when there is no image: if larger memories would do, which.
fn refused(project: &Project, program: &fixed::Program, refusal: Refusal) -> Failure {
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
        ..project.config.spec.clone()
    };
    let mut diagnostic = *diagnostic;
    if let Ok(compiled) = search::compile_fitted(program, &open, &|_| 0) {
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
