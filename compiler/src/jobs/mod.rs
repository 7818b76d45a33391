//! Jobs: vector operations on the words of each PE, with the tree, root and bus that their results go through.
//!
//!     placed program ─▶ select ─▶ fuse ─▶ reshard ─▶ scalar ─▶ scheduled
//!
//! | file | decides |
//! |---|---|
//! | [`job`] | what a job is, and how it is brought down to the loops of an instruction |
//! | [`select`] | the jobs of an operation |
//! | [`fuse`] | which functions roots apply to sums as they pass |
//! | [`reshard`] | the rounds of a result over the columns |
//! | [`scalar`] | what runs on the scalar unit |
//! | [`streams`] | how tensors enter and leave the grid |

pub(crate) mod fuse;
pub(crate) mod job;
pub(crate) mod reshard;
pub(crate) mod scalar;
pub(crate) mod select;
pub(crate) mod streams;
