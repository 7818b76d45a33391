//! Functions of the library.

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Functions of the library; the golden evaluator has all, the hardware those with a table or unit.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are the mathematical ones")]
        pub enum Function { $($(#[$doc])* $variant,)* }

        impl Function {
            /// Every function.
            pub const ALL: &[Function] = &[$(Function::$variant),*];

            /// Its name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name,)* }
            }
        }
    };
}

functions! {
    Sigmoid = "sigmoid",
    /// `2*sigmoid(x) - 1`
    SigmoidSymmetric = "sigmoid_symmetric",
    /// Normal density, mean 0, deviation 1.
    Gaussian = "gaussian",
    Log = "log",
    Exp = "exp",
    Tanh = "tanh",
    Sqrt = "sqrt",
    Rsqrt = "rsqrt",
    Pow = "pow",
    Abs = "abs",
    Floor = "floor",
    Ceil = "ceil",
    Round = "round",
    Trunc = "trunc",
    Sin = "sin",
    Cos = "cos",
    Tan = "tan",
    Asin = "asin",
    Acos = "acos",
    Atan = "atan",
    Atan2 = "atan2",
    Sinh = "sinh",
    Cosh = "cosh",
    Asinh = "asinh",
    Acosh = "acosh",
    Atanh = "atanh",
    Cbrt = "cbrt",
    Erf = "erf",
    Erfc = "erfc",
    Exp2 = "exp2",
    Exp10 = "exp10",
    Expm1 = "expm1",
    Log2 = "log2",
    Log10 = "log10",
    Log1p = "log1p",
    Copysign = "copysign",
    Fdim = "fdim",
    Fmod = "fmod",
    Remainder = "remainder",
    Hypot = "hypot",
    Fma = "fma",
}

impl std::fmt::Display for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
