//! Any bytes as an ONNX model: it is refused, or becomes a program that keeps the laws of tensor IR.

use compiler::language::{Limits, Options};
use compiler::tensor::laws;
use onnx::{File, Reading, Weights};

pub(crate) fn read(bytes: &[u8]) {
    let Ok(file) = File::decode(bytes) else { return };
    let limits = Limits { elements: 1 << 16, elements_in_all: 1 << 18, points: 1 << 20, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let beside = |name: &str| {
        assert!(!name.starts_with('/') && !name.split('/').any(|part| part == ".."), "{name}");
        Err("none".to_owned())
    };
    let reading = Reading { options: &options, given: &[], beside: &beside, weights: Weights::None };
    if let Ok((program, _)) = file.program(&reading) {
        assert_eq!(laws(&program), Ok(()));
    }
    for name in file.model.graph.outputs.iter().map(|info| info.name) {
        let _ = file.weights(name);
    }
}
