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
    /// Of the original system, not of this one.
    Unsupported,
}

/// Name, number of arguments, meaning of what is not in the table of functions.
const OTHERS: &[(&str, usize, Known)] = &[
    ("min", 2, Known::Extreme(Binary::Min)),
    ("max", 2, Known::Extreme(Binary::Max)),
    ("fmin", 2, Known::Operator(Binary::Min)),
    ("fmax", 2, Known::Operator(Binary::Max)),
    ("fdivide", 2, Known::Operator(Binary::Div)),
    ("cospi", 1, Known::Unsupported),
    ("sinpi", 1, Known::Unsupported),
    ("cyl_bessel_i0", 1, Known::Unsupported),
    ("cyl_bessel_i1", 1, Known::Unsupported),
    ("erfcinv", 1, Known::Unsupported),
    ("erfcx", 1, Known::Unsupported),
    ("erfinv", 1, Known::Unsupported),
    ("j0", 1, Known::Unsupported),
    ("j1", 1, Known::Unsupported),
    ("lgamma", 1, Known::Unsupported),
    ("logb", 1, Known::Unsupported),
    ("nearbyint", 1, Known::Unsupported),
    ("nextafter", 2, Known::Unsupported),
    ("normcdf", 1, Known::Unsupported),
    ("normcdfinv", 1, Known::Unsupported),
    ("rcbrt", 1, Known::Unsupported),
    ("tgamma", 1, Known::Unsupported),
    ("y0", 1, Known::Unsupported),
    ("y1", 1, Known::Unsupported),
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
    "erf",
    "erfc",
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
    "log",
    "log10",
    "log1p",
    "log2",
    "pow",
    "remainder",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
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
    let others = OTHERS.iter().filter(|entry| entry.2 != Known::Unsupported).map(|entry| entry.0);
    others.chain(Function::ALL.iter().flat_map(|function| function.in_comprehensions()).copied())
}
