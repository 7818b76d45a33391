//! The write port of a pad that two may write: the result of the alu, and the bus or the loader.

use crate::datapath::pair;
use arch::device::Leaves;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Never both in a cycle. The address is decided for all PEs of a PU at once.
#[block(leaf)]
pub(crate) fn WritePort(word: u32, leaves: Leaves) {
    let (alu_write, alu_admitted): In;
    let alu_word: In<word>;
    let (other_write, other_admitted): In;
    let other_word: In<word>;
    let write: Out;
    let word: Out<word>;
    let _leaves: Leaves = leaves;
}

impl crate::rtl::Leaf for WritePort {
    fn model(&mut self) {
        let (alu, other) = (self.alu_write.val(), self.other_write.val());
        self.write.next = alu && self.alu_admitted.val() || other && self.other_admitted.val();
        self.word.next = if other { self.other_word.val() } else { self.alu_word.val() };
    }
    fn text(&self) -> String {
        let chosen = pair::text(self._leaves, "chosen", self.word.width(), ["other_write", "other_word", "alu_word"]);
        format!(
            "// write_port: write port of a pad, for results and for the bus or the loader; never both in a cycle.
assign write = (alu_write && alu_admitted) || (other_write && other_admitted);
{chosen}assign word = chosen;"
        )
    }
}
