//! The ladder: one program on every rung, each compared with the one above.
//!
//!     golden (f64)  ≈  fixed  =  array  =  rtl
//!
//! A [`Climb`] takes a program and the values of a few steps, decides all roundings from a golden run over them, and
//! compares every output word of every step and every weight word at the end. Elements that have no value in the golden
//! run are don't-cares. Grids are compared with each other cycle by cycle by [`crate::grid::Lockstep`].

pub use crate::NamedValues;

use crate::clipped::Clipped;
use crate::distance::{Accuracy, Pair};
use crate::driver::{Driver, Outcome, Run, Stuck, Words};
use crate::fixed::Fixed;
use crate::golden::Golden;
use crate::grid::{Grid, Stalls};
use crate::prove::{Proof, Verdict, prove};
use arch::image::Image;
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Machine};
use compiler::canonical::infinite::check_given;
use compiler::canonical::{Options, canonicalise_without};
use compiler::fixed::{self, NumberReport, Numbers};
use compiler::image::Refusal;
use compiler::optimisations::Disabled;
use compiler::ranges::{Ranges, is_beyond, within_words};
use compiler::rounding::{Rounding, is_of_words};
use compiler::search::{Compiled, compile_elsewhere, compile_fitted, compile_fitted_without};
use compiler::tensor::{self, Role, TensorId};
use std::collections::BTreeMap;

/// The values that stand for given ones where words are computed with: [`within_words`].
fn held(values: &NamedValues) -> NamedValues {
    let all = values.iter();
    all.map(|(name, values)| (name.clone(), values.iter().map(|&value| within_words(value)).collect())).collect()
}

/// Words of a tensor, and which of them have a value.
type Known = (Vec<i64>, Vec<bool>);

/// One program, compiled for one grid, with what the upper rungs say about a few steps.
#[derive(Debug, Clone)]
pub struct Climb {
    /// The fixed-point program, of one record.
    pub fixed: fixed::Program,
    /// What a step of the image computes: the same, or several records at once.
    pub step: fixed::Program,
    /// Records of a step.
    pub per_step: usize,
    /// The image and how it came about.
    pub compiled: Compiled,
    model: Words,
    steps: Vec<Words>,
    /// Per step, by tensor name, as `fixed` has them.
    expected: Vec<BTreeMap<String, Known>>,
    expected_model: BTreeMap<String, Known>,
    /// Largest distance of `fixed` from golden over all outputs, in last places of the output.
    pub distance: f64,
    /// What `fixed` clipped to the word; its steps are the given ones.
    pub clipped: Vec<Clipped>,
}

/// The first word that differs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {step}: {tensor}[{element}] is {found}, fixed says {expected}")]
pub struct Difference {
    /// Number of the step; the number of steps means the weights at the end.
    pub step: usize,
    /// Name of the tensor.
    pub tensor: String,
    /// Row-major element.
    pub element: usize,
    /// The word of the upper rung.
    pub expected: i64,
    /// The word of the grid.
    pub found: i64,
}

/// What a rung showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agreement {
    /// Words compared.
    pub words: u64,
    /// Cycles of the run.
    pub cycles: u64,
}

/// Why a rung could not be climbed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fall {
    /// The grid did not do what docs/machine.md says.
    #[error(transparent)]
    Stuck(#[from] Stuck),
    /// A word differs.
    #[error(transparent)]
    Differs(#[from] Difference),
}

/// The upper rungs: a program on real numbers and in fixed point, with the values of a few steps. No machine is known yet.
#[derive(Debug, Clone)]
pub struct Upper {
    /// As the front end gives it.
    source: tensor::Program,
    /// What of it is wanted.
    options: Options,
    /// In canonical form.
    pub program: tensor::Program,
    /// What values its tensors took.
    pub ranges: Ranges,
    /// In fixed point.
    pub fixed: fixed::Program,
    /// How its binary points were found.
    pub numbers: NumberReport,
    /// What was given about them.
    given: Numbers,
    model: NamedValues,
    steps: Vec<NamedValues>,
    /// Per step, by tensor name, as golden has them where steps may change them; what has no value is `None`.
    reals: Vec<BTreeMap<String, Vec<Option<f64>>>>,
}

impl Upper {
    /// Run `program` on `steps`, from the weights `model`, and choose its binary points.
    ///
    /// # Errors
    /// What the program or its values do not allow.
    pub fn new(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        steps: &[NamedValues],
        numbers: &Numbers,
    ) -> Result<Upper, Vec<Diagnostic>> {
        Upper::calibrated(program, options, model, (steps, None), numbers)
    }

    /// The same where the binary points are chosen from a calibration, if there is one, in place of the steps.
    ///
    /// # Errors
    /// As [`Upper::new`].
    pub fn calibrated(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        (steps, calibration): (&[NamedValues], Option<&[NamedValues]>),
        numbers: &Numbers,
    ) -> Result<Upper, Vec<Diagnostic>> {
        let source = program.clone();
        let given = steps.iter().chain(calibration.into_iter().flatten()).chain([model]);
        let program = check_given(program, given.flat_map(BTreeMap::values).flatten().copied())?;
        let program = canonicalise_without(&program, options, numbers.disabled)?;
        tensor::verify(&program);
        let mut golden = Golden::new(&program);
        let find = |name: &str| program.tensors.iter().position(|t| t.name == name).map(TensorId);
        let set = |golden: &mut Golden, values: &NamedValues| {
            for (name, values) in values {
                if let Some(tensor) = find(name) {
                    golden.set(tensor, values);
                }
            }
        };
        set(&mut golden, &held(model));
        let mut seen = golden.clone();
        let mut reals = Vec::new();
        let (with_channels, mut channels) = (fixed::with_channels(&program), Ranges::default());
        let mut see = |golden: &Golden| {
            for &tensor in &with_channels {
                if let Some(values) = golden.values(tensor) {
                    channels.include_elements(tensor.0, values);
                }
            }
        };
        for step in steps {
            set(&mut golden, &held(step));
            golden.step().map_err(|diagnostic| vec![*diagnostic])?;
            reals.push(snapshot(&golden, &program));
            calibration.is_none().then(|| see(&golden));
        }
        for step in calibration.into_iter().flatten() {
            set(&mut seen, &held(step));
            seen.step().map_err(|diagnostic| vec![*diagnostic])?;
            see(&seen);
        }
        let given = numbers.clone();
        let mut ranges = if calibration.is_some() { seen.ranges() } else { golden.ranges() }.clone();
        ranges.elements = channels.elements;
        for (name, values) in calibration.unwrap_or(steps).iter().flatten() {
            if let Some(tensor) = find(name).filter(|tensor| program.tensors[tensor.0].role == Role::Input) {
                ranges.include_elements(tensor.0, values);
            }
        }
        let (fixed, numbers) = fixed::lower(&program, &ranges, numbers)?;
        fixed::verify(&fixed);
        let options = options.clone();
        Ok(Upper {
            source,
            options,
            program,
            ranges,
            fixed,
            numbers,
            given,
            model: model.clone(),
            steps: steps.to_vec(),
            reals,
        })
    }

    /// What golden has for a tensor that is computed, in each step; `None` where an element has no value. Nothing for what no step changes.
    pub fn computed(&self, name: &str) -> Option<Vec<&[Option<f64>]>> {
        self.reals.iter().map(|step| step.get(name).map(Vec::as_slice)).collect()
    }

    /// The program on both rungs.
    pub fn pair(&self) -> Pair<'_> {
        let Upper { source, options, program, fixed, numbers, .. } = self;
        Pair { source, options, program, lowered: fixed, numbers }
    }

    /// How far fixed point is from golden over the steps.
    ///
    /// # Errors
    /// What only the values show, as golden says it.
    pub fn accuracy(&self) -> Result<Accuracy, Box<Diagnostic>> {
        self.pair().accuracy(&self.model, &self.steps, &|word| self.lowered(word))
    }

    /// The same in words of another width, if it has room in them.
    pub fn in_words(&self, word: u32) -> Option<fixed::Program> {
        self.lowered(word).map(|(fixed, _)| fixed)
    }

    /// The words of all tensors, by number, that each step is given and those that it leaves; and what was clipped. What is not given is 0.
    pub fn words(&self) -> (Vec<[Words; 2]>, Vec<Clipped>) {
        let mut fixed = Fixed::new(&self.fixed);
        give(&mut fixed, &self.model);
        let all = |fixed: &Fixed, is_given: bool| -> Words {
            let words = |(id, tensor): (usize, &fixed::Tensor)| {
                let words = fixed.words(TensorId(id));
                let computed = matches!(tensor.role, fixed::Role::Temporary | fixed::Role::Output);
                if computed && is_given { vec![0; words.len()] } else { words }
            };
            self.fixed.tensors.iter().enumerate().map(words).collect()
        };
        let step = |step: &NamedValues| {
            give(&mut fixed, step);
            let given = all(&fixed, true);
            fixed.step();
            [given, all(&fixed, false)]
        };
        let steps = self.steps.iter().map(step).collect();
        (steps, fixed.clipped())
    }

    fn lowered(&self, word: u32) -> Option<(fixed::Program, NumberReport)> {
        fixed::lower(&self.program, &self.ranges, &self.given.of_word(word)).ok()
    }
}

impl Climb {
    /// Compile `program` and run the upper rungs on `steps`, from the weights `model`.
    ///
    /// # Errors
    /// What the program, its values or the machine do not allow.
    pub fn new(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        steps: &[NamedValues],
        spec: &MachineSpec,
    ) -> Result<Climb, Vec<Diagnostic>> {
        Climb::new_without(program, options, model, steps, spec, Disabled::NOTHING)
    }

    /// The same with fewer means.
    ///
    /// # Errors
    /// As [`Climb::new`].
    pub fn new_without(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        steps: &[NamedValues],
        spec: &MachineSpec,
        disabled: Disabled,
    ) -> Result<Climb, Vec<Diagnostic>> {
        Climb::with(program, options, model, steps, spec, (disabled, Rounding::default()))
    }

    /// The same with updates that are rounded like this, of a program with the states for it.
    ///
    /// # Errors
    /// As [`Climb::new`].
    pub fn new_rounded(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        steps: &[NamedValues],
        spec: &MachineSpec,
        rounding: Rounding,
    ) -> Result<Climb, Vec<Diagnostic>> {
        Climb::with(program, options, model, steps, spec, (Disabled::NOTHING, rounding))
    }

    fn with(
        program: &tensor::Program,
        options: &Options,
        model: &NamedValues,
        steps: &[NamedValues],
        spec: &MachineSpec,
        (disabled, rounding): (Disabled, Rounding),
    ) -> Result<Climb, Vec<Diagnostic>> {
        let machine = Machine::try_from(spec.clone())
            .map_err(|error| vec![Diagnostic::global(Code::Config, error.to_string())])?;
        let squares = spec.squares.unwrap_or(true);
        // As for a machine without a board.
        let tables = if spec.table_entries.is_some() { 0 } else { 2 * machine.table_entries() };
        let numbers = Numbers {
            squares,
            disabled,
            rounding,
            most_table_entries: tables,
            spares_steps: true,
            ..Numbers::of_machine(&machine)
        };
        let upper = Upper::new(program, options, model, steps, &numbers)?;
        let compiled = compile_fitted_without(&upper.fixed, spec, disabled);
        let compiled = compiled.map_err(|refusal| vec![refusal.diagnostic().clone()])?;
        Ok(Climb::of(upper, compiled))
    }

    /// The same with another placement; `None` if that does not fit the machine.
    ///
    /// # Panics
    /// When the streams carry other tensors then.
    pub fn elsewhere(&self, number: usize) -> Option<Climb> {
        let compiled = compile_elsewhere(&self.step, &self.image().machine, number).ok()?;
        assert_eq!(compiled.image.tensors, self.image().tensors, "streams carry the same wherever it is computed");
        Some(Climb { compiled, ..self.clone() })
    }

    /// The same with so many records per step.
    ///
    /// # Errors
    /// As the machine refuses it.
    ///
    /// # Panics
    /// When records leave a state.
    pub fn together(&self, records: u32, spec: &MachineSpec) -> Result<Climb, Refusal> {
        let step = fixed::of_records(&self.fixed, records);
        let compiled = compile_fitted(&step, spec)?;
        let names = |image: &Image| image.tensors.iter().map(|tensor| tensor.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            names(&compiled.image),
            names(self.image()),
            "streams carry the same however many records a step has"
        );
        Ok(Climb { step, per_step: records as usize, compiled, ..self.clone() })
    }

    /// Run `fixed` beside what golden gave; `compiled` is its image.
    pub fn of(upper: Upper, compiled: Compiled) -> Climb {
        let step = upper.fixed.clone();
        Climb::of_records(upper, (step, 1), compiled)
    }

    /// The same where `compiled` is the image of a step of so many records.
    pub fn of_records(upper: Upper, (step, per_step): (fixed::Program, usize), compiled: Compiled) -> Climb {
        let Upper { fixed: lowered, model, steps, reals, .. } = upper;
        let mut fixed = Fixed::new(&lowered);
        let image = &compiled.image;
        let set = |fixed: &mut Fixed, values: &NamedValues| -> Words {
            give(fixed, values);
            words_of(fixed, image)
        };
        let start = set(&mut fixed, &model);
        let (mut packed, mut expected) = (Vec::new(), Vec::new());
        let mut distance: f64 = 0.0;
        let mut last = BTreeMap::new();
        for (step, reals) in steps.iter().zip(&reals) {
            packed.push(set(&mut fixed, step));
            fixed.step();
            let mut now = BTreeMap::new();
            for tensor in &image.tensors {
                let id = fixed.tensor(&tensor.name).expect("streams carry tensors of the program");
                let words = fixed.words(id);
                let Some(real) = reals.get(&tensor.name) else {
                    if matches!(lowered.tensors[id.0].role, fixed::Role::State | fixed::Role::Parameter(_)) {
                        let defined = vec![true; words.len()];
                        now.insert(tensor.name.clone(), (words, defined));
                    }
                    continue;
                };
                for (&word, real) in words.iter().zip(real) {
                    if let Some(real) = real.filter(|&real| !is_beyond(real) && !is_of_words(&tensor.name)) {
                        distance = distance.max((word as f64 - libm::ldexp(real, tensor.fraction)).abs());
                    }
                }
                now.insert(tensor.name.clone(), (words, real.iter().map(Option::is_some).collect()));
            }
            last.clone_from(&now);
            expected.push(now);
        }
        Climb {
            model: start,
            steps: packed,
            expected,
            expected_model: last,
            distance,
            clipped: fixed.clipped(),
            fixed: lowered,
            step,
            per_step,
            compiled,
        }
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.compiled.image
    }

    /// How many steps are given: the records of a function.
    pub fn records(&self) -> usize {
        self.steps.len()
    }

    /// A run of the first steps, of one record each.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn first_steps(&self, count: usize) -> Run<'_> {
        Run { load_model: Some(&self.model), steps: &self.steps[..count], emit_model: false }
    }

    /// Bits after the binary point and words, after the last step as `fixed` has them, of a name of the program.
    pub fn words(&self, name: &str) -> Option<(i32, Vec<i64>)> {
        let (_, id) = self.fixed.names.iter().find(|(known, _)| known == name)?;
        let tensor = &self.fixed.tensors[id.0];
        let last = self.expected.last()?;
        let (words, _) = last.get(&tensor.name).or_else(|| self.expected_model.get(&tensor.name))?;
        Some((tensor.fraction, words.clone()))
    }

    /// Run all steps on a grid of the image's machine and compare every word.
    ///
    /// # Errors
    /// The first word that differs, or a grid that is stuck.
    pub fn run<G: Grid>(&self, grid: G, stalls: Stalls) -> Result<Agreement, Fall> {
        let image = self.image();
        let mut driver = Driver::new(grid, image.clone(), stalls);
        let steps = self.packed(self.steps.len());
        let outcome = driver.run(Run { load_model: Some(&self.model), steps: &steps, emit_model: true })?;
        let outcome = self.by_record(outcome, self.steps.len());
        let mut agreement = Agreement { words: 0, cycles: outcome.cycles };
        for (number, (found, expected)) in outcome.steps.iter().zip(&self.expected).enumerate() {
            agreement.words += compare(image, number, found, expected)?;
        }
        agreement.words += compare(image, self.steps.len(), &outcome.model, &self.expected_model)?;
        Ok(agreement)
    }
}

impl Climb {
    /// Run so many records, the given ones over and over, and what they give, record by record. Where records leave a state, each one runs
    /// once at most.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn stream<G: Grid>(&self, grid: G, count: usize, stalls: Stalls) -> Result<Outcome, Stuck> {
        let count = if self.keeps_state() { count.min(self.steps.len()) } else { count };
        let (steps, image) = (self.packed(count), self.image());
        // Constants are loaded with the model.
        let load_model = image.entries.load_model.is_some().then_some(&self.model);
        let outcome =
            Driver::new(grid, image.clone(), stalls).run(Run { load_model, steps: &steps, emit_model: false })?;
        Ok(self.by_record(outcome, count))
    }

    /// Words of the steps that so many records take, the given ones over and over; records that follow fill the last step.
    fn packed(&self, count: usize) -> Vec<Words> {
        let records: Vec<&Words> = self.steps.iter().cycle().take(count.next_multiple_of(self.per_step)).collect();
        let words = |records: &[&Words], tensor: usize| -> Vec<i64> {
            let own = if self.belongs_to_record(tensor) { records } else { &records[..1] };
            own.iter().flat_map(|record| &record[tensor]).copied().collect()
        };
        let step = |records: &[&Words]| (0..self.image().tensors.len()).map(|tensor| words(records, tensor)).collect();
        records.chunks(self.per_step).map(step).collect()
    }

    /// What so many records gave, each on its own.
    fn by_record(&self, outcome: Outcome, count: usize) -> Outcome {
        if self.per_step == 1 {
            return outcome;
        }
        let words = |step: &Words, tensor: usize, record: usize| {
            let words = &step[tensor];
            if !self.belongs_to_record(tensor) {
                return words.clone();
            }
            let each = words.len() / self.per_step;
            words[record * each..(record + 1) * each].to_vec()
        };
        let tensors = self.image().tensors.len();
        let record = |n: usize| {
            let step = &outcome.steps[n / self.per_step];
            (0..tensors).map(|tensor| words(step, tensor, n % self.per_step)).collect()
        };
        Outcome { steps: (0..count).map(record).collect(), ..outcome }
    }

    /// Whether a tensor of the image has other words for each record of a step.
    fn belongs_to_record(&self, tensor: usize) -> bool {
        let streamed = &self.image().tensors[tensor];
        let elements = |shape: &[u32]| shape.iter().map(|&extent| extent as usize).product::<usize>();
        let of_one = self.fixed.tensors.iter().find(|tensor| tensor.name == streamed.name);
        of_one.is_some_and(|one| elements(&one.shape) != elements(&streamed.shape))
    }

    /// Whether a step changes what the next one finds.
    fn keeps_state(&self) -> bool {
        fixed::state_between_records(&self.fixed).is_some()
    }

    /// Words of such a run that were compared with `fixed`, all equal.
    ///
    /// # Errors
    /// The first word that differs.
    pub fn compare_stream(&self, outcome: &Outcome) -> Result<u64, Difference> {
        let steps = outcome.steps.iter().zip(self.expected.iter().cycle()).enumerate();
        steps.map(|(number, (found, expected))| compare(self.image(), number, found, expected)).sum()
    }

    /// The image for all inputs and weights: over two batches, which use both banks.
    ///
    /// # Errors
    /// What is not proven, in words.
    pub fn prove(&self) -> Result<Proof, String> {
        match prove(&self.step, self.image(), "", 2, &mut |_, _| true) {
            Verdict::Proven(proof) => Ok(proof),
            other => Err(other.to_string()),
        }
    }

    /// Begin the run on an idle grid, feed it for so many cycles, and stop: what a host does that is interrupted. Input comes as the
    /// grid takes it, output is taken in every other cycle.
    ///
    /// # Panics
    /// When an instruction does not fit its machine: the compiler has checked that.
    pub fn abandon<G: Grid>(&self, grid: G, cycles: u64) {
        let driver = Driver::new(grid, self.image().clone(), Stalls::none());
        let steps = self.packed(self.steps.len());
        driver.abandon(Run { load_model: Some(&self.model), steps: &steps, emit_model: true }, cycles);
    }
}

/// What golden has for the tensors that a step may change.
fn snapshot(golden: &Golden, program: &tensor::Program) -> BTreeMap<String, Vec<Option<f64>>> {
    let is_updated = |id| program.updates.iter().any(|update| update.state == id);
    let changes = |id, role: &Role| match role {
        Role::Input | Role::Label | Role::Parameter(_) => false,
        Role::State => is_updated(id),
        _ => true,
    };
    let tensors = program.tensors.iter().enumerate().map(|(id, tensor)| (TensorId(id), tensor));
    let changing = tensors.filter(|(id, tensor)| changes(*id, &tensor.role));
    changing.map(|(id, tensor)| (tensor.name.clone(), golden.value(id).collect())).collect()
}

/// Give a program what it has of these values.
fn give(fixed: &mut Fixed, values: &NamedValues) {
    for (name, values) in values {
        if let Some(tensor) = fixed.tensor(name) {
            fixed.set_real(tensor, values);
        }
    }
}

/// The words of every stream tensor.
fn words_of(fixed: &Fixed, image: &Image) -> Words {
    let words = |name: &str| fixed.tensor(name).map(|tensor| fixed.words(tensor)).unwrap_or_default();
    image.tensors.iter().map(|tensor| words(&tensor.name)).collect()
}

fn compare(image: &Image, step: usize, found: &Words, expected: &BTreeMap<String, Known>) -> Result<u64, Difference> {
    let mut compared = 0;
    for (tensor, found) in image.tensors.iter().zip(found) {
        let Some((words, defined)) = expected.get(&tensor.name) else { continue };
        let elements = words.iter().zip(defined).zip(found).enumerate();
        for (element, ((&expected, _), &found)) in elements.filter(|(_, ((_, defined), _))| **defined) {
            if expected != found {
                return Err(Difference { step, tensor: tensor.name.clone(), element, expected, found });
            }
            compared += 1;
        }
    }
    Ok(compared)
}
