//! Any text as a saved model.

#![no_main]

#[path = "../inputs/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::read(bytes));
