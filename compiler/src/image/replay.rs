//! The replay of an image: two steps, word by word, held to laws 3 to 10 of [`super`].
//!
//! The second step starts as soon as the first one's length allows: what the first has still on its way
//! must not trouble the second. Where a tile that is not the last one of its batch is shorter than a step, this is done again with a first step
//! that ends there: what counts in the last tile only is cut off and writes nothing, anything else is not. Every beat of every stream is looked at once, in the order of time, so the work grows with the length
//! of the step and nothing is left out. The scheduler counts with boxes of words ([`crate::scheduled::trace`]), the replay with words: neither
//! believes the other. The streams of PEs and scalar unit run beside each other; which of their instructions comes first in the order of the
//! program is given ([`Image::follows`]).

mod gradients;

use crate::laws::{Check, Fault, law};
use arch::image::Image;
use arch::isa::{
    Address, AluInstruction, Factor, LEVELS, LoadInstruction, Mask, MoveInstruction, Pad, RootFunction,
    RootInstruction, ScalarInstruction, Start, Tiles, pad_bits,
};
use arch::machine::Machine;
use arch::timing::{self, Unit};
use gradients::Gradients;
use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::iter::Peekable;

/// The first law that is found broken.
#[derive(Debug, Default)]
struct Broken(OnceCell<Fault>);

impl Broken {
    /// Note that a law is broken, unless it holds.
    fn unless(&self, holds: bool, law: u32, words: impl FnOnce() -> String) {
        if !holds {
            self.0.get_or_init(|| Fault { law, why: words() });
        }
    }
}

/// The counters of a vector instruction, beat by beat.
#[derive(Debug, Clone)]
struct Beats {
    counts: [u32; LEVELS],
    counters: [u32; LEVELS],
    cycle: u64,
    interval: u64,
    left: u64,
}

impl Beats {
    fn new(first: u64, interval: u32, counts: [u32; LEVELS]) -> Beats {
        Beats { counts, counters: [0; LEVELS], cycle: first, interval: u64::from(interval), left: beats(&counts) }
    }
}

impl Iterator for Beats {
    type Item = (u64, [u32; LEVELS]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let this = (self.cycle, self.counters);
        self.left -= 1;
        self.cycle += self.interval;
        for level in (0..LEVELS).rev() {
            self.counters[level] += 1;
            if self.counters[level] < self.counts[level] {
                break;
            }
            self.counters[level] = 0;
        }
        Some(this)
    }
}

fn beats(counts: &[u32; LEVELS]) -> u64 {
    counts.iter().map(|&n| u64::from(n)).product()
}

/// The instructions of a stream, each with the cycle of its first beat; and the first cycle in which the stream could start again.
fn timed<I: Copy>(instructions: impl Iterator<Item = I>, pace: impl Fn(&I) -> (u32, u32, u64)) -> (Vec<(u64, I)>, u64) {
    let (mut now, mut idle) = (0, 0);
    let timed = instructions.map(|instruction| {
        let (delay, interval, beats) = pace(&instruction);
        let first = now + u64::from(delay);
        let last = first + (beats - 1) * u64::from(interval);
        (now, idle) = (last + 1, last + 3);
        (first, instruction)
    });
    (timed.collect(), idle)
}

/// A word of a pad.
type Word = (Pad, usize);

/// The highest address of each pad: addresses count modulo its size.
#[derive(Debug, Clone, Copy)]
struct Highest([i64; Pad::COUNT]);

impl Highest {
    fn of(machine: &Machine) -> Highest {
        Highest(Pad::ALL.map(|pad| (1 << pad_bits(machine, pad)) - 1))
    }

    fn word(&self, pad: Pad, address: &Address, counters: &[u32; LEVELS]) -> Word {
        let offset: i64 = address.strides.iter().zip(counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
        (pad, ((i64::from(address.base) + offset) & self.0[pad as usize]) as usize)
    }
}

fn reads(instruction: &AluInstruction) -> impl Iterator<Item = Pad> {
    // A product with the constant 0 reads nothing that matters.
    let a = (instruction.b != Factor::Immediate || instruction.immediate_b != 0).then_some(instruction.a);
    let b = if let Factor::Pad(pad) = instruction.b { Some(pad) } else { None };
    let c = if let Start::Pad(pad) = instruction.c { Some(pad) } else { None };
    a.into_iter().chain(b).chain(c)
}

/// Whether a beat ends a sum.
fn is_last(instruction: &AluInstruction, counters: &[u32; LEVELS]) -> bool {
    let summed = LEVELS - instruction.reduce as usize;
    (summed..LEVELS).all(|level| counters[level] + 1 == instruction.counts[level])
}

/// Which PEs take a result.
#[derive(Debug, Clone, Copy)]
struct Lanes<'a> {
    mask: &'a Mask,
    counts: &'a [u32; LEVELS],
    counters: [u32; LEVELS],
}

impl Lanes<'_> {
    fn taken(&self, machine: &Machine) -> Vec<bool> {
        let mut taken = vec![false; machine.pes() as usize];
        self.mask.fill(machine.pus(), machine.pes_per_pu(), self.counts, &self.counters, &mut taken);
        taken
    }

    fn meet(&self, other: &Lanes<'_>, machine: &Machine) -> bool {
        self.taken(machine).into_iter().zip(other.taken(machine)).any(|(one, other)| one && other)
    }
}

/// Two steps that follow each other.
#[derive(Debug, Clone, Copy)]
struct Two {
    /// Cycle in which the second one starts.
    second: u64,
    /// The first one is a tile before the last one and ends early.
    tile: bool,
}

impl Two {
    /// The first cycle in which nothing is issued in the first step any more.
    fn end(self) -> u64 {
        if self.tile { (self.second + 1).saturating_sub(timing::TILE_END) } else { u64::MAX }
    }

    /// For each step: where it starts, how many instructions of the program come before, and in which cycle its streams stop.
    fn steps(self, instructions: u32) -> [(u64, u32, u64); 2] {
        [(0, 0, self.end()), (self.second, instructions, u64::MAX)]
    }

    /// Whether this step writes what counts in the last tile only.
    fn is_last(self, step: usize) -> bool {
        step > 0 || !self.tile
    }
}

/// A word that is written: by which instruction's result, when, in which PEs, and whether in the scalar unit.
#[derive(Debug, Clone, Copy)]
struct Write<'a> {
    cycle: u64,
    /// The place of the instruction in the program.
    job: u32,
    word: Word,
    lanes: Option<Lanes<'a>>,
    scalar: bool,
}

/// A result on its way to the buses: when a move beat takes it, from where, whose it is, and whether it counts in the last tile only.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    /// Of which step.
    step: usize,
    cycle: u64,
    source: Unit,
    job: u32,
    late: bool,
}

impl Arrival {
    /// Laws 4, 8 and 10: the move beat of this cycle takes this result, and nobody left one like it `untaken`.
    fn suits(self, cycle: u64, moved: &MoveInstruction, untaken: bool, broken: &Broken) {
        let Arrival { cycle: result, source, job, late, .. } = self;
        let across = moved.source == Unit::Across && source == Unit::Row;
        // One register more than to the PEs of the row itself.
        let taken = if across { (result + 1, Unit::Across) } else { (result, source) };
        let meets = (cycle, moved.source) == taken && !untaken;
        broken.unless(meets, 4, || format!("cycle {cycle}: a move beat needs one result, that of instruction {job}"));
        let together = moved.late == late;
        broken.unless(together, 8, || format!("cycle {cycle}: instruction {job} and its move count in the same tiles"));
        let hears = !moved.scalar || source == Unit::Global;
        broken.unless(hears, 10, || format!("cycle {cycle}: the scalar unit hears the global bus only"));
    }
}

/// A beat of the PEs or of the scalar unit: its cycle, the place of its instruction in the program, counters.
#[derive(Debug, Clone, Copy)]
struct Beat<'a> {
    cycle: u64,
    job: u32,
    instruction: &'a AluInstruction,
    counters: [u32; LEVELS],
    scalar: bool,
}

/// An instruction: the cycle of its first beat, and its place in the program.
type Placed<I> = (u64, u32, I);

/// The streams of one step, with the cycles of their instructions.
struct Streams {
    alu: Vec<Placed<AluInstruction>>,
    scalar: Vec<Placed<ScalarInstruction>>,
    root: Vec<(u64, RootInstruction)>,
    moves: Vec<(u64, MoveInstruction)>,
    /// First cycle in which all are ready to start again.
    idle: u64,
}

impl Streams {
    fn of(image: &Image) -> Streams {
        let follows = &image.follows;
        let step = image.alu.iter().map(|alu| alu.instruction).take_while(|i| !i.emit);
        let (alu, alu_idle) = timed(step, |i| (i.delay, i.interval, beats(&i.counts)));
        let (scalar, scalar_idle) = timed(image.scalar.iter().map(|scalar| scalar.instruction), |i| {
            (i.alu.delay, i.alu.interval, beats(&i.alu.counts))
        });
        let root = image.root.iter().map(|root| root.instruction);
        let (root, root_idle) = timed(root, |i| (i.delay, i.interval, u64::from(i.count)));
        let moves = image.moves.iter().map(|moves| moves.instruction);
        let (moves, move_idle) = timed(moves, |i| (i.delay, i.interval, beats(&i.counts)));
        let before = |at: u32| follows.iter().filter(|&&follows| follows <= at).count() as u32;
        let alu = (0..).zip(alu).map(|(at, (first, i))| (first, at + before(at), i)).collect();
        let scalar = (0..).zip(follows).zip(scalar).map(|((at, follows), (first, i))| (first, at + follows, i));
        let idle = alu_idle.max(scalar_idle).max(root_idle).max(move_idle);
        Streams { alu, scalar: scalar.collect(), root, moves, idle }
    }

    /// Instructions of PEs and scalar unit.
    fn instructions(&self) -> u32 {
        (self.alu.len() + self.scalar.len()) as u32
    }

    /// Beats of the PEs and of the scalar unit in two steps, in the order of time.
    fn beats(&self, two: Two) -> impl Iterator<Item = Beat<'_>> {
        let steps = two.steps(self.instructions());
        let beat = |cycle, job, instruction, counters, scalar| Beat { cycle, job, instruction, counters, scalar };
        let mut alu = steps
            .into_iter()
            .flat_map(move |(from, job, end)| {
                self.alu.iter().flat_map(move |(first, number, instruction)| {
                    let beats = Beats::new(from + first, instruction.interval, instruction.counts);
                    let beats = beats.take_while(move |(cycle, _)| *cycle < end);
                    beats.map(move |(cycle, counters)| beat(cycle, job + number, instruction, counters, false))
                })
            })
            .peekable();
        let mut scalar = steps
            .into_iter()
            .flat_map(move |(from, job, end)| {
                self.scalar.iter().flat_map(move |(first, number, instruction)| {
                    let beats = Beats::new(from + first, instruction.alu.interval, instruction.alu.counts);
                    let beats = beats.take_while(move |(cycle, _)| *cycle < end);
                    beats.map(move |(cycle, counters)| beat(cycle, job + number, &instruction.alu, counters, true))
                })
            })
            .peekable();
        let time = |beat: Option<&Beat<'_>>| beat.map_or(u64::MAX, |beat| beat.cycle);
        std::iter::from_fn(move || if time(scalar.peek()) < time(alu.peek()) { scalar.next() } else { alu.next() })
    }

    /// Beats of the roots: step, cycle, instruction.
    fn root_beats(&self, two: Two) -> impl Iterator<Item = (usize, u64, &RootInstruction)> {
        two.steps(0).into_iter().enumerate().flat_map(move |(step, (from, _, end))| {
            let beats = self.root.iter().flat_map(move |(first, instruction)| {
                let cycle = move |beat| from + first + u64::from(beat) * u64::from(instruction.interval);
                (0..instruction.count).map(move |beat| (step, cycle(beat), instruction))
            });
            beats.take_while(move |(_, cycle, _)| *cycle < end)
        })
    }

    /// Beats of the bus writers: step, cycle, instruction, counters.
    fn move_beats(&self, two: Two) -> impl Iterator<Item = (usize, u64, &MoveInstruction, [u32; LEVELS])> {
        two.steps(0).into_iter().enumerate().flat_map(move |(step, (from, _, end))| {
            let beats = self.moves.iter().flat_map(move |(first, instruction)| {
                let beats = Beats::new(from + first, instruction.interval, instruction.counts);
                beats.map(move |(cycle, counters)| (step, cycle, instruction, counters))
            });
            beats.take_while(move |(_, cycle, _, _)| *cycle < end)
        })
    }

    /// When an instruction of two steps gives a sum to the trees: step, cycle, place of the instruction, whether it is late.
    fn sums(&self, two: Two) -> impl Iterator<Item = (usize, u64, u32, bool)> {
        two.steps(self.instructions()).into_iter().enumerate().flat_map(move |(step, (from, job, end))| {
            let senders = self.alu.iter().filter(|(_, _, instruction)| instruction.tree);
            let sums = senders.flat_map(move |(first, number, instruction)| {
                let late = instruction.tiles != Tiles::Every;
                results(instruction).map(move |cycle| (step, from + first + cycle, job + number, late))
            });
            sums.take_while(move |(_, cycle, _, _)| *cycle < end)
        })
    }

    /// What the roots give to the buses, in order: each sum of the alu through the root beat that takes it. Of a tile that ends early no root
    /// need take what is late.
    fn of_roots(&self, machine: &Machine, two: Two, broken: &Broken) -> impl Iterator<Item = Arrival> {
        let (mut sums, mut roots) = (self.sums(two), self.root_beats(two).peekable());
        // When each kind of root began its last quotient.
        let mut quotients = [None; 2];
        std::iter::from_fn(move || {
            let sum = loop {
                let sum = sums.next();
                let untaken = sum.is_some_and(|(step, _, _, late)| {
                    late && !two.is_last(step) && roots.peek().is_none_or(|(of, _, _)| *of > step)
                });
                if !untaken {
                    break sum;
                }
            };
            let root = roots.next();
            let (Some((step, t, job, late)), Some((_, at, root))) = (sum, root) else {
                let none = sum.is_none() && root.is_none();
                broken.unless(none, 4, || "every sum is taken by a root beat".to_owned());
                return None;
            };
            let present = t + timing::alu_to_root(machine, root.unit);
            let meets = at == present;
            broken.unless(meets, 4, || format!("cycle {at}: a root beat needs one sum, that of instruction {job}"));
            if matches!(root.function, Some(RootFunction::Divide(_))) {
                let last = &mut quotients[usize::from(root.unit == Unit::Global)];
                if let Some(since) = last.replace(at) {
                    let free = since + timing::division_interval(machine);
                    broken.unless(at >= free, 7, || format!("cycle {at}: the divider is busy since {since}"));
                }
            }
            let cycle = at + timing::root_result(machine, root.unit, root.function.as_ref());
            Some(Arrival { step, cycle, source: root.unit, job, late })
        })
    }

    /// What the scalar unit gives to the global bus, in order.
    fn sent(&self, two: Two) -> impl Iterator<Item = Arrival> {
        let steps = two.steps(self.instructions()).into_iter().enumerate();
        steps.flat_map(move |(step, (from, job, end))| {
            let senders = self.scalar.iter().filter(|(_, _, instruction)| instruction.send);
            let sent = senders.flat_map(move |(first, number, instruction)| {
                results(&instruction.alu).map(move |cycle| (from + first + cycle, job + number))
            });
            sent.take_while(move |(cycle, _)| *cycle < end).map(move |(cycle, job)| Arrival {
                step,
                cycle: cycle + timing::SCALAR_TO_MOVE,
                source: Unit::Global,
                job,
                late: false,
            })
        })
    }

    /// What comes over the buses, in order: each result and the move beat that takes it.
    fn bus_writes<'a>(&'a self, machine: &'a Machine, two: Two, broken: &'a Broken) -> impl Iterator<Item = Write<'a>> {
        let (highest, mut moves) = (Highest::of(machine), self.move_beats(two).peekable());
        let (mut roots, mut sent) = (self.of_roots(machine, two, broken).peekable(), self.sent(two).peekable());
        // Results that nobody takes: of a tile that has ended.
        let mut untaken: Vec<(u64, Unit)> = Vec::new();
        let mut of_rows: Option<u64> = None;
        std::iter::from_fn(move || {
            loop {
                let next = match (roots.peek(), sent.peek()) {
                    (Some(root), Some(scalar)) => {
                        let apart = root.cycle != scalar.cycle || root.source == Unit::Row;
                        let words = || format!("cycle {}: global root and scalar unit give a result", root.cycle);
                        broken.unless(apart, 10, words);
                        // When the results of rows are taken is for the moves to say.
                        let first = match moves.peek() {
                            Some((_, _, moved, _)) if root.source == Unit::Row => moved.source != Unit::Global,
                            _ => root.cycle <= scalar.cycle,
                        };
                        if first { roots.next() } else { sent.next() }
                    }
                    (Some(_), None) => roots.next(),
                    (None, _) => sent.next(),
                };
                if let Some(Arrival { step, cycle, source, late, .. }) = next
                    && late
                    && !two.is_last(step)
                    && moves.peek().is_none_or(|(of, ..)| *of > step)
                {
                    untaken.push((cycle, source));
                    continue;
                }
                if let Some(Arrival { cycle, source: Unit::Row, .. }) = next {
                    let after = of_rows.replace(cycle).is_none_or(|last| last < cycle);
                    broken.unless(after, 4, || format!("cycle {cycle}: two results for the bus of a row"));
                }
                let moved = moves.next();
                let (Some(arrival), Some((_, cycle, moved, counters))) = (next, moved) else {
                    let none = next.is_none() && moved.is_none();
                    broken.unless(none, 4, || "every result is taken by a move beat".to_owned());
                    return None;
                };
                let Arrival { step, cycle: result, source, job, late } = arrival;
                let before = untaken.contains(&(result, source));
                arrival.suits(cycle, moved, before, broken);
                if late && !two.is_last(step) {
                    continue;
                }
                let lanes = Lanes { mask: &moved.mask, counts: &moved.counts, counters };
                let lanes = (moved.mask.row_low < moved.mask.row_high || moved.mask.flat).then_some(lanes);
                let word = highest.word(moved.pad, &moved.destination, &counters);
                return Some(Write { cycle, job, word, lanes, scalar: moved.scalar });
            }
        })
    }

    /// Whether all is issued in a tile that ends in this cycle but what counts in the last one only; else what is not.
    fn all_but_late(&self, length: u64) -> Check {
        let of_alu = self.alu.iter().filter(|(_, _, i)| i.tiles != Tiles::Last);
        let of_alu = of_alu.map(|(first, number, i)| (*first, *number, i.interval, beats(&i.counts)));
        let scalar =
            self.scalar.iter().map(|(first, number, i)| (*first, *number, i.alu.interval, beats(&i.alu.counts)));
        for (first, number, interval, beats) in of_alu.chain(scalar) {
            let idle = first + (beats - 1) * u64::from(interval) + timing::TILE_END;
            law!(9, idle <= length, "a tile is {length} cycles long, and instruction {number} is busy until {idle}");
        }
        Ok(())
    }
}

/// The cycles, from its first beat on, in which an instruction ends a sum.
fn results(instruction: &AluInstruction) -> impl Iterator<Item = u64> {
    let (outer, inner) = instruction.counts.split_at(LEVELS - instruction.reduce as usize);
    let product = |counts: &[u32]| counts.iter().map(|&n| u64::from(n)).product::<u64>();
    let (interval, summed) = (u64::from(instruction.interval), product(inner));
    (1..=product(outer)).map(move |n| (n * summed - 1) * interval)
}

/// What is known of a word: the last instruction, plus one, that wrote it, where, and that read it (wherever).
#[derive(Debug, Clone, Copy, Default)]
struct Known<'a> {
    written: u32,
    read: u32,
    lanes: Option<Lanes<'a>>,
}

/// All pads of the PEs, or of the scalar unit, and when each was written last.
struct Pads<'a> {
    machine: &'a Machine,
    broken: &'a Broken,
    words: [Vec<Known<'a>>; Pad::COUNT],
    busy: [Option<u64>; Pad::COUNT],
}

impl<'a> Pads<'a> {
    fn new(machine: &'a Machine, broken: &'a Broken) -> Pads<'a> {
        let words = Pad::ALL.map(|pad| vec![Known::default(); 1 << pad_bits(machine, pad)]);
        Pads { machine, broken, words, busy: [None; Pad::COUNT] }
    }

    fn take_port(&mut self, pad: Pad, cycle: u64) {
        let busy = self.busy[pad as usize].replace(cycle);
        self.broken.unless(busy != Some(cycle), 3, || format!("cycle {cycle}: two writes of {pad:?}"));
    }

    /// Write a word in some PEs, or in the scalar unit (`None`).
    fn write(&mut self, &Write { cycle, job, word: (pad, at), .. }: &Write<'a>, lanes: Option<Lanes<'a>>) {
        self.take_port(pad, cycle);
        let known = &mut self.words[pad as usize][at];
        let Known { written, read, lanes: before } = *known;
        self.broken.unless(read <= job + 1, 6, || {
            let reader = read.saturating_sub(1);
            format!("cycle {cycle}: instruction {job} writes {pad}[{at}], which instruction {reader} has read before")
        });
        if job + 1 < written {
            // Results for other lanes of the word may land in any order.
            let apart = matches!((before, &lanes), (Some(before), Some(lanes)) if !before.meet(lanes, self.machine));
            self.broken.unless(apart, 6, || {
                format!("cycle {cycle}: instruction {job} writes {pad}[{at}] after instruction {}", written - 1)
            });
        } else {
            (known.written, known.lanes) = (job + 1, lanes);
        }
    }

    fn read(&mut self, cycle: u64, job: u32, (pad, at): Word) {
        let known = &mut self.words[pad as usize][at];
        let written = known.written;
        self.broken.unless(written <= job + 1, 6, || {
            let writer = written.saturating_sub(1);
            format!("cycle {cycle}: instruction {job} reads {pad}[{at}] after instruction {writer} wrote it")
        });
        known.read = known.read.max(job + 1);
    }
}

/// The words of the data pad that are loaded to the scalar unit.
fn loaded(image: &Image) -> BTreeSet<Word> {
    let highest = Highest::of(&image.machine);
    let to_unit = image.load.iter().filter(|load| load.scalar);
    let words = |load: &LoadInstruction| -> Vec<Word> {
        let beats = Beats::new(0, 1, load.counts);
        beats.map(|(_, counters)| highest.word(load.pad, &load.destination, &counters)).collect()
    };
    to_unit.flat_map(|load| words(load)).collect()
}

/// Replay two steps of an image whose parts are as laws 1 and 2 say. `Err`: the first law that is broken.
pub(super) fn replay(image: &Image) -> Check {
    let (streams, length) = (Streams::of(image), u64::from(image.step_length));
    let idle = streams.idle;
    law!(9, idle <= length, "the step is {length} cycles long, but its streams are busy for {idle}");
    let tile = u64::from(image.tile_length);
    law!(9, tile <= length, "a tile is {tile} cycles long, and a step {length}");
    let broken = Broken::default();
    two_steps(image, &streams, Two { second: length, tile: false }, &broken);
    if tile < length && broken.0.get().is_none() {
        law!(9, image.tiles > 1 && tile > timing::TILE_END, "no tile ends after {tile} cycles");
        streams.all_but_late(tile)?;
        two_steps(image, &streams, Two { second: tile, tile: true }, &broken);
    }
    broken.0.into_inner().map_or(Ok(()), Err)
}

/// The words of two steps, up to the first law that is broken.
fn two_steps(image: &Image, streams: &Streams, two: Two, broken: &Broken) {
    let machine = &image.machine;
    let (mut pads, highest) = ([Pads::new(machine, broken), Pads::new(machine, broken)], Highest::of(machine));
    let (loaded, ahead) = (loaded(image), timing::read_ahead(machine));
    let mut from_bus = streams.bus_writes(machine, two, broken).peekable();
    // Results on their way to the write ports of their own pads.
    let mut inside: VecDeque<Write<'_>> = VecDeque::new();
    let mut gradients = Gradients::new(machine, streams.instructions(), broken);
    for beat in streams.beats(two).take_while(|_| broken.0.get().is_none()) {
        let Beat { cycle: t, job, instruction, counters, scalar } = beat;
        // Where pads are read ahead of the beat, what is written meanwhile comes too late.
        land(&mut pads, &mut inside, &mut from_bus, t.saturating_sub(ahead));
        for pad in reads(instruction) {
            let at = highest.word(pad, &instruction.reads[pad as usize], &counters);
            let written = inside.iter().take_while(|write| write.cycle + ahead == t).chain(from_bus.peek());
            for write in written.filter(|write| write.cycle + ahead == t) {
                let here = if scalar { write.scalar } else { write.lanes.is_some() };
                let apart = !here || write.word != at;
                broken.unless(apart, 5, || format!("cycle {t}: {at:?} is read while it is written"));
            }
            let pads = &mut pads[usize::from(scalar)];
            let has = || loaded.contains(&at) || pads.words[pad as usize][at.1].written > 0;
            let words = || format!("cycle {t}: the scalar unit has no {at:?}, which instruction {job} reads");
            broken.unless(!scalar || has(), 10, words);
            pads.read(t, job, at);
        }
        gradients.beat(&beat);
        let counts = instruction.tiles == Tiles::Every || two.is_last(usize::from(job >= streams.instructions()));
        if let (Some(pad), true) = (instruction.write, is_last(instruction, &counters) && counts) {
            let word = highest.word(pad, &instruction.destination, &counters);
            let lanes = Lanes { mask: &instruction.mask, counts: &instruction.counts, counters };
            let lanes = (!scalar).then_some(lanes);
            inside.push_back(Write { cycle: t + timing::ALU_WRITE, job, word, lanes, scalar });
        }
    }
    land(&mut pads, &mut inside, &mut from_bus, u64::MAX);
}

/// Let everything land that is written before a cycle, in the order of time.
fn land<'a>(
    [engines, scalar]: &mut [Pads<'a>; 2],
    inside: &mut VecDeque<Write<'a>>,
    from_bus: &mut Peekable<impl Iterator<Item = Write<'a>>>,
    before: u64,
) {
    loop {
        let next = |write: Option<&Write<'_>>| write.map_or(u64::MAX, |write| write.cycle);
        let (own, bus) = (next(inside.front()), next(from_bus.peek()));
        if own.min(bus) >= before {
            return;
        }
        let write = if own <= bus { inside.pop_front() } else { from_bus.next() };
        let write = write.expect("it is there");
        if write.lanes.is_some() {
            engines.write(&write, write.lanes);
        } else if bus < own {
            // Its address stands at all PEs, whoever takes the word.
            engines.take_port(write.word.0, write.cycle);
        }
        if write.scalar {
            scalar.write(&write, None);
        }
    }
}
