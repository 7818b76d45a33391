//! Programs of every language through the command line.

#[path = "../sim/tests/cases/mod.rs"]
mod cases;
mod tool;

use serde_json::Value;
use std::path::Path;
use tool::{Ran, done, fails, file, run};

/// Equal within the tolerance of the golden evaluator; `null` is undefined and equal to itself only.
fn close(found: &Value, expected: &Value) -> bool {
    within(&|expected| 1e-9 + 1e-9 * expected.abs(), found, expected)
}

/// The same with a tolerance that depends on what is expected.
fn within(tolerance: &impl Fn(f64) -> f64, found: &Value, expected: &Value) -> bool {
    let close = |found: &Value, expected: &Value| within(tolerance, found, expected);
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| close(found, expected))
        }
        (Value::Number(_), Value::Number(_)) => {
            let (found, expected) = (found.as_f64().unwrap_or(f64::NAN), expected.as_f64().unwrap_or(f64::NAN));
            (found - expected).abs() <= tolerance(expected)
        }
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && expected.iter().all(|(name, value)| close(found.get(name).unwrap_or(&Value::Null), value))
        }
        _ => found == expected,
    }
}

/// What `eval` says of one program.
fn evaluated(folder: &Path, case: &Value, more: &[&str]) -> Ran {
    let program = format!("tests/conformance/{}", case["file"].as_str().unwrap());
    let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object()).flatten();
    let given: serde_json::Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    let inputs = file(folder, "in.json", Value::Object(given).to_string());
    let mut arguments = vec!["eval", &program, "--inputs", &inputs, "--format", "json"];
    if let Some(entry) = case["entry"].as_str() {
        arguments.extend(["--entry", entry]);
    }
    run(&[&arguments, more].concat())
}

/// What is wrong with `eval` on one program.
fn complaint(folder: &Path, case: &Value) -> Option<String> {
    let ran = evaluated(folder, case, &[]);
    let Ok(found) = serde_json::from_str::<Value>(&ran.stdout) else {
        return Some(format!("exit code {}, no JSON: {} {}", ran.code, ran.stdout, ran.stderr));
    };
    let said = format!("exit code {}, {found}", ran.code);
    if found["schema_version"] != 1 {
        return Some(said);
    }
    if case["kind"] == "positive" {
        let words = |value: &Value| value.as_str().map(|text| text.split_whitespace().collect::<String>());
        let same = case["expect"].as_object().unwrap().iter().all(|(part, expected)| match expected.as_object() {
            Some(names) => names.iter().all(|(name, expected)| close(&found[part][name], expected)),
            None => words(&found[part]) == words(expected),
        });
        return (ran.code != 0 || !same).then_some(said);
    }
    let (first, expected) = (&found["diagnostics"][0], &case["error"]);
    let also = expected["also_accept"].as_array().into_iter().flatten();
    let class = [&expected["class"]].into_iter().chain(also).any(|class| *class == first["code"]);
    let line = expected["line"].is_null() || first["line"] == expected["line"];
    let right = ran.code == 1 && class && line && first["severity"] == "error" && found.get("values").is_none();
    (!right).then(|| format!("{said}, not {expected}"))
}

#[test]
fn conformance_programs_through_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (mut programs, mut complaints) = (0, Vec::new());
    for case in &cases::all() {
        let file = format!("tests/conformance/{}", case["file"].as_str().unwrap());
        programs += 1;
        complaints.extend(complaint(folder.path(), case).map(|complaint| format!("{file}: {complaint}")));
    }
    assert!(programs >= 282);
    assert!(complaints.is_empty(), "{} of {programs} programs:\n{}", complaints.len(), complaints.join("\n"));
}

/// The largest number in a value.
fn largest(value: &Value) -> f64 {
    match value {
        Value::Array(list) => list.iter().map(largest).fold(0.0, f64::max),
        other => other.as_f64().map_or(0.0, f64::abs),
    }
}

/// A warning that always comes is none: of the programs whose words are right, few are warned of their numbers.
#[test]
fn right_words_are_seldom_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let (mut right, mut warned) = (0, Vec::new());
    for case in cases::all().iter().filter(|case| case["expect"]["values"].is_object()) {
        let ran = evaluated(folder.path(), case, &["--engine", "fixed"]);
        let Ok(found) = serde_json::from_str::<Value>(&ran.stdout) else { panic!("{}", ran.stderr) };
        // One percent of the largest value of each result, as W-ACCURACY has it.
        let same = |(name, expected): (&String, &Value)| {
            let tolerance = 0.01 * largest(expected);
            within(&|_| tolerance, &found["values"][name], expected)
        };
        if !case["expect"]["values"].as_object().unwrap().iter().all(same) {
            continue;
        }
        right += 1;
        let said = format!("{}{}", found["diagnostics"], ran.stderr);
        if ["W-ACCURACY", "W-NUMBER", "W-CALIBRATION", "W-STALL"].iter().any(|code| said.contains(code)) {
            warned.push(case["file"].to_string());
        }
    }
    assert!(right >= 190, "{right}");
    assert!(20 * warned.len() <= right, "{} of {right}: {}", warned.len(), warned.join(", "));
}

#[test]
fn sizes_from_inputs_on_every_rung() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = file(folder.path(), "in.json", r#"{"A": [1.0, -2.0, 0.5]}"#);
    for engine in ["golden", "fixed", "array"] {
        let arguments = ["eval", "tests/conformance/tc/copy1d.tc", "--inputs", &inputs, "--engine", engine];
        let result = done(&[&arguments[..], &["--format", "json"]].concat()).json();
        assert_eq!(result["values"]["O"], serde_json::json!([1.0, -2.0, 0.5]), "{engine}");
        assert_eq!(result.get("next"), None, "nothing is updated");
    }
    let tabla = ["eval", "tests/conformance/tabla/bench_linear_3.t", "--entry", "f"];
    fails(&tabla, 2, &["--entry f", "have no functions"]);
}
