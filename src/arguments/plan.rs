//! Options of a training, from the types of its settings: names, texts and values are those of [`Choices`] and [`Selection`].

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use sim::train::settings::Selection;
use std::sync::LazyLock;
use workbench::Choices;

/// Settings of a training; defaults are those of the `train` table beside the program, then of the configuration.
pub type PlanOptions = Options<Choices>;

/// The columns of its data.
pub type SelectionOptions = Options<Selection>;

/// Settings whose options follow from their type.
#[derive(Debug, Clone, Default)]
pub struct Options<T> {
    /// For the one place that decides.
    pub choices: T,
}

/// Settings that are all optional.
pub trait Chosen: Clone + Default + Send + Sync + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// These, and where they say nothing `weaker`.
    fn or(self, weaker: Self) -> Self;

    /// A value that no training can use, and why.
    fn impossible(&self) -> Option<&'static str>;

    /// Each setting with its schema.
    fn settings() -> &'static Map<String, Value>;
}

impl Chosen for Choices {
    fn or(self, weaker: Choices) -> Choices {
        self.or(weaker)
    }

    fn impossible(&self) -> Option<&'static str> {
        self.impossible().map(|(_, why)| why)
    }

    fn settings() -> &'static Map<String, Value> {
        static SETTINGS: LazyLock<Map<String, Value>> = LazyLock::new(properties::<Choices>);
        &SETTINGS
    }
}

impl Chosen for Selection {
    fn or(self, weaker: Selection) -> Selection {
        self.or(weaker)
    }

    fn impossible(&self) -> Option<&'static str> {
        None
    }

    fn settings() -> &'static Map<String, Value> {
        static SETTINGS: LazyLock<Map<String, Value>> = LazyLock::new(properties::<Selection>);
        &SETTINGS
    }
}

impl<T: Chosen> Options<T> {
    /// The options that are given, but for some.
    pub fn given(&self, but: &[&str]) -> Vec<String> {
        let given = serde_json::to_value(&self.choices).unwrap_or_default();
        let names = given.as_object().into_iter().flat_map(Map::keys).filter(|name| !but.contains(&name.as_str()));
        names.map(|name| format!("--{name}")).collect()
    }
}

/// Each setting of a type with its schema.
fn properties<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    match schema.remove("properties") {
        Some(Value::Object(settings)) => settings,
        _ => Map::new(),
    }
}

/// A text without the full stop that help has not.
fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// The names that a value may be, with their texts.
fn names(schema: &Value) -> Vec<(&str, String)> {
    if let Some(name) = schema["const"].as_str() {
        return vec![(name, text(schema))];
    }
    ["anyOf", "oneOf"].iter().filter_map(|part| schema[*part].as_array()).flatten().flat_map(names).collect()
}

/// Whether a setting is a list of texts.
fn is_list(schema: &Value) -> bool {
    ["anyOf", "oneOf"].iter().filter_map(|part| schema[*part].as_array()).flatten().any(is_list)
        || schema["type"] == "array"
}

/// One setting, of what was typed.
fn read<T: Chosen>(name: &str, value: Value) -> Result<T, String> {
    let table: Map<String, Value> = [(name.to_owned(), value)].into_iter().collect();
    let choices = serde_json::from_value::<T>(table.into()).map_err(|error| error.to_string())?;
    choices.impossible().map_or(Ok(choices), |why| Err(why.to_owned()))
}

fn parser<T: Chosen>(name: &'static str, schema: &'static Value) -> ValueParser {
    let names = names(schema);
    if is_list(schema) {
        let list = move |typed: &str| read::<T>(name, typed.split(',').map(str::trim).collect::<Vec<_>>().into());
        return ValueParser::new(list);
    }
    if names.is_empty() {
        let number = move |typed: &str| -> Result<T, String> {
            let value = serde_json::from_str::<Value>(typed).ok().filter(Value::is_number).ok_or("not a number")?;
            read(name, value)
        };
        return ValueParser::new(number);
    }
    let values = names.into_iter().map(|(name, text)| PossibleValue::new(name).help(text));
    PossibleValuesParser::new(values).try_map(move |typed| read::<T>(name, typed.into())).into()
}

impl<T: Chosen> Args for Options<T> {
    fn augment_args(command: Command) -> Command {
        T::settings().iter().fold(command, |command, (name, schema)| {
            let whole = schema["type"].to_string().contains("integer");
            let value = if is_list(schema) {
                "COLUMNS"
            } else if !names(schema).is_empty() {
                "NAME"
            } else if whole {
                "N"
            } else {
                "FRACTION"
            };
            let argument = Arg::new(name.as_str()).long(name.as_str()).value_name(value);
            command.arg(argument.help(text(schema)).value_parser(parser::<T>(name, schema)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Options::<T>::augment_args(command)
    }
}

impl<T: Chosen> FromArgMatches for Options<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Options<T>, clap::Error> {
        let mut options = Options::<T>::default();
        options.update_from_arg_matches(matches).map(|()| options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for name in T::settings().keys() {
            if let Some(typed) = matches.get_one::<T>(name) {
                self.choices = typed.clone().or(std::mem::take(&mut self.choices));
            }
        }
        Ok(())
    }
}
