//! Sums over a batch that comes in tiles: they wait in the gradient pad of each PE. Only grids with gradient pads have these blocks.
//!
//!     t          t+1                    t+2              t+3                t+4
//!     address ──▶ gradient pad (read) ──▶ start of a sum ──▶ multiply_add ──▶ gradient pad (write)

use crate::beats::{TileBeat, Widths};
use crate::datapath::multiply_add::COMBINE_BITS;
use crate::rtl::bundle::bundle;
use arch::isa::Combine;
use arch::timing::{PARK_READ, PARK_WRITE};
use blocks::block;
use rust_hdl_core::prelude::*;

bundle! {
    /// Control of a gradient pad, each part in the cycle in which a PE needs it.
    ParkControl {
        bits: resume_t2, write_t4;
        words: read_address_t1, write_address_t4;
    }
}

/// Where a sum starts, or goes on in the next tile of a batch.
///
/// Where a sum starts: where its instruction says, or where the tile before left it. That is so in every PE, whatever the mask.
#[block]
pub(crate) fn StartSelect(accumulator: u32) {
    let resume: In;
    let (parked, aligned): In<accumulator, signed>;
    let start: Out<accumulator, signed>;

    start = aligned;
    if resume {
        start = parked;
    }
}

/// What goes on in the next tile has something to begin with.
///
/// Where accumulators compare: what goes on in the next tile has something to begin with.
#[block]
pub(crate) fn ResumedStart() {
    let resume: In;
    let combine: In<COMBINE_BITS>;
    let given: Out<COMBINE_BITS>;
    let add: Const<COMBINE_BITS> = Combine::Add as u32;

    given = combine;
    if resume {
        given = add;
    }
}

/// A sum is parked in its last beat.
#[block]
fn ParkQualify() {
    let (valid, last, keep): In;
    let parks: Out;

    parks = valid && last && keep;
}

/// Control of the gradient pads, delayed once for all PEs of a PU.
#[block(clock, reset, wires)]
pub(crate) fn ParkPipeline(widths: &Widths) {
    let (bits, read, write) = (widths.gradient, PARK_READ as u32, PARK_WRITE as u32);
    let (valid, last): In;
    let beat: In<TileBeat> = |_| bits;
    let control: Out<ParkControl> = |_| bits;
    let qualify = ParkQualify();
    let resume: FlagDelay<{ read + 1 }>;
    let write: FlagDelay<write>;
    let read_address: Delay<bits, read>;
    let write_address: Delay<bits, { write - read }>;
    /// The pad has an output register, and takes its address a cycle earlier.
    let _pad_register: bool = widths.pad_register;

    qualify.valid = valid;
    qualify.last = last;
    qualify.keep = beat.keep;
    resume = beat.resume;
    control.resume_t2 = resume;
    write = qualify.parks;
    control.write_t4 = write;
    read_address = beat.address;
    write_address = read_address;
    control.write_address_t4 = write_address;
    if _pad_register {
        control.read_address_t1 = beat.address;
    } else {
        control.read_address_t1 = read_address;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;
    use arch::machine::MachineSpec;

    #[test]
    fn a_sum_is_parked_when_it_is_done() {
        let spec = MachineSpec { pus: Some(1), pes_per_pu: Some(1), gradient_depth: Some(8), ..MachineSpec::default() };
        let machine = arch::Machine::try_from(spec).expect("a valid grid");
        let widths = Widths::new(crate::Design::Loadable(&machine), crate::Leaves::GENERIC);
        let mut block = ParkPipeline::new(&widths);
        block.connect_all();
        let mut seen = Vec::new();
        for t in 0..6 {
            (block.valid.next, block.last.next) = (t == 0, t == 0);
            (block.beat.keep.next, block.beat.resume.next, block.beat.address.next) =
                (t == 0, t == 0, if t == 0 { 5 } else { 0 });
            clocked(&mut block, |b| &mut b.clock);
            let control = &block.control;
            seen.push((
                control.read_address_t1.val(),
                control.resume_t2.val(),
                control.write_t4.val(),
                control.write_address_t4.val(),
            ));
        }
        // What is shown after the first edge counts at t+1.
        let at = |t: usize| seen[t - 1];
        assert_eq!(at(1), (5, false, false, 0));
        assert_eq!(at(2), (0, true, false, 0));
        assert_eq!(at(4), (0, false, true, 5));
        assert_eq!(at(5), (0, false, false, 0));
    }
}
