//! Segments: a network that its machine does not hold as a whole runs in parts, and no word differs.

#[path = "cores/simulator.rs"]
mod simulator;
mod tool;

use serde_json::{Value, json};
use sim::array::Array;
use sim::grid::Stalls;
use simulator::{Simulator, answers};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tool::{done, fails, file};
use workbench::resident::FunctionOptions;
use workbench::{Function, Project, Records, Request};

const NETWORK: &str = "programs/networks/resnet_small.onnx";
/// 16 PEs whose pads hold a few hundred words each: parts of a convolution.
const SMALL: [&str; 10] = [
    "--machine",
    "pus=4",
    "--machine",
    "pes_per_pu=4",
    "--machine",
    "model_depth=64",
    "--machine",
    "data_depth=32",
    "--machine",
    "temporary_depth=64",
];

fn small<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, &[NETWORK], &SMALL, more].concat()
}

/// The image and all weights.
fn record() -> Value {
    fn nested(shape: &[usize], next: &mut impl FnMut() -> f64) -> Value {
        match shape {
            [] => json!(next()),
            [first, rest @ ..] => (0..*first).map(|_| nested(rest, next)).collect(),
        }
    }
    let mut number = 0;
    let mut next = || {
        number += 1;
        f64::from((number * 7919) % 257) / 256.0 - 0.5
    };
    let shapes: [(&str, &[usize]); 9] = [
        ("x", &[1, 3, 8, 8]),
        ("w0", &[8, 3, 3, 3]),
        ("b0", &[8]),
        ("w1", &[8, 8, 3, 3]),
        ("b1", &[8]),
        ("w2", &[8, 8, 3, 3]),
        ("b2", &[8]),
        ("w3", &[10, 8]),
        ("b3", &[10]),
    ];
    shapes.into_iter().map(|(name, shape)| (name.to_owned(), nested(shape, &mut next))).collect()
}

#[test]
fn words_are_those_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = file(folder.path(), "record.json", record().to_string());
    let on = |engine: &str, more: &[&str]| -> Value {
        let arguments =
            small(&["eval"], &[&["--inputs", &inputs, "--engine", engine, "--format", "json"], more].concat());
        done(&arguments).json()["values"].clone()
    };
    // Fixed point knows nothing of segments; the array has pads that hold none of it as a whole.
    let fixed = on("fixed", &[]);
    assert_eq!(on("array", &["--segments"]), fixed);
    assert_eq!(on("rtl", &["--segments"]), fixed);
}

#[test]
fn the_plan_says_what_each_segment_takes() {
    let document = done(&small(&["explain"], &["--segments", "--format", "json"])).json();
    tool::schema::holds(&document, "explain");
    let plan = &document["segments"];
    let segments = plan["segments"].as_array().unwrap();
    let sum = |name: &str| segments.iter().map(|segment| segment[name].as_f64().unwrap()).sum::<f64>();
    assert!(segments.len() > 10, "{plan}");
    assert_eq!(plan["cycles_of_a_record"].as_f64().unwrap(), sum("cycles_per_sample"));
    let [one, many] = &plan["cycles_of_a_record_with_loading"].as_array().unwrap()[..] else { panic!("{plan}") };
    let loading = sum("program_cycles") + sum("weight_cycles");
    assert_eq!(one[1].as_f64().unwrap(), sum("cycles_per_sample") + loading);
    assert_eq!(many[1].as_f64().unwrap(), (256.0 * sum("cycles_per_sample") + loading) / 256.0);
    assert_eq!(plan["bytes_of_a_record"].as_f64().unwrap(), 2.0 * (sum("input_words") + sum("output_words")));
    assert_eq!(plan["weight_bytes"].as_f64().unwrap(), 2.0 * sum("weight_words"));
    // Weights of four layers and the bias, each in the segments that read it: at least once.
    assert!(sum("weight_words") >= 1000.0, "{plan}");
}

#[test]
fn every_segment_is_proven() {
    let document = done(&small(&["prove"], &["--segments", "--format", "json"])).json();
    tool::schema::holds(&document, "prove");
    assert_eq!(document["proven"], true);
    assert!(document["images"].as_array().unwrap().len() > 3, "{document}");
    assert!(document["checked"]["canonical"].as_str().unwrap().contains("identical polynomials"));
}

/// Three tables, of which no segment has more than two: they lie where the segment has room.
#[test]
fn tables_lie_in_their_segments() {
    let machine =
        ["pus=2", "pes_per_pu=2", "stream_words=2", "model_depth=256", "data_depth=128", "temporary_depth=128"];
    let machine: Vec<&str> = machine.iter().flat_map(|key| ["--machine", key]).collect();
    let proven = done(&[&["prove", "programs/kernels/lstm.tc", "--segments"], &machine[..]].concat()).stdout;
    assert!(proven.lines().count() > 5 && !proven.contains("undecided"), "{proven}");
}

/// What stays, in the order of the network.
const WEIGHTS: [&str; 8] = ["w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"];

/// Six records, the first of which has the weights.
fn records() -> Vec<Value> {
    let first = record();
    let other = |n: usize| {
        let mut flat = (0..3 * 8 * 8).map(|k| f64::from(((n * 31 + k) * 7919 % 251) as u32) / 128.0 - 1.0);
        let mut rows =
            |count: usize| -> Value { (0..count).map(|_| flat.by_ref().take(8).collect::<Vec<_>>()).collect() };
        json!({ "x": [(0..3).map(|_| rows(8)).collect::<Vec<Value>>()] })
    };
    [first].into_iter().chain((1..6).map(other)).collect()
}

/// All numbers of nested lists.
fn flat(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(|| vec![value.as_f64().unwrap()], |list| list.iter().flat_map(flat).collect())
}

/// What the whole function gives for each record, on a grid whose pads hold it; every word as fixed point has it.
fn results_of_the_whole(records: &Path) -> Vec<Vec<f64>> {
    let key = |name: &str| (name.to_owned(), "4".to_owned());
    let resident = Some(WEIGHTS.map(str::to_owned).to_vec());
    let project = Project::open(&Request {
        program: Some(NETWORK.into()),
        machine: ["pus", "pes_per_pu"].map(key).to_vec(),
        function: FunctionOptions { resident, state: None },
        ..Request::default()
    });
    let function = Function::new(&project.unwrap(), Some(&Records::open(records).unwrap()), &()).unwrap();
    let outcome = function.run(Array::new(&function.climb.image().machine), 6, Stalls::none()).unwrap();
    function.climb.compare_stream(&outcome).unwrap();
    function.values(&outcome).iter().map(|values| flat(&values["y"])).collect()
}

/// The driver in C, on the verilated core behind AXI: in steps of one record and of two. Segments that have the same image compute rows of the same
/// channels, and channels of the same rows.
#[test]
fn the_driver_in_c_gives_the_words_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (all, weights) = (records(), WEIGHTS.join(","));
    let inputs = file(folder.path(), "records.json", Value::from(all.clone()).to_string());
    let expected = results_of_the_whole(Path::new(&inputs));
    for (per_step, steps, depths) in
        [(1, 3, ["model_depth=64", "data_depth=32"]), (2, 1, ["model_depth=16", "data_depth=64"])]
    {
        let out = folder.path().join(format!("of_{per_step}"));
        let (records, to) = (per_step.to_string(), out.display().to_string());
        let [model, data] = depths;
        let machine = ["--machine", model, "--machine", data, "--machine", "stream_words=2"];
        let more = [&machine[..], &["--segments", "--resident", &weights, "--inputs", &inputs]].concat();
        let more = [&more[..], &["--records", &records, "--out", &to, "--format", "json"]].concat();
        let built = done(&small(&["build"], &more)).json();
        tool::schema::holds(&built, "build");
        let read =
            |name: &str| -> Value { serde_json::from_str(&fs::read_to_string(out.join(name)).unwrap()).unwrap() };
        let plan = read("function/segments.json");
        tool::schema::holds(&plan, "segments");
        tool::schema::holds(&read("function/image_00/layout.json"), "layout");
        tool::schema::holds(&read("report.json"), "report");
        let images: Vec<&Value> = plan["segments"].as_array().unwrap().iter().map(|part| &part["image"]).collect();
        let distinct: BTreeSet<String> = images.iter().map(ToString::to_string).collect();
        assert!(images.len() > distinct.len() && distinct.len() >= 3, "{images:?}");
        let sources = fs::read_to_string(out.join("rtl/resnet_small_axi.f")).unwrap();
        let (steps_of_call, per_step_of_call) =
            (format!("RESNET_SMALL_PREDICT_STEPS={steps}"), format!("PER_STEP={per_step}"));
        let simulator = Simulator {
            folder: &out,
            top: "resnet_small_axi",
            sources: sources.lines().map(|name| out.join(name)).collect(),
            drivers: vec![out.join("driver/resnet_small_predict.c")],
            defines: &["RESNET_SMALL_IO", &steps_of_call, &per_step_of_call],
            main: "segments.cpp",
        };
        let calls = all.len() / (per_step * steps);
        let words = |name: &str, record: &Value| {
            flat(&record[name]).iter().fold(String::new(), |text, n| text + &format!("{n}\n"))
        };
        let model: String = WEIGHTS.iter().map(|name| words(name, &all[0])).collect();
        let given: String = all.iter().map(|record| words("x", record)).collect();
        let mut found = answers(&simulator.build(), &format!("{model}{calls}\n{given}"));
        // A program is written where it is another one than before.
        let segments = built["report"]["segments"]["segments"].as_array().unwrap();
        let writes: f64 = segments.iter().map(|segment| segment["program_cycles"].as_f64().unwrap()).sum();
        assert_eq!(found.remove(0), [writes]);
        assert_eq!(found, expected, "{per_step} records in a step");
    }
}

#[test]
fn what_has_no_segments_says_so() {
    fails(&small(&["explain"], &[]), 4, &["does not fit", "segments = \"auto\""]);
    fails(
        &small(&["build"], &[]),
        4,
        &["does not fit", "`build`, `eval`, `explain`, `prove` and `run` take it in segments"],
    );
    let folder = tempfile::tempdir().unwrap();
    let rom = file(folder.path(), "rom.toml", "[build]\nsegments = \"auto\"\nmicrocode = \"rom\"\n");
    fails(
        &small(&["build"], &["--config", &rom]),
        1,
        &["E-CONFIG", "rom.toml:3:13", "leave `microcode` or `segments` out"],
    );
    fails(&["explain", "programs/logistic.t", "--segments"], 2, &["only functions run in segments"]);
    let stream = file(folder.path(), "sum.tc", "def sum(float(N) x, float(N) s) -> (t) {\n  t(i) = s(i) + x(i)\n}\n");
    let inputs = file(folder.path(), "sum.json", r#"[{"x": [1, 2], "s": [0, 0]}, {"x": [3, 4]}]"#);
    let stream = ["explain", &stream, "--inputs", &inputs, "--state", "s=t", "--segments"];
    fails(&stream, 1, &["E-CONFIG", "`s` passes from record to record"]);
    // One PE has no room for the weights of an operation that has one result.
    let one = [
        "--machine",
        "pus=1",
        "--machine",
        "pes_per_pu=1",
        "--machine",
        "model_depth=16",
        "--machine",
        "stream_words=1",
    ];
    fails(&[&["explain", NETWORK, "--segments"], &one[..]].concat(), 4, &["E-BACKEND"]);
}
