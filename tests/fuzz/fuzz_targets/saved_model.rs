//! A saved model, built of the fuzzer's bytes, and what may happen to it.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/saved_model.rs"]
mod saved_model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| saved_model::read(bytes));
