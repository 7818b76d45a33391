//! Legal: a placed program in which every operation is what one job, or a chain of them, can do.
//!
//!     placed ─▶ slices ─▶ constants ─▶ starts ─▶ write back ─▶ placed
//!
//! Each of the four adds temporaries and operations, and moves nothing. Doing it twice changes nothing more.

pub(crate) mod constants;
pub(crate) mod slices;
pub(crate) mod starts;
pub(crate) mod write_back;

use super::Program;
use arch::machine::Machine;

/// Make a program legal.
pub(crate) fn legal(program: &Program, machine: &Machine) -> Program {
    let sliced = slices::slices(program, machine);
    let spelled_out = constants::spell_out(&sliced);
    let started = starts::starts(&spelled_out, machine);
    write_back::write_back(&started, machine)
}
