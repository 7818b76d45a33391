//! The examples of Tile's tutorial, each one run as a test. `run` evaluates a program's first result on real numbers.
//!
//! # Sum over an axis
//!
//! A *contraction* aggregates over all valid indices: those that lie inside every tensor.
//!
//! ```
//! use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//!
//! fn sum_over_axis(input: &Tensor) -> Tensor {
//!     let [m_size, n_size] = TensorDim::array();
//!     let [m, n] = TensorIndex::array(["m", "n"]);
//!     input.bind_dims((m_size, n_size));
//!     TensorOutput::new(n_size).at(n).sum(input.at((m, n))).build()
//! }
//!
//! # fn main() -> Result<(), Vec<Fault>> {
//! let graph = Graph::new();
//! let input = graph.placeholder("I", &[2, 3]);
//! let program = graph.build([&sum_over_axis(&input)])?;
//! assert_eq!(run(&program, &[&[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]]), [11.0, 22.0, 33.0]);
//! # Ok(()) }
//! ```
//!
//! An output that is larger than the indices reach is 0 there: `TensorOutput::new(n_size + 1)` would end with a 0.
//!
//! # Maximum over an axis
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn max_over_axis(input: &Tensor) -> Tensor {
//!     let [m_size, n_size] = TensorDim::array();
//!     let [m, n] = TensorIndex::array(["m", "n"]);
//!     input.bind_dims((m_size, n_size));
//!     TensorOutput::new(n_size).at(n).max(input.at((m, n))).build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[2, 3]);
//! # let program = graph.build([&max_over_axis(&input)])?;
//! assert_eq!(run(&program, &[&[1.0, 20.0, 3.0, 10.0, 2.0, 30.0]]), [10.0, 20.0, 30.0]);
//! # Ok(()) }
//! ```
//!
//! # Matrix product
//!
//! Sizes that are bound twice have to agree.
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn matmul(a: &Tensor, b: &Tensor) -> Tensor {
//!     let [rows, columns, inner] = TensorDim::array();
//!     let [i, j, k] = TensorIndex::array(["i", "j", "k"]);
//!     a.bind_dims((rows, inner));
//!     b.bind_dims((inner, columns));
//!     TensorOutput::new((rows, columns)).at((i, j)).sum(a.at((i, k)) * b.at((k, j))).build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! let graph = Graph::new();
//! let (a, b) = (graph.placeholder("A", &[2, 2]), graph.placeholder("B", &[2, 2]));
//! let program = graph.build([&matmul(&a, &b)])?;
//! assert_eq!(run(&program, &[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]]), [19.0, 22.0, 43.0, 50.0]);
//!
//! // Extents that do not agree are an error with the place of the call.
//! let graph = Graph::new();
//! let (a, b) = (graph.placeholder("A", &[2, 2]), graph.placeholder("B", &[3, 2]));
//! let faults = graph.build([&matmul(&a, &b)]).unwrap_err();
//! assert_eq!(faults[0].diagnostic.code.as_str(), "E-SHAPE");
//! # Ok(()) }
//! ```
//!
//! # Global minimum
//!
//! Element-wise work is written with operators on whole tensors; a contraction reads it once it is a tensor. `()` are not indices.
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn global_min(input: &Tensor) -> Tensor {
//!     let [i, j, k] = TensorIndex::array(["i", "j", "k"]);
//!     let negative = (-input).named("Neg");
//!     let largest = TensorOutput::new(()).at(()).max(negative.at((i, j, k))).build();
//!     (-&largest).named("O")
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[1, 2, 2]);
//! # let program = graph.build([&global_min(&input)])?;
//! assert_eq!(run(&program, &[&[4.0, -1.5, 3.0, 2.0]]), [-1.5]);
//! # Ok(()) }
//! ```
//!
//! # Average
//!
//! Sizes and numbers can stand in element-wise work.
//!
//! ```
//! # use tile::{Elementwise, Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! /// The mean over axis 0.
//! fn avg(input: &Tensor) -> Elementwise {
//!     let [x_size, y_size] = TensorDim::array();
//!     let [x, y] = TensorIndex::array(["x", "y"]);
//!     input.bind_dims((x_size, y_size));
//!     let sum = TensorOutput::new(y_size).at(y).sum(input.at((x, y))).build();
//!     &sum / x_size
//! }
//!
//! /// The mean of all elements: in stages, or merged.
//! fn avg_stages(input: &Tensor) -> Elementwise {
//!     let [x_size, y_size] = TensorDim::array();
//!     let [x, y] = TensorIndex::array(["x", "y"]);
//!     input.bind_dims((x_size, y_size));
//!     let sum = TensorOutput::new(()).at(()).sum(input.at((x, y))).build();
//!     let partial = (&sum / x_size).named("PartialMean");
//!     &partial / y_size
//! }
//!
//! fn avg_merge(input: &Tensor) -> Elementwise {
//!     let [x_size, y_size] = TensorDim::array();
//!     let [x, y] = TensorIndex::array(["x", "y"]);
//!     input.bind_dims((x_size, y_size));
//!     let sum = TensorOutput::new(()).at(()).sum(input.at((x, y))).build();
//!     &sum / (x_size * y_size)
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # for (mean, expected) in [(avg as fn(&Tensor) -> Elementwise, &[2.0, 4.0][..]), (avg_stages, &[3.0]), (avg_merge, &[3.0])] {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[2, 2]);
//! # let program = graph.build([mean(&input)])?;
//! # assert_eq!(run(&program, &[&[1.0, 3.0, 3.0, 5.0]]), expected);
//! # }
//! # Ok(()) }
//! ```
//!
//! # Max pool
//!
//! Without the constraint every index that stays inside the input is valid, and each result is the maximum of all.
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn wrong_max_pool_1d(input: &Tensor) -> Tensor {
//!     let size = TensorDim::new();
//!     let [i, j] = TensorIndex::array(["i", "j"]);
//!     input.bind_dims(size);
//!     TensorOutput::new(size / 2).at(i).max(input.at(2 * i + j)).build()
//! }
//!
//! fn max_pool_1d(input: &Tensor) -> Tensor {
//!     let size = TensorDim::new();
//!     let [i, j] = TensorIndex::array(["i", "j"]);
//!     input.bind_dims(size);
//!     TensorOutput::new((size + 1) / 2).at(i).max(input.at(2 * i + j)).constrain(j, 2).build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[5]);
//! let values = [1.0, 5.0, 2.0, 4.0, 9.0];
//! let program = graph.build([&wrong_max_pool_1d(&input)])?;
//! assert_eq!(run(&program, &[&values]), [9.0, 9.0]);
//! let program = graph.build([&max_pool_1d(&input)])?;
//! assert_eq!(run(&program, &[&values]), [5.0, 4.0, 9.0]);
//! # Ok(()) }
//! ```
//!
//! # Skipping
//!
//! Index variables are integers, so only even elements are written; the others are 0.
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn skip(input: &Tensor) -> Tensor {
//!     let [m_size, n_size] = TensorDim::array();
//!     let [i, j] = TensorIndex::array(["i", "j"]);
//!     input.bind_dims((m_size, n_size));
//!     TensorOutput::new(n_size).at(2 * i).sum(input.at((2 * i, j))).build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[3, 3]);
//! # let program = graph.build([&skip(&input)])?;
//! assert_eq!(run(&program, &[&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 2.0, 2.0, 2.0]]), [3.0, 0.0, 6.0]);
//! # Ok(()) }
//! ```
//!
//! # Cumulative sum
//!
//! `k <= i` is written with all indices on one side: `0 <= i - k`, below a bound that is never reached.
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn csum(input: &Tensor) -> Tensor {
//!     let size = TensorDim::new();
//!     let [i, k] = TensorIndex::array(["i", "k"]);
//!     input.bind_dims(size);
//!     TensorOutput::new(size).at(i).sum(input.at(k)).constrain(i - k, size).build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let input = graph.placeholder("I", &[4]);
//! # let program = graph.build([&csum(&input)])?;
//! assert_eq!(run(&program, &[&[1.0, 2.0, 3.0, 4.0]]), [1.0, 3.0, 6.0, 10.0]);
//! # Ok(()) }
//! ```
//!
//! # Convolution
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn conv_1d(input: &Tensor, kernel: &Tensor) -> Tensor {
//!     let [batch, width, kernel_width, channels, outputs] = TensorDim::array();
//!     let [n, x, k, ci, co] = TensorIndex::array(["n", "x", "k", "ci", "co"]);
//!     input.bind_dims((batch, width, channels));
//!     kernel.bind_dims((kernel_width, channels, outputs));
//!     TensorOutput::new((batch, width - kernel_width + 1, outputs))
//!         .at((n, x, co))
//!         .sum(input.at((n, x + k, ci)) * kernel.at((k, ci, co)))
//!         .build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let (input, kernel) = (graph.placeholder("I", &[1, 4, 1]), graph.placeholder("K", &[2, 1, 1]));
//! # let program = graph.build([&conv_1d(&input, &kernel)])?;
//! assert_eq!(run(&program, &[&[1.0, 2.0, 3.0, 4.0], &[10.0, 1.0]]), [12.0, 23.0, 34.0]);
//! # Ok(()) }
//! ```
//!
//! # Dilated convolution in two dimensions
//!
//! ```
//! # use tile::{Fault, Graph, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn conv_2d_dilated(input: &Tensor, kernel: &Tensor) -> Tensor {
//!     let [batch, width, height, kernel_width, kernel_height, channels, outputs] = TensorDim::array();
//!     let [n, x, y, kx, ky, ci, co] = TensorIndex::array(["n", "x", "y", "kx", "ky", "ci", "co"]);
//!     input.bind_dims((batch, width, height, channels));
//!     kernel.bind_dims((kernel_width, kernel_height, channels, outputs));
//!     TensorOutput::new((batch, width - 2 * (kernel_width - 1), height - 3 * (kernel_height - 1), outputs))
//!         .at((n, x, y, co))
//!         .sum(input.at((n, x + 2 * kx, y + 3 * ky, ci)) * kernel.at((kx, ky, ci, co)))
//!         .build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let (input, kernel) = (graph.placeholder("I", &[1, 3, 4, 1]), graph.placeholder("K", &[2, 2, 1, 1]));
//! # let program = graph.build([&conv_2d_dilated(&input, &kernel)])?;
//! # let values: Vec<f64> = (0..12).map(f64::from).collect();
//! assert_eq!(run(&program, &[&values, &[1.0, 10.0, 100.0, 1000.0]]), [11830.0]);
//! # Ok(()) }
//! ```
//!
//! # Strided, dilated, padded, grouped convolution
//!
//! Strides and dilations are integers of Rust; so are loops over the spatial dimensions.
//!
//! ```
//! # use tile::{Affine, Fault, Graph, Size, Tensor, TensorDim, TensorIndex, TensorOutput};
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/run.in"));
//! fn complex_conv_2d(input: &Tensor, kernel: &Tensor, s: [i64; 2], d: [i64; 2]) -> Tensor {
//!     let [batch, groups, channels, outputs] = TensorDim::array();
//!     let (x_size, k_size): ([TensorDim; 2], [TensorDim; 2]) = (TensorDim::array(), TensorDim::array());
//!     let [n, g, gci, gco] = TensorIndex::array(["n", "g", "gci", "gco"]);
//!     let (x, k) = (TensorIndex::array(["x0", "x1"]), TensorIndex::array(["k0", "k1"]));
//!     input.bind_dims((batch, x_size[0], x_size[1], groups, channels));
//!     kernel.bind_dims((k_size[0], k_size[1], groups, channels, outputs));
//!     // The spatial extents of the output, the kernel's extents after dilation, and the padding ("same, lower").
//!     let y: [Size; 2] = std::array::from_fn(|i| (x_size[i] + s[i] - 1) / s[i]);
//!     let dilated: [Size; 2] = std::array::from_fn(|i| d[i] * (k_size[i] - 1) + 1);
//!     let padding: [Size; 2] =
//!         std::array::from_fn(|i| ((y[i].clone() - 1) * s[i] + dilated[i].clone() - x_size[i]) / 2);
//!     let at = |i: usize| -> Affine { s[i] * x[i] + d[i] * k[i] - padding[i].clone() };
//!     TensorOutput::new((batch, y[0].clone(), y[1].clone(), groups, outputs))
//!         .at((n, x[0], x[1], g, gco))
//!         .sum(input.at((n, at(0), at(1), g, gci)) * kernel.at((k[0], k[1], g, gci, gco)))
//!         .build()
//! }
//! # fn main() -> Result<(), Vec<Fault>> {
//! # let graph = Graph::new();
//! # let (input, kernel) = (graph.placeholder("I", &[1, 4, 4, 1, 1]), graph.placeholder("K", &[3, 3, 1, 1, 1]));
//! # let program = graph.build([&complex_conv_2d(&input, &kernel, [2, 2], [1, 1])])?;
//! # let values: Vec<f64> = (0..16).map(f64::from).collect();
//! // Padding 0 before, 1 behind: windows of 3 x 3 that start at rows and columns 0 and 2.
//! assert_eq!(run(&program, &[&values, &[1.0; 9]]), [45.0, 39.0, 66.0, 50.0]);
//! # Ok(()) }
//! ```
