//! Cycles of one step as a constant of a program grows, or as the grid does: where one more costs far more, placement has a cliff.
//!
//!     cargo run -p sim --example cliffs -- PUSxPES BATCH l1=784 l2=500..1100 l3=10        backpropagation.t, one line each
//!     CLIFFS_STEPS=1 ... shows placement and schedule of each

#![allow(clippy::print_stdout, reason = "what was measured is what it is run for")]

use sim::benchmarks::{self, Prepared};
use std::fmt::Write;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [grid, batch, set @ ..] = &arguments[..] else {
        panic!("usage: cliffs PUSxPES BATCH NAME=VALUE.. NAME=FROM..TO")
    };
    let (pus, pes) = grid.split_once('x').expect("PUSxPES");
    let ranged = set.iter().find(|text| text.contains("..")).cloned().unwrap_or_else(|| set[0].clone());
    let (name, range) = ranged.split_once('=').expect("NAME=VALUE");
    let (from, to) = range.split_once("..").unwrap_or((range, range));
    let (from, to): (u32, u32) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let text = std::fs::read_to_string(folder.join("backpropagation.t")).expect("the program is there");
    let mut before: Option<u64> = None;
    let mut worst = (1.0, from);
    for value in from..=to {
        let mut constants = format!("{name} = {value}");
        for other in set.iter().filter(|other| **other != ranged) {
            write!(constants, ", {}", other.replace('=', " = ")).expect("text grows");
        }
        let table = format!(
            "[[benchmark]]\nname = 'b'\nprogram = 'backpropagation.t'\nset = {{ {constants} }}\n\
             runs = [{{ cycles = 1.0, batch = {batch}, pus = {pus}, pes_per_pu = {pes} }}]\n"
        );
        let benchmark = benchmarks::read(&table).expect("the table is right").remove(0);
        let prepared = Prepared::new(&benchmark, &benchmark.runs[0], &text).expect("it compiles");
        let compiled = &prepared.climb.compiled;
        let chosen = &compiled.alternatives[0];
        let ratio = before.map_or(1.0, |before| chosen.cycles() as f64 / before as f64);
        let mark = if ratio > 1.035 { "  CLIFF" } else { "" };
        println!(
            "{name} = {value}: {} cycles, step {}, load {}, {ratio:.4}{mark}",
            chosen.cycles(),
            chosen.step,
            chosen.load
        );
        before = Some(chosen.cycles());
        if ratio > worst.0 {
            worst = (ratio, value);
        }
        if std::env::var_os("CLIFFS_STEPS").is_some() {
            for (tensor, axes) in &compiled.placement {
                println!("    {tensor}: {axes:?}");
            }
            for step in &compiled.steps {
                println!(
                    "    {:>5} {:>5} waited {:>3}  {:8} {}",
                    step.start, step.length, step.waited, step.unit, step.what
                );
            }
            for other in &compiled.alternatives {
                println!("    alternative: step {} load {} scalar {}", other.step, other.load, other.scalar);
            }
        }
    }
    println!("worst: {:.4} at {name} = {}", worst.0, worst.1);
}
