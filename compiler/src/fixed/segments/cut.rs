//! Where a program is cut: of the longest segment that fits and some that end not much earlier the one whose points take the fewest cycles each; where
//! that takes much longer than it had to, or nothing fits, blocks of operations are tried, too.

use super::blocks::Blocks;
use super::{Part, Segment};
use crate::fixed::{Program, Role, for_each_access};
use std::iter;
use std::ops::Range;

/// Cycles of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycles {
    /// Those that it takes.
    pub taken: u64,
    /// What multiply-adds and words in and out take at least.
    pub least: u64,
}

/// What comes of a segment behind those that are there, and its cycles; or why it does not fit.
pub(super) type Fits<'a, T, E> = dyn FnMut(&[(Segment, T)], &Segment) -> Fit<T, E> + 'a;
/// The same of one place.
type FitsHere<'a, T, E> = dyn FnMut(&Segment) -> Fit<T, E> + 'a;
/// What comes of a segment and its cycles, or why it does not fit.
type Fit<T, E> = Result<(T, Cycles), E>;

/// How many times as long as it had to a segment takes before blocks are tried.
const SLOW: f64 = 1.5;
/// Smaller blocks that are tried where those that fit are slow.
const SMALLER_BLOCKS: u32 = 1;
/// Ends before the last one that fits that are tried: those at which the fewest words are kept.
const EARLIER_ENDS: usize = 3;

/// Some segments behind those that are there.
struct Way<T> {
    /// The operation before which they end.
    end: usize,
    segments: Vec<(Segment, T)>,
    cycles: Cycles,
}

impl<T> Way<T> {
    fn is_slow(&self) -> bool {
        self.cycles.taken as f64 > SLOW * self.cycles.least as f64
    }

    /// Cycles of a point.
    fn cost(&self) -> f64 {
        let of_part = |part: &Part| part.loops.iter().map(|l| (l.end - l.start) as f64).product::<f64>();
        let parts = self.segments.iter().flat_map(|(segment, _)| &segment.parts);
        self.cycles.taken as f64 / parts.map(of_part).sum::<f64>()
    }

    /// The cheaper one.
    fn or(self, other: Option<Way<T>>) -> Way<T> {
        match other {
            Some(other) if other.cost() < self.cost() => other,
            _ => self,
        }
    }
}

/// Cut a program into segments that fit.
///
/// # Errors
/// What `fits` says of operations that write one tensor, do not fit alone and cannot be divided.
///
/// # Panics
/// When the program passes a state from record to record.
pub fn cut<T, E>(program: &Program, fits: &mut Fits<'_, T, E>) -> Result<Vec<(Segment, T)>, E> {
    assert!(super::super::state_between_records(program).is_none(), "records of a stream follow one another");
    let (ends, mut done, mut from) = (ends(program), Vec::new(), 0);
    while from < program.operations.len() {
        let behind: Vec<usize> = ends.iter().copied().filter(|&end| end > from).collect();
        let way = match longest(program, from, &behind, &mut |segment| fits(&done, segment)) {
            // What fits as a whole is not cut.
            Ok(way) if !way.is_slow() || from == 0 && way.end == program.operations.len() => way,
            Ok(way) => way.or(divided(program, from, &behind, &mut |segment| fits(&done, segment))),
            Err(refusal) => divided(program, from, &behind, &mut |segment| fits(&done, segment)).ok_or(refusal)?,
        };
        done.extend(way.segments);
        from = way.end;
    }
    Ok(done)
}

/// Where segments may end: nowhere among the writers of a tensor.
fn ends(program: &Program) -> Vec<usize> {
    let mut writers: Vec<Option<Range<usize>>> = vec![None; program.tensors.len()];
    for (number, operation) in program.operations.iter().enumerate() {
        let known = &mut writers[operation.out.0];
        *known = Some(known.as_ref().map_or(number, |known| known.start)..number);
    }
    let mut free = vec![true; program.operations.len() + 1];
    for writers in writers.into_iter().flatten() {
        // An end at `n` is before operation `n`.
        free[writers.start + 1..=writers.end].fill(false);
    }
    (1..free.len()).filter(|&end| free[end]).collect()
}

/// Words that are computed before an operation and read from it on.
fn kept(program: &Program, end: usize) -> u64 {
    let (before, behind) = program.operations.split_at(end);
    let mut written = vec![false; program.tensors.len()];
    for operation in before {
        written[operation.out.0] = true;
    }
    let mut read = vec![false; program.tensors.len()];
    for operation in behind {
        for_each_access(operation, |tensor, _, writes| read[tensor.0] |= !writes);
    }
    let is_kept = |&number: &usize| written[number] && read[number] && program.tensors[number].role != Role::State;
    let words = |number: usize| program.tensors[number].shape.iter().map(|&extent| u64::from(extent)).product::<u64>();
    (0..program.tensors.len()).filter(is_kept).map(words).sum()
}

fn segment(program: &Program, operations: Range<usize>) -> Segment {
    Segment::new(program, operations.map(|operation| Part::whole(program, operation)).collect())
}

/// The segment from an operation on that ends latest, or not much earlier if that is cheaper.
fn longest<T, E>(program: &Program, from: usize, ends: &[usize], fits: &mut FitsHere<'_, T, E>) -> Result<Way<T>, E> {
    let mut to = |end: usize| {
        let segment = segment(program, from..end);
        fits(&segment).map(|(found, cycles)| Way { end, segments: vec![(segment, found)], cycles })
    };
    let last = ends.len() - 1;
    if let Ok(all) = to(ends[last]) {
        return Ok(all);
    }
    let (mut best, mut fitting, mut beyond) = (to(ends[0])?, 0, last);
    while fitting + 1 < beyond {
        let middle = usize::midpoint(fitting, beyond);
        match to(ends[middle]) {
            Ok(found) => (best, fitting) = (found, middle),
            Err(_) => beyond = middle,
        }
    }
    let near = ends[..fitting].iter().rev().take_while(|&&end| 2 * (end - from) >= best.end - from);
    let mut near: Vec<usize> = near.copied().collect();
    near.sort_by_key(|&end| kept(program, end));
    Ok(near.into_iter().take(EARLIER_ENDS).fold(best, |best, end| best.or(to(end).ok())))
}

/// Operations from one on in as few blocks as fit, or in smaller ones if these are cheaper.
fn divided<T, E>(program: &Program, from: usize, ends: &[usize], fits: &mut FitsHere<'_, T, E>) -> Option<Way<T>> {
    // Before the most work there may be copies of what it reads.
    let groups = ends.iter().take(2).map(|&end| from..end);
    let mut most: Vec<usize> =
        groups.filter_map(|group| group.max_by_key(|&number| program.operations[number].points())).collect();
    most.dedup();
    let shape = |number: usize| &program.tensors[program.operations[number].out.0].shape;
    let elements = |number: usize| shape(number).iter().map(|&extent| u64::from(extent)).product::<u64>();
    let all = most.iter().map(|&number| elements(number)).max()?;
    let counts =
        iter::successors(Some(2u32), |count| count.checked_mul(2)).take_while(|&count| u64::from(count) <= all);
    let mut best: Option<Way<T>> = None;
    let mut smaller = 0;
    for count in counts {
        let of = |&number: &usize| {
            let out = program.operations[number].out;
            let followed = move |blocks: Blocks| blocks.followed(program, out, from, ends);
            Blocks::of(shape(number), count).flat_map(followed).filter(move |(end, _)| number < *end)
        };
        let ways = most.iter().flat_map(of);
        best = match (best, in_blocks(program, from, ways, fits)) {
            (Some(best), other) => Some(best.or(other)),
            (None, first) => first,
        };
        if let Some(best) = &best {
            if smaller == SMALLER_BLOCKS || !best.is_slow() {
                break;
            }
            smaller += 1;
        }
    }
    best
}

/// The way whose points are cheapest, by its first block, of those that fit.
fn in_blocks<T, E>(
    program: &Program,
    from: usize,
    ways: impl Iterator<Item = (usize, Blocks)>,
    fits: &mut FitsHere<'_, T, E>,
) -> Option<Way<T>> {
    let mut first = |(end, blocks): (usize, Blocks)| {
        let segment = blocks.segment(program, from..end, 0)?;
        let (found, cycles) = fits(&segment).ok()?;
        Some((Way { end, segments: vec![(segment, found)], cycles }.cost(), end, blocks))
    };
    let mut firsts: Vec<(f64, usize, Blocks)> = ways.filter_map(&mut first).collect();
    firsts.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    firsts.into_iter().find_map(|(_, end, blocks)| {
        let mut cycles = Cycles { taken: 0, least: 0 };
        let segments = (0..blocks.count()).filter_map(|number| blocks.segment(program, from..end, number));
        let found = segments.map(|segment| {
            let (found, own) = fits(&segment).ok()?;
            cycles = Cycles { taken: cycles.taken + own.taken, least: cycles.least + own.least };
            Some((segment, found))
        });
        found.collect::<Option<Vec<(Segment, T)>>>().map(|segments| Way { end, segments, cycles })
    })
}
