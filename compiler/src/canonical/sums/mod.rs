//! Passes about sums: what is multiplied when, what a sum waits for, and which sums lose no bits.

pub mod chain;
pub mod exponentials;
pub mod rates;
