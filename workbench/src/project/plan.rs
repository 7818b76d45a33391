//! How a training goes: batch, order, seeds, epochs and constants, decided here and nowhere else.
//!
//! ```text
//! asked for (command line)  ──▶  [train] beside the program  ──▶  [build] of the configuration  ──▶  default
//!        strongest                                                                                   weakest
//! ```
//!
//! Every command goes this way, so that what is built, trained, run, explained and reported is the same.

use crate::config::BuildOptions;
use schemars::JsonSchema;
use serde::Serialize;
use sim::train::Schedule;
use sim::train::settings::{Order, Reduction, Settings};

/// What one of them says; `None` leaves it to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Choices {
    /// Samples per update.
    pub batch: Option<u32>,
    /// What a batch does with the gradients of its samples.
    pub reduction: Option<Reduction>,
    /// Passes over the training part.
    pub epochs: Option<usize>,
    /// The order of the samples.
    pub order: Option<Order>,
    /// Seed of split, order and initial weights.
    pub seed: Option<u64>,
    /// Part of the rows that trains; the others test.
    pub split: Option<f64>,
}

impl Choices {
    /// These, and where they say nothing `weaker`.
    #[must_use]
    pub fn or(self, weaker: Choices) -> Choices {
        Choices {
            batch: self.batch.or(weaker.batch),
            reduction: self.reduction.or(weaker.reduction),
            epochs: self.epochs.or(weaker.epochs),
            order: self.order.or(weaker.order),
            seed: self.seed.or(weaker.seed),
            split: self.split.or(weaker.split),
        }
    }
}

impl From<&Settings> for Choices {
    fn from(settings: &Settings) -> Choices {
        let Settings { batch, reduction, epochs, order, seed, split, .. } = *settings;
        Choices { batch, reduction, epochs, order, seed, split }
    }
}

impl From<&BuildOptions> for Choices {
    fn from(options: &BuildOptions) -> Choices {
        let BuildOptions { batch, reduction, epochs, order, seed, split, .. } = *options;
        Choices { batch, reduction, epochs, order, seed, split }
    }
}

/// A value that no training can use, and why.
pub fn impossible(choices: &Choices) -> Option<(&'static str, &'static str)> {
    if choices.batch == Some(0) {
        Some(("batch", "a batch has at least one sample"))
    } else if choices.split.is_some_and(|split| !(split > 0.0 && split <= 1.0)) {
        Some(("split", "the part that trains lies above 0 and is at most 1"))
    } else {
        None
    }
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// Epochs, batches, order.
    #[serde(flatten)]
    pub schedule: Schedule,
    /// Part of the rows that trains.
    pub split: f64,
}

impl Plan {
    /// Decide: `asked` is the strongest, then the `[train]` table, then the configuration.
    pub fn decide(asked: &Choices, table: &Settings, config: &BuildOptions) -> Plan {
        let Choices { batch, reduction, epochs, order, seed, split } = asked.or(table.into()).or(config.into());
        let schedule = Schedule {
            epochs: epochs.unwrap_or(10),
            batch: batch.unwrap_or(1) as usize,
            reduction: reduction.unwrap_or_default(),
            order: order.unwrap_or_default(),
            seed: seed.unwrap_or(1),
            // Whether the program takes a rate is known when it has been read.
            rate: None,
        };
        Plan { schedule, split: split.unwrap_or(0.8) }
    }
}

/// Constants of a program by who gives them, the same order; `derived` are those that `[train]` takes from the data.
pub fn constants(config: &BuildOptions, derived: &[(String, f64)], asked: &[(String, f64)]) -> Vec<(String, f64)> {
    let mut set: Vec<(String, f64)> = Vec::new();
    let config = config.set.iter().map(|(name, &value)| (name.clone(), value));
    for (name, value) in config.chain(derived.iter().cloned()).chain(asked.iter().cloned()) {
        set.retain(|(known, _)| *known != name);
        set.push((name, value));
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: Choices = Choices {
        batch: Some(3),
        reduction: Some(Reduction::Sum),
        epochs: Some(7),
        order: Some(Order::Rows),
        seed: Some(5),
        split: Some(0.5),
    };

    fn table(text: &str) -> Settings {
        toml::from_str(&format!("prediction = \"h\"\nloss = \"squared\"\n{text}")).unwrap()
    }

    fn config(text: &str) -> BuildOptions {
        toml::from_str(text).unwrap()
    }

    /// A setting in TOML, another value of it, and what the plan shows.
    type Case = (&'static str, &'static str, fn(&Plan) -> String);

    const SETTINGS: [Case; 6] = [
        ("batch = 4", "batch = 2", |plan| plan.schedule.batch.to_string()),
        ("reduction = \"sum\"", "reduction = \"mean\"", |plan| format!("{:?}", plan.schedule.reduction)),
        ("epochs = 4", "epochs = 2", |plan| plan.schedule.epochs.to_string()),
        ("order = \"shuffled\"", "order = \"store\"", |plan| format!("{:?}", plan.schedule.order)),
        ("seed = 4", "seed = 2", |plan| plan.schedule.seed.to_string()),
        ("split = 0.25", "split = 0.75", |plan| plan.split.to_string()),
    ];

    #[test]
    fn every_setting_has_the_same_precedence() {
        let nothing = Choices::default();
        for (one, other, show) in SETTINGS {
            let alone = |text: &str| show(&Plan::decide(&nothing, &table(text), &config("")));
            assert_ne!(alone(one), alone(other));
            // The table is stronger than the configuration, which is stronger than nothing.
            for (strong, weak) in [(one, other), (other, one)] {
                assert_eq!(show(&Plan::decide(&nothing, &table(strong), &config(weak))), alone(strong), "{strong}");
                assert_eq!(show(&Plan::decide(&nothing, &table(""), &config(weak))), alone(weak), "{weak}");
            }
            // What is asked for is the strongest.
            let asked = show(&Plan::decide(&SAID, &table(""), &config("")));
            assert_eq!(show(&Plan::decide(&SAID, &table(other), &config(one))), asked);
        }
    }

    #[test]
    fn without_a_word_there_are_defaults() {
        let schedule =
            Schedule { epochs: 10, batch: 1, reduction: Reduction::Mean, order: Order::Store, seed: 1, rate: None };
        assert_eq!(Plan::decide(&Choices::default(), &table(""), &config("")), Plan { schedule, split: 0.8 });
    }

    #[test]
    fn constants_have_the_same_precedence() {
        let config = config("set = { m = 1.0, mu = 2.0, k = 3.0 }");
        let named = |pairs: &[(&str, f64)]| pairs.iter().map(|&(name, v)| (name.to_owned(), v)).collect::<Vec<_>>();
        let set = constants(&config, &named(&[("m", 30.0), ("mu", 0.1)]), &named(&[("mu", 0.5)]));
        assert_eq!(set, named(&[("k", 3.0), ("m", 30.0), ("mu", 0.5)]));
    }
}
