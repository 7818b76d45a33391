//! The contract: what compiler, hardware and simulators must agree on. Depends on none of our other crates.
//!
//! | module | holds |
//! |---|---|
//! | [`number`] | rounding, saturation, conversion |
//! | [`division`] | what a divider computes |
//! | [`device`] | what hardware must know of a device family |
//! | [`function`] | the table of functions, and their tables in hardware by linear interpolation |
//! | [`machine`] | parameters of one grid, checked |
//! | [`timing`] | every latency of that grid |
//! | [`isa`] | instructions and their bits |
//! | [`registers`] | the control port's map |
//! | [`axi`] | the map of the AXI shell |
//! | [`link`] | the byte protocol between a host and a board |
//! | [`store`] | the sample store of a board, and how samples lie in it |
//! | [`image`] | what is loaded into a grid: programs, tables, stream layout |
//! | [`rtl`] | generated hardware text and its ports |
//! | [`tools`] | where the external tools are |
//! | [`children`] | those of them that are running |
//! | [`diagnostic`] | what the user did wrong, and where |
//! | [`private`] | folders that nobody else may write |
//! | [`origin`] | where in the user's program a computation comes from |

pub mod amounts;
pub mod axi;
pub mod children;
pub mod device;
pub mod diagnostic;
pub mod division;
pub mod function;
pub mod image;
pub mod isa;
pub mod link;
pub mod machine;
pub mod number;
pub mod origin;
pub mod private;
pub mod registers;
pub mod rtl;
pub mod store;
pub mod timing;
pub mod tools;

pub use diagnostic::{Code, Diagnostic, Span};
pub use image::Image;
pub use machine::Machine;
pub use origin::Origin;
