//! The laws of a schedule, checked by replaying the image. Breaking one is our bug, so the verifier panics.
//!
//! 1. No write port, root or bus is used twice in a cycle.
//! 2. Every root beat meets the sum of exactly one alu beat, every move beat the result of exactly one root beat, and
//!    every sum and every result is used.
//! 3. No PE reads a word in the cycle in which it is written.
//! 4. Words are read and written in program order: a beat sees what all jobs before its own wrote, and nothing of the jobs after.
//! 5. A root begins a quotient only when it has finished the one before.
//! 6. All streams are idle, and have fetched their first instruction again, when the next step starts.
//!
//! Two steps are replayed, the second one as soon as the first one's length allows: what the first has still on its way
//! must not trouble the second.

use arch::image::Image;
use arch::isa::{Address, AluInstruction, Factor, LEVELS, Pad, RootFunction, Start, pad_bits};
use arch::machine::Machine;
use arch::timing::{self, Unit};
use std::collections::{BTreeMap, HashSet};

/// Steps with more beats than this are not replayed: that would take longer than to compile them.
const REPLAYED_BEATS: u64 = 200_000;

fn point(counts: &[u32; LEVELS], beat: u64) -> [u32; LEVELS] {
    let mut counters = [0; LEVELS];
    let mut rest = beat;
    for level in (0..LEVELS).rev() {
        counters[level] = (rest % u64::from(counts[level])) as u32;
        rest /= u64::from(counts[level]);
    }
    counters
}

fn word(machine: &Machine, pad: Pad, address: &Address, counters: &[u32; LEVELS]) -> i64 {
    let offset: i64 = address.strides.iter().zip(counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
    (i64::from(address.base) + offset).rem_euclid(1 << pad_bits(machine, pad))
}

fn reads(instruction: &AluInstruction) -> Vec<Pad> {
    let mut pads = Vec::new();
    // A product with the constant 0 reads nothing that matters.
    if instruction.b != Factor::Immediate || instruction.immediate_b != 0 {
        pads.push(instruction.a);
    }
    if let Factor::Pad(pad) = instruction.b {
        pads.push(pad);
    }
    if let Start::Pad(pad) = instruction.c {
        pads.push(pad);
    }
    pads
}

/// What happens in one cycle.
#[derive(Default)]
struct Cycle {
    reads: Vec<(Pad, i64)>,
    writes: Vec<(Pad, i64)>,
    row_sums: u32,
    roots: Vec<Unit>,
    global_sums: u32,
    moves: Vec<Unit>,
    row_results: u32,
    global_results: u32,
}

/// One touch of a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch {
    cycle: u64,
    /// Number of the alu instruction.
    job: usize,
    write: bool,
}

/// All touches of every word (lanes are not told apart).
#[derive(Default)]
struct Words(BTreeMap<(Pad, i64), Vec<Touch>>);

impl Words {
    fn touch(&mut self, word: (Pad, i64), cycle: u64, job: usize, write: bool) {
        self.0.entry(word).or_default().push(Touch { cycle, job, write });
    }

    fn check(mut self) {
        for ((pad, at), touches) in &mut self.0 {
            touches.sort_unstable();
            let mut latest = 0;
            for touch in touches.iter() {
                if touch.write {
                    latest = latest.max(touch.job);
                } else {
                    let Touch { cycle, job, .. } = touch;
                    assert!(
                        latest <= *job,
                        "cycle {cycle}: instruction {job} reads {pad}[{at}] after instruction {latest} wrote it"
                    );
                }
            }
            let mut earliest = usize::MAX;
            for touch in touches.iter().rev() {
                if touch.write {
                    earliest = earliest.min(touch.job);
                } else {
                    let Touch { cycle, job, .. } = touch;
                    assert!(
                        earliest >= *job,
                        "cycle {cycle}: instruction {job} reads {pad}[{at}] before instruction {earliest} has written it"
                    );
                }
            }
        }
    }
}

fn beats(counts: &[u32; LEVELS]) -> u64 {
    counts.iter().map(|&n| u64::from(n)).product()
}

/// Everything that happens, cycle by cycle and word by word.
#[derive(Default)]
struct Replay {
    cycles: BTreeMap<u64, Cycle>,
    words: Words,
    /// Root beats that divide, in order.
    quotients: Vec<(Unit, u64)>,
    /// First cycle in which all streams are ready to start again.
    idle: u64,
}

impl Replay {
    /// One step that begins in cycle `from`; its instructions are numbered from `job`.
    fn step(&mut self, image: &Image, from: u64, job: usize) {
        let machine = &image.machine;
        let step = image.alu.iter().take_while(|i| !i.emit);
        let mut now = from;
        for (number, instruction) in step.clone().enumerate() {
            now += u64::from(instruction.delay);
            for beat in 0..beats(&instruction.counts) {
                let t = now + beat * u64::from(instruction.interval);
                self.alu_beat(machine, instruction, &point(&instruction.counts, beat), t, job + number);
            }
            now += (beats(&instruction.counts) - 1) * u64::from(instruction.interval) + 1;
        }
        let mut now = from;
        for instruction in &image.root {
            now += u64::from(instruction.delay);
            for beat in 0..u64::from(instruction.count) {
                let t = now + beat * u64::from(instruction.interval);
                self.at(t).roots.push(instruction.unit);
                let result = t + timing::root_result(machine, instruction.unit, instruction.function.as_ref());
                if matches!(instruction.function, Some(RootFunction::Divide(_))) {
                    self.quotients.push((instruction.unit, t));
                }
                match instruction.unit {
                    Unit::Row => self.at(result).row_results += 1,
                    Unit::Global => self.at(result).global_results += 1,
                }
                self.idle = self.idle.max(t + 3);
            }
            now += u64::from(instruction.count - 1) * u64::from(instruction.interval) + 1;
        }
        let mut now = from;
        let senders = step.enumerate().filter(|(_, i)| i.tree).map(|(number, _)| job + number);
        for (job, instruction) in senders.zip(&image.moves) {
            now += u64::from(instruction.delay);
            for beat in 0..beats(&instruction.counts) {
                let t = now + beat * u64::from(instruction.interval);
                let counters = point(&instruction.counts, beat);
                let at = word(machine, instruction.pad, &instruction.destination, &counters);
                self.at(t).moves.push(instruction.source);
                self.at(t).writes.push((instruction.pad, at));
                self.words.touch((instruction.pad, at), t, job, true);
                self.idle = self.idle.max(t + 3);
            }
            now += (beats(&instruction.counts) - 1) * u64::from(instruction.interval) + 1;
        }
    }

    fn alu_beat(
        &mut self,
        machine: &Machine,
        instruction: &AluInstruction,
        counters: &[u32; LEVELS],
        t: u64,
        job: usize,
    ) {
        let summed = LEVELS - instruction.reduce as usize;
        let last = (summed..LEVELS).all(|l| counters[l] + 1 == instruction.counts[l]);
        for pad in reads(instruction) {
            let at = word(machine, pad, &instruction.reads[pad as usize], counters);
            self.at(t).reads.push((pad, at));
            self.words.touch((pad, at), t, job, false);
        }
        if let (Some(pad), true) = (instruction.write, last) {
            let at = word(machine, pad, &instruction.destination, counters);
            self.at(t + timing::ALU_WRITE).writes.push((pad, at));
            self.words.touch((pad, at), t + timing::ALU_WRITE, job, true);
        }
        if instruction.tree && last {
            self.at(t + timing::alu_to_root(machine, Unit::Row)).row_sums += 1;
            self.at(t + timing::alu_to_root(machine, Unit::Global)).global_sums += 1;
        }
        self.idle = self.idle.max(t + 3);
    }

    fn at(&mut self, cycle: u64) -> &mut Cycle {
        self.cycles.entry(cycle).or_default()
    }
}

/// Replay two steps of an image and check the laws of the module head.
///
/// # Panics
/// When a law is broken.
pub fn verify(image: &Image) {
    let step = image.alu.iter().take_while(|i| !i.emit);
    if step.clone().map(|i| beats(&i.counts)).sum::<u64>() > REPLAYED_BEATS {
        return;
    }
    let length = u64::from(image.step_length);
    let mut replay = Replay::default();
    replay.step(image, 0, 0);
    let idle = replay.idle;
    assert!(idle <= length, "the step is {length} cycles long, but its streams are busy for {idle}");
    replay.step(image, length, step.count());
    check(&replay.cycles);
    check_quotients(&replay.quotients, timing::division_interval(&image.machine));
    replay.words.check();
}

fn check_quotients(beats: &[(Unit, u64)], interval: u64) {
    for unit in [Unit::Row, Unit::Global] {
        let cycles: Vec<u64> = beats.iter().filter(|beat| beat.0 == unit).map(|beat| beat.1).collect();
        for pair in cycles.windows(2) {
            assert!(pair[1] >= pair[0] + interval, "cycle {}: the divider is busy since {}", pair[1], pair[0]);
        }
    }
}

fn check(cycles: &BTreeMap<u64, Cycle>) {
    // Sums appear at both trees; those the roots take are counted once over the whole step.
    let (mut sums, mut taken, mut results, mut moved) = (0, 0, 0, 0);
    for (t, cycle) in cycles {
        let mut ports = HashSet::new();
        for &(pad, at) in &cycle.writes {
            assert!(ports.insert(pad), "cycle {t}: two writes of {pad:?}");
            assert!(!cycle.reads.contains(&(pad, at)), "cycle {t}: {pad:?}[{at}] is read while it is written");
        }
        assert!(cycle.roots.len() <= 1, "cycle {t}: two root beats");
        assert!(cycle.moves.len() <= 1, "cycle {t}: two move beats");
        for unit in &cycle.roots {
            let present = if *unit == Unit::Row { cycle.row_sums } else { cycle.global_sums };
            assert_eq!(present, 1, "cycle {t}: a root beat needs one sum");
        }
        for unit in &cycle.moves {
            let present = if *unit == Unit::Row { cycle.row_results } else { cycle.global_results };
            assert_eq!(present, 1, "cycle {t}: a move beat needs one result");
        }
        sums += cycle.row_sums;
        taken += cycle.roots.len() as u32;
        results += cycle.row_results + cycle.global_results;
        moved += cycle.moves.len() as u32;
    }
    assert_eq!(sums, taken, "every sum is taken by a root beat");
    assert_eq!(results, moved, "every root result is taken by a move beat");
}
