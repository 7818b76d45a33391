//! `deploy`: hardware is written if its Verilog, as it is written, scores as golden does.

mod tool;

use serde_json::{Value, json};
use std::path::Path;
use tool::{done, fails, file, run};

/// Deploy on the grid `tiny` into a new folder.
fn deploy(model: &str, data: &str, out: &Path, more: &[&str]) -> (i32, Value) {
    deploy_on("tiny", model, data, out, more)
}

fn deploy_on(config: &str, model: &str, data: &str, out: &Path, more: &[&str]) -> (i32, Value) {
    let (data, out) = (format!("examples/{data}.csv"), out.display().to_string());
    let line = ["deploy", model, "--data", &data, "--config", config, "--out", &out, "--format", "json"];
    let ran = run(&[&line[..], more].concat());
    (ran.code, ran.json())
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

/// Half of each class is scored: 178 rows are 59, 71 and 48, of which 30, 36 and 24 calibrate.
#[test]
fn hardware_that_scores_as_golden_is_written() {
    let folder = tempfile::tempdir().unwrap();
    // Of each row every probability, and the label, which the network in integers does not have.
    let cases = [
        ("tests/score/wine.onnx", "wine", 88, 4),
        ("examples/digits_mlp.onnx", "digits", 899, 11),
        ("tests/score/digits_int8.tflite", "digits", 899, 10),
    ];
    for (model, data, rows, words) in cases {
        let out = folder.path().join(data);
        let (code, found) = deploy(model, data, &out, &[]);
        assert_eq!((code, &found["rows"]), (0, &json!(rows)), "{found}");
        assert_eq!(found["words_compared"], json!(rows * words), "{found}");
        assert!(found["points"].as_f64().unwrap() <= 0.5, "{found}");
        assert_eq!((&found["grid"], &found["clock_mhz"]), (&json!("2 x 4 PEs, 16 bit"), &json!(100.0)), "{found}");
        let core = Path::new(model).file_stem().unwrap().to_str().unwrap();
        assert!(out.join(format!("rtl/{core}.v")).is_file() && out.join("SHA256SUMS").is_file());
    }
    let calibration = std::fs::read_to_string(folder.path().join("wine/calibration.csv")).unwrap();
    assert_eq!(calibration.lines().count(), 91, "a head and 90 rows");
    // The folder is what `build` makes of the same calibration.
    let (rebuilt, calibration) = (folder.path().join("again"), folder.path().join("wine/calibration.csv"));
    let (rebuilt, calibration) = (rebuilt.display().to_string(), calibration.display().to_string());
    let line = ["build", "tests/score/wine.onnx", "--config", "tiny", "--calibrate", &calibration, "--out", &rebuilt];
    done(&line);
    for name in ["function/microcode.hex", "function/layout.json", "rtl/wine_grid.v"] {
        let [one, other] =
            ["wine", "again"].map(|folder_of| std::fs::read(folder.path().join(folder_of).join(name)).unwrap());
        assert_eq!(one, other, "{name}");
    }
}

/// Nothing is left behind, what was there stays, and the bits that are named do suffice.
#[test]
fn hardware_that_scores_otherwise_is_refused_with_the_bits_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let narrow = ["--machine", "word=8", "--within", "0.5"];
    let (code, found) = deploy("tests/score/diabetes.onnx", "diabetes", &out, &narrow);
    assert_eq!((code, out.exists(), files(folder.path())), (8, false, 0), "{found}");
    let said = found["diagnostics"].as_array().unwrap().last().unwrap();
    assert_eq!(said["code"], "E-INACCURATE", "{found}");
    let bits = found["bits_needed"].as_u64().unwrap();
    assert!(said["message"].as_str().unwrap().contains(&format!("{bits} bits would do")), "{found}");
    let word = format!("word={bits}");
    let (code, found) = deploy("tests/score/diabetes.onnx", "diabetes", &out, &["--machine", &word]);
    assert_eq!(code, 0, "{found}");
    let before = std::fs::read(out.join("SHA256SUMS")).unwrap();
    let (code, _) = deploy("tests/score/diabetes.onnx", "diabetes", &out, &narrow);
    assert_eq!((code, std::fs::read(out.join("SHA256SUMS")).unwrap()), (8, before));
    // More room between the two: the same words are taken, with a verdict.
    let (model, out) = ("tests/score/diabetes.onnx", out.display().to_string());
    let wider = ["--config", "tiny", "--machine", "word=8", "--within", "5", "--out", &out];
    let taken = done(&[&["deploy", model, "--data", "examples/diabetes.csv"][..], &wider].concat());
    assert!(taken.stdout.contains("\n8 bits do not suffice: "), "{}", taken.stdout);
}

/// The configuration of a board was measured with another program, whose grid of 2 x 8 PEs at 100 MHz leaves no room to route this one. Depths follow
/// from the program, too: of temporary words the configuration has 16, the trees need more.
#[test]
fn a_configuration_of_another_program_is_adapted() {
    let folder = tempfile::tempdir().unwrap();
    for (model, data) in [("cancer", "breast_cancer"), ("trees", "wine")] {
        let (out, path) = (folder.path().join(model), format!("tests/score/{model}.onnx"));
        let (code, found) = deploy_on("ulx3s-25f", &path, data, &out, &[]);
        assert_eq!((code, &found["clock_mhz"]), (0, &json!(80.0)), "{found}");
        assert!(found["points"].as_f64().unwrap() <= 0.5, "{found}");
        let report: Value = serde_json::from_str(&std::fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
        let luts = report["resources"].as_array().unwrap().iter().find(|kind| kind["name"] == "LUT").unwrap();
        // Four fifths of the 24,288 look-up tables of an LFE5U-25F.
        assert!(luts["estimated"].as_u64().unwrap() <= 19_430, "{report}");
        assert_eq!(report["board"]["clock_mhz"], json!(80.0), "{report}");
        // The configuration in the folder is that of what was made.
        let config = out.join("config.toml").display().to_string();
        let (code, again) = deploy_on(&config, &path, data, &folder.path().join("again"), &[]);
        assert_eq!((code, &again["grid"], &again["clock_mhz"]), (0, &found["grid"], &found["clock_mhz"]), "{again}");
    }
    // A configuration without a program is meant as it is.
    let config = "[machine]\npus = 2\npes_per_pu = 8\n[board]\nname = \"ulx3s-25f\"\nclock_mhz = 110.0\n";
    let config = file(folder.path(), "own.toml", config);
    let (_, found) = deploy_on(&config, "tests/score/cancer.onnx", "breast_cancer", &folder.path().join("own"), &[]);
    assert_eq!((&found["grid"], &found["clock_mhz"]), (&json!("2 x 8 PEs, 16 bit"), &json!(110.0)), "{found}");
}

/// A bitstream needs a board, which is said before anything is built.
#[test]
fn without_a_board_there_is_no_bitstream() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let line = ["deploy", "tests/score/wine.onnx", "--data", "examples/wine.csv", "--config", "tiny", "--out", &out];
    fails(&[&line[..], &["--bitstream"]].concat(), 2, &["this needs a board"]);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_table_that_judges_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "s.tc", "def f(float(2) x) -> (s) { s(k) = x(0) + x(1) where k in 0:1 }");
    let alike = file(folder.path(), "alike.csv", "a,b,y\n1,2,7\n2,3,7\n3,1,7\n4,1,7\n");
    let one = file(folder.path(), "one.csv", "a,b,y\n1,2,3.5\n");
    let out = folder.path().join("out").display().to_string();
    let deploy =
        |data: &str| ["deploy", &program, "--data", data, "--config", "tiny", "--out", &out].map(str::to_owned);
    let refused = |data: &str, words: &str| {
        let line = deploy(data);
        fails(&line.each_ref().map(String::as_str), 1, &[words]);
    };
    refused(&alike, "tell no score");
    refused(&one, "1 rows are too few");
    let trains = ["deploy", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--config", "tiny"];
    fails(&trains, 2, &["this program trains: `train --save`", "Model.deploy"]);
}
