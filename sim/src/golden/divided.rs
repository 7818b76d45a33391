//! A Nest on several ranks: each evaluates some of its elements, every one as a single rank would, and hears of the others.
//!
//! ```text
//! rank 0    elements 0 .. 7  ─┐                  ┌─▶ all 16, and their range
//! rank 1    elements 8 .. 15 ─┴─▶ bits of f64s ──┴─▶ the same
//! ```
//!
//! No sum is divided, so nothing is added in another order.

use super::Store;
use super::plan::{Form, Plan};
use super::run::Seen;
use crate::train::engine::EngineError;
use crate::train::ranks::{Communicator, part};

/// Operations from which on it pays: about a tenth of a millisecond.
pub const WORTH: i64 = 1 << 17;

/// So many operations for each element take longer than to send it.
const PER_ELEMENT: i64 = 32;

impl Plan {
    /// Evaluate the Nest, each rank some of its elements if it takes `least` operations or more; smallest and largest number that was written.
    pub(super) fn run_on(
        &mut self,
        stores: &mut [Store],
        all: &dyn Communicator,
        least: i64,
    ) -> Result<(f64, f64), EngineError> {
        let rows = (self.points() / self.chain()) as usize;
        if !self.is_divided(stores, least) || rows < 2 || all.ranks() < 2 {
            return self.whole(stores);
        }
        let own = part(rows, all.rank(), all.ranks());
        let points = own.start as i64 * self.chain()..own.end as i64 * self.chain();
        let failed = self.evaluate::<false>(stores, points).is_err();
        // Each has words of its own, to which the others add 0. Behind them: how many have met a fault.
        let places = self.places(rows);
        let row = places.len() / rows;
        let own = own.start * row..own.end * row;
        let mut words = vec![0; places.len() + 1];
        for (word, &at) in words[own.clone()].iter_mut().zip(&places[own]) {
            *word = stores[self.out].values[at].to_bits();
        }
        words[places.len()] = u64::from(failed);
        all.add(&mut words)?;
        if words[places.len()] > 0 {
            // Of several faults, the first one is told.
            return self.whole(stores);
        }
        let mut range = Seen::nothing();
        for (&at, &word) in places.iter().zip(&words) {
            let value = f64::from_bits(word);
            stores[self.out].put(at, value, true);
            range.include(value);
        }
        stores[self.out].settle();
        Ok((range.low, range.high))
    }

    /// Where the elements of these rows are, in the order in which they are written.
    fn places(&self, rows: usize) -> Vec<usize> {
        let Form { first, strides } = &self.forms[self.out_form];
        let inner = self.extents.len() - 1;
        // Without a reduction the inner loop is the last one of the free ones, and a row has many elements.
        let (outer, elements) = if self.reduces { (self.free, 1) } else { (inner, self.extents[inner]) };
        let mut places = Vec::with_capacity(rows * elements as usize);
        for row in 0..rows as i64 {
            let mut rest = row;
            let mut at = *first;
            for (&stride, &extent) in strides[..outer].iter().zip(&self.extents[..outer]).rev() {
                at += stride * (rest % extent);
                rest /= extent;
            }
            places.extend((0..elements).map(|n| (at + strides[inner] * n) as usize));
        }
        places
    }

    fn whole(&mut self, stores: &mut [Store]) -> Result<(f64, f64), EngineError> {
        self.run(stores).map_err(|diagnostic| EngineError::Stuck(diagnostic.message))
    }

    /// Whether ranks share it: all of it is written, each element once, and nothing of it is read.
    fn is_divided(&self, stores: &[Store], least: i64) -> bool {
        let operations = self.extents.iter().product::<i64>() * self.code.len() as i64;
        let per_element = operations / self.extents[..self.free].iter().product::<i64>().max(1);
        operations >= least
            && per_element >= PER_ELEMENT.min(least)
            && self.guards.is_empty()
            && !self.reads.contains(&self.out)
            && !self.takes_logarithms()
            && !self.is_careful(stores)
            && self.writes_once()
    }

    /// Whether no two points of the free iterators write the same element: each stride is longer than all that the smaller ones reach.
    fn writes_once(&self) -> bool {
        let strides = &self.forms[self.out_form].strides;
        let mut free: Vec<(i64, i64)> = (0..self.free).map(|n| (strides[n].abs(), self.extents[n] - 1)).collect();
        free.retain(|&(_, steps)| steps > 0);
        free.sort_unstable();
        let mut reach = 0;
        free.iter().all(|&(stride, steps)| {
            let farther = stride > reach;
            reach += stride * steps;
            farther
        })
    }
}
