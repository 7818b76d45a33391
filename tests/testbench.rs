//! The testbench that `build` writes: it needs nothing but Verilator and make, passes, and fails when anything is altered.

use arch::tools::Toolbox;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Generate a small grid for the logistic regression into `out`.
fn build(out: &Path, program: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    command.args(["--config", "tiny", "build"]).arg(program).arg("--out").arg(out);
    let output = command.arg("--data").arg(root.join("examples/breast_cancer.csv")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `make` in the testbench, with the pinned Verilator, as fast to compile as it gets.
fn make(out: &Path, target: &[&str]) -> Output {
    let root = Toolbox::default().package("verilator").unwrap_or_else(|missing| panic!("{missing}; run scripts/setup"));
    let mut command = Command::new("make");
    command.arg("-C").arg(out.join("testbench")).args(target).arg("OPT=-O0");
    command.arg(format!("VERILATOR={}", root.join("bin/verilator_bin").display()));
    command.env("VERILATOR_ROOT", &root).output().unwrap_or_else(|error| panic!("make: {error}; run scripts/setup"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

/// Replace the first `from` in a file.
fn alter(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn it_passes_and_fails_when_something_is_altered() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    build(&out, &Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/logistic.t"));
    let rtl = out.join("rtl/tabla.v");

    let output = make(&out, &["run"]);
    assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));
    let output = make(&out, &["run", "STALLS=7"]);
    assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));

    // Another expectation: the program is the same.
    let expected = out.join("testbench/expected.hex");
    let words = fs::read_to_string(&expected).unwrap();
    let last = words.lines().last().unwrap();
    let other = if last.ends_with('0') { '1' } else { '0' };
    fs::write(&expected, format!("{}{other}\n", words.trim_end().strip_suffix(last.chars().last().unwrap()).unwrap()))
        .unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: 1 of "), "{}", said(&output));
    fs::write(&expected, words).unwrap();

    // Another design: one product too large.
    alter(&rtl, PRODUCT.0, PRODUCT.1);
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: "), "{}", said(&output));

    fs::write(&expected, "zz\n").unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("'zz' is not a number"), "{}", said(&output));
    fs::remove_file(&expected).unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("cannot read ./expected.hex"), "{}", said(&output));
}

/// A function has one, too: its records are the samples.
#[test]
fn a_function_has_a_testbench() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = "def dot(float(N) A, float(N) B) -> (s) {\n  s +=! A(i) * B(i)\n}\n\
                def other(float(N) A) -> (m) {\n  m max=! A(i)\n}\n";
    let records = r#"[{"A": [1.0, -2.0, 3.0], "B": [0.5, 0.25, 1.5]}, {"A": [0.5, 0.5, 0.25], "B": [1, 2, 3]}]"#;
    fs::write(folder.path().join("dot.tc"), text).unwrap();
    fs::write(folder.path().join("in.json"), records).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(["--config", "tiny", "build", "dot.tc", "--entry", "dot", "--inputs", "in.json", "--out", "out"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(out.join("dot.core").is_file());
    let output = make(&out, &["run"]);
    // One word per record, and the records come round until there are sixteen.
    assert!(output.status.success() && said(&output).contains("PASS: 16 words"), "{}", said(&output));
    alter(&out.join("rtl/tabla.v"), PRODUCT.0, PRODUCT.1);
    let output = make(&out, &["run", "STALLS=3"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: "), "{}", said(&output));
}

/// What a grid multiplies, and what it would be wrong to.
const PRODUCT: (&str, &str) = ("product <= held_a * ", "product <= 1 + held_a * ");

/// Nothing that the user calls something reaches a Makefile, a script or a core.
#[test]
fn a_hostile_name_is_only_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("$(touch owned) `touch owned`; \"x\".t");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("programs/logistic.t"), &program).unwrap();
    fs::copy(root.join("programs/logistic.toml"), program.with_extension("toml")).unwrap();
    let out = folder.path().join("out");
    build(&out, &program);
    let mut names: Vec<String> =
        fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let core =
        names.iter().find(|name| Path::new(name).extension().is_some_and(|extension| extension == "core")).unwrap();
    assert!(core.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'), "{core}");
    for name in ["testbench/Makefile", "testbench/main.cpp", "testbench/grid.h", "rtl/tabla.v", core] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(!text.contains("touch owned") && !text.contains("$(touch"), "{name}");
    }
}
