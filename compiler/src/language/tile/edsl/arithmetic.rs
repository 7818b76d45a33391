//! Element-wise work: operators and functions build one expression, which becomes one statement.

use super::index::{Size, TensorDim};
use super::{Graph, Tensor, What};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use std::panic::Location;

/// An element-wise expression.
#[derive(Debug, Clone)]
pub enum Number {
    /// A whole tensor.
    Tensor(String),
    /// A number.
    Constant(f64),
    /// A size.
    Size(Size),
    /// `-a`
    Negate(Box<Number>),
    /// `a operator b`
    Apply(&'static str, Box<Number>, Box<Number>),
    /// `function(a, ...)`
    Call(&'static str, Vec<Number>),
    /// `~a`
    Invert(Box<Number>),
    /// `reshape(a, [sizes])` and the like
    Form(&'static str, Vec<Argument>),
}

/// An argument of a form.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A tensor.
    Value(Number),
    /// A list of sizes.
    Sizes(Vec<Size>),
    /// A size or an axis.
    Size(Size),
    /// A type.
    Kind(&'static str),
}

/// An element-wise expression and the function it belongs to.
#[derive(Debug, Clone)]
pub struct Elementwise {
    pub(super) value: Number,
    graph: Option<Graph>,
}

impl Elementwise {
    /// The expression as a tensor that contractions can read.
    ///
    /// # Panics
    /// When it has no tensor in it.
    #[track_caller]
    pub fn named(self, name: &str) -> Tensor {
        let graph = self.graph.expect("an expression of numbers alone belongs to no function");
        let name = graph.fresh(name);
        graph.push(What::Assign { name: name.clone(), value: self.value }, Location::caller());
        Tensor { graph, name }
    }

    fn binary(operator: &'static str, a: Elementwise, b: Elementwise) -> Elementwise {
        let graph = a.graph.or(b.graph);
        Elementwise { value: Number::Apply(operator, Box::new(a.value), Box::new(b.value)), graph }
    }

    /// 1 where it is less, else 0.
    #[must_use]
    pub fn less(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary("<", self, other.into())
    }

    /// 1 where it is less or equal, else 0.
    #[must_use]
    pub fn at_most(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary("<=", self, other.into())
    }

    /// 1 where it is greater, else 0.
    #[must_use]
    pub fn greater(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary(">", self, other.into())
    }

    /// 1 where it is greater or equal, else 0.
    #[must_use]
    pub fn at_least(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary(">=", self, other.into())
    }

    /// 1 where it is not equal, else 0.
    #[must_use]
    pub fn differs(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary("!=", self, other.into())
    }

    /// The quotient, rounded down.
    #[must_use]
    pub fn divided_down(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary("//", self, other.into())
    }

    /// 1 where it is equal, else 0.
    #[must_use]
    pub fn equals(self, other: impl Into<Elementwise>) -> Elementwise {
        Elementwise::binary("==", self, other.into())
    }
}

impl From<&Tensor> for Elementwise {
    fn from(tensor: &Tensor) -> Elementwise {
        Elementwise { value: Number::Tensor(tensor.name.clone()), graph: Some(tensor.graph.clone()) }
    }
}

impl From<Tensor> for Elementwise {
    fn from(tensor: Tensor) -> Elementwise {
        (&tensor).into()
    }
}

impl From<f64> for Elementwise {
    fn from(value: f64) -> Elementwise {
        Elementwise { value: Number::Constant(value), graph: None }
    }
}

impl From<TensorDim> for Elementwise {
    fn from(size: TensorDim) -> Elementwise {
        Elementwise { value: Number::Size(size.into()), graph: None }
    }
}

impl From<Size> for Elementwise {
    fn from(size: Size) -> Elementwise {
        Elementwise { value: Number::Size(size), graph: None }
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $text:literal),*; $left:ty) => { $(
        impl<R: Into<Elementwise>> $trait<R> for $left {
            type Output = Elementwise;
            fn $method(self, right: R) -> Elementwise {
                Elementwise::binary($text, self.into(), right.into())
            }
        }
    )* };
}
operators!(
    Add add "+", Sub sub "-", Mul mul "*", Div div "/", Rem rem "%", BitAnd bitand "&", BitOr bitor "|", BitXor bitxor "^",
    Shl shl "<<", Shr shr ">>"; &Tensor
);
operators!(
    Add add "+", Sub sub "-", Mul mul "*", Div div "/", Rem rem "%", BitAnd bitand "&", BitOr bitor "|", BitXor bitxor "^",
    Shl shl "<<", Shr shr ">>"; Elementwise
);

macro_rules! number_first {
    ($($trait:ident $method:ident $text:literal $right:ty),*) => { $(
        impl $trait<$right> for f64 {
            type Output = Elementwise;
            fn $method(self, right: $right) -> Elementwise {
                Elementwise::binary($text, self.into(), right.into())
            }
        }
    )* };
}
number_first!(Add add "+" &Tensor, Sub sub "-" &Tensor, Mul mul "*" &Tensor, Div div "/" &Tensor);
number_first!(Add add "+" Elementwise, Sub sub "-" Elementwise, Mul mul "*" Elementwise, Div div "/" Elementwise);

impl Neg for Elementwise {
    type Output = Elementwise;
    fn neg(self) -> Elementwise {
        Elementwise { value: Number::Negate(Box::new(self.value)), graph: self.graph }
    }
}

impl Neg for &Tensor {
    type Output = Elementwise;
    fn neg(self) -> Elementwise {
        -Elementwise::from(self)
    }
}

impl Not for Elementwise {
    type Output = Elementwise;
    fn not(self) -> Elementwise {
        Elementwise { value: Number::Invert(Box::new(self.value)), graph: self.graph }
    }
}

impl Not for &Tensor {
    type Output = Elementwise;
    fn not(self) -> Elementwise {
        !Elementwise::from(self)
    }
}

fn call(name: &'static str, arguments: Vec<Elementwise>) -> Elementwise {
    let graph = arguments.iter().find_map(|argument| argument.graph.clone());
    Elementwise { value: Number::Call(name, arguments.into_iter().map(|argument| argument.value).collect()), graph }
}

/// `yes` where the condition is not 0, else `no`; both are evaluated.
pub fn select(
    condition: impl Into<Elementwise>,
    yes: impl Into<Elementwise>,
    no: impl Into<Elementwise>,
) -> Elementwise {
    call("select", vec![condition.into(), yes.into(), no.into()])
}

/// The tensor of these extents whose elements are their index along an axis.
pub fn index(graph: &Graph, sizes: impl super::Dims, axis: usize) -> Elementwise {
    let arguments = vec![Argument::Sizes(sizes.sizes()), Argument::Size((axis as i64).into())];
    Elementwise { value: Number::Form("index", arguments), graph: Some(graph.clone()) }
}

fn form(name: &'static str, value: Elementwise, rest: Vec<Argument>) -> Elementwise {
    let arguments = std::iter::once(Argument::Value(value.value)).chain(rest).collect();
    Elementwise { value: Number::Form(name, arguments), graph: value.graph }
}

/// Cut towards zero, within the limits of a type such as `int8`.
pub fn cast(value: impl Into<Elementwise>, kind: &'static str) -> Elementwise {
    form("cast", value.into(), vec![Argument::Kind(kind)])
}

/// The same elements, row by row, in another shape.
pub fn reshape(value: impl Into<Elementwise>, sizes: impl super::Dims) -> Elementwise {
    form("reshape", value.into(), vec![Argument::Sizes(sizes.sizes())])
}

/// Slices of a table along an axis, by a tensor of indices.
pub fn gather(table: impl Into<Elementwise>, indices: impl Into<Elementwise>, axis: usize) -> Elementwise {
    form("gather", table.into(), vec![Argument::Value(indices.into().value), Argument::Size((axis as i64).into())])
}

/// So many sums of slices: of those with this index.
pub fn scatter(data: impl Into<Elementwise>, indices: impl Into<Elementwise>, size: impl Into<Size>) -> Elementwise {
    form("scatter", data.into(), vec![Argument::Value(indices.into().value), Argument::Size(size.into())])
}

/// Slices of a table by the indices in the last dimension of `indices`, behind `common` dimensions that both have.
pub fn gather_nd(table: impl Into<Elementwise>, indices: impl Into<Elementwise>, common: usize) -> Elementwise {
    let rest = vec![Argument::Value(indices.into().value), Argument::Size((common as i64).into())];
    form("gather_nd", table.into(), rest)
}

/// The tensor of these sizes with the sums of slices that have its indices in the last dimension of `indices`.
pub fn scatter_nd(
    data: impl Into<Elementwise>,
    indices: impl Into<Elementwise>,
    sizes: impl super::Dims,
) -> Elementwise {
    form("scatter_nd", data.into(), vec![Argument::Value(indices.into().value), Argument::Sizes(sizes.sizes())])
}

/// The indices that sort along an axis (a negative one counts from the end); equal elements keep their order.
pub fn argsort(value: impl Into<Elementwise>, axis: i64) -> Elementwise {
    form("argsort", value.into(), vec![Argument::Size(axis.into())])
}

/// The functions of the text form.
pub mod function {
    use super::{Elementwise, call};

    macro_rules! functions {
        ($($name:ident),*) => {
            /// Those of one argument.
            #[cfg(test)]
            const NAMES: &[&str] = &[$(stringify!($name)),*];
            /// One of them by its name, for tests that replay texts.
            #[cfg(test)]
            pub(in super::super) fn named(name: &str, arguments: &[Elementwise]) -> Option<Elementwise> {
                match (name, arguments) {
                    $((stringify!($name), [x]) => Some($name(x.clone())),)*
                    ("logical_not", [x]) => Some(logical_not(x.clone())),
                    (name, [a, b]) => of_two(name, a.clone(), b.clone()),
                    _ => None,
                }
            }
            $(
            #[doc = concat!("`", stringify!($name), "(x)`, element by element.")]
            pub fn $name(x: impl Into<Elementwise>) -> Elementwise {
                call(stringify!($name), vec![x.into()])
            }
            )*
        };
    }
    functions!(
        abs, acos, acosh, asin, asinh, atan, atanh, bit_not, ceil, cos, cosh, erf, exp, floor, gelu, log, mish, round,
        sigmoid, silu, sin, sinh, sqrt, tan, tanh
    );

    macro_rules! functions_of_two {
        ($($name:ident),*) => {
            #[cfg(test)]
            fn of_two(name: &str, a: Elementwise, b: Elementwise) -> Option<Elementwise> {
                match name {
                    $(stringify!($name) => Some($name(a, b)),)*
                    _ => None,
                }
            }
            $(
            #[doc = concat!("`", stringify!($name), "(a, b)`, element by element.")]
            pub fn $name(a: impl Into<Elementwise>, b: impl Into<Elementwise>) -> Elementwise {
                call(stringify!($name), vec![a.into(), b.into()])
            }
        )* };
    }
    functions_of_two!(bit_and, bit_or, bit_xor, logical_and, logical_or, max, min, pow, shift_left, shift_right);

    /// 1 where `x` is 0, else 0.
    pub fn logical_not(x: impl Into<Elementwise>) -> Elementwise {
        call("logical_not", vec![x.into()])
    }

    #[cfg(test)]
    mod tests {
        use crate::tensor::Function;

        #[test]
        fn all_functions_of_the_text_form_are_there() {
            let unary = Function::ALL.iter().filter(|function| function.arity() == 1);
            let mut spelled: Vec<&str> = unary.flat_map(|function| function.in_tile()).copied().collect();
            spelled.sort_unstable();
            assert_eq!(super::NAMES, spelled, "the list is in alphabetical order");
        }
    }
}
