//! Any text as a program: Preprocessor.

#![no_main]

#[path = "../inputs/program.rs"]
mod program;

use compiler::language::Language;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::read(Language::Preprocessor, bytes));
