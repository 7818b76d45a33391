//! Ranges of index variables, inferred from where they are used.
//!
//! ```text
//! O(i) +=! I(i+k) * W(k)      I: [0,5)  W: [0,3)
//!   round 1   k in [0,3)      from W(k)
//!   round 2   i in [0,3)      from 0 <= i+k < 5 for every k
//! ```
//!
//! Every affine index of an access is a constraint `low <= index < high`. In each round, a variable that is the only unknown of some constraint
//! gets the largest range that satisfies all such constraints for all values of the known ones.

use crate::tensor::Affine;
use arch::Span;

/// `low <= index < high`, from an access.
#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub(super) index: Affine,
    pub(super) low: i64,
    pub(super) high: i64,
    /// The access.
    pub(super) span: Span,
    /// Whether it stands under a condition: it takes part in the inference, but need not hold for every value.
    pub(super) guarded: bool,
}

/// A half-open range.
pub(super) type Range = (i64, i64);

/// Why there are no ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The constraints on this variable leave no value.
    Empty { variable: usize, range: Range, span: Span },
    /// These variables cannot be inferred.
    Unknown(Vec<usize>),
}

/// Ranges of all variables, given those that the program states; and the round in which each was found (0: stated).
pub(super) fn infer(stated: &[Option<Range>], constraints: &[Constraint]) -> Result<(Vec<Range>, Vec<usize>), Failure> {
    let mut known = stated.to_vec();
    let mut rounds = vec![0; known.len()];
    for round in 1.. {
        if known.iter().all(Option::is_some) {
            break;
        }
        let mut found: Vec<Option<(i128, i128, Span)>> = vec![None; known.len()];
        for constraint in constraints {
            let mut unknown = constraint.index.terms.iter().filter(|(variable, _)| known[variable.0].is_none());
            let (Some(&(variable, coefficient)), None) = (unknown.next(), unknown.next()) else { continue };
            let (low, high) = interval(constraint, coefficient, &known);
            let entry = &mut found[variable.0];
            *entry = Some(match *entry {
                Some((before_low, before_high, span)) => (low.max(before_low), high.min(before_high), span),
                None => (low, high, constraint.span),
            });
        }
        let mut progress = false;
        for (variable, found) in found.into_iter().enumerate() {
            let Some((low, high, span)) = found else { continue };
            let clamp = |value: i128| value.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64;
            let range = (clamp(low), clamp(high));
            if low >= high {
                return Err(Failure::Empty { variable, range, span });
            }
            known[variable] = Some(range);
            rounds[variable] = round;
            progress = true;
        }
        if !progress {
            return Err(Failure::Unknown((0..known.len()).filter(|&variable| known[variable].is_none()).collect()));
        }
    }
    Ok((known.into_iter().flatten().collect(), rounds))
}

/// The range of one index variable and where it comes from: what `--explain-ranges` shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The variable.
    pub variable: String,
    /// The statement's target.
    pub target: String,
    /// First value.
    pub low: i64,
    /// One past the last value.
    pub high: i64,
    /// Round of the inference, from 1; 0 where the program states the range.
    pub round: usize,
    /// Where the variable stands in the statement.
    pub span: Span,
    /// Accesses in which it was the only unknown, with the range that each leaves to it.
    pub because: Vec<(Span, i64, i64)>,
}

/// Why a variable has the range that [`infer`] found.
pub(super) fn reasons(
    variable: usize,
    ranges: &[Range],
    rounds: &[usize],
    constraints: &[Constraint],
) -> Vec<(Span, i64, i64)> {
    let earlier: Vec<Option<Range>> =
        ranges.iter().zip(rounds).map(|(&range, &round)| (round < rounds[variable]).then_some(range)).collect();
    let mut found = Vec::new();
    for constraint in constraints {
        let mut unknown = constraint.index.terms.iter().filter(|(v, _)| earlier[v.0].is_none());
        if let (Some(&(only, coefficient)), None) = (unknown.next(), unknown.next())
            && only.0 == variable
        {
            let (low, high) = interval(constraint, coefficient, &earlier);
            found.push((constraint.span, low as i64, high as i64));
        }
    }
    found
}

/// The values of the one unknown variable (with `coefficient`) that satisfy a constraint for all values of the others.
fn interval(constraint: &Constraint, coefficient: i64, known: &[Option<Range>]) -> (i128, i128) {
    let (rest_low, rest_high) = extremes(&constraint.index, known);
    let (low, high) = (i128::from(constraint.low) - rest_low, i128::from(constraint.high) - 1 - rest_high);
    let c = i128::from(coefficient);
    // low <= c * v <= high
    if c > 0 {
        (-(-low).div_euclid(c), high.div_euclid(c) + 1)
    } else {
        (-high.div_euclid(-c), (-low).div_euclid(-c) + 1)
    }
}

/// Smallest and largest value of a form over the known variables; unknown ones count as 0.
pub(super) fn extremes(index: &Affine, known: &[Option<Range>]) -> (i128, i128) {
    let mut sum = (i128::from(index.offset), i128::from(index.offset));
    for &(variable, coefficient) in &index.terms {
        let Some((low, high)) = known[variable.0] else { continue };
        let (a, b) = (i128::from(coefficient) * i128::from(low), i128::from(coefficient) * (i128::from(high) - 1));
        sum = (sum.0 + a.min(b), sum.1 + a.max(b));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{Constraint, Failure, infer};
    use crate::tensor::{Affine, IterId};
    use arch::Span;

    fn within(terms: &[(usize, i64)], offset: i64, high: i64) -> Constraint {
        let terms = terms.iter().map(|&(variable, coefficient)| (IterId(variable), coefficient)).collect();
        Constraint { index: Affine { offset, terms }, low: 0, high, span: Span::default(), guarded: false }
    }

    #[test]
    fn the_examples_of_the_language() {
        // O(i) +=! I(i+k) * W(k)
        assert_eq!(
            infer(&[None, None], &[within(&[(0, 1), (1, 1)], 0, 5), within(&[(1, 1)], 0, 3)]),
            Ok((vec![(0, 3), (0, 3)], vec![2, 1]))
        );
        // A(2*i), A(2*i) + A(2*i+1), B(10-i), A(i) + B(i)
        assert_eq!(infer(&[None], &[within(&[(0, 2)], 0, 5)]), Ok((vec![(0, 3)], vec![1])));
        assert_eq!(infer(&[None], &[within(&[(0, 2)], 0, 5), within(&[(0, 2)], 1, 5)]), Ok((vec![(0, 2)], vec![1])));
        assert_eq!(infer(&[None], &[within(&[(0, -1)], 10, 4)]), Ok((vec![(7, 11)], vec![1])));
        assert_eq!(infer(&[None], &[within(&[(0, 1)], 0, 3), within(&[(0, 1)], 0, 2)]), Ok((vec![(0, 2)], vec![1])));
        // I(10+i-j, i+j)
        let sum = [within(&[(0, 1), (1, -1)], 10, 9), within(&[(0, 1), (1, 1)], 0, 9)];
        assert_eq!(infer(&[None, None], &sum), Err(Failure::Unknown(vec![0, 1])));
    }

    #[test]
    fn nothing_left_is_an_error() {
        let found = infer(&[None], &[within(&[(0, 1)], 0, 2), within(&[(0, 1)], -5, 2)]);
        assert!(matches!(found, Err(Failure::Empty { variable: 0, .. })));
    }
}
