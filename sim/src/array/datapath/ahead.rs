//! Pads with output registers are read a cycle ahead: a beat sees them as they were before the writes of the last cycle.

use super::Lanes;
use crate::array::values::Values;
use arch::isa::Pad;

impl<V: Values> Lanes<V> {
    /// Write a word.
    pub(super) fn put(&mut self, pad: Pad, place: usize, word: V::Word) {
        self.touch(pad, &(place..place + 1));
        let before = std::mem::replace(&mut self.pads[pad as usize][place], word);
        if self.ahead {
            self.fresh.push((pad, place, before));
        }
    }

    /// Pads as they were before the writes of the last cycle, or again as they are now.
    pub(super) fn exchange(&mut self) {
        for (pad, place, word) in &mut self.fresh {
            std::mem::swap(&mut self.pads[*pad as usize][*place], word);
        }
    }

    /// Where pads are read ahead, the beats of this cycle see the pads of the cycle before.
    pub(super) fn look_back(&mut self) {
        self.exchange();
        if let Some(unit) = &mut self.unit {
            unit.exchange();
        }
    }

    /// After the reads of a cycle.
    pub(super) fn look_up(&mut self) {
        self.look_back();
        self.fresh.clear();
        if let Some(unit) = &mut self.unit {
            unit.fresh.clear();
        }
    }
}
