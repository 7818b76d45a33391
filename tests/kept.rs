//! Files that version 0.2 wrote (tests/kept), read today: a model, a checkpoint, a layout and a report, each with the version of its form.

mod tool;

use serde_json::Value;
use std::fs;
use std::path::Path;
use tool::{done, fails, file, schema};

fn kept(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kept").join(name).display().to_string()
}

fn document(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(kept(name)).unwrap()).unwrap()
}

#[test]
fn a_model_predicts_as_it_did() {
    let data = kept("line.csv");
    let line = ["predict", &kept("line.t"), "--data", &data, "--engine", "fixed", "--format", "json", "--load"];
    let predicted = done(&[&line[..], &[&kept("model.json")]].concat()).json();
    let then = document("predicted.json");
    assert_eq!((&predicted["predictions"], &predicted["raw"]), (&then["predictions"], &then["raw"]));
    // y is 0.5 + a - 0.25 b.
    for (found, row) in
        then["predictions"].as_array().unwrap().iter().zip(fs::read_to_string(&data).unwrap().lines().skip(1))
    {
        let row: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!((found.as_f64().unwrap() - row[2]).abs() < 0.5, "{found} for {row:?}");
    }
    // A file of no version, and of one to come.
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(kept("model.json")).unwrap();
    for (changed, word) in [("", "format_version"), ("\"format_version\": 9,", "version 9")] {
        let model = file(folder.path(), "model.json", text.replace("\"format_version\": 1,", changed));
        let line = ["predict", &kept("line.t"), "--data", &data, "--load", &model];
        fails(&line, 1, &[word]);
    }
}

#[test]
fn a_checkpoint_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = file(folder.path(), "checkpoint.json", fs::read_to_string(kept("checkpoint.json")).unwrap());
    let (program, data) = (kept("line.t"), kept("line.csv"));
    let line = [
        "train", &program, "--config", "tiny", "--data", &data, "--engine", "array", "--epochs", "4", "--format",
        "json",
    ];
    let resumed = done(&[&line[..], &["--resume", &checkpoint]].concat()).json();
    let whole = done(&line).json();
    assert_eq!(resumed["test"], whole["test"]);
}

#[test]
fn documents_hold_their_schemas() {
    for name in ["model", "checkpoint", "layout", "report"] {
        let document = document(&format!("{name}.json"));
        schema::holds(&document, name);
        let version = document.get("format_version").or(document.get("schema_version"));
        assert!(version.is_some_and(Value::is_u64), "{name} has no version");
    }
}
