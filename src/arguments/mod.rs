//! The command line's arguments.

mod entry;
mod help;
mod measure;
mod places;
mod plan;
mod typed;
mod values;

pub use entry::{Entry, Limits, RowsOrLimit, Stays};
pub use help::misspelt;
pub use measure::{Accuracy, Bench, Explore, Place, Report};
pub use places::guard;
pub use plan::{PlanOptions, SelectionOptions};
pub use typed::typed;
pub use values::{Dialect, Format, Ranks, TemplateName, When};

use arch::rtl::CoreName;
use clap::{Args, Parser, Subcommand};
use compiler::language::Language;
use help::config_help;
use sim::data::file::Reading;
use std::ops::Range;
use std::path::{Path, PathBuf};
use values::{
    WORLD, parse_epochs, parse_gaussian, parse_jobs, parse_key, parse_range, parse_ranks, parse_separator,
    parse_setting, parse_timeout,
};
use workbench::writing::guard::Guard;
use workbench::{Failure, Rung};

const AFTER: &str = "\
Without a subcommand, builds: `tabla-gen --config configs/zcu102.toml` writes Verilog, microcode, stream layout and report.
Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 the program, config or data is wrong, 2 the arguments
are wrong, 3 simulators disagree, 4 does not fit, 5 a tool is missing or failed, 6 a file or board cannot be read or written,
7 values were clipped and --deny-saturation was given, 8 the words do not suffice and --deny-inaccuracy was given, 101 a bug of ours, 130 interrupted.";

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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Global {
    /// Machine, board and numbers: a TOML file, or the name of one in configs/
    #[arg(long, global = true, value_name = "FILE", help = config_help())]
    pub config: Option<PathBuf>,
    /// Key of the `machine` table, overrides the config; may be repeated
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_key)]
    pub machine: Vec<(String, String)>,
    /// Folder for what the command writes; default: the config's, or out/NAME
    #[arg(long, global = true, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// Format of the results on stdout
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Value of a constant of the program; may be repeated
    #[arg(long, global = true, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<(String, f64)>,
    /// Dialect of the language: `seed` refuses decimal numbers
    #[arg(long = "std", global = true, value_enum, default_value_t = Dialect::Ext)]
    pub dialect: Dialect,
    /// Parallel jobs (bench, explore); default: one per processor
    #[arg(long, short, global = true, value_name = "N", value_parser = parse_jobs)]
    pub jobs: Option<usize>,
    /// Language of the program, overrides the file extension
    #[arg(long, global = true, value_parser = values::language())]
    pub lang: Option<Language>,
    /// Rink: operators associate to the left without parentheses
    #[arg(long, global = true)]
    pub rink_left: bool,
    /// Rink: the reading of cfdlang without parentheses; in version 1, `*` is the outer product
    #[arg(long, global = true, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub cfdlang: Option<u8>,
    /// TABLA: mean and deviation of `gaussian`; default: 0,1
    #[arg(long, global = true, value_name = "MEAN,DEVIATION", value_parser = parse_gaussian, allow_hyphen_values = true)]
    pub gaussian: Option<(f64, f64)>,
    /// Fail with exit code 8 if the words do not suffice: results far from golden, or other classes (eval, sim, build, deploy, score, train, predict, run, report)
    #[arg(long, global = true)]
    pub deny_inaccuracy: bool,
    /// Write over inputs, and in the output folder over files that are not ours or were changed
    #[arg(long, global = true)]
    pub force: bool,
    /// The paths that were typed.
    #[arg(skip)]
    pub guard: Guard,
    /// Name of the generated module, and prefix of all others (build, deploy); default: the config's, or the program's name
    #[arg(long, global = true, value_name = "NAME", value_parser = CoreName::new)]
    pub module: Option<CoreName>,
    /// Print only results and errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write Verilog, microcode, stream layout and report (the default command)
    Build(Target),
    /// Check a program: diagnostics only
    Check(Check),
    /// Print the program with derived gradients
    Derive(Derive),
    /// Evaluate a program once on given inputs
    ///
    /// Every name of the program is kept as an output, while `train` keeps only what it needs; the two may therefore
    /// round differently in the last place.
    Eval(Eval),
    /// Train on a data set and compare with the golden model
    Train(Train),
    /// Predict with a trained model
    Predict(Predict),
    /// Score a function, such as an imported model, on a table
    Score(Score),
    /// Build a function, and write it if its Verilog scores as golden does on a table
    Deploy(Deploy),
    /// Write the weights of a saved model for other programs, or read them back: .npz, .npy, .csv, .h
    Weights(Weights),
    /// Train on a board, through its serial port, and compare with the array; or run a function there
    Run(Run),
    /// Co-simulate the generated Verilog with the array for some steps
    Sim(Sim),
    /// Prove that the images compute what their fixed-point programs say, for all inputs and weights
    Prove(Prove),
    /// Synthesise for the board with yosys and report its resources
    Synth(Target),
    /// Place and route an earlier `synth` with one seed and report the clock
    Place(Place),
    /// Build, synthesise, place, route and pack a bitstream for the board
    Bitstream(Target),
    /// Show cycles, placement and schedule by source line; `explain E-KIND` explains a diagnostic code
    Explain(Explain),
    /// Print the program after a compiler pass or stage, or run one pass on a text
    Ir(Ir),
    /// Train, measure, and write a page with curves, roofline, timeline, placement and cycles by line, as HTML, JSON and text
    Report(Report),
    /// Measure the published benchmarks: cycles per sample, bounds and peers
    Bench(Bench),
    /// Train in words of several widths, beside double precision
    Accuracy(Accuracy),
    /// Compare many machines: cycles, resources, Pareto front
    Explore(Explore),
    /// Print the data flow graph as DOT, or draw it with --svg FILE
    Graph(Graph),
    /// Create a project folder: program, settings, config, data
    Init(Init),
    /// List the external tools and their versions
    Doctor,
    /// Show the cache of built simulators; --prune empties it
    Cache(CacheOptions),
    /// Print the manual page, or with --out one per subcommand
    Man,
    /// Print the JSON schema of a document that this tool reads or writes
    Schema(Schema),
    /// Print a shell completion script
    Completions(Completions),
}

impl Command {
    /// Whether `--out` has an effect.
    pub fn writes_a_folder(&self) -> bool {
        !matches!(
            self,
            Command::Check(_)
                | Command::Derive(_)
                | Command::Eval(_)
                | Command::Train(_)
                | Command::Predict(_)
                | Command::Score(_)
                | Command::Run(_)
                | Command::Weights(_)
                | Command::Sim(_)
                | Command::Prove(_)
                | Command::Explain(_)
                | Command::Ir(_)
                | Command::Doctor
                | Command::Cache(_)
                | Command::Completions(_)
                | Command::Bench(_)
                | Command::Explore(_)
                | Command::Accuracy(_)
                | Command::Graph(_)
                | Command::Init(_)
                | Command::Schema(_)
        )
    }
}

#[derive(Debug, Args)]
pub struct Check {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub entry: Entry,
    /// JSON file with the values of the inputs, from which sizes follow; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Tensor Comprehensions: show how the range of each index was inferred
    #[arg(long)]
    pub explain_ranges: bool,
}

#[derive(Debug, Args)]
pub struct Derive {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub entry: Entry,
}

/// Inputs of an image.
#[derive(Debug, Clone, Args, Default)]
pub struct Target {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    #[command(flatten)]
    pub entry: Entry,
    /// Records of a function: a JSON file with one object or a list of them; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Records from which the binary points of a function are chosen: CSV, LIBSVM, .npy, .npz, Parquet, JSON or JSON lines; default: its records
    #[arg(long, value_name = "FILE")]
    pub calibrate: Option<PathBuf>,
    /// Data that decides sizes and binary points; default: the config's, or made-up samples
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub file: DataFile,
    #[command(flatten)]
    pub selection: SelectionOptions,
    #[command(flatten)]
    pub plan: PlanOptions,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// Program
    pub program: PathBuf,
    /// JSON file: {"x": [1, 2], "w": [0.5, 1]}; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Records from which binary points are chosen: CSV, LIBSVM, .npy, .npz, Parquet, JSON or JSON lines; default: the inputs
    #[arg(long, value_name = "FILE")]
    pub calibrate: Option<PathBuf>,
    #[command(flatten)]
    pub entry: Entry,
    /// Engine
    #[arg(long, value_parser = values::engine(), default_value = Rung::Golden.as_str())]
    pub engine: Rung,
    /// Fail with exit code 7 if a value was clipped to its word
    #[arg(long)]
    pub deny_saturation: bool,
}

#[derive(Debug, Args)]
pub struct Train {
    /// Program; default: the one the config names. Its `train` table is in the TOML file beside it
    pub program: Option<PathBuf>,
    /// Data: CSV, LIBSVM, .npy, .npz, Parquet, each also with gzip
    #[arg(long, value_name = "FILE", required = true)]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub file: DataFile,
    #[command(flatten)]
    pub selection: SelectionOptions,
    #[command(flatten)]
    pub plan: PlanOptions,
    /// Engine; the golden model always trains, too
    #[arg(long, value_parser = values::engine(), default_value = Rung::Array.as_str())]
    pub engine: Rung,
    /// Use only the first N rows of the training and test parts; or, with a name, a limit of the tool: see `check`
    #[arg(long, value_name = "N|NAME=N", value_parser = RowsOrLimit::parse)]
    pub limit: Vec<RowsOrLimit>,
    /// Threads that share the samples of every batch (fixed, array); without a number all MPI processes, in a build with MPI
    #[arg(long, value_name = "N", value_parser = parse_ranks, num_args = 0..=1, require_equals = true, default_missing_value = WORLD)]
    pub ranks: Option<Ranks>,
    /// Seconds a rank waits for the others
    #[arg(long, value_name = "SECONDS", default_value_t = 25.0, value_parser = parse_timeout, requires = "ranks")]
    pub rank_timeout: f64,
    /// Random stalls on both streams (array, rtl); change only the cycle count
    #[arg(long, value_name = "SEED")]
    pub stalls: Option<u64>,
    /// When the weights of `rtl` are compared with those of `array`; predictions always are
    #[arg(long, value_name = "WHEN", default_value = "epoch")]
    pub compare: When,
    /// Write the trained model
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print range and binary point of each tensor, and what decided it
    #[arg(long)]
    pub explain_numbers: bool,
    /// Fail with exit code 7 if a value was clipped to its word
    #[arg(long)]
    pub deny_saturation: bool,
    /// Start from a saved model
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// Start from weights of another program: .npz, .npy, .csv or .h, as `weights` writes them
    #[arg(long, value_name = "FILE", conflicts_with = "load")]
    pub weights: Option<PathBuf>,
    /// Write a checkpoint after every epoch
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub checkpoint: Option<PathBuf>,
    /// On a board with a sample store: epochs between two checkpoints; Ctrl-C ends them earlier
    #[arg(long, value_name = "EPOCHS", default_value_t = 1, value_parser = parse_epochs)]
    pub checkpoint_every: usize,
    /// Resume from a checkpoint and keep it up to date; other arguments as before
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

impl Train {
    /// The data; only `run` can be without.
    pub fn data(&self) -> Result<&Path, Failure> {
        self.data.as_deref().ok_or_else(|| Failure::Usage("a training needs its data: --data FILE".to_owned()))
    }
}

/// How a data file is read.
#[derive(Debug, Clone, Args, Default)]
pub struct DataFile {
    /// Separator of a text file (one character, or `tab`); default: from its first line
    #[arg(long, value_name = "CHARACTER", value_parser = parse_separator)]
    pub separator: Option<u8>,
    /// Whether the first line of a text file names the columns; default: decided by the rows below it
    #[arg(long, value_name = "yes|no", value_parser = values::parse_header)]
    pub header: Option<bool>,
    /// Arrays of an .npz file, side by side in this order; default: all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub arrays: Option<Vec<String>>,
}

impl DataFile {
    /// For the reader.
    pub fn reading(&self, limits: &Limits) -> Reading {
        Reading { separator: self.separator, header: self.header, arrays: self.arrays.clone(), limits: limits.data() }
    }
}

#[derive(Debug, Args)]
pub struct Predict {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    /// Data with the feature columns of the model, in any format that `train` reads
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    #[command(flatten)]
    pub file: DataFile,
    /// Model saved by `train --save`
    #[arg(long = "load", alias = "model", value_name = "FILE")]
    pub model: PathBuf,
    #[command(flatten)]
    pub limits: Limits,
    /// Engine
    #[arg(long, value_parser = values::engine(), default_value = Rung::Array.as_str())]
    pub engine: Rung,
    /// Fail with exit code 7 if a value was clipped to its word
    #[arg(long)]
    pub deny_saturation: bool,
}

/// A function and the table that it is scored on.
#[derive(Debug, Args)]
pub struct ScoredRows {
    /// Program: a model (.onnx, .tflite), or a function
    pub program: PathBuf,
    /// Table of features and targets, in any format that `train` reads
    #[arg(long, value_name = "FILE")]
    pub data: PathBuf,
    #[command(flatten)]
    pub file: DataFile,
    #[command(flatten)]
    pub selection: SelectionOptions,
    #[command(flatten)]
    pub entry: Entry,
}

#[derive(Debug, Args)]
pub struct Score {
    #[command(flatten)]
    pub scored: ScoredRows,
    /// Records from which binary points are chosen: CSV, LIBSVM, .npy, .npz, Parquet, JSON or JSON lines; default: the rows of --data
    #[arg(long, value_name = "FILE")]
    pub calibrate: Option<PathBuf>,
    /// Engine
    #[arg(long, value_parser = values::engine(), default_value = Rung::Array.as_str())]
    pub engine: Rung,
}

#[derive(Debug, Args)]
pub struct Deploy {
    #[command(flatten)]
    pub scored: ScoredRows,
    /// Points, hundredths of accuracy or of R2, that the score of the hardware may be from golden's
    #[arg(long, value_name = "POINTS", default_value_t = 0.5, value_parser = values::parse_points)]
    pub within: f64,
    /// Share of the rows, of each class alike, from which binary points are chosen; the rest is scored
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = values::parse_share)]
    pub split: f64,
    /// Seed of the split
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Then make the bitstream of the board
    #[arg(long)]
    pub bitstream: bool,
}

/// Training on a board, with the options of `train`, or a function there.
#[derive(Debug, Args)]
#[command(mut_arg("engine", |argument| argument.hide(true)), mut_arg("stalls", |argument| argument.hide(true)))]
#[command(mut_arg("compare", |argument| argument.hide(true)), mut_arg("data", |argument| argument.required(false)))]
pub struct Run {
    #[command(flatten)]
    pub serial: Serial,
    /// Records of a function: a JSON file with one object or a list of them; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub inputs: Option<PathBuf>,
    /// Function of the program, in languages that have functions; default: the last one
    #[arg(long = "entry", value_name = "NAME")]
    pub function: Option<String>,
    #[command(flatten)]
    pub stays: Stays,
    #[command(flatten)]
    pub train: Train,
}

/// A board behind a serial port.
#[derive(Debug, Args)]
pub struct Serial {
    /// Serial port of the board, such as /dev/ttyUSB0; `simulated` runs the Verilog of the config's board under Verilator; with --ranks a port for
    /// each rank, separated by commas
    #[arg(long, value_name = "DEVICE")]
    pub port: PathBuf,
    /// Bits per second; default: those of the config's board, or 1000000
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(300..=12_000_000))]
    pub baud: Option<u32>,
    /// Seconds to wait for a grid without progress
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = parse_timeout)]
    pub timeout: f64,
}

#[derive(Debug, Args)]
pub struct Weights {
    /// Model saved by `train --save`
    pub model: PathBuf,
    /// File to write the weights to; the extension selects the format. Default: list them
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub to: Option<PathBuf>,
    /// Trained ONNX model, which `--to NEW.onnx` writes with the new weights
    #[arg(long, value_name = "FILE", requires = "to")]
    pub onnx: Option<PathBuf>,
    /// File to take other weights from
    #[arg(long, value_name = "FILE", requires = "save")]
    pub from: Option<PathBuf>,
    /// Model file to write with them
    #[arg(long, value_name = "FILE", requires = "from")]
    pub save: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Explain {
    #[command(flatten)]
    pub target: Target,
    /// Print range and binary point of each tensor, and what decided it
    #[arg(long = "explain-numbers")]
    pub numbers: bool,
    /// Also draw the units over two steps
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Ir {
    #[command(flatten)]
    pub target: Target,
    /// The program as `eval` runs it on these inputs, with every name kept; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "inputs", "pass_input"])]
    pub evaluate: Option<PathBuf>,
    /// Pass or stage; with --pass-input, the pass to run
    #[arg(long, value_name = "PASS|STAGE", required_unless_present = "list")]
    pub after: Option<String>,
    /// Text of a stage to run the pass on, instead of a program; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "data", "inputs"])]
    pub pass_input: Option<PathBuf>,
    /// List the passes and stages in order
    #[arg(long, conflicts_with_all = ["after", "pass_input"])]
    pub list: bool,
}

#[derive(Debug, Args)]
pub struct Graph {
    /// Program; default: the one the config names
    pub program: Option<PathBuf>,
    /// JSON file with the inputs, for programs whose sizes come with them
    #[arg(long, value_name = "FILE")]
    pub inputs: Option<PathBuf>,
    /// Function to draw, in languages that have functions
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub limits: Limits,
    /// Also draw it
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Init {
    /// Folder, which does not exist or is empty
    pub folder: PathBuf,
    /// Template of the project
    #[arg(long, value_enum, default_value_t = TemplateName::Binary)]
    pub template: TemplateName,
    /// Configuration to take machine and board from, such as ulx3s; default: a small machine without a board
    #[arg(long, value_name = "NAME")]
    pub board: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Name of the document; without it the names are listed
    pub name: Option<String>,
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
    /// `rtl` compares the generated Verilog with the array; `array`, which needs no tools, compares it with fixed point
    #[arg(long, value_parser = values::engine(), default_value = Rung::Rtl.as_str())]
    pub engine: Rung,
    /// Fail with exit code 7 if a value was clipped to its word
    #[arg(long)]
    pub deny_saturation: bool,
    /// Write what the array does in each cycle: FILE.vcd or FILE.fst, with view files for `GTKWave` and Surfer beside it
    #[arg(long, value_name = "FILE")]
    pub wave: Option<PathBuf>,
    /// Only these cycles of the run, FROM..TO
    #[arg(long, value_name = "RANGE", requires = "wave", conflicts_with = "wave_samples", value_parser = parse_range)]
    pub wave_cycles: Option<Range<u64>>,
    /// Only while these samples (or their batches) are computed, FROM..TO, counted from 0
    #[arg(long, value_name = "RANGE", requires = "wave", value_parser = parse_range)]
    pub wave_samples: Option<Range<u64>>,
    /// The PU whose PEs are shown
    #[arg(long, value_name = "PU", requires = "wave", default_value_t = 0)]
    pub wave_pu: u32,
}

#[derive(Debug, Args)]
pub struct Prove {
    #[command(flatten)]
    pub target: Target,
    /// Batches of the proof; two use both banks and start from written weights
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: u32,
}

#[derive(Debug, Args)]
pub struct CacheOptions {
    /// Remove all; they are rebuilt on demand
    #[arg(long)]
    pub prune: bool,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
