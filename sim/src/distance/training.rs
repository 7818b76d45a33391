//! How far a training in words is from the same training on golden.
//!
//! ```text
//! samples ──▶ golden ──▶ weights, loss ─┐
//!    └──────▶ words ───▶ weights, loss ─┴─▶ distance of the weights; W-ACCURACY by the loss
//! ```
//!
//! Both have trained on their own, so roundings of early steps are in all later ones: weights may be far apart where the loss does not
//! depend on them. The result of a training is therefore its loss and its score, on the samples that were trained, and the largest loss is
//! that of the weights at the start. Rows whose class changes are counted; two good trainings differ in some.

use super::{Accuracy, Distance, Extremes, Verdict};
use crate::train::engine::NamedValues;
use arch::{Code, Diagnostic, Span};
use compiler::fixed;
use compiler::rounding::is_of_words;

/// A training on golden, and the same in words.
#[derive(Debug, Clone, Copy)]
pub struct Trainings<'a> {
    /// Weights at the end, on golden.
    pub golden: &'a NamedValues,
    /// Weights at the end, in words.
    pub words: &'a NamedValues,
    /// Loss of each on the samples that were trained.
    pub losses: (f64, f64),
    /// Loss of the weights at the start.
    pub first_loss: f64,
    /// How often the predicted class is the right one, on golden and in words.
    pub scores: Option<(f64, f64)>,
    /// Rows that were predicted, and how many have another class than on golden.
    pub rows: u64,
    /// How many of these have another class than on golden.
    pub flips: Option<u64>,
}

/// How much of its score a training in words may lose.
const WORSE: f64 = 0.01;

impl Trainings<'_> {
    /// The distance of the weights; W-ACCURACY if the loss is far from golden's. `lowered` is the program of an update.
    pub fn accuracy(&self, lowered: &fixed::Program) -> Accuracy {
        let weights: Vec<(&String, Extremes)> = self
            .golden
            .iter()
            .filter(|(name, _)| !is_of_words(name))
            .map(|(name, golden)| (name, self.extremes(name, golden)))
            .collect();
        let distance = weights.iter().map(|(_, weight)| weight.distance()).fold(Distance::default(), Distance::and);
        let share = |weight: &Extremes| weight.distance().relative;
        let worst = weights.iter().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)));
        let (golden, words) = self.losses;
        let loss = Extremes { error: (words - golden).abs(), value: golden.abs().max(self.first_loss.abs()) };
        let worse = self.scores.is_some_and(|(golden, words)| words < golden - WORSE);
        let worst = worst.filter(|_| loss.is_far() || worse);
        let verdict = Verdict {
            bits: lowered.word,
            suffices: worst.is_none(),
            beyond: 0,
            error: loss.share(),
            rows: self.rows,
            flips: self.flips,
            lost_by: worst.map(|(name, _)| (*name).clone()),
            bits_needed: None,
        };
        let lost_bits = worst.map(|(name, weight)| self.warning(name, *weight, lowered));
        Accuracy { distance, verdict, lost_bits, beyond: Vec::new() }
    }

    fn extremes(&self, name: &str, golden: &[f64]) -> Extremes {
        let known = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let mut extremes = Extremes::default();
        let found = self.words.get(name).map_or(&[][..], Vec::as_slice);
        extremes.include(&known(found), &known(golden));
        extremes
    }

    fn warning(&self, weight: &str, far: Extremes, lowered: &fixed::Program) -> Diagnostic {
        let (golden, words) = self.losses;
        let score = self.scores.map_or_else(String::new, |(golden, words)| {
            format!(", its score {:.2} % instead of {:.2} %", 100.0 * words, 100.0 * golden)
        });
        let message = format!(
            "{} bits lose too much of this training: its loss is {words:.3e} instead of {golden:.3e} on the golden model{score}; \
             `{weight}` is up to {:.3e} from golden's",
            lowered.word, far.error,
        );
        let tensor = lowered.tensors.iter().find(|tensor| tensor.name == weight);
        let warning =
            Diagnostic::new(Code::WarnAccuracy, tensor.map_or(Span::default(), |tensor| tensor.span), message);
        let bits = tensor.map(|tensor| format!("{} bits after the binary point", tensor.fraction));
        let warning = match bits {
            Some(bits) => warning.with_label(bits),
            None => warning,
        };
        warning.with_help(
            "give the weights more bits after the binary point (`[numbers.fractions]`), or use a larger rate",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(words: f64, losses: (f64, f64)) -> Accuracy {
        scored(words, losses, (0.9, 0.9))
    }

    fn scored(words: f64, losses: (f64, f64), scores: (f64, f64)) -> Accuracy {
        let model = |w: f64| NamedValues::from([("v".to_owned(), vec![100.0]), ("w".to_owned(), vec![0.5, w])]);
        let text = "word 8\naccumulator 24\nstate w[2]: q5\n";
        let lowered: fixed::Program = text.parse().expect("a good text");
        Trainings {
            golden: &model(-2.0),
            words: &model(words),
            losses,
            first_loss: 0.7,
            scores: Some(scores),
            rows: 4,
            flips: Some(0),
        }
        .accuracy(&lowered)
    }

    #[test]
    fn weights_have_a_distance_and_the_loss_a_bound() {
        let found = accuracy(-1.5, (0.1, 0.106));
        assert_eq!((found.distance, found.lost_bits), (Distance { absolute: 0.5, relative: 0.25 }, None));
        // More than a hundredth of 0.7.
        let said = accuracy(-1.5, (0.1, 0.108)).lost_bits.expect("a warning");
        assert_eq!(said.code, Code::WarnAccuracy);
        assert!(said.message.contains("`w` is up to 5.000e-1"), "{}", said.message);
        // A loss that grows beyond the first one is measured by itself.
        assert!(accuracy(-2.0, (70.0, 70.5)).lost_bits.is_none());
        // A score that falls is said whatever the loss.
        assert!(scored(-2.0, (0.1, 0.1), (0.9, 0.895)).verdict.suffices);
        assert!(!scored(-2.0, (0.1, 0.1), (0.9, 0.88)).verdict.suffices);
    }
}
