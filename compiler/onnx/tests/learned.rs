//! Models of `ai.onnx.ml`, `com.microsoft` and QONNX beside onnxruntime and the package qonnx: `measure/python/onnx_learned.py` writes learned.bin.

mod run;

use run::{Verdict, cases, run, run_in};

const CASES: &[u8] = include_bytes!("learned.bin");

#[test]
fn golden_gives_what_the_reference_gives() {
    let cases = cases(CASES);
    assert!(cases.len() > 150, "{}", cases.len());
    let verdicts = cases.iter().map(|case| (case.name, run("golden", case)));
    let wrong: Vec<_> = verdicts.filter(|(_, verdict)| *verdict != Verdict::Pass).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Kinds of models that climb down to the array: within a hundredth of the largest value, and labels the same.
const ON_THE_ARRAY: &[&str] = &[
    "tree_branch_leq",
    "tree_by_paths",
    "tree_by_walk",
    "tree_max",
    "tree_targets_apart",
    "forest_labels_unsorted",
    "boosted_logistic",
    "boosted_two_labels",
    "parts_1",
    "svm_regressor_poly_0",
    "svm_rbf_3_none",
    "one_hot_int",
    "imputer_value",
    "label_many",
    "qlinear_add_int8",
    "qlinear_pool_int8_1",
    "quant_up_10",
    "trunc_half_down",
    "distances_sqeuclidean",
];

#[test]
fn the_array_is_within_a_hundredth() {
    let cases = cases(CASES);
    let find = |name: &&str| cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("no {name}"));
    let verdicts = ON_THE_ARRAY.iter().map(|name| (name, run("array", find(name))));
    let wrong: Vec<_> = verdicts.filter(|(_, verdict)| *verdict != Verdict::Pass).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Units of a hidden layer that differ by 2^14: of one binary point for all of them, the result would keep nothing of the small ones.
#[test]
fn uneven_channels_fit_words_of_16_bits() {
    let cases = cases(CASES);
    let case = cases.iter().find(|case| case.name == "uneven_channels").unwrap();
    assert_eq!(run_in(&[16], "array", case), Verdict::Pass);
}

/// A warning that always comes is none: of the cases whose words of 16 bits are right, few are warned of. Probabilities of support vectors take a
/// hundred rounds for each pair of classes, and minutes here.
#[test]
fn right_words_are_seldom_warned_of() {
    let all: Vec<_> = [CASES, include_bytes!("cases.bin").as_slice()].into_iter().flat_map(cases).collect();
    let all = all.iter().filter(|case| !case.name.starts_with("svm_proba"));
    let verdicts: Vec<_> = all.map(|case| (case.name, run_in(&[16], "told", case))).collect();
    let told: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Told).collect();
    let right = told.len() + verdicts.iter().filter(|(_, verdict)| *verdict == Verdict::Pass).count();
    assert!(right > 200 && 20 * told.len() <= right, "{} of {right}: {told:?}", told.len());
}
