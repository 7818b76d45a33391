//! Inputs as JSON, built of the fuzzer's bytes, and what may happen to them.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/json_inputs.rs"]
mod json_inputs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| json_inputs::read(bytes));
