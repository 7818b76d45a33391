//! Any text as a config, and as the [train] table beside a program.

#![no_main]
#![allow(dead_code, reason = "modules of the command line, of which this needs a part")]

#[path = "../../../src/config.rs"]
mod config;
#[path = "../../../src/failure.rs"]
mod failure;
#[path = "../inputs/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| settings::read(bytes));
