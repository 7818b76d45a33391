//! Messages beside the results: none in quiet mode, and no warnings about shipped programs.

mod tool;

use std::fs;
use std::path::Path;
use tool::{done, run};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

/// With `--quiet` results are the same, and stderr is empty; without it some say a lot.
#[test]
fn quiet_commands_leave_their_results_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, out, fresh) = (path("model.json"), path("out"), path("new"));
    // A table this small is worth a warning.
    let small = ["--config", "tiny", "--machine", "table_entries=256"];
    let training = ["--data", CANCER, "--epochs", "1"];
    let commands: [(&[&str], bool); 11] = [
        (&["check", LOGISTIC], false),
        (&["ir", LOGISTIC, "--after", "canonical"], false),
        (&["derive", "programs/linear.t"], false),
        (&[&["explain", LOGISTIC, "--data", CANCER], &small[..]].concat(), true),
        (&[&["build", LOGISTIC, "--data", CANCER, "--out", &out], &small[..]].concat(), true),
        (&[&["train", LOGISTIC, "--save", &model], &small[..], &training].concat(), true),
        (&[&["report", LOGISTIC, "--engine", "golden", "--out", &out], &small[..], &training].concat(), true),
        (&["predict", LOGISTIC, "--load", &model, "--data", CANCER], false),
        (
            &["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &path("in.json"), "--engine", "array"],
            false,
        ),
        (&["sim", LOGISTIC, "--engine", "array", "--steps", "2"], false),
        (&["init", &fresh], true),
    ];
    fs::write(path("in.json"), r#"{"x": [1, 2, 3], "y": 1, "w": [1, 1, 1]}"#).unwrap();
    for (command, talks) in commands {
        let _ = fs::remove_dir_all(&fresh);
        let loud = done(command);
        for quiet in ["--quiet", "-q"] {
            let _ = fs::remove_dir_all(&fresh);
            let found = done(&[command, &[quiet]].concat());
            assert_eq!((found.stderr.as_str(), found.stdout), ("", loud.stdout.clone()), "{command:?} {quiet}");
        }
        assert!(!talks || !loud.stderr.is_empty(), "{command:?} says nothing that it could leave out");
    }
    // Errors are said all the same.
    let refused = run(&["check", "no_such_program.t", "-q"]);
    assert!(refused.code != 0 && !refused.stderr.is_empty());
}

fn says_nothing_wrong(arguments: &[&str]) {
    let ran = done(arguments);
    let warned = |text: &str| text.contains("[W-") || text.contains("warning");
    assert!(!warned(&ran.stderr) && !warned(&ran.stdout), "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
}

/// The files of a folder with one of these extensions, by their paths.
fn files(folder: &str, extensions: &[&str]) -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let names = fs::read_dir(here).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let has = |name: &String| extensions.iter().any(|extension| name.ends_with(extension));
    let mut found: Vec<String> = names.filter(has).map(|name| format!("{folder}/{name}")).collect();
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Every program that is shipped, and each configuration with the program it names.
#[test]
fn shipped_programs_do_not_warn() {
    for program in [files("programs", &[".t", ".tc"]), files("programs/kernels", &[".tc"])].concat() {
        says_nothing_wrong(&["check", &program]);
    }
    // The reference has a value for every key, not a grid for a program.
    for config in files("configs", &[".toml"]).iter().filter(|config| !config.ends_with("reference.toml")) {
        says_nothing_wrong(&["explain", "--config", config]);
    }
}

/// On small boards, whose configurations were made for another program, and with functions that want a larger table.
#[test]
fn shipped_programs_do_not_warn_on_boards_and_with_data() {
    let boards = ["gatemate", "icebreaker", "tangnano9k", "tangnano20k", "ulx3s-25f"];
    for config in boards {
        for (program, data) in [("linear", "diabetes"), ("svm", "breast_cancer"), ("svm_published", "breast_cancer")] {
            let (program, data) = (format!("programs/{program}.t"), format!("examples/{data}.csv"));
            says_nothing_wrong(&["explain", &program, "--data", &data, "--config", config]);
        }
    }
    for config in ["tangnano9k", "ulx3s-25f", "ulx3s"] {
        says_nothing_wrong(&["explain", "programs/recommender.t", "--config", config]);
    }
    says_nothing_wrong(&["explain", "programs/kernels/rbf.tc", "--config", "ulx3s"]);
    let few = ["--limit", "40", "--epochs", "1", "--engine", "fixed"];
    let lenet = ["train", "programs/lenet.tc", "--data", "examples/digits.csv"];
    says_nothing_wrong(&[&lenet[..], &few].concat());
}
