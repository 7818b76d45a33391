//! Random programs on every rung, and what holds for every program. One program, so that their generator is compiled once.

mod batches;
#[path = "../cases/mod.rs"]
mod cases;
mod derived;
#[path = "../generator/mod.rs"]
mod generator;
mod ladder;
#[path = "../made_up/mod.rs"]
mod made_up;
mod plain;
mod programs;
mod shares;
mod sums;
mod texts;
