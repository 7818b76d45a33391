//! Nests of products: side by side in vectors, each sum in its own order.
//!
//! ```text
//! s[j] += w[j][i] * x[i]      lanes: j, j + 1, ..      in each, i = 0, 1, ..
//! g[j][i] = d[j] * x[i]       lanes: i, i + 1, ..
//! v[j][i] = w[j][i] - g[j][i] * mu
//! ```
//!
//! The body is an element, or a product of two elements or constants, which all have a value; without a reduction it may be added to an element or
//! subtracted from it. Everything else is evaluated block by block.
//!
//! What was tried for sums along rows, and its time: products that vector instructions transpose before they are added 0.75 (the sums alone, which are
//! a fifth of the digits network's training); weights that lie column by column 1.0, since updates of 128 of 129 rows leave gaps in every column.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::Store;
use super::arithmetic::Operation;
use super::plan::{Beginning, Plan, Step};
use super::samples::Scale;
use crate::lanes::loops::{A, Access, B, Loop, Loops, OUT, Places, START};
use crate::lanes::{self, Products, Values, begin, put_row};
use crate::train::moves::{self, LANES, Moves};
use arch::isa::Combine;
use compiler::tensor::{Aggregate, Binary};
use std::ops::Range;

/// Such a Nest, prepared.
#[derive(Debug, Clone)]
pub(super) struct Fast {
    loops: Loops,
    products: Products,
    /// The tensor whose elements sums start at.
    start: Option<usize>,
    /// What they start at otherwise.
    initial: f64,
    factors: [Factor; 2],
    /// The elements that it writes, if they follow each other.
    run: Option<Range<usize>>,
    pub(super) look: Look,
}

/// How the range of what is written becomes known.
#[derive(Debug, Clone)]
pub(super) enum Look {
    /// By a look at every element.
    Each,
    /// Every element of the one run is multiplied by every one of the other, so the extremes are products of extremes.
    Factors([Range<usize>; 2]),
    /// The elements become those of a state, and are looked at then.
    Later,
}

#[derive(Debug, Clone)]
enum Factor {
    Tensor(usize),
    Constant([f64; 1]),
}

impl Fast {
    /// If the Nest is one.
    pub(super) fn new(plan: &Plan) -> Option<Fast> {
        let Plan { extents, code, forms, .. } = plan;
        let factor = |step: usize| match &code[step] {
            Step::Read { tensor, form, .. } => Some((Factor::Tensor(*tensor), Some(*form))),
            Step::Constant => Some((Factor::Constant([plan.values[step * plan.block]]), None)),
            _ => None,
        };
        let product = |step: &Step| match step {
            Step::Apply(Operation::Binary(Binary::Mul), [a, b, _]) => Some((factor(*a)?, factor(*b)?)),
            _ => None,
        };
        // Added to an element, or subtracted from it, if that is the last step.
        let (added, root) = match *code.last()? {
            Step::Apply(Operation::Binary(operator @ (Binary::Add | Binary::Sub)), [c, step, _]) if !plan.reduces => {
                let Step::Read { tensor, form, .. } = code[c] else { return None };
                let combine = if operator == Binary::Add { Combine::Add } else { Combine::Subtract };
                (Some((tensor, form, combine)), step)
            }
            _ => (None, code.len() - 1),
        };
        let (a, b) = match &code[root] {
            Step::Read { .. } => (factor(root)?, (Factor::Constant([1.0]), None)),
            step => product(step)?,
        };
        let combine = match plan.aggregate {
            _ if !plan.reduces => added.map_or(Combine::Add, |(_, _, combine)| combine),
            Aggregate::Add => Combine::Add,
            Aggregate::Max => Combine::Maximum,
            Aggregate::Min => Combine::Minimum,
            Aggregate::Assign | Aggregate::Mul => return None,
        };
        if !plan.guards.is_empty() || plan.limits.is_some() || extents.contains(&0) || plan.reads.contains(&plan.out) {
            return None;
        }
        let (start, initial) = match plan.start {
            // What is added to this stays as it is, the sign of a zero, too.
            _ if !plan.reduces => (added.map(|(tensor, form, _)| (tensor, form)), -0.0),
            Beginning::Value(value) => (None, value),
            Beginning::Element { tensor, form } => (Some((tensor, form)), 0.0),
        };
        let access = |form: Option<usize>| -> Option<Access<'_>> {
            let form = &forms[form?];
            Some((form.first, form.strides.as_slice()))
        };
        let accesses = [Some(plan.out_form), start.map(|(_, form)| form), a.1, b.1].map(access);
        let extents: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
        let free = if plan.reduces { plan.free } else { extents.len() };
        let loops = Loops::new(&extents, free, accesses, true);
        let plain = !plan.reduces && start.is_none() && plan.scale.is_one();
        let crossed = loops.crossed().filter(|_| plain);
        Some(Fast {
            look: crossed.map_or(Look::Each, Look::Factors),
            run: loops.run(OUT).filter(|_| loops.writes_once),
            loops,
            products: Products { square: false, combine, doubles: true },
            start: start.map(|(tensor, _)| tensor),
            initial,
            factors: [a.0, b.0],
        })
    }

    /// Evaluate it; smallest and largest number that was written.
    pub(super) fn run(&self, stores: &mut [Store], out: usize, scale: Scale) -> (f64, f64) {
        let mut written = std::mem::take(&mut stores[out].values);
        let mut known = std::mem::take(&mut stores[out].defined);
        let [a, b] = self.factors.each_ref().map(|factor| match factor {
            Factor::Tensor(tensor) => stores[*tensor].values.as_slice(),
            Factor::Constant(value) => value,
        });
        let start = self.start.map(|tensor| stores[tensor].values.as_slice());
        let partial = stores[out].partial;
        // What follows each other is looked at when all of it is there.
        let one_by_one = self
            .run
            .is_none()
            .then_some(Known { seen: Extremes::nothing(), defined: partial.then_some(known.as_mut_slice()) });
        let (initial, out_values) = (self.initial, &mut written);
        let mut elements = Elements { factors: (a, b), start, initial, scale, out: out_values, one_by_one };
        lanes::run::<f64>(&self.loops, Some(self.products), &mut elements);
        let seen = elements.one_by_one.map(|known| known.seen.both());
        if let (Some(run), true) = (&self.run, partial) {
            known[run.clone()].fill(true);
        }
        let range = match (&self.run, &self.look) {
            (None, _) => seen,
            (_, Look::Later) => None,
            (Some(run), Look::Each) => Some(extremes(&written[run.clone()])),
            (Some(run), Look::Factors([of_a, of_b])) => products_of_extremes(&a[of_a.clone()], &b[of_b.clone()])
                .or_else(|| Some(extremes(&written[run.clone()]))),
        };
        (stores[out].values, stores[out].defined) = (written, known);
        range.unwrap_or(NOTHING)
    }
}

/// The extremes of the products of all numbers of one slice with all of another: a larger product is not rounded to a smaller number. None where
/// something is not finite.
fn products_of_extremes(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let corners = |values: &[f64]| {
        let (low, high) = extremes(values);
        values.iter().all(|value| value.is_finite()).then_some([low, high])
    };
    let ([a, b], [c, d]) = (corners(a)?, corners(b)?);
    let products = [a * c, a * d, b * c, b * d];
    products.iter().all(|product| product.is_finite()).then(|| extremes(&products))
}

struct Elements<'a> {
    factors: (&'a [f64], &'a [f64]),
    start: Option<&'a [f64]>,
    initial: f64,
    scale: Scale,
    out: &'a mut [f64],
    one_by_one: Option<Known<'a>>,
}

/// What is known of elements that are anywhere.
struct Known<'a> {
    seen: Extremes,
    /// Which have a value, if not all have one.
    defined: Option<&'a mut [bool]>,
}

impl Values<f64> for Elements<'_> {
    #[inline(always)]
    fn factors(&self) -> (&[f64], &[f64]) {
        self.factors
    }

    #[inline(always)]
    fn start(&self, places: &Places, vector: &Places, sums: &mut [f64]) {
        match self.start {
            Some(start) => begin(sums, start, places[START], vector[START], |value| value),
            None => sums.fill(self.initial),
        }
    }

    #[inline(always)]
    fn put(&mut self, places: &Places, vector: &Places, sums: &mut [f64]) {
        if !self.scale.is_one() {
            for sum in &mut *sums {
                *sum = self.scale.of(*sum);
            }
        }
        put_row(self.out, places[OUT], vector[OUT], sums.iter().copied());
        if let Some(Known { seen, defined }) = &mut self.one_by_one {
            seen.include(sums);
            if let Some(defined) = defined {
                put_row(defined, places[OUT], vector[OUT], sums.iter().map(|_| true));
            }
        }
    }

    #[inline(always)]
    fn multiply(&mut self, products: Products, places: &Places, vector: &Loop) -> bool {
        let Loop { extent, strides } = *vector;
        if self.one_by_one.is_some()
            || strides[OUT] != 1
            || self.start.is_some() && strides[START] != 1
            || !self.scale.is_one()
        {
            return false;
        }
        let [first, a, b] = [OUT, A, B].map(|access| places[access] as usize);
        let factors = (&self.factors.0[a..], &self.factors.1[b..]);
        let (row, other) = if strides[A] == 0 { (factors.1, factors.0) } else { factors };
        let (row, many) = (&row[..extent], strides[A] == strides[B]);
        let out = &mut self.out[first..][..extent];
        match self.start {
            Some(start) => {
                let start = &start[places[START] as usize..][..extent];
                let minus = products.combine == Combine::Subtract;
                products_of(
                    out,
                    row,
                    other,
                    many,
                    |n, product| if minus { start[n] - product } else { start[n] + product },
                );
            }
            None => products_of(out, row, other, many, |_, product| self.initial + product),
        }
        true
    }
}

/// What each product of two rows becomes, or of a row and a number.
#[inline(always)]
fn products_of(out: &mut [f64], row: &[f64], other: &[f64], many: bool, result: impl Fn(usize, f64) -> f64) {
    let count = out.len();
    if many {
        let (row, other) = (&row[..count], &other[..count]);
        for n in 0..count {
            out[n] = result(n, row[n] * other[n]);
        }
    } else {
        let (row, b) = (&row[..count], other[0]);
        for n in 0..count {
            out[n] = result(n, row[n] * b);
        }
    }
}

/// The extremes of no numbers.
pub(super) const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// Smallest and largest finite numbers, lane by lane.
struct Extremes {
    low: [f64; LANES],
    high: [f64; LANES],
}

impl Extremes {
    fn nothing() -> Extremes {
        Extremes { low: [f64::INFINITY; LANES], high: [f64::NEG_INFINITY; LANES] }
    }

    #[inline(always)]
    fn include(&mut self, values: &[f64]) {
        // Infinite numbers become NaN: no comparison with one holds.
        self.widen(values, |value| if value.is_finite() { value } else { f64::NAN });
    }

    /// The same where infinite numbers count.
    #[inline(always)]
    fn include_infinite(&mut self, values: &[f64]) {
        self.widen(values, |value| value);
    }

    #[inline(always)]
    fn widen(&mut self, values: &[f64], known: impl Fn(f64) -> f64) {
        let (mut low, mut high) = (self.low, self.high);
        let mut widen = |n: usize, value: f64| {
            let value = known(value);
            low[n] = if value < low[n] { value } else { low[n] };
            high[n] = if value > high[n] { value } else { high[n] };
        };
        let (rows, rest) = values.as_chunks::<LANES>();
        for row in rows {
            for (n, &value) in row.iter().enumerate() {
                widen(n, value);
            }
        }
        for (n, &value) in rest.iter().enumerate() {
            widen(n, value);
        }
        (self.low, self.high) = (low, high);
    }

    #[inline(always)]
    fn both(&self) -> (f64, f64) {
        let (mut low, mut high) = (self.low, self.high);
        let mut half = LANES / 2;
        while half > 0 {
            for n in 0..half {
                low[n] = low[n].min(low[n + half]);
                high[n] = high[n].max(high[n + half]);
            }
            half /= 2;
        }
        (low[0], high[0])
    }
}

/// Smallest and largest finite number (`low > high` if there is none).
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let mut both = NOTHING;
    lanes::in_vectors(
        #[inline(always)]
        || {
            let mut seen = Extremes::nothing();
            seen.include_infinite(values);
            // Infinite numbers are rare: they cost a second pass, not a comparison for each number.
            if seen.both().0 == f64::NEG_INFINITY || seen.both().1 == f64::INFINITY {
                seen = Extremes::nothing();
                seen.include(values);
            }
            both = seen.both();
        },
    );
    both
}

/// Replace the values for which there is a new one, all or those that are known; smallest and largest finite number that came. How they moved is
/// counted if somebody asks.
pub(super) fn replace(
    values: &mut [f64],
    source: &[f64],
    known: Option<&[bool]>,
    new: impl Fn(f64, f64) -> f64 + Copy,
    moves: Option<&mut Moves>,
) -> (f64, f64) {
    let (mut both, mut moved) = (NOTHING, moves::Lanes::default());
    let counts = moves.is_some();
    lanes::in_vectors(
        #[inline(always)]
        || {
            let mut seen = Extremes::nothing();
            if counts {
                replace_and_see::<true>(values, source, known, new, (&mut seen, &mut moved));
            } else {
                replace_and_see::<false>(values, source, known, new, (&mut seen, &mut moved));
            }
            both = seen.both();
        },
    );
    if let Some(moves) = moves {
        moves.add(&moved);
    }
    // Infinite numbers are rare: they cost a second pass.
    if both.0 == f64::NEG_INFINITY || both.1 == f64::INFINITY {
        let came = |at: usize| known.is_none_or(|known| known[at]);
        both = extremes(&(0..values.len()).filter(|&at| came(at)).map(|at| values[at]).collect::<Vec<f64>>());
    }
    both
}

/// The same, with what came that is infinite. What `new` holds cannot be among the values, which only an argument says.
#[inline(always)]
fn replace_and_see<const COUNTS: bool>(
    values: &mut [f64],
    source: &[f64],
    known: Option<&[bool]>,
    new: impl Fn(f64, f64) -> f64,
    (seen, moves): (&mut Extremes, &mut moves::Lanes),
) {
    let (mut low, mut high, mut moved) = (seen.low, seen.high, *moves);
    let mut first = 0;
    let (parts, rest) = values.as_chunks_mut::<LANES>();
    let (sources, rest_of_source) = source.as_chunks::<LANES>();
    for (values, source) in parts.iter_mut().zip(sources) {
        // Those that have no value are hardly ever beside those that have one.
        if all_known(known, first) {
            for n in 0..LANES {
                let value = new(values[n], source[n]);
                if COUNTS {
                    moved.count(n, values[n], value);
                }
                values[n] = value;
                low[n] = if value < low[n] { value } else { low[n] };
                high[n] = if value > high[n] { value } else { high[n] };
            }
        } else {
            let known = known.map(|known| &known[first..]);
            replace_known(values, source, known, &new, (&mut low[0], &mut high[0], &mut moved));
        }
        first += LANES;
    }
    let known = known.map(|known| &known[first..]);
    replace_known(rest, rest_of_source, known, &new, (&mut low[0], &mut high[0], &mut moved));
    (seen.low, seen.high, *moves) = (low, high, moved);
}

#[inline(always)]
fn all_known(known: Option<&[bool]>, first: usize) -> bool {
    let Some(known) = known else { return true };
    let mut all = true;
    for &known in &known[first..][..LANES] {
        all &= known;
    }
    all
}

/// The same, one by one.
#[inline(always)]
fn replace_known(
    values: &mut [f64],
    source: &[f64],
    known: Option<&[bool]>,
    new: impl Fn(f64, f64) -> f64,
    (low, high, moved): (&mut f64, &mut f64, &mut moves::Lanes),
) {
    for (n, (value, &source)) in values.iter_mut().zip(source).enumerate() {
        if known.is_none_or(|known| known[n]) {
            let before = std::mem::replace(value, new(*value, source));
            moved.count(n, before, *value);
            *low = if *value < *low { *value } else { *low };
            *high = if *value > *high { *value } else { *high };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LANES, Moves, NOTHING, extremes};
    use crate::golden::Golden;
    use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
    use compiler::language::{self, Language};
    use compiler::tensor::{Program, Role, TensorId};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// What is not finite counts for nothing, wherever it stands.
    #[test]
    fn extremes_are_finite() {
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        let rows: [(&[f64], (f64, f64)); 6] = [
            (&[], NOTHING),
            (&[2.0, nan, -3.0], (-3.0, 2.0)),
            (&[infinity, 5.0], (5.0, 5.0)),
            (&[-1.0, -infinity, 4.0, infinity], (-1.0, 4.0)),
            (&[infinity, nan], NOTHING),
            (&[-infinity], NOTHING),
        ];
        for (values, expected) in rows {
            // Alone, and as the last of more numbers than there are lanes.
            assert_eq!(extremes(values), expected, "{values:?}");
            let many = [&[nan; 2 * LANES + 3], values].concat();
            assert_eq!(extremes(&many), expected, "{values:?}");
        }
    }

    /// Every bit, and every range, is that of the evaluation block by block: rows that fill vectors and rows that do not.
    #[test]
    fn vectors_are_blocks() {
        let text = include_str!("../../../programs/backpropagation.t");
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for (l1, l2, l3, size) in
            [(2, 2, 2, 1), (9, 8, 7, 1), (65, 129, 11, 1), (300, 17, 3, 2), (7, 33, 16, 5), (19, 131, 6, 70)]
        {
            let sizes = [("l1", l1), ("l2", l2), ("l3", l3)];
            let set = sizes.map(|(name, size)| (name.to_owned(), f64::from(size))).to_vec();
            let options = language::Options { set, ..language::Options::default() };
            let (source, _) = language::parse(Language::Tabla, text, &options).expect("a good program");
            let batch = Batch { size, reduction: Reduction::Mean };
            let options = Options { keep: Keep::Training { predictions: vec!["h".into()] }, batch };
            agree(&source, &options, &mut random);
            let canonical = canonicalise(&source, &options).expect("a good program");
            agree(&canonical, &Options { batch: Batch::SINGLE, ..options }, &mut random);
        }
    }

    fn agree(program: &Program, options: &Options, random: &mut ChaCha8Rng) {
        let mut fast = Golden::with(program, options);
        let mut slow = fast.clone();
        slow.plans.iter_mut().for_each(|plan| plan.fast = None);
        fast.watch_moves();
        let mut moves = vec![Moves::default(); program.tensors.len()];
        assert!(fast.plans.iter().filter(|plan| plan.fast.is_some()).count() > 3, "{program}");
        let ids = || program.tensors.iter().enumerate().map(|(id, tensor)| (TensorId(id), &tensor.role));
        for step in 0..3 {
            for (id, role) in ids() {
                let weights = step == 0 && *role == Role::State;
                if weights || matches!(role, Role::Input | Role::Label) {
                    let count = fast.stores[id.0].values.len();
                    let values: Vec<f64> = (0..count).map(|_| f64::from(random.next_u32() as i32) * 1e-9).collect();
                    fast.set(id, &values);
                    slow.set(id, &values);
                }
            }
            let before: Vec<Vec<f64>> = fast.stores.iter().map(|store| store.values.clone()).collect();
            fast.step().expect("no value errors");
            slow.step().expect("no value errors");
            for (id, role) in ids() {
                if *role == Role::State {
                    moves[id.0].update(&mut before[id.0].clone(), &fast.stores[id.0].values);
                    assert_eq!(fast.moves(id), Some(moves[id.0]), "{} in step {step}", program.tensors[id.0].name);
                }
                let bits = |golden: &Golden| -> Vec<Option<u64>> {
                    golden.value(id).map(|value| value.map(f64::to_bits)).collect()
                };
                assert_eq!(bits(&fast), bits(&slow), "{} in step {step} of\n{program}", program.tensors[id.0].name);
            }
        }
        assert_eq!(fast.ranges(), slow.ranges());
    }
}
