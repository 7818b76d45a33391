//! The published benchmarks: their table (`programs/benchmarks.toml`), and a run of one of them on made-up samples.
//!
//!     programs/benchmarks.toml ──read──▶ Benchmark, Run ──+ text of the program──▶ Prepared ──grid──▶ cycles per sample, bounds

use crate::driver::{Driver, Stuck};
use crate::grid::{Grid, Stalls};
use crate::ladder::{Climb, Fall, Values};
use arch::machine::MachineSpec;
use arch::{Code, Diagnostic, Machine};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::fixed::{Kind, Operand, Operation, Program, Role};
use compiler::language::{self, Language};
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

/// What no machine of this kind can beat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Cycles per sample in which all PEs together do the products of two words.
    pub work: f64,
    /// Cycles per sample in which its words come in.
    pub bandwidth: f64,
}

/// Products of two words that an operation needs; a factor that is a constant of the program counts as none.
pub fn products(operation: &Operation) -> u64 {
    let words = match &operation.kind {
        Kind::MultiplyAdd { product: Some((a, b)), .. } => {
            matches!((a, b), (Operand::Read { .. }, Operand::Read { .. }))
        }
        Kind::Product { .. } => true,
        _ => false,
    };
    if words { operation.iterators.iter().map(tensor::Iterator::extent).product() } else { 0 }
}

impl Bounds {
    /// The bounds of a step of `batch` samples.
    pub fn of(program: &Program, machine: &Machine, batch: u32) -> Bounds {
        let words = |shape: &[u32]| shape.iter().map(|&n| u64::from(n)).product::<u64>();
        let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
        let inputs: u64 = inputs.map(|tensor| words(&tensor.shape)).sum();
        let products: u64 = program.operations.iter().map(products).sum();
        let batch = f64::from(batch);
        Bounds {
            work: products as f64 / f64::from(machine.pes()) / batch,
            bandwidth: inputs as f64 / f64::from(machine.stream_words()) / batch,
        }
    }

    /// The larger one.
    pub fn larger(&self) -> f64 {
        self.work.max(self.bandwidth)
    }
}

impl Run {
    /// The grid; depths are what the program needs.
    pub fn machine(&self) -> MachineSpec {
        MachineSpec {
            pus: Some(self.pus),
            pes_per_pu: Some(self.pes_per_pu),
            word: Some(16),
            stream_words: Some(self.stream_words),
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
        let bandwidth = self.bandwidth.map(|times| times * bounds.bandwidth);
        let utilisation = self.utilisation.map(|part| bounds.work / part);
        [self.cycles, bandwidth, utilisation].into_iter().flatten().reduce(f64::min)
    }
}

/// A run of a benchmark, compiled, with made-up samples.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The program on the upper rungs of the ladder, and its image.
    pub climb: Climb,
    /// What cannot be beaten.
    pub bounds: Bounds,
    batch: u32,
}

/// Steps between the two runs whose difference is measured.
const MEASURED_STEPS: usize = 2;
/// Steps after which a grid repeats itself: both banks have been filled, and the first one emptied.
const FIRST_STEPS: usize = 3;

impl Prepared {
    /// Compile a run of a benchmark; `text` is its program's.
    ///
    /// # Errors
    /// What the program or the machine do not allow.
    pub fn new(benchmark: &Benchmark, run: &Run, text: &str) -> Result<Prepared, Vec<Diagnostic>> {
        let set = benchmark.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
        let dialect = language::Options { set, ..language::Options::default() };
        let (program, _) = language::parse(Language::Tabla, text, &dialect)?;
        let batch = Batch { size: run.batch, reduction: Reduction::Mean };
        let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
        let (model, steps) = samples(&program, run.batch, FIRST_STEPS + MEASURED_STEPS);
        let climb = Climb::new(&program, &options, &model, &steps, &run.machine())?;
        let bounds = Bounds::of(&climb.fixed, &climb.image().machine, run.batch);
        Ok(Prepared { climb, bounds, batch: run.batch })
    }

    /// Cycles from sample to sample in the steady state, on a grid; `grid` makes one of the image's machine.
    ///
    /// # Errors
    /// The grid is stuck.
    pub fn cycles_per_sample<G: Grid>(&self, mut grid: impl FnMut() -> G) -> Result<f64, Stuck> {
        let mut cycles = |steps: usize| -> Result<u64, Stuck> {
            let mut driver = Driver::new(grid(), self.climb.image().clone(), Stalls::none());
            Ok(driver.run(self.climb.first_steps(steps))?.cycles)
        };
        let (short, long) = (cycles(FIRST_STEPS)?, cycles(FIRST_STEPS + MEASURED_STEPS)?);
        Ok((long - short) as f64 / (MEASURED_STEPS as f64 * f64::from(self.batch)))
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
fn samples(program: &tensor::Program, batch: u32, steps: usize) -> (Values, Vec<Values>) {
    let mut noise = Noise(1);
    let mut values = |elements: u32, scale: f64| -> Vec<f64> { (0..elements).map(|_| noise.next() * scale).collect() };
    let mut model = Values::new();
    let mut made = vec![Values::new(); steps];
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
