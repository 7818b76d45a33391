//! Primitive nests: those that are exactly one operation of fixed-point IR.
//!
//! | aggregate | body | operation |
//! |---|---|---|
//! | assign | `p`, `-p`, `s`, `s + p`, `s - p` | multiply-add |
//! | assign | one of these `< 0` | multiply-add, finished by its sign |
//! | assign | `rint(p)`, `rint(-p)`, `rint(s + p)`, `rint(s - p)` | multiply-add, rounded to a whole number |
//! | add | `p`, `-p` (start as the nest says) | multiply-add |
//! | max, min | `p` (start as the nest says) | multiply-add that compares |
//! | mul | `s` | product |
//! | assign | `s / s`, `floor(s / s)`, `floor(s)` | division |
//! | assign | `max(s, 0)`, `min(max(s, 0), c)` | positive part, limited |
//! | assign | `f(s)` | function |
//!
//! where `s` is an element or a constant, and `p` is `s`, `s * s`, `2^k * s * s` or, of one difference, `(s - s) * (s - s)`, `2^k` times it
//! likewise.

use super::expr::linear::is_power_of_two;
use super::expr::{Expr, substitute};
use crate::tensor::{Affine, Aggregate, Binary, Function, IterId, Nest, Start, TensorId, Unary};
use arch::isa::Combine;

/// An operand of a primitive nest.
#[derive(Debug, Clone, PartialEq)]
pub enum Atom {
    /// An element.
    Read(TensorId, Vec<Affine>),
    /// A number.
    Constant(f64),
}

impl Atom {
    /// The tensor of an element.
    pub(crate) fn tensor(&self) -> Option<TensorId> {
        if let Atom::Read(tensor, _) = self { Some(*tensor) } else { None }
    }
}

/// What a primitive nest computes.
#[derive(Debug, Clone, PartialEq)]
pub enum Primitive {
    /// `start ± sum(2^scale * a * b)`, or the largest or smallest of start and products; each product `(a - b) * (a - b)` if it is a `square`
    MultiplyAdd {
        /// Where accumulation starts.
        start: Option<Atom>,
        /// What is added up or compared.
        product: Option<(Atom, Atom)>,
        /// The difference of the two is what is multiplied, by itself.
        square: bool,
        /// Exponent of the power of two that the products are multiplied with.
        scale: i32,
        /// How the products are combined.
        combine: Combine,
        /// The result is 1 if the sum is negative, else 0.
        negative: bool,
        /// The result is the nearest whole number, of two the even one.
        whole: bool,
    },
    /// An element, or 0 if it is negative; at most this constant, which may be infinite.
    Positive(Atom, f64),
    /// Left-to-right product.
    Product(Atom),
    /// A quotient.
    Divide {
        /// What is divided.
        dividend: Atom,
        /// By what.
        divisor: Atom,
        /// Towards minus infinity to a whole number, instead of to nearest.
        down: bool,
    },
    /// A function of one element.
    Function(Function, Atom),
}

impl Primitive {
    /// What it reads.
    pub fn atoms(&self) -> Vec<&Atom> {
        match self {
            Primitive::MultiplyAdd { start, product, .. } => {
                start.iter().chain(product.iter().flat_map(|(a, b)| [a, b])).collect()
            }
            Primitive::Positive(value, _) | Primitive::Product(value) | Primitive::Function(_, value) => vec![value],
            Primitive::Divide { dividend, divisor, .. } => vec![dividend, divisor],
        }
    }

    /// The operation a nest is, or `None` if it is none.
    pub fn of(nest: &Nest) -> Option<Primitive> {
        let body = Expr::from_body(&nest.body);
        match nest.aggregate {
            Aggregate::Assign => match &body {
                Expr::Binary(operation @ (Binary::Div | Binary::DivControlled | Binary::DivFloor), a, b) => {
                    let down = *operation == Binary::DivFloor;
                    Some(Primitive::Divide { dividend: atom(a)?, divisor: atom(b)?, down })
                }
                Expr::Call(Function::Floor, arguments) => Some(Primitive::Divide {
                    dividend: atom(arguments.first()?)?,
                    divisor: Atom::Constant(1.0),
                    down: true,
                }),
                Expr::Call(Function::Rint, arguments) => rounded(linear(arguments.first()?, false)?),
                Expr::Call(function, arguments) => match arguments.as_slice() {
                    [argument] => Some(Primitive::Function(*function, atom(argument)?)),
                    _ => None,
                },
                Expr::Binary(Binary::Max | Binary::Min, ..) => {
                    let (value, limit) = rectified(&body)?;
                    Some(Primitive::Positive(atom(value)?, limit))
                }
                Expr::Binary(Binary::Lt, sum, zero) if **zero == Expr::Constant(0.0) => linear(sum, true),
                _ => linear(&body, false),
            },
            Aggregate::Add | Aggregate::Max | Aggregate::Min => {
                let start = match &nest.start {
                    Start::Identity => None,
                    Start::Fill(value) => Some(Atom::Constant(*value)),
                    Start::Element { tensor, index } => Some(Atom::Read(*tensor, index.clone())),
                };
                let (combine, body) = match (nest.aggregate, &body) {
                    (Aggregate::Max, body) => (Combine::Maximum, body),
                    (Aggregate::Min, body) => (Combine::Minimum, body),
                    (_, Expr::Unary(Unary::Neg, a)) => (Combine::Subtract, &**a),
                    (_, body) => (Combine::Add, body),
                };
                // Of no points there is a sum, but no largest one.
                if combine.compares() && nest.iterators.iter().any(|iterator| iterator.extent() == 0) {
                    return None;
                }
                let Product { factors, square, scale } = product(body)?;
                let product = Some(factors);
                Some(Primitive::MultiplyAdd { start, product, square, scale, combine, negative: false, whole: false })
            }
            Aggregate::Mul if nest.start == Start::Identity => Some(Primitive::Product(atom(&body)?)),
            Aggregate::Mul => None,
        }
    }
}

/// What an expression is the positive part of, and what that is at most.
///
///     max(x, 0)             =>  x, infinity
///     min(max(x, 0), 6)     =>  x, 6
pub(super) fn rectified(e: &Expr) -> Option<(&Expr, f64)> {
    match e {
        Expr::Binary(Binary::Max, value, zero) if **zero == Expr::Constant(0.0) => Some((value, f64::INFINITY)),
        Expr::Binary(Binary::Min, value, limit) => match (rectified(value)?, &**limit) {
            ((value, f64::INFINITY), Expr::Constant(limit)) if *limit > 0.0 => Some((value, *limit)),
            _ => None,
        },
        _ => None,
    }
}

/// A primitive nest that starts with an element of `copy` instead, the nest that makes the copy, and what is copied.
///
///     u[i] = a[i] + a[i] * w[i]      =>      copy[i] = a[i];  u[i] = copy[i] + a[i] * w[i]
///
/// # Panics
/// When the nest does not start with an element.
pub(crate) fn with_copied_start(nest: &Nest, copy: TensorId) -> (Nest, Nest, TensorId) {
    fn first(e: &mut Expr) -> Option<&mut Expr> {
        match e {
            Expr::Read(..) => Some(e),
            Expr::Binary(_, a, _) => first(a),
            Expr::Call(_, arguments) => arguments.first_mut().and_then(first),
            _ => None,
        }
    }
    let mut body = Expr::from_body(&nest.body);
    let mut reader = nest.clone();
    let (source, index) = match (&mut reader.start, first(&mut body)) {
        (Start::Element { tensor, index }, _) | (_, Some(Expr::Read(tensor, index))) => {
            (std::mem::replace(tensor, copy), index.clone())
        }
        _ => panic!("the nest starts with an element"),
    };
    reader.body = body.to_body();
    // The copy runs over the iterators that show in the index.
    let mut used: Vec<IterId> = index.iter().flat_map(|form| form.terms.iter().map(|t| t.0)).collect();
    used.sort_unstable();
    used.dedup();
    let place =
        |i: usize| used.iter().position(|u| u.0 == i).map_or(Affine::default(), |p| Affine::iterator(IterId(p)));
    let with: Vec<Affine> = (0..nest.iterators.len()).map(place).collect();
    let index: Vec<Affine> = index.iter().map(|form| substitute(form, &with)).collect();
    let copying = Nest {
        iterators: used.iter().map(|i| nest.iterators[i.0].clone()).collect(),
        free: used.len(),
        guards: Vec::new(),
        out: copy,
        out_index: index.clone(),
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body: Expr::Read(source, index).to_body(),
        origin: nest.origin.clone(),
    };
    (reader, copying, source)
}

fn linear(body: &Expr, negative: bool) -> Option<Primitive> {
    let (start, rest, subtract) = match body {
        Expr::Binary(Binary::Add, s, p) => (Some(atom(s)?), Some(&**p), false),
        Expr::Binary(Binary::Sub, s, p) => (Some(atom(s)?), Some(&**p), true),
        Expr::Unary(Unary::Neg, p) => (None, Some(&**p), true),
        other => match atom(other) {
            Some(s) => (Some(s), None, false),
            None => (None, Some(other), false),
        },
    };
    let (product, square, scale) = match rest {
        Some(p) => product(p).map(|Product { factors, square, scale }| (Some(factors), square, scale))?,
        None => (None, false, 0),
    };
    let combine = if subtract { Combine::Subtract } else { Combine::Add };
    Some(Primitive::MultiplyAdd { start, product, square, scale, combine, negative, whole: false })
}

/// The same sum, rounded to a whole number; what has no product is one by 1.
fn rounded(sum: Primitive) -> Option<Primitive> {
    let Primitive::MultiplyAdd { start, product, square, scale, combine, negative, .. } = sum else { return None };
    let (start, product) = match product {
        Some(product) => (start, product),
        None => (None, (start?, Atom::Constant(1.0))),
    };
    Some(Primitive::MultiplyAdd { start, product: Some(product), square, scale, combine, negative, whole: true })
}

/// What an accumulator adds in a beat.
struct Product {
    factors: (Atom, Atom),
    square: bool,
    /// Exponent of a power of two.
    scale: i32,
}

/// A constant factor comes second.
fn product(e: &Expr) -> Option<Product> {
    match e {
        Expr::Binary(Binary::Mul, c, p) => match (&**c, &**p) {
            (Expr::Constant(c), Expr::Binary(Binary::Mul, a, b)) if *c > 0.0 && is_power_of_two(*c) => {
                let (factors, square) = factors(a, b)?;
                Some(Product { factors, square, scale: libm::ilogb(*c) })
            }
            (a, b) => {
                let (factors, square) = match factors(a, b)? {
                    ((a @ Atom::Constant(_), b), false) => ((b, a), false),
                    other => other,
                };
                Some(Product { factors, square, scale: 0 })
            }
        },
        other => Some(Product { factors: (atom(other)?, Atom::Constant(1.0)), square: false, scale: 0 }),
    }
}

/// Two factors, or the two whose difference is both of them; the first is an element then.
fn factors(a: &Expr, b: &Expr) -> Option<((Atom, Atom), bool)> {
    match (a, b) {
        (Expr::Binary(Binary::Sub, one, other), same) if a == same => {
            Some(((atom(one).filter(|atom| matches!(atom, Atom::Read(..)))?, atom(other)?), true))
        }
        _ => Some(((atom(a)?, atom(b)?), false)),
    }
}

fn atom(e: &Expr) -> Option<Atom> {
    match e {
        Expr::Read(tensor, index) => Some(Atom::Read(*tensor, index.clone())),
        Expr::Constant(value) => Some(Atom::Constant(*value)),
        _ => None,
    }
}
