//! A checkpoint, built of the fuzzer's bytes, and what may happen to it.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/checkpoint.rs"]
mod checkpoint;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkpoint::read(bytes));
