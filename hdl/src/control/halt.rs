//! Conditions that stop a run in any state: a reset or an abort (docs/machine.md, section 6).
//!
//!     reset ───────────────────────────────▶ registers, ways into programs and tables
//!     reset, abort ──▶ register ──▶ halt ──▶ everything else: runs, streams, beats, output queue
//!
//! So an abort leaves the program where it is. Two cycles of `halt` are enough, as they are of `reset`.

use blocks::block;
use rust_hdl_core::prelude::*;

/// Two cycles of halt after an abort, and halt a cycle after reset.
#[block(clock, reset)]
pub(crate) fn HaltControl() {
    /// An abort is written.
    let abort: In;
    let halt: Out;
    /// The cycle after the write.
    let asked: Flag;
    /// That cycle and the next one.
    #[reset(false)]
    let held: Flag;

    asked = abort;
    held = reset || abort || asked;
    halt = held;
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
