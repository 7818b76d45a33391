//! Arguments of what measures: benchmarks, widths of words, machines.

use super::values::parse_place_seed;
use super::{Target, Train};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches of a command line")]
pub struct Bench {
    /// Benchmarks; default: all of programs/benchmarks.toml
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Only the runs with so many samples per update
    #[arg(long, value_name = "B")]
    pub batch: Option<u32>,
    /// Check these on the generated Verilog, too; default: `logistic_54`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub rtl: Vec<String>,
    /// Check none on the Verilog
    #[arg(long, conflicts_with = "rtl")]
    pub no_rtl: bool,
    /// Measure whole systems instead, the cases of programs/system.toml: simulated boards with link and store
    #[arg(long, conflicts_with_all = ["rtl", "no_rtl"])]
    pub system: bool,
    /// Measure kernels that nobody tuned instead, those of programs/kernels.toml; none on the Verilog but those of `--rtl`
    #[arg(long, conflicts_with_all = ["system", "batch"])]
    pub kernels: bool,
    /// Measure networks instead, those of programs/networks.toml
    #[arg(long, conflicts_with_all = ["system", "kernels", "batch", "rtl", "no_rtl"])]
    pub networks: bool,
    /// Also those that take minutes
    #[arg(long, requires = "networks")]
    pub long: bool,
    /// Words of output per cycle of the grid that kernels are measured on
    #[arg(long, value_name = "O", requires = "kernels", default_value_t = 1)]
    pub output_words: u32,
    /// Words that leave this grid in one beat, and go out of its FIFO while the next step computes; 0: those of a cycle
    #[arg(long, value_name = "E", requires = "kernels", default_value_t = 0)]
    pub emit_words: u32,
    /// Only on these boards
    #[arg(long, value_name = "CONFIGS", value_delimiter = ',', requires = "system")]
    pub board: Vec<String>,
}

#[derive(Debug, Args)]
#[command(mut_arg("data", |data| data.required(false).required_unless_present("others")))]
pub struct Report {
    #[command(flatten)]
    pub train: Train,
    /// Widths of a word in which the training is repeated, to see what they cost
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_values_t = [8, 12, 16, 24])]
    pub words: Vec<u32>,
    /// Folders of other reports: `report A B` compares them, and trains and writes nothing
    #[arg(value_name = "FOLDER")]
    pub others: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Accuracy {
    #[command(flatten)]
    pub train: Train,
    /// Widths of a word
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_values_t = [8, 12, 16, 24])]
    pub words: Vec<u32>,
}

#[derive(Debug, Args)]
pub struct Explore {
    #[command(flatten)]
    pub target: Target,
    /// Rows of the grid; default: the config's
    #[arg(long, value_name = "R,R,...", value_delimiter = ',')]
    pub pus: Vec<u32>,
    /// PEs per row
    #[arg(long, value_name = "C,C,...", value_delimiter = ',')]
    pub pes_per_pu: Vec<u32>,
    /// Words of input per cycle
    #[arg(long, value_name = "S,S,...", value_delimiter = ',')]
    pub stream_words: Vec<u32>,
    /// Samples per update
    #[arg(long, value_name = "B,B,...", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "batch")]
    pub batches: Vec<u32>,
    /// Bits of a word; those of accumulators then follow from them
    #[arg(long, value_name = "W,W,...", value_delimiter = ',')]
    pub words: Vec<u32>,
    /// Measure nothing; write a Snakemake workflow that does: a job for each combination, on a board also its synthesis, and place and route
    #[arg(long, value_name = "FOLDER")]
    pub workflow: Option<PathBuf>,
    /// Seeds of place and route in a workflow
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [1, 2, 3], value_parser = parse_place_seed)]
    #[arg(requires = "workflow")]
    pub place_seeds: Vec<u32>,
    /// The table of what a workflow has done so far; also written to its folder `report`, as CSV, JSON and a page
    #[arg(long, value_name = "FOLDER")]
    #[arg(conflicts_with_all = ["workflow", "program", "data", "pus", "pes_per_pu", "stream_words", "batches", "words", "place_seeds", "epochs", "batch", "reduction", "order", "seed", "split"])]
    pub collect: Option<PathBuf>,
}

/// Place and route of what `synth` has left, whose arguments it takes.
#[derive(Debug, Args)]
pub struct Place {
    #[command(flatten)]
    pub target: Target,
    /// Seed of place and route
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_place_seed)]
    pub place_seed: u32,
}
