//! Sums with conditions, many side by side: a convolution at the border of its input has an inner loop of few taps, but long rows of results.
//!
//! ```text
//! for y, x:  for k:  if 0 <= x+k-1 < n:  s[y][x] += w[k] * a[y][x+k-1]
//!
//!     becomes     for y:  for k:  for x in 1-k..n+1-k:  s[y][x] += w[k] * a[y][x+k-1]
//! ```
//!
//! Each sum adds the same values in the same order.

use super::arithmetic::Operation;
use super::plan::{Beginning, Plan, Step};
use super::run::Seen;
use super::{Fault, Store};
use compiler::tensor::{Aggregate, Binary, Unary};
use std::ops::Range;

impl Plan {
    /// Whether the last free loop is better the inner one, and nothing but the order of the loops changes.
    pub(super) fn gains_by_columns(&self) -> bool {
        let Some(column) = self.free.checked_sub(1).filter(|_| self.reduces) else { return false };
        let is_plain = |step: &Step| match step {
            Step::Constant | Step::Iterator { .. } | Step::Read { .. } => true,
            Step::Apply(operation, _) => matches!(
                operation,
                Operation::Binary(Binary::Add | Binary::Sub | Binary::Mul) | Operation::Unary(Unary::Neg)
            ),
            Step::Gather { .. } => false,
        };
        self.extents.last().is_some_and(|&inner| inner < self.extents[column])
            && self.aggregate == Aggregate::Add
            && !self.guards.is_empty()
            && self.limits.is_none()
            && matches!(self.start, Beginning::Value(_))
            && self.forms[self.out_form].strides[column] != 0
            && !self.reads.contains(&self.out)
            && self.code.iter().all(is_plain)
    }

    /// Let the last free loop be the inner one.
    pub(super) fn turn_to_columns(&mut self) {
        self.free -= 1;
        let column = self.free;
        self.extents[column..].rotate_left(1);
        for form in &mut self.forms {
            form.strides[column..].rotate_left(1);
        }
        self.columns = true;
    }

    /// Evaluate some points of the outer loops, whole rows of elements.
    pub(super) fn evaluate_columns<const CAREFUL: bool>(
        &mut self,
        stores: &mut [Store],
        points: Range<i64>,
    ) -> Result<Seen, Fault> {
        let mut range = Seen::nothing();
        let mut point = self.begin(points.start);
        let inner = self.extents.len() - 1;
        let stride = self.forms[self.out_form].strides[inner];
        let (chain, root) = (self.chain(), (self.code.len() - 1) * self.block);
        let mut totals = Vec::new();
        for number in points {
            if number % chain == 0 {
                totals.clear();
                totals.resize(self.extents[inner] as usize, self.beginning(stores));
            }
            let (mut first, end) = self.existing();
            while first < end {
                let count = (end - first).min(self.block as i64) as usize;
                self.body::<CAREFUL>(stores, first, count, 0)?;
                let values = self.values[root..].iter().zip(&self.defined[root..]);
                for (total, (value, defined)) in totals[first as usize..][..count].iter_mut().zip(values) {
                    total.value += value;
                    total.defined &= !CAREFUL || *defined;
                    total.points += 1;
                }
                first += count as i64;
            }
            if number % chain == chain - 1 {
                for (at, total) in totals.iter().enumerate().filter(|(_, total)| total.points > 0) {
                    let at = self.at[self.out_form] + stride * at as i64;
                    self.put(stores, at as usize, total, &mut range)?;
                }
            }
            self.advance(&mut point);
        }
        Ok(range)
    }
}
