//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const AFTER: &str = "\
Without a subcommand, builds: `tabla-gen --config configs/zcu102.toml` writes Verilog, microcode, stream layout and report.
Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 the program, config or data is wrong, 2 the arguments
are wrong, 3 simulators disagree, 4 does not fit, 5 a tool is missing or failed, 6 a file cannot be read or written,
101 a bug of ours, 130 interrupted.";

/// From a training step in a few lines to a verified accelerator.
#[derive(Debug, Parser)]
#[command(name = "tabla-gen", version, about, after_help = AFTER)]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Program to build; default: the one the config names
    pub program: Option<PathBuf>,
}

/// Options of every subcommand.
#[derive(Debug, Args)]
pub struct Global {
    /// Machine, board and numbers: a TOML file, or the name of one in configs/ (zcu102, ulx3s, icebreaker, tiny)
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for what `build` writes; default: the config's, or out/NAME
    #[arg(long, global = true, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Form of the results on stdout
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Value of a constant of the program; may be repeated
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, f64)>,
    /// Dialect of the language: `seed` refuses decimal numbers
    #[arg(long = "std", global = true, value_enum, default_value_t = Dialect::Ext)]
    pub dialect: Dialect,
    /// Say nothing but errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

fn parse_setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.trim().parse::<f64>().map_err(|_| format!("`{value}` is not a number"))?;
    if value.is_finite() { Ok((name.trim().to_owned(), value)) } else { Err("the value must be finite".to_owned()) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    /// The seed language.
    Seed,
    /// With decimal numbers.
    Ext,
}

/// What runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Real numbers (f64)
    Golden,
    /// Fixed-point words, bit by bit as the hardware computes
    Fixed,
    /// The array, cycle by cycle, in Rust
    Array,
    /// The generated Verilog, through Verilator, compared with the array
    Rtl,
}

impl EngineName {
    /// The word the user types.
    pub fn as_str(self) -> &'static str {
        match self {
            EngineName::Golden => "golden",
            EngineName::Fixed => "fixed",
            EngineName::Array => "array",
            EngineName::Rtl => "rtl",
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write Verilog, microcode, stream layout and report (what happens without a subcommand)
    Build(Target),
    /// Diagnostics only
    Check(ProgramOption),
    /// Evaluate a program once on given inputs
    ///
    /// Every name of the program is kept as an output, while `train` keeps only what it needs; the two may therefore
    /// round differently in the last place.
    Eval(Eval),
    /// Train on a data set and compare with the golden model
    Train(Train),
    /// Predict with a trained model
    Predict(Predict),
    /// Co-simulate the generated Verilog with the array for some steps
    Sim(Sim),
    /// Placement and schedule: what runs when and where, by source line
    Explain(Target),
    /// Which external tools are found, and which versions
    Doctor,
    /// Completion for a shell
    Completions(Completions),
}

#[derive(Debug, Args)]
pub struct ProgramOption {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
}

/// What an image is made for.
#[derive(Debug, Args, Default)]
pub struct Target {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    /// CSV file that decides sizes and binary points; default: the config's, or random data
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Target columns of the data, separated by commas; default: the last ones
    #[arg(long = "target", value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    /// Samples per update
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Program
    pub program: PathBuf,
    /// JSON file: {"x": [1, 2], "w": [0.5, 1]}; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Function to evaluate, in languages that have functions
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// What runs it
    #[arg(long, value_enum, default_value_t = EngineName::Golden)]
    pub engine: EngineName,
}

#[derive(Debug, Args)]
pub struct Train {
    /// Program; default: the one the config names. Its `train` table stands in the TOML beside it
    pub program: Option<PathBuf>,
    /// CSV file with a header line
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    /// Target columns, separated by commas; default: the last ones
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub target: Option<Vec<String>>,
    /// Part of the rows that trains; the others test
    #[arg(long, default_value_t = 0.8, value_name = "FRACTION", value_parser = parse_split)]
    pub split: f64,
    /// Seed of split, order and initial weights
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Passes over the training part
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// Samples per update
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: Option<u32>,
    /// Another order of the samples in every epoch
    #[arg(long)]
    pub shuffle: bool,
    /// What trains; the golden model always trains too
    #[arg(long, value_enum, default_value_t = EngineName::Array)]
    pub engine: EngineName,
    /// Use only the first N rows of the training and test parts
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Random stalls on both streams (array, rtl); change the cycle count and nothing else
    #[arg(long, value_name = "SEED")]
    pub stalls: Option<u64>,
    /// Write the trained model
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Start from a saved model
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
}

fn parse_split(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1.0 => Ok(value),
        _ => Err("must lie above 0 and be at most 1".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct Predict {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    /// CSV file with the feature columns of the model
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    /// Model saved by `train --save`
    #[arg(long = "load", alias = "model", value_name = "FILE")]
    pub model: PathBuf,
    /// What predicts
    #[arg(long, value_enum, default_value_t = EngineName::Array)]
    pub engine: EngineName,
}

#[derive(Debug, Args)]
pub struct Sim {
    #[command(flatten)]
    pub target: Target,
    /// Steps to simulate
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
    /// Random stalls on both streams
    #[arg(long, value_name = "SEED")]
    pub stalls: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
