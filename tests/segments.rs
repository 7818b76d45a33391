//! Segments: a network that its machine does not hold as a whole runs in parts, and no word differs.

mod tool;

use serde_json::{Value, json};
use tool::{done, fails, file};

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

#[test]
fn what_has_no_segments_says_so() {
    fails(&small(&["explain"], &[]), 4, &["does not fit", "segments = \"auto\""]);
    fails(&small(&["build"], &["--segments"]), 4, &["does not fit", "`prove` take it in segments"]);
    fails(&["explain", "programs/logistic.t", "--segments"], 2, &["only functions run in segments"]);
    let folder = tempfile::tempdir().unwrap();
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
