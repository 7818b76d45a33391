//! Text form of an image: printed by [`Display`], read back by [`FromStr`] to the same value.
//!
//! ```text
//! image
//! machine pus = 2, pes_per_pu = 2, table_entries = 64
//! step 40 cycles, 1 tiles
//! entry step alu %0
//! entry load model %0
//! table 0 sigmoid word 16 q 12 -> q 15 log2 5 at 0
//! alu %0 "h multiply-add": k3<4, reduce 1, model[k3 + 2], data[k3], b data, tree, end  @ 3..9 as h
//! scalar %0 "d multiply-add": delay 9, t0[0], a t0, b immediate, immediate_b 2, send, end
//! root %0 "h multiply-add": delay 7, global, shift 13, end
//! move %0 "h multiply-add": delay 11, global, destination[0], end
//! load %0 "w load": k3<4, destination[k3 + 2], end
//! stream %0 w [4] q 12
//! stream %1 c [2] q 8 = [256, -3]
//! model in: %0[k3] k3<4
//! step in: %2[2*k2][k3 + 4 lane 1] k2<2 k3<3
//! ```
//!
//! **Machine**: the keys of the `[machine]` table that do not follow from the others. **Entries**: at which instruction of its stream a
//! routine begins; it ends at the next `end`.
//!
//! **Instructions**: what it does, for people, then its fields. Their names are those of the microcode word ([`arch::isa`], docs/machine.md);
//! a bit is written if it is set, anything else if it is not as in an instruction of one beat that does nothing on all PEs. `k3<4` is a
//! loop, `k3` the innermost one. `data[4*k2 + k3 + 1]` is an address: where it begins, and by how much it goes on with each loop. A new
//! field needs no line here: names and values are those of the walk over the fields. The instructions of `alu` and `scalar`
//! stand in the order of the program, which the replay needs to know ([`Image::follows`]).
//!
//! **Streams**: the tensors, and for each instruction that loads or sends, in order and tile by tile, which element a beat carries: by loop
//! counters, and `lane 1` by how much the index goes on from lane to lane; with `width 8` lanes
//! stand in rows of 8, and `row 1` is by how much it goes on from row to row. What lies outside of the tensor is padding.

mod parse;
mod print;

pub(super) use print::{instruction, stream_tensor};

use arch::Diagnostic;
use arch::image::{Entries, Feed, Image};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// An image that is printed or was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Written(pub Image);

impl Display for Written {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&print::image(&self.0))
    }
}

impl FromStr for Written {
    type Err = Diagnostic;

    /// Read an image; its laws are the caller's to check.
    fn from_str(text: &str) -> Result<Written, Diagnostic> {
        parse::image(text).map(Written)
    }
}

/// No word of this form is a name elsewhere.
fn reserved(_: &str) -> bool {
    false
}

/// The routines, each by two words.
fn routines(entries: &mut Entries) -> [([&'static str; 2], &mut Option<u32>); 8] {
    [
        (["step", "alu"], &mut entries.step_alu),
        (["step", "root"], &mut entries.step_root),
        (["step", "move"], &mut entries.step_move),
        (["step", "scalar"], &mut entries.step_scalar),
        (["step", "load"], &mut entries.step_load),
        (["emit", "step"], &mut entries.emit_step),
        (["emit", "model"], &mut entries.emit_model),
        (["load", "model"], &mut entries.load_model),
    ]
}

/// What is carried, by two words.
fn carried(image: &mut Image) -> [([&'static str; 2], &mut Vec<Feed>); 4] {
    [
        (["model", "in"], &mut image.model_in),
        (["step", "in"], &mut image.step_in),
        (["step", "out"], &mut image.step_out),
        (["model", "out"], &mut image.model_out),
    ]
}
