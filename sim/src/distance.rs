//! How far fixed point is from golden, and who lost what formats do not explain.
//!
//! ```text
//!                  golden (f64)
//!        distance ↗            ↖ what formats explain
//!  fixed (tables, chosen points)   golden, rounded after each tensor to the best format of a word
//! ```
//!
//! A word of W bits cannot hold more than W bits of a tensor's largest value. Golden with each tensor rounded to that shows what the width
//! costs, errors carried on included. A tensor whose words are much further away than that has lost bits to something else: a function
//! table, a binary point that was given, one that had to move, or a value that no word holds. The first one in the order of the program is
//! named. Both are looked at over all steps of a run.

use crate::eval::Elements;
use crate::fixed::Fixed;
use crate::golden::Golden;
use crate::ladder::Values;
use arch::number::{to_f64, word_max, word_min};
use arch::{Code, Diagnostic};
use compiler::fixed::{self, Kind, NumberReport, Role};
use compiler::ranges::{Ranges, is_beyond};
use compiler::tensor::{Program, TensorId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distance from golden.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Distance {
    /// Largest absolute error.
    pub absolute: f64,
    /// Its share of the largest value; 0 if all values are 0.
    pub relative: f64,
}

/// Largest error and largest value so far.
#[derive(Debug, Clone, Copy, Default)]
struct Extremes {
    error: f64,
    value: f64,
}

impl Extremes {
    /// Look at values beside golden's. What golden does not define, or is no number there, is left out.
    fn include(&mut self, found: &[Option<f64>], golden: &[Option<f64>]) {
        for (found, golden) in found.iter().zip(golden) {
            if let (Some(found), Some(golden)) = (found, golden.filter(|&golden| !is_beyond(golden))) {
                self.error = self.error.max((found - golden).abs());
                self.value = self.value.max(golden.abs());
            }
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
    /// W-ACCURACY: the first tensor that is further from golden than words of this width explain, if results are, too.
    pub lost_bits: Option<Diagnostic>,
}

/// How many times further than the formats explain is worth a warning; as many last places are always allowed.
const FAR: f64 = 8.0;

/// A program on real numbers, and the same in fixed point.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The program in canonical form.
    pub program: &'a Program,
    /// The values that its binary points were chosen for.
    pub ranges: &'a Ranges,
    /// The same in fixed point.
    pub lowered: &'a fixed::Program,
    /// How its binary points were found.
    pub numbers: &'a NumberReport,
}

/// A tensor here (in the program) and there (in fixed point).
type Place = (TensorId, TensorId);

impl Pair<'_> {
    /// Run both over some steps, from the weights `start`. Values go to the tensors of their names; other names are left alone.
    ///
    /// # Errors
    /// What only the values show, as golden says it.
    pub fn accuracy<'v>(
        &self,
        start: &Values,
        steps: impl IntoIterator<Item = &'v Values>,
    ) -> Result<Accuracy, Box<Diagnostic>> {
        let results = self.results();
        let suspects = self.suspects();
        let mut run = Run::new(self);
        run.set(start);
        for step in steps {
            run.set(step);
            run.step(&suspects, &results)?;
        }
        let distance = run.results.distance();
        let is_far = |&(here, there): &Place| {
            let unit = libm::ldexp(1.0, -self.best_fraction(here));
            run.explained.is_some() && run.found[there.0].error > FAR * (run.explained_by(there) + unit)
        };
        let first = if results.iter().any(is_far) { suspects.iter().copied().find(is_far) } else { None };
        let lost_bits = first.map(|place| self.warning(place, &run));
        Ok(Accuracy { distance, lost_bits })
    }

    /// Named values, and states that are updated.
    fn results(&self) -> Vec<Place> {
        let named = self.program.names.iter().zip(&self.lowered.names).map(|(here, there)| (here.1, there.1));
        let states = self.program.updates.iter().filter_map(|update| Some((update.state, self.there(update.state)?)));
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

    fn there(&self, here: TensorId) -> Option<TensorId> {
        let name = &self.program.tensors[here.0].name;
        self.lowered.tensors.iter().position(|tensor| tensor.name == *name).map(TensorId)
    }

    /// Bits after the binary point that a word has for the values of a tensor.
    fn best_fraction(&self, tensor: TensorId) -> i32 {
        let (low, high) = self.ranges.tensors.get(tensor.0).copied().flatten().unwrap_or((0.0, 0.0));
        let largest = low.abs().max(high.abs());
        let whole = if largest > 0.0 { libm::ceil(libm::log2(largest)) as i32 } else { 0 };
        self.lowered.word as i32 - 1 - whole
    }

    fn warning(&self, (here, there): Place, run: &Run<'_>) -> Diagnostic {
        let tensor = &self.lowered.tensors[there.0];
        let source = tensor.name.split('.').next().unwrap_or(&tensor.name);
        let decided = self.numbers.tensors.iter().find(|numbers| numbers.name == tensor.name);
        let decided = decided.map_or("its range", |numbers| numbers.decided.as_str());
        let help = if self.is_clipped(there, run.golden.ranges().tensors[here.0]) {
            "it takes larger values than those its binary point was chosen for: leave it more room (`headroom` in the `[numbers]` table), \
             or use wider words (`word` in the `[machine]` table)"
        } else if self.is_looked_up(there) {
            "give the function tables more room (`table_entries` in the `[machine]` table), or use wider words"
        } else if decided == "given" {
            "leave out its binary point in `[numbers.fractions]`, or give it more bits"
        } else {
            "use wider words (`word` in the `[machine]` table), or give the tensor a binary point in `[numbers.fractions]`"
        };
        let message = format!(
            "`{source}` loses more bits than words of {} bits explain: it is up to {:.3e} from the golden model",
            self.lowered.word, run.found[there.0].error
        );
        Diagnostic::new(Code::WarnAccuracy, tensor.span, message)
            .with_label(format!("{} bits after the binary point, decided by: {decided}", tensor.fraction))
            .with_help(help)
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

/// The three evaluators beside each other, and what was seen of each tensor.
struct Run<'a> {
    pair: &'a Pair<'a>,
    golden: Golden,
    /// Golden, rounded after each tensor to the best format of a word, and the errors of that; none once it meets a value that has no meaning.
    explained: Option<(Golden, Vec<Extremes>)>,
    fixed: Fixed,
    /// Errors of `fixed`, by its tensors.
    found: Vec<Extremes>,
    /// Errors of the results.
    results: Extremes,
}

impl<'a> Run<'a> {
    fn new(pair: &'a Pair<'a>) -> Run<'a> {
        let fractions = (0..pair.program.tensors.len()).map(|id| pair.best_fraction(TensorId(id))).collect();
        let nothing = vec![Extremes::default(); pair.lowered.tensors.len()];
        Run {
            pair,
            golden: Golden::new(pair.program),
            explained: Some((Golden::new(pair.program).rounding_to(fractions), nothing.clone())),
            fixed: Fixed::new(pair.lowered),
            found: nothing,
            results: Extremes::default(),
        }
    }

    fn set(&mut self, values: &Values) {
        for (name, values) in values {
            if let Some(here) = self.pair.program.tensors.iter().position(|tensor| tensor.name == *name).map(TensorId) {
                self.golden.set(here, values);
                if let Some((rounded, _)) = &mut self.explained {
                    rounded.set(here, values);
                }
            }
            if let Some(there) = self.fixed.tensor(name) {
                self.fixed.set_real(there, values);
            }
        }
    }

    fn step(&mut self, suspects: &[Place], results: &[Place]) -> Result<(), Box<Diagnostic>> {
        self.golden.step()?;
        if self.explained.as_mut().is_some_and(|(rounded, _)| rounded.step().is_err()) {
            self.explained = None;
        }
        self.fixed.step();
        for &(here, there) in suspects {
            let golden: Elements = self.golden.value(here).collect();
            if let Some((rounded, errors)) = &mut self.explained {
                errors[there.0].include(&rounded.value(here).collect::<Elements>(), &golden);
            }
            let found = self.values(there);
            self.found[there.0].include(&found, &golden);
        }
        for &(here, there) in results {
            let golden: Elements = self.golden.value(here).collect();
            let found = self.values(there);
            self.results.include(&found, &golden);
        }
        Ok(())
    }

    fn values(&self, there: TensorId) -> Elements {
        self.fixed.values(there).into_iter().map(Some).collect()
    }

    fn explained_by(&self, there: TensorId) -> f64 {
        self.explained.as_ref().map_or(0.0, |(_, errors)| errors[there.0].error)
    }
}
