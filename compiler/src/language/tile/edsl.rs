//! Tile embedded in Rust: the same statements as the text form, made by calls.
//!
//! ```text
//!  O[n] += I[m, n]                 output.at(n).sum(input.at((m, n)))
//!  O.add_constraint(j < 2)                .constrain(j, 2)
//!  D = A + B / 2                   (&a + &b / 2.0).named("D")
//!
//!  calls ──▶ steps, each with its place in the user's Rust ──▶ syntax tree ──lower──▶ tensor IR
//! ```
//!
//! Steps become the syntax tree that the parser of the text form makes, so both forms go the same way from there on; an error points
//! to the Rust line that made the step. The crate `tile` documents this with the examples of the tutorial.

mod arithmetic;
mod index;
#[cfg(test)]
mod replay;
mod tree;

pub use arithmetic::{
    Argument, Elementwise, Number, argsort, cast, function, gather, gather_nd, index, reshape, scatter, scatter_nd,
    select,
};
pub use index::{Affine, Bound, Dims, Indices, Size, TensorDim, TensorIndex};

use crate::language::Options;
use crate::tensor::Program;
use arch::Diagnostic;
use std::cell::RefCell;
use std::fmt::{Display, Formatter};
use std::panic::Location;
use std::rc::Rc;

/// A call and where it was made.
#[derive(Debug, Clone)]
struct Step {
    what: What,
    place: &'static Location<'static>,
}

#[derive(Debug, Clone)]
enum What {
    Bind { tensor: String, sizes: Vec<Size> },
    Contract(Box<Statement>),
    Assign { name: String, value: Number },
}

/// One contraction.
#[derive(Debug, Clone)]
struct Statement {
    name: String,
    sizes: Vec<Size>,
    index: Vec<Affine>,
    operator: &'static str,
    combination: Combination,
    constraints: Vec<(Affine, Size)>,
    default: Option<String>,
}

/// What a contraction adds up, multiplies or compares.
#[derive(Debug, Clone)]
enum Form {
    One,
    Two(&'static str),
    Cond,
}

#[derive(Debug, Default)]
struct Recorder {
    inputs: Vec<(String, Vec<u32>, &'static Location<'static>)>,
    names: Vec<String>,
    steps: Vec<Step>,
}

/// A function under construction.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    recorder: Rc<RefCell<Recorder>>,
}

impl Graph {
    /// An empty function.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// An input.
    #[track_caller]
    pub fn placeholder(&self, name: &str, shape: &[u32]) -> Tensor {
        let name = self.fresh(name);
        self.recorder.borrow_mut().inputs.push((name.clone(), shape.to_vec(), Location::caller()));
        Tensor { graph: self.clone(), name }
    }

    /// The program that returns these values as `out0`, `out1` and so on.
    ///
    /// # Errors
    /// Everything that is wrong with the calls, in their order.
    #[track_caller]
    pub fn build(&self, results: impl IntoIterator<Item = impl Into<Elementwise>>) -> Result<Program, Vec<Fault>> {
        let results: Vec<Number> = results.into_iter().map(|result| result.into().value).collect();
        tree::build(&self.recorder.borrow(), &results, Location::caller(), &Options::default())
    }

    /// A name that no tensor has yet.
    fn fresh(&self, wanted: &str) -> String {
        let names = &mut self.recorder.borrow_mut().names;
        let mut name = wanted.to_owned();
        let mut number = 0;
        while names.contains(&name) {
            number += 1;
            name = format!("{wanted}{number}");
        }
        names.push(name.clone());
        name
    }

    fn push(&self, what: What, place: &'static Location<'static>) {
        self.recorder.borrow_mut().steps.push(Step { what, place });
    }
}

/// What is wrong with a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The diagnostic; its span means nothing.
    pub diagnostic: Diagnostic,
    /// The call.
    pub place: &'static Location<'static>,
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.diagnostic.code, self.diagnostic.message)
    }
}

impl std::error::Error for Fault {}

/// An input, the result of a contraction, or a named value.
#[derive(Debug, Clone)]
pub struct Tensor {
    graph: Graph,
    name: String,
}

impl Tensor {
    /// Bind the sizes of the tensor: unbound ones get its extents, bound ones and integers are compared with them.
    #[track_caller]
    pub fn bind_dims(&self, sizes: impl Dims) {
        let what = What::Bind { tensor: self.name.clone(), sizes: sizes.sizes() };
        self.graph.push(what, Location::caller());
    }

    /// An element, in a contraction.
    pub fn at(&self, index: impl Indices) -> Access {
        Access { graph: self.graph.clone(), name: self.name.clone(), index: index.indices() }
    }
}

/// An element of a tensor.
#[derive(Debug, Clone)]
pub struct Access {
    graph: Graph,
    name: String,
    index: Vec<Affine>,
}

impl Access {
    /// 1 where the elements are equal, else 0.
    pub fn equals(self, other: Access) -> Combination {
        Combination { form: Form::Two("=="), accesses: vec![self, other] }
    }
}

impl std::ops::Mul for Access {
    type Output = Combination;
    fn mul(self, other: Access) -> Combination {
        Combination { form: Form::Two("*"), accesses: vec![self, other] }
    }
}

impl std::ops::Add for Access {
    type Output = Combination;
    fn add(self, other: Access) -> Combination {
        Combination { form: Form::Two("+"), accesses: vec![self, other] }
    }
}

/// Up to three elements, combined.
#[derive(Debug, Clone)]
pub struct Combination {
    form: Form,
    accesses: Vec<Access>,
}

impl From<Access> for Combination {
    fn from(access: Access) -> Combination {
        Combination { form: Form::One, accesses: vec![access] }
    }
}

/// `c` where `a == b`, else 0.
pub fn cond(a: Access, b: Access, c: Access) -> Combination {
    Combination { form: Form::Cond, accesses: vec![a, b, c] }
}

/// A result that is yet to be computed by one contraction.
#[derive(Debug, Clone)]
pub struct TensorOutput {
    name: &'static str,
    sizes: Vec<Size>,
}

impl TensorOutput {
    /// A result of these extents; `()` for a scalar.
    pub fn new(sizes: impl Dims) -> TensorOutput {
        TensorOutput { name: "O", sizes: sizes.sizes() }
    }

    /// The same with a name of its own.
    #[must_use]
    pub fn named(self, name: &'static str) -> TensorOutput {
        TensorOutput { name, ..self }
    }

    /// The element that a contraction writes; `()` for a scalar.
    pub fn at(self, index: impl Indices) -> Target {
        Target { output: self, index: index.indices() }
    }
}

/// The left side of a contraction.
#[derive(Debug, Clone)]
pub struct Target {
    output: TensorOutput,
    index: Vec<Affine>,
}

impl Target {
    /// `+=`: the sum over all valid indices.
    #[track_caller]
    pub fn sum(self, value: impl Into<Combination>) -> Contraction {
        self.contract("+=", value.into())
    }

    /// `*=`: the product over all valid indices.
    #[track_caller]
    pub fn product(self, value: impl Into<Combination>) -> Contraction {
        self.contract("*=", value.into())
    }

    /// `>=`: the largest over all valid indices.
    #[track_caller]
    pub fn max(self, value: impl Into<Combination>) -> Contraction {
        self.contract(">=", value.into())
    }

    /// `<=`: the smallest over all valid indices.
    #[track_caller]
    pub fn min(self, value: impl Into<Combination>) -> Contraction {
        self.contract("<=", value.into())
    }

    /// `=`: the only valid one.
    #[track_caller]
    pub fn assign(self, value: impl Into<Combination>) -> Contraction {
        self.contract("=", value.into())
    }

    #[track_caller]
    fn contract(self, operator: &'static str, combination: Combination) -> Contraction {
        let graph = combination.accesses[0].graph.clone();
        let statement = Statement {
            name: graph.fresh(self.output.name),
            sizes: self.output.sizes,
            index: self.index,
            operator,
            combination,
            constraints: Vec::new(),
            default: None,
        };
        Contraction { graph, statement: Box::new(statement), place: Location::caller() }
    }
}

/// A contraction, which may be constrained before it is built.
#[derive(Debug, Clone)]
#[must_use = "a contraction does nothing before it is built"]
pub struct Contraction {
    graph: Graph,
    statement: Box<Statement>,
    place: &'static Location<'static>,
}

impl Contraction {
    /// Only indices with `0 <= index < bound` are valid.
    pub fn constrain(mut self, index: impl Into<Affine>, bound: impl Into<Size>) -> Contraction {
        self.statement.constraints.push((index.into(), bound.into()));
        self
    }

    /// Elements without a valid index are those of this tensor, instead of 0.
    pub fn use_default(mut self, tensor: &Tensor) -> Contraction {
        self.statement.default = Some(tensor.name.clone());
        self
    }

    /// The result.
    pub fn build(self) -> Tensor {
        let name = self.statement.name.clone();
        self.graph.push(What::Contract(self.statement), self.place);
        Tensor { graph: self.graph, name }
    }
}
