//! `run`: train on a board through its serial port, with the array beside it.

use crate::arguments::{EngineName, Global, Run};
use crate::commands::train;
use crate::failure::Failure;
use crate::output::Talk;
use crate::project::Project;
use crate::serial::{Board, interrupted_or};

/// Train, compare, print.
pub fn run(global: &Global, options: &Run, talk: &Talk) -> Result<(), Failure> {
    if options.train.engine != EngineName::Array || options.train.stalls.is_some() {
        return Err(Failure::Usage("`run` trains on the board: --engine and --stalls are for `train`".to_owned()));
    }
    // What is wrong with the arguments is said before a port is opened; the config knows the rate of its board.
    let project = Project::open(global, options.train.program.as_deref())?;
    let baud = project.board.facts().and_then(|facts| facts.io.as_ref()).map(|io| io.baud);
    let board = Board::open(&options.serial, baud)?;
    talk.say(format!("{}: a grid of {}", board.name(), board.machine()));
    train::train_on(global, &options.train, Some(&board), talk).map_err(interrupted_or)
}
