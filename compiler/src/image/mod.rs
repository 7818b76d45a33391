//! Image: scheduled jobs as microcode, checked by replaying it.
//!
//!     scheduled jobs ─▶ encode ─▶ arch::Image ─▶ refuse (fields, depths, shifts) ─▶ verify (two steps, word by word)
//!
//! The laws, checked by [`verify()`]:
//!
//! 1. Every instruction, stream and table fits the machine, and every shift is one that it does.
//! 2. Every routine starts inside its stream and ends there; for each of its instructions that load or send there is what the stream
//!    carries, tile by tile, with as many beats. Every scalar instruction has its place in the order of the program.
//! 3. No write port, root or bus is used twice in a cycle.
//! 4. Every root beat meets the sum of exactly one alu beat, every move beat the result of exactly one root beat, and
//!    every sum and every result is used, in the order in which the alu makes them.
//! 5. No PE reads a word in the cycle in which it is written.
//! 6. Words are read and written in program order: a beat sees what all jobs before its own wrote, and nothing of the jobs after; of two
//!    results for one word of a PE the later job's stays.
//! 7. A root begins a quotient only when it has finished the one before.
//! 8. A word of the gradient pad belongs to one sum of the step, has one address in all its beats, and is there when the next tile reads it.
//!    What a late instruction gives the trees is written late.
//! 9. All streams are idle, and have fetched their first instruction again, when the next step starts; after a tile that is not the last one
//!    of its batch, what is cut off counts in the last one only.
//! 10. What the scalar unit sends is taken by one move beat, and meets no result of the global root. The unit reads only words that it
//!     has: of inputs that are loaded to it, or that it or the bus has written there.
//!
//! | file | holds |
//! |---|---|
//! | [`encode`] | jobs to instructions |
//! | [`refuse`] | what a machine cannot do, said to the user |
//! | [`mod@verify`] | the laws; 1 and 2 |
//! | [`replay`] | laws 3 to 10 |
//! | [`text`] | the text form |

pub(crate) mod encode;
pub(crate) mod refuse;
mod replay;
pub mod text;
mod verify;

pub use refuse::{Refusal, needs_divider, needs_extremes, needs_limits, needs_rectifiers, needs_squares};
pub use verify::{laws, verify};
