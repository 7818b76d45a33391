//! Random programs on every rung, and what holds for every program. One program, so that their generator is compiled once.

mod batches;
#[path = "../cases/mod.rs"]
mod cases;
mod derived;
mod duals;
mod extremes;
#[path = "../generator/mod.rs"]
mod generator;
mod ladder;
mod losses;
#[path = "../made_up/mod.rs"]
mod made_up;
mod plain;
mod programs;
mod segments;
mod shares;
mod sums;
mod texts;
