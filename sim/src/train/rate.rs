//! The rate of each step, as a part of the program's `mu`.
//!
//! ```text
//! 1 ┤  ╭─────╮                  warm-up: rises from update to update
//!   │ ╱      ╰──╮               step: times `factor` after every so many epochs      cosine: half a wave down to 0
//! 0 ┼╱──────────╰────▶          inverse: 1 / (1 + factor * epoch)
//!    updates
//! ```

use compiler::choice;

/// How the rate changes with time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rate {
    /// The shape after the warm-up.
    pub shape: Shape,
    /// Epochs in which the rate rises to its full size.
    pub warm_up: usize,
    /// Decays of Adam's means: makes up for their start at 0.
    pub means: Option<(f64, f64)>,
}

choice! {
    /// Learning-rate schedule.
    Shape by Some("schedule");
    /// The rate stays.
    Constant "constant";
    /// Times a factor after every so many epochs.
    Step "step" {
        /// `step` multiplies the rate by it, `inverse` divides by 1 + it * epoch.
        factor: f64 as "schedule_factor", Positive, Some(0.1);
        /// Epochs between two steps of the rate.
        epochs: usize as "schedule_epochs", Count, Some(1.0);
    };
    /// Half a cosine, down to 0 at the end.
    Cosine "cosine";
    /// `1 / (1 + factor * epoch)`
    Inverse "inverse" {
        /// `step` multiplies the rate by it, `inverse` divides by 1 + it * epoch.
        factor: f64 as "schedule_factor", Positive, Some(1.0);
    };
}

impl Rate {
    /// Whether it is 1 at every update.
    pub fn is_constant(&self) -> bool {
        self.shape == Shape::Constant && self.warm_up == 0 && self.means.is_none()
    }

    /// The rate of an update, counted from 0, where each of `epochs` has so many updates.
    pub fn at(&self, update: usize, updates_per_epoch: usize, epochs: usize) -> f64 {
        let per_epoch = updates_per_epoch.max(1);
        let epoch = update / per_epoch;
        let shape = match self.shape {
            Shape::Constant => 1.0,
            Shape::Step { factor, epochs } => libm::pow(factor, (epoch / epochs.max(1)) as f64),
            Shape::Cosine => {
                let done = update as f64 / (per_epoch * epochs).max(1) as f64;
                0.5 * (1.0 + libm::cos(std::f64::consts::PI * done))
            }
            Shape::Inverse { factor } => 1.0 / (1.0 + factor * epoch as f64),
        };
        let warm = match self.warm_up * per_epoch {
            0 => 1.0,
            warm_up => ((update + 1) as f64 / warm_up as f64).min(1.0),
        };
        let correction = self.means.map_or(1.0, |(mean, square)| {
            let time = (update + 1) as f64;
            libm::sqrt(1.0 - libm::pow(square, time)) / (1.0 - libm::pow(mean, time))
        });
        shape * warm * correction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn rates_follow_their_shapes() {
        let step = Rate { shape: Shape::Step { factor: 0.1, epochs: 2 }, ..Rate::default() };
        near(step.at(7, 4, 10), 1.0);
        near(step.at(8, 4, 10), 0.1);
        near(step.at(16, 4, 10), 0.01);
        let cosine = Rate { shape: Shape::Cosine, ..Rate::default() };
        near(cosine.at(0, 5, 2), 1.0);
        near(cosine.at(5, 5, 2), 0.5);
        near(cosine.at(2, 4, 2), 0.5 + std::f64::consts::FRAC_1_SQRT_2 / 2.0);
        let inverse = Rate { shape: Shape::Inverse { factor: 0.5 }, ..Rate::default() };
        near(inverse.at(9, 3, 4), 0.4);
        let warm = Rate { warm_up: 2, ..Rate::default() };
        near(warm.at(0, 5, 4), 0.1);
        near(warm.at(9, 5, 4), 1.0);
        near(warm.at(12, 5, 4), 1.0);
    }

    /// After one update of Adam the means are `(1 - b1) g` and `(1 - b2) g^2`: the corrected step is the sign of `g`.
    #[test]
    fn the_first_step_of_adam_has_the_size_of_the_rate() {
        let adam = Rate { means: Some((0.9, 0.999)), ..Rate::default() };
        let gradient: f64 = 0.037;
        let (mean, square) = (0.1 * gradient, 0.001 * gradient * gradient);
        near(adam.at(0, 1, 1) * mean / square.sqrt(), 1.0);
        assert!(!adam.is_constant() && Rate::default().is_constant());
    }

    #[test]
    fn what_changes_is_not_constant() {
        for rate in [Rate { shape: Shape::Cosine, ..Rate::default() }, Rate { warm_up: 1, ..Rate::default() }] {
            assert!(!rate.is_constant(), "{rate:?}");
        }
    }
}
