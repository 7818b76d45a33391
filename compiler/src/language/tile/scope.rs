//! Names of a function and their meaning during lowering, and integer arithmetic on sizes.

use super::ast::{Expression, Form, Operator};
use super::lower::Lowering;
use crate::tensor::TensorId;
use arch::{Code, Diagnostic, Span};

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Entry {
    /// `TensorDim()`: without a value until it is bound.
    Unbound,
    /// A bound size or an integer.
    Integer(i64),
    Index,
    /// An input.
    Input(TensorId),
    /// A result of element-wise work.
    Value(TensorId),
    /// `TensorOutput(...)` before its contraction.
    Declared {
        shape: Vec<u32>,
    },
    /// A contraction's result.
    Contracted(TensorId),
    /// Something went wrong with it; reported already.
    Broken,
}

impl Entry {
    /// The tensor, if it is one with values.
    pub(super) fn tensor(&self) -> Option<TensorId> {
        match self {
            Entry::Input(tensor) | Entry::Value(tensor) | Entry::Contracted(tensor) => Some(*tensor),
            _ => None,
        }
    }
}

impl<'s> Lowering<'s, '_> {
    /// The integer that a size expression stands for.
    pub(super) fn size(&mut self, expression: &Expression<'s>) -> Option<i64> {
        let fault =
            |code: Code, message: String| Diagnostic::new(code, expression.span, message).with_label("in a size");
        let value = match &expression.form {
            Form::Integer(value) => Some(*value),
            Form::Name(name) => match self.lookup(*name)? {
                Entry::Integer(value) => Some(value),
                Entry::Unbound => {
                    self.report(
                        fault(Code::Undef, format!("the size `{}` is not bound", name.text))
                            .with_help(format!("bind it: `I.bind_dims({}, ...)`", name.text)),
                    );
                    return None;
                }
                Entry::Broken => return None,
                _ => {
                    self.report(fault(Code::Kind, format!("`{}` is not a size", name.text)));
                    return None;
                }
            },
            Form::Negate(count, value) => {
                let value = self.size(value)?;
                if count % 2 == 0 { Some(value) } else { value.checked_neg() }
            }
            Form::Chain { first, rest } => return self.size_chain(first, rest, expression.span),
            _ => {
                self.report(fault(Code::Kind, "a size is made of integers with + - * //".into()));
                return None;
            }
        };
        value.filter(|value| value.abs() < 1 << 40).or_else(|| {
            self.report(fault(Code::Const, "this size does not fit".into()));
            None
        })
    }

    /// `first operator operand ...`, of sizes: `//` rounds down.
    pub(super) fn size_chain(
        &mut self,
        first: &Expression<'s>,
        rest: &[(Operator, Expression<'s>)],
        place: Span,
    ) -> Option<i64> {
        let fault = |code: Code, message: &str| Diagnostic::new(code, place, message).with_label("in a size");
        let mut left = self.size(first)?;
        for (operator, operand) in rest {
            let right = self.size(operand)?;
            left = match operator {
                Operator::Add => left.checked_add(right),
                Operator::Sub => left.checked_sub(right),
                Operator::Mul => left.checked_mul(right),
                Operator::FloorDiv if right == 0 => {
                    self.report(Diagnostic::new(Code::Const, operand.span, "division by zero").with_label("zero"));
                    return None;
                }
                Operator::FloorDiv => {
                    Some(left.div_euclid(right) - i64::from(right < 0 && left.rem_euclid(right) != 0))
                }
                _ => {
                    self.report(fault(Code::Kind, "a size is made of integers with + - * //"));
                    return None;
                }
            }
            .filter(|value| value.abs() < 1 << 40)
            .or_else(|| {
                self.report(fault(Code::Const, "this size does not fit"));
                None
            })?;
        }
        Some(left)
    }

    /// How many operands after the first one belong to a size that the chain begins with: 2 of `N * M // 2 * i`, which is
    /// `(N * M // 2) * i`. `None` if the first operand is no size.
    pub(super) fn leading_size(&self, first: &Expression<'s>, rest: &[(Operator, Expression<'s>)]) -> Option<usize> {
        let operator = |operator: &Operator| {
            matches!(operator, Operator::Add | Operator::Sub | Operator::Mul | Operator::FloorDiv)
        };
        let size = |(op, operand): &&(Operator, Expression<'s>)| operator(op) && self.is_size(operand);
        self.is_size(first).then(|| rest.iter().take_while(size).count())
    }

    /// Whether an expression is made of sizes only, with operators that sizes have.
    pub(super) fn is_size(&self, expression: &Expression<'s>) -> bool {
        match &expression.form {
            Form::Integer(_) => true,
            Form::Name(name) => matches!(self.entry(name.text), Some(Entry::Integer(_) | Entry::Unbound)),
            Form::Negate(_, value) => self.is_size(value),
            Form::Chain { first, rest } => self.leading_size(first, rest) == Some(rest.len()),
            _ => false,
        }
    }

    /// Sizes as extents.
    pub(super) fn extents(&mut self, sizes: &[Expression<'s>]) -> Option<Vec<u32>> {
        let sizes: Vec<(Option<i64>, Span)> = sizes.iter().map(|size| (self.size(size), size.span)).collect();
        let mut shape = Vec::new();
        for (size, span) in sizes {
            let size = size?;
            if size < 1 {
                self.report(
                    Diagnostic::new(Code::Shape, span, format!("an extent is at least 1, not {size}"))
                        .with_label("no elements"),
                );
                return None;
            }
            shape.push(u32::try_from(size).unwrap_or(u32::MAX));
        }
        Some(shape)
    }
}
