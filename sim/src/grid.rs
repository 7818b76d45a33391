//! What a host sees of a grid, cycle by cycle: the interface that every clocked simulator shares.
//!
//!                  ┌────────┐
//!      beats ─────▶│        │─────▶ words
//!      control ◀──▶│  grid  │
//!                  └────────┘
//!
//! Each call is exactly one clock cycle, a read of a register [`arch::timing::CONTROL_READ`] (docs/machine.md sections 5 to 7), so two
//! simulators that are given the same calls must return the same values, call by call. Words are sign-extended; a beat of input holds
//! `stream_words` of them, one of output `output_words`.
//!
//! | module | does |
//! |---|---|
//! | [`host`] | feeds beats and collects words, with or without stalls |
//! | [`lockstep`] | two grids side by side, compared in every cycle |
//! | [`recorded`] | a grid whose host is written down |

pub mod host;
pub mod lockstep;
pub mod recorded;

pub use host::{Host, Stalls};
pub use lockstep::{Lockstep, Mismatch};
pub use recorded::{Recorded, Session};

/// What happened at the two streams in one clock cycle.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CycleResult {
    /// Whether the offered beat was taken. False when none was offered.
    pub input_taken: bool,
    /// The words that left in this cycle, lane by lane. None when the output was empty or the host was not ready.
    pub output: Vec<i64>,
}

/// A grid under a clock.
pub trait Grid {
    /// Write one word through the control port. Takes one cycle; the streams are idle in it: no beat is offered, no output
    /// is accepted.
    fn control_write(&mut self, address: u32, data: u32);

    /// Read one register through the control port: the value it has in the cycle after the first one of this call. Takes
    /// [`arch::timing::CONTROL_READ`] cycles; the streams are idle in them.
    fn control_read(&mut self, address: u32) -> u32;

    /// One cycle with the control port idle: offer `input`, one word per stream lane, and accept an output if
    /// `output_ready`. A beat that was not taken has to be offered again.
    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult;

    /// Why the grid is dead, if it is. Simulators live for ever; a board may be unplugged.
    fn failure(&self) -> Option<String> {
        None
    }

    /// The caller is going to use the grid. True when somebody else did since it last said so: what it loaded is lost.
    fn take_over(&mut self) -> bool {
        false
    }

    /// The array that it is, whose sums can be taken without a way for them, if it is one.
    fn array(&mut self) -> Option<&mut crate::array::Array> {
        None
    }
}

impl<G: Grid + ?Sized> Grid for Box<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        (**self).control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        (**self).control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        (**self).cycle(input, output_ready)
    }

    fn failure(&self) -> Option<String> {
        (**self).failure()
    }

    fn take_over(&mut self) -> bool {
        (**self).take_over()
    }

    fn array(&mut self) -> Option<&mut crate::array::Array> {
        (**self).array()
    }
}

impl<G: Grid + ?Sized> Grid for &mut G {
    fn control_write(&mut self, address: u32, data: u32) {
        (**self).control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        (**self).control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        (**self).cycle(input, output_ready)
    }

    fn failure(&self) -> Option<String> {
        (**self).failure()
    }

    fn take_over(&mut self) -> bool {
        (**self).take_over()
    }

    fn array(&mut self) -> Option<&mut crate::array::Array> {
        (**self).array()
    }
}
