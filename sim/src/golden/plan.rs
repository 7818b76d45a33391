//! A Nest, prepared: loops, one linear form per access, flat code.
//!
//! ```text
//! for j in 0..3, i in 0..4:  s[j] += w[j][i] * x[i]
//!
//!   forms      at the start   per j   per i
//!   w[j][i]         0           4       1
//!   x[i]            0           0       1
//!   s[j]            0           1       0
//! ```
//!
//! The last iterator is the inner loop, evaluated in blocks: every operation of the body works on a block at a time. In a step of several
//! samples the sample is an iterator more: the outermost of the free ones where each sample has its value, the outermost of a reduction where
//! samples are added up.

use super::Fault;
use super::arithmetic::{self, Operation};
use super::fast::Fast;
use super::samples::{Held, Samples, Scale, reads};
use super::written::Written;
use arch::{Diagnostic, Span};
use compiler::ranges::EXACT_INTEGERS;
use compiler::tensor::{
    Affine, Aggregate, Binary, Element, Function, Guard, IterId, Nest, Node, Program, Role, Start, TensorId,
};

/// One prepared Nest.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Number of values of each iterator; the inner loop is the last one, of one value if there is none.
    pub(super) extents: Vec<i64>,
    /// How many of them are free; the inner loop of a Nest without reduction is.
    pub(super) free: usize,
    pub(super) reduces: bool,
    /// The inner loop is the last free one, outside of those of the sum ([`super::columns`]).
    pub(super) columns: bool,
    /// Everything that is affine in the iterators.
    pub(super) forms: Vec<Form>,
    pub(super) guards: Vec<Condition>,
    pub(super) out: usize,
    /// The form of the written element's position.
    pub(super) out_form: usize,
    pub(super) aggregate: Aggregate,
    pub(super) start: Beginning,
    pub(super) code: Vec<Step>,
    /// Tensors that are read, for the choice between fast and careful evaluation.
    pub(super) reads: Vec<usize>,
    /// Those of them whose elements may never have been written.
    pub(super) unsure: Vec<usize>,
    /// Whether the code can make undefined values from defined ones.
    pub(super) careful: bool,
    pub(super) block: usize,
    /// `block` values per step of the code.
    pub(super) values: Vec<f64>,
    /// Which of them are defined; used in careful evaluation only.
    pub(super) defined: Vec<bool>,
    /// Current value of each form.
    pub(super) at: Vec<i64>,
    /// What values become before they are written, where samples are combined.
    pub(super) scale: Scale,
    /// Smallest and largest value of the written tensor, if its elements are integers.
    pub(super) limits: Option<(f64, f64)>,
    /// Name of the written tensor.
    name: String,
    pub(super) span: Span,
    pub(super) warning: Warning,
    /// Where its elements are, row by row, once ranks have shared it.
    pub(super) places: Option<Vec<usize>>,
    /// The same in vectors, where all values are defined and nothing else speaks against it.
    pub(super) fast: Option<Fast>,
}

/// A linear form: its value where all iterators have their first value, and its change per iterator.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub(super) first: i64,
    pub(super) strides: Vec<i64>,
}

/// A guard.
#[derive(Debug, Clone, Copy)]
pub(super) enum Condition {
    Within { form: usize, bound: i64 },
    Zero { form: usize },
}

/// Where an accumulator starts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beginning {
    Value(f64),
    Element { tensor: usize, form: usize },
}

/// One step of the code; its result is its own block.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// The block was filled when the plan was made.
    Constant,
    Iterator {
        form: usize,
    },
    Read {
        tensor: usize,
        form: usize,
        /// Whether its users can take the elements from where they are, if all have a value.
        direct: bool,
    },
    /// Where its elements begin, extents and, per dimension, the step that computes the index.
    Gather {
        tensor: usize,
        form: usize,
        extents: Vec<usize>,
        index: Vec<usize>,
    },
    Apply(Operation, [usize; 3]),
}

/// A warning that is given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Warning {
    None,
    Raised,
    Given,
}

/// Values per block; small enough that all blocks of a body stay in the first-level cache.
const BLOCK: usize = 256;
/// Values in all blocks of a body.
const BLOCKS: usize = 1 << 15;

/// Rows that are added up side by side: an addition takes several cycles, and those of other rows fill them.
pub(super) const ROWS: usize = 4;

/// Where the sample is among the iterators, if it is.
fn place_of_sample(nest: &Nest, samples: &Samples, combined: Option<TensorId>) -> Option<usize> {
    match (samples.held(nest.out), combined.map(|tensor| samples.held(tensor))) {
        (Held::Each, _) => Some(0),
        (Held::Sum, _) | (Held::Once, Some(Held::Each)) => Some(nest.free),
        (Held::Once, _) => None,
    }
}

/// Of the loops, at least one; the place of the sample among them, and how many samples there are.
fn extents(nest: &Nest, sample: Option<(usize, i64)>) -> Vec<i64> {
    let mut extents: Vec<i64> = nest.iterators.iter().map(|iterator| (iterator.high - iterator.low).max(0)).collect();
    if let Some((place, size)) = sample {
        extents.insert(place, size);
    }
    if extents.is_empty() {
        extents.push(1);
    }
    extents
}

/// Blocks of values, with those that stay the same.
fn constants(nest: &Nest, block: usize) -> Vec<f64> {
    let steps = nest.body.nodes.len();
    let mut values = vec![0.0; (steps + ROWS - 1) * block];
    for (step, node) in nest.body.nodes.iter().enumerate() {
        if let Node::Constant(value) = node {
            let rows = if step + 1 == steps { ROWS } else { 1 };
            values[step * block..][..rows * block].fill(*value);
        }
    }
    values
}

impl Plan {
    /// Prepare a Nest.
    pub(super) fn new(program: &Program, nest: &Nest, samples: &Samples, written: &Written) -> Plan {
        let is_mean = program.tensors[nest.out.0].role == Role::Mean;
        let reads = reads(nest);
        let combined = if is_mean { reads.first().copied() } else { None };
        let sample = place_of_sample(nest, samples, combined);
        let adds = sample == Some(nest.free) && samples.held(nest.out) != Held::Each;
        let extents = extents(nest, sample.map(|place| (place, i64::from(samples.batch.size))));
        let (free, reduces) =
            (nest.free + usize::from(sample.is_some() && !adds), adds || nest.free < nest.iterators.len());
        let mut forms = Forms { program, nest, samples, sample, all: Vec::new() };
        let out_form = forms.element(nest.out, &nest.out_index);
        let aggregate = if adds { Aggregate::Add } else { nest.aggregate };
        let start = forms.beginning(&nest.start, aggregate);
        let guards = nest.guards.iter().map(|guard| forms.condition(guard)).collect();
        let code: Vec<Step> = nest.body.nodes.iter().map(|node| forms.step(node)).collect();
        let mut reads: Vec<usize> = reads.iter().map(|tensor| tensor.0).collect();
        let forms = forms.all;
        reads.sort_unstable();
        reads.dedup();
        let mut plan = Plan {
            extents,
            free,
            reduces,
            columns: false,
            guards,
            out: nest.out.0,
            out_form,
            aggregate,
            start,
            code,
            reads,
            unsure: written.unsure(nest),
            careful: nest.body.nodes.iter().any(|node| matches!(node, Node::Binary(Binary::DivControlled, ..))),
            block: 0,
            values: Vec::new(),
            defined: Vec::new(),
            at: vec![0; forms.len()],
            forms,
            scale: combined.map_or(Scale::ONE, |tensor| samples.scale(program, tensor)),
            limits: integer_limits(program.tensors[nest.out.0].element),
            name: program.tensors[nest.out.0].name.clone(),
            span: nest.origin.span(),
            warning: Warning::None,
            places: None,
            fast: None,
        };
        plan.set_blocks(nest);
        plan.fast = Fast::new(&plan);
        if plan.fast.is_none() && plan.gains_by_columns() {
            plan.turn_to_columns();
            plan.set_blocks(nest);
        }
        plan
    }

    /// Room for blocks of the inner loop, and what is read as it is.
    fn set_blocks(&mut self, nest: &Nest) {
        let steps = self.code.len();
        let inner = *self.extents.last().unwrap_or(&1);
        self.block = (BLOCKS / steps.max(1)).clamp(1, BLOCK).min(inner.max(1) as usize);
        let itself = self.reads.contains(&self.out);
        if itself && !self.reduces && self.forms[self.out_form].strides.last() == Some(&0) {
            // Every value of the inner loop goes to the same element, which the next one reads.
            self.block = 1;
        }
        for (number, step) in self.code.iter_mut().enumerate() {
            if let Step::Read { form, direct, .. } = step {
                *direct = number + 1 < steps && self.forms[*form].strides.last() == Some(&1);
            }
        }
        self.values = constants(nest, self.block);
        self.defined = vec![true; steps * self.block];
    }

    /// The diagnostic of a fault.
    pub(super) fn diagnose(&self, fault: Fault) -> Box<Diagnostic> {
        Box::new(fault.diagnostic(self.span, &self.name))
    }

    /// The tensor it writes.
    pub(super) fn out(&self) -> usize {
        self.out
    }

    /// The warning about its values, the first time there is one.
    pub(super) fn take_warning(&mut self) -> Option<Diagnostic> {
        if self.warning != Warning::Raised {
            return None;
        }
        self.warning = Warning::Given;
        Some(
            Diagnostic::new(
                arch::Code::WarnNumber,
                self.span,
                "the logarithm of zero or a negative number is taken here",
            )
            .with_label("no number in the golden evaluator, the most negative one in hardware"),
        )
    }

    /// Whether it takes logarithms.
    pub(super) fn takes_logarithms(&self) -> bool {
        self.code.iter().any(|step| matches!(step, Step::Apply(Operation::Call(Function::Log), _)))
    }
}

fn integer_limits(element: Element) -> Option<(f64, f64)> {
    match element {
        Element::Int { bits, signed } => {
            let (low, high) = arithmetic::integer_limits(bits, signed);
            Some((low.max(1.0 - EXACT_INTEGERS), high.min(EXACT_INTEGERS - 1.0)))
        }
        Element::Real | Element::Bool => None,
    }
}

/// Where a sum, a product and their like start.
fn identity(aggregate: Aggregate) -> f64 {
    match aggregate {
        Aggregate::Assign | Aggregate::Add => 0.0,
        Aggregate::Mul => 1.0,
        Aggregate::Min => f64::INFINITY,
        Aggregate::Max => f64::NEG_INFINITY,
    }
}

/// Collects the linear forms of a Nest, relative to the first values of its iterators.
struct Forms<'n> {
    program: &'n Program,
    nest: &'n Nest,
    samples: &'n Samples,
    /// Where the sample is among the iterators.
    sample: Option<usize>,
    all: Vec<Form>,
}

impl Forms<'_> {
    fn beginning(&mut self, start: &Start, aggregate: Aggregate) -> Beginning {
        match start {
            Start::Identity => Beginning::Value(identity(aggregate)),
            Start::Fill(value) => Beginning::Value(*value),
            Start::Element { tensor, index } => {
                Beginning::Element { tensor: tensor.0, form: self.element(*tensor, index) }
            }
        }
    }

    fn condition(&mut self, guard: &Guard) -> Condition {
        match guard {
            Guard::Within { value, bound } => Condition::Within { form: self.add(value), bound: *bound },
            Guard::Zero { value } => Condition::Zero { form: self.add(value) },
        }
    }

    /// A form that is the same for all samples.
    fn add(&mut self, affine: &Affine) -> usize {
        self.with_sample(affine, 0)
    }

    /// The place of an element, row-major, sample after sample.
    fn element(&mut self, tensor: TensorId, index: &[Affine]) -> usize {
        let shape = &self.program.tensors[tensor.0].shape;
        let linear = index
            .iter()
            .zip(shape)
            .fold(Affine::default(), |sum, (index, &extent)| index.plus(i64::from(extent), &sum));
        let elements: i64 = shape.iter().map(|&extent| i64::from(extent)).product();
        self.with_sample(&linear, if self.samples.held(tensor) == Held::Each { elements } else { 0 })
    }

    fn with_sample(&mut self, affine: &Affine, of_sample: i64) -> usize {
        let mut strides = vec![0; self.nest.iterators.len()];
        let mut first = affine.offset;
        for &(IterId(iterator), coefficient) in &affine.terms {
            strides[iterator] += coefficient;
            first += coefficient * self.nest.iterators[iterator].low;
        }
        if let Some(place) = self.sample {
            strides.insert(place, of_sample);
        }
        if strides.is_empty() {
            strides.push(0);
        }
        self.all.push(Form { first, strides });
        self.all.len() - 1
    }

    fn step(&mut self, node: &Node) -> Step {
        match node {
            Node::Constant(_) => Step::Constant,
            Node::Iterator(iterator) => Step::Iterator { form: self.add(&Affine::iterator(*iterator)) },
            Node::Read { tensor, index } => {
                Step::Read { tensor: tensor.0, form: self.element(*tensor, index), direct: false }
            }
            Node::Gather { tensor, index } => Step::Gather {
                tensor: tensor.0,
                form: self.element(*tensor, &[]),
                extents: self.program.tensors[tensor.0].shape.iter().map(|&extent| extent as usize).collect(),
                index: index.iter().map(|node| node.0).collect(),
            },
            Node::Unary(operator, a) => Step::Apply(Operation::Unary(*operator), [a.0, 0, 0]),
            Node::Binary(operator, a, b) => Step::Apply(Operation::Binary(*operator), [a.0, b.0, b.0]),
            Node::Select { condition, yes, no } => Step::Apply(Operation::Select, [condition.0, yes.0, no.0]),
            Node::Cast(element, a) => Step::Apply(Operation::Cast(*element), [a.0, 0, 0]),
            Node::Call(function, arguments) => {
                let argument = |n: usize| arguments.get(n).or(arguments.first()).map_or(0, |node| node.0);
                Step::Apply(Operation::Call(*function), [argument(0), argument(1), argument(2)])
            }
        }
    }
}
