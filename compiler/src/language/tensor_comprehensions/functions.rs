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

/// Name, number of arguments, meaning.
const TABLE: &[(&str, usize, Known)] = &[
    ("min", 2, Known::Extreme(Binary::Min)),
    ("max", 2, Known::Extreme(Binary::Max)),
    ("fmin", 2, Known::Operator(Binary::Min)),
    ("fmax", 2, Known::Operator(Binary::Max)),
    ("fdivide", 2, Known::Operator(Binary::Div)),
    ("acos", 1, Known::Call(Function::Acos)),
    ("acosh", 1, Known::Call(Function::Acosh)),
    ("asin", 1, Known::Call(Function::Asin)),
    ("asinh", 1, Known::Call(Function::Asinh)),
    ("atan", 1, Known::Call(Function::Atan)),
    ("atanh", 1, Known::Call(Function::Atanh)),
    ("cbrt", 1, Known::Call(Function::Cbrt)),
    ("ceil", 1, Known::Call(Function::Ceil)),
    ("cos", 1, Known::Call(Function::Cos)),
    ("cosh", 1, Known::Call(Function::Cosh)),
    ("erf", 1, Known::Call(Function::Erf)),
    ("erfc", 1, Known::Call(Function::Erfc)),
    ("exp", 1, Known::Call(Function::Exp)),
    ("exp2", 1, Known::Call(Function::Exp2)),
    ("exp10", 1, Known::Call(Function::Exp10)),
    ("expm1", 1, Known::Call(Function::Expm1)),
    ("fabs", 1, Known::Call(Function::Abs)),
    ("floor", 1, Known::Call(Function::Floor)),
    ("log", 1, Known::Call(Function::Log)),
    ("log2", 1, Known::Call(Function::Log2)),
    ("log10", 1, Known::Call(Function::Log10)),
    ("log1p", 1, Known::Call(Function::Log1p)),
    ("round", 1, Known::Call(Function::Round)),
    ("rsqrt", 1, Known::Call(Function::Rsqrt)),
    ("sin", 1, Known::Call(Function::Sin)),
    ("sinh", 1, Known::Call(Function::Sinh)),
    ("sqrt", 1, Known::Call(Function::Sqrt)),
    ("tan", 1, Known::Call(Function::Tan)),
    ("tanh", 1, Known::Call(Function::Tanh)),
    ("trunc", 1, Known::Call(Function::Trunc)),
    ("atan2", 2, Known::Call(Function::Atan2)),
    ("copysign", 2, Known::Call(Function::Copysign)),
    ("fdim", 2, Known::Call(Function::Fdim)),
    ("fmod", 2, Known::Call(Function::Fmod)),
    ("hypot", 2, Known::Call(Function::Hypot)),
    ("pow", 2, Known::Call(Function::Pow)),
    ("remainder", 2, Known::Call(Function::Remainder)),
    ("fma", 3, Known::Call(Function::Fma)),
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
    ("rint", 1, Known::Unsupported),
    ("tgamma", 1, Known::Unsupported),
    ("y0", 1, Known::Unsupported),
    ("y1", 1, Known::Unsupported),
];

/// Number of arguments and meaning of a function.
pub(super) fn known(name: &str) -> Option<(usize, Known)> {
    TABLE.iter().find(|entry| entry.0 == name).map(|&(_, arity, known)| (arity, known))
}

/// Names of the functions that can be used.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(|entry| entry.2 != Known::Unsupported).map(|entry| entry.0)
}
