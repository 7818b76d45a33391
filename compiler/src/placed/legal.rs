//! Legal: a placed program in which every operation is what one job, or a chain of them, can do.
//!
//!     placed ─▶ slices ─▶ constants ─▶ write back ─▶ placed
//!
//! Each of the three adds temporaries and operations, and moves nothing. Doing it twice changes nothing more.

use super::Program;
use super::{constants, slices, write_back};
use arch::machine::Machine;

/// Make a program legal.
pub(crate) fn legal(program: &Program, machine: &Machine) -> Program {
    let sliced = slices::slices(program);
    let spelled_out = constants::spell_out(&sliced);
    write_back::write_back(&spelled_out, machine)
}
