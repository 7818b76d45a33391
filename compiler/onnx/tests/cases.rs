//! A sample of ONNX' own node cases, which its package makes with `NumPy`: inputs, and what has to come out. `measure onnx` runs all.

mod run;

use run::{Verdict, cases, run};

const CASES: &[u8] = include_bytes!("cases.bin");

/// Cases that climb down to the array, too: one for each kind of operator.
const ON_THE_ARRAY: &[&str] = &[
    "test_add_bcast",
    "test_basic_conv_with_padding",
    "test_matmul_2d",
    "test_maxpool_2d_precomputed_pads",
    "test_layer_normalization_2d_axis1",
    "test_transpose_default",
    "test_spacetodepth_example",
    "test_qlinearmatmul_2D_uint8_float32",
    // A mask that is added, a minimum over updates, a count of bits that is negative, a width that needs no rounding.
    "test_attention_4d_attn_mask",
    "test_scatternd_min",
    "test_bitshift_right_int8_negative_shift",
    "test_cast_INT4_to_FLOAT16",
    // Nothing to reduce, and an infinity for it.
    "test_reduce_log_sum_exp_empty_set_expanded",
];

#[test]
fn golden_gives_what_numpy_gives() {
    let cases = cases(CASES);
    assert!(cases.len() > 100);
    let wrong: Vec<_> = cases
        .iter()
        .map(|case| (case.name, run("golden", case)))
        .filter(|(_, verdict)| *verdict != Verdict::Pass)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_array_is_within_a_hundredth() {
    let cases = cases(CASES);
    for name in ON_THE_ARRAY {
        let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(run("array", case), Verdict::Pass, "{name}");
    }
}

/// Twelve elements, with a NaN and infinities among them: words have neither, but know which inputs are infinite.
#[test]
fn elements_that_are_no_numbers_are_not_compared() {
    let cases = cases(CASES);
    let find = |name: &str| cases.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(run("array", find("test_cast_FLOAT_to_FLOAT16")), Verdict::PassWithout(1));
    assert_eq!(run("array", find("test_isinf")), Verdict::Pass);
    // What asks whether a value is a number has no answer.
    assert!(matches!(run("array", find("test_cast_FLOAT_to_FLOAT4E2M1")), Verdict::Refused(_)));
}

#[test]
fn a_wrong_expectation_is_seen() {
    let mut case = cases(CASES).into_iter().find(|case| case.name == "test_abs").unwrap();
    let mut other = case.outputs[0].to_vec();
    let last = other.len() - 1;
    // The exponent of the last number.
    other[last] ^= 1;
    case.outputs = vec![&other];
    assert!(matches!(run("golden", &case), Verdict::Wrong(_)));
}
