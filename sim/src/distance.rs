//! How far fixed point is from golden, and who lost it.
//!
//! ```text
//! source ──▶ golden (f64), as it is ─────────────────────────── distance ──▶ results of fixed
//!    └──canonicalise──▶ the same on real numbers ── who is far first? ──▶ tensors of fixed
//! ```
//!
//! The distance is measured from golden as it is: nothing is rounded to fit a word. Where a result is further away than [`FAR`] of its largest
//! value, or a row changes its class, the first tensor in the order of the program that is far from canonical form on real numbers is named,
//! and wider words are tried. All steps of a run count.

mod classes;
mod training;
mod verdict;

pub use training::Trainings;
pub use verdict::{Verdict, WIDEST};

use classes::{Classes, Flips};

use crate::eval::Elements;
use crate::fixed::Fixed;
use crate::golden::Golden;
use crate::ladder::NamedValues;
use arch::number::{to_f64, word_max, word_min};
use arch::{Code, Diagnostic};
use compiler::canonical::Options;
use compiler::fixed::{self, Kind, NumberReport, Operand, Operation, Role};
use compiler::ranges::{is_beyond, within_words};
use compiler::tensor::{self, Program, TensorId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A distance from golden.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// Largest absolute error.
    pub absolute: f64,
    /// Its share of the largest value, of several results the largest share; 0 if all values are 0.
    pub relative: f64,
}

impl Distance {
    /// The larger one of each: a small result is not lost beside a large one.
    fn and(self, other: Distance) -> Distance {
        Distance { absolute: self.absolute.max(other.absolute), relative: self.relative.max(other.relative) }
    }
}

/// Largest error and largest value so far.
#[derive(Debug, Clone, Copy, Default)]
struct Extremes {
    error: f64,
    value: f64,
}

impl Extremes {
    /// Look at values beside golden's. What golden does not define, or is infinite or no number there, is left out.
    fn include(&mut self, found: &[Option<f64>], golden: &[Option<f64>]) {
        for (found, golden) in found.iter().zip(golden) {
            if let (Some(found), Some(golden)) = (found, golden.filter(|golden| golden.is_finite())) {
                self.error = self.error.max((found - golden).abs());
                self.value = self.value.max(golden.abs());
            }
        }
    }

    fn is_far(self) -> bool {
        self.error > FAR * self.value
    }

    /// Share of the largest value; without values to compare with, any error is all of it.
    fn share(self) -> f64 {
        match (self.value > 0.0, self.error > 0.0) {
            (true, _) => self.error / self.value,
            (false, error) => f64::from(u8::from(error)),
        }
    }

    fn distance(self) -> Distance {
        let Extremes { error, value } = self;
        Distance { absolute: error, relative: if value > 0.0 { error / value } else { 0.0 } }
    }
}

/// Distance of values from golden's. What golden does not define, or is no number there, is left out.
pub fn distance<'a>(pairs: impl IntoIterator<Item = (&'a [Option<f64>], &'a [Option<f64>])>) -> Distance {
    let mut extremes = Extremes::default();
    for (found, golden) in pairs {
        extremes.include(found, golden);
    }
    extremes.distance()
}

/// How far a run in fixed point is from the same run on golden.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Accuracy {
    /// Of the results: named values, and states that are updated.
    pub distance: Distance,
    /// Whether the words suffice.
    pub verdict: Verdict,
    /// W-ACCURACY: they do not, and this tensor was the first to lose too much.
    pub lost_bits: Option<Diagnostic>,
    /// W-NUMBER: results that no word holds (no numbers, infinities, numbers beyond all words), and their first value.
    pub beyond: Vec<Diagnostic>,
}

impl Accuracy {
    /// Add what wider words were seen to do: `bits` suffice, or no width does.
    pub fn need(&mut self, bits: Option<u32>) {
        self.verdict.bits_needed = bits;
        let Some(lost) = &mut self.lost_bits else { return };
        lost.message += &self.verdict.needed();
        let wider = bits.map(|bits| format!("use words of {bits} bits (`word = {bits}` in the `[machine]` table)"));
        lost.help = match (wider, lost.help.take()) {
            (Some(wider), Some(own)) => Some(format!("{wider}; or {own}")),
            (None, None) => Some(format!("scale the inputs: words of {WIDEST} bits do not suffice either")),
            (one, other) => one.or(other),
        };
    }

    /// Add classes that the caller reads out of the results: so many rows, of which so many have another class than on golden.
    pub fn flipped(&mut self, rows: u64, flips: u64) {
        (self.verdict.rows, self.verdict.flips) = (rows, Some(flips));
        if flips > 0 && self.verdict.suffices {
            self.verdict.suffices = false;
            self.lost_bits = Some(Diagnostic::global(Code::WarnAccuracy, self.verdict.to_string()));
        }
    }

    /// What is told of it.
    pub fn warnings(&self) -> impl Iterator<Item = Diagnostic> {
        self.lost_bits.iter().chain(&self.beyond).cloned()
    }
}

/// Which part of the largest value of a result is worth a warning.
pub const FAR: f64 = 0.01;

/// A sum that starts so many times larger than it ends has lost six bits to an offset.
const OFFSET: f64 = 64.0;

/// A program on real numbers, and the same in fixed point.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The program as the front end gives it.
    pub source: &'a Program,
    /// What of it is wanted.
    pub options: &'a Options,
    /// The same in canonical form.
    pub program: &'a Program,
    /// The same in fixed point.
    pub lowered: &'a fixed::Program,
    /// How its binary points were found.
    pub numbers: &'a NumberReport,
}

/// A tensor here (in the program) and there (in fixed point).
type Place = (TensorId, TensorId);

/// The same program in words of another width, if it has room in them.
pub type InWords<'a> = &'a dyn Fn(u32) -> Option<(fixed::Program, NumberReport)>;

impl Pair<'_> {
    /// Run both over some steps, from the weights `start`. Values go to the tensors of their names; other names are left alone. Where the
    /// words do not suffice, those that `wider` gives are tried.
    ///
    /// # Errors
    /// What only the values show, as golden says it.
    #[expect(clippy::needless_pass_by_value, reason = "steps are references or cheap iterators")]
    pub fn accuracy<'v, Steps>(
        &self,
        start: &NamedValues,
        steps: Steps,
        wider: InWords<'_>,
    ) -> Result<Accuracy, Box<Diagnostic>>
    where
        Steps: IntoIterator<Item = &'v NamedValues> + Clone,
    {
        let mut found = self.compared(start, steps.clone())?;
        // Wider words are no nearer to infinity.
        if !found.verdict.suffices && found.verdict.beyond == 0 {
            found.need(self.bits_needed(start, &steps, wider));
        }
        Ok(found)
    }

    /// The narrowest wider word that suffices, if one does: more bits are never worse.
    fn bits_needed<'v, Steps>(&self, start: &NamedValues, steps: &Steps, wider: InWords<'_>) -> Option<u32>
    where
        Steps: IntoIterator<Item = &'v NamedValues> + Clone,
    {
        let suffices = |word: u32| {
            let Some((lowered, numbers)) = wider(word) else { return false };
            let pair = Pair { lowered: &lowered, numbers: &numbers, ..*self };
            pair.compared(start, steps.clone()).is_ok_and(|found| found.verdict.suffices)
        };
        let narrow = self.lowered.word;
        narrowest(narrow, suffices)
    }

    fn compared<'v>(
        &self,
        start: &NamedValues,
        steps: impl IntoIterator<Item = &'v NamedValues>,
    ) -> Result<Accuracy, Box<Diagnostic>> {
        let results = self.results();
        let suspects = self.suspects();
        let mut run = Run::new(self, &results);
        run.set(start);
        let mut rows = 0;
        for step in steps {
            run.set(step);
            run.step(&suspects, &results)?;
            rows += self.rows_of_step();
        }
        let distance = run.all.iter().map(|result| result.distance()).fold(Distance::default(), Distance::and);
        let error = run.results.iter().map(|result| result.share()).fold(0.0, f64::max);
        let class = run.flips.iter().filter(|flips| flips.rows > 0).max_by_key(|flips| (flips.flips, flips.rows));
        let far = results.iter().zip(&run.results).find(|(_, result)| result.is_far());
        let flipped = results.iter().zip(&run.flips).find(|(_, flips)| flips.flips > 0);
        let culprit = far.map(|(&(_, there), result)| {
            let suspect = suspects.iter().find(|(_, suspect)| run.found[suspect.0].is_far());
            suspect.map_or((there, *result), |&(_, there)| (there, run.found[there.0]))
        });
        let culprit = culprit.or_else(|| {
            flipped.map(|(&(_, there), _)| {
                let worst = suspects.iter().max_by(|(_, a), (_, b)| {
                    run.found[a.0].share().total_cmp(&run.found[b.0].share()).then(b.0.cmp(&a.0))
                });
                worst.map_or((there, Extremes::default()), |&(_, there)| (there, run.found[there.0]))
            })
        });
        let verdict = Verdict {
            bits: self.lowered.word,
            suffices: culprit.is_none() && run.beyond.is_empty(),
            beyond: run.beyond.len() as u64,
            error,
            rows: class.map_or(rows, |class| class.rows),
            flips: class.map(|class| class.flips),
            lost_by: culprit.map(|(there, _)| self.source_name(there).to_owned()),
            bits_needed: None,
        };
        let lost_bits = culprit.map(|(there, lost)| self.warning(there, lost.error, &verdict, &run));
        Ok(Accuracy { distance, verdict, lost_bits, beyond: run.beyond.into_values().collect() })
    }

    /// The name that the program has for a tensor of fixed point.
    fn source_name(&self, there: TensorId) -> &str {
        let name = &self.lowered.tensors[there.0].name;
        name.split('.').next().unwrap_or(name)
    }

    /// Rows that a step computes: the first dimension of what is given, where there are tables.
    fn rows_of_step(&self) -> u64 {
        let given = self
            .source
            .tensors
            .iter()
            .filter(|tensor| matches!(tensor.role, tensor::Role::Input | tensor::Role::InOut));
        given.filter(|tensor| tensor.shape.len() > 1).map(|tensor| u64::from(tensor.shape[0])).max().unwrap_or(1)
    }

    /// Named values, and states that are updated: in the source, and in fixed point.
    fn results(&self) -> Vec<Place> {
        let of_source = |name: &String| self.source.names.iter().rev().find(|(known, _)| known == name);
        let named = self.lowered.names.iter().filter_map(|(name, there)| Some((of_source(name)?.1, *there)));
        let states = self.program.updates.iter().map(|update| &self.program.tensors[update.state.0].name);
        let states = states.filter_map(|name| {
            let here = self.source.tensors.iter().position(|tensor| tensor.name == *name)?;
            let there = self.lowered.tensors.iter().position(|tensor| tensor.name == *name)?;
            Some((TensorId(here), TensorId(there)))
        });
        named.chain(states).collect()
    }

    /// What can lose bits, in the order of the program: what is given, then what is computed.
    fn suspects(&self) -> Vec<Place> {
        let given = (0..self.lowered.tensors.len()).map(TensorId);
        let given = given.filter(|id| matches!(self.lowered.tensors[id.0].role, Role::Input | Role::State));
        let computed = self.lowered.operations.iter().map(|operation| operation.out);
        given.chain(computed).filter_map(|there| Some((self.here(there)?, there))).collect()
    }

    fn here(&self, there: TensorId) -> Option<TensorId> {
        let name = &self.lowered.tensors[there.0].name;
        self.program.tensors.iter().position(|tensor| tensor.name == *name).map(TensorId)
    }

    fn warning(&self, there: TensorId, error: f64, verdict: &Verdict, run: &Run<'_>) -> Diagnostic {
        let tensor = &self.lowered.tensors[there.0];
        let decided = self.numbers.tensors.iter().find(|numbers| numbers.name == tensor.name);
        let decided = decided.map_or("its range", |numbers| numbers.decided.as_str());
        let message = format!(
            "`{}` loses too many of its {} bits: it is up to {error:.3e} from the golden model; {verdict}",
            self.source_name(there),
            self.lowered.word
        );
        let warning = Diagnostic::new(Code::WarnAccuracy, tensor.span, message)
            .with_label(format!("{} bits after the binary point, decided by: {decided}", tensor.fraction));
        if self.is_clipped(there, self.here(there).and_then(|here| run.canonical.ranges().tensors[here.0])) {
            let help = "its values are larger than those its binary point was chosen for: leave it more room (`headroom` in the `[numbers]` table)";
            warning.with_help(help)
        } else if self.is_looked_up(there) {
            warning.with_help("give the function tables more room (`table_entries` in the `[machine]` table)")
        } else if decided == "given" {
            warning.with_help("leave out its binary point in `[numbers.fractions]`, or give it more bits")
        } else if let Some(offset) = self.offset(there, run) {
            let help = format!("subtract an offset where the values come from: this sum starts at {offset:.3e}");
            warning.with_help(help)
        } else {
            warning
        }
    }

    /// The largest value that the sum of a tensor starts from, if its bits are those that the sum lacks.
    fn offset(&self, there: TensorId, run: &Run<'_>) -> Option<f64> {
        let (low, high) = run.canonical.ranges().tensors[self.here(there)?.0]?;
        let size = |operand: &Operand| match *operand {
            Operand::Constant { word, fraction } => to_f64(word, fraction).abs(),
            Operand::Read { tensor, .. } => {
                run.fixed.values(tensor).into_iter().fold(0.0, |most, one| one.abs().max(most))
            }
        };
        let start = |operation: &Operation| match &operation.kind {
            Kind::MultiplyAdd { start: Some(start), .. } if operation.out == there => Some(size(start)),
            _ => None,
        };
        let start = self.lowered.operations.iter().filter_map(start).fold(0.0, f64::max);
        (start > OFFSET * low.abs().max(high.abs())).then_some(start)
    }

    /// Whether a tensor is looked up in a function table, or refined from what is.
    fn is_looked_up(&self, there: TensorId) -> bool {
        let name = &self.lowered.tensors[there.0].name;
        let is_part = |out: TensorId| {
            let rest = self.lowered.tensors[out.0].name.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut operations = self.lowered.operations.iter();
        operations.any(|operation| matches!(operation.kind, Kind::Function { .. }) && is_part(operation.out))
    }

    /// Whether a tensor takes values that its words cannot hold.
    fn is_clipped(&self, there: TensorId, taken: Option<(f64, f64)>) -> bool {
        let (word, fraction) = (self.lowered.word, self.lowered.tensors[there.0].fraction);
        let unit = libm::ldexp(1.0, -fraction);
        let [lowest, highest] = [word_min(word), word_max(word)].map(|word| to_f64(word as i64, fraction));
        taken.is_some_and(|(low, high)| low < lowest - unit || high > highest + unit)
    }
}

/// The narrowest of the widths above `narrow` that suffice, if the widest does.
pub fn narrowest(narrow: u32, suffices: impl Fn(u32) -> bool) -> Option<u32> {
    if narrow >= WIDEST || !suffices(WIDEST) {
        return None;
    }
    let (mut fails, mut good) = (narrow, WIDEST);
    while good - fails > 1 {
        let middle = u32::midpoint(fails, good);
        if suffices(middle) {
            good = middle;
        } else {
            fails = middle;
        }
    }
    Some(good)
}

/// The three evaluators beside each other, and what was seen of each tensor.
struct Run<'a> {
    pair: &'a Pair<'a>,
    golden: Golden,
    canonical: Golden,
    fixed: Fixed,
    /// Errors of `fixed` from canonical form, by its tensors.
    found: Vec<Extremes>,
    /// Errors of each result from golden; classes have none.
    results: Vec<Extremes>,
    /// Errors of all results from golden, classes among them.
    all: Vec<Extremes>,
    /// What the results say about classes, and how many of these are others than golden's.
    classes: Vec<Classes>,
    flips: Vec<Flips>,
    /// What is told of results that no word holds, by tensor.
    beyond: BTreeMap<usize, Diagnostic>,
}

impl<'a> Run<'a> {
    fn new(pair: &'a Pair<'a>, results: &[Place]) -> Run<'a> {
        let classes = results.iter().map(|&(here, _)| Classes::of(pair.source, here, pair.program)).collect();
        Run {
            pair,
            golden: Golden::with(pair.source, pair.options),
            canonical: Golden::new(pair.program),
            fixed: Fixed::new(pair.lowered),
            found: vec![Extremes::default(); pair.lowered.tensors.len()],
            results: vec![Extremes::default(); results.len()],
            all: vec![Extremes::default(); results.len()],
            classes,
            flips: vec![Flips::default(); results.len()],
            beyond: BTreeMap::new(),
        }
    }

    fn set(&mut self, values: &NamedValues) {
        let named = |program: &Program, name: &String| program.tensors.iter().position(|tensor| tensor.name == *name);
        for (name, values) in values {
            let held: Vec<f64> = values.iter().map(|&value| within_words(value)).collect();
            if let Some(here) = named(self.pair.source, name) {
                self.golden.set(TensorId(here), values);
            }
            if let Some(here) = named(self.pair.program, name) {
                self.canonical.set(TensorId(here), &held);
            }
            if let Some(there) = self.fixed.tensor(name) {
                self.fixed.set_real(there, &held);
            }
        }
    }

    fn step(&mut self, suspects: &[Place], results: &[Place]) -> Result<(), Box<Diagnostic>> {
        self.golden.step()?;
        self.canonical.step()?;
        self.fixed.step();
        for &(here, there) in suspects {
            let real: Elements = self.canonical.value(here).collect();
            let found = self.values(there);
            self.found[there.0].include(&found, &real);
        }
        for (number, &(here, there)) in results.iter().enumerate() {
            let golden: Elements = self.golden.value(here).collect();
            let found = self.values(there);
            let classes = self.classes[number];
            classes.compare(&found, &golden, &mut self.flips[number]);
            self.all[number].include(&found, &golden);
            if classes != Classes::Labels {
                self.results[number].include(&found, &golden);
            }
            let beyond = |value: &Option<f64>| value.is_some_and(is_beyond);
            if let Some(element) = golden.iter().position(beyond) {
                let tensor = &self.pair.source.tensors[here.0];
                let (name, value) = (&tensor.name, golden[element].unwrap_or_default());
                let value = if value.is_finite() { format!("{value:e}") } else { value.to_string().to_lowercase() };
                let message = format!("element {element} of `{name}` is {value}, which no word holds");
                let warning = Diagnostic::new(Code::WarnNumber, tensor.span, message)
                    .with_help("leave out what is that large, or scale it");
                self.beyond.entry(here.0).or_insert(warning);
            }
        }
        Ok(())
    }

    fn values(&self, there: TensorId) -> Elements {
        self.fixed.values(there).into_iter().map(Some).collect()
    }
}
