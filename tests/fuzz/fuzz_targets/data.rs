//! Any bytes as a data set.

#![no_main]

#[path = "../inputs/data.rs"]
mod data;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| data::read(bytes));
