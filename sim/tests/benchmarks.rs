//! The published benchmarks keep their cycles per sample.

use sim::array::Array;
use sim::benchmarks::{self, Benchmark, Prepared, Run};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs")
}

fn table() -> Vec<Benchmark> {
    benchmarks::read(&std::fs::read_to_string(folder().join("benchmarks.toml")).unwrap()).unwrap()
}

fn prepare(benchmark: &Benchmark, run: &Run) -> Prepared {
    let text = std::fs::read_to_string(folder().join(&benchmark.program)).unwrap();
    Prepared::new(benchmark, run, &text).unwrap_or_else(|errors| panic!("{}: {errors:?}", benchmark.name))
}

/// Measure what `wanted` chooses; the runs that miss their targets.
fn missed(wanted: impl Fn(&Benchmark, &Run) -> bool) -> Vec<String> {
    let mut missed = Vec::new();
    for benchmark in table() {
        for run in benchmark.runs.iter().filter(|run| wanted(&benchmark, run)) {
            let prepared = prepare(&benchmark, run);
            let cycles = prepared.cycles_per_sample(|| Array::new(&prepared.climb.image().machine)).unwrap();
            let limit = run.limit(&prepared.bounds).unwrap();
            let (name, grid) = (&benchmark.name, (run.pus, run.pes_per_pu, run.stream_words));
            let line = format!("{name} {grid:?} batch {}: {cycles:.2} of {limit:.2}", run.batch);
            println!("{line}, work {:.2}, bandwidth {:.2}", prepared.bounds.work, prepared.bounds.bandwidth);
            if std::env::var_os("BENCHMARK_STEPS").is_some() {
                for step in &prepared.climb.compiled.steps {
                    println!("    {:>5} {:>5} waited {:>3}  {}", step.start, step.length, step.waited, step.what);
                }
            }
            if !run.reached(cycles, &prepared.bounds) {
                missed.push(line);
            }
        }
    }
    missed
}

#[test]
fn instrument() {
    let only = std::env::var("BENCHMARK").unwrap_or_default();
    let missed = missed(|benchmark, run| {
        let name = format!("{}/{}", benchmark.name, run.batch);
        run.pus == 8 && run.cycles.is_some() && name.contains(&only)
    });
    println!("missed:\n{}", missed.join("\n"));
}
