//! Errors on the way to a board.

use arch::link;

/// Why the link does not work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The line itself.
    #[error("the line failed: {0} (is the board still plugged in?)")]
    Line(String),
    /// Nothing comes back.
    #[error(
        "no answer after {attempts} attempts (is the board on, does it hold a bitstream of tabla-gen, is the rate right?)"
    )]
    Silent {
        /// Requests sent.
        attempts: u32,
    },
    /// What comes back is damaged, or the board says that what it got was.
    #[error("{damaged} of {attempts} attempts ended with damaged bytes (is the rate right?)")]
    Damaged {
        /// Requests sent.
        attempts: u32,
        /// How many were seen to be damaged.
        damaged: u32,
    },
    /// The board lost its session.
    #[error("the board was reset while it worked")]
    Reset,
    /// The board refuses a request.
    #[error("the board refuses {command}: {meaning}")]
    Refused {
        /// The request.
        command: &'static str,
        /// What its status means.
        meaning: &'static str,
    },
    /// Hardware and host are not of the same time.
    #[error(
        "the board speaks version {board} of the link, this tabla-gen version {}: load a bitstream that this tabla-gen made, or use the one that made the board's",
        link::VERSION
    )]
    Version {
        /// Of the board.
        board: u8,
    },
    /// A reply that the protocol does not know.
    #[error("the board speaks another protocol: {0}")]
    Protocol(String),
    /// The registers describe no grid of ours.
    #[error("no grid of tabla-gen is behind the link: its identity register is {0:#010x}")]
    Identity(u32),
    /// Nothing moves.
    #[error("the grid made no progress for {seconds} s: {waiting}")]
    Stalled {
        /// How long.
        seconds: u64,
        /// What is waited for.
        waiting: String,
    },
}
