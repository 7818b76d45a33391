//! The pipeline as a library: from a program and its data to engines, images and hardware. No terminal, no arguments, no exit codes.
//!
//!     Request ──open──▶ Project ──+ Data──▶ Samples ──▶ Training ──run──▶ Outcome ──▶ ModelFile
//!                          │                               │
//!                          │ + Records                     └─ranges─▶ Design (fixed programs, machine, images)
//!                          ▼                                             │
//!                       Function (one record in, one out)                └──▶ EngineMaker: any rung, with the one above beside it
//!
//! All of these are owned values without global state. What may take long hears of a [`Progress`], which can cancel it; what goes
//! wrong is a [`Failure`].
//!
//! | module | holds |
//! |---|---|
//! | [`project`] | configuration and program, read and put together |
//! | [`config`], [`board`], [`settings`] | the TOML of a machine, of a board, of a training |
//! | [`library`] | configurations, boards and programs that are built in |
//! | [`samples`], [`records`] | the data of a training, the values of a function |
//! | [`training`], [`checkpoint`] | a training on an engine, with the golden model beside it |
//! | [`model_file`] | a trained model |
//! | [`engines`] | programs as engines of a training, rung by rung |
//! | [`images`], [`design`] | fixed-point programs and images, all for one machine |
//! | [`functions`] | programs that train nothing |
//! | [`ir`] | the program after a stage or a pass, as text |
//! | [`resources`] | what a grid takes of a device, estimated |
//! | [`simulators`], [`serial`] | the generated Verilog, a board behind a serial port |
//! | [`progress`], [`failure`] | what a caller hears, and what can go wrong |

pub mod board;
pub mod checkpoint;
pub mod config;
pub mod design;
pub mod engines;
pub mod failure;
pub mod functions;
pub mod images;
pub mod ir;
pub mod library;
pub mod model_file;
pub mod progress;
pub mod project;
pub mod records;
pub mod resources;
pub mod samples;
pub mod serial;
pub mod settings;
pub mod simulators;
pub mod training;

pub use design::Design;
pub use engines::Rung;
pub use failure::{Failure, Source};
pub use functions::Function;
pub use model_file::ModelFile;
pub use progress::{Cancel, Note, Progress};
pub use project::{Project, Request};
pub use records::Records;
pub use samples::{Data, Samples};
pub use training::{How, Outcome, Training};
