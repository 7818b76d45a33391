//! Syntax tree of Tile's text form.
//!
//! ```text
//! def f(I):                            Function { parameters, statements }
//!   M, N = TensorDims(2)               Assign { targets, values }
//!   I.bind_dims(M, N)                  Method { object, method, arguments }
//!   O[n] += I[m, n]                    Contract { target, index, operator, value }
//!   return O / M                       Return
//! ```

use arch::Span;

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Name<'s> {
    pub(super) text: &'s str,
    pub(super) span: Span,
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function<'s> {
    pub(super) name: Name<'s>,
    pub(super) parameters: Vec<Name<'s>>,
    pub(super) statements: Vec<Statement<'s>>,
}

/// A logical line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement<'s> {
    Return(Vec<Expression<'s>>, Span),
    Method {
        object: Name<'s>,
        method: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    Contract {
        target: Name<'s>,
        index: Vec<Expression<'s>>,
        operator: &'s str,
        value: Expression<'s>,
        span: Span,
    },
    /// `O = Contraction().outShape(N)...build()`
    Built {
        target: Name<'s>,
        links: Vec<(Name<'s>, Vec<Expression<'s>>)>,
        span: Span,
    },
    Assign {
        targets: Vec<Name<'s>>,
        values: Vec<Expression<'s>>,
        span: Span,
    },
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression<'s> {
    pub(super) form: Form<'s>,
    pub(super) span: Span,
}

/// The forms of an expression; operators of one level are lists, so that a long sum is not a deep tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form<'s> {
    Integer(i64),
    Float(f64),
    Name(Name<'s>),
    /// `I[m, n]`; `O[()]` has no index.
    Access {
        tensor: Name<'s>,
        index: Vec<Expression<'s>>,
    },
    /// `exp(x)`
    Call {
        function: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    /// `[a, b]`
    List(Vec<Expression<'s>>),
    /// `-x`, so many times.
    Negate(usize, Box<Expression<'s>>),
    /// `~x`
    Invert(Box<Expression<'s>>),
    Chain {
        first: Box<Expression<'s>>,
        rest: Vec<(Operator, Expression<'s>)>,
    },
}

/// Operators on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitXor,
    BitOr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
}
