//! Gradient pads: a word belongs to one sum of the step, and is there when the next tile reads it (law 8).

use super::{Beat, Broken, is_last};
use arch::isa::{LEVELS, Tiles, gradient_bits};
use arch::machine::Machine;
use arch::timing;

/// The sum that a word of the gradient pad belongs to (instruction of the step, and its loops that are not summed over), and the
/// cycle from which on the next tile may read it.
type Parked = (u32, [u32; LEVELS], u64);

/// The gradient pads.
pub(super) struct Gradients<'a> {
    broken: &'a Broken,
    words: Vec<Option<Parked>>,
    /// Instructions of a step.
    step: u32,
    /// Cycles from a parked sum's last beat to one that resumes it.
    resumes: u64,
}

impl<'a> Gradients<'a> {
    pub(super) fn new(machine: &Machine, step: u32, broken: &'a Broken) -> Gradients<'a> {
        let resumes = timing::park_to_park(machine);
        Gradients { broken, words: vec![None; 1 << gradient_bits(machine)], step, resumes }
    }

    pub(super) fn beat(&mut self, &Beat { cycle: t, job, instruction, counters, .. }: &Beat<'_>) {
        let counters = &counters;
        let Tiles::Park(address) = instruction.tiles else { return };
        let summed = LEVELS - instruction.reduce as usize;
        let mut sum = *counters;
        sum[summed..].fill(0);
        for (&stride, &count) in address.strides[summed..].iter().zip(&instruction.counts[summed..]) {
            let stays = stride == 0 || count == 1;
            self.broken.unless(stays, 8, || format!("instruction {job} changes the gradient word inside a sum"));
        }
        let offset: i64 = address.strides.iter().zip(counters).map(|(&s, &k)| i64::from(s) * i64::from(k)).sum();
        let at = (i64::from(address.base) + offset).rem_euclid(self.words.len() as i64) as usize;
        let (number, own) = (job % self.step, counters[summed..].iter().all(|&k| k == 0));
        match &mut self.words[at] {
            Some((owner, theirs, readable)) => {
                let same = (number, sum) == (*owner, *theirs);
                self.broken.unless(same, 8, || format!("cycle {t}: gradient[{at}] belongs to another sum"));
                let there = job < self.step || !own || t >= *readable;
                let words = || format!("cycle {t}: instruction {job} reads gradient[{at}] before cycle {readable}");
                self.broken.unless(there, 8, words);
            }
            free => *free = Some((number, sum, 0)),
        }
        if is_last(instruction, counters) {
            self.words[at] = Some((number, sum, t + self.resumes));
        }
    }
}
