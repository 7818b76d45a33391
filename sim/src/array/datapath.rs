//! What a beat does, and when its results land (docs/machine.md sections 2 to 5).
//!
//! A beat is computed in full in the cycle in which it reads its operands; what it produces is queued with the cycle in
//! which it lands, so hazards show exactly as they do in the hardware. Pads are stored word by word, all PEs side by side.

mod seen;

use super::sequencer::Beats;
use super::stream::Beat;
use super::watch::PuView;
use arch::division::{divide, operands};
use arch::function::evaluate;
use arch::isa::{
    Address, AluInstruction, Combine, Factor, Finish, LEVELS, Mask, MoveInstruction, Pad, RootFunction,
    RootInstruction, ScalarInstruction, Start, TableUse, Tiles, gradient_bits,
};
use arch::machine::{Machine, MachineSpec};
use arch::number::{NARROW, round_and_saturate, round_half_even, saturate, wrap};
use arch::timing::{self, Unit};
use std::collections::VecDeque;

/// The arithmetic half of the grid.
pub(super) trait Datapath: std::fmt::Debug {
    /// The word at the output port.
    fn output(&self) -> Option<i64>;
    /// One cycle.
    fn cycle(&mut self, beats: &Beats, input: Option<&[i64]>, popped: bool);
    fn write_table(&mut self, entry: u32, chunk: u32, data: u32);
    fn saturated(&self) -> bool;
    fn clear_saturated(&mut self);
    fn reset(&mut self);
    /// Look into this PU from now on.
    fn watch(&mut self, pu: usize);
    /// What was seen in the last cycle.
    fn observe(&self, view: &mut PuView);
}

/// The datapath of a machine, with accumulators as narrow as it allows.
pub(super) fn new(machine: &Machine) -> Box<dyn Datapath> {
    if machine.accumulator() <= 64 {
        Box::new(Lanes::<i64>::new(machine))
    } else {
        Box::new(Lanes::<i128>::new(machine))
    }
}

/// An integer that holds an accumulator, modulo a power of two at least as large.
trait Sum: Copy + Default + std::fmt::Debug + 'static {
    fn product(a: i64, b: i64) -> Self;
    fn shifted(word: i64, by: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    /// The accumulator with these bits.
    fn wrapped(sum: i128) -> Self;
    fn exact(self, accumulator: u32) -> i128;
    /// Divided by `2^shift`, rounded and saturated to `word` bits; and whether it saturated.
    fn rounded(self, accumulator: u32, shift: u32, word: u32) -> (i64, bool);
}

fn rounded_wide(sum: i128, shift: u32, word: u32) -> (i64, bool) {
    saturate(round_half_even(sum, shift), word)
}

macro_rules! sum {
    ($type:ty, $rounded:expr) => {
        impl Sum for $type {
            fn product(a: i64, b: i64) -> $type {
                (a as $type).wrapping_mul(b as $type)
            }
            fn shifted(word: i64, by: u32) -> $type {
                (word as $type) << by
            }
            fn plus(self, other: $type) -> $type {
                self.wrapping_add(other)
            }
            fn minus(self, other: $type) -> $type {
                self.wrapping_sub(other)
            }
            fn wrapped(sum: i128) -> $type {
                sum as $type
            }
            fn exact(self, accumulator: u32) -> i128 {
                wrap(self as i128, accumulator)
            }
            fn rounded(self, accumulator: u32, shift: u32, word: u32) -> (i64, bool) {
                let rounded: fn($type, u32, u32, u32) -> (i64, bool) = $rounded;
                rounded(self, accumulator, shift, word)
            }
        }
    };
}
sum!(i64, |sum, accumulator, shift, word| {
    if accumulator <= NARROW {
        let unused = 64 - accumulator;
        round_and_saturate((sum << unused) >> unused, shift, word)
    } else {
        rounded_wide(wrap(sum.into(), accumulator), shift, word)
    }
});
sum!(i128, |sum, accumulator, shift, word| rounded_wide(wrap(sum, accumulator), shift, word));

/// Words on their way into a pad.
#[derive(Debug)]
struct Landing {
    cycle: u64,
    pad: Pad,
    address: usize,
    words: Vec<i64>,
    taken: Vec<bool>,
}

/// What one beat sends through the trees: a partial result per row.
#[derive(Debug)]
struct TreeSums {
    row_cycle: u64,
    rows: Vec<i128>,
    combine: Combine,
    emit: bool,
}

impl TreeSums {
    /// What the global tree makes of the rows.
    fn global(&self) -> i128 {
        let combine = self.combine;
        self.rows.iter().copied().reduce(|one, other| combine.join(one, other)).expect("there is at least one row")
    }
}

#[derive(Debug)]
struct Lanes<A> {
    machine: Machine,
    pes: usize,
    now: u64,
    pads: [Vec<i64>; 4],
    accumulators: Vec<A>,
    /// Gradient pads: sums that wait for the next tile.
    gradients: Vec<A>,
    /// Sums on their way there: when they land, and where.
    parking: VecDeque<(u64, usize, Vec<A>)>,
    /// Beats on their way from the sequencer, one slot per distribution stage.
    waiting: VecDeque<(Beats, Option<Vec<i64>>)>,
    landings: VecDeque<Landing>,
    spare: Vec<(Vec<i64>, Vec<bool>)>,
    trees: VecDeque<TreeSums>,
    row_bus: VecDeque<(u64, Vec<(i64, bool)>)>,
    global_bus: VecDeque<(u64, (i64, bool))>,
    fifo: VecDeque<i64>,
    tables: Vec<(i64, i64)>,
    table_bits: Vec<u128>,
    saturated: bool,
    taken: Vec<bool>,
    /// The scalar unit: the only PE of a grid of its own.
    unit: Option<Box<Lanes<A>>>,
    /// While somebody watches: which PU, and what happens in it in this cycle.
    seen: Option<Box<(usize, PuView)>>,
}

/// The grid that a scalar unit is: one PE with the same pads, but for the model pad, which is never written.
fn alone(machine: &Machine) -> Machine {
    let spec = MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(1),
        stream_words: Some(1),
        model_depth: None,
        table_entries: Some(0),
        divider: None,
        scalar: None,
        gradient_depth: None,
        ..MachineSpec::from(machine.clone())
    };
    Machine::try_from(spec).expect("one PE of a possible machine is possible")
}

fn at(address: &Address, counters: &[u32; LEVELS], depth: usize) -> usize {
    let offset: i64 = address.strides.iter().zip(counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
    (i64::from(address.base) + offset).rem_euclid(depth as i64) as usize
}

impl<A: Sum> Lanes<A> {
    fn new(machine: &Machine) -> Lanes<A> {
        let pes = machine.pes() as usize;
        let pad = |depth: u32| vec![0; depth as usize * pes];
        Lanes {
            machine: machine.clone(),
            pes,
            now: 0,
            pads: [
                pad(machine.model_depth()),
                pad(2 * machine.data_depth()),
                pad(machine.temporary_depth()),
                pad(machine.temporary_depth()),
            ],
            accumulators: vec![A::default(); pes],
            gradients: vec![A::default(); machine.gradient_depth() as usize * pes],
            parking: VecDeque::new(),
            waiting: VecDeque::new(),
            landings: VecDeque::new(),
            spare: Vec::new(),
            trees: VecDeque::new(),
            row_bus: VecDeque::new(),
            global_bus: VecDeque::new(),
            fifo: VecDeque::new(),
            tables: vec![(0, 0); machine.table_entries() as usize],
            table_bits: vec![0; machine.table_entries() as usize],
            saturated: false,
            taken: vec![false; pes],
            unit: machine.scalar().then(|| Box::new(Lanes::new(&alone(machine)))),
            seen: None,
        }
    }

    fn depth(&self, pad: Pad) -> usize {
        match pad {
            Pad::Model => self.machine.model_depth() as usize,
            Pad::Data => self.machine.data_depth() as usize,
            Pad::T0 | Pad::T1 => self.machine.temporary_depth() as usize,
        }
    }

    /// Results that are at the write ports in this cycle.
    fn land(&mut self) {
        while self.landings.front().is_some_and(|l| l.cycle == self.now) {
            let landing = self.landings.pop_front().expect("just checked");
            let from = landing.address * self.pes;
            let words = &mut self.pads[landing.pad as usize][from..from + self.pes];
            for ((word, &new), &taken) in words.iter_mut().zip(&landing.words).zip(&landing.taken) {
                if taken {
                    *word = new;
                }
            }
            self.spare.push((landing.words, landing.taken));
        }
    }

    fn mask(&mut self, mask: &Mask, counts: &[u32; LEVELS], counters: &[u32; LEVELS]) {
        let (pus, columns) = (self.machine.pus(), self.machine.pes_per_pu());
        if *mask == Mask::all(pus, columns) {
            self.taken.fill(true);
            return;
        }
        mask.fill(pus, columns, counts, counters, &mut self.taken);
    }

    /// First PE's place of a word of the gradient pads; `None` where there are none.
    fn parked(&self, tiles: &Tiles, counters: &[u32; LEVELS]) -> Option<usize> {
        let Tiles::Park(address) = tiles else { return None };
        Some(at(address, counters, 1 << gradient_bits(&self.machine)) * self.pes)
    }

    /// What a beat of the alu stream does; whether it was the last one of its sums.
    fn alu(&mut self, beat: &Beat<AluInstruction>, beats: &Beats) -> bool {
        let bank = beats.compute_bank;
        let i = &beat.instruction;
        let counters = &beat.counters;
        let pes = self.pes;
        // Microcode may ask for more levels than there are; the hardware takes that for all of them.
        let reduction = LEVELS.saturating_sub(usize::from(i.reduce));
        let first = counters[reduction..].iter().all(|&k| k == 0);
        let last = counters[reduction..].iter().zip(&i.counts[reduction..]).all(|(&k, &n)| k + 1 == n);
        self.mask(&i.mask, &i.counts, counters);
        self.see_operands(beat, bank);
        let width = self.machine.accumulator();
        let nothing = A::wrapped(i.combine.identity(width));
        let mut sums = std::mem::take(&mut self.accumulators);
        let words = |pad: Pad| {
            let bank = if pad == Pad::Data { bank as usize * self.machine.data_depth() as usize } else { 0 };
            let from = (bank + at(&i.reads[pad as usize], counters, self.depth(pad))) * pes;
            &self.pads[pad as usize][from..from + pes]
        };
        let parked = self.parked(&i.tiles, counters);
        if let (true, Some(from), false) = (first, parked, beats.first_tile) {
            // A sum that goes on does so in every PE, whatever the mask of this beat.
            sums.copy_from_slice(&self.gradients[from..from + pes]);
        } else if first {
            match i.c {
                Start::Zero => sums.fill(nothing),
                Start::Immediate => sums.fill(A::shifted(i.immediate_c, i.align)),
                Start::Pad(pad) => {
                    for (sum, &c) in sums.iter_mut().zip(words(pad)) {
                        *sum = A::shifted(c, i.align);
                    }
                }
            }
            for (sum, _) in sums.iter_mut().zip(&self.taken).filter(|&(_, &taken)| !taken) {
                *sum = nothing;
            }
        }
        let lanes = sums.iter_mut().zip(words(i.a)).zip(&self.taken);
        // Outside the mask a product is 0, which is nothing to a sum.
        let add = if i.combine == Combine::Subtract { A::minus } else { A::plus };
        let compare = |sum: A, product: A| A::wrapped(i.combine.join(sum.exact(width), product.exact(width)));
        match (i.b, i.combine.compares()) {
            (Factor::Immediate, false) => {
                for ((sum, &a), &taken) in lanes {
                    *sum = add(*sum, A::product(if taken { a } else { 0 }, i.immediate_b));
                }
            }
            (Factor::Pad(pad), false) => {
                for (((sum, &a), &taken), &b) in lanes.zip(words(pad)) {
                    *sum = add(*sum, A::product(if taken { a } else { 0 }, b));
                }
            }
            (Factor::Immediate, true) => {
                for ((sum, &a), _) in lanes.filter(|&(_, &taken)| taken) {
                    *sum = compare(*sum, A::product(a, i.immediate_b));
                }
            }
            (Factor::Pad(pad), true) => {
                for (((sum, &a), _), &b) in lanes.zip(words(pad)).filter(|&((_, &taken), _)| taken) {
                    *sum = compare(*sum, A::product(a, b));
                }
            }
        }
        self.accumulators = sums;
        self.see_sums();
        if last {
            if let (Some(from), false) = (parked, beats.last_tile) {
                self.parking.push_back((self.now + timing::PARK_WRITE, from, self.accumulators.clone()));
            }
            self.finish(beat, beats.last_tile);
        }
        last
    }

    /// The words that an instruction makes of the accumulators, and which of them are saturated.
    fn results(&self, i: &AluInstruction) -> impl Iterator<Item = (i64, bool)> {
        let (accumulator, word) = (self.machine.accumulator(), self.machine.word());
        let (finish, shift) = (i.finish, i.shift);
        self.accumulators.iter().map(move |sum| match finish {
            Finish::Negative => (i64::from(sum.exact(accumulator) < 0), false),
            Finish::Round => sum.rounded(accumulator, shift, word),
        })
    }

    fn finish(&mut self, beat: &Beat<AluInstruction>, last_tile: bool) {
        let i = &beat.instruction;
        let width = self.machine.accumulator();
        if i.tree {
            let rows = self.accumulators.chunks(self.machine.pes_per_pu() as usize);
            let join = |sums: &[A]| {
                let all = sums.iter().copied();
                let joined = if i.combine.compares() {
                    let exact = all.map(|sum| sum.exact(width));
                    exact.reduce(|one, other| i.combine.join(one, other)).map(A::wrapped)
                } else {
                    all.reduce(A::plus)
                };
                joined.expect("there is at least one column").exact(width)
            };
            let rows = rows.map(join).collect();
            let row_cycle = self.now + timing::alu_to_root(&self.machine, Unit::Row);
            self.trees.push_back(TreeSums { row_cycle, rows, combine: i.combine, emit: i.emit });
        }
        let Some(pad) = i.write.filter(|_| last_tile || i.tiles == Tiles::Every) else { return };
        let (mut words, mut taken) = self.spare.pop().unwrap_or_default();
        words.clear();
        taken.clear();
        taken.extend_from_slice(&self.taken);
        let mut any = false;
        for (result, &admitted) in self.results(i).zip(&self.taken) {
            words.push(result.0);
            any |= result.1 && admitted;
        }
        self.saturated |= any;
        let address = at(&i.destination, &beat.counters, self.depth(pad));
        self.landings.push_back(Landing { cycle: self.now + timing::ALU_WRITE, pad, address, words, taken });
    }

    /// What a beat of the scalar stream does.
    fn scalar(&mut self, beat: &Beat<ScalarInstruction>, beats: &Beats) {
        let Some(unit) = &mut self.unit else { return };
        let ScalarInstruction { alu, send } = beat.instruction;
        let last = unit.alu(&Beat { instruction: alu, counters: beat.counters }, beats);
        if send && last {
            let sent = unit.results(&alu).next().expect("it is one PE");
            self.global_bus.push_back((self.now + timing::SCALAR_TO_MOVE, sent));
        }
    }

    /// The word in the global bus register. What arrives there in the same cycle is or-ed, as in the hardware.
    fn global_word(&self) -> (i64, bool) {
        let arrived = self.global_bus.iter().filter(|bus| bus.0 == self.now);
        arrived.fold((0, false), |(word, any), &(_, (new, saturated))| (word | new, any || saturated))
    }

    /// The word a root makes of a sum, and whether it is saturated.
    fn root_word(&self, sum: i128, root: &RootInstruction) -> (i64, bool) {
        let word = self.machine.word();
        if let Some(RootFunction::Divide(rounding)) = root.function {
            let (dividend, divisor) = operands(sum, word);
            return divide(dividend, divisor, root.shift, rounding, word);
        }
        let (h, saturated) = saturate(round_half_even(sum, root.shift), word);
        let Some(RootFunction::Table(usage)) = root.function else { return (h, saturated) };
        let (y, also) = self.function(h, &usage);
        (y, saturated || also)
    }

    fn function(&self, x: i64, usage: &TableUse) -> (i64, bool) {
        if self.tables.is_empty() {
            return (0, false);
        }
        let table = &self.tables;
        let base = usage.base as usize;
        evaluate(usage, self.machine.word(), x, |entry| table[base.wrapping_add(entry) % table.len()])
    }

    fn root(&mut self, root: &RootInstruction) {
        let levels = u64::from(self.machine.global_levels());
        let arrived = match root.unit {
            Unit::Row => self.trees.iter().find(|s| s.row_cycle == self.now),
            Unit::Global => self.trees.iter().find(|s| s.row_cycle + levels == self.now),
        };
        let lands = self.now + timing::root_result(&self.machine, root.unit, root.function.as_ref());
        match root.unit {
            Unit::Row => {
                let rows = arrived.map_or_else(|| vec![0; self.machine.pus() as usize], |s| s.rows.clone());
                let words = rows.into_iter().map(|sum| self.root_word(sum, root)).collect();
                self.row_bus.push_back((lands, words));
            }
            Unit::Global => {
                let sum = wrap(arrived.map_or(0, TreeSums::global), self.machine.accumulator());
                let word = self.root_word(sum, root);
                self.global_bus.push_back((lands, word));
            }
        }
    }

    fn moves(&mut self, beat: &Beat<MoveInstruction>, last_tile: bool) {
        let i = &beat.instruction;
        if i.late && !last_tile {
            return;
        }
        self.mask(&i.mask, &i.counts, &beat.counters);
        let columns = self.machine.pes_per_pu() as usize;
        let from = at(&i.destination, &beat.counters, self.depth(i.pad)) * self.pes;
        let global = self.global_word();
        if let (Some(unit), true) = (&mut self.unit, i.scalar) {
            unit.pads[i.pad as usize][from / self.pes] = global.0;
            unit.saturated |= global.1;
        }
        let words = &mut self.pads[i.pad as usize][from..from + self.pes];
        let nothing = (0, false);
        let rows = self.row_bus.iter().find(|b| b.0 == self.now).map(|b| &b.1);
        for (pe, (word, &taken)) in words.iter_mut().zip(&self.taken).enumerate() {
            if taken {
                let (new, saturated) = match i.source {
                    Unit::Global => global,
                    Unit::Row => rows.map_or(nothing, |rows| rows[pe / columns]),
                };
                *word = new;
                self.saturated |= saturated;
            }
        }
    }

    fn load(&mut self, beats: &Beats, input: &[i64]) {
        let Some(beat) = &beats.load else { return };
        let i = &beat.instruction;
        self.mask(&i.mask, &i.counts, &beat.counters);
        let bank = if i.pad == Pad::Data { (beats.load_bank * self.machine.data_depth()) as usize } else { 0 };
        let from = (bank + at(&i.destination, &beat.counters, self.depth(i.pad))) * self.pes;
        if let (Some(unit), true, Pad::Data) = (&mut self.unit, i.scalar, i.pad) {
            unit.pads[i.pad as usize][from / self.pes] = input[0];
        }
        let lanes = self.machine.stream_words() as usize;
        let words = &mut self.pads[i.pad as usize][from..from + self.pes];
        for (pe, (word, &taken)) in words.iter_mut().zip(&self.taken).enumerate() {
            let group = i.pick_group as usize >= LEVELS || beat.counters[i.pick_group as usize] as usize == pe / lanes;
            if taken && group {
                *word = input[if i.scatter { pe % lanes } else { 0 }];
            }
        }
    }
}

impl<A: Sum> Datapath for Lanes<A> {
    fn output(&self) -> Option<i64> {
        self.fifo.front().copied()
    }

    fn cycle(&mut self, beats: &Beats, input: Option<&[i64]>, popped: bool) {
        if popped {
            self.fifo.pop_front();
        }
        self.see_nothing();
        if let Some(unit) = &mut self.unit {
            unit.see_nothing();
        }
        self.waiting.push_back((*beats, input.map(<[i64]>::to_vec)));
        if self.waiting.len() > timing::DISTRIBUTION as usize {
            let (beats, input) = self.waiting.pop_front().expect("just checked");
            // Reads of this cycle see what landed before it; those of gradient pads are a cycle later.
            while self.parking.front().is_some_and(|parking| parking.0 < self.now + timing::PARK_READ) {
                let (_, from, sums) = self.parking.pop_front().expect("just checked");
                self.gradients[from..from + sums.len()].copy_from_slice(&sums);
            }
            if let Some(beat) = &beats.alu {
                self.alu(beat, &beats);
            }
            if let Some(beat) = &beats.scalar {
                self.scalar(beat, &beats);
            }
            if let Some(root) = &beats.root {
                self.root(root);
            }
            if let Some(beat) = &beats.moves {
                self.moves(beat, beats.last_tile);
            }
            if let Some(input) = &input {
                self.load(&beats, input);
            }
        }
        if let Some(unit) = &mut self.unit {
            unit.see_results();
            unit.land();
            unit.now += 1;
        }
        self.see_results();
        self.land();
        let levels = u64::from(self.machine.global_levels());
        while self.trees.front().is_some_and(|s| s.row_cycle + levels <= self.now) {
            let sums = self.trees.pop_front().expect("just checked");
            if sums.emit {
                self.fifo.push_back(wrap(sums.global(), self.machine.word()) as i64);
            }
        }
        while self.row_bus.front().is_some_and(|b| b.0 <= self.now) {
            self.row_bus.pop_front();
        }
        while self.global_bus.front().is_some_and(|b| b.0 <= self.now) {
            self.global_bus.pop_front();
        }
        self.now += 1;
    }

    fn write_table(&mut self, entry: u32, chunk: u32, data: u32) {
        let entry = entry as usize;
        if entry >= self.tables.len() {
            return;
        }
        let bits = &mut self.table_bits[entry];
        *bits = *bits & !(0xffff_ffffu128 << (32 * chunk)) | u128::from(data) << (32 * chunk);
        let half = self.machine.word() + 2;
        let base = wrap(*bits as i128, half) as i64;
        let delta = wrap((*bits >> half) as i128, half) as i64;
        self.tables[entry] = (base, delta);
    }

    fn saturated(&self) -> bool {
        self.saturated || self.unit.as_ref().is_some_and(|unit| unit.saturated)
    }

    fn clear_saturated(&mut self) {
        self.saturated = false;
        if let Some(unit) = &mut self.unit {
            unit.saturated = false;
        }
    }

    fn reset(&mut self) {
        self.waiting.clear();
        self.landings.clear();
        self.parking.clear();
        self.trees.clear();
        self.row_bus.clear();
        self.global_bus.clear();
        self.fifo.clear();
        self.saturated = false;
        if let Some(unit) = &mut self.unit {
            unit.reset();
        }
    }

    fn watch(&mut self, pu: usize) {
        assert!(pu < self.machine.pus() as usize, "the grid has {} PUs", self.machine.pus());
        self.seen = Some(Box::new((pu, PuView::default())));
        if let Some(unit) = &mut self.unit {
            unit.watch(0);
        }
    }

    fn observe(&self, view: &mut PuView) {
        if let Some(seen) = &self.seen {
            view.clone_from(&seen.1);
        }
    }
}
