//! Nests with conditions on their iterators become nests over boxes.

use super::indices::writes_each_once;
use crate::tensor::{Affine, Guard, IterId, Nest, Program};

/// Pieces that one nest may become.
const PIECES: usize = 64;

/// Split free iterators until every condition holds everywhere or nowhere in a piece.
///
///     o[i] = sum[j](a[i+j-1])   i in 0..5, j in 0..3, where 0 <= i+j-1 < 5
///     =>  o[0] = sum[j](a[j-1]) j in 1..3;   o[i] = sum[j](a[i+j-1]) i in 1..4, j in 0..3;   o[4] = ... j in 0..2
///
/// A sum stays one sum: its iterators get other bounds in each piece, and are never split. What would need that, or more than 64
/// pieces, keeps its conditions, for [`super::indices::conditions`].
pub fn split_boxes(program: &Program) -> Program {
    let mut result = program.clone();
    result.nests = program
        .nests
        .iter()
        .flat_map(|nest| {
            let whole = || vec![nest.clone()];
            if nest.guards.is_empty() || !writes_each_once(nest) { whole() } else { pieces(nest).unwrap_or_else(whole) }
        })
        .collect();
    result
}

fn pieces(nest: &Nest) -> Option<Vec<Nest>> {
    let mut done = Vec::new();
    let mut open = vec![nest.clone()];
    while let Some(mut piece) = open.pop() {
        if !tighten(&mut piece) {
            continue;
        }
        let Some(guard) = piece.guards.first() else {
            done.push(piece);
            continue;
        };
        // The free iterator that leaves the fewest values outside the part where the condition always holds.
        let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
        let free = value.terms.iter().filter(|t| t.0.0 < piece.free && piece.iterators[t.0.0].extent() > 1);
        let (iterator, inside) = free
            .map(|&(iterator, coefficient)| (iterator, always(&piece, guard, iterator, coefficient)))
            .min_by_key(|(iterator, inside)| piece.iterators[iterator.0].extent() as i64 - (inside.1 - inside.0))?;
        let whole = &piece.iterators[iterator.0];
        let mut parts: Vec<(i64, i64)> = (whole.low..inside.0).map(|v| (v, v + 1)).collect();
        if inside.0 < inside.1 {
            parts.push(inside);
        }
        parts.extend((inside.1.max(inside.0)..whole.high).map(|v| (v, v + 1)));
        if parts.len() + open.len() + done.len() > PIECES {
            return None;
        }
        for &(low, high) in parts.iter().rev() {
            let mut part = piece.clone();
            (part.iterators[iterator.0].low, part.iterators[iterator.0].high) = (low, high);
            open.push(part);
        }
    }
    Some(done)
}

/// Use conditions on single iterators as bounds and drop those that always hold; false if there is no point left.
fn tighten(nest: &mut Nest) -> bool {
    loop {
        let mut changed = false;
        for number in 0..nest.guards.len() {
            let (value, bound) = match &nest.guards[number] {
                Guard::Within { value, bound } => (value.clone(), *bound),
                Guard::Zero { value } => (value.clone(), 1),
            };
            let (low, high) = value.range(&nest.iterators);
            if high < 0 || low >= bound {
                return false;
            }
            if low >= 0 && high < bound {
                nest.guards.remove(number);
                changed = true;
                break;
            }
            // Iterators with one value are constants.
            let varying: Vec<(IterId, i64)> =
                value.terms.iter().copied().filter(|t| nest.iterators[t.0.0].extent() > 1).collect();
            if let [(iterator, coefficient)] = varying[..] {
                let point: Vec<i64> = nest.iterators.iter().map(|i| i.low).collect();
                let rest = value.at(&point) - coefficient * point[iterator.0];
                // 0 <= rest + coefficient * i < bound
                let (first, last) = interval(rest, coefficient, bound);
                let range = &mut nest.iterators[iterator.0];
                (range.low, range.high) = (range.low.max(first), range.high.min(last + 1));
                if range.low >= range.high {
                    return false;
                }
                nest.guards.remove(number);
                changed = true;
                break;
            }
        }
        if !changed {
            return nest.iterators.iter().all(|iterator| iterator.low < iterator.high);
        }
    }
}

/// First and last `i` with `0 <= rest + coefficient * i < bound`.
fn interval(rest: i64, coefficient: i64, bound: i64) -> (i64, i64) {
    let down = |a: i64, b: i64| a.div_euclid(b);
    let up = |a: i64, b: i64| -((-a).div_euclid(b));
    if coefficient > 0 {
        (up(-rest, coefficient), down(bound - 1 - rest, coefficient))
    } else {
        (up(rest - bound + 1, -coefficient), down(rest, -coefficient))
    }
}

/// The values of an iterator for which a condition holds whatever the others are, half-open; empty as `(low, low)`.
fn always(nest: &Nest, guard: &Guard, iterator: IterId, coefficient: i64) -> (i64, i64) {
    let whole = &nest.iterators[iterator.0];
    let (value, bound) = match guard {
        Guard::Within { value, bound } => (value, *bound),
        Guard::Zero { .. } => return (whole.low, whole.low),
    };
    let (low, high) = value.plus(-coefficient, &Affine::iterator(iterator)).range(&nest.iterators);
    let (from, to) = (interval(low, coefficient, bound), interval(high, coefficient, bound));
    let inside = (whole.low.max(from.0).max(to.0), whole.high.min(from.1.min(to.1) + 1));
    if inside.0 < inside.1 { inside } else { (whole.low, whole.low) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_exact() {
        for coefficient in [-3, -2, -1, 1, 2, 3] {
            for rest in -7..8 {
                for bound in 1..6 {
                    let found = interval(rest, coefficient, bound);
                    for i in -20..20 {
                        let holds = (0..bound).contains(&(rest + coefficient * i));
                        assert_eq!(holds, found.0 <= i && i <= found.1, "{coefficient} {rest} {bound} {i}");
                    }
                }
            }
        }
    }
}
