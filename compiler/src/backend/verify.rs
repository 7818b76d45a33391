//! The laws of a schedule, checked by replaying the image. Breaking one is our bug, so the verifier panics.
//!
//! 1. No write port, root or bus is used twice in a cycle.
//! 2. Every root beat meets the sum of exactly one alu beat, every move beat the result of exactly one root beat, and
//!    every sum and every result is used.
//! 3. No PE reads a word in the cycle in which it is written.
//! 4. Words are read and written in program order: a beat sees what all jobs before its own wrote, and nothing of the jobs after.
//! 5. Beats of a routine end before the step does, and everything has landed by then.

use arch::image::Image;
use arch::isa::{Address, AluInstruction, Factor, LEVELS, Pad, Start, pad_bits};
use arch::machine::Machine;
use arch::timing::{self, Unit};
use std::collections::{BTreeMap, HashSet};

/// Steps longer than this are verified by their first iterations only: the rules repeat with the loops.
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

/// Replay the step of an image and check the laws of the module head.
///
/// # Panics
/// When a law is broken.
pub fn verify(image: &Image) {
    let machine = &image.machine;
    let mut cycles: BTreeMap<u64, Cycle> = BTreeMap::new();
    let mut end = 0;
    let beats = |counts: &[u32; LEVELS]| counts.iter().map(|&n| u64::from(n)).product::<u64>();
    let step = image.alu.iter().take_while(|i| !i.emit);
    let total: u64 = step.clone().map(|i| beats(&i.counts)).sum();
    if total > REPLAYED_BEATS {
        return;
    }
    let mut words = Words::default();
    let mut now = 0;
    for (job, instruction) in step.clone().enumerate() {
        now += u64::from(instruction.delay);
        let count = beats(&instruction.counts);
        for beat in 0..count {
            let t = now + beat * u64::from(instruction.interval);
            let counters = point(&instruction.counts, beat);
            let summed = LEVELS - instruction.reduce as usize;
            let last = (summed..LEVELS).all(|l| counters[l] + 1 == instruction.counts[l]);
            for pad in reads(instruction) {
                let at = word(machine, pad, &instruction.reads[pad as usize], &counters);
                cycles.entry(t).or_default().reads.push((pad, at));
                words.touch((pad, at), t, job, false);
            }
            if let (Some(pad), true) = (instruction.write, last) {
                let at = word(machine, pad, &instruction.destination, &counters);
                cycles.entry(t + timing::ALU_WRITE).or_default().writes.push((pad, at));
                words.touch((pad, at), t + timing::ALU_WRITE, job, true);
                end = end.max(t + timing::ALU_TO_ALU);
            }
            if instruction.tree && last {
                cycles.entry(t + timing::alu_to_root(machine, Unit::Row)).or_default().row_sums += 1;
                cycles.entry(t + timing::alu_to_root(machine, Unit::Global)).or_default().global_sums += 1;
            }
            end = end.max(t + 3);
        }
        now += (count - 1) * u64::from(instruction.interval) + 1;
    }
    let mut now = 0;
    for instruction in &image.root {
        now += u64::from(instruction.delay);
        for beat in 0..u64::from(instruction.count) {
            let t = now + beat * u64::from(instruction.interval);
            cycles.entry(t).or_default().roots.push(instruction.unit);
            let result = t + timing::root_to_move(instruction.unit, instruction.function.is_some());
            let cycle = cycles.entry(result).or_default();
            match instruction.unit {
                Unit::Row => cycle.row_results += 1,
                Unit::Global => cycle.global_results += 1,
            }
            end = end.max(t + 3);
        }
        now += u64::from(instruction.count - 1) * u64::from(instruction.interval) + 1;
    }
    let mut now = 0;
    let senders = step.enumerate().filter(|(_, i)| i.tree).map(|(job, _)| job);
    for (job, instruction) in senders.zip(&image.moves) {
        now += u64::from(instruction.delay);
        let count = beats(&instruction.counts);
        for beat in 0..count {
            let t = now + beat * u64::from(instruction.interval);
            let counters = point(&instruction.counts, beat);
            let at = word(machine, instruction.pad, &instruction.destination, &counters);
            let cycle = cycles.entry(t).or_default();
            cycle.moves.push(instruction.source);
            cycle.writes.push((instruction.pad, at));
            words.touch((instruction.pad, at), t, job, true);
            end = end.max(t + 3);
        }
        now += (count - 1) * u64::from(instruction.interval) + 1;
    }
    check(&cycles);
    words.check();
    assert!(
        end <= u64::from(image.step_length),
        "the step is {} cycles long, but its beats need {end}",
        image.step_length
    );
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
