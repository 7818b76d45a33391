//! Any text as a program: Tabla.

#![no_main]

#[path = "../inputs/program.rs"]
mod program;

use compiler::language::Language;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::read(Language::Tabla, bytes));
