//! Syntax tree of the tensor model language.
//!
//! ```text
//! var input A : [3 4]             Declaration
//! elem [A C] 200 first            Elements
//! C = (A # B) . [2 3] + D         Statement; its expression is a first operand and a list of tails, from left to right
//! ```

use arch::Span;

/// A name and where it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Name<'s> {
    pub(super) text: &'s str,
    pub(super) span: Span,
}

/// A number and where it stands.
pub(super) type Number = (i64, Span);

/// A file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Program<'s> {
    pub(super) types: Vec<Type<'s>>,
    pub(super) declarations: Vec<Declaration<'s>>,
    pub(super) elements: Option<Elements<'s>>,
    pub(super) statements: Vec<Statement<'s>>,
}

/// `elem [A C] 200 first`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Elements<'s> {
    /// Variables that have a value for each element.
    pub(super) names: Vec<Name<'s>>,
    pub(super) count: Number,
    /// Whether their new dimension is the first one; else it is the last.
    pub(super) first: bool,
    pub(super) span: Span,
}

/// `type T : [2 3]`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Type<'s> {
    pub(super) name: Name<'s>,
    pub(super) shape: Shape<'s>,
}

/// Extents, or the name of a type that has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape<'s> {
    Extents(Vec<Number>),
    Named(Name<'s>),
}

/// `var input output x : [2 3]`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declaration<'s> {
    pub(super) input: bool,
    pub(super) output: bool,
    pub(super) name: Name<'s>,
    pub(super) shape: Shape<'s>,
}

/// `target = value`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement<'s> {
    pub(super) target: Name<'s>,
    pub(super) value: Expression<'s>,
    pub(super) span: Span,
}

/// An operand and what is applied to it, from left to right.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expression<'s> {
    pub(super) first: Operand<'s>,
    pub(super) tails: Vec<Tail<'s>>,
    pub(super) span: Span,
}

/// A variable, a number, values on top of each other, or an expression in parentheses.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Operand<'s> {
    Name(Name<'s>),
    Integer(i64),
    /// `[a b c]`, with a dimension more in front.
    Stack(Vec<Expression<'s>>, Span),
    Group(Box<Expression<'s>>),
}

/// An operator and its right side.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tail<'s> {
    pub(super) form: Form<'s>,
    /// The operator.
    pub(super) span: Span,
    /// Where its right side ends.
    pub(super) end: usize,
    /// Whether it comes from a list of pairs, which is contracted of the whole product before it.
    pub(super) listed: bool,
}

/// The operators.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form<'s> {
    Binary(Operator, Operand<'s>),
    /// `. [m n]`: sum over equal indices.
    Contract(Number, Number),
    /// `^ [m n]`: exchange two dimensions.
    Exchange(Number, Number),
}

impl Form<'_> {
    /// How strongly it binds.
    pub(super) fn strength(&self) -> u8 {
        match self {
            Form::Binary(Operator::Add | Operator::Sub, _) => 1,
            Form::Binary(Operator::Mul | Operator::Div, _) => 2,
            Form::Binary(Operator::Outer, _) => 3,
            Form::Contract(..) => 4,
            Form::Exchange(..) => 5,
        }
    }
}

/// Operators on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    /// `#`
    Outer,
}

impl Operator {
    /// As it is written.
    pub(super) fn sign(self) -> char {
        match self {
            Operator::Add => '+',
            Operator::Sub => '-',
            Operator::Mul => '*',
            Operator::Div => '/',
            Operator::Outer => '#',
        }
    }
}
