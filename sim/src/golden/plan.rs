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
//! The last iterator is the inner loop, evaluated in blocks: every operation of the body works on a block at a time.

use super::arithmetic::{self, Operation};
use arch::{Diagnostic, Span};
use compiler::tensor::{
    Affine, Aggregate, Binary, Element, Function, Guard, IterId, Nest, Node, Program, Start, TensorId,
};

/// One prepared Nest.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Number of values of each iterator; the inner loop is the last one, of one value if there is none.
    pub(super) extents: Vec<i64>,
    /// How many of them are free; the inner loop of a Nest without reduction is.
    pub(super) free: usize,
    pub(super) reduces: bool,
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
    /// Whether the code can make undefined values from defined ones.
    pub(super) careful: bool,
    pub(super) block: usize,
    /// `block` values per step of the code.
    pub(super) values: Vec<f64>,
    /// Which of them are defined; used in careful evaluation only.
    pub(super) defined: Vec<bool>,
    /// Current value of each form.
    pub(super) at: Vec<i64>,
    /// Largest and smallest value of the written element type, if it is an integer.
    pub(super) limits: Option<(f64, f64)>,
    pub(super) span: Span,
    pub(super) warning: Warning,
    /// Where its elements are, row by row, once ranks have shared it.
    pub(super) places: Option<Vec<usize>>,
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
    },
    /// Extents and, per dimension, the step that computes the index.
    Gather {
        tensor: usize,
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

impl Plan {
    /// Prepare a Nest.
    pub(super) fn new(program: &Program, nest: &Nest) -> Plan {
        let mut forms = Forms { nest, forms: Vec::new() };
        let mut extents: Vec<i64> =
            nest.iterators.iter().map(|iterator| (iterator.high - iterator.low).max(0)).collect();
        if extents.is_empty() {
            extents.push(1);
        }
        let inner = *extents.last().unwrap_or(&1);
        let steps = nest.body.nodes.len();
        let position = |forms: &mut Forms, tensor: TensorId, index: &[Affine]| {
            let shape = &program.tensors[tensor.0].shape;
            let linear = index
                .iter()
                .zip(shape)
                .fold(Affine::default(), |sum, (index, &extent)| index.plus(i64::from(extent), &sum));
            forms.add(&linear)
        };
        let out_form = position(&mut forms, nest.out, &nest.out_index);
        let identity = match nest.aggregate {
            Aggregate::Assign | Aggregate::Add => 0.0,
            Aggregate::Mul => 1.0,
            Aggregate::Min => f64::INFINITY,
            Aggregate::Max => f64::NEG_INFINITY,
        };
        let mut reads = Vec::new();
        let start = match &nest.start {
            Start::Identity => Beginning::Value(identity),
            Start::Fill(value) => Beginning::Value(*value),
            Start::Element { tensor, index } => {
                reads.push(tensor.0);
                Beginning::Element { tensor: tensor.0, form: position(&mut forms, *tensor, index) }
            }
        };
        let guards = nest.guards.iter().map(|guard| match guard {
            Guard::Within { value, bound } => Condition::Within { form: forms.add(value), bound: *bound },
            Guard::Zero { value } => Condition::Zero { form: forms.add(value) },
        });
        let guards = guards.collect();
        let mut careful = false;
        let code: Vec<Step> = nest
            .body
            .nodes
            .iter()
            .map(|node| match node {
                Node::Constant(_) => Step::Constant,
                Node::Iterator(iterator) => Step::Iterator { form: forms.add(&Affine::iterator(*iterator)) },
                Node::Read { tensor, index } => {
                    reads.push(tensor.0);
                    Step::Read { tensor: tensor.0, form: position(&mut forms, *tensor, index) }
                }
                Node::Gather { tensor, index } => {
                    reads.push(tensor.0);
                    Step::Gather {
                        tensor: tensor.0,
                        extents: program.tensors[tensor.0].shape.iter().map(|&extent| extent as usize).collect(),
                        index: index.iter().map(|node| node.0).collect(),
                    }
                }
                Node::Unary(operator, a) => Step::Apply(Operation::Unary(*operator), [a.0, 0, 0]),
                Node::Binary(operator, a, b) => {
                    careful |= *operator == Binary::DivControlled;
                    Step::Apply(Operation::Binary(*operator), [a.0, b.0, b.0])
                }
                Node::Select { condition, yes, no } => Step::Apply(Operation::Select, [condition.0, yes.0, no.0]),
                Node::Cast(element, a) => Step::Apply(Operation::Cast(*element), [a.0, 0, 0]),
                Node::Call(function, arguments) => {
                    let argument = |n: usize| arguments.get(n).or(arguments.first()).map_or(0, |node| node.0);
                    Step::Apply(Operation::Call(*function), [argument(0), argument(1), argument(2)])
                }
            })
            .collect();
        let mut block = (BLOCKS / steps.max(1)).clamp(1, BLOCK).min(inner.max(1) as usize);
        let reads_itself = reads.contains(&nest.out.0);
        let forms = forms.forms;
        if reads_itself && nest.free == nest.iterators.len() && forms[out_form].strides.last() == Some(&0) {
            // Every value of the inner loop goes to the same element, which the next one reads.
            block = 1;
        }
        reads.sort_unstable();
        reads.dedup();
        let mut values = vec![0.0; steps * block];
        for (step, node) in nest.body.nodes.iter().enumerate() {
            if let Node::Constant(value) = node {
                values[step * block..][..block].fill(*value);
            }
        }
        Plan {
            extents,
            free: nest.free,
            reduces: nest.free < nest.iterators.len(),
            guards,
            out: nest.out.0,
            out_form,
            aggregate: nest.aggregate,
            start,
            code,
            reads,
            careful,
            block,
            values,
            defined: vec![true; steps * block],
            at: vec![0; forms.len()],
            forms,
            limits: integer_limits(program.tensors[nest.out.0].element),
            span: nest.origin.span(),
            warning: Warning::None,
            places: None,
        }
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
        Element::Int { bits, signed } => Some(arithmetic::integer_limits(bits, signed)),
        Element::Real | Element::Bool => None,
    }
}

/// Collects the linear forms of a Nest, relative to the first values of its iterators.
struct Forms<'n> {
    nest: &'n Nest,
    forms: Vec<Form>,
}

impl Forms<'_> {
    fn add(&mut self, affine: &Affine) -> usize {
        let mut strides = vec![0; self.nest.iterators.len().max(1)];
        let mut first = affine.offset;
        for &(IterId(iterator), coefficient) in &affine.terms {
            strides[iterator] += coefficient;
            first += coefficient * self.nest.iterators[iterator].low;
        }
        self.forms.push(Form { first, strides });
        self.forms.len() - 1
    }
}

/// Whether the first Nest that writes a tensor writes all of it, so that no step sees old values.
pub(super) fn written_whole(program: &Program, tensor: TensorId) -> bool {
    let Some(nest) = program.nests.iter().find(|nest| nest.out == tensor) else { return false };
    let mut used = vec![false; nest.iterators.len()];
    nest.guards.is_empty()
        && nest.iterators.iter().all(|iterator| iterator.low < iterator.high)
        && nest.out_index.iter().zip(&program.tensors[tensor.0].shape).all(|(index, &extent)| {
            match index.terms.as_slice() {
                [] => extent == 1 && index.offset == 0,
                &[(IterId(iterator), 1)] => {
                    let range = &nest.iterators[iterator];
                    let whole = range.low + index.offset == 0 && range.high + index.offset == i64::from(extent);
                    whole && !std::mem::replace(&mut used[iterator], true)
                }
                _ => false,
            }
        })
}
