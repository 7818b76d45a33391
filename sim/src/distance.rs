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
//! table, a binary point that was given, or one that had to move. The first one in the order of the program is named.

use crate::eval::Elements;
use crate::fixed::Fixed;
use crate::golden::Golden;
use arch::{Code, Diagnostic};
use compiler::fixed::{self, Kind, NumberReport};
use compiler::tensor::{Program, Role, TensorId};

/// A distance from golden.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Distance {
    /// Largest absolute error.
    pub absolute: f64,
    /// Its share of the largest value; 0 if all values are 0.
    pub relative: f64,
}

/// Distance of values from golden's. What golden does not define, or is no number there, is left out.
pub fn distance<'a>(pairs: impl IntoIterator<Item = (&'a [Option<f64>], &'a [Option<f64>])>) -> Distance {
    let (mut absolute, mut largest) = (0.0_f64, 0.0_f64);
    for (found, golden) in pairs {
        for (found, golden) in found.iter().zip(golden) {
            if let (Some(found), Some(golden)) = (found, golden.filter(|golden| golden.is_finite())) {
                absolute = absolute.max((found - golden).abs());
                largest = largest.max(golden.abs());
            }
        }
    }
    Distance { absolute, relative: if largest > 0.0 { absolute / largest } else { 0.0 } }
}

/// How many times further than the formats explain is worth a warning; as many last places are always allowed.
const FAR: f64 = 8.0;

/// One step of a canonical program: golden, and the same in fixed point.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The program in canonical form.
    pub program: &'a Program,
    /// The same in fixed point.
    pub lowered: &'a fixed::Program,
    /// How its binary points were found.
    pub numbers: &'a NumberReport,
    /// After the step.
    pub golden: &'a Golden,
    /// After the step.
    pub fixed: &'a Fixed,
}

impl Compared<'_> {
    /// The first tensor that is further from golden than words of this width explain, if results are, too: W-ACCURACY.
    ///
    /// `inputs`: what was set before the step.
    pub fn lost_bits(&self, inputs: &[(TensorId, Vec<f64>)]) -> Option<Diagnostic> {
        let rounded = self.rounded(inputs)?;
        let is_far = |(here, there): (TensorId, TensorId)| {
            let golden: Elements = self.golden.value(here).collect();
            let rounded: Elements = rounded.value(here).collect();
            let fixed: Elements = self.fixed.values(there).into_iter().map(Some).collect();
            let explained = distance([(rounded.as_slice(), golden.as_slice())]).absolute;
            let found = distance([(fixed.as_slice(), golden.as_slice())]).absolute;
            let unit = libm::ldexp(1.0, -self.best_fraction(here));
            found > FAR * (explained + unit)
        };
        let results = self.program.names.iter().zip(&self.lowered.names).map(|(here, there)| (here.1, there.1));
        if !results.into_iter().any(is_far) {
            return None;
        }
        let place = |there: TensorId| {
            let name = &self.lowered.tensors[there.0].name;
            self.program.tensors.iter().position(|tensor| tensor.name == *name).map(TensorId)
        };
        let computed = self
            .lowered
            .operations
            .iter()
            .filter_map(|operation| Some((operation, (place(operation.out)?, operation.out))));
        let (operation, (here, there)) = computed.into_iter().find(|&(_, pair)| is_far(pair))?;
        Some(self.warning(&operation.kind, here, there))
    }

    /// Golden once more, with each tensor rounded to the best format of a word.
    fn rounded(&self, inputs: &[(TensorId, Vec<f64>)]) -> Option<Golden> {
        let fractions = (0..self.program.tensors.len()).map(|id| self.best_fraction(TensorId(id))).collect();
        let mut rounded = Golden::new(self.program).rounding_to(fractions);
        for (tensor, values) in inputs {
            rounded.set(*tensor, values);
        }
        rounded.step().ok()?;
        Some(rounded)
    }

    /// Bits after the binary point that a word has for the values of a tensor.
    fn best_fraction(&self, tensor: TensorId) -> i32 {
        let (low, high) = self.golden.ranges().tensors[tensor.0].unwrap_or((0.0, 0.0));
        let largest = low.abs().max(high.abs());
        let whole = if largest > 0.0 { libm::ceil(libm::log2(largest)) as i32 } else { 0 };
        self.lowered.word as i32 - 1 - whole
    }

    fn warning(&self, kind: &Kind, here: TensorId, there: TensorId) -> Diagnostic {
        let tensor = &self.lowered.tensors[there.0];
        let source = tensor.name.split('.').next().unwrap_or(&tensor.name);
        let decided = self.numbers.tensors.iter().find(|numbers| numbers.name == tensor.name);
        let decided = decided.map_or("its range", |numbers| numbers.decided.as_str());
        // Where tables are too small for a function, it is a few operations that start from a smaller one.
        let refined = format!("{}.", tensor.name);
        let from_table = self.lowered.operations.iter().any(|operation| {
            matches!(operation.kind, Kind::Function { .. })
                && self.lowered.tensors[operation.out.0].name.starts_with(&refined)
        });
        let help = match kind {
            _ if from_table || matches!(kind, Kind::Function { .. }) => {
                "give the function tables more room (`table_entries` in the `[machine]` table), or use wider words"
            }
            _ if decided == "given" => "leave out its binary point in `[numbers.fractions]`, or give it more bits",
            _ => {
                "use wider words (`word` in the `[machine]` table), or give the tensor a binary point in `[numbers.fractions]`"
            }
        };
        let message = format!(
            "`{source}` loses more bits than words of {} bits explain: it is up to {:.3e} from the golden model",
            self.lowered.word,
            self.off(here, there)
        );
        Diagnostic::new(Code::WarnAccuracy, tensor.span, message)
            .with_label(format!("{} bits after the binary point, decided by: {decided}", tensor.fraction))
            .with_help(help)
    }

    /// Largest absolute error of a tensor.
    fn off(&self, here: TensorId, there: TensorId) -> f64 {
        let golden: Elements = self.golden.value(here).collect();
        let fixed: Elements = self.fixed.values(there).into_iter().map(Some).collect();
        distance([(fixed.as_slice(), golden.as_slice())]).absolute
    }
}

/// Inputs and states of a program, as they are before a step.
pub fn held(program: &Program, golden: &Golden) -> Vec<(TensorId, Vec<f64>)> {
    let tensors = program.tensors.iter().enumerate();
    let held =
        tensors.filter(|(_, tensor)| matches!(tensor.role, Role::Input | Role::Label | Role::State | Role::InOut));
    held.filter_map(|(id, _)| Some((TensorId(id), golden.values(TensorId(id))?.to_vec()))).collect()
}
