//! Where a program is cut: as few segments as fit, and of ends that are near each other the one at which fewest words have to be kept.

use super::blocks::Blocks;
use super::{Part, Segment};
use crate::fixed::{Program, Role, for_each_access};
use std::iter;
use std::ops::Range;

/// What comes of a segment behind those that are there, and its cycles; or why it does not fit.
pub(super) type Fits<'a, T, E> = dyn FnMut(&[(Segment, T)], &Segment) -> Fit<T, E> + 'a;
/// The same of one place.
type FitsHere<'a, T, E> = dyn FnMut(&Segment) -> Fit<T, E> + 'a;
/// What comes of a segment and its cycles, or why it does not fit.
type Fit<T, E> = Result<(T, u64), E>;

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
        match longest(program, from, &behind, &mut |segment| fits(&done, segment)) {
            Ok((to, segment, found)) => {
                done.push((segment, found));
                from = to;
            }
            Err(refusal) => {
                let blocks = divided(program, from, &behind, &mut |segment| fits(&done, segment));
                let (to, blocks) = blocks.ok_or(refusal)?;
                done.extend(blocks);
                from = to;
            }
        }
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

/// The segment from an operation on that ends latest, or not much earlier where fewer words are kept.
fn longest<T, E>(
    program: &Program,
    from: usize,
    ends: &[usize],
    fits: &mut FitsHere<'_, T, E>,
) -> Result<(usize, Segment, T), E> {
    let mut to = |end: usize| {
        let segment = segment(program, from..end);
        fits(&segment).map(|(found, _)| (end, segment, found))
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
    let near = ends[..=fitting].iter().rev().take_while(|&&end| 2 * (end - from) >= best.0 - from);
    let fewest = near.copied().min_by_key(|&end| kept(program, end)).unwrap_or(best.0);
    Ok(if fewest == best.0 { best } else { to(fewest).unwrap_or(best) })
}

/// Operations from one on in as few blocks as fit, and before which operation they end: as many operations as follow from a block of the first.
fn divided<T, E>(
    program: &Program,
    from: usize,
    ends: &[usize],
    fits: &mut FitsHere<'_, T, E>,
) -> Option<(usize, Vec<(Segment, T)>)> {
    let shape = &program.tensors[program.operations[from].out.0].shape;
    let all: u64 = shape.iter().map(|&extent| u64::from(extent)).product();
    let counts =
        iter::successors(Some(2u32), |count| count.checked_mul(2)).take_while(|&count| u64::from(count) <= all);
    for count in counts {
        let ways: Vec<(usize, Blocks)> =
            Blocks::of(shape, count).flat_map(|blocks| blocks.followed(program, from, ends)).collect();
        let mut cost = |(end, blocks): &(usize, Blocks)| {
            let operations = (from..*end).len() as f64;
            fits(&blocks.segment(program, from..*end, 0)?).ok().map(|(_, cycles)| cycles as f64 / operations)
        };
        let mut costs: Vec<(f64, &(usize, Blocks))> = ways.iter().filter_map(|way| Some((cost(way)?, way))).collect();
        costs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for (_, (end, blocks)) in costs {
            let segments = (0..blocks.count()).filter_map(|number| blocks.segment(program, from..*end, number));
            let found = segments.map(|segment| fits(&segment).ok().map(|(found, _)| (segment, found)));
            if let Some(found) = found.collect() {
                return Some((*end, found));
            }
        }
    }
    None
}
