//! Traces: which words an access touches, and when, without counting them one by one.
//!
//!     for i in 0..49 { for j in 0..25 { word 7 + 25 i + j } }      =>      word 7 + k in cycle k, k in 0..1225
//!
//! A trace is a box: `word = base + sum(stride * k)`, touched in `cycle = time + sum(slope * k)`, `0 <= k < count` for each
//! dimension, where no word has two `k`. What two jobs have to do with each other follows from their boxes, in a time that does
//! not depend on how many words there are.

use crate::jobs::job::{Access, Job};

/// One dimension of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    /// Words from step to step, positive.
    stride: i64,
    count: i64,
    /// Cycles from step to step.
    slope: i64,
}

impl Dimension {
    fn span(&self) -> i64 {
        self.stride * (self.count - 1)
    }
}

/// A box of words, each of which is touched in a cycle of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    base: i64,
    time: i64,
    /// The stride of each is larger than the span of all that follow.
    dimensions: Vec<Dimension>,
}

/// Which touch of a word counts, where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    First,
    Last,
}

impl Trace {
    /// The words of an access of a job that starts in cycle 0: the box that holds them all, or several where loops overlap.
    pub(crate) fn of(job: &Job, access: &Access, touch: Touch) -> Vec<Trace> {
        let whole: Vec<(u32, u32)> = job.loops.iter().map(|&count| (0, count)).collect();
        Trace::of_part(job, access, touch, &whole)
    }

    /// The same for a part of each loop: from which counter on, and how many of them.
    pub(crate) fn of_part(job: &Job, access: &Access, touch: Touch, part: &[(u32, u32)]) -> Vec<Trace> {
        let mut trace = Trace { base: access.offset, time: 0, dimensions: Vec::new() };
        let mut slope = i64::from(job.interval);
        for ((&loop_count, &(from, count)), &stride) in job.loops.iter().zip(part).zip(&access.strides).rev() {
            let last = i64::from(count) - 1;
            trace.base += stride * i64::from(from);
            trace.time += slope * i64::from(from);
            if stride == 0 {
                trace.time += if touch == Touch::Last { slope * last } else { 0 };
            } else if last > 0 {
                let (stride, up) = if stride > 0 { (stride, slope) } else { (-stride, -slope) };
                if up < 0 {
                    trace.base -= stride * last;
                    trace.time += slope * last;
                }
                trace.dimensions.push(Dimension { stride, count: last + 1, slope: up });
            }
            slope *= i64::from(loop_count);
        }
        trace.dimensions.sort_by_key(|dimension| std::cmp::Reverse(dimension.stride));
        let mut boxes = Vec::new();
        trace.separate(&mut boxes);
        boxes
    }

    /// Count the steps of dimensions that overlap others one by one.
    ///
    ///     word i + k, k in 0..3      =>      word i;  word i + 1;  word i + 2
    fn separate(mut self, boxes: &mut Vec<Trace>) {
        let mut span = 0;
        for at in (0..self.dimensions.len()).rev() {
            if self.dimensions[at].stride <= span {
                let fewest = (at..self.dimensions.len()).min_by_key(|&d| self.dimensions[d].count).unwrap_or(at);
                let Dimension { stride, count, slope } = self.dimensions.remove(fewest);
                for step in 0..count {
                    let (base, time) = (self.base + stride * step, self.time + slope * step);
                    Trace { base, time, dimensions: self.dimensions.clone() }.separate(boxes);
                }
                return;
            }
            span += self.dimensions[at].span();
        }
        // What walks straight on is one dimension.
        for outer in (1..self.dimensions.len()).rev().map(|inner| inner - 1) {
            let (out, inner) = (self.dimensions[outer], self.dimensions[outer + 1]);
            if out.stride == inner.stride * inner.count && out.slope == inner.slope * inner.count {
                self.dimensions[outer] = Dimension { count: inner.count * out.count, ..inner };
                self.dimensions.remove(outer + 1);
            }
        }
        boxes.push(self);
    }

    /// The same, `cycles` later.
    pub(crate) fn later(mut self, cycles: u64) -> Trace {
        self.time += cycles as i64;
        self
    }

    /// Whether the same words are touched, all the same number of cycles earlier or later.
    pub(crate) fn is_shifted(&self, other: &Trace) -> bool {
        self.base == other.base && self.dimensions == other.dimensions
    }

    /// Of this and a [shifted](Trace::is_shifted) one, keep the one that counts.
    pub(crate) fn keep(&mut self, other: &Trace, touch: Touch) {
        self.time = if touch == Touch::Last { self.time.max(other.time) } else { self.time.min(other.time) };
    }

    /// The largest difference, over the words that are in both, of the cycles in which they are touched: `self` minus `other`.
    pub(crate) fn behind(&self, other: &Trace) -> Option<i64> {
        let shift = other.base - self.base;
        if shift > span(&self.dimensions) || shift + span(&other.dimensions) < 0 {
            return None;
        }
        let turned: Vec<Dimension> = other.dimensions.iter().map(|d| Dimension { slope: -d.slope, ..*d }).collect();
        meet(shift, &self.dimensions, &turned).map(|largest| largest + self.time - other.time)
    }
}

/// The largest difference over several boxes on both sides.
pub(crate) fn behind(these: &[Trace], those: &[Trace]) -> Option<i64> {
    these.iter().flat_map(|this| those.iter().filter_map(|that| this.behind(that))).max()
}

/// The larger of `least` and the largest difference. What has been scheduled last, which decides, is last of `these`: with it most
/// of the others need no more than a look at their times.
pub(crate) fn behind_or(these: &[Trace], those: &[Trace], mut least: i64) -> i64 {
    let first: Vec<i64> = those.iter().map(|that| that.time + ends(&that.dimensions).0).collect();
    for this in these.iter().rev() {
        let last = this.time + ends(&this.dimensions).1;
        for (that, &first) in those.iter().zip(&first) {
            if last - first > least {
                least = this.behind(that).map_or(least, |cycles| cycles.max(least));
            }
        }
    }
    least
}

/// The earliest and the latest cycle of a box, from its time.
fn ends(dimensions: &[Dimension]) -> (i64, i64) {
    let way = |d: &Dimension| d.slope * (d.count - 1);
    (dimensions.iter().map(|d| way(d).min(0)).sum(), dimensions.iter().map(|d| way(d).max(0)).sum())
}

fn span(dimensions: &[Dimension]) -> i64 {
    dimensions.iter().map(Dimension::span).sum()
}

/// The largest sum of both times, over the common words of two boxes that begin `shift` words apart (the second after the first).
fn meet(shift: i64, first: &[Dimension], second: &[Dimension]) -> Option<i64> {
    let reach = (span(first), span(second));
    if shift > reach.0 || shift + reach.1 < 0 {
        return None;
    }
    let (Some(a), Some(b)) = (first.first(), second.first()) else {
        return if first.is_empty() { at(-shift, second) } else { at(shift, first) };
    };
    if a.stride < b.stride {
        return meet(-shift, second, first);
    }
    if a.stride == b.stride {
        return meet_alike(shift, first, second);
    }
    let single = |rest: &[Dimension]| -> Vec<Dimension> {
        let outer = Dimension { stride: a.stride, count: 1, slope: 0 };
        std::iter::once(outer).chain(rest.iter().copied()).collect()
    };
    if reach.1 < a.stride {
        // All of the second lies within one step of the first.
        return meet_alike(shift, first, &single(second));
    }
    if a.stride % b.stride == 0 {
        // Whole rounds of the second, and what is left of it.
        let round = a.stride / b.stride;
        let (rounds, rest) = (b.count / round, b.count % round);
        let mut whole = vec![
            Dimension { stride: a.stride, count: rounds, slope: b.slope * round },
            Dimension { count: round, ..*b },
        ];
        whole.extend(&second[1..]);
        let mut left = vec![Dimension { count: rest, ..*b }];
        left.extend(&second[1..]);
        let whole = if rounds > 0 { meet_alike(shift, first, &whole) } else { None };
        let done = rounds * round;
        let left = (rest > 0).then(|| meet(shift + b.stride * done, first, &left)).flatten();
        return whole.max(left.map(|largest| largest + b.slope * done));
    }
    // Neither is a part of the other's steps: one step of the first after the other, where they can meet.
    let inner = span(&first[1..]);
    let from = ((shift - inner).max(0) + a.stride - 1).div_euclid(a.stride);
    let to = (shift + reach.1).div_euclid(a.stride).min(a.count - 1);
    (from..=to).filter_map(|step| Some(meet(shift - a.stride * step, &first[1..], second)? + a.slope * step)).max()
}

/// [`meet`] of two boxes whose outermost strides are equal.
fn meet_alike(shift: i64, first: &[Dimension], second: &[Dimension]) -> Option<i64> {
    let (a, b) = (first[0], second[0]);
    let (steps, rest) = (shift.div_euclid(a.stride), shift.rem_euclid(a.stride));
    // The inner boxes are shorter than a step, so their words are equal for these distances only.
    let both = [(steps, rest), (steps + 1, rest - a.stride)];
    let candidates = if rest == 0 { &both[..1] } else { &both[..] };
    let largest = candidates.iter().filter_map(|&(apart, shift)| {
        let (from, to) = (apart.max(0), a.count.min(b.count + apart) - 1);
        if from > to {
            return None;
        }
        let inner = meet(shift, &first[1..], &second[1..])?;
        let outer = |step: i64| a.slope * step + b.slope * (step - apart);
        Some(inner + outer(from).max(outer(to)))
    });
    largest.max()
}

/// The time of one word of a box.
fn at(word: i64, dimensions: &[Dimension]) -> Option<i64> {
    let (mut rest, mut time) = (word, 0);
    for dimension in dimensions {
        let step = (rest.div_euclid(dimension.stride)).clamp(0, dimension.count - 1);
        rest -= step * dimension.stride;
        time += step * dimension.slope;
    }
    (rest == 0).then_some(time)
}

/// Cycles in which something happens at a steady pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) first: u64,
    pub(crate) step: u64,
    pub(crate) count: u64,
}

impl Pace {
    pub(crate) fn later(self, by: u64) -> Pace {
        Pace { first: self.first + by, ..self }
    }

    fn last(self) -> u64 {
        self.first + (self.count - 1) * self.step
    }

    /// What of it is not before a cycle, counted from that cycle.
    pub(crate) fn from(self, cycle: u64) -> Option<Pace> {
        let gone = cycle.saturating_sub(self.first).div_ceil(self.step);
        (gone < self.count).then(|| Pace {
            first: self.first + gone * self.step - cycle,
            count: self.count - gone,
            ..self
        })
    }

    /// By how many cycles to shift it, at least, for it to meet `other`, which it meets, no more; where neither is dense, one cycle, to
    /// try again.
    pub(crate) fn until_behind(self, other: Pace) -> u64 {
        let behind = other.last() + 1 - self.first;
        if other.step == 1 && other.count < self.step {
            // The next of its cycles that lies in the other's run goes behind that run; the one before stays in front of it.
            let ahead = other.first.saturating_sub(self.first).div_ceil(self.step) * self.step;
            return other.last() + 1 - (self.first + ahead);
        }
        if self.step == 1 && self.count < other.step {
            // Its run goes behind the last cycle that it meets; there is room before the next one.
            let last = self.last().min(other.last());
            let met = (last - other.first) / other.step * other.step + other.first;
            return met + 1 - self.first;
        }
        if self.step == 1 || other.step == 1 { behind } else { 1 }
    }

    /// Whether a cycle is in both.
    pub(crate) fn meets(self, other: Pace) -> bool {
        let (from, to) = (self.first.max(other.first), self.last().min(other.last()));
        if from > to {
            return false;
        }
        // The slower one has at most as many cycles to try as the faster one has steps before they repeat.
        let (slow, fast) = if self.step >= other.step { (self, other) } else { (other, self) };
        let start = slow.first + from.saturating_sub(slow.first).div_ceil(slow.step) * slow.step;
        (0..fast.step)
            .map(|n| start + n * slow.step)
            .take_while(|&cycle| cycle <= to)
            .any(|cycle| (cycle - fast.first).is_multiple_of(fast.step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::StorageId;
    use crate::jobs::job::Sink;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use std::collections::BTreeMap;

    /// No shift is left out, and a dense run is passed in one step.
    #[test]
    fn shifts_behind_are_the_smallest() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut pace = |step: u64| Pace {
            first: u64::from(random.next_u32() % 40),
            step,
            count: 1 + u64::from(random.next_u32() % 12),
        };
        let mut met = 0;
        for n in 0..20_000 {
            let steps = [(1, 1), (1, 2 + n % 15), (2 + n % 15, 1), (2 + n % 5, 2 + n % 7)][n as usize % 4];
            let (one, other) = (pace(steps.0), pace(steps.1));
            if !one.meets(other) {
                continue;
            }
            met += 1;
            let smallest = (1..10_000).find(|&by| !one.later(by).meets(other)).expect("there is an end");
            let found = one.until_behind(other);
            if steps.0 == 1 || steps.1 == 1 {
                assert_eq!(found, smallest, "{one:?} {other:?}");
            } else {
                assert_eq!(found, 1);
            }
        }
        assert!(met > 5000, "{met}");
    }

    fn access(offset: i64, strides: &[i64]) -> Access {
        Access { storage: StorageId(0), offset, strides: strides.to_vec() }
    }

    fn job(loops: &[u32], interval: u32, access: &Access) -> Job {
        let copy = Job::copy(arch::Origin::default(), String::new(), loops.to_vec(), access.clone(), Sink::Output);
        Job { interval, ..copy }
    }

    /// Word by word.
    fn counted(job: &Job, access: &Access, touch: Touch) -> BTreeMap<i64, i64> {
        let mut times = BTreeMap::new();
        for number in 0..job.beats() as i64 {
            let (mut word, mut rest) = (access.offset, number);
            for (&count, stride) in job.loops.iter().zip(&access.strides).rev() {
                word += stride * (rest % i64::from(count));
                rest /= i64::from(count);
            }
            let time = number * i64::from(job.interval);
            let known = times.entry(word).or_insert(time);
            *known = if touch == Touch::First { time.min(*known) } else { time.max(*known) };
        }
        times
    }

    struct Dice(ChaCha8Rng);

    impl Dice {
        fn below(&mut self, n: u32) -> u32 {
            self.0.next_u32() % n
        }

        /// Loops with strides, of which many are nested as real ones are.
        fn walk(&mut self) -> (Job, Access) {
            let count = self.below(5);
            let mut loops = Vec::new();
            let mut strides = Vec::new();
            for _ in 0..count {
                loops.push(1 + self.below(5));
                let any = i64::from(self.below(32)) - 7;
                strides.push([0, 1, -1, 2, 5, 10, 20, any][self.below(8) as usize]);
            }
            let access = access(i64::from(self.below(40)), &strides);
            (job(&loops, 1 + self.below(3), &access), access)
        }

        fn pace(&mut self) -> Pace {
            let mut up_to = |n| u64::from(self.below(n));
            Pace { first: up_to(30), step: 1 + up_to(6), count: 1 + up_to(11) }
        }
    }

    #[test]
    fn boxes_know_what_counting_finds() {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(5));
        let mut met = 0;
        for _ in 0..20_000 {
            let ((one, ours), (other, theirs)) = (dice.walk(), dice.walk());
            let (last, first) = (counted(&one, &ours, Touch::Last), counted(&other, &theirs, Touch::First));
            let found = behind(&Trace::of(&one, &ours, Touch::Last), &Trace::of(&other, &theirs, Touch::First));
            let expected = last.iter().filter_map(|(word, time)| Some(time - first.get(word)?)).max();
            assert_eq!(found, expected, "{:?} {ours:?} {:?} {theirs:?}", one.loops, other.loops);
            met += u32::from(found.is_some());
        }
        assert!((5_000..18_000).contains(&met), "{met} of 20000 meet");
    }

    #[test]
    fn paces_know_what_counting_finds() {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(6));
        let cycles = |p: Pace| (0..p.count).map(|n| p.first + n * p.step).collect::<Vec<u64>>();
        for _ in 0..20_000 {
            let (a, b, cut) = (dice.pace(), dice.pace(), u64::from(dice.below(60)));
            assert_eq!(a.meets(b), cycles(a).iter().any(|cycle| cycles(b).contains(cycle)), "{a:?} {b:?}");
            let left: Vec<u64> = cycles(a).into_iter().filter(|&c| c >= cut).map(|c| c - cut).collect();
            assert_eq!(a.from(cut).map(cycles).unwrap_or_default(), left, "{a:?} from {cut}");
        }
    }

    /// A box of a million words meets another one at once.
    #[test]
    fn large_boxes_are_not_counted() {
        let (weights, bias) = (access(0, &[1000, 1]), access(1, &[1000, 1]));
        let all = job(&[1000, 1000], 1, &weights);
        let most = job(&[1000, 999], 2, &bias);
        let [trace] = &Trace::of(&all, &weights, Touch::Last)[..] else { panic!("one box") };
        assert_eq!(trace.dimensions.len(), 1);
        let behind = trace.behind(&Trace::of(&most, &bias, Touch::First)[0]);
        assert_eq!(behind, Some(1), "word 1: in cycle 1 and in cycle 0");
    }
}
