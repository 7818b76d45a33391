//! Any text as a program: Tile.

#![no_main]

#[path = "../inputs/program.rs"]
mod program;

use compiler::language::Language;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| program::read(Language::Tile, bytes));
