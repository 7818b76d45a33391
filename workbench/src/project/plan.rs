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
pub use sim::train::settings::Choices;
use sim::train::settings::Settings;

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
        let Choices { batch, reduction, epochs, order, seed, split } = asked.or(table.choices).or(config.choices);
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
    use sim::train::settings::{Order, Reduction};

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
