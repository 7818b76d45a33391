//! The pipeline as a library: from a program and its data to engines, images and hardware. No terminal, no arguments, no exit codes.
//!
//! ```text
//! Request ──open──▶ Project ──+ Data──▶ Samples ──▶ Training ──run──▶ Outcome ──▶ ModelFile
//!                      │                               │
//!                      │ + Records                     └─ranges─▶ Design (fixed programs, machine, images)
//!                      ▼                                             │
//!                   Function (one record in, one out)                └──▶ EngineMaker: any rung, with the one above beside it
//! ```
//!
//! A program is trained on two engines, and the Verilog of a grid for it is written:
//!
//! ```
//! use workbench::samples::Choice;
//! use workbench::{Choices, RunOptions, Project, Rung, Samples, Training};
//!
//! const LINE: &str = "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];
//!                     h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";
//! const TRAIN: &str = "[train]\nprediction = 'h'\nloss = 'squared'\nepochs = 30";
//! const GRID: &str = "[machine]\npus = 1\npes_per_pu = 2";
//!
//! let project = Project::in_memory("line.t", LINE, Some(TRAIN), Some(GRID))?;
//! let rows: String = (0..35).map(|n| format!("{},{},{}\n", n % 5, n % 7, 2 * (n % 5) - n % 7)).collect();
//! let table = Choice::of_text("rows.csv", &format!("a,b,target\n{rows}"))?;
//! let samples = Samples::read(&project, &Choices::default(), table, &())?;
//! let training = Training::new(project, samples)?;
//! let words = training.run(&RunOptions::on(Rung::Fixed), None, &())?;
//! let array = training.run(&RunOptions::on(Rung::Array), None, &())?;
//! assert_eq!(words.last().trained.model, array.last().trained.model);
//! assert!(array.last().trained.cycles.is_some() && array.last().test.unwrap().r2.unwrap() > 0.99);
//! let design = training.design(&array.ranges, &())?;
//! std::fs::write(std::env::temp_dir().join("line.v"), design.verilog())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All of these are owned values without global state. What may take long hears of a [`Progress`], which can cancel it; what goes
//! wrong is a [`Failure`].
//!
//! | module | holds |
//! |---|---|
//! | [`project`] | configuration and program, read and put together |
//! | [`config`], [`board`], [`settings`] | the TOML of a machine, of a board, of a training |
//! | [`library`] | configurations, boards and programs that are built in |
//! | [`recipe`] | what of these a model keeps, so that it predicts without them |
//! | [`plan`] | batch, order, seeds, epochs, constants: who decides them |
//! | [`resident`] | inputs of a function that stay in the grid: who decides them |
//! | [`samples`], [`records`] | the data of a training, the values of a function |
//! | [`training`], [`checkpoint`] | a training on an engine, with the golden model beside it |
//! | [`model_file`], [`prediction`] | a trained model, and what it says about new rows |
//! | [`widths`] | the same training in words of several widths |
//! | [`engines`] | programs as engines of a training, rung by rung |
//! | [`subject`] | a function or a training, with its images |
//! | [`build`](mod@build) | everything for one board, as files |
//! | [`report`] | what an image costs, and what a training gave: text, JSON, one page |
//! | [`fit`](mod@fit) | one machine for several programs |
//! | [`images`], [`design`], [`checked`] | fixed-point programs and images, all for one machine |
//! | [`saturation`] | values that did not fit their words, and those that a model is made for |
//! | [`functions`] | programs that train nothing |
//! | [`imported`] | ONNX and TFLite models as programs |
//! | [`evaluation`] | one evaluation on any rung |
//! | [`ir`] | the program after a stage or a pass, as text |
//! | [`resources`], [`room`] | what a grid takes of a device, estimated; whether a board has it, and what would fit |
//! | [`simulators`], [`serial`], [`simulated`] | the generated Verilog, a board behind a serial port, one that is not there |
//! | [`system`], [`kernels`], [`networks`] | figures of whole systems: board, link, store; of programs that nobody tuned; of networks |
//! | [`reading`] | files of the user's, with limits |
//! | [`writing`] | files that are written whole or not at all |
//! | [`documents`] | what all JSON documents have |
//! | [`progress`], [`failure`], [`drawing`] | what a caller hears, what can go wrong, and what that looks like |

pub mod build;
pub mod documents;
pub mod evaluation;
pub mod failure;
pub mod functions;
pub mod images;
pub mod imported;
pub mod ir;
pub mod kernels;
pub mod progress;
pub mod project;
pub mod reading;
pub mod records;
pub mod report;
pub mod samples;
pub mod saturation;
mod sealed;
pub mod serial;
pub mod simulated;
pub mod simulators;
pub mod system;
pub mod training;
pub mod writing;

pub use failure::drawing;
pub use images::{checked, design, fit, resources, room, subject, supply};
pub use kernels::networks;
pub use project::{adapted, board, config, library, plan, recipe, resident, sdram, settings};
pub use training::{checkpoint, engines, model_file, prediction, ranks, widths};

pub use design::Design;
pub use engines::Rung;
pub use failure::{Failure, Source};
pub use functions::Function;
pub use model_file::ModelFile;
pub use plan::{Choices, Plan};
pub use progress::{Cancel, Note, Progress};
pub use project::{Project, Request, Texts};
pub use records::Records;
pub use samples::{Data, Samples};
pub use subject::Subject;
pub use training::{Outcome, RunOptions, Training};

/// What may cross threads, as bindings to other languages need it.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<(Project, Samples, Training, Outcome, Design, Function, Subject, ModelFile, Records, Failure)>();
    is_send::<(build::Built, report::Measured)>();
    is_send::<(serial::AttachedBoard, simulators::Simulator, evaluation::Evaluation, checkpoint::Checkpoint)>();
};
