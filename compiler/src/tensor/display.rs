//! Text form of tensor IR.
