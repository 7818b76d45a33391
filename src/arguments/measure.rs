//! Arguments of what measures: benchmarks, widths of words, machines.

use super::values::parse_place_seed;
use super::{Target, Train};
use clap::Args;
use compiler::means::Means;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "they are switches of a command line")]
pub struct Bench {
    /// Benchmarks; default: all of programs/benchmarks.toml
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Only runs with this batch size
    #[arg(long, value_name = "B")]
    pub batch: Option<u32>,
    /// Also check these on the generated Verilog; default: `logistic_54`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub rtl: Vec<String>,
    /// Check none on the Verilog
    #[arg(long, conflicts_with = "rtl")]
    pub no_rtl: bool,
    /// Measure whole systems: simulated boards with link and store (programs/system.toml)
    #[arg(long, conflicts_with_all = ["rtl", "no_rtl"])]
    pub system: bool,
    /// Measure untuned kernels (programs/kernels.toml); on the Verilog only those of `--rtl`
    #[arg(long, conflicts_with_all = ["system", "batch"])]
    pub kernels: bool,
    /// Measure networks (programs/networks.toml)
    #[arg(long, conflicts_with_all = ["system", "kernels", "batch", "rtl", "no_rtl"])]
    pub networks: bool,
    /// Include those that take minutes
    #[arg(long, requires = "networks")]
    pub long: bool,
    /// Output words per cycle of the grid for kernels
    #[arg(long, value_name = "O", requires = "kernels", default_value_t = 1)]
    pub output_words: u32,
    /// Words that leave this grid in one beat (`emit_words`); 0: those of a cycle
    #[arg(long, value_name = "E", requires = "kernels", default_value_t = 0)]
    pub emit_words: u32,
    /// Disable these optimisations, for ablation
    #[arg(long, value_name = "MEANS", value_delimiter = ',', requires = "kernels", hide = true)]
    pub without: Vec<Means>,
    /// Only on these boards
    #[arg(long, value_name = "CONFIGS", value_delimiter = ',', requires = "system")]
    pub board: Vec<String>,
    /// Write results and samples of each case here, for other programs
    #[arg(long, value_name = "FOLDER", requires = "system")]
    pub samples: Option<PathBuf>,
    /// Print the table of docs/performance.md, docs/system.md, docs/kernels.md or docs/networks.md
    #[arg(long)]
    pub page: bool,
}

#[derive(Debug, Args)]
pub struct Report {
    #[command(flatten)]
    pub train: Train,
    /// Word widths in which the training is repeated
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_values_t = [8, 12, 16, 24])]
    pub words: Vec<u32>,
}

#[derive(Debug, Args)]
pub struct Accuracy {
    #[command(flatten)]
    pub train: Train,
    /// Word widths
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_values_t = [8, 12, 16, 24])]
    pub words: Vec<u32>,
    /// Print the table of docs/accuracy.md
    #[arg(long)]
    pub page: bool,
}

#[derive(Debug, Args)]
pub struct Explore {
    #[command(flatten)]
    pub target: Target,
    /// Rows (PUs) of the grid; default: the config's
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
    /// Bits of a word; accumulators follow
    #[arg(long, value_name = "W,W,...", value_delimiter = ',')]
    pub words: Vec<u32>,
    /// Write a Snakemake workflow instead: a job per combination, on a board with synthesis, place and route
    #[arg(long, value_name = "FOLDER")]
    pub workflow: Option<PathBuf>,
    /// Seeds of place and route in a workflow
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', default_values_t = [1, 2, 3], value_parser = parse_place_seed)]
    #[arg(requires = "workflow")]
    pub place_seeds: Vec<u32>,
    /// Print the results of a workflow so far; also written to its folder `report` as CSV, JSON and HTML
    #[arg(long, value_name = "FOLDER")]
    #[arg(conflicts_with_all = ["workflow", "program", "data", "pus", "pes_per_pu", "stream_words", "batches", "words", "place_seeds", "epochs", "batch", "reduction", "order", "seed", "split"])]
    pub collect: Option<PathBuf>,
}

/// Place and route a former `synth`, with its arguments.
#[derive(Debug, Args)]
pub struct Place {
    #[command(flatten)]
    pub target: Target,
    /// Seed of place and route
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_place_seed)]
    pub place_seed: u32,
}
