//! Tiles of a batch: which one a step is, and what that means for a beat. Only grids with gradient pads have these blocks.
//!
//!     tile_register, run ──started, step done──▶ tile_counter ──first, last──▶ streams: tile_gate, late_gate ──▶ beats
//!     tile_register, run ──time left──▶ early_end ──▶ streams, run: a tile ends before what counts in the last one only

use crate::beats::{CHUNK_BITS, TileFlags, Widths};
use crate::control::registers::Setting;
use crate::rtl::register::{Flag, Register};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::comment;
use arch::registers::ADDRESS_BITS;
use rust_hdl::prelude::*;

/// A register that only batches in tiles have: how many there are, or when one ends.
#[derive(LogicBlock)]
pub(crate) struct TileRegister {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) address: Wide<In>,
    pub(crate) data: Wide<In>,
    pub(crate) value: Wide<Out>,
    held: Setting,
    at: Number,
    zero: Number,
}

impl TileRegister {
    pub(crate) fn new(number: u32, widths: &Widths) -> Self {
        let fixed = widths.fixed.as_ref().and_then(|fixed| fixed.register(number));
        TileRegister {
            clock: Signal::default(),
            reset: Signal::default(),
            write: Signal::default(),
            address: Wide::new(ADDRESS_BITS),
            data: Wide::new(CHUNK_BITS),
            value: Wide::new(CHUNK_BITS),
            held: Setting::new(fixed),
            at: Number::new(number, ADDRESS_BITS),
            zero: Number::new(0, CHUNK_BITS),
        }
    }
}

impl Logic for TileRegister {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("tile_register: how many tiles a batch has, or when one ends.");
        clock!(self, clock, held);
        self.value.next = self.held.q.val();
        self.held.d.next = self.held.q.val();
        if self.write.val() && self.address.val() == self.at.val() {
            self.held.d.next = self.data.val();
        }
        if self.reset.val() {
            self.held.d.next = self.zero.val();
        }
    }
}

/// Which tile of its batch a step is.
#[derive(LogicBlock)]
pub(crate) struct TileCounter {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// A run begins, and with it a batch.
    pub(crate) started: Signal<In, Bit>,
    /// A step ends.
    pub(crate) stepped: Signal<In, Bit>,
    /// Tiles of a batch.
    pub(crate) tiles: Wide<In>,
    pub(crate) flags: TileFlags<Out>,
    left: Register,
    first: Flag,
    last: Flag,
    begins: Signal<Local, Bit>,
    one: Number,
    two: Number,
}

impl TileCounter {
    pub(crate) fn new() -> Self {
        TileCounter {
            clock: Signal::default(),
            reset: Signal::default(),
            started: Signal::default(),
            stepped: Signal::default(),
            tiles: Wide::new(CHUNK_BITS),
            flags: TileFlags::new(&|_| 1),
            left: Register::new(CHUNK_BITS),
            first: Flag::new(),
            last: Flag::new(),
            begins: Signal::default(),
            one: Number::new(1, CHUNK_BITS),
            two: Number::new(2, CHUNK_BITS),
        }
    }
}

impl Logic for TileCounter {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("tile_counter: which tile of its batch a step is.");
        clock!(self, clock, left, first, last);
        self.first.reset.next = self.reset.val();
        self.last.reset.next = self.reset.val();
        self.flags.first.next = self.first.q.val();
        self.flags.last.next = self.last.q.val();
        self.begins.next = self.started.val() || (self.stepped.val() && self.last.q.val());
        self.left.d.next = self.left.q.val();
        self.first.d.next = self.first.q.val();
        self.last.d.next = self.last.q.val();
        if self.stepped.val() {
            self.left.d.next = self.left.q.val() - self.one.val();
            self.first.d.next = false;
            self.last.d.next = self.left.q.val() == self.two.val();
        }
        if self.begins.val() {
            self.left.d.next = self.tiles.val();
            self.first.d.next = true;
            self.last.d.next = self.tiles.val() < self.two.val();
        }
    }
}

/// Where a tile ends that is not the last one of its batch, if that is before the end of the step: the streams stop, and all is as at the
/// end of a step.
#[derive(LogicBlock)]
pub(crate) struct EarlyEnd {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// A step is computed.
    pub(crate) stepping: Signal<In, Bit>,
    /// For so many cycles more.
    pub(crate) time_left: Wide<In>,
    /// Those are none.
    pub(crate) no_time_left: Signal<In, Bit>,
    /// The step is the last tile of its batch.
    pub(crate) last: Signal<In, Bit>,
    /// How many are left when the tile ends, and three more.
    pub(crate) tile_end: Wide<In>,
    /// Streams are idle from the next cycle on: the tile ends in two cycles, or there is a reset.
    pub(crate) stop: Signal<Out, Bit>,
    /// It ends in the next cycle.
    pub(crate) tile_ends_next: Signal<Out, Bit>,
    /// It ends in this one.
    pub(crate) tile_ends: Signal<Out, Bit>,
    in_two: Flag,
    in_one: Flag,
    now: Flag,
}

impl EarlyEnd {
    pub(crate) fn new() -> Self {
        EarlyEnd {
            clock: Signal::default(),
            reset: Signal::default(),
            stepping: Signal::default(),
            time_left: Wide::new(CHUNK_BITS),
            no_time_left: Signal::default(),
            last: Signal::default(),
            tile_end: Wide::new(CHUNK_BITS),
            stop: Signal::default(),
            tile_ends_next: Signal::default(),
            tile_ends: Signal::default(),
            in_two: Flag::new(),
            in_one: Flag::new(),
            now: Flag::new(),
        }
    }
}

impl Logic for EarlyEnd {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("early_end: a tile that is not the last one ends before what counts in the last one only.");
        clock!(self, clock, in_two, in_one, now);
        self.in_two.reset.next = self.reset.val();
        self.in_one.reset.next = self.reset.val();
        self.now.reset.next = self.reset.val();
        self.in_two.d.next = self.stepping.val()
            && !self.last.val()
            && !self.no_time_left.val()
            && self.time_left.val() == self.tile_end.val();
        self.in_one.d.next = self.in_two.q.val();
        self.now.d.next = self.in_one.q.val();
        self.stop.next = self.reset.val() || self.in_two.q.val();
        self.tile_ends_next.next = self.in_one.q.val();
        self.tile_ends.next = self.now.q.val();
    }
}

/// A run that goes on with a batch has no first tile before the batch after it. Only grids that hand out sums have such runs.
#[derive(LogicBlock)]
pub(crate) struct BatchGoesOn {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) started: Signal<In, Bit>,
    /// With the start.
    pub(crate) asked: Signal<In, Bit>,
    pub(crate) stepped: Signal<In, Bit>,
    pub(crate) flags: TileFlags<In>,
    pub(crate) given: TileFlags<Out>,
    on: Flag,
}

impl BatchGoesOn {
    pub(crate) fn new() -> Self {
        BatchGoesOn {
            clock: Signal::default(),
            reset: Signal::default(),
            started: Signal::default(),
            asked: Signal::default(),
            stepped: Signal::default(),
            flags: TileFlags::new(&|_| 1),
            given: TileFlags::new(&|_| 1),
            on: Flag::new(),
        }
    }
}

impl Logic for BatchGoesOn {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("batch_goes_on: the first step of a run that goes on with a batch is no first tile.");
        clock!(self, clock, on);
        self.on.reset.next = self.reset.val();
        self.given.first.next = self.flags.first.val() && !self.on.q.val();
        self.given.last.next = self.flags.last.val();
        self.on.d.next = self.on.q.val() && !self.stepped.val();
        if self.started.val() {
            self.on.d.next = self.asked.val();
        }
    }
}

/// What a beat of the alu stream does in this tile.
#[derive(LogicBlock)]
pub(crate) struct TileGate {
    pub(crate) flags: TileFlags<In>,
    pub(crate) late: Signal<In, Bit>,
    pub(crate) park: Signal<In, Bit>,
    pub(crate) write_model: Signal<In, Bit>,
    pub(crate) write_t0: Signal<In, Bit>,
    pub(crate) write_t1: Signal<In, Bit>,
    pub(crate) give_model: Signal<Out, Bit>,
    pub(crate) give_t0: Signal<Out, Bit>,
    pub(crate) give_t1: Signal<Out, Bit>,
    /// The sum starts where the tile before left it.
    pub(crate) resume: Signal<Out, Bit>,
    /// The next tile goes on with it.
    pub(crate) keep: Signal<Out, Bit>,
    counts: Signal<Local, Bit>,
}

impl TileGate {
    pub(crate) fn new() -> Self {
        TileGate {
            flags: TileFlags::new(&|_| 1),
            late: Signal::default(),
            park: Signal::default(),
            write_model: Signal::default(),
            write_t0: Signal::default(),
            write_t1: Signal::default(),
            give_model: Signal::default(),
            give_t0: Signal::default(),
            give_t1: Signal::default(),
            resume: Signal::default(),
            keep: Signal::default(),
            counts: Signal::default(),
        }
    }
}

impl Logic for TileGate {
    #[hdl_gen]
    fn update(&mut self) {
        comment!(
            "tile_gate: a sum over a batch goes on from tile to tile; what is made of it is written in the last one."
        );
        self.counts.next = self.flags.last.val() || !(self.late.val() || self.park.val());
        self.give_model.next = self.write_model.val() && self.counts.val();
        self.give_t0.next = self.write_t0.val() && self.counts.val();
        self.give_t1.next = self.write_t1.val() && self.counts.val();
        self.resume.next = self.park.val() && !self.flags.first.val();
        self.keep.next = self.park.val() && !self.flags.last.val();
    }
}

/// What a beat of the move stream does in this tile.
#[derive(LogicBlock)]
pub(crate) struct LateGate {
    pub(crate) last: Signal<In, Bit>,
    pub(crate) late: Signal<In, Bit>,
    pub(crate) write_t0: Signal<In, Bit>,
    pub(crate) write_t1: Signal<In, Bit>,
    pub(crate) give_t0: Signal<Out, Bit>,
    pub(crate) give_t1: Signal<Out, Bit>,
}

impl LateGate {
    pub(crate) fn new() -> Self {
        LateGate {
            last: Signal::default(),
            late: Signal::default(),
            write_t0: Signal::default(),
            write_t1: Signal::default(),
            give_t0: Signal::default(),
            give_t1: Signal::default(),
        }
    }
}

impl Logic for LateGate {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("late_gate: a bus carries a sum over a batch in its last tile only.");
        self.give_t0.next = self.write_t0.val() && (self.last.val() || !self.late.val());
        self.give_t1.next = self.write_t1.val() && (self.last.val() || !self.late.val());
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
