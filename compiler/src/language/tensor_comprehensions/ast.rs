//! Syntax tree of Tensor Comprehensions.
//!
//! ```text
//! def mv(float(M,N) A, float(N) x) -> (y) {      Function { parameters, results, statements }
//!   y(i) +=! A(i,j) * x(j) where j in 0:N        Statement::Assign { target, index, operator, value, clauses }
//!   z = other(y)                                 Statement::Assign, or Call if it has several names on the left
//! }
//! ```

use super::types::Type;
use crate::tensor::Function as OfNumbers;
use arch::Span;

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Name<'s> {
    pub(super) text: &'s str,
    pub(super) span: Span,
}

/// `def NAME(parameters) -> (results) { statements }`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function<'s> {
    pub(super) name: Name<'s>,
    pub(super) parameters: Vec<Declaration<'s>>,
    pub(super) results: Vec<Outcome<'s>>,
    pub(super) statements: Vec<Statement<'s>>,
}

/// `float(M,N) A`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declaration<'s> {
    pub(super) kind: Type,
    pub(super) extents: Vec<Extent<'s>>,
    pub(super) name: Name<'s>,
}

/// A result, perhaps with a type that is checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome<'s> {
    Inferred(Name<'s>),
    Annotated(Declaration<'s>),
}

impl<'s> Outcome<'s> {
    pub(super) fn name(&self) -> Name<'s> {
        match self {
            Outcome::Inferred(name) => *name,
            Outcome::Annotated(declaration) => declaration.name,
        }
    }
}

/// An extent in a type: a size variable or an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Extent<'s> {
    Name(Name<'s>),
    Integer(i64, Span),
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement<'s> {
    Assign(Assign<'s>),
    Scatter(Scatter<'s>),
    /// `a, b = f(x, y)`
    Call {
        targets: Vec<Name<'s>>,
        function: Name<'s>,
        arguments: Vec<Name<'s>>,
    },
}

/// `target(index) operator value where clauses`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Assign<'s> {
    pub(super) target: Name<'s>,
    /// `None` if there are no parentheses.
    pub(super) index: Option<Vec<Name<'s>>>,
    pub(super) operator: Operator,
    pub(super) value: Expression<'s>,
    pub(super) clauses: Vec<Clause<'s>>,
    pub(super) span: Span,
}

/// `target(places) operator value where clauses`, where a place is a number or computed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scatter<'s> {
    pub(super) target: Name<'s>,
    pub(super) places: Vec<Expression<'s>>,
    pub(super) operator: Operator,
    pub(super) value: Expression<'s>,
    pub(super) clauses: Vec<Clause<'s>>,
    pub(super) span: Span,
}

/// `=`, `+=`, `max=!` ...
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Assign,
    Reduce { reduction: Reduction, initialise: bool },
}

/// Reduction operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    Add,
    Mul,
    Min,
    Max,
}

/// A clause after `where`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Clause<'s> {
    /// `i in low:high`
    Range { name: Name<'s>, low: Expression<'s>, high: Expression<'s> },
    /// `x = e`
    Let { name: Name<'s>, value: Expression<'s> },
    /// `exists e`
    Exists(Expression<'s>),
}

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression<'s> {
    pub(super) form: Form<'s>,
    pub(super) span: Span,
}

/// The forms of an expression. Operators of one level are lists, so that a long sum is not a deep tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form<'s> {
    Integer(i64),
    Float(f64),
    /// `x`
    Name(Name<'s>),
    /// `A.1`
    Extent {
        tensor: Name<'s>,
        dimension: usize,
    },
    /// `f(a, b)`: an access or a function.
    Apply {
        name: Name<'s>,
        arguments: Vec<Expression<'s>>,
    },
    /// `int32(e)`
    Cast {
        kind: Type,
        value: Box<Expression<'s>>,
    },
    /// `a + b - c`
    Chain {
        first: Box<Expression<'s>>,
        rest: Vec<(Binary, Expression<'s>)>,
    },
    /// `-!x`, outermost first.
    Prefix {
        operators: Vec<Prefix>,
        value: Box<Expression<'s>>,
    },
    /// `a ? b : c ? d : e`
    Choice {
        cases: Vec<(Expression<'s>, Expression<'s>)>,
        otherwise: Box<Expression<'s>>,
    },
}

/// Operators before a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Neg,
    Not,
    Invert,
}

/// Operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    ShiftLeft,
    ShiftRight,
    BitAnd,
    BitXor,
    BitOr,
}

impl Binary {
    /// The function of bits that it is, if it is one.
    pub(super) fn of_bits(self) -> Option<OfNumbers> {
        match self {
            Binary::ShiftLeft => Some(OfNumbers::ShiftLeft),
            Binary::ShiftRight => Some(OfNumbers::ShiftRight),
            Binary::BitAnd => Some(OfNumbers::BitAnd),
            Binary::BitXor => Some(OfNumbers::BitXor),
            Binary::BitOr => Some(OfNumbers::BitOr),
            _ => None,
        }
    }

    pub(super) fn is_logical(self) -> bool {
        matches!(self, Binary::Or | Binary::And)
    }

    pub(super) fn is_comparison(self) -> bool {
        matches!(self, Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne)
    }
}
