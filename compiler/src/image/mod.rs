//! Image: scheduled jobs as microcode, checked by replaying it.
//!
//!     scheduled jobs ─▶ encode ─▶ arch::Image ─▶ refuse (fields, depths, shifts) ─▶ verify (two steps, word by word)

pub(crate) mod encode;
pub(crate) mod refuse;
pub mod text;
pub(crate) mod verify;

pub use refuse::{Refusal, needs_divider, needs_extremes};
pub use verify::verify;
