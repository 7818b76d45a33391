//! LIBSVM text, built of the fuzzer's bytes, and what may happen to it.

#![no_main]

#[path = "../inputs/damage.rs"]
mod damage;
#[path = "../inputs/libsvm.rs"]
mod libsvm;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| libsvm::read(bytes));
