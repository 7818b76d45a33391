//! How fast the compiler and the simulators are: `cargo bench -p sim --bench speed`. Measured and published (docs/performance.md), never asserted.
//!
//! Throughput of the simulators counts PE-cycles: cycles times processing engines. Time is that of the processor, so that other work on
//! the computer does not count.

use arch::Image;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim::array::Array;
use sim::benchmarks::{self, Benchmark, Prepared, Run};
use sim::driver::{Driver, Run as DriverRun, Words};
use sim::grid::{Grid, Stalls};
use sim::verilator::{GridDevice, Library, Options};
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// Time that this thread has had a processor, as Linux counts it.
struct ProcessorTime;

fn nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts the time of threads");
    text.split(' ').next().and_then(|first| first.parse().ok()).expect("the first number is the time")
}

impl Measurement for ProcessorTime {
    type Intermediate = u64;
    type Value = Duration;

    fn start(&self) -> u64 {
        nanoseconds()
    }

    fn end(&self, start: u64) -> Duration {
        // At least something: the count moves in steps.
        Duration::from_nanos((nanoseconds() - start).max(1))
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// Steps of a simulated run.
const STEPS: usize = 200;

fn programs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(programs().join(file)).expect("the program is there")
}

/// A benchmark of the table and its first run with this batch.
fn find(name: &str, batch: u32) -> (Benchmark, Run) {
    let table = benchmarks::read(&text("benchmarks.toml")).expect("the table is right");
    let benchmark = table.into_iter().find(|benchmark| benchmark.name == name).expect("the benchmark is there");
    let run = benchmark.runs.iter().find(|run| run.batch == batch).expect("the run is there").clone();
    (benchmark, run)
}

fn prepare(name: &str, batch: u32) -> Prepared {
    let (benchmark, run) = find(name, batch);
    Prepared::new(&benchmark, &run, &text(&benchmark.program)).expect("the benchmark compiles")
}

/// Text to image, with everything between.
fn compile(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("compile");
    group.sample_size(10);
    for (name, batch) in [("linear_55", 1), ("linear_784", 1), ("logistic_200", 64), ("backprop_64_128_10", 1)] {
        let (benchmark, run) = find(name, batch);
        let text = text(&benchmark.program);
        group.bench_function(BenchmarkId::new(name, batch), |bencher| {
            bencher.iter(|| Prepared::new(&benchmark, &run, black_box(&text)).expect("the benchmark compiles"));
        });
    }
    group.finish();
}

/// The same word everywhere: what is computed does not change the time.
fn words(image: &Image) -> Words {
    image.tensors.iter().map(|tensor| vec![1; tensor.elements()]).collect()
}

fn cycles_of<G: Grid>(driver: &mut Driver<G>, words: &Words) -> u64 {
    let steps = vec![words.clone(); STEPS];
    let run = DriverRun { load_model: Some(words), steps: &steps, emit_model: false };
    driver.run(run).expect("the grid is not stuck").cycles
}

fn simulate<G: Grid>(criterion: &mut Criterion<ProcessorTime>, group: &str, mut grid: impl FnMut(&Image) -> G) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10);
    for (name, batch) in [("linear_55", 1), ("logistic_200", 64), ("backprop_64_128_10", 1)] {
        let prepared = prepare(name, batch);
        let image = prepared.climb.image();
        let words = words(image);
        let mut driver = Driver::new(grid(image), image.clone(), Stalls::none());
        let cycles = cycles_of(&mut driver, &words);
        group.throughput(Throughput::Elements(cycles * u64::from(image.machine.pes())));
        group.bench_function(BenchmarkId::new(name, batch), |bencher| {
            bencher.iter(|| cycles_of(&mut driver, &words));
        });
    }
    group.finish();
}

fn array(criterion: &mut Criterion<ProcessorTime>) {
    simulate(criterion, "array", |image| Array::new(&image.machine));
}

fn verilog(criterion: &mut Criterion<ProcessorTime>) {
    simulate(criterion, "verilator", |image| {
        let library = Library::build(&hdl::elaborate(&image.machine), &Options::default()).expect("run scripts/setup");
        GridDevice::new(&library, &image.machine)
    });
}

criterion_group! {
    name = speed;
    config = Criterion::default().with_measurement(ProcessorTime);
    targets = compile, array, verilog
}
criterion_main!(speed);
