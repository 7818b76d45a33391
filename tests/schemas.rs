//! Real documents are what the schemas say: every command's, and the files it writes.

mod tool;

use serde_json::Value;
use std::fs;
use tool::{done, file, run};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

/// The part of JSON Schema that our schemas use. What is wrong, with its place.
fn check(value: &Value, schema: &Value, root: &Value, place: &str, wrong: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let target = name.strip_prefix("#/$defs/").expect("references are to definitions of the schema");
        return check(value, &root["$defs"][target], root, place, wrong);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fits = |choice: &Value| {
            let mut found = Vec::new();
            check(value, choice, root, place, &mut found);
            found.is_empty()
        };
        if !choices.iter().any(fits) {
            wrong.push(format!("{place}: {value} is none of the choices"));
        }
    }
    if schema.get("const").is_some_and(|only| only != value) {
        wrong.push(format!("{place}: {value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        wrong.push(format!("{place}: {value} is not one of {}", schema["enum"]));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        wrong.push(format!("{place}: {value} is no {kinds:?}"));
        return;
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                wrong.push(format!("{place}: `{key}` is missing"));
            }
        }
        for (key, inner) in object {
            let inside = format!("{place}.{key}");
            match (schema["properties"].get(key), schema.get("additionalProperties")) {
                (Some(known), _) => check(inner, known, root, &inside, wrong),
                (None, Some(Value::Bool(false))) => wrong.push(format!("{inside} is not known")),
                (None, Some(any)) if any.is_object() => check(inner, any, root, &inside, wrong),
                (None, _) => {}
            }
        }
    }
    for (n, inner) in value.as_array().into_iter().flatten().enumerate() {
        if schema["items"].is_object() {
            check(inner, &schema["items"], root, &format!("{place}[{n}]"), wrong);
        }
    }
}

fn schema(name: &str) -> Value {
    done(&["schema", name]).json()
}

fn complaints(document: &Value, name: &str) -> Vec<String> {
    let schema = schema(name);
    let mut wrong = Vec::new();
    check(document, &schema, &schema, name, &mut wrong);
    wrong
}

fn holds(document: &Value, name: &str) {
    let wrong = complaints(document, name);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))).unwrap()
}

#[test]
fn a_wrong_document_is_noticed() {
    let document = serde_json::json!({ "schema_version": 2, "tensors": [{ "name": 7 }], "arrows": {} });
    let wrong = complaints(&document, "graph").join("\n");
    for part in
        ["graph.schema_version: 2 is not 1", "`program` is missing", "graph.tensors[0].name: 7", "graph.arrows: {}"]
    {
        assert!(wrong.contains(part), "no {part:?} in\n{wrong}");
    }
    let config = serde_json::json!({ "machine": { "puss": 3 } });
    assert_eq!(complaints(&config, "config"), ["config.machine.puss is not known"]);
}

#[test]
fn results_are_what_their_schemas_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let json = |arguments: &[&str]| done(&[arguments, &["--format", "json", "--quiet"]].concat()).json();
    let model = path("model.json");
    let train = ["--data", CANCER, "--config", "tiny", "--epochs", "2"];
    holds(&json(&[&["train", LOGISTIC, "--save", &model][..], &train].concat()), "train");
    holds(&read(&model), "model");
    holds(&json(&["weights", &model]), "weights");
    holds(&json(&["predict", LOGISTIC, "--data", CANCER, "--load", &model, "--engine", "fixed"]), "predict");
    let inputs = file(folder.path(), "in.json", r#"{"x": [1, null, 3], "y": 1, "w": [1, 1, 1]}"#);
    holds(&json(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &inputs]), "eval");
    let out = path("out");
    let build = json(&["build", "--config", "tiny", "--out", &out]);
    holds(&build, "build");
    for name in ["train/layout.json", "predict/layout.json"] {
        holds(&read(&format!("{out}/{name}")), "layout");
    }
    holds(&read(&format!("{out}/report.json")), "report");
    holds(&json(&["explain", "--config", "tiny"]), "explain");
    holds(&json(&["explore", "--config", "tiny", "--pus", "1,2"]), "explore");
    holds(&json(&["graph", LOGISTIC]), "graph");
    holds(&json(&["init", &path("new")]), "init");
    holds(&json(&["doctor"]), "doctor");
    let page = path("page");
    holds(&json(&[&["report", LOGISTIC, "--out", &page][..], &train].concat()), "report");
    holds(&json(&["bench", "linear_55", "--no-rtl"]), "bench");
    holds(&json(&["check", "programs/backpropagation.t"]), "diagnostics");
    let failed = run(&["check", "nowhere.t", "--format", "json"]);
    holds(&failed.json(), "diagnostics");
}

/// A TOML text as JSON.
fn toml(text: &str) -> Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}

#[test]
fn configs_and_settings_are_what_their_schemas_say() {
    for folder in ["configs", "programs", "src/template"] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_none_or(|extension| extension != "toml") || name == "benchmarks.toml" {
                continue;
            }
            let document = toml(&fs::read_to_string(&path).unwrap());
            let kind = if document.get("train").is_some() { "settings" } else { "config" };
            let wrong = complaints(&document, kind);
            assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("\n"));
        }
    }
    // Every key that the reference explains is in the schema: it allows no others.
    let reference = toml(&fs::read_to_string("configs/reference.toml").unwrap());
    assert!(reference["machine"].as_object().unwrap().len() >= 11);
}
