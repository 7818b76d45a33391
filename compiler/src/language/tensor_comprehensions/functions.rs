//! The functions that every program knows.

use crate::tensor::{Binary, Function};

/// What a function is in tensor IR.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    Call(Function),
    /// An operator on real numbers.
    Operator(Binary),
    /// `min` and `max`, which keep integers integers.
    Extreme(Binary),
    /// The root of the sum of the squares.
    Norm,
    /// Its reciprocal.
    InverseNorm,
}

/// Name, number of arguments, meaning of what is not in the table of functions.
const OTHERS: &[(&str, usize, Known)] = &[
    ("min", 2, Known::Extreme(Binary::Min)),
    ("max", 2, Known::Extreme(Binary::Max)),
    ("fmin", 2, Known::Operator(Binary::Min)),
    ("fmax", 2, Known::Operator(Binary::Max)),
    ("fdivide", 2, Known::Operator(Binary::Div)),
    ("norm3d", 3, Known::Norm),
    ("norm4d", 4, Known::Norm),
    ("rhypot", 2, Known::InverseNorm),
    ("rnorm3d", 3, Known::InverseNorm),
    ("rnorm4d", 4, Known::InverseNorm),
];

/// Functions of the table that the original language has. Its functions are no names of tensors, parameters and indices; others may be.
const ORIGINAL: &[&str] = &[
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmod",
    "hypot",
    "j0",
    "j1",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "nearbyint",
    "nextafter",
    "normcdf",
    "normcdfinv",
    "pow",
    "rcbrt",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "y0",
    "y1",
];

/// Whether the original language has a function of this name.
pub(super) fn is_reserved(name: &str) -> bool {
    ORIGINAL.contains(&name) || OTHERS.iter().any(|entry| entry.0 == name)
}

/// Number of arguments and meaning of a function.
pub(super) fn known(name: &str) -> Option<(usize, Known)> {
    if let Some(function) = Function::ALL.iter().find(|function| function.in_comprehensions().contains(&name)) {
        return Some((function.arity(), Known::Call(*function)));
    }
    OTHERS.iter().find(|entry| entry.0 == name).map(|&(_, arity, known)| (arity, known))
}

/// Names of the functions that can be used.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = OTHERS.iter().map(|entry| entry.0);
    others.chain(Function::ALL.iter().flat_map(|function| function.in_comprehensions()).copied())
}
