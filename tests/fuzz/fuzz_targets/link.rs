//! Requests and replies on a line that loses, repeats and damages them.

#![no_main]

#[path = "../inputs/link.rs"]
mod link;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link::run(bytes));
