//! Small models, and what `LiteRT`'s reference kernels make of them: real numbers within rounding, integers exact or, where kernels round
//! more than once, within a step. `measure tflite` writes them.

#[path = "../../onnx/tests/run/mod.rs"]
mod run;

use run::{Case, Verdict, cases, run};

const CASES: &[u8] = include_bytes!("cases.bin");

/// Cases that climb down to the array, too: one for each kind of operator.
const ON_THE_ARRAY: &[&str] = &[
    "fully_connected_float",
    "fully_connected_int8",
    "conv_same_int8_relu6",
    "conv_int8_channel_without_weights",
    "depthwise_int8",
    "add_int8",
    "max_pool_int8",
    "resize_bilinear",
    "strided_slice_masks",
    "lstm",
    "svdf_rank_2",
    "network_int8",
];

/// What an engine makes of a case.
fn verdict(engine: &str, case: &Case<'_>) -> Verdict {
    let model = match tflite::to_onnx(case.model) {
        Ok(model) => model,
        Err(refused) => return Verdict::Refused(refused.message),
    };
    let (inputs, outputs) = (case.inputs.clone(), case.outputs.clone());
    run(engine, &Case { name: case.name, model: &model, inputs, outputs, tolerance: case.tolerance })
}

#[test]
fn golden_gives_what_litert_gives() {
    let cases = cases(CASES);
    assert!(cases.len() > 200);
    let wrong: Vec<_> = cases
        .iter()
        .map(|case| (case.name, verdict("golden", case)))
        .filter(|(_, verdict)| *verdict != Verdict::Pass)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_array_is_within_a_hundredth() {
    let cases = cases(CASES);
    for name in ON_THE_ARRAY {
        let case = cases.iter().find(|case| case.name == *name).unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(verdict("array", case), Verdict::Pass, "{name}");
    }
}

/// The same file with another byte is refused, or read as something else.
#[test]
fn damaged_files_are_refused_or_read() {
    use compiler::language::{Limits, Options};
    let limits = Limits { elements: 1 << 16, elements_in_all: 1 << 18, points: 1 << 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut refused = 0;
    for case in cases(CASES) {
        let mut read = |bytes: &[u8]| {
            let Ok(model) = tflite::to_onnx(bytes) else {
                refused += 1;
                return;
            };
            let file = onnx::File::decode(&model).expect("a graph");
            let beside = |_: &str| Err("none".into());
            let reading =
                onnx::Reading { options: &options, given: &[], beside: &beside, weights: onnx::Weights::None };
            if let Ok((program, _)) = file.program(&reading) {
                assert_eq!(compiler::tensor::laws(&program), Ok(()));
            }
        };
        for at in (0..case.model.len()).step_by(case.model.len() / 25 + 1) {
            let mut changed = case.model.to_vec();
            changed[at] ^= 0x95;
            read(&case.model[..at]);
            read(&changed);
        }
    }
    assert!(refused > 1000, "{refused} refused");
}
