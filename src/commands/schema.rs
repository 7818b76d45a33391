//! `schema`: the JSON schemas of what this tool reads and writes; `tests/schemas.rs` holds real documents to them.

use crate::arguments::{Global, Schema};
use crate::output;
use serde_json::json;
use workbench::Failure;

macro_rules! schemas {
    ($($name:literal),* $(,)?; $($same:literal as $other:literal),*) => {
        /// Name and text of each schema.
        const SCHEMAS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../docs/schemas/", $name, ".json"))),)*
            $(($same, include_str!(concat!("../../docs/schemas/", $other, ".json"))),)*
        ];
    };
}

schemas!(
    "accuracy",
    "bench",
    "bitstream",
    "build",
    "code",
    "config",
    "derive",
    "diagnostics",
    "doctor",
    "eval",
    "explain",
    "explore",
    "graph",
    "init",
    "layout",
    "model",
    "predict",
    "report",
    "settings",
    "sim",
    "summary",
    "synth",
    "train",
    "weights";
    "run" as "train"
);

/// Print one, or the names.
pub fn run(global: &Global, options: &Schema) -> Result<(), Failure> {
    let names = || SCHEMAS.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let Some(wanted) = &options.name else {
        return output::either(
            global.format,
            || names().join("\n") + "\n",
            || json!({ "schema_version": 1, "schemas": names() }),
        );
    };
    match SCHEMAS.iter().find(|(name, _)| name == wanted) {
        Some((_, text)) => output::result(text),
        None => Err(Failure::Usage(format!("there is no schema `{wanted}`; there are {}", names().join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_schema_is_json_and_says_what_it_is_of() {
        for (name, text) in super::SCHEMAS {
            let schema: serde_json::Value = serde_json::from_str(text).unwrap();
            assert!(schema["title"].is_string() && schema["type"] == "object", "{name}");
        }
    }
}
