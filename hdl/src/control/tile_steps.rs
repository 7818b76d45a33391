//! Tiles of a batch: which one a step is, and what that means for a beat. Only grids with gradient pads have these blocks.
//!
//!     tile_register, run ──started, step done──▶ tile_counter ──first, last──▶ streams: tile_gate, late_gate ──▶ beats
//!     tile_register, run ──time left──▶ early_end ──▶ streams, run: a tile ends before what counts in the last one only

use crate::beats::{CHUNK_BITS, TileFlags, Widths};
use crate::control::registers::Setting;
use arch::registers::ADDRESS_BITS;
use blocks::block;
use rust_hdl_core::prelude::*;

/// How many tiles a batch has, or when one ends.
///
/// A register that only batches in tiles have: how many there are, or when one ends.
#[block(clock, reset)]
pub(crate) fn TileRegister(number: u32, widths: &Widths) {
    let fixed = widths.fixed.as_ref().and_then(|fixed| fixed.register(number));
    let write: In;
    let address: In<ADDRESS_BITS>;
    let data: In<CHUNK_BITS>;
    let value: Out<CHUNK_BITS>;
    let held: State<Setting> = Setting::new(fixed);
    let at: Const<ADDRESS_BITS> = number;
    let zero: Const<CHUNK_BITS> = 0;

    value = held;
    if write && address == at {
        held = data;
    }
    if reset {
        held = zero;
    }
}

/// Which tile of its batch a step is.
#[block(clock, reset)]
pub(crate) fn TileCounter() {
    /// A run begins, and with it a batch.
    let started: In;
    /// A step ends.
    let stepped: In;
    /// Tiles of a batch.
    let tiles: In<CHUNK_BITS>;
    let flags: Out<TileFlags> = |_| 1;
    let left: Register<CHUNK_BITS>;
    let (first, last): Flag;
    let begins: Local;
    let (one, two): Const<CHUNK_BITS> = (1, 2);

    flags.first = first;
    flags.last = last;
    begins = started || (stepped && last);
    if stepped {
        left = left - one;
        first = false;
        last = left == two;
    }
    if begins {
        left = tiles;
        first = true;
        last = tiles < two;
    }
}

/// A tile that is not the last one ends before what counts in the last one only.
///
/// Where a tile ends that is not the last one of its batch, if that is before the end of the step: the streams stop, and all is as at the
/// end of a step.
#[block(clock, reset)]
pub(crate) fn EarlyEnd() {
    /// A step is computed.
    let stepping: In;
    /// For so many cycles more.
    let time_left: In<CHUNK_BITS>;
    /// Those are none.
    let no_time_left: In;
    /// The step is the last tile of its batch.
    let last: In;
    /// How many are left when the tile ends, and three more.
    let tile_end: In<CHUNK_BITS>;
    /// Streams are idle from the next cycle on: the tile ends in two cycles, or there is a reset.
    let stop: Out;
    /// It ends in the next cycle.
    let tile_ends_next: Out;
    /// It ends in this one.
    let tile_ends: Out;
    let (in_two, in_one, now): Flag;

    in_two = stepping && !last && !no_time_left && time_left == tile_end;
    in_one = in_two;
    now = in_one;
    stop = reset || in_two;
    tile_ends_next = in_one;
    tile_ends = now;
}

/// The first step of a run that goes on with a batch is no first tile.
///
/// A run that goes on with a batch has no first tile before the batch after it. Only grids that hand out sums have such runs.
#[block(clock, reset)]
pub(crate) fn BatchGoesOn() {
    let started: In;
    /// With the start.
    let asked: In;
    let stepped: In;
    let flags: In<TileFlags> = |_| 1;
    let given: Out<TileFlags> = |_| 1;
    let on: Flag;

    given.first = flags.first && !on;
    given.last = flags.last;
    on = on && !stepped;
    if started {
        on = asked;
    }
}

/// A sum over a batch goes on from tile to tile; what is made of it is written in the last one.
#[block]
pub(crate) fn TileGate() {
    let flags: In<TileFlags> = |_| 1;
    let (late, park): In;
    for PAD in RESULTS {
        let write_PAD: In;
    }
    for PAD in RESULTS {
        let give_PAD: Out;
    }
    /// The sum starts where the tile before left it.
    let resume: Out;
    /// The next tile goes on with it.
    let keep: Out;
    let counts: Local;

    counts = flags.last || !(late || park);
    for PAD in RESULTS {
        give_PAD = write_PAD && counts;
    }
    resume = park && !flags.first;
    keep = park && !flags.last;
}

/// A bus carries a sum over a batch in its last tile only.
#[block]
pub(crate) fn LateGate() {
    let (last, late): In;
    for PAD in TEMPORARIES {
        let write_PAD: In;
    }
    for PAD in TEMPORARIES {
        let give_PAD: Out;
    }

    for PAD in TEMPORARIES {
        give_PAD = write_PAD && (last || !late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::{clocked, settled};

    #[test]
    fn a_batch_of_three_tiles() {
        let mut block = TileCounter::new();
        block.connect_all();
        block.tiles.next = 3;
        let mut shown = Vec::new();
        for cycle in 0..5 {
            (block.started.next, block.stepped.next) = (cycle == 0, cycle > 0);
            clocked(&mut block, |b| &mut b.clock);
            shown.push((block.flags.first.val(), block.flags.last.val()));
        }
        assert_eq!(shown, [(true, false), (false, false), (false, true), (true, false), (false, false)]);
    }

    /// A step of ten cycles, whose last four only the last tile has: another ends with four left, and streams stop two cycles before.
    #[test]
    fn a_tile_ends_before_the_last_one() {
        for (last, at, expected) in [(false, 7, vec![6, 5, 4]), (true, 7, vec![]), (false, 0, vec![])] {
            let mut block = EarlyEnd::new();
            block.connect_all();
            (block.last.next, block.tile_end.next, block.stepping.next) = (last, at, true);
            let mut shown = [Vec::new(), Vec::new(), Vec::new()];
            for left in (0..10).rev() {
                (block.time_left.next, block.no_time_left.next) = (left, left == 0);
                settled(&mut block);
                let now = [block.stop.val(), block.tile_ends_next.val(), block.tile_ends.val()];
                shown.iter_mut().zip(now).filter(|(_, now)| *now).for_each(|(cycles, _)| cycles.push(left));
                clocked(&mut block, |b| &mut b.clock);
            }
            assert_eq!(shown.concat(), expected, "{last} {at}");
        }
    }

    #[test]
    fn late_results_wait_for_the_last_tile() {
        let mut block = LateGate::new();
        block.connect_all();
        for (last, late, given) in [(false, true, false), (true, true, true), (false, false, true)] {
            (block.last.next, block.late.next, block.write_t0.next) = (last, late, true);
            settled(&mut block);
            assert_eq!((block.give_t0.val(), block.give_t1.val()), (given, false), "{last} {late}");
        }
    }
}
