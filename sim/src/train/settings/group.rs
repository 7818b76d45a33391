//! The groups of `[train]`: how a training goes (also in `[build]` and on the command line), optimiser, clipping, schedule, rounding.

use super::flat::{Beside, Group, Said, Wrong, describe, keys_of, write};
use super::{Columns, Order, Reduction, Settings};
use crate::data::missing::Missing;
use crate::train::rate::Shape;
use compiler::choice::Choice;
use compiler::derived::optimisers::{Clip, Method};
use compiler::rounding::Rounding;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::{Deserializer, Error, MapAccess};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Keys that stand flat in a table, one row each; what is left out is `None`.
macro_rules! group {
    ($(#[$of:meta])* $name:ident { $($(#[$meta:meta])+ $key:ident: $type:ty,)+ }) => {
        $(#[$of])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$meta])+ #[serde(skip_serializing_if = "Option::is_none")] pub $key: Option<$type>,)+
        }

        impl $name {
            /// These, and where they say nothing `weaker`.
            #[must_use]
            pub fn or(self, weaker: $name) -> $name {
                $name { $($key: self.$key.or(weaker.$key)),+ }
            }
        }

        impl Group for $name {
            fn keys() -> Vec<&'static str> {
                vec![$(stringify!($key)),+]
            }

            fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                match key {
                    $(stringify!($key) => self.$key = map.next_value()?,)+
                    _ => unreachable!("`{key}` is not one of these keys"),
                }
                Ok(())
            }
        }
    };
}

group! {
    /// How a training goes; `None` leaves it to who is weaker.
    #[derive(Copy)]
    Choices {
        /// Passes over the training part; default: 10.
        #[schemars(example = 20)]
        epochs: usize,
        /// Samples per update; default: 1.
        #[schemars(example = 1)]
        batch: u32,
        /// What a batch does with the gradients of its samples; default: their mean, where an incomplete last batch is left out
        #[schemars(example = &"mean")]
        reduction: Reduction,
        /// The order of the samples; default: `store`
        #[schemars(example = &"shuffled")]
        order: Order,
        /// Seed of split, order and initial weights; default: 1.
        #[schemars(example = 1)]
        seed: u64,
        /// Part of the rows that trains, the others test; default: 0.8.
        #[schemars(example = 0.8)]
        split: f64,
    }
}

group! {
    /// Which columns of a table are used, and how they are read; `None` leaves it to who is weaker.
    Selection {
        /// Target columns; default: as many last columns as the labels need.
        #[schemars(example = &"target")]
        target: Columns,
        /// Feature columns; default: all that are not the target.
        #[schemars(example = ["a", "b"])]
        features: Columns,
        /// Columns that are left out.
        #[schemars(example = ["id"])]
        drop: Columns,
        /// Feature columns of numbers that name categories; texts do so anyway.
        #[schemars(example = ["region"])]
        categories: Columns,
        /// Replacement of missing features, which the model keeps; default: `refuse`
        #[schemars(example = &"refuse")]
        missing: Missing,
    }
}

impl Choices {
    /// A value that no training can use, and why.
    pub fn impossible(&self) -> Option<(&'static str, &'static str)> {
        if self.batch == Some(0) {
            Some(("batch", "a batch has at least one sample"))
        } else if self.split.is_some_and(|split| !(split > 0.0 && split <= 1.0)) {
            Some(("split", "the part that trains lies above 0 and is at most 1"))
        } else {
            None
        }
    }

    /// Add its keys to the schema of a table.
    pub fn describe(schema: &mut Schema) {
        describe_flat::<Choices>(schema);
    }
}

/// Add the keys of a struct to the schema of a table.
fn describe_flat<T: JsonSchema>(schema: &mut Schema) {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let own = settings.into_generator().into_root_schema_for::<T>();
    let all = schema.ensure_object().entry("properties").or_insert_with(|| Value::Object(Map::new()));
    if let (Some(all), Some(own)) = (all.as_object_mut(), own.get("properties").and_then(Value::as_object)) {
        all.extend(own.clone());
    }
}

/// All groups of `[train]` as they are written.
#[derive(Default)]
struct Groups {
    choices: Choices,
    selection: Selection,
    said: Said,
}

const TAGS: [Option<&str>; 4] = [Method::TAG, Clip::TAG, Shape::TAG, Rounding::TAG];

fn keys_of_choices() -> Vec<&'static str> {
    [keys_of::<Method>(), keys_of::<Clip>(), keys_of::<Shape>(), keys_of::<Rounding>()].concat()
}

impl Group for Groups {
    fn keys() -> Vec<&'static str> {
        [Choices::keys(), Selection::keys(), keys_of_choices()].concat()
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match keys_of_choices().into_iter().find(|known| *known == key) {
            None if Selection::keys().contains(&key) => self.selection.take(key, map)?,
            None => self.choices.take(key, map)?,
            Some(tag) if TAGS.contains(&Some(tag)) => self.said.names.push((tag, map.next_value()?)),
            Some(key) => self.said.values.push((key, map.next_value()?)),
        }
        Ok(())
    }
}

impl Said {
    fn settings(&self) -> Result<(Method, Clip, Shape, Rounding), Wrong> {
        Ok((self.choose()?, self.choose()?, self.choose()?, self.choose()?))
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Settings, D::Error> {
        let mut groups = Groups::default();
        let plain = Settings::deserialize(Beside { table: deserializer, group: &mut groups })?;
        let chosen = groups.said.settings().map_err(|wrong| D::Error::custom(wrong.message))?;
        let (optimiser, clip, schedule, rounding) = chosen;
        Ok(Settings {
            choices: groups.choices,
            selection: groups.selection,
            optimiser,
            clip,
            schedule,
            rounding,
            ..plain
        })
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |value: Result<Value, serde_json::Error>| match value {
            Ok(Value::Object(table)) => Ok(table),
            _ => Err(<S::Error as serde::ser::Error>::custom("settings are a table")),
        };
        let mut table = of(Settings::serialize(self, serde_json::value::Serializer))?;
        table.extend(of(serde_json::to_value(self.choices))?);
        table.extend(of(serde_json::to_value(&self.selection))?);
        write(&self.optimiser, &mut table);
        write(&self.clip, &mut table);
        write(&self.schedule, &mut table);
        write(&self.rounding, &mut table);
        table.serialize(serializer)
    }
}

/// Add the keys of the groups to the schema of `[train]`.
pub(super) fn describe_settings(schema: &mut Schema) {
    Choices::describe(schema);
    describe_flat::<Selection>(schema);
    describe::<Method>(schema);
    describe::<Clip>(schema);
    describe::<Shape>(schema);
    describe::<Rounding>(schema);
}

impl Settings {
    /// What is wrong with optimiser, clipping, schedule and rounding in a table: a key without effect, or a value that none of them takes.
    pub fn wrong_choice(table: &toml::Table) -> Option<Wrong> {
        let mut said = Said::default();
        for key in keys_of_choices() {
            match table.get(key) {
                Some(toml::Value::String(name)) if TAGS.contains(&Some(key)) => said.names.push((key, name.clone())),
                Some(toml::Value::Float(value)) => said.values.push((key, *value)),
                Some(toml::Value::Integer(value)) => said.values.push((key, *value as f64)),
                _ => {}
            }
        }
        said.settings().err()
    }
}
