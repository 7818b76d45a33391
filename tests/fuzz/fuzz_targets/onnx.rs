//! Any bytes as an ONNX model.

#![no_main]

#[path = "../inputs/onnx.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::read(bytes));
