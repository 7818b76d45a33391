//! Tile embedded in Rust: contractions over all valid indices, by calls.
//!
//! A function is built of tensors, sizes and index variables; [`Graph::build`] gives the same program as the text form
//! (docs/languages/tile.md). [`tutorial`] goes through all of it.
//!
//! | text form | Rust |
//! |---|---|
//! | `def f(I):` | `let input = graph.placeholder("I", &[3, 4]);` |
//! | `M, N = TensorDims(2)` | `let [m_size, n_size] = TensorDim::array();` |
//! | `m, n = TensorIndexes(2)` | `let [m, n] = TensorIndex::array(["m", "n"]);` |
//! | `I.bind_dims(M, N)` | `input.bind_dims((m_size, n_size));` |
//! | `O = TensorOutput(N)` | `let output = TensorOutput::new(n_size);` |
//! | `O[n] += I[m, n]` | `output.at(n).sum(input.at((m, n)))` |
//! | `*=` `>=` `<=` `=` | `.product` `.max` `.min` `.assign` |
//! | `O.add_constraint(j < 2)` | `.constrain(j, 2)` |
//! | `O.use_default(P)` | `.use_default(&p)` |
//! | the end of a contraction | `.build()` |
//! | `D = A + B / 2` | `let d = (&a + &b / 2.0).named("D");` |
//! | `//`: rounds down on sizes, exact where an index variable is divided | `/` |
//! | `reshape(A, [M * N])`, `cast(A, int8)` | `reshape(&a, m_size * n_size)`, `cast(&a, "int8")` |
//! | `gather(T, I)`, `scatter(D, I, N)` | `gather(&t, &i, 0)`, `scatter(&d, &i, n_size)` |
//! | `gather_nd(T, I)`, `scatter_nd(D, I, [M, N])` | `gather_nd(&t, &i, 0)`, `scatter_nd(&d, &i, (m_size, n_size))` |
//! | `argsort(X, 0)` | `argsort(&x, 0)` |
//! | `%`, `&`, `^`, `<<`, `>>`, `~` | `%`, `&`, `^`, `<<`, `>>`, `!` |
//! | `return D, E` | `graph.build([&d, &e])` |
//!
//! Errors are those of the text form, with the line of the call in the place of the line of the program ([`Fault`]).

pub use compiler::language::tile::edsl::{
    Access, Affine, Combination, Contraction, Dims, Elementwise, Fault, Graph, Indices, Size, Target, Tensor,
    TensorDim, TensorIndex, TensorOutput, argsort, cast, cond, function, gather, gather_nd, index, reshape, scatter,
    scatter_nd, select,
};
pub use compiler::tensor::Program;

pub mod tutorial;
