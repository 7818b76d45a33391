//! An archive of arrays, built of the fuzzer's bytes, and what may happen to it.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/npy.rs"]
mod npy;
#[path = "../inputs/npz.rs"]
mod npz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| npz::read(bytes));
