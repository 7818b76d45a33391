//! Placed: the program in pieces, with the axis of the grid on which each index lies.
//!
//!     fixed::Program ─▶ tile ─▶ pieces ─▶ windows ─▶ place (classes of indices, cost) ─▶ write back ─▶ jobs
//!
//! | file | decides |
//! |---|---|
//! | [`tile`] | in how many steps a batch runs |
//! | [`pieces`] | where an index that does not fill the grid evenly is cut |
//! | [`windows`] | which inputs are sent once for each place that reads them |
//! | [`mod@place`] | the axis of each index |
//! | [`cost`] | what a placement costs |
//! | [`reshard`] | which results lie elsewhere than where they are computed |
//! | [`write_back`] | which results reach a weight through a temporary |

pub(crate) mod cost;
pub(crate) mod pieces;
pub(crate) mod place;
pub(crate) mod reshard;
pub(crate) mod tile;
pub(crate) mod windows;
pub(crate) mod write_back;

pub use place::{Axis, Placement};
