//! Running a plan: an odometer over all iterators but the last, blocks of the last one inside.

use super::arithmetic::{self, Operation};
use super::fast::extremes;
use super::plan::{Beginning, Condition, Plan, ROWS, Step, Warning};
use super::{Fault, Store};
use arch::Diagnostic;
use compiler::ranges::EXACT_INTEGERS;
use compiler::tensor::{Aggregate, Function};
use std::ops::Range;

impl Plan {
    /// Evaluate the Nest; smallest and largest number that was written (`low > high` if none).
    pub(super) fn run(&mut self, stores: &mut [Store]) -> Result<(f64, f64), Box<Diagnostic>> {
        let points = 0..self.points();
        let careful = self.is_careful(stores);
        let result = if let (Some(fast), false) = (&self.fast, careful) {
            let (low, high) = fast.run(stores, self.out, self.scale);
            Ok(Seen { low, high })
        } else if careful {
            self.evaluate::<true>(stores, points)
        } else {
            self.evaluate::<false>(stores, points)
        };
        stores[self.out].settle();
        result.map(|seen| (seen.low, seen.high)).map_err(|fault| self.diagnose(fault))
    }

    /// Whether some value may be undefined.
    pub(super) fn is_careful(&self, stores: &[Store]) -> bool {
        let unwritten = || self.unsure.iter().any(|&read| stores[read].partial);
        self.careful || self.reads.iter().any(|&read| stores[read].holes) || unwritten()
    }

    /// Points of the outer loops, in their order.
    pub(super) fn points(&self) -> i64 {
        if self.extents.contains(&0) { 0 } else { self.extents[..self.extents.len() - 1].iter().product() }
    }

    /// How many points of the outer loops belong to one element, or to a row of elements.
    pub(super) fn chain(&self) -> i64 {
        let outer = self.extents.len() - 1;
        if self.reduces { self.extents[self.free..outer].iter().product() } else { 1 }
    }

    /// Begin the outer loops at a point; its coordinates.
    pub(super) fn begin(&mut self, mut number: i64) -> Vec<i64> {
        let mut point = vec![0; self.extents.len() - 1];
        for (place, &extent) in point.iter_mut().zip(&self.extents).rev() {
            *place = number % extent;
            number /= extent;
        }
        for (at, form) in self.at.iter_mut().zip(&self.forms) {
            *at = form.first + form.strides.iter().zip(&point).map(|(stride, place)| stride * place).sum::<i64>();
        }
        point
    }

    /// Evaluate some points of the outer loops, whole elements.
    pub(super) fn evaluate<const CAREFUL: bool>(
        &mut self,
        stores: &mut [Store],
        points: Range<i64>,
    ) -> Result<Seen, Fault> {
        let mut range = Seen::nothing();
        if points.is_empty() {
            return Ok(range);
        }
        if self.columns {
            return self.evaluate_columns::<CAREFUL>(stores, points);
        }
        if !CAREFUL && self.has_rows() {
            return self.rows(stores, points);
        }
        let mut point = self.begin(points.start);
        let chain = self.chain();
        let mut total = Total { value: 0.0, defined: true, points: 0 };
        for number in points {
            let (from, to) = self.existing();
            if self.reduces {
                if number % chain == 0 {
                    total = self.beginning(stores);
                }
                self.accumulate::<CAREFUL>(stores, from, to, &mut total, &mut range)?;
                if number % chain == chain - 1 && total.points > 0 {
                    self.put(stores, self.at[self.out_form] as usize, &total, &mut range)?;
                }
            } else {
                self.assign::<CAREFUL>(stores, from, to, &mut range)?;
            }
            self.advance(&mut point);
        }
        Ok(range)
    }

    /// Whether each element is a sum (or the like) over the inner loop alone, and several can be computed side by side.
    fn has_rows(&self) -> bool {
        let reads_itself = self.reads.contains(&self.out);
        self.reduces && self.free + 1 == self.extents.len() && self.guards.is_empty() && !reads_itself
    }

    /// Evaluate some elements, a few at a time, each in the order of its own values.
    fn rows(&mut self, stores: &mut [Store], points: Range<i64>) -> Result<Seen, Fault> {
        let mut range = Seen::nothing();
        let mut point = self.begin(points.start);
        let inner = self.extents[self.extents.len() - 1];
        let mut places = vec![vec![0; self.at.len()]; ROWS];
        let mut number = points.start;
        while number < points.end {
            let rows = ROWS.min((points.end - number) as usize);
            let mut totals = [Total { value: 0.0, defined: true, points: inner as usize }; ROWS];
            for (place, total) in places.iter_mut().zip(&mut totals).take(rows) {
                total.value = self.beginning(stores).value;
                place.copy_from_slice(&self.at);
                self.advance(&mut point);
            }
            let mut first = 0;
            while first < inner {
                let count = (inner - first).min(self.block as i64) as usize;
                for (row, place) in places.iter_mut().enumerate().take(rows) {
                    std::mem::swap(&mut self.at, place);
                    let done = self.body::<false>(stores, first, count, row);
                    std::mem::swap(&mut self.at, place);
                    done?;
                }
                let root = (self.code.len() - 1) * self.block;
                let blocks: [&[f64]; ROWS] =
                    std::array::from_fn(|row| &self.values[root + row.min(rows - 1) * self.block..][..count]);
                for (total, block) in totals.iter().zip(&blocks).take(rows) {
                    self.check_partial(total.value, block)?;
                    self.include_partial(total.value, block, &mut range);
                }
                let values = arithmetic::fold_rows(self.aggregate, totals.map(|total| total.value), blocks);
                totals.iter_mut().zip(values).for_each(|(total, value)| total.value = value);
                first += count as i64;
            }
            for (place, total) in places.iter().zip(&totals).take(rows) {
                self.put(stores, place[self.out_form] as usize, total, &mut range)?;
            }
            number += rows as i64;
        }
        Ok(range)
    }

    /// Write what was accumulated.
    pub(super) fn put(&self, stores: &mut [Store], at: usize, total: &Total, range: &mut Seen) -> Result<(), Fault> {
        let value = self.scale.of(total.value);
        self.check(value, total.defined)?;
        stores[self.out].put(at, value, total.defined);
        if total.defined {
            range.include(value);
        }
        Ok(())
    }

    /// Next point of the outer loops.
    pub(super) fn advance(&mut self, point: &mut [i64]) {
        for iterator in (0..point.len()).rev() {
            point[iterator] += 1;
            let wrap = point[iterator] == self.extents[iterator];
            let back = if wrap { self.extents[iterator] - 1 } else { 0 };
            for (at, form) in self.at.iter_mut().zip(&self.forms) {
                let stride = form.strides[iterator];
                *at += if wrap { -stride * back } else { stride };
            }
            if !wrap {
                return;
            }
            point[iterator] = 0;
        }
    }

    /// The part of the inner loop for which all guards hold: guards are affine, so it is an interval.
    pub(super) fn existing(&self) -> (i64, i64) {
        let inner = self.extents.len() - 1;
        let (mut from, mut to) = (0, self.extents[inner]);
        for guard in &self.guards {
            let (form, bound) = match *guard {
                Condition::Within { form, bound } => (form, bound),
                Condition::Zero { form } => (form, 1),
            };
            let (value, stride) = (self.at[form], self.forms[form].strides[inner]);
            let (first, end) = match stride {
                0 if (0..bound).contains(&value) => continue,
                0 => (0, 0),
                s if s > 0 => (ceiling(-value, s), ceiling(bound - value, s)),
                s => (ceiling(value - bound + 1, -s), value.div_euclid(-s) + 1),
            };
            (from, to) = (from.max(first), to.min(end));
        }
        (from, to.max(from))
    }

    pub(super) fn beginning(&self, stores: &[Store]) -> Total {
        let (value, defined) = match self.start {
            Beginning::Value(value) => (value, true),
            Beginning::Element { tensor, form } => {
                let (store, at) = (&stores[tensor], self.at[form] as usize);
                (store.values[at], !store.partial || store.defined[at])
            }
        };
        Total { value, defined, points: 0 }
    }

    fn accumulate<const CAREFUL: bool>(
        &mut self,
        stores: &[Store],
        from: i64,
        to: i64,
        total: &mut Total,
        range: &mut Seen,
    ) -> Result<(), Fault> {
        let mut first = from;
        while first < to {
            let count = (to - first).min(self.block as i64) as usize;
            self.body::<CAREFUL>(stores, first, count, 0)?;
            let root = (self.code.len() - 1) * self.block;
            if !CAREFUL {
                self.check_partial(total.value, &self.values[root..root + count])?;
            }
            self.include_partial(total.value, &self.values[root..root + count], range);
            let [value] = arithmetic::fold_rows(self.aggregate, [total.value], [&self.values[root..root + count]]);
            total.value = value;
            if CAREFUL {
                total.defined &= self.defined[root..root + count].iter().all(|&defined| defined);
            }
            total.points += count;
            first += count as i64;
        }
        Ok(())
    }

    fn assign<const CAREFUL: bool>(
        &mut self,
        stores: &mut [Store],
        from: i64,
        to: i64,
        range: &mut Seen,
    ) -> Result<(), Fault> {
        let inner = self.extents.len() - 1;
        let stride = self.forms[self.out_form].strides[inner];
        let mut first = from;
        while first < to {
            let count = (to - first).min(self.block as i64) as usize;
            self.body::<CAREFUL>(stores, first, count, 0)?;
            let root = (self.code.len() - 1) * self.block;
            let start = self.at[self.out_form] + stride * first;
            if !self.scale.is_one() {
                let scale = self.scale;
                self.values[root..root + count].iter_mut().for_each(|value| *value = scale.of(*value));
            }
            let values = &self.values[root..root + count];
            if self.limits.is_some() {
                for (value, defined) in values.iter().zip(&self.defined[root..]) {
                    self.check(*value, !CAREFUL || *defined)?;
                }
            }
            let store = &mut stores[self.out];
            if CAREFUL || stride != 1 {
                for (n, &value) in values.iter().enumerate() {
                    let defined = !CAREFUL || self.defined[root + n];
                    store.put((start + stride * n as i64) as usize, value, defined);
                    if defined {
                        range.include(value);
                    }
                }
            } else {
                store.put_all(start as usize, values);
                let (low, high) = extremes(values);
                range.include(low);
                range.include(high);
            }
            first += count as i64;
        }
        Ok(())
    }

    /// A product grows in the place of its result: what it is on the way is a value of it, too.
    fn include_partial(&self, start: f64, values: &[f64], range: &mut Seen) {
        if self.aggregate == Aggregate::Mul {
            let mut product = start;
            for value in values {
                product *= value;
                range.include(product);
            }
        }
    }

    /// Whether integers that are added up, or multiplied, are exact on the way.
    fn check_partial(&self, start: f64, values: &[f64]) -> Result<(), Fault> {
        let sums = match self.aggregate {
            Aggregate::Add => true,
            Aggregate::Mul => false,
            _ => return Ok(()),
        };
        if self.limits.is_none()
            || sums && values.iter().fold(start.abs(), |sum, value| sum + value.abs()) < EXACT_INTEGERS
        {
            return Ok(());
        }
        let mut total = start;
        for value in values {
            total = if sums { total + value } else { total * value };
            if total.abs() >= EXACT_INTEGERS {
                return Err(Fault::Overflow { value: total });
            }
        }
        Ok(())
    }

    fn check(&self, value: f64, defined: bool) -> Result<(), Fault> {
        match self.limits {
            Some((low, high)) if defined && !(low <= value && value <= high) => Err(Fault::Overflow { value }),
            _ => Ok(()),
        }
    }

    /// Evaluate the body for `count` values of the inner loop from `first` on; the results go to the block of a row.
    #[expect(
        clippy::too_many_lines,
        reason = "the inner loop of the engine: an arm per kind of step, over slices that borrow from each other"
    )]
    pub(super) fn body<const CAREFUL: bool>(
        &mut self,
        stores: &[Store],
        first: i64,
        count: usize,
        row: usize,
    ) -> Result<(), Fault> {
        let (inner, block) = (self.extents.len() - 1, self.block);
        let root = self.code.len() - 1;
        let mut bad_logarithm = false;
        for (number, step) in self.code.iter().enumerate() {
            let (before, rest) = self.values.split_at_mut(number * block);
            let (before_defined, rest_defined) = self.defined.split_at_mut(number * block);
            let own = if number == root { row * block } else { 0 };
            let (out, out_defined) = (&mut rest[own..own + count], &mut rest_defined[..count]);
            let operand = |step: usize| match self.code[step] {
                Step::Read { tensor, form, direct: true } if !CAREFUL => {
                    &stores[tensor].values[(self.at[form] + first) as usize..][..count]
                }
                _ => &before[step * block..step * block + count],
            };
            let known = |step: usize| &before_defined[step * block..step * block + count];
            match step {
                Step::Constant => {}
                Step::Iterator { form } => {
                    // The inner loop may run over another iterator: then the value stays the same.
                    let stride = self.forms[*form].strides[inner];
                    let start = self.at[*form] + stride * first;
                    for (n, out) in out.iter_mut().enumerate() {
                        *out = (start + stride * n as i64) as f64;
                    }
                }
                Step::Read { direct: true, .. } if !CAREFUL => {}
                Step::Read { tensor, form, .. } => {
                    let store = &stores[*tensor];
                    let stride = self.forms[*form].strides[inner];
                    let start = self.at[*form] + stride * first;
                    copy(out, &store.values, start, stride);
                    if CAREFUL {
                        if store.partial {
                            copy(out_defined, &store.defined, start, stride);
                        } else {
                            out_defined.fill(true);
                        }
                    }
                }
                Step::Gather { tensor, form, extents, index } => {
                    let store = &stores[*tensor];
                    let (begin, stride) = (self.at[*form], self.forms[*form].strides[inner]);
                    for n in 0..count {
                        let known = !CAREFUL || index.iter().all(|&step| known(step)[n]);
                        let at = if known { place(extents, index.iter().map(|&step| operand(step)[n]))? } else { 0 };
                        let at = at + (begin + stride * (first + n as i64)) as usize;
                        out[n] = store.values[at];
                        if CAREFUL {
                            out_defined[n] = known && (!store.partial || store.defined[at]);
                        }
                    }
                }
                Step::Apply(operation, [a, b, c]) => {
                    if *operation == Operation::Call(Function::Log) {
                        let argument = operand(*a);
                        bad_logarithm |= (0..count).any(|n| argument[n] <= 0.0 && (!CAREFUL || known(*a)[n]));
                    }
                    if CAREFUL {
                        arithmetic::definedness(
                            *operation,
                            [operand(*a), operand(*b), operand(*c)],
                            [known(*a), known(*b), known(*c)],
                            out_defined,
                        );
                    }
                    let known = if CAREFUL { Some(&*out_defined) } else { None };
                    arithmetic::apply(*operation, [operand(*a), operand(*b), operand(*c)], known, out)?;
                }
            }
        }
        if bad_logarithm && self.warning == Warning::None {
            self.warning = Warning::Raised;
        }
        Ok(())
    }
}

/// `ceil(a / b)` for positive `b`.
fn ceiling(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

/// Elements `start`, `start + stride`, ... of a tensor.
fn copy<T: Copy>(out: &mut [T], from: &[T], start: i64, stride: i64) {
    match stride {
        1 => out.copy_from_slice(&from[start as usize..][..out.len()]),
        0 => out.fill(from[start as usize]),
        _ => {
            for (n, out) in out.iter_mut().enumerate() {
                *out = from[(start + stride * n as i64) as usize];
            }
        }
    }
}

/// Row-major place of a computed index.
fn place(extents: &[usize], index: impl Iterator<Item = f64>) -> Result<usize, Fault> {
    let mut place = 0;
    for (&extent, index) in extents.iter().zip(index) {
        if !(0.0 <= index && index < extent as f64) {
            return Err(Fault::Outside { index, extent });
        }
        place = place * extent + index as usize;
    }
    Ok(place)
}

/// The accumulator of one element.
#[derive(Clone, Copy)]
pub(super) struct Total {
    pub(super) value: f64,
    pub(super) defined: bool,
    pub(super) points: usize,
}

/// Smallest and largest finite number so far.
pub(super) struct Seen {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Seen {
    pub(super) fn nothing() -> Seen {
        Seen { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }

    pub(super) fn include(&mut self, value: f64) {
        if value.is_finite() {
            self.low = if value < self.low { value } else { self.low };
            self.high = if value > self.high { value } else { self.high };
        }
    }
}
