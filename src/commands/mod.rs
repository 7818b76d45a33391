//! One file per subcommand. Each takes the parsed arguments and gives a result on stdout or a failure.

pub mod about;
#[cfg(test)]
mod agreement;
pub mod bitstream;
pub mod build;
pub mod check;
pub mod derive;
pub mod eval;
pub mod explain;
pub mod graph;
pub mod init;
pub mod ir;
pub mod measure;
pub mod place;
pub mod predict;
pub mod prove;
pub mod report;
pub mod run;
pub mod score;
pub mod sim;
pub mod synth;
pub mod train;
pub mod weights;
