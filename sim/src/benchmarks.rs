//! The published benchmarks: their table (`programs/benchmarks.toml`), and a run of one of them on made-up samples.
//!
//!     programs/benchmarks.toml ──read──▶ Benchmark, Run ──+ text of the program──▶ Prepared ──array──▶ Pace

use crate::driver::Stuck;
use crate::grid::{Grid, Stalls};
use crate::ladder::{Climb, Fall, NamedValues};
use crate::pace::{Bounds, Pace, cycles_per_step};
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use compiler::optimisations::Disabled;
use compiler::tensor;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benchmark {
    /// As it was published.
    pub name: String,
    /// File in `programs/`.
    pub program: String,
    /// Constants of the program.
    pub set: BTreeMap<String, f64>,
    /// What others need.
    #[serde(default)]
    pub peers: Peers,
    /// What is measured, with targets.
    pub runs: Vec<Run>,
}

/// Cycles per sample of others, on 64 PEs with 16 words of input per cycle.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// Measured in their RTL.
    pub rtl: Option<u64>,
    /// Said by their simulator.
    pub simulator: Option<u64>,
}

/// One grid and batch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Samples per update.
    #[serde(default = "one")]
    pub batch: u32,
    /// Rows of the grid.
    #[serde(default = "eight")]
    pub pus: u32,
    /// Columns of the grid.
    #[serde(default = "eight")]
    pub pes_per_pu: u32,
    /// Words of input per cycle.
    #[serde(default = "sixteen")]
    pub stream_words: u32,
    /// Words of output per cycle.
    #[serde(default = "one")]
    pub output_words: u32,
    /// Words of each data scratchpad; default: as many as the batch needs. With fewer it runs in tiles.
    pub data_depth: Option<u32>,
    /// At most so many cycles per sample.
    pub cycles: Option<f64>,
    /// At most so many times the bandwidth bound.
    pub bandwidth: Option<f64>,
    /// At least this part of the multiply-add slots.
    pub utilisation: Option<f64>,
}

fn one() -> u32 {
    1
}

fn eight() -> u32 {
    8
}

fn sixteen() -> u32 {
    16
}

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    benchmark: Vec<Benchmark>,
}

/// Read the table.
///
/// # Errors
/// `E-CONFIG`: it is not what this module knows.
pub fn read(text: &str) -> Result<Vec<Benchmark>, Diagnostic> {
    let table: Table = toml::from_str(text).map_err(|error| Diagnostic::global(Code::Config, error.to_string()))?;
    Ok(table.benchmark)
}

impl Run {
    /// The grid; depths are what the program needs.
    pub fn machine(&self) -> MachineSpec {
        MachineSpec {
            pus: Some(self.pus),
            pes_per_pu: Some(self.pes_per_pu),
            word: Some(16),
            stream_words: Some(self.stream_words),
            output_words: Some(self.output_words),
            data_depth: self.data_depth,
            ..MachineSpec::default()
        }
    }

    /// Whether so many cycles per sample reach the target.
    pub fn reached(&self, cycles: f64, bounds: &Bounds) -> bool {
        self.limit(bounds).is_none_or(|limit| cycles <= limit)
    }

    /// The target as cycles per sample.
    pub fn limit(&self, bounds: &Bounds) -> Option<f64> {
        let bandwidth = self.bandwidth.map(|times| times * bounds.by_resource.input_words);
        let slots = f64::from(self.pus * self.pes_per_pu);
        let utilisation = self.utilisation.map(|part| bounds.work.multiply_adds / slots / part);
        [self.cycles, bandwidth, utilisation].into_iter().flatten().reduce(f64::min)
    }
}

/// A run of a benchmark, compiled, with made-up samples.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The program on the upper rungs of the ladder, and its image.
    pub climb: Climb,
    batch: u32,
}

/// Steps of made-up samples.
const STEPS: usize = 5;

impl Prepared {
    /// Compile a run of a benchmark; `text` is its program's.
    ///
    /// # Errors
    /// What the program or the machine do not allow.
    pub fn new(benchmark: &Benchmark, run: &Run, text: &str) -> Result<Prepared, Vec<Diagnostic>> {
        Prepared::new_without(benchmark, run, text, Disabled::NOTHING)
    }

    /// The same with fewer means.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn new_without(
        benchmark: &Benchmark,
        run: &Run,
        text: &str,
        disabled: Disabled,
    ) -> Result<Prepared, Vec<Diagnostic>> {
        let set = benchmark.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
        let dialect = language::Options { set, ..language::Options::default() };
        let (program, _) = language::parse(Language::Tabla, text, &dialect)?;
        let batch = Batch { size: run.batch, reduction: Reduction::Mean };
        let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
        let (model, steps) = samples(&program, run.batch, STEPS);
        let climb = Climb::new_without(&program, &options, &model, &steps, &run.machine(), disabled)?;
        Ok(Prepared { climb, batch: run.batch })
    }

    /// Cycles per sample on the array, and what cannot be beaten.
    ///
    /// # Errors
    /// The array is stuck.
    pub fn pace(&self) -> Result<Pace, Stuck> {
        Pace::of(&self.climb.fixed, self.climb.image(), self.batch)
    }

    /// Cycles per sample on another grid; `grid` makes one of the image's machine.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn cycles_per_sample<G: Grid>(&self, grid: impl FnMut() -> G) -> Result<f64, Stuck> {
        Ok(cycles_per_step(self.climb.image(), grid)? / f64::from(self.batch))
    }

    /// Run all made-up steps and compare every weight with `fixed`.
    ///
    /// # Errors
    /// The first word that differs, or a grid that is stuck.
    pub fn compare<G: Grid>(&self, grid: G) -> Result<u64, Fall> {
        Ok(self.climb.run(grid, Stalls::none())?.words)
    }
}

/// Weights, and inputs of some steps: in -1/2..1/2, the same everywhere; weights are scaled so that sums stay near 1.
fn samples(program: &tensor::Program, batch: u32, steps: usize) -> (NamedValues, Vec<NamedValues>) {
    let mut noise = Noise(1);
    let mut values = |elements: u32, scale: f64| -> Vec<f64> { (0..elements).map(|_| noise.next() * scale).collect() };
    let mut model = NamedValues::new();
    let mut made = vec![NamedValues::new(); steps];
    for tensor in &program.tensors {
        let elements: u32 = tensor.shape.iter().product();
        match tensor.role {
            tensor::Role::State => {
                let terms = tensor.shape.last().copied().unwrap_or(1).max(1);
                model.insert(tensor.name.clone(), values(elements, 1.0 / f64::from(terms).sqrt()));
            }
            tensor::Role::Input | tensor::Role::Label => {
                for step in &mut made {
                    step.insert(tensor.name.clone(), values(elements * batch, 1.0));
                }
            }
            _ => {}
        }
    }
    (model, made)
}

/// Numbers that look random and are the same everywhere, in -1/2..1/2.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    }
}
