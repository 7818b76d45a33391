//! An array of `NumPy`, built of the fuzzer's bytes, and what may happen to it.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/npy.rs"]
mod npy;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| npy::read(bytes));
