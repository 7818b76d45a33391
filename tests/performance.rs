//! The table of docs/performance.md says what the tool measures now.

mod tool;

use std::fs;
use tool::{done, fails};

/// The published benchmarks on 8 x 8 PEs; the larger ones are measured by `scripts/performance` only.
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
    let page = fs::read_to_string("docs/performance.md").unwrap();
    let arguments = [&["bench", "--page", "--no-rtl", "--quiet"][..], NAMES].concat();
    let measured = done(&arguments).stdout;
    assert_eq!(measured.lines().count(), 2 + 2 * NAMES.len());
    let old: Vec<&str> = measured.lines().filter(|line| !page.lines().any(|known| known == *line)).collect();
    assert!(old.is_empty(), "run scripts/performance; docs/performance.md lacks\n{}", old.join("\n"));
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
