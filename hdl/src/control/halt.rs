//! What stops a run, whatever state it is in: a reset or an abort (docs/machine.md, section 6).
//!
//!     reset ───────────────────────────────▶ registers, ways into programs and tables
//!     reset, abort ──▶ register ──▶ halt ──▶ everything else: runs, streams, beats, output queue
//!
//! So an abort leaves the program where it is. Two cycles of `halt` are enough, as they are of `reset`.

use crate::rtl::register::Flag;
use crate::rtl::wiring::comment;
use rust_hdl::prelude::*;

/// Makes `halt`.
#[derive(LogicBlock)]
pub(crate) struct HaltControl {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// An abort is written.
    pub(crate) abort: Signal<In, Bit>,
    pub(crate) halt: Signal<Out, Bit>,
    /// The cycle after the write.
    asked: Flag,
    /// That cycle and the next one.
    held: Flag,
}

impl HaltControl {
    pub(crate) fn new() -> Self {
        HaltControl {
            clock: Signal::default(),
            reset: Signal::default(),
            abort: Signal::default(),
            halt: Signal::default(),
            asked: Flag::new(),
            held: Flag::new(),
        }
    }
}

impl Logic for HaltControl {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("halt_control: two cycles of halt after an abort, and halt a cycle after reset.");
        clock!(self, clock, asked, held);
        self.asked.reset.next = self.reset.val();
        self.asked.d.next = self.abort.val();
        self.held.reset.next = false;
        self.held.d.next = self.reset.val() || self.abort.val() || self.asked.q.val();
        self.halt.next = self.held.q.val();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// What `halt` is after each cycle with these inputs.
    fn halts(inputs: [(bool, bool); 6]) -> [bool; 6] {
        let mut block = HaltControl::new();
        block.connect_all();
        inputs.map(|(reset, abort)| {
            (block.reset.next, block.abort.next) = (reset, abort);
            clocked(&mut block, |b| &mut b.clock);
            block.halt.val()
        })
    }

    #[test]
    fn an_abort_halts_for_two_cycles() {
        let (none, abort) = ((false, false), (false, true));
        assert_eq!(halts([none, abort, none, none, none, none]), [false, true, true, false, false, false]);
        assert_eq!(halts([abort, abort, none, none, abort, none]), [true, true, true, false, true, true]);
    }

    #[test]
    fn a_reset_halts_a_cycle_later() {
        let (none, reset) = ((false, false), (true, false));
        assert_eq!(halts([reset, reset, none, none, none, none]), [true, true, false, false, false, false]);
    }
}
