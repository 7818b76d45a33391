//! Functions that programs spell by exponentials become those of the table.
//!
//! The meaning is the same. In words it is not: an exponential spans so many powers of two that a sum of it and 1 has lost one of the two.

use super::expr::Expr;
use super::expr::linear::{Term, term_expr, terms};
use super::flow::{Flow, Known};
use crate::tensor::{Binary, Function, Node, Program, Unary};

/// Replace quotients and logarithms of two exponentials, one of which may be a constant; names in between are looked through.
///
/// ```text
/// 1 / (1 + exp(-x)),  exp(x) / (1 + exp(x)),  pow(1 + exp(-x), -1)     =>  sigmoid(x)
/// x / (1 + exp(-x))                                                    =>  x * sigmoid(x)
/// (exp(x) - exp(-x)) / (exp(x) + exp(-x))                              =>  tanh(x)
/// sinh(x) / cosh(x)                                                    =>  tanh(x)
/// log(1 + exp(x)),  log1p(exp(x)),  -log(sigmoid(-x))                  =>  max(x, 0) + log1p(exp(-|x|))
/// ```
pub fn recognise_functions(program: &Program) -> Program {
    let flow = Flow::of(program);
    let mut result = program.clone();
    for (number, nest) in result.nests.iter_mut().enumerate() {
        let candidate = |node: &Node| {
            matches!(
                node,
                Node::Binary(Binary::Div | Binary::Min | Binary::Max, ..)
                    | Node::Select { .. }
                    | Node::Call(Function::Log | Function::Log1p | Function::Pow, _)
            )
        };
        if nest.body.nodes.iter().any(candidate) {
            let known = Known { program, flow: &flow, reader: number };
            let body = Expr::from_body(&nest.body);
            let recognised = body.clone().map(&mut |e| known.recognised(&e).unwrap_or(e));
            if recognised != body {
                nest.body = recognised.to_body();
            }
        }
    }
    result
}

/// Definitions that are followed, one after the other.
const DEPTH: u32 = 8;
/// `coefficient * exp(exponent)`; a constant has the exponent 0.
struct Exponential {
    coefficient: f64,
    exponent: Expr,
}

/// `low * exp(of low) + high * exp(of high)`, both positive: `low * exp(of low) * (1 + exp(difference))`.
struct Pair {
    low: Exponential,
    high: Exponential,
    /// Exponent of the second, less that of the first, with the logarithm of the quotient of the coefficients.
    difference: Expr,
}

const ZERO: Expr = Expr::Constant(0.0);

impl Known<'_> {
    /// The expression by a function of the table.
    fn recognised(&self, e: &Expr) -> Option<Expr> {
        match e {
            Expr::Binary(Binary::Div, dividend, divisor) => self.quotient(dividend, divisor),
            Expr::Binary(operation @ (Binary::Min | Binary::Max), a, b) => {
                let (end, of) = match (self.constant(a), self.constant(b)) {
                    (Some(end), None) => (end, b),
                    (None, Some(end)) => (end, a),
                    _ => return None,
                };
                self.bounded(end, of, if *operation == Binary::Min { 1.0 } else { -1.0 })
            }
            Expr::Select(parts) => self.chosen(parts),
            Expr::Call(Function::Pow, arguments) if self.constant(&arguments[1]) == Some(-1.0) => {
                self.quotient(&Expr::Constant(1.0), &arguments[0])
            }
            // The exponent decides how a power is computed.
            Expr::Call(Function::Pow, arguments) if matches!(arguments[1], Expr::Read(..)) => {
                let exponent = Expr::Constant(self.constant(&arguments[1])?);
                Some(Expr::Call(Function::Pow, vec![arguments[0].clone(), exponent]))
            }
            Expr::Call(Function::Log, arguments) => self.logarithm(&arguments[0]),
            Expr::Call(Function::Log1p, arguments) => {
                self.logarithm(&Expr::add(Expr::Constant(1.0), arguments[0].clone()))
            }
            _ => None,
        }
    }

    /// `min(end, constant + factor * exp(x))`, which reads no exponential above the end; `sign` is that of the factor, -1 in a maximum.
    fn bounded(&self, end: f64, e: &Expr, sign: f64) -> Option<Expr> {
        let (constant, exponential) = self.one_exponential(e)?;
        let largest = (end - constant) / exponential.coefficient;
        let is_bounded = exponential.coefficient * sign > 0.0 && largest > 0.0 && largest.is_finite();
        is_bounded.then(|| near(constant, exponential, libm::log(largest)))
    }

    /// `select(x > end, one, constant + factor * exp(x))`, which reads no exponential above the end.
    fn chosen(&self, [condition, one, other]: &[Expr; 3]) -> Option<Expr> {
        let compared = match condition {
            Expr::Read(tensor, index) => self.definition(*tensor, index)?,
            e => e.clone(),
        };
        let Expr::Binary(operation, a, b) = compared else { return None };
        let (x, end, is_above) = match (operation, self.constant(&a), self.constant(&b)) {
            (Binary::Gt | Binary::Ge, None, Some(end)) => (a, end, true),
            (Binary::Lt | Binary::Le, None, Some(end)) => (a, end, false),
            (Binary::Lt | Binary::Le, Some(end), None) => (b, end, true),
            (Binary::Gt | Binary::Ge, Some(end), None) => (b, end, false),
            _ => return None,
        };
        let (constant, exponential) = self.one_exponential(if is_above { other } else { one })?;
        if !self.equal(&x, &exponential.exponent) {
            return None;
        }
        let near = near(constant, exponential, end);
        let (one, other) = if is_above { (one.clone(), near) } else { (near, other.clone()) };
        Some(Expr::Select(Box::new([condition.clone(), one, other])))
    }

    /// A constant and one exponential, whose sum the expression is.
    fn one_exponential(&self, e: &Expr) -> Option<(f64, Exponential)> {
        let mut found = self.exponentials(e)?;
        let constant = found.iter().position(|part| part.exponent == ZERO).map(|at| found.swap_remove(at).coefficient);
        let exponential = found.pop().filter(|_| found.is_empty())?;
        Some((constant.unwrap_or(0.0), exponential))
    }

    fn quotient(&self, dividend: &Expr, divisor: &Expr) -> Option<Expr> {
        let Pair { low, high, difference } = self.pair(divisor)?;
        let sigmoid = |of: Expr| Expr::Call(Function::Sigmoid, vec![of]);
        let Some((a, b)) = self.coefficients(dividend, &low, &high) else {
            // Another dividend, over a constant and an exponential.
            let scaled = Expr::mul(Expr::Constant(1.0 / low.coefficient), dividend.clone());
            let dividend = if low.coefficient == 1.0 { dividend.clone() } else { scaled };
            return (low.exponent == ZERO).then(|| Expr::mul(dividend, sigmoid(Expr::neg(difference))));
        };
        let times = |factor: f64, of: Expr| if factor == 1.0 { of } else { Expr::mul(Expr::Constant(factor), of) };
        let (below, above) = (a / low.coefficient, b / high.coefficient);
        Some(if below == above {
            Expr::Constant(below)
        } else if below == 0.0 {
            times(above, sigmoid(difference))
        } else if above == 0.0 {
            times(below, sigmoid(Expr::neg(difference)))
        } else if below == -above {
            let half = Expr::mul(Expr::Constant(0.5_f64.copysign(above)), difference);
            times(above.abs(), Expr::Call(Function::Tanh, vec![sum(&terms(&half))]))
        } else {
            Expr::add(Expr::Constant(below), times(above - below, sigmoid(difference)))
        })
    }

    fn logarithm(&self, of: &Expr) -> Option<Expr> {
        let (constant, exponent, softplus) = if let Some(Pair { low, difference, .. }) = self.pair(of) {
            (low.coefficient, low.exponent, self.softplus(difference))
        } else {
            let (share, of) = self.sigmoid(of)?;
            (share, ZERO, Expr::neg(self.softplus(Expr::neg(of))))
        };
        let scale = Expr::add(exponent, Expr::Constant(libm::log(constant)));
        Some(sum(&terms(&Expr::add(scale, softplus))))
    }

    /// `log(1 + exp(of))`
    fn softplus(&self, of: Expr) -> Expr {
        let call = |function: Function, of: Expr| Expr::Call(function, vec![of]);
        if self.is_negative(&of) {
            call(Function::Log1p, call(Function::Exp, of))
        } else {
            let positive = Expr::Binary(Binary::Max, Box::new(of.clone()), Box::new(ZERO));
            let size = call(Function::Abs, of);
            Expr::add(positive, call(Function::Log1p, call(Function::Exp, Expr::neg(size))))
        }
    }

    /// The positive factor and the argument of a sigmoid that the expression is; one less a sigmoid is another.
    fn sigmoid(&self, e: &Expr) -> Option<(f64, Expr)> {
        let recognised = |factor: &Expr| match factor {
            Expr::Call(Function::Sigmoid, _) => Some(factor.clone()),
            Expr::Binary(Binary::Div, ..) | Expr::Call(Function::Pow, _) => self.recognised(factor),
            _ => None,
        };
        let (mut constant, mut factor, mut argument) = (0.0, 0.0, None);
        for Term { coefficient, factors } in terms(&self.opened(e, false, DEPTH)) {
            let parts = match factors.as_slice() {
                [] => vec![Term::constant(1.0)],
                [of] => terms(&recognised(of)?),
                _ => return None,
            };
            for Term { coefficient: inner, factors } in parts {
                match factors.as_slice() {
                    [] => constant += coefficient * inner,
                    [Expr::Call(Function::Sigmoid, of)] if argument.as_ref().is_none_or(|known| *known == of[0]) => {
                        factor += coefficient * inner;
                        argument = Some(of[0].clone());
                    }
                    _ => return None,
                }
            }
        }
        match argument? {
            of if constant == 0.0 && factor > 0.0 => Some((factor, of)),
            of if constant > 0.0 && factor == -constant => Some((constant, Expr::neg(of))),
            _ => None,
        }
    }

    /// The two exponentials of a sum.
    fn pair(&self, e: &Expr) -> Option<Pair> {
        let mut found = self.exponentials(e)?.into_iter();
        let (Some(one), Some(other), None) = (found.next(), found.next(), found.next()) else { return None };
        // A constant comes first.
        let (low, high) = if other.exponent == ZERO { (other, one) } else { (one, other) };
        if low.coefficient <= 0.0 || high.coefficient <= 0.0 {
            return None;
        }
        let shift = libm::log(high.coefficient / low.coefficient);
        let difference = match (low.exponent == ZERO, shift == 0.0) {
            (true, true) => high.exponent.clone(),
            (true, false) => Expr::add(high.exponent.clone(), Expr::Constant(shift)),
            (false, _) => {
                let opened =
                    Expr::sub(self.opened(&high.exponent, true, DEPTH), self.opened(&low.exponent, true, DEPTH));
                sum(&terms(&Expr::add(opened, Expr::Constant(shift))))
            }
        };
        Some(Pair { low, high, difference })
    }

    /// What stands before the exponentials of a pair, if a sum has no others.
    fn coefficients(&self, e: &Expr, low: &Exponential, high: &Exponential) -> Option<(f64, f64)> {
        let mut found = (0.0, 0.0);
        for part in self.exponentials(e)? {
            if self.equal(&part.exponent, &low.exponent) {
                found.0 += part.coefficient;
            } else if self.equal(&part.exponent, &high.exponent) {
                found.1 += part.coefficient;
            } else {
                return None;
            }
        }
        Some(found)
    }

    /// The expression as a sum of exponentials with different exponents.
    fn exponentials(&self, e: &Expr) -> Option<Vec<Exponential>> {
        let mut found: Vec<Exponential> = Vec::new();
        for Term { coefficient, factors } in terms(&self.opened(e, false, DEPTH)) {
            let exponent = match factors.as_slice() {
                [] => ZERO,
                [Expr::Call(Function::Exp, exponent)] => exponent[0].clone(),
                // What is divided by one exponential, too.
                [Expr::Call(Function::Exp, one), Expr::Call(Function::Exp, other)] => {
                    sum(&terms(&Expr::add(one[0].clone(), other[0].clone())))
                }
                _ => return None,
            };
            match found.iter_mut().find(|known| self.equal(&known.exponent, &exponent)) {
                Some(known) => known.coefficient += coefficient,
                None => found.push(Exponential { coefficient, exponent }),
            }
        }
        found.retain(|exponential| exponential.coefficient != 0.0);
        Some(found)
    }

    fn equal(&self, one: &Expr, other: &Expr) -> bool {
        one == other || terms(&Expr::sub(self.opened(one, true, DEPTH), self.opened(other, true, DEPTH))).is_empty()
    }

    /// Whether an exponent is at most 0, as in what a softplus is made of.
    fn is_negative(&self, exponent: &Expr) -> bool {
        let sizes = |term: &Term| {
            let size = |factor: &Expr| matches!(self.opened(factor, true, DEPTH), Expr::Call(Function::Abs, _));
            term.coefficient < 0.0 && term.factors.iter().all(size)
        };
        terms(&self.opened(exponent, true, DEPTH)).iter().all(sizes)
    }

    /// The expression with names of sums and differences replaced by what they are, and of exponentials unless `exponent` says that it is one.
    fn opened(&self, e: &Expr, exponent: bool, depth: u32) -> Expr {
        let open = |e: &Expr| self.opened(e, exponent, depth);
        match e {
            Expr::Unary(Unary::Neg, a) => Expr::neg(open(a)),
            Expr::Binary(operation @ (Binary::Add | Binary::Sub | Binary::Mul), a, b) => {
                Expr::Binary(*operation, Box::new(open(a)), Box::new(open(b)))
            }
            Expr::Binary(Binary::Div, a, b) => match self.constant(b) {
                Some(divisor) if divisor != 0.0 => Expr::mul(Expr::Constant(1.0 / divisor), open(a)),
                None if !exponent => match open(b) {
                    Expr::Call(Function::Exp, of) => Expr::mul(open(a), exp(Expr::neg(of[0].clone()))),
                    _ => e.clone(),
                },
                _ => e.clone(),
            },
            Expr::Call(function @ (Function::Sinh | Function::Cosh), of) if !exponent => {
                let half = |of: Expr| Expr::mul(Expr::Constant(0.5), exp(of));
                let (one, other) = (half(of[0].clone()), half(Expr::neg(of[0].clone())));
                if *function == Function::Sinh { Expr::sub(one, other) } else { Expr::add(one, other) }
            }
            Expr::Call(Function::Pow, of) if !exponent => match (self.constant(&of[0]), self.constant(&of[1])) {
                (Some(base), None) if base > 0.0 => exp(Expr::mul(Expr::Constant(libm::log(base)), of[1].clone())),
                _ => e.clone(),
            },
            Expr::Call(Function::Expm1, of) if !exponent => {
                Expr::sub(Expr::Call(Function::Exp, of.clone()), Expr::Constant(1.0))
            }
            Expr::Read(tensor, index) if depth > 0 => match (self.constant(e), self.definition(*tensor, index)) {
                (Some(value), _) => Expr::Constant(value),
                (None, Some(definition)) => self.opened(&definition, exponent, depth - 1),
                (None, None) => e.clone(),
            },
            _ => e.clone(),
        }
    }
}

/// The constant and the exponential of what is at most `end`.
fn near(constant: f64, Exponential { coefficient, exponent }: Exponential, end: f64) -> Expr {
    let of = exp(Expr::Binary(Binary::Min, Box::new(exponent), Box::new(Expr::Constant(end))));
    let scaled = if coefficient == 1.0 { of } else { Expr::mul(Expr::Constant(coefficient), of) };
    if constant == 0.0 { scaled } else { Expr::add(scaled, Expr::Constant(constant)) }
}

fn exp(of: Expr) -> Expr {
    Expr::Call(Function::Exp, vec![of])
}

fn sum(terms: &[Term]) -> Expr {
    terms.iter().map(term_expr).reduce(Expr::add).unwrap_or(ZERO)
}
