//! The command line: arguments in, results on stdout, talk on stderr, an exit code.
//!
//! | module | holds |
//! |---|---|
//! | `arguments` | what can be typed |
//! | `commands` | one file per subcommand |
//! | `board` | the board that a configuration names |
//! | `config` | the TOML that describes a machine, its board and its numbers |
//! | `settings` | the TOML beside a program that says how to train it |
//! | `library` | configs and programs that are built in |
//! | `project` | arguments, config and program put together |
//! | `samples` | the data of a project, as the steps of its program |
//! | `images` | fixed-point programs and images |
//! | `serial` | boards behind a serial port |
//! | `simulators` | the generated Verilog as a simulator |
//! | `design` | everything between text and images |
//! | `drivers` | what a build adds for a device with a processor |
//! | `engines` | images and programs as engines of the training loop |
//! | `interrupt` | Ctrl-C |
//! | `jobs` | several pieces of work at the same time |
//! | `json_places` | where the names of a JSON object stand |
//! | `model_file` | weights on disk |
//! | `checkpoint` | a training that can go on later |
//! | `training` | a training on an engine, with the golden model beside it |
//! | `listing` | an image as text |
//! | `report` | what an image costs, as text and JSON |
//! | `page` | the report page: curves, roofline, timeline, placement |
//! | `charts`, `timeline`, `placement_map` | its drawings |
//! | `resources` | what a grid takes of a device, estimated |
//! | `hardware` | the hardware of a project on its board |
//! | `failure` | what can go wrong, and its exit code |
//! | `bug` | panics become failures |
//! | `render` | diagnostics for people and for programs |
//! | `testbench` | the first samples as a self-checking simulation that needs nothing of ours |
//! | `wave` | what the array does, as a file for a wave viewer |
//! | `output` | stdout, stderr and files that are written whole or not at all |

#![allow(unreachable_pub, reason = "nothing outside sees a binary's items")]

mod arguments;
mod board;
mod bug;
mod charts;
mod checkpoint;
mod commands;
mod config;
mod design;
mod drivers;
mod engines;
mod failure;
mod functions;
mod hardware;
mod images;
mod interrupt;
mod jobs;
mod json_places;
mod library;
mod listing;
mod model_file;
mod output;
mod page;
mod placement_map;
mod project;
mod records;
mod render;
mod report;
mod resources;
mod samples;
mod serial;
mod settings;
mod simulators;
mod testbench;
mod timeline;
mod training;
mod wave;

use arguments::{Arguments, Command, Target};
use clap::Parser;
use std::process::ExitCode;

/// An argument that would do nothing is a mistake of the user's.
fn unused_out() -> failure::Failure {
    failure::Failure::Usage("this command writes no folder, so --out has no meaning here".to_owned())
}

fn main() -> ExitCode {
    interrupt::install();
    let arguments = Arguments::parse();
    let talk = output::Talk::new(&arguments.global);
    match bug::caught(|| run(&arguments, &talk)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            render::failure(&failure, &arguments.global, &talk);
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: &Arguments, talk: &output::Talk) -> Result<(), failure::Failure> {
    match &arguments.command {
        Some(command) if arguments.global.out.is_some() && !command.writes_a_folder() => Err(unused_out()),
        None => {
            let target = Target { program: arguments.program.clone(), ..Target::default() };
            commands::build::run(&arguments.global, &target, talk)
        }
        Some(Command::Build(target)) => commands::build::run(&arguments.global, target, talk),
        Some(Command::Check(options)) => commands::check::run(&arguments.global, options, talk),
        Some(Command::Eval(options)) => commands::eval::run(&arguments.global, options, talk),
        Some(Command::Train(options)) => commands::train::run(&arguments.global, options, talk),
        Some(Command::Predict(options)) => commands::predict::run(&arguments.global, options, talk),
        Some(Command::Weights(options)) => commands::weights::run(&arguments.global, options, talk),
        Some(Command::Run(options)) => commands::run::run(&arguments.global, options, talk),
        Some(Command::Sim(options)) => commands::sim::run(&arguments.global, options, talk),
        Some(Command::Synth(target)) => commands::synth::run(&arguments.global, target, talk),
        Some(Command::Bitstream(target)) => commands::bitstream::run(&arguments.global, target, talk),
        Some(Command::Explain(target)) => commands::explain::run(&arguments.global, target, talk),
        Some(Command::Report(options)) => commands::report::run(&arguments.global, options, talk),
        Some(Command::Bench(options)) => commands::bench::run(&arguments.global, options, talk),
        Some(Command::Accuracy(options)) => commands::accuracy::run(&arguments.global, options, talk),
        Some(Command::Explore(options)) => commands::explore::run(&arguments.global, options, talk),
        Some(Command::Graph(options)) => commands::graph::run(&arguments.global, options, talk),
        Some(Command::Init(options)) => commands::init::run(&arguments.global, options, talk),
        Some(Command::Man) => commands::man::run(&arguments.global, talk),
        Some(Command::Schema(options)) => commands::schema::run(&arguments.global, options),
        Some(Command::Doctor) => commands::doctor::run(&arguments.global, talk),
        Some(Command::Completions(options)) => commands::completions::run(options),
    }
}
