//! Simulators, from the reals down to the wires; each rung of the ladder is checked against the one above.
//!
//! | module | runs |
//! |---|---|
//! | [`driver`] | the other end of that interface: loads images, packs and unpacks the streams |
//! | [`data`] | nothing: data sets, from CSV text to the words of a step |
//! | [`train`] | a training on a data set, on any engine |
//! | [`grid`] | nothing: the interface of a grid under a clock, and what drives it |
//! | [`link`] | a board at the other end of a serial line, or the model of one |
//! | [`store`] | a grid with a sample store before it |
//! | [`verilator`] | the generated Verilog |
//! | [`golden`] | tensor IR on real numbers |
//! | [`plain`] | the same once more, plain and slow, to compare [`golden`] with; [`plain::duals`] with derivatives |
//! | [`fixed`](mod@fixed) | fixed-point IR, bit for bit |
//! | [`clipped`] | nothing: values that did not fit their words |
//! | [`array`](mod@array) | an image, cycle by cycle, in Rust |
//! | [`distance`] | nothing: how far fixed point is from golden, and who lost the bits |
//! | [`ladder`] | one program on every rung, compared |
//! | [`prove`](mod@prove) | an image for all inputs at once, compared with its program |
//! | [`pace`] | an image in the middle of a stream: cycles per sample, beside what no grid can beat |
//! | [`benchmarks`] | the published benchmarks, on any grid |
//! | [`segments`] | the segments of a function, one after the other, on any grid |
//! | [`waves`] | nothing: what the array does, as a file for a wave viewer |
//! | [`eval`] | nothing: values between JSON and an engine |

pub mod array;
pub mod benchmarks;
pub mod clipped;
pub mod data;
pub mod distance;
pub mod driver;
pub mod eval;
pub mod fixed;
pub mod golden;
pub mod grid;
pub mod ladder;
mod lanes;
pub mod link;
pub mod pace;
pub mod plain;
pub mod prove;
pub mod segments;
pub mod store;
pub mod train;
pub mod verilator;
pub mod waves;

/// Values by tensor name, row-major: inputs, weights.
pub type NamedValues = std::collections::BTreeMap<String, Vec<f64>>;

/// Smallest and largest value by tensor name.
pub type NamedRanges = std::collections::BTreeMap<String, (f64, f64)>;
