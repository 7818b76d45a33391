//! Data sets: from the text of a file to the words a training step takes.
//!
//!     bytes ──file──▶ table ──▶ split ──▶ fill, standardise ──▶ fields (features, bias, coded target) ──▶ steps
//!
//! | module | does |
//! |---|---|
//! | [`file`](mod@file) | the bytes of a file to a table, whatever the format |
//! | [`table`] | columns of cells, with the place of every cell; CSV text |
//! | [`row`] | the cells of one row |
//! | [`libsvm`], [`npy`], [`npz`], [`parquet`] | the other formats |
//! | [`header`] | whether the first line of a text names the columns |
//! | [`kinds`] | truth values, dates and categories as numbers |
//! | [`strange`] | columns that a training can hardly use |
//! | [`missing`] | what stands in for values that are missing |
//! | [`split`] | which rows train and which test; the order of an epoch |
//! | [`standardise`] | mean 0 and deviation 1, with the statistics of the training part |
//! | [`labels`] | what stands in the target column, as the numbers the program expects |
//! | [`fields`] | rows to the tensors of a program |
//! | [`weights`] | trained weights as NPY, NPZ, CSV and C |
//!
//! Nothing here reads a file or knows a machine. What is wrong with the data is a [`arch::Diagnostic`] that names row and column.

pub mod fields;
pub mod file;
pub mod header;
pub mod kinds;
pub mod labels;
pub mod libsvm;
pub mod missing;
pub mod npy;
pub mod npz;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod row;
pub mod split;
pub mod standardise;
pub mod strange;
pub mod table;
pub mod weights;
