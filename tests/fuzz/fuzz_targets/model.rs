//! Any text as a saved model.

#![no_main]
#![allow(dead_code, reason = "modules of the command line, of which this needs a part")]

#[path = "../../../src/arguments/mod.rs"]
mod arguments;
#[path = "../../../src/failure.rs"]
mod failure;
#[path = "../inputs/model.rs"]
mod model;
#[path = "../../../src/model_file.rs"]
mod model_file;
#[path = "../../../src/output.rs"]
mod output;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::read(bytes));
