//! Data sets: from the text of a file to the words a training step takes.
//!
//!     CSV text ──▶ table ──▶ split ──▶ standardise ──▶ fields (features, bias, coded target) ──▶ steps
//!
//! | module | does |
//! |---|---|
//! | [`table`] | CSV text to columns of cells, with the place of every cell |
//! | [`split`] | which rows train and which test; the order of an epoch |
//! | [`standardise`] | mean 0 and deviation 1, with the statistics of the training part |
//! | [`labels`] | what stands in the target column, as the numbers the program expects |
//! | [`fields`] | rows to the tensors of a program |
//!
//! Nothing here reads a file or knows a machine. What is wrong with the data is a [`arch::Diagnostic`] that names row and column.

pub mod fields;
pub mod labels;
pub mod split;
pub mod standardise;
pub mod table;
