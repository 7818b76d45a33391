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
            None => merged.push(term),
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
