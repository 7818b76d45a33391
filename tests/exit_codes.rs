//! Every exit code that docs/command-line.md lists has a command that ends with it.
//!
//! 3 (simulators disagree) and 101 (a bug) need a wrong simulator: `tests/faults.rs` makes one.

mod tool;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use tool::{file, tool};

const LOGISTIC: &str = "programs/logistic.t";

#[test]
fn each_exit_code_has_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = file(folder.path(), "wrong.t", "model_input x[3];\nh = x[0] * v;\n");
    let small = file(folder.path(), "small.toml", "[machine]\npus = 1\npes_per_pu = 1\nmodel_depth = 4\n");
    let blocked = file(folder.path(), "file", "") + "/out";
    let empty = folder.path().join("empty").display().to_string();
    fs::create_dir(&empty).unwrap();
    let narrow = file(folder.path(), "narrow.toml", "[numbers.fractions]\ns = 15\n");
    let twice = file(folder.path(), "twice.tc", "def f(float(1) x) -> (s) {\n  s(i) = x(i) * 2.0\n}\n");
    let one = file(folder.path(), "one.json", r#"{"x": [1]}"#);
    let clipped = ["eval", &twice, "--inputs", &one, "--config", &narrow, "--engine", "fixed", "--deny-saturation"];
    let few = file(folder.path(), "few.toml", "[numbers.fractions]\ns = 1\n");
    let third = file(folder.path(), "third.json", r#"{"x": [0.3]}"#);
    let coarse = ["eval", &twice, "--inputs", &third, "--config", &few, "--engine", "fixed", "--deny-inaccuracy"];
    let cases: [(i32, &[&str], &str); 9] = [
        (0, &["check", LOGISTIC], "no errors"),
        (1, &["check", &wrong], "E-UNDEF"),
        (2, &["check", LOGISTIC, "--no-such-option"], "--no-such-option"),
        (2, &["check", LOGISTIC, "--out", "x"], "--out has no effect"),
        (4, &["explain", LOGISTIC, "--config", &small], "E-BACKEND"),
        (5, &["sim", LOGISTIC, "--config", "tiny", "--steps", "1"], "scripts/setup"),
        (6, &["build", LOGISTIC, "--config", "tiny", "--out", &blocked], "cannot write"),
        (7, &clipped, "clipped"),
        (8, &coarse, "16 bits do not suffice"),
    ];
    let mut seen = BTreeSet::new();
    for (code, arguments, word) in cases {
        let mut command = tool(arguments);
        if code == 5 {
            // No tools: neither ours nor the system's.
            command.env("TABLA_GEN_TOOLS", &empty).env("PATH", &empty).env_remove("VERILATOR_ROOT");
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: no {word:?} in {said}");
        seen.insert(code);
    }
    // Interrupted.
    let train = ["train", LOGISTIC, "--data", "examples/breast_cancer.csv", "--epochs", "1000000"];
    let mut child = tool(&train).stdout(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    seen.extend(child.wait().unwrap().code());
    for (code, test) in [(3, "other_words_are_a_mismatch"), (101, "a_grid_that_never_answers_is_a_bug")] {
        let text = include_str!("faults.rs").split("#[test]").find(|text| text.contains(test)).expect(test);
        assert!(text.contains(&format!("assert_eq!(code, Some({code})")), "{test} expects {code}");
        seen.insert(code);
    }
    let page = include_str!("../docs/command-line.md");
    let listed: BTreeSet<i32> = page.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect();
    assert_eq!(seen, listed);
}
