//! `cliffs`: cycles of one step as a constant of a program grows, or as the grid does. Where one more costs far more, placement has a cliff.
//!
//! ```text
//! cargo measure cliffs                                      784-n-10 on 16 x 32 PEs, n from 500 to 1100, and the digits network on 64 to 4096 PEs
//! cargo measure cliffs 8x8 64 l1=65 l2=100..200 l3=11       backpropagation.t with these constants on 8 x 8 PEs, batches of 64
//! CLIFFS_STEPS=1 ... shows placement and schedule of each
//! ```

#![allow(clippy::print_stdout, reason = "what was measured is what it is run for")]

use crate::{Outcome, Project};
use sim::benchmarks::{self, Prepared};
use std::error::Error;

/// One more that costs this much more is a cliff.
const CLIFF: f64 = 1.035;

/// backpropagation.t with constants, of which one is a range.
struct Series<'a> {
    grid: (&'a str, &'a str),
    batch: &'a str,
    set: &'a [String],
    name: &'a str,
    range: std::ops::RangeInclusive<u32>,
}

impl<'a> Series<'a> {
    fn read(arguments: &'a [String]) -> Result<Series<'a>, Box<dyn Error>> {
        const USAGE: &str = "cliffs PUSxPES BATCH NAME=VALUE.. NAME=FROM..TO";
        let [grid, batch, set @ ..] = arguments else { return Err(USAGE.into()) };
        let ranged = set.iter().find(|text| text.contains("..")).or(set.first()).ok_or(USAGE)?;
        let (name, range) = ranged.split_once('=').ok_or(USAGE)?;
        let (from, to) = range.split_once("..").unwrap_or((range, range));
        let range = from.parse()?..=to.parse()?;
        Ok(Series { grid: grid.split_once('x').ok_or(USAGE)?, batch, set, name, range })
    }

    /// Compiled with this value.
    fn prepared(&self, text: &str, value: u32) -> Result<Prepared, Box<dyn Error>> {
        let Series { grid: (pus, pes), batch, set, name, .. } = self;
        let prefix = format!("{name}=");
        let mut constants = format!("{name} = {value}");
        for other in set.iter().filter(|other| !other.starts_with(&prefix)) {
            constants += &format!(", {}", other.replace('=', " = "));
        }
        let table = format!(
            "[[benchmark]]\nname = 'b'\nprogram = 'backpropagation.t'\nset = {{ {constants} }}\n\
             runs = [{{ cycles = 1.0, batch = {batch}, pus = {pus}, pes_per_pu = {pes} }}]\n"
        );
        let benchmark = benchmarks::read(&table).map_err(|error| error.message)?.remove(0);
        Prepared::new(&benchmark, &benchmark.runs[0], text)
            .map_err(|errors| errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; ").into())
    }

    /// A line for each value that `shown` takes, and the worst.
    fn measure(&self, text: &str, shown: &dyn Fn(bool) -> bool) -> Outcome {
        let (name, steps) = (self.name, std::env::var_os("CLIFFS_STEPS").is_some());
        let mut before: Option<u64> = None;
        let mut worst = (1.0, *self.range.start());
        for value in self.range.clone() {
            let prepared = self.prepared(text, value)?;
            let chosen = &prepared.climb.compiled.alternatives[0];
            let ratio = before.map_or(1.0, |before| chosen.cycles() as f64 / before as f64);
            if shown(ratio > CLIFF) {
                let mark = if ratio > CLIFF { "  CLIFF" } else { "" };
                let (cycles, step, load) = (chosen.cycles(), chosen.step, chosen.load);
                println!("{name} = {value}: {cycles} cycles, step {step}, load {load}, {ratio:.4}{mark}");
            }
            before = Some(chosen.cycles());
            if ratio > worst.0 {
                worst = (ratio, value);
            }
            if steps {
                show_steps(&prepared);
            }
        }
        if shown(true) {
            println!("worst: {:.4} at {name} = {}", worst.0, worst.1);
        }
        Ok(())
    }
}

fn show_steps(prepared: &Prepared) {
    let compiled = &prepared.climb.compiled;
    for (tensor, axes) in &compiled.placement {
        println!("    {tensor}: {axes:?}");
    }
    for step in &compiled.steps {
        println!("    {:>5} {:>5} waited {:>3}  {:8} {}", step.start, step.length, step.waited, step.unit, step.what);
    }
    for other in &compiled.alternatives {
        println!("    alternative: step {} load {} scalar {}", other.step, other.load, other.scalar);
    }
}

/// Measure.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let text = project.shell.read_file("programs/backpropagation.t")?;
    let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
    if !arguments.is_empty() {
        return Series::read(arguments)?.measure(&text, &|_| true);
    }
    Series::read(&words("16x32 1 l1=784 l2=500..1100 l3=10"))?.measure(&text, &|cliff| cliff)?;
    for grid in ["8x8", "16x32", "32x32", "32x64", "64x64"] {
        print!("{grid} ");
        Series::read(&words(&format!("{grid} 1 l1=64 l2=128 l3=10")))?.measure(&text, &|cliff| !cliff)?;
    }
    Ok(())
}
