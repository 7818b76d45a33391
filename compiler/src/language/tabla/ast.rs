//! Syntax tree of TABLA: what stands in the file, names unresolved.
//!
//! ```text
//! model_input x[m];            Declare { role: Input, .. }
//! gradient g[m] -> w;          Link
//! iterator i[0:m];             Iterate
//! h = sum[i](w[i] * x[i]);     Assign
//! minimize squared(h, y);      Minimize
//! ```

use crate::tensor::Function;
use arch::Span;

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Name<'s> {
    pub(super) text: &'s str,
    pub(super) span: Span,
}

/// Statements and declarations, in source order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item<'s> {
    /// `model_input x[m], y;` and its two sisters.
    Declare { role: Declared, variables: Vec<Variable<'s>> },
    /// `gradient g[m] -> w, ...;`
    Link(Vec<(Variable<'s>, Variable<'s>)>),
    /// `iterator i[0:m], ...;`
    Iterate(Vec<Iterator<'s>>),
    /// `v[i] = e;`, also the definition of a constant.
    Assign { target: Variable<'s>, value: Expression<'s>, span: Span },
    /// `minimize e;`
    Minimize { value: Expression<'s>, span: Span },
}

/// The data types without a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declared {
    Input,
    Output,
    Model,
}

/// A name with subscripts: `w[i][0]`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable<'s> {
    pub(super) name: Name<'s>,
    pub(super) subscripts: Vec<Bound<'s>>,
    pub(super) span: Span,
}

/// A name or an integer: extents, iterator bounds, subscripts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound<'s> {
    Name(Name<'s>),
    Integer(i64, Span),
}

impl Bound<'_> {
    pub(super) fn span(&self) -> Span {
        match self {
            Bound::Name(name) => name.span,
            Bound::Integer(_, span) => *span,
        }
    }
}

/// `i[low:high]`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Iterator<'s> {
    pub(super) name: Name<'s>,
    pub(super) low: Bound<'s>,
    pub(super) high: Bound<'s>,
    pub(super) span: Span,
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression<'s> {
    pub(super) form: Form<'s>,
    pub(super) span: Span,
}

/// The forms of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form<'s> {
    /// `2`, `0.5`; an integer literal may be a constant's definition and a dimension.
    Number { value: f64, integer: bool },
    /// `x[i]`
    Variable(Variable<'s>),
    /// `a + b - c`: operators of one precedence, from left to right. A list, so that a long sum is not a deep tree.
    Chain { first: Box<Expression<'s>>, rest: Vec<(Operator, Expression<'s>)> },
    /// `sum[i](e)`, `norm(e)`
    Group { kind: Group, iterator: Option<Name<'s>>, open: Span, body: Box<Expression<'s>> },
    /// `sigmoid(e)`; an iterator is an error that is reported later, with a better message.
    Call { function: Function, iterator: Option<Name<'s>>, body: Box<Expression<'s>> },
    /// `squared(h, y)`: only in what is minimised.
    Loss { loss: Name<'s>, prediction: Variable<'s>, label: Variable<'s> },
}

/// Operators on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Less,
    Greater,
}

/// Operators over an iterator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Sum,
    Product,
    Norm,
}

impl Group {
    /// As it is written.
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Group::Sum => "sum",
            Group::Product => "pi",
            Group::Norm => "norm",
        }
    }
}
