//! The byte link to a board (docs/link.md), from both ends.
//!
//!     driver ──▶ LinkedGrid ──▶ Link ──▶ Wire ═══ bytes ═══ BoardModel ──▶ grid
//!                (a Grid)     requests, repeats             the model of `hdl::shell`
//!
//! | module | is |
//! |---|---|
//! | [`host`] | requests, several under way, repeated until answered |
//! | [`error`] | why that does not work |
//! | [`grid`] | a board behind the interface of all grids |
//! | [`board`] | what the hardware does with the bytes, for tests and without hardware |

pub mod board;
pub mod error;
pub mod grid;
pub mod host;

pub use board::BoardModel;
pub use error::LinkError;
pub use grid::{LinkedGrid, Shared};
pub use host::{Link, Patience, Phase, Settled, Wire};
