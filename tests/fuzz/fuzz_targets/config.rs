//! Any text as a config, and as the [train] table beside a program.

#![no_main]

#[path = "../inputs/settings.rs"]
mod settings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| settings::read(bytes));
