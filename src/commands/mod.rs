//! One file per subcommand. Each takes the parsed arguments and gives a result on stdout or a failure.

pub mod build;
pub mod check;
pub mod completions;
pub mod doctor;
pub mod eval;
pub mod explain;
pub mod predict;
pub mod sim;
pub mod train;
pub mod weights;
