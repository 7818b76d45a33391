//! The index space of a contraction: which integers the index variables can be.
//!
//! ```text
//! O[i] >= I[2*i + j],  j < 2        0 <= i < 2    0 <= 2i + j < 5    0 <= j < 2
//!   box by interval propagation     i in 0..2, j in 0..2
//! ```
//!
//! Where intervals alone find no bound (`0 <= i+j < 3`, `0 <= i-j < 3`), the other variables are eliminated (Fourier-Motzkin).

use std::collections::BTreeMap;

/// Numbers in conditions stay below this, so that no sum of products overflows.
pub(super) const LARGEST: i128 = 1 << 30;
/// Conditions beyond which elimination gives up.
const MOST: usize = 2000;

/// `offset + sum(coefficient * variable)`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Form {
    pub(super) offset: i128,
    pub(super) terms: BTreeMap<usize, i128>,
}

impl Form {
    /// One variable.
    pub(super) fn variable(variable: usize) -> Form {
        Form { offset: 0, terms: BTreeMap::from([(variable, 1)]) }
    }

    /// A constant.
    pub(super) fn constant(offset: i128) -> Form {
        Form { offset, terms: BTreeMap::new() }
    }

    /// `factor * self + other_factor * other`
    pub(super) fn combined(&self, factor: i128, other_factor: i128, other: &Form) -> Form {
        let mut result = Form::constant(factor * self.offset + other_factor * other.offset);
        for (&variable, &coefficient) in &self.terms {
            *result.terms.entry(variable).or_insert(0) += factor * coefficient;
        }
        for (&variable, &coefficient) in &other.terms {
            *result.terms.entry(variable).or_insert(0) += other_factor * coefficient;
        }
        result.terms.retain(|_, coefficient| *coefficient != 0);
        result
    }

    /// Whether it stays within what can be added and multiplied safely.
    pub(super) fn is_small(&self) -> bool {
        self.offset.abs() <= LARGEST && self.terms.values().all(|coefficient| coefficient.abs() <= LARGEST)
    }

    /// Smallest and largest value over a box; `None` on a side that is not bounded. `skip` counts as 0.
    fn range(&self, known: &[Bounds], skip: Option<usize>) -> Bounds {
        let mut sum = (Some(self.offset), Some(self.offset));
        for (&variable, &c) in self.terms.iter().filter(|(variable, _)| Some(**variable) != skip) {
            let (low, high) = known[variable];
            let (low, high) = if c > 0 { (low, high) } else { (high, low) };
            sum.0 = sum.0.zip(low).map(|(sum, value)| sum + c * value);
            sum.1 = sum.1.zip(high).map(|(sum, value)| sum + c * value);
        }
        sum
    }

    /// Smallest and largest value over a bounded box.
    pub(super) fn extremes(&self, ranges: &[(i128, i128)]) -> (i128, i128) {
        let known: Vec<Bounds> = ranges.iter().map(|&(low, high)| (Some(low), Some(high))).collect();
        let (low, high) = self.range(&known, None);
        (low.unwrap_or(i128::MIN), high.unwrap_or(i128::MAX))
    }
}

/// Smallest and largest value, inclusive.
type Bounds = (Option<i128>, Option<i128>);

/// `0 <= form < bound`
pub(super) type Condition = (Form, i128);

/// What the variables can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Space {
    /// Inclusive ranges.
    Box(Vec<(i128, i128)>),
    Empty,
    /// This variable has no bound.
    Unbounded(usize),
}

/// The smallest box that intervals (and elimination, where needed) find.
pub(super) fn bound(variables: usize, conditions: &[Condition]) -> Space {
    let mut known: Vec<Bounds> = vec![(None, None); variables];
    for (form, bound) in conditions {
        if form.terms.is_empty() && !(0..*bound).contains(&form.offset) {
            return Space::Empty;
        }
    }
    propagate(&mut known, conditions);
    for variable in 0..variables {
        if known[variable].0.is_none() || known[variable].1.is_none() {
            let (low, high) = eliminate(variable, variables, conditions);
            let near = |value: &i128| value.abs() <= LARGEST;
            known[variable] = (known[variable].0.or(low.filter(near)), known[variable].1.or(high.filter(near)));
            propagate(&mut known, conditions);
        }
    }
    let mut ranges = Vec::new();
    for (variable, bounds) in known.into_iter().enumerate() {
        match bounds {
            (Some(low), Some(high)) if low <= high => ranges.push((low, high)),
            (Some(_), Some(_)) => return Space::Empty,
            _ => return Space::Unbounded(variable),
        }
    }
    Space::Box(ranges)
}

/// Tighten until nothing changes much; a box that is too large is no error, guards cut it.
fn propagate(known: &mut [Bounds], conditions: &[Condition]) {
    for _ in 0..2 * known.len() + 8 {
        let mut changed = false;
        for (form, bound) in conditions {
            for (&variable, &c) in &form.terms {
                let (low, high) = form.range(known, Some(variable));
                // 0 <= c * v + rest <= bound - 1
                let least = high.map(|high| -high);
                let most = low.map(|low| bound - 1 - low);
                let (new_low, new_high) = if c > 0 {
                    (least.map(|least| ceiling(least, c)), most.map(|most| most.div_euclid(c)))
                } else {
                    (most.map(|most| ceiling(-most, -c)), least.map(|least| (-least).div_euclid(-c)))
                };
                let near = |value: &i128| value.abs() <= LARGEST;
                let (new_low, new_high) = (new_low.filter(near), new_high.filter(near));
                let (old_low, old_high) = known[variable];
                let low = old_low.into_iter().chain(new_low).max();
                let high = old_high.into_iter().chain(new_high).min();
                if (low, high) != (old_low, old_high) {
                    known[variable] = (low, high);
                    changed = true;
                }
                if low.zip(high).is_some_and(|(low, high)| low > high) {
                    return;
                }
            }
        }
        if !changed {
            return;
        }
    }
}

fn ceiling(a: i128, b: i128) -> i128 {
    -(-a).div_euclid(b)
}

/// Bounds of one variable after all others are eliminated.
fn eliminate(target: usize, variables: usize, conditions: &[Condition]) -> Bounds {
    // form >= 0
    let mut rows: Vec<Form> = Vec::new();
    for (form, bound) in conditions {
        rows.push(form.clone());
        rows.push(Form::constant(bound - 1).combined(1, -1, form));
    }
    for variable in (0..variables).filter(|&variable| variable != target) {
        let coefficient = |row: &Form| row.terms.get(&variable).copied().unwrap_or(0);
        let (with, mut rest): (Vec<Form>, Vec<Form>) = rows.into_iter().partition(|row| coefficient(row) != 0);
        for positive in with.iter().filter(|row| coefficient(row) > 0) {
            for negative in with.iter().filter(|row| coefficient(row) < 0) {
                let row = positive.combined(-coefficient(negative), coefficient(positive), negative);
                let divisor = row.terms.values().fold(0, |divisor, &c| gcd(divisor, c.abs())).max(1);
                let terms = row.terms.iter().map(|(&variable, &c)| (variable, c / divisor)).collect();
                let row = Form { offset: row.offset.div_euclid(divisor), terms };
                if !rest.contains(&row) && row.is_small() {
                    rest.push(row);
                }
                if rest.len() > MOST {
                    return (None, None);
                }
            }
        }
        rows = rest;
    }
    let mut bounds = (None, None);
    for row in rows {
        match row.terms.get(&target) {
            Some(&c) if c > 0 => bounds.0 = bounds.0.into_iter().chain([ceiling(-row.offset, c)]).max(),
            Some(&c) => bounds.1 = bounds.1.into_iter().chain([row.offset.div_euclid(-c)]).min(),
            None => {}
        }
    }
    bounds
}

pub(super) fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{Form, Space, bound};

    fn form(terms: &[(usize, i128)], offset: i128) -> Form {
        Form { offset, terms: terms.iter().copied().collect() }
    }

    #[test]
    fn intervals_and_elimination() {
        // O[i], I[2i + j], j < 2
        let pool = [(form(&[(0, 1)], 0), 2), (form(&[(0, 2), (1, 1)], 0), 5), (form(&[(1, 1)], 0), 2)];
        assert_eq!(bound(2, &pool), Space::Box(vec![(0, 1), (0, 1)]));
        // I[i + j], J[i - j]: elimination bounds i, intervals then j; the box may be larger than the points in it
        let cross = [(form(&[(0, 1), (1, 1)], 0), 3), (form(&[(0, 1), (1, -1)], 0), 3)];
        assert_eq!(bound(2, &cross), Space::Box(vec![(0, 2), (-2, 2)]));
        assert_eq!(bound(2, &cross[1..]), Space::Unbounded(0));
        assert_eq!(bound(1, &[(form(&[(0, 1)], 0), 2), (form(&[(0, 1)], -5), 2)]), Space::Empty);
    }
}
