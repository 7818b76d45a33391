//! The command line: arguments in, results on stdout, talk on stderr, an exit code.
//!
//! | module | holds |
//! |---|---|
//! | `arguments` | what can be typed |
//! | `commands` | one file per subcommand |
//! | `config` | the TOML that describes a machine, its board and its numbers |
//! | `settings` | the TOML beside a program that says how to train it |
//! | `library` | configs and programs that are built in |
//! | `project` | arguments, config and program put together |
//! | `samples` | the data of a project, as the steps of its program |
//! | `images` | fixed-point programs and images |
//! | `simulators` | the generated Verilog as a simulator |
//! | `engines` | images and programs as engines of the training loop |
//! | `interrupt` | Ctrl-C |
//! | `model_file` | weights on disk |
//! | `report` | what the hardware costs, as text and JSON |
//! | `failure` | what can go wrong, and its exit code |
//! | `render` | diagnostics for people and for programs |
//! | `output` | stdout, stderr and files that are written whole or not at all |

#![allow(unreachable_pub, reason = "nothing outside sees a binary's items")]
#![allow(dead_code, reason = "build, sim and explain come with the back end")]

mod arguments;
mod commands;
mod config;
mod engines;
mod failure;
mod images;
mod interrupt;
mod library;
mod model_file;
mod output;
mod project;
mod render;
mod samples;
mod settings;
mod simulators;

use arguments::{Arguments, Command, Target};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    interrupt::install();
    let arguments = Arguments::parse();
    let talk = output::Talk::new(&arguments.global);
    let done = match &arguments.command {
        None => {
            let target = Target { program: arguments.program.clone(), ..Target::default() };
            drop(target);
            Err(failure::Failure::Usage("build comes with the back end".to_owned()))
        }
        Some(Command::Build(_) | Command::Sim(_) | Command::Explain(_)) => {
            Err(failure::Failure::Usage("this comes with the back end".to_owned()))
        }
        Some(Command::Check(options)) => commands::check::run(&arguments.global, options, &talk),
        Some(Command::Eval(options)) => commands::eval::run(&arguments.global, options, &talk),
        Some(Command::Train(options)) => commands::train::run(&arguments.global, options, &talk),
        Some(Command::Predict(options)) => commands::predict::run(&arguments.global, options, &talk),
        Some(Command::Doctor) => commands::doctor::run(&arguments.global, &talk),
        Some(Command::Completions(options)) => commands::completions::run(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            render::failure(&failure, &arguments.global, &talk);
            ExitCode::from(failure.exit_code())
        }
    }
}
