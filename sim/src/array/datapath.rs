//! Effects of a beat, and when its results land (docs/machine.md sections 2 to 5).
//!
//! A beat is computed in full in the cycle in which it reads its operands; what it produces is queued with the cycle in
//! which it lands, so hazards show exactly as they do in the hardware. Pads are stored word by word, all PEs side by side.
//! [`Values`] defines words and the operations on them.

mod ahead;
mod alike;
mod arriving;
mod deferred;
mod exchange;
mod leaving;
mod masked;
mod parked;
mod passing;
mod products;
mod seen;

use super::numbers::Numbers;
use super::replay::{Event, Leaving};
use super::sequencer::Beats;
use super::stream::Beat;
use super::values::{Maker, Values};
use super::watch::PuView;
use arch::isa::{Address, AluInstruction, Combine, LEVELS, Pad, RootInstruction, ScalarInstruction, Start};
use arch::machine::{Machine, MachineSpec};
use arch::number::wrap;
use arch::timing::{self, Unit};
use deferred::{Admitted, Deferred};
use exchange::hide;
use leaving::{Emission, Landing, Queue};
use passing::Waiting;
use std::collections::VecDeque;
use std::sync::Arc;

/// The arithmetic half of the grid.
pub(super) trait Datapath: std::fmt::Debug {
    /// The words at the output port, side by side; none if there is no transfer.
    fn output(&self) -> Vec<i64>;
    /// Whether the transfer at the output port is the last one of its beat.
    fn ends_beat(&self) -> bool;
    /// One cycle; beats that have been carried out, to be used again.
    fn cycle(&mut self, beats: Arc<Beats>, input: Option<&[i64]>, popped: bool) -> Option<Arc<Beats>>;
    /// What is on its way out; `None` where each cycle has to be counted.
    fn leaving(&self) -> Option<Leaving> {
        None
    }
    /// So many cycles, in which these events happen, with beats of input from the front of the queue; what leaves goes to `words`.
    fn replay(&mut self, _: &[Event], _cycles: u64, _inputs: &mut VecDeque<Vec<i64>>, _words: &mut Vec<i64>) {
        unreachable!("it counts each cycle")
    }
    fn write_table(&mut self, entry: u32, chunk: u32, data: u32);
    fn saturated(&self) -> bool;
    fn clear_saturated(&mut self);
    fn reset(&mut self);
    /// The words of the gradient pads, address by address, all PEs side by side.
    fn parked(&mut self, addresses: u32) -> Vec<i128>;
    /// Put such words there.
    fn put_back(&mut self, sums: &[i128]);
    /// Look into this PU from now on.
    fn watch(&mut self, pu: usize);
    /// What was seen in the last cycle.
    fn observe(&self, view: &mut PuView);
}

/// The datapath of a machine, with accumulators as narrow as it allows.
pub(super) fn new(machine: &Machine) -> Box<dyn Datapath> {
    if machine.accumulator() <= 64 {
        of(machine, Numbers::<i64>::new(machine))
    } else {
        of(machine, Numbers::<i128>::new(machine))
    }
}

/// The same, beat by beat and lane by lane.
pub(super) fn beat_by_beat(machine: &Machine) -> Box<dyn Datapath> {
    if machine.accumulator() <= 64 {
        of(machine, Numbers::<i64>::one_by_one(machine))
    } else {
        of(machine, Numbers::<i128>::one_by_one(machine))
    }
}

/// The datapath of a machine that computes with these.
pub(super) fn of<V: Values>(machine: &Machine, values: V) -> Box<dyn Datapath> {
    Box::new(Lanes::new(machine, values))
}

/// What one beat sends through the trees: a partial result per row.
#[derive(Debug)]
struct TreeSums<S> {
    row_cycle: u64,
    rows: Vec<S>,
    combine: Combine,
    emit: Option<Emission<S>>,
    /// They are sums of a batch, which leave in parts.
    leaves: bool,
    /// The alu instruction.
    of: usize,
}

/// A word that a root has made, and whether it is saturated.
type Rooted<W> = (W, bool);

#[derive(Debug)]
struct Lanes<V: Values> {
    values: V,
    machine: Machine,
    pes: usize,
    now: u64,
    pads: [Vec<V::Word>; Pad::COUNT],
    accumulators: Vec<V::Sum>,
    /// Gradient pads: sums that wait for the next tile.
    gradients: Vec<V::Sum>,
    /// Sums on their way there: when they land, and where.
    parking: VecDeque<(u64, usize, Vec<V::Sum>)>,
    /// Parts of sums that have come back, the last one behind; and which part leaves next.
    parts: VecDeque<Vec<V::Word>>,
    part: u32,
    waiting: VecDeque<Waiting<V::Word>>,
    landings: VecDeque<Landing<V::Word>>,
    spare: Vec<(Vec<V::Word>, Vec<bool>)>,
    /// What was overwritten in the last cycle, where pads are read a cycle ahead: pad, place and the word before.
    fresh: Vec<(Pad, usize, V::Word)>,
    /// Pads have output registers.
    ahead: bool,
    trees: VecDeque<TreeSums<V::Sum>>,
    row_bus: VecDeque<(u64, Vec<Rooted<V::Word>>)>,
    global_bus: VecDeque<(u64, Rooted<V::Word>)>,
    fifo: Queue<V::Word>,
    tables: Vec<(i64, i64)>,
    /// Chunks of a table's entry that is not complete.
    entry_bits: u128,
    saturated: bool,
    /// PEs that a beat of the move or load stream writes.
    taken: Vec<bool>,
    admitted: Admitted,
    /// Products that wait; only in `bulk`.
    deferred: Option<Deferred<V::Word>>,
    bulk: bool,
    /// The scalar unit: the only PE of a grid of its own.
    unit: Option<Box<Lanes<V>>>,
    /// While somebody watches: which PU, and what happens in it in this cycle.
    seen: Option<Box<(usize, PuView)>>,
}

/// The grid that a scalar unit is: one PE with the same pads, but for the model pad, which is never written.
fn alone(machine: &Machine) -> Machine {
    let spec = MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(1),
        stream_words: Some(1),
        output_words: None,
        emit_words: None,
        model_depth: None,
        table_entries: Some(0),
        divider: None,
        scalar: None,
        gradient_depth: None,
        ..MachineSpec::from(machine.clone())
    };
    Machine::try_from(spec).expect("one PE of a possible machine is possible")
}

/// Addresses count modulo their width; law 1 of an image keeps them from what lies beyond the pad.
#[inline]
fn at(address: &Address, counters: &[u32; LEVELS], depth: usize) -> usize {
    let offset: i64 = address.strides.iter().zip(counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
    let place = i64::from(address.base) + offset;
    // Hardly any wraps, and a division takes long.
    if (0..depth as i64).contains(&place) {
        return place as usize;
    }
    let wrapped = place.rem_euclid(depth.next_power_of_two() as i64) as usize;
    wrapped.min(depth - 1)
}

/// What a tree makes of its inputs.
fn joined<V: Values>(values: &mut V, combine: Combine, sums: &[V::Sum]) -> V::Sum {
    let (first, rest) = sums.split_first().expect("there is at least one row and one column");
    let mut all = first.clone();
    for sum in rest {
        values.join(combine, &mut all, sum);
    }
    all
}

impl<V: Values> Lanes<V> {
    fn new(machine: &Machine, mut values: V) -> Lanes<V> {
        let pes = machine.pes() as usize;
        Lanes {
            machine: machine.clone(),
            pes,
            now: 0,
            pads: Pad::ALL.map(|pad| values.unwritten_words(pad.words(machine) as usize * pes)),
            accumulators: values.unwritten_sums(pes),
            gradients: values.unwritten_sums(machine.gradient_depth() as usize * pes),
            parking: VecDeque::new(),
            parts: VecDeque::new(),
            part: 0,
            waiting: VecDeque::new(),
            landings: VecDeque::new(),
            spare: Vec::new(),
            fresh: Vec::new(),
            ahead: machine.pad_register(),
            trees: VecDeque::new(),
            row_bus: VecDeque::new(),
            global_bus: VecDeque::new(),
            fifo: Queue::of(machine),
            tables: vec![(0, 0); machine.table_entries() as usize],
            entry_bits: 0,
            saturated: false,
            taken: vec![false; pes],
            admitted: Admitted { lanes: vec![false; pes], all: false, by: None },
            deferred: None,
            bulk: values.in_bulk(),
            unit: machine.scalar().then(|| Box::new(Lanes::unit(machine, values.clone()))),
            seen: None,
            values,
        }
    }

    /// The scalar unit of a grid.
    fn unit(machine: &Machine, values: V) -> Lanes<V> {
        let mut unit = Lanes::new(&alone(machine), values);
        // What is no memory reads as 0.
        unit.pads[Pad::Model as usize].fill(V::Word::default());
        // The only PE of its grid.
        unit.bulk = false;
        unit
    }

    fn depth(&self, pad: Pad) -> usize {
        pad.depth(&self.machine) as usize
    }

    /// First PE's places of the words that a beat can read.
    fn places(&self, beat: &Beat<AluInstruction>, bank: u32) -> [usize; Pad::COUNT] {
        Pad::ALL.map(|pad| {
            let bank = if pad == Pad::Data { bank as usize * self.machine.data_depth() as usize } else { 0 };
            (bank + at(&beat.instruction.reads[pad as usize], &beat.counters, self.depth(pad))) * self.pes
        })
    }

    /// What a beat of the alu stream does; whether it was the last one of its sums.
    fn alu(&mut self, beat: &Beat<AluInstruction>, beats: &Beats, maker: Maker) -> bool {
        let bank = beats.compute_bank;
        let i = &beat.instruction;
        let counters = &beat.counters;
        let pes = self.pes;
        // Microcode may ask for more levels than there are; the hardware takes that for all of them.
        let reduction = LEVELS.saturating_sub(usize::from(i.reduce));
        let first = counters[reduction..].iter().all(|&k| k == 0);
        let last = counters[reduction..].iter().zip(&i.counts[reduction..]).all(|(&k, &n)| k + 1 == n);
        self.values.computing(maker);
        let places = self.places(beat, bank);
        let parked = self.parked_at(&i.tiles, counters);
        if i.emit && i.tree && i.write.is_none() && first && last && parked.is_none() && self.seen.is_none() {
            self.emit(beat, &places);
            return last;
        }
        if first {
            // A sum that did not end, in a tile that did.
            self.deferred = None;
        }
        self.admit(&i.mask, &i.counts, counters);
        self.see_operands(beat, bank);
        let (leaves, defers) = (self.leaves(i), self.defers(i));
        let Lanes { values, pads, accumulators, gradients, admitted: Admitted { lanes: taken, all, .. }, .. } = self;
        let words = |pad: Pad| &pads[pad as usize][places[pad as usize]..][..pes];
        if let (true, Some(from), true) = (first, parked, leaves || !beats.first_tile) {
            // A sum that goes on does so in every PE, whatever the mask of this beat; one that leaves, in those that it admits.
            accumulators.clone_from_slice(&gradients[from..from + pes]);
            if leaves {
                hide(values, accumulators, taken);
            }
        } else if first {
            let nothing = values.nothing(i.combine);
            match i.c {
                Start::Zero => accumulators.fill(nothing.clone()),
                Start::Immediate => {
                    let start = values.constant(i.immediate_c);
                    accumulators.fill(values.start(start, i.align));
                }
                Start::Pad(pad) => values.start_all(accumulators, words(pad), i.align),
            }
            if !*all {
                for (sum, _) in accumulators.iter_mut().zip(&*taken).filter(|&(_, &taken)| !taken) {
                    sum.clone_from(&nothing);
                }
            }
        }
        if defers {
            self.defer(beat, &places);
        } else {
            self.multiply(beat, &places);
            self.see_sums();
        }
        if last {
            self.settle();
            if let (Some(from), false) = (parked, leaves || beats.last_tile) {
                self.parking.push_back((self.now + timing::PARK_WRITE, from, self.accumulators.clone()));
            }
            self.finish(beat, beats.last_tile);
        }
        last
    }

    /// What a beat of the scalar stream does.
    fn scalar(&mut self, beat: &Beat<ScalarInstruction>, beats: &Beats) {
        let Some(unit) = &mut self.unit else { return };
        let ScalarInstruction { alu, send } = *beat.instruction;
        let Beat { number, counters, .. } = *beat;
        let last = unit.alu(&Beat { number, instruction: Arc::new(alu), counters }, beats, Maker::Scalar(number));
        if send && last {
            let mut word = Vec::new();
            let saturated = unit.values.finish(&unit.accumulators, &[true], alu.finish, alu.shift, &mut word);
            self.global_bus.push_back((self.now + timing::SCALAR_TO_MOVE, (word[0], saturated)));
        }
    }

    /// The word in the global bus register. What arrives there in the same cycle is or-ed, as in the hardware.
    fn global_word(&mut self) -> Rooted<V::Word> {
        let Lanes { values, global_bus, now, .. } = self;
        let arrived = global_bus.iter().filter(|bus| bus.0 == *now);
        arrived.fold((V::Word::default(), false), |(word, any), &(_, (new, saturated))| {
            (values.either(word, new), any || saturated)
        })
    }

    fn root(&mut self, beat: &Beat<RootInstruction>) {
        let root = &beat.instruction;
        let levels = u64::from(self.machine.global_levels());
        let Lanes { values, machine, trees, tables, now, .. } = self;
        let arrived = match root.unit {
            Unit::Row | Unit::Across => trees.iter().find(|sums| sums.row_cycle == *now),
            Unit::Global => trees.iter().find(|sums| sums.row_cycle + levels == *now),
        };
        values.computing(Maker::Root(beat.number, arrived.map(|sums| sums.of)));
        let nothing = values.nothing(Combine::Add);
        let lands = *now + timing::root_result(machine, root.unit, root.function.as_ref());
        match root.unit {
            Unit::Row | Unit::Across => {
                let words = match arrived {
                    Some(sums) => sums.rows.iter().map(|sum| values.root(sum, root, tables)).collect(),
                    None => vec![values.root(&nothing, root, tables); machine.pus() as usize],
                };
                self.row_bus.push_back((lands, words));
            }
            Unit::Global => {
                let sum = arrived.map_or(nothing, |sums| joined(values, sums.combine, &sums.rows));
                let word = values.root(&sum, root, tables);
                self.global_bus.push_back((lands, word));
            }
        }
    }
}

impl<V: Values> Lanes<V> {
    /// What beats do when they have reached the rows; the one of the alu stream by itself.
    fn carry_out(&mut self, beats: &Beats, alu: Option<&Beat<AluInstruction>>, input: Option<&[V::Word]>) {
        // Where nothing is held, only what leaves takes time.
        if !V::EXIST && self.seen.is_none() {
            if let Some(beat) = alu.filter(|beat| beat.instruction.emit) {
                self.alu(beat, beats, Maker::Alu(beat.number));
            }
            return;
        }
        // Reads of this cycle see what landed before it; those of gradient pads are a cycle later.
        let parked = self.now + timing::PARK_READ - u64::from(self.ahead);
        self.park_until(parked);
        self.look_back();
        if let Some(beat) = alu {
            self.alu(beat, beats, Maker::Alu(beat.number));
        }
        if let Some(beat) = &beats.scalar {
            self.scalar(beat, beats);
        }
        self.settle_fresh();
        self.look_up();
        if let Some(root) = &beats.root {
            self.root(root);
        }
        if let Some(beat) = &beats.moves {
            self.moves(beat, beats.last_tile);
        }
        if let Some(input) = input {
            self.load(beats, input);
        }
    }
}

impl<V: Values> Datapath for Lanes<V> {
    fn output(&self) -> Vec<i64> {
        // In most cycles there are none.
        if self.fifo.is_empty() {
            Vec::new()
        } else {
            self.fifo.transfer().map(|&word| self.values.shown(word)).collect()
        }
    }

    fn ends_beat(&self) -> bool {
        self.fifo.ends_beat()
    }

    fn cycle(&mut self, beats: Arc<Beats>, input: Option<&[i64]>, popped: bool) -> Option<Arc<Beats>> {
        if popped {
            self.fifo.pop();
        }
        self.see_nothing();
        if let Some(unit) = &mut self.unit {
            unit.see_nothing();
        }
        self.issue(beats, 1, input);
        let carried_out = self.carry_out_due(self.now + 1);
        self.end_cycle();
        carried_out
    }

    fn leaving(&self) -> Option<Leaving> {
        self.seen.is_none().then(|| self.on_its_way())
    }

    fn replay(&mut self, events: &[Event], cycles: u64, inputs: &mut VecDeque<Vec<i64>>, words: &mut Vec<i64>) {
        self.repeat(events, cycles, inputs, words);
    }

    fn write_table(&mut self, entry: u32, chunk: u32, data: u32) {
        let entry = entry as usize;
        if entry >= self.tables.len() {
            return;
        }
        let bits = &mut self.entry_bits;
        *bits = *bits & !(0xffff_ffffu128 << (32 * chunk)) | u128::from(data) << (32 * chunk);
        let half = self.machine.word() + 2;
        // The last chunk completes an entry.
        if chunk + 1 != (2 * half).div_ceil(32) {
            return;
        }
        let base = wrap(*bits as i128, half) as i64;
        let delta = wrap((*bits >> half) as i128, half) as i64;
        self.tables[entry] = (base, delta);
        self.values.tables_change();
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
        self.fresh.clear();
        self.deferred = None;
        self.parking.clear();
        self.part = 0;
        self.trees.clear();
        self.row_bus.clear();
        self.global_bus.clear();
        self.fifo.clear();
        self.saturated = false;
        if let Some(unit) = &mut self.unit {
            unit.reset();
        }
    }

    fn parked(&mut self, addresses: u32) -> Vec<i128> {
        self.parked_up_to(addresses)
    }

    fn put_back(&mut self, sums: &[i128]) {
        self.put_all(sums);
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
