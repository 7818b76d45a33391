//! Real documents are what the schemas say: every command's, and the files it writes.

mod tool;

use serde_json::Value;
use std::fs;
use tool::schema::{complaints, holds};
use tool::{done, file, run};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

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

/// Sixteen bits, and results below 16.
fn is_near(document: &Value) {
    let distance = &document["distance_from_golden"];
    let of = |part: &str| distance[part].as_f64().expect("a number");
    assert!(of("absolute") < 0.01 && of("relative") < 0.01, "{distance}");
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
    let checkpoint = path("checkpoint.json");
    json(&[&["train", LOGISTIC, "--checkpoint", &checkpoint, "--engine", "fixed"][..], &train].concat());
    holds(&read(&checkpoint), "checkpoint");
    holds(&json(&["weights", &model]), "weights");
    let predicted = json(&["predict", LOGISTIC, "--data", CANCER, "--load", &model, "--engine", "fixed"]);
    holds(&predicted, "predict");
    is_near(&predicted);
    let golden = json(&["predict", LOGISTIC, "--data", CANCER, "--load", &model, "--engine", "golden"]);
    assert!(golden["distance_from_golden"].is_null());
    let inputs = file(folder.path(), "in.json", r#"{"x": [1, null, 3], "y": 1, "w": [1, 1, 1]}"#);
    holds(&json(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &inputs]), "eval");
    let inputs = file(folder.path(), "all.json", r#"{"x": [1, 2, 3], "y": 1, "w": [1, 1, 1]}"#);
    let below = json(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &inputs, "--engine", "fixed"]);
    holds(&below, "eval");
    is_near(&below);
    assert!(below["diagnostics"].is_null(), "{below}");
    let out = path("out");
    let build = json(&["build", "--config", "tiny", "--out", &out]);
    holds(&build, "build");
    for name in ["train/layout.json", "predict/layout.json"] {
        holds(&read(&format!("{out}/{name}")), "layout");
    }
    holds(&read(&format!("{out}/report.json")), "report");
    holds(&json(&["explain", "--config", "tiny"]), "explain");
    holds(&json(&["explain", "E-KIND"]), "code");
    holds(&json(&["explore", "--config", "tiny", "--pus", "1,2"]), "explore");
    holds(&json(&["graph", LOGISTIC]), "graph");
    holds(&json(&["derive", LOGISTIC]), "derive");
    holds(&json(&["init", &path("new")]), "init");
    holds(&json(&["doctor"]), "doctor");
    let quick = ["--data", CANCER, "--limit", "40", "--epochs", "1", "--words", "8,16"];
    holds(&json(&[&["accuracy", LOGISTIC][..], &quick].concat()), "accuracy");
    let simulated = json(&["sim", "--config", "tiny", "--steps", "2", "--engine", "array"]);
    holds(&simulated, "sim");
    is_near(&simulated);
    holds(&json(&["prove", "--config", "tiny"]), "prove");
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
    for folder in ["configs", "programs", "programs/kernels", "src/template"] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.extension().is_none_or(|extension| extension != "toml")
                || ["benchmarks.toml", "kernels.toml", "networks.toml", "system.toml"].contains(&name.as_str())
            {
                continue;
            }
            let document = toml(&fs::read_to_string(&path).unwrap());
            let kind = if document.get("train").is_some() { "settings" } else { "config" };
            let wrong = complaints(&document, kind);
            assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("\n"));
        }
    }
    for entry in fs::read_dir("fpga/families").unwrap() {
        let path = entry.unwrap().path().join("family.toml");
        let wrong = complaints(&toml(&fs::read_to_string(&path).unwrap()), "family");
        assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("\n"));
    }
    for entry in fs::read_dir("fpga/boards").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let wrong = complaints(&toml(&fs::read_to_string(&path).unwrap()), "board");
            assert!(wrong.is_empty(), "{}: {}", path.display(), wrong.join("\n"));
        }
    }
}
