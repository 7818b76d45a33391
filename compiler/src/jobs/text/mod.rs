//! Text form of jobs: printed by [`Display`](std::fmt::Display), read back by [`FromStr`](std::str::FromStr) to the same value.
//!
//! ```text
//! jobs word 16 accumulator 48
//! table 0 sigmoid word 16 q 12 -> q 15 log2 6 at 0
//! tile 2 samples, 3 tiles
//! storage %0 x [2, 3] on [local, grid] strides [1, 1] words 2 q 8 input of x [6, 3] at [d0, d1] samples 0
//! storage %1 w [3] on [grid] strides [1] words 1 q 12 state of w [3] at [d0]
//! storage %2 h [2] on [local] strides [1] words 2 q 7 temporary
//! job "h multiply-add" pes for 2 over 1: %2[k0] = global root ( + %1[0] * %0[k0] >> 0 ) >> 13  @ 3..9 as h
//! job "d multiply-add" scalar for 2: %3[k0] = %2[k0] << 1 - %4[k0] * 2 >> 1  to pes scalar
//! job "g multiply-add" pes: %5[0] = + %2[0] * %0[0] >> 8  lanes column 0..1, row 0..2 at k0, row k1  over tiles %5[0]
//! ```
//!
//! **Storages**: extents, the axis of each dimension, words per local step of each, words per PE, bits after the binary point, role;
//! and what the streams carry for them: which tensor of the whole program, its extents, and its index, where `d0` is the first dimension
//! of the storage.
//!
//! **Jobs**: what it does, which datapath, loops (`for` free ones, `over` summed ones; `k0` is the counter of the first), `every` so many
//! cycles a beat. Left of `=` is what is written: words, or `out`. Right of it start `<<` alignment, how products are combined with it (`+`,
//! `-`, `max`, `min`), the product or a squared difference such as `(%1[0] - %0[0])^2`, `>>` shift, `negative` for the sign instead of the value. `row root ( .. ) >> 3 table 0` is a sum
//! that goes through a tree and its root; then `divide`, `divide down`. Lanes stand behind what they are of: inside the brackets those that
//! feed the tree, behind it those that take the result. A reshard that is still to be made: `walk along k0 column step 1`,
//! `walk rows k0 columns k1 words 4 lanes 0..2`.

mod parse;
mod print;

use crate::placed;
use arch::isa::Pad;

pub(crate) use parse::Reader;
pub(crate) use print::{head, job, storage};

/// The words that are names in quotes only.
const WORDS: &[&str] = &[
    "jobs",
    "word",
    "accumulator",
    "table",
    "storage",
    "strides",
    "words",
    "q",
    "input",
    "state",
    "parameter",
    "temporary",
    "output",
    "job",
    "for",
    "over",
    "every",
    "pes",
    "scalar",
    "pe",
    "global",
    "root",
    "max",
    "min",
    "negative",
    "none",
    "divide",
    "down",
    "lanes",
    "walk",
    "rows",
    "columns",
    "step",
    "to",
    "last",
    "out",
    "in",
    "scheduled",
    "cycles",
    "coloured",
    "as",
    "log2",
];

/// Whether a word means something in this form.
pub(crate) fn reserved(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = |letter: char| word.strip_prefix(letter).is_some_and(digits);
    WORDS.contains(&word)
        || Pad::NAMES.contains(&word)
        || placed::text::WORDS.contains(&word)
        || numbered('k')
        || numbered('d')
}
