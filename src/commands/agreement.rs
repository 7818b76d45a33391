//! `explain`, `build`, `report`, `sim` and `bench` say the same about cycles: each is asked about the same programs, and what it prints is
//! compared.
//!
//!     program ──▶ explain ──▶ cycles_per_sample, bound, bound_by, bounds, work, distance ──┐
//!             ──▶ build ────▶ likewise, in `cycles` of report.json ─────────────────────────┼─▶ equal; and not below the bound
//!             ──▶ sim, report, bench ──▶ likewise ──────────────────────────────────────────┘

use crate::arguments::{Arguments, Command, Entry};
use crate::commands::build;
use crate::commands::measure::bench;
use crate::commands::report;
use crate::commands::sim::Simulation;
use crate::output::Talk;
use crate::subject;
use clap::Parser;
use serde_json::{Map, Value, json};
use sim::benchmarks::{self, Benchmark};
use std::path::{Path, PathBuf};
use workbench::Failure;
use workbench::report::explanation::Explained;
use workbench::report::figures::pace;

/// What every command says, in these words.
const FIELDS: [&str; 6] = ["cycles_per_sample", "bound", "bound_by", "bounds", "work", "distance"];

/// The fields of a document, or of a part of it.
fn figures(document: impl serde::Serialize, part: &str) -> Value {
    let document = serde_json::to_value(document).expect("documents are JSON");
    let part = document.pointer(part).expect("the part is there");
    let figure =
        |&field: &&str| (field.to_owned(), part.get(field).unwrap_or_else(|| panic!("no `{field}` in {part}")).clone());
    FIELDS.iter().map(figure).collect::<Map<_, _>>().into()
}

/// Read a command line.
fn arguments(words: &[&str]) -> Arguments {
    Arguments::try_parse_from([&["tabla-gen"][..], words].concat()).expect("good arguments")
}

/// What `explain`, `build` and `sim` say about a program, which is the same; `None` if there is no image of it.
fn agreed(program: &str, more: &[&str]) -> Option<Value> {
    let words = [&["sim", program, "--engine", "array", "--steps", "2", "--quiet"][..], more].concat();
    let Arguments { global, command: Some(Command::Sim(options)), .. } = arguments(&words) else {
        panic!("these are arguments of sim")
    };
    let talk = Talk::silent();
    let project = subject::project(&global, options.target.program.as_deref(), &options.target.entry).unwrap();
    let subject = match subject::subject(&project, &options.target, &talk) {
        Ok(subject) => subject,
        Err(Failure::Diagnostics { .. } | Failure::DoesNotFit { .. }) => return None,
        Err(failure) => panic!("{program}: {failure:?}"),
    };
    let shown = pace(&subject.pace().unwrap());
    let explained = Explained::new(&project, &subject).unwrap();
    let figures_of_explain = figures(explained.document(), "");
    let built = build::everything(&project, &options.target, &talk).unwrap();
    let simulation = Simulation::new(&project, &subject, &options, &talk).unwrap();
    assert_eq!(figures(built.report.document(), "/cycles"), figures_of_explain, "{program}: build, explain");
    assert_eq!(figures(&simulation.simulated, ""), figures_of_explain, "{program}: sim, explain");
    for (command, text) in [("explain", explained.text()), ("build", built.report.text()), ("sim", simulation.text())] {
        assert!(text.contains(&shown), "{program}: {command} does not print\n{shown}");
    }
    let number = |field: &str| figures_of_explain[field].as_f64().unwrap();
    assert!(number("cycles_per_sample") >= number("bound"), "{program}: {figures_of_explain}");
    Some(figures_of_explain)
}

/// A small grid: its hardware is elaborated for each program.
const GRID: [&str; 4] = ["--machine", "pus=2", "--machine", "pes_per_pu=4"];

/// The example of issue and manual: 64 x 64 words of a matrix and 64 of a vector come in, 16 per cycle.
#[test]
fn a_matrix_vector_product_takes_what_its_words_take() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("product.tc").display().to_string();
    std::fs::write(&program, "def product(float(64,64) A, float(64) x) -> (y) {\n  y(i) +=! A(i,j) * x(j)\n}\n")
        .unwrap();
    let figures = agreed(&program, &[]).unwrap();
    assert_eq!((&figures["bound"], &figures["bound_by"]), (&json!(260.0), &json!("input words")));
    assert_eq!(figures["bounds"]["output_words"], 64.0);
    assert_eq!(figures["bounds"]["multiply_adds"], 64.0);
    assert!(figures["distance"].as_f64().unwrap() < 1.05, "{figures}");
}

/// Conformance programs with their inputs, as functions.
#[test]
fn the_commands_agree_on_functions() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = folder.path().join("inputs.json").display().to_string();
    let mut count = 0;
    for language in ["rink", "tile"] {
        for program in programs(&Path::new("tests/conformance").join(language)) {
            let text = std::fs::read_to_string(program.with_extension("json")).unwrap();
            let case: Value = serde_json::from_str(&text).unwrap();
            if case["expect"].is_null() || case["inputs"].is_null() || case["entry"].is_string() {
                continue;
            }
            std::fs::write(&inputs, case["inputs"].to_string()).unwrap();
            let more = [&["--inputs", inputs.as_str()][..], &GRID].concat();
            count += usize::from(agreed(&program.display().to_string(), &more).is_some());
        }
    }
    assert!(count >= 30, "{count} programs");
}

/// Programs in a folder, in order.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e != "json")).collect();
    programs.sort();
    programs
}

/// Trainings: `report` trains and measures the same step.
#[test]
fn the_commands_agree_on_trainings() {
    let cases = [
        ("programs/linear.t", "examples/diabetes.csv", "1"),
        ("programs/logistic.t", "examples/breast_cancer.csv", "1"),
        ("programs/svm.t", "examples/breast_cancer.csv", "8"),
        ("programs/softmax.t", "examples/iris.csv", "4"),
    ];
    for (program, data, batch) in cases {
        let common = [&["--data", data, "--batch", batch, "--epochs", "1"][..], &GRID].concat();
        let figures_of_others = agreed(program, &common).expect("it has an image");
        let words = [&["report", program, "--engine", "golden", "--words", "16", "--quiet"][..], &common].concat();
        let Arguments { global, command: Some(Command::Report(options)), .. } = arguments(&words) else {
            panic!("these are arguments of report")
        };
        let project = subject::project(&global, options.train.program.as_deref(), &Entry::default()).unwrap();
        let measured = report::measured(&global, project, &options, &Talk::silent()).unwrap();
        assert_eq!(figures(measured.page().document(), "/cycles"), figures_of_others, "{program}: report");
    }
}

/// Published benchmarks: made-up samples, those of `bench` and those of `explain`, do not matter.
#[test]
fn the_commands_agree_on_benchmarks() {
    let table = std::fs::read_to_string("programs/benchmarks.toml").unwrap();
    let table = benchmarks::read(&table).unwrap();
    let wanted = |benchmark: &&Benchmark| ["linear_55", "logistic_54", "svm_54"].contains(&benchmark.name.as_str());
    for benchmark in table.iter().filter(wanted) {
        for run in &benchmark.runs {
            let row = bench::measured(benchmark, run, &Talk::silent(), false).unwrap();
            let set: Vec<String> = benchmark.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let batch = run.batch.to_string();
            let mut more = vec!["--batch", &batch, "--epochs", "1"];
            for set in &set {
                more.extend(["--set", set.as_str()]);
            }
            assert_eq!((run.pus, run.pes_per_pu, run.stream_words), (8, 8, 16), "the default grid");
            let figures_of_others = agreed(&format!("programs/{}", benchmark.program), &more).expect("it has an image");
            assert_eq!(figures(row, ""), figures_of_others, "{}, batch {batch}", benchmark.name);
        }
    }
}
