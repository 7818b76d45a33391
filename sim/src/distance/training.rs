//! How far a training in words is from the same training on golden.
//!
//! ```text
//! samples ──▶ golden ──▶ weights, loss ─┐
//!    └──────▶ words ───▶ weights, loss ─┴─▶ distance of the weights; W-ACCURACY by the loss
//! ```
//!
//! Both have trained on their own, so roundings of early steps are in all later ones: weights may be far apart where the loss does not
//! depend on them. The result of a training is therefore its loss, on the samples that were trained, and the largest loss is that of
//! the weights at the start.

use super::{Accuracy, Distance, Extremes, FAR};
use crate::train::engine::Model;
use arch::{Code, Diagnostic, Span};
use compiler::fixed;

/// A training on golden, and the same in words.
#[derive(Debug, Clone, Copy)]
pub struct Trainings<'a> {
    /// Weights at the end, on golden.
    pub golden: &'a Model,
    /// Weights at the end, in words.
    pub words: &'a Model,
    /// Loss of each on the samples that were trained.
    pub losses: (f64, f64),
    /// Loss of the weights at the start.
    pub first_loss: f64,
}

impl Trainings<'_> {
    /// The distance of the weights; W-ACCURACY if the loss is far from golden's. `lowered` is the program of an update.
    pub fn accuracy(&self, lowered: &fixed::Program) -> Accuracy {
        let weights: Vec<(&String, Extremes)> =
            self.golden.iter().map(|(name, golden)| (name, self.extremes(name, golden))).collect();
        let distance = weights.iter().map(|(_, weight)| weight.distance()).fold(Distance::default(), Distance::and);
        let share = |weight: &Extremes| weight.distance().relative;
        let worst = weights.iter().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)));
        let (golden, words) = self.losses;
        let loss = Extremes { error: (words - golden).abs(), value: golden.abs().max(self.first_loss.abs()) };
        let lost_bits = worst.filter(|_| loss.is_far()).map(|(name, weight)| self.warning(name, *weight, lowered));
        Accuracy { distance, lost_bits, beyond: Vec::new() }
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
        let message = format!(
            "{} bits lose too much of this training: its loss is {words:.3e}, that of the golden model {golden:.3e}, and more than {} % of \
             the largest loss lie between them; `{weight}` is up to {:.3e} from golden's",
            lowered.word,
            100.0 * FAR,
            far.error,
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
            "use wider words (`word` in the `[machine]` table), more bits after the binary point of the weights \
             (`[numbers.fractions]`), or a larger rate: an update below half a last place changes nothing",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accuracy(words: f64, losses: (f64, f64)) -> Accuracy {
        let model = |w: f64| Model::from([("v".to_owned(), vec![100.0]), ("w".to_owned(), vec![0.5, w])]);
        let text = "word 8\naccumulator 24\nstate w[2]: q5\n";
        let lowered: fixed::Program = text.parse().expect("a good text");
        Trainings { golden: &model(-2.0), words: &model(words), losses, first_loss: 0.7 }.accuracy(&lowered)
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
    }
}
