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

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::Store;
use super::arithmetic::Operation;
use super::plan::{Beginning, Plan, Step};
use super::samples::Scale;
use crate::lanes::loops::{Access, Loops, OUT, Places, START};
use crate::lanes::{self, Products, Values, begin, put_row};
use arch::isa::Combine;
use compiler::tensor::{Aggregate, Binary};

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
        Some(Fast {
            loops: Loops::new(&extents, free, accesses, true),
            products: Products { square: false, combine },
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
        let seen = Extremes::nothing();
        let defined = stores[out].partial.then_some(known.as_mut_slice());
        let (initial, out_values) = (self.initial, &mut written);
        let mut elements = Elements { factors: (a, b), start, initial, scale, out: out_values, defined, seen };
        lanes::run::<f64>(&self.loops, Some(self.products), &mut elements);
        let range = elements.seen.both();
        (stores[out].values, stores[out].defined) = (written, known);
        range
    }
}

struct Elements<'a> {
    factors: (&'a [f64], &'a [f64]),
    start: Option<&'a [f64]>,
    initial: f64,
    scale: Scale,
    out: &'a mut [f64],
    /// Which elements have a value, if not all have one.
    defined: Option<&'a mut [bool]>,
    seen: Extremes,
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
        self.seen.include(sums);
        put_row(self.out, places[OUT], vector[OUT], sums.iter().copied());
        if let Some(defined) = &mut self.defined {
            put_row(defined, places[OUT], vector[OUT], sums.iter().map(|_| true));
        }
    }
}

/// Lanes in which extremes are found.
const LANES: usize = 32;

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
        let (mut low, mut high) = (self.low, self.high);
        // No comparison with a NaN holds.
        let mut widen = |n: usize, value: f64| {
            low[n] = if value < low[n] && value > f64::NEG_INFINITY { value } else { low[n] };
            high[n] = if value > high[n] && value < f64::INFINITY { value } else { high[n] };
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

    fn both(&self) -> (f64, f64) {
        let low = self.low.iter().fold(f64::INFINITY, |low, &value| low.min(value));
        (low, self.high.iter().fold(f64::NEG_INFINITY, |high, &value| high.max(value)))
    }
}

/// Smallest and largest finite number (`low > high` if there is none).
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let mut seen = Extremes::nothing();
    crate::lanes::in_vectors(
        #[inline(always)]
        || seen.include(values),
    );
    seen.both()
}

#[cfg(test)]
mod tests {
    use crate::golden::Golden;
    use compiler::canonical::{Batch, Keep, Options, Reduction, canonicalise};
    use compiler::language::{self, Language};
    use compiler::tensor::{Program, Role, TensorId};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Every bit, and every range, is that of the evaluation block by block: rows that fill vectors and rows that do not.
    #[test]
    fn vectors_are_blocks() {
        let text = include_str!("../../../programs/backpropagation.t");
        let mut random = ChaCha8Rng::seed_from_u64(5);
        for (l1, l2, l3, size) in [(2, 2, 2, 1), (9, 8, 7, 1), (65, 129, 11, 1), (300, 17, 3, 2), (7, 33, 16, 5)] {
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
            fast.step().expect("no value errors");
            slow.step().expect("no value errors");
            for (id, _) in ids() {
                let bits = |golden: &Golden| -> Vec<Option<u64>> {
                    golden.value(id).map(|value| value.map(f64::to_bits)).collect()
                };
                assert_eq!(bits(&fast), bits(&slow), "{} in step {step} of\n{program}", program.tensors[id.0].name);
            }
        }
        assert_eq!(fast.ranges(), slow.ranges());
    }
}
