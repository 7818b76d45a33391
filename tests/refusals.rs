//! Errors are reported with their place and the right exit code, and nothing is left behind.

mod tool;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tool::{done, fails, file, finish, run, tool};

const LOGISTIC: &str = "programs/logistic.t";
const CANCER: &str = "examples/breast_cancer.csv";

#[test]
fn broken_toml_unknown_key_impossible_grid() {
    let folder = tempfile::tempdir().unwrap();
    let broken = file(folder.path(), "broken.toml", "[machine\npus = 4\n");
    fails(&["--config", &broken, LOGISTIC], 1, &["E-CONFIG", "broken.toml:1"]);
    let unknown = file(folder.path(), "unknown.toml", "[machine]\npus = 4\npes_per_pe = 4\n");
    fails(
        &["--config", &unknown, LOGISTIC],
        1,
        &["E-CONFIG", "unknown key `pes_per_pe`", "did you mean `pes_per_pu`?", "unknown.toml:3:1"],
    );
    let impossible = file(folder.path(), "impossible.toml", "[machine]\npus = 400\n");
    fails(
        &["--config", &impossible, LOGISTIC],
        1,
        &["E-CONFIG", "pus = 400: must lie between 1 and 128", "impossible.toml:2"],
    );
    let json = run(&["--config", &unknown, LOGISTIC, "--format", "json"]);
    assert_eq!(json.code, 1);
    let diagnostic = &json.json()["diagnostics"][0];
    assert_eq!((diagnostic["line"].as_u64(), diagnostic["col"].as_u64()), (Some(3), Some(1)));
    fails(&["--config", "no_such_config", LOGISTIC], 6, &["no_such_config", "built in are"]);
}

/// A store that was asked for, beside a grid whose memories leave no block memory over: nothing is simulated.
#[test]
fn a_store_without_room_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let depths = "pus = 1\npes_per_pu = 2\nmodel_depth = 16384\ndata_depth = 1024\ntemporary_depth = 1024";
    let board = "[board]\nname = \"tangnano20k\"\nclock_mhz = 60.0\nstore = \"bram\"\n";
    let config = file(folder.path(), "full.toml", format!("[machine]\n{depths}\n{board}"));
    let run = ["run", LOGISTIC, "--data", CANCER, "--limit", "20", "--epochs", "1", "--port", "simulated", "--config"];
    fails(
        &[&run[..], &[&config]].concat(),
        1,
        &[
            "E-CONFIG",
            "Tang Nano 20K has no room for a sample store beside 1 x 2 PEs",
            "full.toml:10",
            "store = \"auto\"",
        ],
    );
}

/// Dividend and divisor are two words in one sum, with a sign each: 2 * 16 + 2 bits. With 34 bits it is done.
#[test]
fn a_quotient_wants_a_wider_accumulator() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "inverse.tc", "def inverse(float(N) A) -> (B) {\n  B(i) = 1.0 / A(i)\n}\n");
    let records = file(folder.path(), "in.json", "[{\"A\": [1, 2, 4]}]");
    let of = |accumulator| {
        ["explain", &program, "--inputs", &records, "--machine", "divider=true", "--machine", accumulator]
    };
    fails(
        &of("accumulator=33"),
        1,
        &["E-BACKEND", "a quotient needs an accumulator of 34 bits, the machine has 33", "inverse.tc:2"],
    );
    done(&of("accumulator=34"));
}

/// What does not fit in one batch runs in tiles, with the same weights. Where there are no gradient pads it may fit in a smaller one, and the
/// message says in which: that one fits, one more does not.
#[test]
fn a_batch_that_is_too_large_says_which_one_fits() {
    let folder = tempfile::tempdir().unwrap();
    let small = file(folder.path(), "small.toml", "[machine]\npus = 1\npes_per_pu = 2\ndata_depth = 64\n");
    let none = "[machine]\npus = 1\npes_per_pu = 2\ndata_depth = 64\ngradient_depth = 0\n";
    let none = file(folder.path(), "none.toml", none);
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

/// Two PEs of an iCE40 with batches of 256: each bank has 128 samples of 31 inputs and a label, 4096 words of 16 bits; two banks are 32 block
/// memories of 4 kbit, two PEs 64, of 30. Without tiles that is refused, and the batch that the message names is built; with tiles, such
/// that fit are chosen.
#[test]
fn what_a_board_does_not_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = |name: &str, machine: &str| {
        let rest = "stream_words = 1\ntable_entries = 256\noutput_fifo = 16\n[board]\nname = 'icebreaker'\n";
        let text = format!("[machine]\npus = 1\n{machine}{rest}[build]\nmicrocode = 'rom'\n");
        file(folder.path(), name, &text)
    };
    let whole = config("whole.toml", "pes_per_pu = 2\ngradient_depth = 0\n");
    let out = folder.path().join("out").display().to_string();
    let built = |config: &str, batch: &str| {
        run(&["build", LOGISTIC, "--data", CANCER, "--config", config, "--batch", batch, "--out", &out])
    };
    let refused = built(&whole, "256");
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    let told = refused.stderr.replace('\n', " ");
    let figure = told.split("do not fit iCEBreaker: about ").nth(1).and_then(|rest| rest.split(' ').next());
    let blocks: u32 = figure.and_then(|figure| figure.parse().ok()).expect("how many block memories");
    assert!(blocks >= 64 && told.contains("BRAM of 30"), "{told}");
    assert!(!Path::new(&out).exists(), "nothing is written");
    let batch = told.split("batch = ").nth(1).and_then(|rest| rest.split([' ', ';']).next()).expect("it names a batch");
    assert_eq!(built(&whole, batch).code, 0, "a batch of {batch}");
    let tiled = built(&config("tiled.toml", "pes_per_pu = 2\n"), "256");
    assert_eq!(tiled.code, 0, "{}", tiled.stderr);
    let report: Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&out).join("report.json")).unwrap()).unwrap();
    let blocks = report["resources"].as_array().unwrap().iter().find(|cell| cell["name"] == "BRAM").unwrap();
    assert!(blocks["estimated"].as_u64().unwrap() <= 30 && blocks["available"] == 30, "{blocks}");
    assert!(report["cycles"]["tiles"].as_u64().unwrap() > 1);
    // Fewer PEs, as the message says, would do where there are too few multipliers.
    let wide = built(&config("wide.toml", "pes_per_pu = 16\n"), "1");
    assert_eq!(wide.code, 4, "{}", wide.stderr);
    let told = wide.stderr.replace('\n', " ");
    assert!(told.contains("DSP of 8") && told.contains("would fit: pus = 1, pes_per_pu = "), "{told}");
    let pes = told.split("pes_per_pu = ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let fewer = config("fewer.toml", &format!("pes_per_pu = {pes}\n"));
    assert_eq!(built(&fewer, "1").code, 0, "{pes} PEs");
}

/// The digits network in batches of 64 on a board whose block memories are 36 bits wide: sums of 129 products of 16 bits need 39, and a gradient pad of
/// two memories in each of 64 PEs would take 128 of 208, other pads as many. Its temporaries would be as many as its weights.
#[test]
fn a_batch_fits_whose_pads_lie_in_rows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let program = ["build", "programs/backpropagation.t", "--data", "examples/digits.csv", "--set", "l2=129"];
    let built = run(&[&program[..], &["--batch", "64", "--config", "ulx3s", "--out", &out]].concat());
    assert_eq!(built.code, 0, "{}", built.stderr);
    let text = |name: &str| fs::read_to_string(Path::new(&out).join(name)).unwrap();
    let config = text("config.toml");
    assert!(config.contains("# accumulator = 39\n") && config.contains("# pads_in_rows = true\n"), "{config}");
    let report: Value = serde_json::from_str(&text("report.json")).unwrap();
    for cell in report["resources"].as_array().unwrap() {
        assert!(cell["estimated"].as_u64() <= cell["available"].as_u64(), "{cell}");
    }
    let cycles = report["cycles"]["cycles_per_sample"].as_f64().unwrap();
    assert!(cycles <= 390.0 && report["cycles"]["tiles"].as_u64() > Some(1), "{cycles}");
}

/// Three layers: 129 inputs and 128 hidden units have 18 k weights, 1024 hidden units 143 k, which are 124 of the 208 block memories of a ULX3S 85F where
/// no bit is lost. A power of two of words in each PE would be more than it has.
#[test]
fn large_models_fit_small_boards() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let built = |hidden: &str, config: &str, grid: &[&str]| {
        let sizes = ["--set", "l1=129", "--set", hidden, "--set", "l3=11", "--config", config, "--out", &out];
        let build = ["build", "programs/backpropagation.t", "--force"];
        run(&[&build[..], &sizes, grid].concat())
    };
    let fits = |hidden: &str, config: &str, grid: &[&str]| {
        let built = built(hidden, config, grid);
        assert_eq!(built.code, 0, "{config}: {}", built.stderr);
        let report = fs::read_to_string(Path::new(&out).join("report.json")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        for cell in report["resources"].as_array().unwrap() {
            assert!(cell["estimated"].as_u64() <= cell["available"].as_u64(), "{config}: {cell}");
        }
    };
    for board in ["ulx3s-25f", "tangnano20k"] {
        fits("l2=129", board, &[]);
    }
    let refused = built("l2=1025", "ulx3s", &[]);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    let keys = refused.stderr.split("would fit: ").nth(1).expect("it names a grid").lines().next().unwrap_or_default();
    let keys: Vec<String> = keys.split(", ").map(|key| key.replace(' ', "")).collect();
    let grid: Vec<&str> = keys.iter().flat_map(|key| ["--machine", key]).collect();
    assert!(keys.len() >= 2, "{keys:?}");
    fits("l2=1025", "ulx3s", &grid);
    // Tables of half the size are one block memory less in each function unit, the program inside the grid some more: then all 64 PEs fit.
    let tables = ["--machine", "table_entries=512"];
    let refused = built("l2=1025", "ulx3s", &tables);
    assert!(refused.code == 4 && refused.stderr.contains("microcode = \"rom\""), "{}", refused.stderr);
    let inside = folder.path().join("inside.toml");
    let grid = "[machine]\npus = 8\npes_per_pu = 8\nstream_words = 16\n[board]\nname = 'ulx3s-85f'\n";
    fs::write(&inside, format!("{grid}[build]\nmicrocode = 'rom'\n")).unwrap();
    fits("l2=1025", inside.to_str().unwrap(), &tables);
}

/// 64-128-10, biases among them, in batches of 64: 64 * 128 + 2 * 128 * 10 + 64 * 128 products and some more take 312 cycles on 64 PEs.
#[test]
fn tiles_on_a_board_are_near_their_bound() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let grid =
        "[machine]\npus = 8\npes_per_pu = 8\nstream_words = 16\n[board]\nname = 'ulx3s-85f'\n[build]\nbatch = 64\n";
    fs::write(&config, format!("{grid}[build.set]\nl1 = 64\nl2 = 128\nl3 = 10\n")).unwrap();
    let explained =
        run(&["explain", "programs/backpropagation.t", "--config", config.to_str().unwrap(), "--format", "json"]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let report: Value = serde_json::from_str(&explained.stdout).unwrap();
    let cycles = report["cycles_per_sample"].as_f64().unwrap();
    assert!((312.0..=360.0).contains(&cycles), "{cycles}");
}

#[test]
fn machine_keys_of_the_command_line_are_checked() {
    let with = |machine: &str, words: &[&str]| fails(&["explain", "--config", "tiny", "--machine", machine], 2, words);
    with("wrd=8", &["--machine wrd=8", "no such key", "did you mean `word`?"]);
    with("shifts=0,64", &["no such value", "0..=63"]);
    with("stream_words=3", &["must divide the number of PEs, 8"]);
    with("pus=129", &["pus = 129: must lie between 1 and 128"]);
    with("output_words=4", &["must be a power of two that divides the number of PUs, 2; at most 2"]);
    with("output_words=3", &["must be a power of two that divides the number of PUs, 2; at most 2"]);
    with("emit_words=1", &["must lie between 2 and 4096"]);
    with("emit_words=6", &["must be a power of two above `output_words`, 1"]);
    with("emit_words=4", &["must divide the number of PUs, 2, or be that of PEs, 8"]);
    with("word", &["write KEY=VALUE"]);
    with("pus=auto", &["whose board decides"]);
    with("wrd=auto", &["no such key"]);
    // One row of the two that the configuration has, so four words per transfer; a list without brackets.
    let keys = ["--machine", "pus=1", "--machine", "shifts=0,9,10,11,12,13,14,15,16"];
    let out = tempfile::tempdir().unwrap();
    let build = ["build", "--config", "tiny", "--format", "json", "--out", out.path().to_str().unwrap()];
    let grid = &done(&[&build, &keys[..]].concat()).json()["report"]["machine"];
    assert_eq!((&grid["pus"], &grid["stream_words"]), (&1.into(), &4.into()), "{grid}");
    // The last one counts, and `auto` is as if the key had never been said: 16 bits have accumulators of 48 (docs/machine.md).
    let accumulator = |keys: &[&str]| {
        let keys: Vec<&str> = keys.iter().flat_map(|key| ["--machine", key]).collect();
        done(&[&build, &keys[..]].concat()).json()["report"]["machine"]["accumulator"].clone()
    };
    assert_eq!(accumulator(&["accumulator=44"]), 44);
    assert_eq!(accumulator(&["accumulator=44", "accumulator=auto"]), 48);
}

/// A serial line carries a word at a time, the memory port of a ZCU102 128 bits: its 16 rows send 8 words of 16 bits, or 4 of 24.
#[test]
fn boards_take_so_many_words_of_output() {
    for (board, output_words, word, most) in [("ulx3s-85f", 2, 16, 1), ("zcu102", 16, 16, 8), ("zcu102", 8, 24, 4)] {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[machine]\npus = 16\npes_per_pu = 1\nword = {word}\noutput_words = {output_words}\n[board]\nname = \"{board}\"\n"
        );
        let config = file(folder.path(), "config.toml", &text);
        let words = [
            "config.toml:5:16",
            &format!("takes no {output_words} words of output at a time"),
            &format!("`output_words = {most}` is the most here"),
        ];
        fails(&["explain", LOGISTIC, "--config", &config], 1, &words);
        let fits = file(
            folder.path(),
            "fits.toml",
            text.replace(&format!("output_words = {output_words}"), &format!("output_words = {most}")),
        );
        done(&["explain", LOGISTIC, "--config", &fits]);
        // Left out, it is the most.
        let open = text.replace(&format!("output_words = {output_words}\n"), "");
        let open = file(folder.path(), "open.toml", open);
        let out = folder.path().join("out");
        done(&["build", LOGISTIC, "--config", &open, "--out", out.to_str().unwrap()]);
        let layout = std::fs::read_to_string(out.join("train/layout.json")).unwrap();
        let layout: serde_json::Value = serde_json::from_str(&layout).unwrap();
        assert_eq!(layout["output_words"], most, "{board}, {word} bits");
    }
}

#[test]
fn a_program_that_is_too_large_says_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let small = file(folder.path(), "small.toml", "[machine]\npus = 1\npes_per_pu = 2\nmodel_depth = 8\n");
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

/// Tables of twice as many entries were tried for ever.
#[test]
fn a_machine_without_tables_has_no_functions() {
    let words = ["E-BACKEND", "the machine has room for 0", "`table_entries = 64` in the [machine] table"];
    fails(&["explain", LOGISTIC, "--machine", "table_entries=0"], 4, &words);
}

#[test]
fn data_that_does_not_fit_is_named_by_row_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let train = |data: &str, more: &[&str], words: &[&str]| {
        fails(&[&["train", LOGISTIC, "--data", data, "--config", "tiny"][..], more].concat(), 1, words);
    };
    train(CANCER, &["--target", "taget"], &["E-DATA", "no column `taget`", "did you mean `target`?"]);
    let words = file(folder.path(), "text.csv", "a,b,target\n1,2,0\n3,four,1\nNaN,5,1\n");
    train(
        &words,
        &[],
        &[
            "row 2 (line 3), column `b`: `four` is not a number",
            "row 3 (line 4), column `a`: `NaN` is not a finite number",
        ],
    );
    let label = file(folder.path(), "label.csv", "a,target\n1,0\n2,7\n3,7\n");
    let said = [
        "row 2 (line 3), column `target`: the label `7` is not in the coding; 2 cells hold labels that are not: `7`",
        "`labels = { 0 = 0, 1 = 1 }` in the [train] table lacks it: add it",
    ];
    train(&label, &[], &said);
    train(&file(folder.path(), "empty.csv", ""), &[], &["the data file is empty"]);
    train(&file(folder.path(), "header.csv", "a,b\n"), &[], &["a header but no rows"]);
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
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        tool(&["train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--engine", "rtl", "--epochs", "1"]);
    command.env("PATH", folder.path()).env("TABLA_GEN_TOOLS", folder.path()).env_remove("VERILATOR_ROOT");
    let ran = finish(command);
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(ran.stderr.contains("missing: ") && ran.stderr.contains("scripts/setup"), "{}", ran.stderr);
}

#[test]
fn errors_of_programs_and_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "p.t", "model_input x[3];\nmodel w[3];\nh = x[0] * v;\n");
    fails(&["check", &program], 1, &["E-UNDEF", "p.t:3:12"]);
    let json = run(&["eval", &program, "--format", "json"]);
    assert_eq!(json.code, 1);
    let json = json.json();
    let diagnostic = &json["diagnostics"][0];
    assert_eq!(json["schema_version"], 1);
    assert_eq!((diagnostic["code"].as_str(), diagnostic["severity"].as_str()), (Some("E-UNDEF"), Some("error")));
    assert_eq!((diagnostic["line"].as_u64(), diagnostic["col"].as_u64()), (Some(3), Some(12)));
    fails(&["check", "nowhere.t"], 6, &["cannot read nowhere.t"]);
    fails(&["check", "README.txt"], 2, &["is not a program"]);
    fails(&["build"], 2, &["name a program"]);
    assert!(done(&[]).stdout.contains("Usage: tabla-gen"), "without arguments the help");
    fails(&["train", LOGISTIC], 2, &["--data"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--batch", "0"], 2, &["--batch"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--batch", "100000"], 2, &["a batch of 100000"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--split", "1.5"], 2, &["--split"]);
    let alone = file(folder.path(), "alone.t", "model_input x;\n");
    fails(&["train", &alone, "--data", CANCER], 6, &["alone.toml is missing", "[train]"]);
    file(folder.path(), "p.toml", "[train]\nprediction = \"h\"\nlos = \"squared\"\n");
    fails(&["train", &program, "--data", CANCER], 1, &["E-CONFIG", "unknown key `los`", "did you mean `loss`?"]);
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
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "file", "");
    fails(&["--config", "tiny", "--out", &format!("{file}/out")], 6, &["cannot write"]);
}

#[test]
fn every_failure_is_a_document() {
    let folder = tempfile::tempdir().unwrap();
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
    let small = file(folder.path(), "small.toml", "[machine]\npus = 1\npes_per_pu = 2\nmodel_depth = 8\n");
    let large = first(&["train", LOGISTIC, "--data", CANCER, "--config", &small], 4);
    assert_eq!(large["code"], "E-BACKEND");
    let message = large["message"].as_str().unwrap();
    assert!(message.ends_with("per PE it needs 16 words of model scratchpad where the machine has 8"), "{message}");
    let cells = file(folder.path(), "text.csv", "a,b,target\n1,2,0\n3,four,1\n");
    let cell = first(&["train", LOGISTIC, "--data", &cells, "--config", "tiny"], 1);
    assert_eq!((cell["code"].as_str(), place(&cell)), (Some("E-DATA"), (Some(3), Some(3))));
    let label = file(folder.path(), "label.csv", "a,target\n1,0\n2,7\n");
    assert_eq!(place(&first(&["train", LOGISTIC, "--data", &label, "--config", "tiny"], 1)), (Some(3), Some(3)));
    let uneven = file(folder.path(), "uneven.csv", "a,target\n1,0\n2\n");
    assert_eq!(place(&first(&["train", LOGISTIC, "--data", &uneven, "--config", "tiny"], 1)), (Some(3), Some(1)));
    let inputs = file(folder.path(), "in.json", "{\"x\": 1,\n \"w\": oops}");
    let broken = first(&["eval", "tests/conformance/tabla/bench_linear_3.t", "--inputs", &inputs], 1);
    assert_eq!((broken["code"].as_str(), broken["line"].as_u64()), (Some("E-DATA"), Some(2)));
    let mut command = tool(&["train", LOGISTIC, "--data", CANCER, "--config", "tiny", "--engine", "rtl"]);
    command.args(["--epochs", "1", "--format", "json"]);
    command.env("PATH", folder.path()).env("TABLA_GEN_TOOLS", folder.path()).env_remove("VERILATOR_ROOT");
    let tool = finish(command);
    assert_eq!((tool.code, &tool.json()["diagnostics"][0]["code"]), (5, &"E-TOOL".into()));
}

#[test]
fn settings_that_would_be_ignored_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = file(folder.path(), "c.toml", "[machine]\npus = 2\npes_per_pu = 4\n[numbers.fractions]\nmodl = 9\n");
    let program = file(folder.path(), "p.t", fs::read_to_string(LOGISTIC).unwrap());
    let settings = fs::read_to_string("programs/logistic.toml").unwrap();
    file(folder.path(), "p.toml", settings.replace("labels = ", "# labels = "));
    fails(&["train", &program, "--data", CANCER], 1, &["E-CONFIG", "`logistic` needs `labels`", "{ 0 = 0, 1 = 1 }"]);
    fails(&["train", LOGISTIC, "--data", CANCER, "--config", &config], 1, &["E-CONFIG", "no `modl`", "c.toml:5:8"]);
    let near = file(folder.path(), "near.toml", "[numbers.fractions]\nweigths = 9\n");
    let long = fs::read_to_string(LOGISTIC).unwrap().replace("w[", "weights[").replace("-> w", "-> weights");
    let long = file(folder.path(), "long.t", &long);
    file(folder.path(), "long.toml", settings);
    fails(&["train", &long, "--data", CANCER, "--config", &near], 1, &["E-CONFIG", "did you mean `weights`?"]);
    let wide =
        file(folder.path(), "wide.toml", "[machine]\nword = 16\n[numbers]\nheadroom = 40\nfractions = { w = 99 }\n");
    let words = ["headroom = 40", "w = 99: impossible for a word of 16 bits", "-16 to 32 are possible"];
    fails(&["train", LOGISTIC, "--data", CANCER, "--config", &wide], 1, &words);
}

#[test]
fn models_are_neither_written_over_devices_nor_believed_blindly() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["train", LOGISTIC, "--data", CANCER, "--epochs", "1", "--engine", "golden", "--quiet"];
    fails(&[&arguments[..], &["--save", "/dev/null"]].concat(), 6, &["/dev/null", "is not a file"]);
    let diverging = ["train", "programs/linear.t", "--data", "examples/diabetes.csv", "--engine", "golden", "--quiet"];
    let model = folder.path().join("diverged.json").display().to_string();
    let arguments_of_it = ["--set", "mu=5", "--epochs", "200", "--save", &model];
    fails(&[&diverging[..], &arguments_of_it].concat(), 1, &["the training diverges"]);
    assert!(!Path::new(&model).exists());
    let model = folder.path().join("model.json").display().to_string();
    done(&[&arguments[..], &["--save", &model]].concat());
    let mut damaged: Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
    damaged["encoding"]["standardise"]["mean"] = serde_json::json!([]);
    let damaged = file(folder.path(), "damaged.json", damaged.to_string());
    fails(&["predict", LOGISTIC, "--data", CANCER, "--load", &damaged], 1, &["damaged", "differ in number"]);
}
