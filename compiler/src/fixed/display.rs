//! Text form of fixed-point IR.
