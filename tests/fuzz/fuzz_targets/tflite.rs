//! Any bytes as a TFLite model.

#![no_main]

#[path = "../inputs/tflite.rs"]
mod model;
#[path = "../inputs/onnx.rs"]
mod onnx_model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::read(bytes));
