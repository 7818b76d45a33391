//! Passes about sums: what is multiplied when, what a sum waits for, which sums lose no bits, and which take factors and starts in.

pub mod chain;
pub mod exponentials;
pub mod rates;
pub mod scales;
pub mod starts;
