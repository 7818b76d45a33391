//! The command line: arguments in, results on stdout, talk on stderr, an exit code. What happens between is `workbench`.
//!
//! | module | holds |
//! |---|---|
//! | `arguments` | what can be typed |
//! | `commands` | one file per subcommand |
//! | `subject` | arguments become what a command works on |
//! | `exit` | exit codes |
//! | `interrupt` | Ctrl-C |
//! | `jobs` | several pieces of work at the same time |
//! | `training_talk` | what a person sees of a training |
//! | `bug` | panics become failures |
//! | `render` | diagnostics for people and for programs |
//! | `wave` | what the array does, as a file for a wave viewer |
//! | `world` | ranks that are processes |
//! | `output` | stdout and stderr |

#![allow(unreachable_pub, reason = "nothing outside sees a binary's items")]

mod arguments;
mod bug;
mod commands;
mod exit;
mod interrupt;
mod jobs;
mod output;
mod render;
mod subject;
mod training_talk;
mod wave;
mod world;

use arguments::{Arguments, Command, Target};
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;
use workbench::Failure;

/// Simulators and compiler make many small objects.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An argument that would do nothing is a mistake of the user's.
fn unused_out() -> Failure {
    Failure::Usage("this command writes no folder: --out has no effect".to_owned())
}

fn main() -> ExitCode {
    interrupt::install();
    let typed: Vec<String> = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    if let Some((word, near)) = arguments::misspelt(&typed) {
        let message = format!("no command or program is called `{word}`; did you mean `{near}`?\n");
        Arguments::command().error(ErrorKind::InvalidSubcommand, message).exit();
    }
    if typed.len() == 1 {
        let help = Arguments::command().render_help().to_string();
        return output::result(&help).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let matches = Arguments::command().get_matches();
    let mut arguments =
        Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut Arguments::command()).exit());
    arguments.global.guard = arguments::guard(&matches, arguments.global.force);
    let talk = output::Talk::new(&arguments.global);
    match bug::caught(|| run(&arguments, &talk)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            render::failure(&failure, &arguments.global, &talk);
            ExitCode::from(exit::exit_code(&failure))
        }
    }
}

fn run(arguments: &Arguments, talk: &output::Talk) -> Result<(), Failure> {
    arguments.global.guard.check()?;
    match &arguments.command {
        Some(command) if arguments.global.out.is_some() && !command.writes_a_folder() => Err(unused_out()),
        None => {
            let target = Target { program: arguments.program.clone(), ..Target::default() };
            commands::build::run(&arguments.global, &target, talk)
        }
        Some(Command::Build(target)) => commands::build::run(&arguments.global, target, talk),
        Some(Command::Check(options)) => commands::check::run(&arguments.global, options, talk),
        Some(Command::Derive(options)) => commands::derive::run(&arguments.global, options, talk),
        Some(Command::Eval(options)) => commands::eval::run(&arguments.global, options, talk),
        Some(Command::Train(options)) => commands::train::run(&arguments.global, options, talk),
        Some(Command::Score(options)) => commands::score::run(&arguments.global, options, talk),
        Some(Command::Deploy(options)) => commands::score::deploy::run(&arguments.global, options, talk),
        Some(Command::Predict(options)) => commands::predict::run(&arguments.global, options, talk),
        Some(Command::Weights(options)) => commands::weights::run(&arguments.global, options, talk),
        Some(Command::Run(options)) => commands::run::run(&arguments.global, options, talk),
        Some(Command::Sim(options)) => commands::sim::run(&arguments.global, options, talk),
        Some(Command::Prove(options)) => commands::prove::run(&arguments.global, options, talk),
        Some(Command::Synth(target)) => commands::synth::run(&arguments.global, target, talk),
        Some(Command::Place(options)) => commands::place::run(&arguments.global, options, talk),
        Some(Command::Bitstream(target)) => commands::bitstream::run(&arguments.global, target, talk),
        Some(Command::Explain(target)) => commands::explain::run(&arguments.global, target, talk),
        Some(Command::Ir(options)) => commands::ir::run(&arguments.global, options, talk),
        Some(Command::Report(options)) => commands::report::run(&arguments.global, options, talk),
        Some(Command::Bench(options)) => commands::measure::bench::run(&arguments.global, options, talk),
        Some(Command::Accuracy(options)) => commands::measure::accuracy::run(&arguments.global, options, talk),
        Some(Command::Explore(options)) => commands::measure::explore::run(&arguments.global, options, talk),
        Some(Command::Graph(options)) => commands::graph::run(&arguments.global, options, talk),
        Some(Command::Init(options)) => commands::init::run(&arguments.global, options, talk),
        Some(Command::Man) => commands::about::man::run(&arguments.global, talk),
        Some(Command::Schema(options)) => commands::about::schema::run(&arguments.global, options),
        Some(Command::Cache(options)) => commands::about::cache::run(&arguments.global, options),
        Some(Command::Doctor) => commands::about::doctor::run(&arguments.global, talk),
        Some(Command::Completions(options)) => commands::about::completions::run(options),
    }
}
