//! Expressions as sums of products: what rewriting by the laws of arithmetic works on.

use super::Expr;
use crate::tensor::{Binary, Unary};

/// `coefficient * product of factors`; no factor is a product, a negation or a constant.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::canonical) struct Term {
    pub(in crate::canonical) coefficient: f64,
    pub(in crate::canonical) factors: Vec<Expr>,
}

impl Term {
    pub(in crate::canonical) fn constant(value: f64) -> Term {
        Term { coefficient: value, factors: Vec::new() }
    }

    pub(in crate::canonical) fn factor(factor: Expr) -> Term {
        Term { coefficient: 1.0, factors: vec![factor] }
    }

    /// The sum of two products of the same factors, in any order: `r * (0.5 * (s - y)) + 0.5 * (s - y) * r` is `r * (s - y)`.
    fn plus(&self, other: &Term) -> Option<Term> {
        if self.factors.len() != other.factors.len() {
            return None;
        }
        let ((coefficient, factors), (other, mut rest)) = (self.without_constants(), other.without_constants());
        for factor in &factors {
            let at = rest.iter().position(|e| e == factor)?;
            rest.swap_remove(at);
        }
        Some(Term { coefficient: coefficient + other, factors: factors.into_iter().cloned().collect() })
    }

    /// Coefficient and factors, with constants taken out of the factors.
    fn without_constants(&self) -> (f64, Vec<&Expr>) {
        let mut coefficient = self.coefficient;
        let bare = |factor| {
            let mut rest: &Expr = factor;
            loop {
                rest = match rest {
                    Expr::Unary(Unary::Neg, a) => {
                        coefficient = -coefficient;
                        a
                    }
                    Expr::Binary(Binary::Mul, a, b) => match (&**a, &**b) {
                        (Expr::Constant(value), other) | (other, Expr::Constant(value)) => {
                            coefficient *= value;
                            other
                        }
                        _ => return rest,
                    },
                    _ => return rest,
                };
            }
        };
        let factors = self.factors.iter().map(bare).collect();
        (coefficient, factors)
    }

    /// One factor, coefficient 1.
    pub(in crate::canonical) fn is_plain(&self) -> bool {
        self.coefficient == 1.0 && self.factors.len() == 1
    }
}

/// A sum of products that equals the expression: sums are opened, products of sums are not.
///
///     2 - (a - 0.5*b*c)     =>     2, -1*a, 0.5*b*c
///     a * (b + c)           =>     1*a*(b + c)
pub(in crate::canonical) fn terms(e: &Expr) -> Vec<Term> {
    let mut found = Vec::new();
    collect(e, 1.0, &mut found);
    let mut merged: Vec<Term> = Vec::new();
    for term in found {
        match merged.iter_mut().find(|t| t.factors == term.factors) {
            Some(same) => same.coefficient += term.coefficient,
            None => match merged.iter_mut().find_map(|known| Some((known.plus(&term)?, known))) {
                Some((sum, known)) => *known = sum,
                None => merged.push(term),
            },
        }
    }
    merged.retain(|t| t.coefficient != 0.0);
    merged
}

fn collect(e: &Expr, scale: f64, into: &mut Vec<Term>) {
    match e {
        Expr::Unary(Unary::Neg, a) => collect(a, -scale, into),
        Expr::Binary(Binary::Add, a, b) => {
            collect(a, scale, into);
            collect(b, scale, into);
        }
        Expr::Binary(Binary::Sub, a, b) => {
            collect(a, scale, into);
            collect(b, -scale, into);
        }
        Expr::Binary(Binary::Mul, a, b) => {
            let (left, right) = (terms(a), terms(b));
            if left.is_empty() || right.is_empty() {
                return;
            }
            // A constant goes into every term of a sum.
            for (one, other) in [(&left, &right), (&right, &left)] {
                if let [Term { coefficient, factors }] = one.as_slice()
                    && factors.is_empty()
                {
                    into.extend(other.iter().map(|t| Term {
                        coefficient: t.coefficient * coefficient * scale,
                        factors: t.factors.clone(),
                    }));
                    return;
                }
            }
            let mut product = Term::constant(scale);
            for (side, whole) in [(left, a), (right, b)] {
                match <[Term; 1]>::try_from(side) {
                    Ok([term]) => {
                        product.coefficient *= term.coefficient;
                        product.factors.extend(term.factors);
                    }
                    Err(_) => product.factors.push((**whole).clone()),
                }
            }
            into.push(product);
        }
        Expr::Constant(value) => into.push(Term::constant(value * scale)),
        other => into.push(Term { coefficient: scale, factors: vec![other.clone()] }),
    }
}

/// The expression of one term.
pub(in crate::canonical) fn term_expr(term: &Term) -> Expr {
    let mut factors = term.factors.iter().cloned();
    let Some(first) = factors.next() else { return Expr::Constant(term.coefficient) };
    let product = factors.fold(first, Expr::mul);
    match term.coefficient {
        1.0 => product,
        -1.0 => Expr::neg(product),
        c if c < 0.0 => Expr::neg(Expr::mul(Expr::Constant(-c), product)),
        c => Expr::mul(Expr::Constant(c), product),
    }
}

/// Whether the value is a power of two: then it moves the binary point and costs nothing.
pub(in crate::canonical) fn is_power_of_two(value: f64) -> bool {
    let (mantissa, exponent) = libm::frexp(value.abs());
    mantissa == 0.5 && (-30..=31).contains(&exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `0.5 * (r * e) + (0.5 * e) * r`, with `e = s - 2`: the derivative of `0.5 * r * e * e`.
    #[test]
    fn products_of_the_same_factors_are_one() {
        let of = |tensor: usize| Expr::Read(crate::tensor::TensorId(tensor), Vec::new());
        let (r, s) = (of(0), of(1));
        let e = Expr::sub(s.clone(), Expr::Constant(2.0));
        let half = |e: Expr| Expr::mul(Expr::Constant(0.5), e);
        let square = Expr::add(half(Expr::mul(r.clone(), e.clone())), Expr::mul(half(e.clone()), r.clone()));
        let [Term { coefficient, factors }] = &terms(&square)[..] else { panic!("{square:?}") };
        assert_eq!((*coefficient, factors), (1.0, &vec![r.clone(), e.clone()]));
        // r * r * s and r * s * s have the same factors, but not as often.
        let (first, second) =
            (Expr::mul(Expr::mul(r.clone(), r.clone()), s.clone()), Expr::mul(Expr::mul(r, s.clone()), s));
        assert_eq!(terms(&Expr::add(first, second)).len(), 2);
        let gone = Expr::sub(half(e.clone()), Expr::mul(Expr::Constant(0.5), e));
        assert!(terms(&gone).is_empty());
    }
}
