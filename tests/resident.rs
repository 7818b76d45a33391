//! Functions whose parameters stay in the grid: they are loaded once, and records carry the rest.
//!
//!     [{x, W, b}, {x}]  ──▶  W, b once to the model pads      x, x, ...  ──▶  y, y, ...     on array and Verilog

mod tool;

use arch::image::Feed;
use serde_json::{Value, json};
use sim::array::Array;
use sim::driver::{Driver, Outcome, Run};
use sim::grid::Stalls;
use std::collections::BTreeSet;
use std::fs;
use tool::schema::holds;
use tool::{done, fails, file, run};
use workbench::simulators::Simulator;
use workbench::{Failure, Function, Project, Records, Source};

/// One grid for all programs, so that one simulator serves them.
const GRID: &str = "[machine]\npus = 2\npes_per_pu = 2\nword = 16\naccumulator = 48\nmodel_depth = 16\ndata_depth = 16\n\
                    temporary_depth = 16\nprogram_depth = 64\ntable_entries = 0\ndivider = false\nextremes = false\nscalar = false\n";

/// A function, and its values for two records by hand calculation: exact in words.
struct Case {
    name: &'static str,
    text: &'static str,
    /// The TOML beside it.
    table: Option<&'static str>,
    records: &'static str,
    /// What is loaded once, and what each record carries.
    loaded: (&'static [&'static str], &'static [&'static str]),
    result: (&'static str, [&'static str; 2]),
}

const DENSE: &str = "def dense(float(3) x, float(2,3) W, float(2) b) -> (y) {\n  \
                     h(i) +=! W(i,j) * x(j)\n  y(i) = h(i) + b(i)\n}\n";
const DENSE_TABLE: &str = "[function]\nresident = [\"W\", \"b\"]\n";
/// W x1 = (1 - 4 + 2, 0.25 + 6 - 4), W x2 = (2 + 2 + 2, 0.5 - 3 - 4)
const DENSE_RECORDS: &str =
    r#"[{"x": [1, 2, 4], "W": [[1, -2, 0.5], [0.25, 3, -1]], "b": [0.5, -1]}, {"x": [2, -1, 4]}]"#;

const CASES: [Case; 4] = [
    Case {
        name: "dense.tc",
        text: DENSE,
        table: Some(DENSE_TABLE),
        records: DENSE_RECORDS,
        loaded: (&["W", "b"], &["x"]),
        result: ("y", ["[-0.5, 1.25]", "[6.5, -7.5]"]),
    },
    // Every output of the polynomial (a x + b) x, element by element.
    Case {
        name: "polynomial.tile",
        text: "def polynomial(x, a, b):\n  return (a * x + b) * x\n",
        table: Some("[function]\nresident = [\"a\", \"b\"]\n"),
        records: r#"[{"x": [1, 2, -1], "a": [0.5, -1, 2], "b": [1, 0.25, -3]}, {"x": [-2, 0.5, 3], "b": [1, 0.25, -3]}]"#,
        loaded: (&["a", "b"], &["x"]),
        result: ("out0", ["[1.5, -3.5, 5.0]", "[0.0, -0.125, 9.0]"]),
    },
    // A `model` is resident without a word; an input is by request.
    Case {
        name: "neuron.t",
        text: "model_input x[3];\nmodel_input c;\nmodel w[3];\niterator i[0:3];\nh = sum[i](w[i] * x[i]);\nh = h + c;\n",
        table: Some("[function]\nresident = [\"c\"]\n"),
        records: r#"[{"x": [1, 2, 4], "w": [1, -2, 0.5], "c": 0.25}, {"x": [2, -1, 4]}]"#,
        loaded: (&["w", "c"], &["x"]),
        result: ("h", ["-0.75", "6.25"]),
    },
    Case {
        name: "neuron.t",
        text: "model_input x[3];\nmodel_input c;\nmodel w[3];\niterator i[0:3];\nh = sum[i](w[i] * x[i]);\nh = h + c;\n",
        table: None,
        records: r#"[{"x": [1, 2, 4], "w": [1, -2, 0.5], "c": 0.25}, {"x": [2, -1, 4], "c": -1}]"#,
        loaded: (&["w"], &["x", "c"]),
        result: ("h", ["-0.75", "5.0"]),
    },
];

fn function(case: &Case, records: &str) -> Result<Function, Failure> {
    let project = Project::in_memory(case.name, case.text, case.table, Some(GRID))?;
    let records = Records::parse(Source { name: "records.json".to_owned(), text: records.to_owned() })?;
    Function::new(&project, Some(&records), &())
}

/// The values of a result after each record.
fn values(function: &Function, outcome: &Outcome, name: &str) -> Vec<Value> {
    function.values(outcome).into_iter().map(|mut values| values.remove(name).unwrap()).collect()
}

fn carried<'a>(function: &'a Function, feeds: &[Feed]) -> BTreeSet<&'a str> {
    feeds.iter().map(|feed| function.climb.image().tensors[feed.tensor].name.as_str()).collect()
}

#[test]
fn what_is_resident_is_loaded_once() {
    for case in &CASES {
        let function = function(case, case.records).unwrap_or_else(|failure| panic!("{}: {failure}", case.name));
        let image = function.climb.image();
        let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<_>>();
        let loaded = (carried(&function, &image.model_in), carried(&function, &image.step_in));
        assert_eq!(loaded, (set(case.loaded.0), set(case.loaded.1)), "{}", case.name);
        let (name, [first, second]) = case.result;
        let expected = [first, second, first, second].map(|text| serde_json::from_str::<Value>(text).unwrap()).to_vec();
        let simulator = Simulator::build(&image.machine, &()).unwrap();
        for stalls in [Stalls::none(), Stalls::seeded(5, 30, 30)] {
            let array = function.run(Array::new(&image.machine), 4, stalls.clone()).unwrap();
            assert_eq!(values(&function, &array, name), expected, "{}", case.name);
            let rtl = function.run(simulator.device(&image.machine), 4, stalls).unwrap();
            assert_eq!((values(&function, &rtl, name), rtl.cycles), (expected.clone(), array.cycles), "{}", case.name);
        }
        function.climb.prove().unwrap_or_else(|why| panic!("{}: {why}", case.name));
    }
}

/// A grid that never gets what is resident, or gets it wrong, is noticed in the first record.
#[test]
fn resident_words_that_are_missing_are_noticed() {
    for case in &CASES {
        let function = function(case, case.records).unwrap();
        let climb = &function.climb;
        let run = climb.first_steps(2);
        let outcome = |run: Run<'_>| {
            let grid = Array::new(&climb.image().machine);
            Driver::new(grid, climb.image().clone(), Stalls::none()).run(run).unwrap()
        };
        assert!(climb.compare_stream(&outcome(run)).is_ok(), "{}", case.name);
        let missing = climb.compare_stream(&outcome(Run { load_model: None, ..run })).unwrap_err();
        assert_eq!(missing.step, 0, "{}: {missing}", case.name);
        let mut words = run.load_model.unwrap().clone();
        let weights = climb.image().tensors.iter().position(|tensor| tensor.name == case.loaded.0[0]).unwrap();
        words[weights][0] += 64;
        let wrong = climb.compare_stream(&outcome(Run { load_model: Some(&words), ..run })).unwrap_err();
        assert_eq!(wrong.step, 0, "{}: {wrong}", case.name);
    }
}

/// Where a message points: file, line, column.
fn place(failure: &Failure) -> String {
    failure.to_string().split(": ").next().unwrap().to_owned()
}

#[test]
fn a_record_that_changes_what_is_resident_is_refused() {
    let [dense, _, neuron, _] = &CASES;
    let changed = "[{\"x\": [1, 2, 4], \"W\": [[1, -2, 0.5], [0.25, 3, -1]], \"b\": [0.5, -1]},\n {\"x\": [1, 2, 4], \"b\": [0.5, -1.5]}]";
    let failure = function(dense, changed).unwrap_err();
    assert_eq!(place(&failure), "records.json:2:19");
    assert!(failure.to_string().contains("E-DATA: record 2 gives `b` another value"), "{failure}");
    // The same value may stand there again, as it may in records of TABLA.
    assert!(function(dense, &changed.replace("-1.5", "-1")).is_ok());
    let changed = r#"[{"x": [1, 2, 4], "w": [1, -2, 0.5], "c": 0.25}, {"x": [2, -1, 4], "w": [1, -2, 1]}]"#;
    assert_eq!(place(&function(neuron, changed).unwrap_err()), "records.json:1:68");
    // What is not resident has to come with every record, what is with the first.
    let missing = |case: &Case, records: &str| function(case, records).unwrap_err().to_string();
    assert!(missing(dense, r#"[{"x": [1, 2, 4], "W": [[1, -2, 0.5], [0.25, 3, -1]]}]"#).contains("no value for `b`"));
    assert!(missing(dense, &DENSE_RECORDS.replace("{\"x\": [2, -1, 4]}", "{}")).contains("no value for `x`"));
}

#[test]
fn lists_of_resident_inputs_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "dense.tc", DENSE);
    let records = file(folder.path(), "in.json", DENSE_RECORDS);
    let build = |more: &[&str]| {
        let out = folder.path().join("out").display().to_string();
        run(&[&["build", &program, "--inputs", &records, "--out", &out, "--format", "json"], more].concat())
    };
    // On the command line: a wrong argument.
    for (names, words) in [
        ("W,c", &["--resident W,c", "no input `c`", "its inputs are x, W, b"][..]),
        ("y", &["`y` (line 3) is no input: the program computes it"]),
    ] {
        for command in [&["build"][..], &["check"], &["explain"], &["sim", "--engine", "array"]] {
            fails(&[command, &[&program, "--inputs", &records, "--resident", names]].concat(), 2, words);
        }
    }
    // In a table: at its place, one message for each.
    for (file_name, path) in [("dense.toml", "dense.toml"), ("grid.toml", "grid.toml")] {
        let table = file(folder.path(), file_name, "[function]\nresident = [\"W\", \"y\", \"z\"]\n");
        let more: &[&str] = if path == "grid.toml" { &["--config", &table] } else { &[] };
        let refused = build(more);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        let places: Vec<Value> = refused.json()["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| json!([d["code"], d["line"], d["col"]]))
            .collect();
        assert_eq!(places, [json!(["E-CONFIG", 2, 18]), json!(["E-CONFIG", 2, 23])], "{}", refused.stdout);
        assert!(refused.stdout.contains(path), "{}", refused.stdout);
        // The command line is stronger.
        assert_eq!(build(&[more, &["--resident", "W,b"]].concat()).code, 0);
        fs::remove_file(table).unwrap();
    }
    // An output whose first contents are given is assigned, too.
    let both = file(folder.path(), "sum.tc", "def add(float(2) x) -> (S) {\n  S(i) += x(i)\n}\n");
    let inputs = file(folder.path(), "sum.json", r#"{"x": [1, 2], "S": [0, 1]}"#);
    let eval = ["eval", &both, "--inputs", &inputs, "--resident", "S"];
    fails(&eval, 2, &["`S` (line 2) is an output, too: the program assigns it"]);
    // A training keeps its weights.
    let train = ["build", "programs/linear.t", "--resident", "w"];
    fails(&train, 2, &["--resident w: this is for functions"]);
}

/// y = h / 2 + x / 2, and h is y of the record before.
const AVERAGE: &str = "def average(float(3) x, float(3) h) -> (y) {\n  y(i) = 0.5 * h(i) + 0.5 * x(i)\n}\n";
const AVERAGE_RECORDS: &str = r#"[{"x": [1, 2, -1], "h": [1, 0, 0]}, {"x": [0, 0, 4]}, {"x": [0, 0, 0]}]"#;

/// The state of a stream, by hand calculation, on every rung; the records run once, since the state would go on.
#[test]
fn a_state_stays_between_records() {
    let state = Some("[function]\nstate = { h = \"y\" }\n");
    let project = || Project::in_memory("average.tc", AVERAGE, state, Some(GRID)).unwrap();
    for (records, expected) in [
        (AVERAGE_RECORDS.to_owned(), json!([[1.0, 1.0, -0.5], [0.5, 0.5, 1.75], [0.25, 0.25, 0.875]])),
        // Without a first value it is 0.
        (
            AVERAGE_RECORDS.replace(", \"h\": [1, 0, 0]", ""),
            json!([[0.5, 1.0, -0.5], [0.25, 0.5, 1.75], [0.125, 0.25, 0.875]]),
        ),
    ] {
        let records = Records::parse(Source { name: "records.json".to_owned(), text: records }).unwrap();
        let function = Function::new(&project(), Some(&records), &()).unwrap();
        let image = function.climb.image();
        assert_eq!(carried(&function, &image.step_in), BTreeSet::from(["x"]));
        let simulator = Simulator::build(&image.machine, &()).unwrap();
        let array = function.run(Array::new(&image.machine), 8, Stalls::none()).unwrap();
        let rtl = function.run(simulator.device(&image.machine), 8, Stalls::seeded(5, 30, 30)).unwrap();
        for outcome in [&array, &rtl] {
            assert_eq!(json!(values(&function, outcome, "y")), expected);
            assert_eq!(function.climb.compare_stream(outcome), Ok(9));
        }
        function.climb.prove().unwrap();
    }
}

#[test]
fn states_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wider = AVERAGE.replace("-> (y) {", "-> (y, s) {\n  s +=! x(i)");
    let program = file(folder.path(), "average.tc", wider);
    let records = file(folder.path(), "in.json", AVERAGE_RECORDS);
    for (state, words) in [
        ("g=y", &["--state g=y", "no input `g`"][..]),
        ("h=z", &["the program computes no `z`"]),
        ("h=x", &["the program computes no `x`"]),
        ("h=s", &["`h` has shape [3], `s` has []"]),
        ("h", &["write INPUT=RESULT"]),
    ] {
        fails(&["sim", &program, "--inputs", &records, "--state", state], 2, words);
    }
    let table = file(folder.path(), "average.toml", "[function]\nstate = { h = \"s\" }\n");
    fails(&["sim", &program, "--inputs", &records], 1, &["average.toml:2:11", "E-CONFIG"]);
    fs::remove_file(table).unwrap();
    fails(&["build", "programs/linear.t", "--state", "w=w"], 2, &["--state w=w: this is for functions"]);
}

/// Command line, table beside the program, configuration: the strongest decides, for every command.
#[test]
fn the_strongest_list_decides() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "dense.tc", DENSE);
    // What is not resident comes with every record.
    let all = "\"x\": [2, -1, 4], \"W\": [[1, -2, 0.5], [0.25, 3, -1]], \"b\": [0.5, -1]";
    let records = file(folder.path(), "in.json", DENSE_RECORDS.replace("\"x\": [2, -1, 4]", all));
    let config = file(folder.path(), "grid.toml", format!("[function]\nresident = [\"b\"]\n{GRID}"));
    let out = folder.path().join("out");
    let resident = |more: &[&str]| -> Vec<String> {
        let build = ["build", &program, "--inputs", &records, "--config", &config, "--out", out.to_str().unwrap()];
        done(&[&build, more].concat());
        let layout: Value =
            serde_json::from_str(&fs::read_to_string(out.join("function/layout.json")).unwrap()).unwrap();
        holds(&layout, "layout");
        let tensors = layout["tensors"].as_array().unwrap().iter().filter(|tensor| tensor["role"] == "model");
        let mut names: Vec<String> = tensors.map(|tensor| tensor["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(resident(&[]), ["b"]);
    file(folder.path(), "dense.toml", DENSE_TABLE);
    assert_eq!(resident(&[]), ["W", "b"]);
    assert_eq!(resident(&["--resident", "W"]), ["W"]);
    let common = [&program[..], "--inputs", &records, "--config", &config];
    // On every engine the values are those of the hand calculation.
    let one = file(folder.path(), "one.json", &DENSE_RECORDS[1..=DENSE_RECORDS.find("}, ").unwrap()]);
    for engine in ["golden", "fixed", "array", "rtl"] {
        let eval = ["eval", &program, "--inputs", &one, "--config", &config, "--engine", engine, "--format", "json"];
        assert_eq!(done(&eval).json()["values"]["y"], json!([-0.5, 1.25]), "{engine}");
    }
    // Five records, two words each, on array and Verilog; none of them carries W or b.
    let simulated = done(&[&["sim", "--steps", "5", "--format", "json"], &common[..]].concat()).json();
    assert_eq!(simulated["words_compared"], 20, "{simulated}");
    let report: Value = serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["cycles"]["work"]["input_words"], 5.0, "x and b, after the last build: {report}");
    assert!(done(&[&["explain"], &common[..]].concat()).stdout.contains("model in: load"));
    let proven = done(&[&["prove", "--format", "json"], &common[..]].concat()).json();
    assert_eq!(proven["proven"], true, "{proven}");
}

/// The layers 64-72-72-8-72-72-64 on 8 x 8 PEs. Its weights alone are 1,318 transfers of 16 words, were they sent with each record.
#[test]
fn the_autoencoder_keeps_its_weights() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let built = done(&["build", "programs/autoencoder.tc", "--out", &out, "--format", "json", "--quiet"]).json();
    let cycles = &built["report"]["cycles"];
    assert!(cycles["cycles_per_sample"].as_f64().unwrap() <= 700.0, "{cycles}");
    assert_eq!(cycles["work"]["input_words"], 64.0, "{cycles}");
    let proven = done(&["prove", "programs/autoencoder.tc", "--format", "json", "--quiet"]).json();
    assert_eq!(proven["proven"], true, "{proven}");
}
