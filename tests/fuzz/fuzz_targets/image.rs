//! Any words as microcode.

#![no_main]

#[path = "../inputs/image.rs"]
mod image;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| image::run(bytes));
