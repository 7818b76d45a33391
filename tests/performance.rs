//! The table of docs/tables/performance.txt says what the tool measures now.

mod tool;

use serde_json::Value;
use std::fs;
use tool::{done, fails};

/// The published benchmarks on 8 x 8 PEs; the larger ones are measured by `measure performance` only.
const NAMES: &[&str] = &[
    "linear_55",
    "linear_784",
    "logistic_54",
    "logistic_200",
    "svm_54",
    "svm_200",
    "reco_138_130_10",
    "backprop_61_128_4",
    "backprop_64_128_10",
];

#[test]
fn the_page_is_current() {
    let page = fs::read_to_string("docs/tables/performance.txt").unwrap();
    let arguments = [&["bench", "--no-rtl", "--quiet", "--format", "json"][..], NAMES].concat();
    let measured = measure::tables::benchmarks(&done(&arguments).json()).unwrap();
    // One by one and in batches, the last one on another grid, too.
    assert_eq!(measured.lines().count(), 2 + 2 * NAMES.len() + 1);
    let old: Vec<&str> = measured.lines().filter(|line| !page.lines().any(|known| known == *line)).collect();
    assert!(old.is_empty(), "run cargo measure performance; docs/tables/performance.txt lacks\n{}", old.join("\n"));
}

/// What is said per sample is what a longer training takes more, by the cycle counter of the machine.
#[test]
fn cycles_per_sample_are_those_of_a_training() {
    let common =
        ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--config", "tiny", "--format", "json"];
    let json = |words: &[&str]| -> Value { done(&[words, &common[..]].concat()).json() };
    let cycles = |rows: &str| {
        json(&["train", "--engine", "array", "--epochs", "1", "--limit", rows])["cycles"]
            .as_f64()
            .expect("an array counts")
    };
    let measured = (cycles("30") - cycles("10")) / 20.0;
    assert_eq!(json(&["explain"])["cycles_per_sample"].as_f64(), Some(measured));
    let folder = tempfile::tempdir().unwrap();
    let report = json(&["build", "--out", folder.path().to_str().unwrap()])["report"].take();
    assert_eq!(report["cycles"]["cycles_per_sample"].as_f64(), Some(measured));
    let second = report["cycles"]["samples_per_second"].as_f64().unwrap();
    let clock = report["board"]["clock_mhz"].as_f64().unwrap();
    assert!((second * measured / (clock * 1e6) - 1.0).abs() < 1e-9, "{second} samples per second at {clock} MHz");
}

#[test]
fn a_benchmark_takes_the_same_cycles_on_the_verilog() {
    let arguments = ["bench", "logistic_54", "--batch", "1", "--format", "json"];
    let row = done(&arguments).json()["benchmarks"][0].clone();
    assert_eq!((&row["name"], &row["batch"], &row["pes"]), (&"logistic_54".into(), &1.into(), &64.into()));
    assert!(row["cycles_per_sample"].as_f64().unwrap() > row["bound"].as_f64().unwrap());
    assert_eq!(row["rtl_cycles_per_sample"], row["cycles_per_sample"], "{row}");
    assert!(row["words_compared"].as_u64().unwrap() >= 54 && row["peer_rtl"] == 574);
    fails(&["bench", "linear_5"], 2, &["there is no benchmark `linear_5`", "linear_55"]);
}

/// Every kernel that nobody tuned, on the array.
#[test]
fn the_page_of_kernels_is_current() {
    let page = fs::read_to_string("docs/tables/kernels.txt").unwrap();
    let measured = workbench::kernels::OUTPUTS.map(|outputs| {
        let [output, emit] = [outputs.output_words, outputs.emit_words].map(|words| words.to_string());
        let asked =
            ["bench", "--kernels", "--output-words", &output, "--emit-words", &emit, "--quiet", "--format", "json"];
        done(&asked).json()
    });
    let measured = measure::tables::kernels(&measured).unwrap();
    assert!(measured.lines().count() >= 2 + 20, "{measured}");
    let known: Vec<&str> = page.lines().filter(|line| line.starts_with('|')).collect();
    let now: Vec<&str> = measured.lines().collect();
    assert_eq!(known, now, "run cargo measure kernels");
}

#[test]
fn kernels_say_what_bounds_them() {
    let document = done(&["bench", "--kernels", "softmax", "mlp_training_64", "--format", "json"]).json();
    tool::schema::holds(&document, "bench_kernels");
    let [softmax, training] = &document["kernels"].as_array().unwrap()[..] else { panic!("{document}") };
    // At least 4096 words leave, 16 of which come in per cycle.
    let bounds = &softmax["bounds"];
    assert_eq!((bounds["input_words"].as_f64(), &training["batch"]), (Some(4096.0 / 16.0), &64.into()));
    for row in [softmax, training] {
        let figure = |name: &str| row[name].as_f64().unwrap();
        assert!(figure("cycles_per_sample") >= figure("bound") && row["words_compared"].as_u64().unwrap() > 0, "{row}");
        assert_eq!(figure("distance"), figure("cycles_per_sample") / figure("bound"));
        let largest = row["bounds"].as_object().unwrap().values().filter_map(serde_json::Value::as_f64);
        assert_eq!(largest.reduce(f64::max), row["bound"].as_f64());
    }
    fails(&["bench", "--kernels", "softmin"], 2, &["there is no kernel `softmin`", "softmax"]);
    fails(&["bench", "--kernels", "--system"], 2, &["cannot be used with"]);
}
