//! Commands that measure many runs: machines, widths, benchmarks.

pub mod accuracy;
pub mod bench;
pub mod explore;
pub mod kernels;
pub mod networks;
pub mod system;
