//! The datapath of a PE.
//!
//!     scratchpads ──▶ multiply_add ──▶ narrow (shift, round, saturate) ──▶ scratchpads, row tree
//!                         ▲
//!     start of a sum ─────┘ aligned by shift, or kept by tiles
//!
//! | module | holds |
//! |---|---|
//! | `pe` | the processing engine, and the bundles of its control |
//! | `memory` `row_pads` | scratchpads of a PE and of a row, and the text of memories in chunks |
//! | `operands` `multiply_add` `arithmetic` `multiplier` | operands, products, sums, rounding; the multiplier cell of ECP5 |
//! | `pair` `write_port` | choices between two words; what is written into a pad |
//! | `shift` `listed` `narrow` | shifters by any amount, by a few amounts, and what makes a word of a sum |
//! | `mask` | which PEs a beat admits |
//! | `tiles` | sums that wait for the next tile of a batch |
//! | `exchange` | such sums on their way out of the grid and back |

pub(crate) mod arithmetic;
pub(crate) mod exchange;
pub(crate) mod listed;
pub(crate) mod mask;
pub(crate) mod memory;
pub(crate) mod multiplier;
pub(crate) mod multiply_add;
pub(crate) mod narrow;
pub(crate) mod operands;
pub(crate) mod pair;
pub(crate) mod pe;
pub(crate) mod row_pads;
pub(crate) mod shift;
pub(crate) mod tiles;
pub(crate) mod write_port;
