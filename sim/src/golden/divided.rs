//! A Nest on several ranks: each evaluates some of its elements, every one as a single rank would, and hears of the others.
//!
//! ```text
//! rank 0    elements 0 .. 7  ─┐                  ┌─▶ all 16, and their range
//! rank 1    elements 8 .. 15 ─┴─▶ bits of f64s ──┴─▶ the same
//! ```
//!
//! Which elements have no value is told beside them. No sum is divided, so nothing is added in another order.

use super::Store;
use super::arithmetic::Operation;
use super::plan::{Form, Plan, Step};
use super::run::Seen;
use crate::train::engine::EngineError;
use crate::train::ranks::{Communicator, part};

/// Operations from which on it pays: about a tenth of a millisecond.
pub const WORTH: i64 = 1 << 17;

/// So many operations for each element take longer than to send it.
const PER_ELEMENT: i64 = 16;

/// Operations that a function is worth, and how many times as long it takes where elements may have no value.
const FUNCTION: i64 = 24;
const CAREFUL: i64 = 4;

/// How many times faster a Nest in vectors is, which a rank with some of its elements does not have.
const FAST: i64 = 16;

/// Words in front of a rank's elements, and flags in a word behind them.
const FRONT: usize = 3;
const FLAGS: usize = 64;

impl Plan {
    /// Evaluate the Nest, each rank some of its elements if it takes `least` operations or more; smallest and largest number that was written.
    pub(super) fn run_on(
        &mut self,
        stores: &mut [Store],
        all: &dyn Communicator,
        least: i64,
    ) -> Result<(f64, f64), EngineError> {
        let rows = (self.points() / self.chain()) as usize;
        let careful = self.is_careful(stores);
        if rows < 2 || all.ranks() < 2 || !self.is_divided(careful, least) {
            return self.whole(stores);
        }
        let rank = all.rank();
        let own = part(rows, rank, all.ranks());
        let points = own.start as i64 * self.chain()..own.end as i64 * self.chain();
        let seen = if careful { self.evaluate::<true>(stores, points) } else { self.evaluate::<false>(stores, points) };
        let places = self.places.take().unwrap_or_else(|| self.all_places(rows));
        let of_row = places.len() / rows;
        let elements = |rank| {
            let rows = part(rows, rank, all.ranks());
            rows.start * of_row..rows.end * of_row
        };
        // In front of the elements whether there was a fault, and their range; behind them which have no value, a bit each.
        let flags = |count: usize| if careful { count.div_ceil(FLAGS) } else { 0 };
        let counts: Vec<usize> = (0..all.ranks()).map(|rank| elements(rank).len()).collect();
        let lengths: Vec<usize> = counts.iter().map(|&count| FRONT + count + flags(count)).collect();
        let mut words = Vec::with_capacity(lengths[rank]);
        let range = seen.as_ref().map_or([f64::NAN; 2], |seen| [seen.low, seen.high]);
        words.extend([u64::from(seen.is_err()), range[0].to_bits(), range[1].to_bits()]);
        let out = &stores[self.out];
        words.extend(places[elements(rank)].iter().map(|&at| out.values[at].to_bits()));
        words.resize(lengths[rank], 0);
        if careful && out.partial {
            let flags = &mut words[FRONT + counts[rank]..];
            for (n, &at) in places[elements(rank)].iter().enumerate() {
                flags[n / FLAGS] |= u64::from(!out.defined[at]) << (n % FLAGS);
            }
        }
        let said = all.exchange(words, &lengths)?;
        let mut range = Seen::nothing();
        let faulty = said.iter().any(|words| words[0] != 0);
        for (other, words) in said.iter().enumerate().filter(|_| !faulty) {
            let (low, high) = (f64::from_bits(words[1]), f64::from_bits(words[2]));
            if low <= high {
                range.include(low);
                range.include(high);
            }
            if other == rank {
                continue;
            }
            let (values, flags) = words[FRONT..].split_at(counts[other]);
            for (n, (&at, &value)) in places[elements(other)].iter().zip(values).enumerate() {
                let defined = !careful || flags[n / FLAGS] & 1 << (n % FLAGS) == 0;
                stores[self.out].put(at, f64::from_bits(value), defined);
            }
        }
        self.places = Some(places);
        if faulty {
            // Of several faults, the first one is told.
            return self.whole(stores);
        }
        stores[self.out].settle();
        Ok((range.low, range.high))
    }

    /// Where the elements of these rows are, in the order in which they are written.
    fn all_places(&self, rows: usize) -> Vec<usize> {
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
        self.run(stores).map_err(EngineError::Values)
    }

    /// Whether ranks share it: all of it is written, each element once, and nothing of it is read.
    fn is_divided(&self, careful: bool, least: i64) -> bool {
        let of_step = |step: &Step| if matches!(step, Step::Apply(Operation::Call(_), _)) { FUNCTION } else { 1 };
        let of_point = self.code.iter().map(of_step).sum::<i64>() * if careful { CAREFUL } else { 1 };
        let operations = self.extents.iter().product::<i64>() * of_point;
        let per_element = operations / self.extents[..self.free].iter().product::<i64>().max(1);
        let faster = if self.fast.is_some() && !careful { FAST } else { 1 };
        operations / faster >= least
            && per_element >= PER_ELEMENT.min(least)
            && self.guards.is_empty()
            && !self.reads.contains(&self.out)
            && !self.takes_logarithms()
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
