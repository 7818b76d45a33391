//! Measurements of the project, each a command of its own: they take minutes or hours, and most write a table of docs/.
//!
//! ```text
//! cargo measure              lists them
//! cargo measure NAME ...  runs one
//! ```
//!
//! This crate is for developers; the program does not depend on it. Programs in `measure/python` share nothing with the project that they measure, or use
//! libraries of Python; `TABLA_GEN=FILE` measures that program in place of one that is built now.

mod accuracy;
mod benchmarks;
mod boards;
mod cliffs;
mod deploy;
mod derivatives;
mod onnx;
mod optimisations;
pub mod page;
mod project;
mod roundings;
mod sanitize;
mod sdram;
mod sweep;
pub mod system;
pub mod tables;

use project::{Project, python, tflite};
use std::error::Error;

/// Success, or why there is no result.
pub(crate) type Outcome = Result<(), Box<dyn Error>>;

/// A measurement.
struct Measurement {
    name: &'static str,
    about: &'static str,
    run: Run,
}

/// How it is run.
enum Run {
    /// By a function.
    Here(fn(&Project, &[String]) -> Outcome),
    /// By a file of `measure/python`, with the packages of a group of scripts/pyproject.toml if it needs any.
    Python(&'static str, Option<&'static str>),
}

const fn here(name: &'static str, about: &'static str, run: fn(&Project, &[String]) -> Outcome) -> Measurement {
    Measurement { name, about, run: Run::Here(run) }
}

const fn file(name: &'static str, about: &'static str, file: &'static str) -> Measurement {
    Measurement { name, about, run: Run::Python(file, None) }
}

/// All of them.
const ALL: [Measurement; 30] = [
    here("accuracy", "docs/tables/accuracy.txt: published algorithms in words of several widths", accuracy::run),
    file("area", "docs/tables/area.txt: what each block of a grid takes of its device", "area.py"),
    here("boards", "docs/tables/boards.txt: place and route of all boards; hours", boards::run),
    file("build-times", "docs/tables/performance.txt: processor time of build and explain", "build_times.py"),
    here("cliffs", "where one unit or PE more costs far more cycles", cliffs::run),
    file("compare-trees", "whether two versions make the same images and Verilog", "compare_trees.py"),
    file("coverage", "lines and points of the Verilog that simulations reach", "coverage.py"),
    here("deploy", "docs/tables/deploy.txt: models on their tables, as written hardware", deploy::run),
    file("endless", "time and memory of huge and endless inputs", "endless.py"),
    here("gradients", "docs/gradients.md: derived gradients beside PyTorch's", derivatives::gradients),
    file("icarus", "Verilog and netlists of all configurations in Icarus", "icarus.py"),
    here("kernels", "docs/tables/kernels.txt: kernels that nobody tuned", benchmarks::kernels),
    here("losses", "losses and their gradients by JAX, for a test", derivatives::losses),
    file("mutants", "docs/quality/mutants.md: mutation testing", "mutants.py"),
    here("networks", "docs/tables/networks.txt: networks as others publish them", benchmarks::networks),
    here("onnx", "ONNX' node cases, real models, exports, gradients, shapes", onnx::run),
    here("optimisations", "docs/speed.md: kernels without each of them", optimisations::run),
    here("performance", "docs/tables/performance.txt: the published benchmarks", benchmarks::performance),
    file("pictures", "docs/pictures: drawings of the machine", "pictures.py"),
    here("python", "docs/python.md: beside scikit-learn", python),
    file("ranks", "docs/quality/ranks.txt: ranks as threads and as processes of MPI", "ranks.py"),
    here(
        "roundings",
        "docs/tables/roundings.txt: updates rounded to nearest, by chance, and with a master",
        roundings::run,
    ),
    here("sanitize", "the verilated side with address and undefined-behaviour sanitizers", sanitize::run),
    file("scale", "docs/quality/scale.txt: time per batch for many boards", "scale.py"),
    here("sdram", "sample stores in an SDRAM on boards of several shapes", sdram::run),
    Measurement {
        name: "simulators",
        about: "docs/tables/performance.txt: simulators beside NumPy",
        run: Run::Python("simulators.py", Some("python")),
    },
    Measurement {
        name: "soc",
        about: "generated hardware in IP-XACT, FuseSoC and LiteX",
        run: Run::Python("soc.py", None),
    },
    here("sweep", "a sweep that is killed and goes on; --quick in CI", sweep::run),
    here("system", "docs/tables/system.txt: whole systems beside one core of this computer", system::run),
    here("tflite", "small TFLite models with what LiteRT makes of them, for a test", tflite),
];

/// Run the measurement that the first argument names with the others; list all if there is none.
///
/// # Errors
/// There is no such measurement, or it has no result.
pub fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let Some((name, arguments)) = arguments.split_first() else {
        list();
        return Ok(());
    };
    let Some(found) = ALL.iter().find(|measurement| measurement.name == *name) else {
        list();
        return Err(format!("there is no measurement `{name}`").into());
    };
    let project = Project::new()?;
    match found.run {
        Run::Here(run) => run(&project, arguments),
        Run::Python(file, group) => project.python(group, file, arguments),
    }
}

#[allow(clippy::print_stdout, reason = "the list is what was asked for")]
fn list() {
    println!("cargo measure NAME [ARGUMENT...]\n");
    for Measurement { name, about, .. } in &ALL {
        println!("  {name:14} {about}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_its_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        for pair in ALL.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} is out of order", pair[1].name);
        }
        for measurement in &ALL {
            if let Run::Python(file, _) = measurement.run {
                assert!(folder.join(file).is_file(), "{file}");
            }
        }
        assert!(run(&["nothing".to_owned()]).is_err());
    }
}
