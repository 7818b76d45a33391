//! Limits: the words that a machine has, and the room on the board that is to hold it.
//!
//! ```text
//! words of a candidate ──▶ beyond the pads of the machine?
//!                     └──▶ the machine fitted to them ──▶ beyond the board?
//!                                                    └──▶ input that comes more slowly than it is used?
//! ```

use super::fitted::fitted;
use crate::optimisations::Disabled;
use crate::scheduled::{Words, allocate};
use arch::image::Image;
use arch::machine::{Machine, MachineSpec};

/// A board that is to hold a machine.
#[derive(Clone, Copy)]
pub struct Board<'a> {
    /// What a machine takes beyond what the board has, in thousandths of that; 0: the board holds it.
    pub beyond: &'a dyn Fn(&Machine) -> u64,
    /// Cycles in which the input of a batch comes to the grid of an image, where that is known.
    pub input: Option<&'a dyn Fn(&Image) -> u64>,
}

/// A machine whose open depths follow from the program, and the board that is to hold it.
#[derive(Clone, Copy)]
pub(crate) struct OnBoard<'a> {
    /// What is given of the machine.
    pub(crate) spec: &'a MachineSpec,
    /// What it has.
    pub(crate) board: Board<'a>,
}

/// What a program may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// The machine, as large as it may become.
    pub(crate) machine: &'a Machine,
    /// The board that is to hold it, if there is one.
    pub(crate) board: Option<OnBoard<'a>>,
    /// Optimisations that are disabled.
    pub(crate) disabled: Disabled,
}

impl<'a> Limits<'a> {
    /// The pads of a machine and nothing else.
    pub(crate) fn of(machine: &'a Machine) -> Limits<'a> {
        Limits { machine, board: None, disabled: Disabled::NOTHING }
    }

    /// The words of the pads.
    pub(crate) fn available(&self) -> Words {
        allocate::available(self.machine)
    }

    /// How far a program with so many words and instructions is from fitting; 0: it fits.
    pub(crate) fn missing(&self, words: Words, instructions: usize) -> u64 {
        let missing = words.beyond(self.available());
        match self.board {
            // What is no machine is refused later, with its reason.
            Some(OnBoard { board, .. }) if missing == 0 => {
                self.fitted(words, instructions).map_or(0, |machine| (board.beyond)(&machine))
            }
            _ => missing,
        }
    }

    /// The machine on the board for so many words and instructions.
    pub(crate) fn fitted(&self, words: Words, instructions: usize) -> Option<Machine> {
        let units = [self.machine.scalar(), self.machine.column_buses()];
        Machine::try_from(fitted(self.board?.spec, self.machine, words, instructions as u32, units)).ok()
    }
}
