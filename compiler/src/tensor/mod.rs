//! Tensor IR: what a program computes, on real numbers.
//!
//! A [`Program`] is a list of tensors and an ordered list of [`Nest`]s. All extents are known, every index counts from 0.
//! The laws, checked by [`verify()`]:
//!
//! 1. Every name, tensor and iterator number is in range; free iterators come before reduction iterators.
//! 2. `out_index` mentions free iterators only; a Nest without reduction iterators has `aggregate = Assign`, one with has another.
//! 3. Every access stays inside its tensor, over the whole (guarded) box.
//! 4. Every element read has been written before, unless its tensor is an input, label, state or parameter.
//! 5. Inputs, labels and parameters are never written. A tensor may have several writers; the order of Nests decides.
//! 6. A Nest that reads the tensor it writes reads only the element it writes (same index), otherwise the front end has put a copy in between.
//! 7. A tensor of the role [`Role::Mean`] is written by copies of elements only.
//!
//! A statement computes all its values from the state before it: that is why law 6 exists.

pub(crate) mod coverage;
mod text;
mod verify;

pub use arch::function::Function;
pub(crate) use verify::region;
pub use verify::{accesses, laws, verify};

use arch::{Origin, Span};
use std::sync::Arc;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub usize);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

index_type! {
    /// A tensor of a program.
    TensorId, "%"
}
index_type! {
    /// An iterator of a Nest (an index into `Nest::iterators`).
    IterId, "i"
}
index_type! {
    /// A node of a Nest's body.
    NodeId, "n"
}

/// One function in tensor IR.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// All tensors.
    pub tensors: Vec<Tensor>,
    /// What is computed, in order.
    pub nests: Vec<Nest>,
    /// Gradient descent that a training step still has to do; `canonical::update` turns it into Nests and `updates`.
    pub descents: Vec<Descent>,
    /// State tensors and the tensor that holds their next value, if the program updates them.
    pub updates: Vec<Update>,
    /// Final value of each name of the source program, in source order: what `eval` prints. A re-assigned name points to its last tensor.
    pub names: Vec<(String, TensorId)>,
    /// Integers of the host that the text was read with, by name: sizes and constants of this program, no tensors of it.
    pub integers: Vec<(String, i64)>,
}

/// One tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Name in the source; temporaries have a name made from it (`h.1`, `sum.3`), unique in the program.
    pub name: String,
    /// Extents, outermost first; empty for a scalar.
    pub shape: Vec<u32>,
    /// What it is for.
    pub role: Role,
    /// Element type.
    pub element: Element,
    /// Where it was declared or first assigned.
    pub span: Span,
}

/// What a tensor is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    /// Per-sample input.
    Input,
    /// Per-sample input that training compares with (TABLA `model_output` that is never assigned).
    Label,
    /// Weights: kept from sample to sample.
    State,
    /// Constant values, row-major; programs that are made of each other share them.
    Parameter(Arc<[f64]>),
    /// Intermediate result.
    Temporary,
    /// Intermediate result that is computed in one place: all who read it read the same rounded words. No pass computes it again where it is read.
    Stored,
    /// Declared result.
    Output,
    /// Input that is also a result.
    InOut,
    /// Gradient of a state tensor.
    Gradient(TensorId),
    /// What the samples of a batch have in common: of a gradient their mean or sum, of an input their mean. The Nests that write it are
    /// copies; for one sample that is all it is.
    Mean,
}

impl Role {
    /// Whether every element comes from a Nest.
    pub fn is_computed(&self) -> bool {
        match self {
            Role::Temporary | Role::Stored | Role::Output | Role::Gradient(_) | Role::Mean => true,
            Role::Input | Role::Label | Role::State | Role::Parameter(_) | Role::InOut => false,
        }
    }
}

/// Element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// Real number.
    Real,
    /// Integer of a width.
    Int {
        /// Width in bits.
        bits: u32,
        /// Whether it has a sign.
        signed: bool,
    },
    /// 0 or 1.
    Bool,
}

/// The next value of a state tensor: after the step, `state = next`, element by element.
///
/// Elements of `next` that no Nest writes keep the state's value (a gradient that is assigned in part).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The state.
    pub state: TensorId,
    /// Its next value.
    pub next: TensorId,
}

/// Gradient descent on one state tensor: `state = state - rate * gradient`, where the gradient is assigned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Descent {
    /// The weights.
    pub state: TensorId,
    /// Their gradient, of the same shape (its last version); of a batch, with its samples in front.
    pub gradient: TensorId,
    /// The learning rate `mu`.
    pub rate: f64,
    /// The link in the source.
    pub span: Span,
}

/// One loop nest: for every point of the free iterators, aggregate the body over the reduction iterators.
#[derive(Debug, Clone, PartialEq)]
pub struct Nest {
    /// Free iterators first, reduction iterators after, both in lexicographic order of evaluation.
    pub iterators: Vec<Iterator>,
    /// How many of them are free.
    pub free: usize,
    /// Conditions on the iterators; points where one fails do not exist, and an element without any point is not written.
    pub guards: Vec<Guard>,
    /// Tensor written.
    pub out: TensorId,
    /// Element written, per dimension.
    pub out_index: Vec<Affine>,
    /// How values are combined.
    pub aggregate: Aggregate,
    /// Where accumulation starts.
    pub start: Start,
    /// The value at a point.
    pub body: Body,
    /// The statements and expressions this came from, and the user's names for its values.
    pub origin: Origin,
}

/// A loop variable and its half-open range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Iterator {
    /// Name, for people.
    pub name: String,
    /// First value.
    pub low: i64,
    /// One past the last value.
    pub high: i64,
}

impl Iterator {
    /// Number of values.
    pub fn extent(&self) -> u64 {
        (self.high - self.low).max(0) as u64
    }
}

/// A condition on the iterators of a Nest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// `0 <= value < bound`
    Within {
        /// The value.
        value: Affine,
        /// Exclusive upper bound.
        bound: i64,
    },
    /// `value == 0`
    Zero {
        /// The value.
        value: Affine,
    },
}

/// `offset + sum(coefficient * iterator)`, terms sorted by iterator, no zero coefficients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Affine {
    /// Constant part.
    pub offset: i64,
    /// Coefficient of each iterator that occurs.
    pub terms: Vec<(IterId, i64)>,
}

impl Affine {
    /// A constant.
    pub fn constant(offset: i64) -> Affine {
        Affine { offset, terms: Vec::new() }
    }

    /// One iterator.
    pub fn iterator(iterator: IterId) -> Affine {
        Affine { offset: 0, terms: vec![(iterator, 1)] }
    }

    /// `self + factor * other`.
    #[must_use]
    pub fn plus(&self, factor: i64, other: &Affine) -> Affine {
        let mut terms = std::collections::BTreeMap::new();
        for &(iterator, coefficient) in &self.terms {
            *terms.entry(iterator).or_insert(0) += coefficient;
        }
        for &(iterator, coefficient) in &other.terms {
            *terms.entry(iterator).or_insert(0) += factor * coefficient;
        }
        let terms = terms.into_iter().filter(|&(_, coefficient)| coefficient != 0).collect();
        Affine { offset: self.offset + factor * other.offset, terms }
    }

    /// The iterator, if the form is exactly one iterator.
    pub fn as_iterator(&self) -> Option<IterId> {
        match (self.offset, self.terms.as_slice()) {
            (0, &[(iterator, 1)]) => Some(iterator),
            _ => None,
        }
    }

    /// The constant, if no iterator occurs.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.offset)
    }

    /// Value at a point.
    pub fn at(&self, point: &[i64]) -> i64 {
        self.offset + self.terms.iter().map(|&(iterator, coefficient)| coefficient * point[iterator.0]).sum::<i64>()
    }

    /// Smallest and largest value over a box.
    pub fn range(&self, iterators: &[Iterator]) -> (i64, i64) {
        let mut range = (self.offset, self.offset);
        for &(iterator, coefficient) in &self.terms {
            let it = &iterators[iterator.0];
            let (first, last) = (coefficient * it.low, coefficient * (it.high - 1));
            range = (range.0 + first.min(last), range.1 + first.max(last));
        }
        range
    }
}

/// How the values of the reduction points are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// One value, no reduction.
    Assign,
    /// Sum.
    Add,
    /// Product, from left to right in the order of the iterators.
    Mul,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

/// Where accumulation starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// The identity of the aggregate.
    Identity,
    /// A constant.
    Fill(f64),
    /// An element; its index mentions free iterators only. The element's own old value is `out` at `out_index`.
    Element {
        /// Which tensor.
        tensor: TensorId,
        /// Which element.
        index: Vec<Affine>,
    },
}

/// The scalar expression at a point: nodes in topological order (operands before users), the last one is the value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Body {
    /// Append a node.
    pub fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// Nodes of the value as a tree, in which what is used twice stands twice, with `leaf` for a node that reads a tensor.
    pub fn tree_size(&self, leaf: impl Fn(TensorId) -> u64) -> u64 {
        let mut sizes: Vec<u64> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = if let Node::Read { tensor, .. } = node { leaf(*tensor) } else { 1 };
            sizes.push(node.operands().iter().fold(own, |size, operand| size.saturating_add(sizes[operand.0])));
        }
        sizes.last().copied().unwrap_or(0)
    }

    /// The body whose value is `root`: what the value needs, in the same order.
    #[must_use]
    pub fn rooted(&self, root: NodeId) -> Body {
        let mut needed = vec![false; root.0 + 1];
        needed[root.0] = true;
        for number in (0..=root.0).rev() {
            if needed[number] {
                for operand in self.nodes[number].operands() {
                    needed[operand.0] = true;
                }
            }
        }
        let mut moved = vec![NodeId(0); root.0 + 1];
        let mut body = Body::default();
        for (number, node) in self.nodes[..=root.0].iter().enumerate().filter(|&(number, _)| needed[number]) {
            moved[number] = body.push(node.with_operands(|operand| moved[operand.0]));
        }
        body
    }

    /// The value of the body.
    pub fn root(&self) -> NodeId {
        NodeId(self.nodes.len() - 1)
    }
}

/// One operation of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number.
    Constant(f64),
    /// The value of an iterator.
    Iterator(IterId),
    /// An element.
    Read {
        /// Which tensor.
        tensor: TensorId,
        /// Which element, per dimension.
        index: Vec<Affine>,
    },
    /// An element whose index is computed (Tensor Comprehensions only); bounds are checked at run time.
    Gather {
        /// Which tensor.
        tensor: TensorId,
        /// Which element, per dimension.
        index: Vec<NodeId>,
    },
    /// An operation on one value.
    Unary(Unary, NodeId),
    /// An operation on two values.
    Binary(Binary, NodeId, NodeId),
    /// `if condition then yes else no`; both are evaluated.
    Select {
        /// Nonzero means yes.
        condition: NodeId,
        /// Value if the condition holds.
        yes: NodeId,
        /// Value otherwise.
        no: NodeId,
    },
    /// Conversion.
    Cast(Element, NodeId),
    /// A function of the library.
    Call(Function, Vec<NodeId>),
}

impl Node {
    /// The same operation on other nodes.
    #[must_use]
    pub fn with_operands(&self, new: impl Fn(NodeId) -> NodeId) -> Node {
        match self {
            Node::Constant(_) | Node::Iterator(_) | Node::Read { .. } => self.clone(),
            Node::Gather { tensor, index } => {
                Node::Gather { tensor: *tensor, index: index.iter().map(|&operand| new(operand)).collect() }
            }
            Node::Unary(operator, a) => Node::Unary(*operator, new(*a)),
            Node::Cast(element, a) => Node::Cast(*element, new(*a)),
            Node::Binary(operator, a, b) => Node::Binary(*operator, new(*a), new(*b)),
            Node::Select { condition, yes, no } => {
                Node::Select { condition: new(*condition), yes: new(*yes), no: new(*no) }
            }
            Node::Call(function, arguments) => {
                Node::Call(*function, arguments.iter().map(|&operand| new(operand)).collect())
            }
        }
    }

    /// The nodes it computes from, in order.
    pub fn operands(&self) -> Vec<NodeId> {
        match self {
            Node::Constant(_) | Node::Iterator(_) | Node::Read { .. } => Vec::new(),
            Node::Gather { index, .. } => index.clone(),
            Node::Unary(_, a) | Node::Cast(_, a) => vec![*a],
            Node::Binary(_, a, b) => vec![*a, *b],
            Node::Select { condition, yes, no } => vec![*condition, *yes, *no],
            Node::Call(_, arguments) => arguments.clone(),
        }
    }
}

/// Operations on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `-x`
    Neg,
    /// Logical not.
    Not,
}

/// Operations on two values. Comparisons give 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b` on real numbers.
    Div,
    /// `floor(a / b)`: of integers in the languages, of any numbers in canonical form.
    DivFloor,
    /// `a / b` with `0 / 0 = 0` and undefined for other zero divisors.
    DivControlled,
    /// Remainder with the sign of the divisor.
    RemFloor,
    /// Smaller.
    Min,
    /// Larger.
    Max,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// Both.
    And,
    /// Either.
    Or,
}
