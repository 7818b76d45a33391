//! Any bytes as a `TFLite` model: it is refused, or becomes a graph that is refused or becomes a program.

use super::onnx_model;

pub(crate) fn read(bytes: &[u8]) {
    if let Ok(model) = tflite::to_onnx(bytes) {
        assert!(
            model.len() <= 1 << 16 || model.len() <= 256 * bytes.len(),
            "{} bytes become {}",
            bytes.len(),
            model.len()
        );
        onnx_model::read(&model);
    }
}
