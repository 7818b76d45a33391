//! Text form of instructions.
