//! Golden evaluator: tensor IR on `f64`, the meaning of a program, of one sample or a batch.
//!
//! ```text
//!  Program ──plan──▶ one Plan per Nest: loops, strides, flat code
//!                        │
//!  set(input) ──▶ stores ▼ step: run every plan in order, then state = next, state = state - rate * gradient
//!                 value, defined?
//! ```
//!
//! An element is a number or undefined (never written, or computed from something undefined). Sums and products run in the
//! lexicographic order of the iterators, in plain `f64`.
//!
//! In a batch every sample is evaluated from the same states. A copy into a tensor of the role [`Role::Mean`] and a [`Descent`] combine the
//! samples: the values of all samples are added in their order, and the sum is divided by their number if the reduction is the mean, or if
//! inputs are combined. What does not depend on the sample counts once per sample. A gradient that is only combined is added up while it is
//! computed: over the samples, inside of them over its own iterators.
//!
//! Sums of products, most of the work of a training, run in vectors of several sums ([`crate::lanes`]); what else there is, and whatever may be
//! undefined, block by block.

mod arithmetic;
mod columns;
mod divided;
mod fast;
mod plan;
mod run;
mod samples;
mod written;

use crate::train::engine::EngineError;
use crate::train::moves::Moves;
use crate::train::ranks::Communicator;
use arch::{Code, Diagnostic};
use compiler::canonical::{Batch, Keep, Options};
use compiler::ranges::{EXACT_INTEGERS, Ranges};
use compiler::tensor::{Descent, Program, Role, TensorId, Update};
pub use divided::WORTH;
use fast::Look;
use plan::Plan;
use samples::{Samples, Scale};
use written::Written;

/// A program being evaluated, sample after sample.
#[derive(Debug, Clone)]
pub struct Golden {
    stores: Vec<Store>,
    plans: Vec<Plan>,
    updates: Vec<Update>,
    descents: Vec<(Descent, Scale)>,
    ranges: Ranges,
    /// How far steps moved each tensor, if somebody asks.
    moves: Option<Vec<Moves>>,
    warnings: Vec<Diagnostic>,
}

/// The elements of one tensor.
#[derive(Debug, Clone)]
struct Store {
    values: Vec<f64>,
    /// Which elements have a value; all true unless `partial`.
    defined: Vec<bool>,
    /// Whether some element may be undefined.
    partial: bool,
    /// Whether an element may be that was given or written.
    holes: bool,
    /// Whether every step starts with all elements undefined.
    forgets: bool,
}

impl Store {
    /// Write one element.
    fn put(&mut self, at: usize, value: f64, defined: bool) {
        self.values[at] = value;
        if !defined {
            (self.partial, self.holes) = (true, true);
        }
        if self.partial {
            self.defined[at] = defined;
        }
    }

    /// Write some elements one after the other.
    fn put_all(&mut self, first: usize, values: &[f64]) {
        self.values[first..][..values.len()].copy_from_slice(values);
        if self.partial {
            self.defined[first..][..values.len()].fill(true);
        }
    }

    /// Notice that all elements are given.
    fn fill(&mut self) {
        if self.partial {
            self.defined.fill(true);
        }
        (self.partial, self.holes) = (false, false);
    }

    /// Notice that nothing is undefined any more.
    fn settle(&mut self) {
        self.partial = self.partial && !self.defined.iter().all(|&defined| defined);
        self.holes &= self.partial;
    }

    /// Replace the elements for which `source` has a value; smallest and largest number that came (`low > high` if none).
    fn change(
        &mut self,
        source: &Store,
        new: impl Fn(f64, f64) -> f64 + Copy,
        moves: Option<&mut Moves>,
    ) -> (f64, f64) {
        let known = source.partial.then_some(source.defined.as_slice());
        let range = fast::replace(&mut self.values, &source.values, known, new, moves);
        // An undefined weight stays undefined unless it is replaced.
        if self.partial {
            for at in 0..self.values.len() {
                self.defined[at] |= source.defined[at] && !self.values[at].is_nan();
            }
            self.settle();
        }
        range
    }

    /// The sum over the samples, in their order; there are so many elements of each.
    fn added_up(&self, elements: usize) -> Store {
        let (first, others) = self.values.split_at(elements);
        let (known, others_known) = self.defined.split_at(elements);
        let (mut values, mut defined) = (first.to_vec(), known.to_vec());
        for sample in others.chunks(elements) {
            values.iter_mut().zip(sample).for_each(|(sum, value)| *sum += value);
        }
        for sample in others_known.chunks(elements) {
            defined.iter_mut().zip(sample).for_each(|(all, defined)| *all &= defined);
        }
        Store { values, defined, partial: self.partial, holes: self.holes, forgets: false }
    }
}

impl Golden {
    /// An evaluator of one sample with no input set: everything but the parameters is undefined.
    pub fn new(program: &Program) -> Golden {
        Golden::with(program, &Options { keep: Keep::AllNames, batch: Batch::SINGLE })
    }

    /// The same for a batch, of which only what is asked for is evaluated. Inputs and labels have the samples behind each other.
    ///
    /// # Panics
    /// If the program assigns a state once per sample and there are several: the canonical passes refuse that.
    pub fn with(program: &Program, options: &Options) -> Golden {
        let (nests, updates, descents) = samples::needed(program, &options.keep);
        let samples = Samples::new(program, &nests, &updates, options);
        let stores = program.tensors.iter().enumerate().map(|(id, tensor)| {
            let id = TensorId(id);
            let elements = tensor.shape.iter().map(|&extent| extent as usize).product::<usize>() * samples.copies(id);
            let (values, known) = match &tensor.role {
                Role::Parameter(values) => (values.to_vec(), true),
                _ => (vec![f64::NAN; elements], elements == 0),
            };
            Store {
                values,
                defined: vec![known; elements],
                partial: !known,
                holes: !known && !tensor.role.is_computed(),
                forgets: tensor.role.is_computed() && !written::written_whole(program, &nests, id),
            }
        });
        let mut written = Written::new(program);
        let plans = nests.iter().map(|nest| {
            let plan = Plan::new(program, nest, &samples, &written);
            written.add(nest);
            plan
        });
        let mut golden = Golden {
            stores: stores.collect(),
            plans: plans.collect(),
            updates,
            descents: descents.iter().map(|&descent| (descent, samples.scale(program, descent.gradient))).collect(),
            ranges: Ranges::of_tensors(vec![None; program.tensors.len()]),
            moves: None,
            warnings: Vec::new(),
        };
        golden.look_once();
        for id in 0..golden.stores.len() {
            golden.note_range(id);
        }
        golden
    }

    /// What becomes the next value of a state is looked at when it does.
    fn look_once(&mut self) {
        for Update { next, .. } in &self.updates {
            let mut writers = self.plans.iter_mut().filter(|plan| plan.out() == next.0);
            if let (Some(only), None) = (writers.next(), writers.next())
                && let Some(fast) = &mut only.fast
            {
                fast.look = Look::Later;
            }
        }
    }

    /// From now on, count how steps move states.
    pub(crate) fn watch_moves(&mut self) {
        self.moves = Some(vec![Moves::default(); self.stores.len()]);
    }

    /// How steps have moved a state, if that is counted.
    pub(crate) fn moves(&self, state: TensorId) -> Option<Moves> {
        self.moves.as_ref().map(|moves| moves[state.0])
    }

    /// Set all elements of an input, label or state, row-major.
    ///
    /// # Panics
    /// If the number of elements is wrong.
    pub fn set(&mut self, tensor: TensorId, values: &[f64]) {
        let store = &mut self.stores[tensor.0];
        store.values.copy_from_slice(values);
        store.fill();
        self.note_range(tensor.0);
    }

    /// Set the elements of an input, label or state, some of which may have no value.
    ///
    /// # Panics
    /// If the number of elements is wrong.
    pub fn set_partly(&mut self, tensor: TensorId, values: &[Option<f64>]) {
        let store = &mut self.stores[tensor.0];
        assert_eq!(store.values.len(), values.len(), "one value per element of {tensor}");
        store.partial = values.iter().any(Option::is_none);
        store.holes = store.partial;
        for (at, value) in values.iter().enumerate() {
            store.values[at] = value.unwrap_or(f64::NAN);
            store.defined[at] = value.is_some();
        }
        self.note_range(tensor.0);
    }

    /// Evaluate one sample: all Nests in order, then the next values of the states.
    ///
    /// # Errors
    /// What only the values show: an index out of bounds, an integer overflow or division by zero.
    pub fn step(&mut self) -> Result<(), Box<Diagnostic>> {
        self.step_by(Plan::run)
    }

    /// The same on several ranks, all of which do it with the same values: each evaluates some elements of the Nests that take `least` operations or
    /// more ([`WORTH`] where time counts), and all have all of them, bit for bit those of [`Golden::step`].
    ///
    /// # Errors
    /// As [`Golden::step`]; a rank is lost.
    pub fn step_on(&mut self, all: &dyn Communicator, least: i64) -> Result<(), EngineError> {
        self.step_by(|plan, stores| plan.run_on(stores, all, least))
    }

    fn step_by<E>(&mut self, run: impl Fn(&mut Plan, &mut [Store]) -> Result<(f64, f64), E>) -> Result<(), E> {
        for store in &mut self.stores {
            if store.forgets {
                store.defined.fill(false);
                (store.partial, store.holes) = (true, false);
            }
        }
        for number in 0..self.plans.len() {
            let plan = &mut self.plans[number];
            let out = plan.out();
            let range = run(plan, &mut self.stores)?;
            let warning = plan.take_warning();
            self.include(TensorId(out), range);
            self.warnings.extend(warning);
        }
        for update in 0..self.updates.len() {
            let Update { state, next } = self.updates[update];
            // Of a Nest that leaves this to the update, too.
            let range = self.change(state, next, |_, next| next);
            self.include(next, range);
        }
        for descent in 0..self.descents.len() {
            let (Descent { state, gradient, rate, .. }, scale) = self.descents[descent];
            if scale.is_one() {
                self.change(state, gradient, move |weight, gradient| weight - rate * gradient);
            } else {
                self.change(state, gradient, move |weight, gradient| weight - rate * scale.of(gradient));
            }
        }
        Ok(())
    }

    /// Replace the elements of a state for which `source` has a value; of several samples, by what follows from their sum. The range of what came.
    fn change(&mut self, state: TensorId, source: TensorId, new: impl Fn(f64, f64) -> f64 + Copy) -> (f64, f64) {
        let elements = self.stores[state.0].values.len();
        let moves = self.moves.as_mut().map(|moves| &mut moves[state.0]);
        let range = if self.stores[source.0].values.len() > elements {
            let sum = self.stores[source.0].added_up(elements);
            self.stores[state.0].change(&sum, new, moves)
        } else if let Ok([state, source]) = self.stores.get_disjoint_mut([state.0, source.0]) {
            state.change(source, new, moves)
        } else {
            return fast::NOTHING;
        };
        self.include(state, range);
        range
    }

    /// The elements of a tensor, row-major; `None` is undefined. In a batch, what depends on the sample has the samples behind each other; of a
    /// gradient that is only combined there is the sum.
    pub fn value(&self, tensor: TensorId) -> impl ExactSizeIterator<Item = Option<f64>> + '_ {
        let store = &self.stores[tensor.0];
        (0..store.values.len()).map(|at| (!store.partial || store.defined[at]).then_some(store.values[at]))
    }

    /// The elements of a tensor, row-major, if none is undefined.
    pub fn values(&self, tensor: TensorId) -> Option<&[f64]> {
        let store = &self.stores[tensor.0];
        (!store.partial).then_some(store.values.as_slice())
    }

    /// Smallest and largest value of every tensor over all steps so far.
    pub fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// What deserved attention in the steps so far, once per place.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    fn note_range(&mut self, tensor: usize) {
        let store = &self.stores[tensor];
        let range = if store.partial {
            let known = store.values.iter().zip(&store.defined).filter(|&(_, &defined)| defined);
            fast::extremes(&known.map(|(&value, _)| value).collect::<Vec<f64>>())
        } else {
            fast::extremes(&store.values)
        };
        self.include(TensorId(tensor), range);
    }

    /// These numbers were among the values of a tensor, if there were any.
    fn include(&mut self, tensor: TensorId, (low, high): (f64, f64)) {
        if low <= high {
            self.ranges.include(tensor.0, low);
            self.ranges.include(tensor.0, high);
        }
    }
}

/// What can go wrong with values only.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// A computed index outside its tensor.
    Outside { index: f64, extent: usize },
    /// An integer division by zero.
    DivisionByZero,
    /// An integer that does not fit its type.
    Overflow { value: f64 },
}

impl Fault {
    /// In the words of the user, of the tensor that is computed.
    fn diagnostic(self, span: arch::Span, tensor: &str) -> Diagnostic {
        match self {
            Fault::Outside { index, extent } => {
                Diagnostic::new(Code::Bounds, span, format!("a computed index is {index}, the extent is {extent}"))
                    .with_help("clamp the index: max(min(index, extent - 1), 0)")
            }
            Fault::DivisionByZero => Diagnostic::new(Code::Const, span, "an integer is divided by zero"),
            Fault::Overflow { value } if value.abs() >= EXACT_INTEGERS => {
                let message = format!("`{tensor}`: the integer {value} has no exact value here");
                Diagnostic::new(Code::Const, span, message)
                    .with_help("integers are computed with in double precision, up to 2^53")
            }
            Fault::Overflow { value } => {
                let message = format!("`{tensor}`: the integer {value} does not fit its type");
                Diagnostic::new(Code::Const, span, message)
                    .with_help("integers of so many bits do not wrap here: use a wider type, or smaller values")
            }
        }
    }
}
