//! `schema`: the JSON schemas of what this tool reads and writes, derived from the types that are read and written.
//!
//! `docs/schemas` has them for readers; `tests/schemas.rs` holds real documents to them.

use crate::arguments::{Global, Schema as Options};
use crate::commands::about::{cache, code, doctor};
use crate::commands::measure::{accuracy, bench, explore, kernels, networks, system};
use crate::commands::score::deploy;
use crate::commands::{build, derive, eval, graph, init, place, predict, prove, run, sim, synth, weights};
use crate::output;
use fpga::board::Board;
use fpga::family::Facts;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use workbench::build::hardware;
use workbench::build::layout::Layout;
use workbench::build::segments::InSegments;
use workbench::config::ConfigFile;
use workbench::documents::{Document, Problems};
use workbench::functions::score::Scored;
use workbench::model_file::ModelFile;
use workbench::report::ReportDocument;
use workbench::report::comparison::Comparison;
use workbench::report::{explanation, trained};
use workbench::settings::ProgramFile;
use workbench::{Failure, checkpoint::Checkpoint, writing};

/// One document: name, what it is, and its schema.
type Entry = (&'static str, &'static str, fn() -> Schema);

/// All of them.
const SCHEMAS: &[Entry] = &[
    ("accuracy", "Result of `accuracy`", written::<Document<accuracy::Widths>>),
    ("bench", "Result of `bench`", written::<Document<bench::Benchmarks>>),
    ("bench_kernels", "Result of `bench --kernels`", written::<Document<kernels::Kernels>>),
    ("bench_networks", "Result of `bench --networks`", written::<Document<networks::Networks>>),
    ("bench_system", "Result of `bench --system`", written::<Document<system::Systems>>),
    ("bitstream", "Result of `bitstream`", written::<Document<hardware::Made>>),
    ("board", "A board (TOML)", read::<Board>),
    ("build", "Result of `build`", written::<Document<build::Written<'static>>>),
    ("cache", "Result of `cache`", written::<Document<cache::Kept>>),
    ("checkpoint", "A training that can go on, which `train --checkpoint` writes", read::<Checkpoint>),
    ("code", "Result of `explain CODE`: a diagnostic code", written::<Document<code::Explained>>),
    ("comparison", "Result of `report A B`: reports side by side", written::<Document<Comparison>>),
    ("config", "A configuration (TOML)", read::<ConfigFile>),
    ("deploy", "Result of `deploy`", written::<Document<deploy::Written>>),
    ("derive", "Result of `derive`", written::<Document<derive::Derived>>),
    ("diagnostics", "What is wrong: `check`, and every command that fails", written::<Problems>),
    ("doctor", "Result of `doctor`", written::<Document<doctor::Tools>>),
    ("eval", "Result of `eval`", written::<Document<eval::Evaluated>>),
    ("explain", "Result of `explain`", written::<Document<explanation::Explanation>>),
    ("explore", "Result of `explore`; `report/table.json` of a workflow", written::<Document<explore::Machines>>),
    ("family", "A device family (TOML)", read::<Facts>),
    ("graph", "Result of `graph`", written::<Document<graph::Dependences>>),
    ("init", "Result of `init`", written::<Document<init::Begun>>),
    ("layout", "`layout.json`: how tensors travel on the streams", written::<Layout>),
    ("model", "A trained model, which `train --save` writes", read::<ModelFile>),
    ("place", "Result of `place`", written::<Document<place::Placed>>),
    ("predict", "Result of `predict`", written::<Document<predict::Predicted>>),
    ("prove", "Result of `prove`", written::<Document<prove::Judgement>>),
    (
        "report",
        "`report.json`: what `build` and `report` write; training, timeline and placement only from `report`",
        written::<ReportDocument<'static>>,
    ),
    ("run", "Result of `run` that trains", written::<Document<trained::Trained>>),
    ("run_function", "Result of `run` of a function", written::<Document<run::FunctionRun>>),
    ("segments", "`segments.json`: what segments run, read and write", written::<InSegments>),
    ("settings", "The TOML beside a program: its [train] and [function] tables", read::<ProgramFile>),
    ("score", "Result of `score`", written::<Document<Scored>>),
    ("sim", "Result of `sim`", written::<Document<sim::Simulated>>),
    ("summary", "`fpga/summary.json`, which `bitstream` writes", written::<hardware::Summary>),
    ("sweep", "`points.json` of a workflow, which `explore --workflow` writes", written::<explore::sweep::Sweep>),
    ("synth", "Result of `synth`", written::<Document<synth::Synthesised>>),
    ("train", "Result of `train`", written::<Document<trained::Trained>>),
    ("weights", "Result of `weights`", written::<Document<weights::Listed>>),
];

/// The schema of something that this tool writes.
fn written<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of something that this tool reads.
fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}

fn text((_, title, schema): &Entry) -> String {
    let mut schema = schema();
    schema.insert("title".to_owned(), (*title).into());
    writing::pretty(&schema)
}

/// Names of the schemas.
#[derive(Serialize)]
struct Names {
    schemas: Vec<&'static str>,
}

/// Print one, or the names.
pub fn run(global: &Global, options: &Options) -> Result<(), Failure> {
    let names = || SCHEMAS.iter().map(|(name, ..)| *name).collect::<Vec<_>>();
    let Some(wanted) = &options.name else {
        return output::either(
            global.format,
            || names().join("\n") + "\n",
            || Document::new(Names { schemas: names() }),
        );
    };
    match SCHEMAS.iter().find(|(name, ..)| name == wanted) {
        Some(entry) => output::result(&text(entry)),
        None => Err(Failure::Usage(format!("there is no schema `{wanted}`; there are {}", names().join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
    }

    /// The page that lists them.
    fn page() -> String {
        let rows = SCHEMAS.iter().map(|(name, title, _)| format!("| [{name}.json]({name}.json) | {title} |\n"));
        let head = "# Schemas\n\nJSON schemas of what `tabla-gen` reads and writes, derived from its types; `tabla-gen schema NAME` prints one.\n\n";
        format!("{head}| schema | of what |\n|---|---|\n{}", rows.collect::<String>())
    }

    const REFERENCE: &str = "../../configs/reference.toml";
    const MANUAL: &str = "../command-line.md";

    /// `KEY = EXAMPLE  # what it is`, in lines of at most 140 characters.
    fn row(indent: usize, key: &str, example: &str, text: &str) -> String {
        let (mut rows, mut line) = (String::new(), format!("{:indent$}#", format!("{key} = {example} ")));
        for word in text.split(' ') {
            if line.chars().count() + 1 + word.chars().count() > 140 {
                rows += &(line + "\n");
                line = format!("{:indent$}#", "");
            }
            line += &format!(" {word}");
        }
        rows + &line + "\n"
    }

    /// A value in one line of TOML.
    fn toml(value: &Value) -> String {
        match value {
            Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
            Value::Object(table) => {
                let entries: Vec<String> =
                    table.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
                format!("{{ {} }}", entries.join(", "))
            }
            other => other.to_string(),
        }
    }

    /// The names that a value may be.
    fn names(schema: &Value, all: &Value) -> Vec<String> {
        let of = |schema: &Value| names(schema, all);
        let listed = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
        let listed: Vec<String> = listed.filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        let referred = schema["$ref"].as_str().map_or(Vec::new(), |at| of(&all[at.trim_start_matches("#/$defs/")]));
        let parts = ["anyOf", "oneOf"].iter().filter_map(|part| schema[*part].as_array()).flatten().flat_map(of);
        listed.into_iter().chain(referred).chain(parts).collect()
    }

    /// The `[train]` table of the manual.
    fn train_table() -> String {
        let schema = serde_json::to_value(read::<ProgramFile>()).unwrap();
        let (all, settings) = (&schema["$defs"], &schema["$defs"]["Settings"]);
        let excluded = settings["dependentSchemas"].as_object().into_iter().flat_map(|keys| keys.values());
        let excluded: Vec<&Value> = excluded.filter_map(|beside| beside["not"]["anyOf"].as_array()).flatten().collect();
        let mut table = "[train]\n".to_owned();
        for (key, property) in settings["properties"].as_object().unwrap() {
            let example = &property["examples"][0];
            assert!(!example.is_null(), "write `#[schemars(example = ..)]` beside the setting `{key}`");
            let mut text = property["description"].as_str().unwrap().trim_end_matches('.').to_owned();
            let names = names(property, all);
            if !names.is_empty() {
                text += &format!(" ({})", names.join(", "));
            }
            if let Some(default) = property.get("default") {
                text += &format!("; default: {}", toml(default));
            }
            // Of keys that exclude each other the first one is written.
            let is_excluded = excluded.iter().any(|keys| keys["required"][0] == key.as_str());
            table += &row(28, &format!("{}{key}", if is_excluded { "# " } else { "" }), &toml(example), &text);
        }
        table
    }

    /// A page with another text from `begin` to `end`, both of which stay.
    fn with(name: &str, [begin, end]: [&str; 2], text: &str) -> (String, String) {
        let page = fs::read_to_string(folder().join(name)).unwrap();
        let from = page.find(begin).unwrap() + begin.len();
        let to = from + page[from..].find(end).unwrap();
        (name.to_owned(), format!("{}{text}{}", &page[..from], &page[to..]))
    }

    /// `ACCEPT=1 cargo test --bin tabla-gen schemas` writes them, and what else follows from these types.
    #[test]
    fn committed_schemas_are_those_of_the_types() {
        let keys = arch::machine::keys();
        let machine: String = keys.iter().map(|key| row(24, key.name, &key.example, &key.text)).collect();
        let pages = [
            with(REFERENCE, ["[machine]\n", "\n\n"], machine.trim_end()),
            with(
                MANUAL,
                [
                    "beside the program (`logistic.t`, `logistic.toml`) holds what the program leaves open:\n\n```toml\n",
                    "```",
                ],
                &train_table(),
            ),
        ];
        let schemas = SCHEMAS.iter().map(|entry| (format!("{}.json", entry.0), text(entry)));
        let files: Vec<(String, String)> = schemas.chain([("README.md".to_owned(), page())]).collect();
        for (name, text) in files.iter().chain(&pages) {
            let path = folder().join(name);
            if std::env::var_os("ACCEPT").is_some() {
                fs::write(&path, text).unwrap();
            }
            let committed = fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == *text, "docs/schemas/{name}: ACCEPT=1 cargo test --bin tabla-gen schemas");
        }
        let names: BTreeSet<String> = files.into_iter().map(|(name, _)| name).collect();
        let there: BTreeSet<String> =
            fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(there, names);
    }

    /// Properties without a description, with their places. The name of an alternative is described by the alternative.
    fn silent(schema: &Value, place: &str, alternative: bool, found: &mut Vec<String>) {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let several = properties.clone().count() > 1;
        for (name, property) in properties {
            let place = format!("{place}.{name}");
            let names_it = alternative && (property.get("const").is_some() || !several);
            if !names_it && !property["description"].is_string() {
                found.push(place.clone());
            }
            silent(property, &place, false, found);
        }
        for inner in schema["oneOf"].as_array().into_iter().flatten() {
            silent(inner, place, inner["description"].is_string(), found);
        }
        for (name, inner) in schema["$defs"].as_object().into_iter().flatten() {
            silent(inner, name, false, found);
        }
        let others = ["items", "additionalProperties", "anyOf", "allOf", "prefixItems"];
        for inner in others.into_iter().filter_map(|key| schema.get(key)) {
            for inner in inner.as_array().map_or(vec![inner], |list| list.iter().collect()) {
                silent(inner, place, false, found);
            }
        }
    }

    #[test]
    fn every_field_is_described() {
        let mut found = Vec::new();
        for entry in SCHEMAS {
            let schema: Value = serde_json::from_str(&text(entry)).unwrap();
            assert!(schema["title"].is_string() && schema["type"] == "object", "{}", entry.0);
            silent(&schema, entry.0, false, &mut found);
        }
        assert!(found.is_empty(), "fields without a word: {}", found.join(", "));
        let mut one = Vec::new();
        silent(&serde_json::json!({ "properties": { "a": { "type": "string" } } }), "x", false, &mut one);
        assert_eq!(one, ["x.a"]);
    }
}
