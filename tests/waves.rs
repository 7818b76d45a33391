//! `sim --wave`: the files appear beside each other or not at all, and show the source line that runs.

use std::path::Path;
use std::process::{Command, Output};

fn sim(folder: &Path, arguments: &[&str]) -> Output {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/logistic.t");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(["--config", "tiny", "sim", "--steps", "3"]).arg(program);
    if !arguments.contains(&"--engine") {
        command.args(["--engine", "array"]);
    }
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn waves_show_the_source() {
    let folder = tempfile::tempdir().unwrap();
    let output = sim(folder.path(), &["--wave", "run.vcd"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(folder.path()), ["run.gtkw", "run.sucl", "run.vcd"]);
    let text = std::fs::read_to_string(folder.path().join("run.vcd")).unwrap();
    let program = include_str!("../programs/logistic.t");
    let (number, line) =
        program.lines().zip(1..).find(|(line, _)| line.starts_with("h = sum")).map(|(l, n)| (n, l)).unwrap();
    let shown = format!("s{number}: {line} ").replace(' ', "\\040").trim_end_matches("\\040").to_owned();
    // Alone, or before the lines that are computed by the same instruction.
    assert!([" ", "\\040|\\040"].iter().any(|after| text.contains(&format!("{shown}{after}"))), "{shown}");
    assert!(text.contains("round("), "the text of an instruction");
    // The same input gives the same bytes.
    sim(folder.path(), &["--wave", "again.vcd"]);
    assert_eq!(text, std::fs::read_to_string(folder.path().join("again.vcd")).unwrap());
    let output =
        sim(folder.path(), &["--wave", "part.fst", "--wave-samples", "1..2", "--wave-pu", "1", "--stalls", "3"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::metadata(folder.path().join("part.fst")).unwrap().len() > 1000);
}

#[test]
fn impossible_waves_are_refused_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code, says) in [
        (&["--wave", "run.txt"][..], 2, ".vcd or .fst"),
        (&["--wave", "run.vcd", "--wave-pu", "99"], 2, "the grid has PUs"),
        (&["--wave", "run.vcd", "--wave-samples", "3..4"], 2, "only 3 samples"),
        (&["--wave", "run.vcd", "--wave-cycles", "9..9"], 2, "empty"),
        (&["--wave", "run.vcd", "--wave-cycles", "99999999..100000000"], 2, "shorter"),
        (&["--wave-cycles", "1..2"], 2, "--wave"),
        (&["--wave", "/dev/full/run.vcd"], 6, "cannot write"),
        (&["--engine", "fixed"], 2, "array or rtl"),
    ] {
        let output = sim(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert!(names(folder.path()).is_empty(), "{arguments:?}: {:?}", names(folder.path()));
    }
}

/// A function's records are steps like those of a training.
#[test]
fn functions_have_waves() {
    let folder = tempfile::tempdir().unwrap();
    let text = "def mean(float(N) A) -> (m) {\n  s +=! A(i)\n  m = s / N\n}\n\
                def twice(float(N) A) -> (D) {\n  D(i) = A(i) + A(i)\n}\n";
    std::fs::write(folder.path().join("two.tc"), text).unwrap();
    std::fs::write(folder.path().join("in.json"), r#"[{"A": [1.0, -2.0, 3.0]}, {"A": [0.5, 0.5, 0.25]}]"#).unwrap();
    let sim = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
        command.args(["--config", "tiny", "sim", "two.tc", "--inputs", "in.json", "--engine", "array", "--steps", "3"]);
        command.args(arguments).current_dir(folder.path()).output().unwrap()
    };
    let mut recorded = Vec::new();
    for (entry, line) in [("mean", "s2: s\\040+=!\\040A(i)"), ("twice", "s6: D(i)\\040=\\040A(i)\\040+\\040A(i)")] {
        let name = format!("{entry}.vcd");
        let output = sim(&["--entry", entry, "--wave", &name]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let waves = std::fs::read_to_string(folder.path().join(&name)).unwrap();
        let line = line.replacen(' ', "\\040", 1);
        assert!(waves.contains(&line), "no {line} in the waves of {entry}");
        recorded.push(waves);
    }
    assert_ne!(recorded[0], recorded[1]);
    // The third record is the first one again; a window shows less.
    let output = sim(&["--entry", "mean", "--wave", "part.vcd", "--wave-samples", "1..2", "--stalls", "5"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read_to_string(folder.path().join("part.vcd")).unwrap().len() < recorded[0].len());
    let before = names(folder.path());
    for (arguments, says) in [
        (&["--wave", "no.vcd", "--wave-samples", "3..4"][..], "only 3 samples"),
        (&["--wave", "no.vcd", "--wave-pu", "99"], "the grid has PUs"),
        (&["--wave", "no.txt"], ".vcd or .fst"),
    ] {
        let output = sim(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(says), "{arguments:?}: {said}");
        assert_eq!(names(folder.path()), before);
    }
}
