//! One file per subcommand. Each takes the parsed arguments and gives a result on stdout or a failure.

pub mod accuracy;
pub mod bench;
pub mod bitstream;
pub mod build;
pub mod check;
pub mod code;
pub mod completions;
pub mod derive;
pub mod doctor;
pub mod eval;
pub mod explain;
pub mod explore;
pub mod graph;
pub mod init;
pub mod ir;
pub mod man;
pub mod predict;
pub mod report;
pub mod run;
pub mod schema;
pub mod sim;
pub mod synth;
pub mod train;
pub mod weights;
