//! The longer promises on real data, as a user runs them; the short ones are in `cli.rs`.

use serde_json::Value;
use std::process::Command;

/// Run `train` with these arguments; the document it prints.
fn train(program: &str, data: &str, arguments: &[&str]) -> Value {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.current_dir(root).args([
        "train",
        &format!("programs/{program}.t"),
        "--data",
        &format!("examples/{data}.csv"),
    ]);
    let output = command.args(arguments).args(["--format", "json", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn figure(document: &Value, part: &str, engine: &str, name: &str) -> f64 {
    document[part][engine][name].as_f64().unwrap_or_else(|| panic!("no {part} {engine} {name} in {document}"))
}

fn nothing_differs(document: &Value) {
    assert_eq!(document["words_differing"], 0, "{document}");
    assert!(document["words_compared"].as_u64().unwrap() > 0, "{document}");
}

#[test]
fn two_layers_on_the_array() {
    let document = train("backpropagation", "digits", &[]);
    assert!(figure(&document, "test", "array", "accuracy") >= 0.90, "{document}");
    nothing_differs(&document);
}

#[test]
fn logistic_regression_on_the_rtl_of_a_board() {
    let document =
        train("logistic", "breast_cancer", &["--engine", "rtl", "--config", "configs/ulx3s.toml", "--epochs", "5"]);
    assert!(figure(&document, "test", "rtl", "accuracy") >= 0.95, "{document}");
    nothing_differs(&document);
}

#[test]
fn two_layers_on_the_rtl_of_a_board() {
    let arguments = ["--engine", "rtl", "--config", "configs/ulx3s.toml", "--limit", "300", "--epochs", "1"];
    nothing_differs(&train("backpropagation", "digits", &arguments));
}
