//! Options of a training, from the type of its settings: names, texts and values are those of [`Choices`].

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::sync::LazyLock;
use workbench::Choices;

/// Settings of a training; defaults are those of the `train` table beside the program, then of the configuration.
#[derive(Debug, Clone, Default)]
pub struct PlanOptions {
    /// For the one place that decides.
    pub choices: Choices,
}

impl PlanOptions {
    /// The options that are given, but for some.
    pub fn given(&self, but: &[&str]) -> Vec<String> {
        let given = serde_json::to_value(self.choices).unwrap_or_default();
        let names = given.as_object().into_iter().flat_map(Map::keys).filter(|name| !but.contains(&name.as_str()));
        names.map(|name| format!("--{name}")).collect()
    }
}

/// Each setting with its schema.
static SETTINGS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<Choices>();
    match schema.remove("properties") {
        Some(Value::Object(settings)) => settings,
        _ => Map::new(),
    }
});

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

/// One setting, of what was typed.
fn read(name: &str, value: Value) -> Result<Choices, String> {
    let table: Map<String, Value> = [(name.to_owned(), value)].into_iter().collect();
    let choices = serde_json::from_value::<Choices>(table.into()).map_err(|error| error.to_string())?;
    choices.impossible().map_or(Ok(choices), |(_, why)| Err(why.to_owned()))
}

fn parser(name: &'static str, schema: &'static Value) -> ValueParser {
    let names = names(schema);
    if names.is_empty() {
        let number = move |typed: &str| -> Result<Choices, String> {
            let value = serde_json::from_str::<Value>(typed).ok().filter(Value::is_number).ok_or("not a number")?;
            read(name, value)
        };
        return ValueParser::new(number);
    }
    let values = names.into_iter().map(|(name, text)| PossibleValue::new(name).help(text));
    PossibleValuesParser::new(values).try_map(move |typed| read(name, typed.into())).into()
}

impl Args for PlanOptions {
    fn augment_args(command: Command) -> Command {
        SETTINGS.iter().fold(command, |command, (name, schema)| {
            let whole = schema["type"].to_string().contains("integer");
            let value = if !names(schema).is_empty() {
                "NAME"
            } else if whole {
                "N"
            } else {
                "FRACTION"
            };
            let argument = Arg::new(name.as_str()).long(name.as_str()).value_name(value);
            command.arg(argument.help(text(schema)).value_parser(parser(name, schema)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        PlanOptions::augment_args(command)
    }
}

impl FromArgMatches for PlanOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<PlanOptions, clap::Error> {
        let mut options = PlanOptions::default();
        options.update_from_arg_matches(matches).map(|()| options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for name in SETTINGS.keys() {
            if let Some(typed) = matches.get_one::<Choices>(name) {
                self.choices = typed.or(self.choices);
            }
        }
        Ok(())
    }
}
