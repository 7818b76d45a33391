//! Recipe: what a training took from files other than its program, kept with the model.
//!
//! ```text
//! program.t ──────────────────────────────▶ hash in the model
//! program.toml    [train] ─────────┐
//! config.toml     [machine] ───────┼──────▶ Recipe in the model ──▶ a project that predicts without these files
//!                 [numbers] ───────┘
//! ```

use crate::config::{Config, NumberOptions};
use arch::machine::MachineSpec;
use schemars::JsonSchema;
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use sim::train::settings::Settings;

/// What a training took from files other than its program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The `[train]` table.
    pub train: Settings,
    /// The `[machine]` table.
    #[serde(serialize_with = "given")]
    #[schemars(with = "MachineSpec")]
    pub machine: MachineSpec,
    /// The `[numbers]` table.
    pub numbers: NumberOptions,
}

impl Recipe {
    /// The configuration in which the model was trained.
    ///
    /// # Errors
    /// No training can have been in it, in words.
    pub fn config(&self) -> Result<Config, String> {
        Config::of(self.machine.clone(), self.numbers.clone())
    }

    /// What no training can have had, in words.
    pub(crate) fn impossible(&self) -> Option<String> {
        self.train.impossible().map(|(_, why)| why.to_owned()).or_else(|| self.config().err())
    }
}

/// The keys that are given, without those that are left out.
fn given<S: Serializer>(spec: &MachineSpec, serializer: S) -> Result<S::Ok, S::Error> {
    let mut keys = serde_json::to_value(spec).map_err(S::Error::custom)?;
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|_, value| *value != Value::Null);
    }
    keys.serialize(serializer)
}
