//! `run`: train on a board through its serial port, with the array beside it.

use crate::arguments::{EngineName, Entry, Global, Run};
use crate::commands::train;
use crate::interrupt;
use crate::output::Talk;
use crate::subject;
use std::time::Duration;
use workbench::Failure;
use workbench::serial::{Address, AttachedBoard, BAUD};

/// Train, compare, print.
pub fn run(global: &Global, options: &Run, talk: &Talk) -> Result<(), Failure> {
    if options.train.engine != EngineName::Array || options.train.stalls.is_some() {
        return Err(Failure::Usage("`run` trains on the board: --engine and --stalls are for `train`".to_owned()));
    }
    // What is wrong with the arguments is said before a port is opened; the config knows the rate of its board.
    let project = subject::project(global, options.train.program.as_deref(), &Entry::default())?;
    let baud = project.board.facts().and_then(|facts| facts.io.as_ref()).map(|io| io.baud);
    let address = Address {
        port: options.serial.port.clone(),
        baud: options.serial.baud.or(baud).unwrap_or(BAUD),
        patience: Duration::from_secs_f64(options.serial.timeout),
    };
    interrupt::set_cooperative(true);
    let board = AttachedBoard::open(&address, interrupt::cancel());
    interrupt::set_cooperative(false);
    let board = board?;
    talk.say(format!("{}: a grid of {}", board.name(), board.machine()));
    let trained = train::train_on(global, &options.train, Some(&board), talk);
    // Ctrl-C while the board was waited for shows as a failure of the port.
    trained.map_err(|failure| if interrupt::requested() { Failure::Interrupted } else { failure })
}
