//! The write port of a pad that two may write: the result of the alu, and the bus or the loader.

use crate::datapath::pair;
use crate::rtl::signal::Wide;
use arch::device::Leaves;
use rust_hdl_core::prelude::*;

/// Never both in a cycle. The address is decided for all PEs of a PU at once.
#[derive(LogicBlock)]
pub(crate) struct WritePort {
    pub(crate) alu_write: Signal<In, Bit>,
    pub(crate) alu_admitted: Signal<In, Bit>,
    pub(crate) alu_word: Wide<In>,
    pub(crate) other_write: Signal<In, Bit>,
    pub(crate) other_admitted: Signal<In, Bit>,
    pub(crate) other_word: Wide<In>,
    pub(crate) write: Signal<Out, Bit>,
    pub(crate) word: Wide<Out>,
    _leaves: Leaves,
}

impl WritePort {
    pub(crate) fn new(word: u32, leaves: Leaves) -> Self {
        WritePort {
            alu_write: Signal::default(),
            alu_admitted: Signal::default(),
            alu_word: Wide::new(word),
            other_write: Signal::default(),
            other_admitted: Signal::default(),
            other_word: Wide::new(word),
            write: Signal::default(),
            word: Wide::new(word),
            _leaves: leaves,
        }
    }
}

impl Logic for WritePort {
    fn update(&mut self) {
        let (alu, other) = (self.alu_write.val(), self.other_write.val());
        self.write.next = alu && self.alu_admitted.val() || other && self.other_admitted.val();
        self.word.next = if other { self.other_word.val() } else { self.alu_word.val() };
    }
    fn connect(&mut self) {
        self.write.connect();
        self.word.connect();
    }
    fn hdl(&self) -> Verilog {
        let chosen = pair::text(self._leaves, "chosen", self.word.width(), ["other_write", "other_word", "alu_word"]);
        Verilog::Custom(format!(
            "// write_port: write port of a pad, for results and for the bus or the loader; never both in a cycle.
assign write = (alu_write && alu_admitted) || (other_write && other_admitted);
{chosen}assign word = chosen;"
        ))
    }
}
