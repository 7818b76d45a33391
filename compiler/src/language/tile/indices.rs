//! Indices of a contraction: rational affine forms over its index variables, and the conditions that they put on these.
//!
//! ```text
//! O[i] += I[(i - 1) // 2]     i - 1 over 2     =>     a variable q with i - 1 - 2q = 0 and 0 <= q < extent of I
//! ```
//!
//! A part without index variables is a size and has the value of one: in `I[i + N // 2]` the division rounds down.

use super::ast::{Expression, Form as Syntax, Operator};
use super::lower::Lowering;
use super::scope::Entry;
use super::space::{Condition, Form, LARGEST, gcd};
use arch::{Code, Diagnostic, Span};

/// Index variables that a contraction may have, as a multiple of the dimensions of a tensor.
const LOOPS: usize = 4;

/// An index over the rationals: `form / divisor`, in lowest terms.
#[derive(Debug, Clone)]
pub(super) struct Ratio {
    pub(super) form: Form,
    pub(super) divisor: i128,
}

impl Ratio {
    fn new(form: Form, divisor: i128) -> Option<Ratio> {
        let (form, divisor) =
            if divisor < 0 { (form.combined(-1, 0, &Form::default()), -divisor) } else { (form, divisor) };
        let common = form.terms.values().fold(gcd(divisor, form.offset.abs()), |common, c| gcd(common, c.abs()));
        let terms = form.terms.iter().map(|(&variable, c)| (variable, c / common)).collect();
        let form = Form { offset: form.offset / common, terms };
        (form.is_small() && divisor <= LARGEST).then_some(Ratio { form, divisor: divisor / common })
    }

    fn constant(&self) -> Option<i128> {
        (self.form.terms.is_empty() && self.divisor == 1).then_some(self.form.offset)
    }
}

/// The index space under construction.
#[derive(Default)]
pub(super) struct Indices<'s> {
    /// Names of the variables; those that stand for a quotient or an output index have a made-up name.
    pub(super) names: Vec<String>,
    /// Which of them the program has named.
    pub(super) known: Vec<(&'s str, usize)>,
    /// `0 <= form < bound`; a bound of 1 is an equation.
    pub(super) conditions: Vec<Condition>,
}

impl<'s> Indices<'s> {
    /// The number of a variable; `None` if there are too many.
    fn variable(&mut self, name: &'s str, most: usize) -> Option<usize> {
        if let Some(&(_, number)) = self.known.iter().find(|(known, _)| *known == name) {
            return Some(number);
        }
        if self.known.len() >= most {
            return None;
        }
        self.known.push((name, self.names.len()));
        Some(self.fresh(name.to_string()))
    }

    pub(super) fn fresh(&mut self, name: String) -> usize {
        self.names.push(name);
        self.names.len() - 1
    }

    /// An index inside an extent; one with a divisor becomes a variable of its own.
    pub(super) fn inside(&mut self, index: Ratio, extent: u32) -> Form {
        let extent = i128::from(extent);
        if index.divisor == 1 {
            self.conditions.push((index.form.clone(), extent));
            return index.form;
        }
        let quotient = self.fresh(format!("q{}", self.names.len()));
        let form = Form::variable(quotient);
        self.conditions.push((index.form.combined(1, -index.divisor, &form), 1));
        self.conditions.push((form.clone(), extent));
        form
    }
}

impl<'s> Lowering<'s, '_> {
    pub(super) fn ratios(&mut self, index: &[Expression<'s>], indices: &mut Indices<'s>) -> Option<Vec<Ratio>> {
        let ratios: Vec<_> = index.iter().map(|index| self.ratio(index, indices)).collect();
        ratios.into_iter().collect()
    }

    /// The rational affine form of an index expression.
    pub(super) fn ratio(&mut self, expression: &Expression<'s>, indices: &mut Indices<'s>) -> Option<Ratio> {
        let ratio = match &expression.form {
            _ if self.is_size(expression) => Ratio::new(Form::constant(i128::from(self.size(expression)?)), 1),
            Syntax::Name(name) => match self.lookup(*name)? {
                Entry::Index => {
                    let most = LOOPS * self.limits().rank;
                    let Some(variable) = indices.variable(name.text, most) else {
                        let message = format!("a contraction has at most {most} index variables");
                        self.report(Diagnostic::new(Code::Limit, name.span, message).with_label("one more"));
                        return None;
                    };
                    Ratio::new(Form::variable(variable), 1)
                }
                Entry::Broken => return None,
                _ => {
                    self.report(affine(Code::NonAffine, "a tensor is not an index", name.span));
                    return None;
                }
            },
            Syntax::Negate(count, value) => {
                let value = self.ratio(value, indices)?;
                if count % 2 == 0 {
                    Some(value)
                } else {
                    Ratio::new(value.form.combined(-1, 0, &Form::default()), value.divisor)
                }
            }
            Syntax::Chain { first, rest } => {
                let sizes = self.leading_size(first, rest);
                let mut left = match sizes {
                    None => self.ratio(first, indices)?,
                    Some(sizes) => {
                        let size = self.size_chain(first, &rest[..sizes], expression.span)?;
                        Ratio { form: Form::constant(i128::from(size)), divisor: 1 }
                    }
                };
                for (operator, operand) in &rest[sizes.unwrap_or(0)..] {
                    let right = self.ratio(operand, indices)?;
                    let place = expression.span;
                    left = self.combined(*operator, left, &right, place)?;
                }
                Some(left)
            }
            _ => {
                self.report(affine(Code::NonAffine, "this index is not affine", expression.span));
                return None;
            }
        };
        ratio.or_else(|| {
            self.report(affine(Code::Const, "the numbers in this index are too large", expression.span));
            None
        })
    }
    /// `left operator right`
    fn combined(&mut self, operator: Operator, left: Ratio, right: &Ratio, place: Span) -> Option<Ratio> {
        match (operator, left.constant(), right.constant()) {
            (Operator::Add | Operator::Sub, _, _) => {
                let sign = if operator == Operator::Add { 1 } else { -1 };
                let form = left.form.combined(right.divisor, sign * left.divisor, &right.form);
                Ratio::new(form, left.divisor * right.divisor)
            }
            (Operator::Mul, Some(factor), _) => {
                Ratio::new(right.form.combined(factor, 0, &Form::default()), right.divisor)
            }
            (Operator::Mul, _, Some(factor)) => {
                Ratio::new(left.form.combined(factor, 0, &Form::default()), left.divisor)
            }
            (Operator::FloorDiv, _, Some(0)) => {
                self.report(affine(Code::Const, "an index is divided by zero", place));
                return None;
            }
            (Operator::FloorDiv, _, Some(divisor)) => Ratio::new(left.form, left.divisor * divisor),
            _ => {
                self.report(affine(Code::NonAffine, "this index is not affine", place));
                return None;
            }
        }
        .or_else(|| {
            self.report(affine(Code::Const, "the numbers in this index are too large", place));
            None
        })
    }
}

fn affine(code: Code, message: &str, span: Span) -> Diagnostic {
    Diagnostic::new(code, span, message)
        .with_label("in an index")
        .with_help("an index is a sum of index variables times integers")
}
