//! Scheduled: the cycle of every beat, and the pad and address of every word.
//!
//!     jobs ─▶ colour (pads) ─▶ schedule (order, cycles) ─▶ allocate (addresses) ─▶ image
//!
//! | file | decides |
//! |---|---|
//! | [`mod@schedule`] | the order of the jobs |
//! | [`timetable`] | the first cycle in which a job may start |
//! | [`trace`] | which words an access touches, and when |
//! | [`mod@allocate`] | the pad and the address of each storage |

pub(crate) mod allocate;
pub(crate) mod schedule;
pub(crate) mod timetable;
pub(crate) mod trace;

pub use allocate::Words;
pub use timetable::Cause;
