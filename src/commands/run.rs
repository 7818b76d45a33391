//! `run`: train on a board through its serial port, with the array beside it.

use crate::arguments::{EngineName, Global, Run};
use crate::commands::train;
use crate::failure::Failure;
use crate::output::Talk;
use crate::project;
use crate::serial::{Board, interrupted_or};

/// Train, compare, print.
pub fn run(global: &Global, options: &Run, talk: &Talk) -> Result<(), Failure> {
    if options.train.engine != EngineName::Array || options.train.stalls.is_some() {
        return Err(Failure::Usage("`run` trains on the board: --engine and --stalls are for `train`".to_owned()));
    }
    // The config is read once more below; what is wrong with it should be said before a port is opened.
    project::config(global)?;
    let board = Board::open(&options.serial, None)?;
    talk.say(format!("{}: a grid of {}", board.name(), board.machine()));
    train::train_on(global, &options.train, Some(&board), talk).map_err(interrupted_or)
}
