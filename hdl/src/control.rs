//! Control: which beat happens in which cycle.
//!
//!     control port ──▶ registers ──▶ run ──start, step──▶ alu, move, root, load, scalar streams ──beats──▶ pipeline ──▶ PEs
//!                          └──writes──▶ microcode                                             └─emit──▶ output
//!
//! | module | holds |
//! |---|---|
//! | `sequencer` | all of the below but `pipeline`, `output` and `write_address`, wired |
//! | `registers` `run` `halt` | the control port; runs of steps; what stops them |
//! | `microcode` | the program memory of a stream |
//! | `stream` `loops` | parts of every stream: pacer and addresses; loop counters |
//! | `streams` `root_stream` `scalar_stream` `loader` | the streams |
//! | `tile_steps` | which tile of its batch a step is |
//! | `pipeline` `write_address` | control of a PU, delayed once for all its PEs |
//! | `output` | emission, with credits for the space in the FIFO |

pub(crate) mod halt;
pub(crate) mod loader;
pub(crate) mod loops;
pub(crate) mod microcode;
pub(crate) mod output;
pub(crate) mod pipeline;
pub(crate) mod registers;
pub(crate) mod root_stream;
pub(crate) mod run;
pub(crate) mod scalar_stream;
pub(crate) mod sequencer;
pub(crate) mod stream;
pub(crate) mod streams;
pub(crate) mod tile_steps;
pub(crate) mod write_address;
