//! Sizes and indices: integer arithmetic that is done when the function is built.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::atomic::{AtomicU32, Ordering};

/// Tells sizes and index variables of one name apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

fn unique() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A size, without a value until `bind_dims`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorDim {
    pub(super) id: u32,
}

impl TensorDim {
    /// An unbound size.
    #[allow(clippy::new_without_default, reason = "each one is another one")]
    pub fn new() -> TensorDim {
        TensorDim { id: unique() }
    }

    /// Several at once: `let [m, n] = TensorDim::array();`
    pub fn array<const N: usize>() -> [TensorDim; N] {
        std::array::from_fn(|_| TensorDim::new())
    }
}

/// An index variable; its scope is one contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorIndex {
    pub(super) id: u32,
    pub(super) name: &'static str,
}

impl TensorIndex {
    /// A variable with a name for people.
    pub fn new(name: &'static str) -> TensorIndex {
        TensorIndex { id: unique(), name }
    }

    /// Several at once: `let [m, n] = TensorIndex::array(["m", "n"]);`
    pub fn array<const N: usize>(names: [&'static str; N]) -> [TensorIndex; N] {
        names.map(TensorIndex::new)
    }
}

/// Integer arithmetic on leaves of one kind.
#[derive(Debug, Clone)]
pub(super) enum Tree<Leaf> {
    Leaf(Leaf),
    Integer(i64),
    Size(TensorDim),
    Negate(Box<Tree<Leaf>>),
    Apply(&'static str, Box<Tree<Leaf>>, Box<Tree<Leaf>>),
}

/// No leaf: sizes are made of bound sizes and integers.
#[derive(Debug, Clone, Copy)]
pub enum Bound {}

/// A size expression.
#[derive(Debug, Clone)]
pub struct Size(pub(super) Tree<Bound>);

/// An index expression.
#[derive(Debug, Clone)]
pub struct Affine(pub(super) Tree<TensorIndex>);

impl From<TensorDim> for Size {
    fn from(size: TensorDim) -> Size {
        Size(Tree::Size(size))
    }
}

impl From<i64> for Size {
    fn from(value: i64) -> Size {
        Size(Tree::Integer(value))
    }
}

impl From<i32> for Size {
    fn from(value: i32) -> Size {
        i64::from(value).into()
    }
}

impl From<i32> for Affine {
    fn from(value: i32) -> Affine {
        i64::from(value).into()
    }
}

impl From<TensorIndex> for Affine {
    fn from(index: TensorIndex) -> Affine {
        Affine(Tree::Leaf(index))
    }
}

impl From<i64> for Affine {
    fn from(value: i64) -> Affine {
        Affine(Tree::Integer(value))
    }
}

impl From<TensorDim> for Affine {
    fn from(size: TensorDim) -> Affine {
        Affine(Tree::Size(size))
    }
}

impl From<Size> for Affine {
    fn from(size: Size) -> Affine {
        fn inside(tree: Tree<Bound>) -> Tree<TensorIndex> {
            match tree {
                Tree::Leaf(leaf) => match leaf {},
                Tree::Integer(value) => Tree::Integer(value),
                Tree::Size(size) => Tree::Size(size),
                Tree::Negate(a) => Tree::Negate(Box::new(inside(*a))),
                Tree::Apply(operator, a, b) => Tree::Apply(operator, Box::new(inside(*a)), Box::new(inside(*b))),
            }
        }
        Affine(inside(size.0))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $text:literal; $($left:ty => $whole:ident),*) => { $(
        impl<R: Into<$whole>> $trait<R> for $left {
            type Output = $whole;
            fn $method(self, right: R) -> $whole {
                let (left, right): ($whole, $whole) = (self.into(), right.into());
                $whole(Tree::Apply($text, Box::new(left.0), Box::new(right.0)))
            }
        }
    )* };
}

/// `/` is `//` of the text form: it rounds down on sizes, also those in an index, and is exact where index variables are divided.
macro_rules! operators {
    ($($left:ty => $whole:ident),*) => {
        operator!(Add, add, "+"; $($left => $whole),*);
        operator!(Sub, sub, "-"; $($left => $whole),*);
        operator!(Mul, mul, "*"; $($left => $whole),*);
        operator!(Div, div, "//"; $($left => $whole),*);
        $(impl Neg for $left {
            type Output = $whole;
            fn neg(self) -> $whole {
                let whole: $whole = self.into();
                $whole(Tree::Negate(Box::new(whole.0)))
            }
        })*
    };
}
operators!(TensorDim => Size, Size => Size, TensorIndex => Affine, Affine => Affine);

/// A size before an index variable: `n - 1 - i`.
macro_rules! size_first {
    ($($left:ty, $right:ty);*) => { $(
        size_first!(Add add, Sub sub, Mul mul; $left, $right);
    )* };
    ($($trait:ident $method:ident),*; $left:ty, $right:ty) => { $(
        impl $trait<$right> for $left {
            type Output = Affine;
            fn $method(self, right: $right) -> Affine {
                Affine::from(self).$method(right)
            }
        }
    )* };
}
size_first!(TensorDim, TensorIndex; TensorDim, Affine; Size, TensorIndex; Size, Affine);

macro_rules! integer_times {
    ($($right:ty => $whole:ident),*) => { $(
        impl Mul<$right> for i64 {
            type Output = $whole;
            fn mul(self, right: $right) -> $whole {
                $whole::from(self) * right
            }
        }
        impl Add<$right> for i64 {
            type Output = $whole;
            fn add(self, right: $right) -> $whole {
                $whole::from(self) + right
            }
        }
        impl Sub<$right> for i64 {
            type Output = $whole;
            fn sub(self, right: $right) -> $whole {
                $whole::from(self) - right
            }
        }
    )* };
}
integer_times!(TensorDim => Size, Size => Size, TensorIndex => Affine, Affine => Affine);

/// A list of index expressions: one alone, a tuple, an array, a vector, or `()` for a scalar.
pub trait Indices {
    /// The list.
    fn indices(self) -> Vec<Affine>;
}

/// A list of size expressions: one alone, a tuple, an array, a vector, or `()` for a scalar.
pub trait Dims {
    /// The list.
    fn sizes(self) -> Vec<Size>;
}

macro_rules! lists {
    ($trait:ident, $method:ident, $item:ident; $($single:ty),*) => {
        impl $trait for () {
            fn $method(self) -> Vec<$item> {
                Vec::new()
            }
        }
        $(impl $trait for $single {
            fn $method(self) -> Vec<$item> {
                vec![self.into()]
            }
        })*
        impl<T: Into<$item>, const N: usize> $trait for [T; N] {
            fn $method(self) -> Vec<$item> {
                self.into_iter().map(Into::into).collect()
            }
        }
        impl<T: Into<$item>> $trait for Vec<T> {
            fn $method(self) -> Vec<$item> {
                self.into_iter().map(Into::into).collect()
            }
        }
    };
}
lists!(Indices, indices, Affine; TensorIndex, Affine, i64, i32);
lists!(Dims, sizes, Size; TensorDim, Size, i64, i32);

macro_rules! tuples {
    ($($($name:ident)*;)*) => { $(
        #[allow(non_snake_case, reason = "a name is type and value")]
        impl<$($name: Into<Affine>),*> Indices for ($($name,)*) {
            fn indices(self) -> Vec<Affine> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
        #[allow(non_snake_case, reason = "a name is type and value")]
        impl<$($name: Into<Size>),*> Dims for ($($name,)*) {
            fn sizes(self) -> Vec<Size> {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    )* };
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }
