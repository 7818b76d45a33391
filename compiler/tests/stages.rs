//! Every pass alone, on texts of its stage: `stages/<pass>/<case>.in` becomes `<case>.expect`. A dropped file is a test.
//!
//! The first line of an input names the pass, with what it asks for besides its input:
//!
//! | `// pass NAME` ... | means |
//! |---|---|
//! | `batch 4`, `sum` | samples per step, and their gradients summed up (default: 1, the mean) |
//! | `train h g`, `predict h`, `predict h with s` | which names are wanted (default: all), and which states go on |
//! | `word 12`, `accumulator 40` | the numbers of the machine (default: 16 and its accumulator) |
//! | `master 20`, `stochastic` | how updates are rounded (default: to nearest) |
//! | `values 2`, `values h 4` | magnitude of the values of all tensors, of one (default: 1) |
//!
//! The second line may give keys of the machine, as in the table of a configuration: `// machine pus = 2, pes_per_pu = 4` (default: 2 and 2).
//!
//! An input that cannot be done has `CODE message` as its expectation. `ACCEPT=1 cargo test -p compiler --test stages` writes the expectations
//! anew; read the difference.

use arch::machine::{Machine, MachineSpec};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::fixed::Numbers;
use compiler::ir::{Pass, Settings, passes};
use compiler::rounding::Rounding;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The machine of a line `// machine key = value, ...`.
fn machine(text: &str) -> Machine {
    let keys =
        text.lines().nth(1).and_then(|line| line.strip_prefix("// machine ")).unwrap_or("pus = 2, pes_per_pu = 2");
    let spec: MachineSpec = toml::from_str(&keys.replace(", ", "\n")).expect("keys of a machine");
    Machine::try_from(spec).expect("a machine")
}

/// The words of the first line after the name of the pass.
fn settings(words: &[&str], machine: Machine) -> Settings {
    let mut keep = Keep::AllNames;
    let mut batch = Batch::SINGLE;
    let mut numbers = Numbers::of_width(16);
    let mut magnitudes = (Vec::new(), 1.0);
    let mut words = words.iter().peekable();
    while let Some(&word) = words.next() {
        let mut next = || *words.next().unwrap_or_else(|| panic!("something follows `{word}`"));
        match word {
            "batch" => batch.size = next().parse().expect("a number of samples"),
            "sum" => batch.reduction = Reduction::Sum,
            "word" => numbers = Numbers::of_width(next().parse().expect("a width")),
            "master" => {
                numbers.rounding = Rounding::Nearest { master: next().parse().expect("a number of bits") };
            }
            "stochastic" => numbers.rounding = Rounding::Stochastic,
            "accumulator" => numbers.accumulator = next().parse().expect("a width"),
            "values" => {
                let first = next();
                match first.parse() {
                    Ok(size) => magnitudes.1 = size,
                    Err(_) => magnitudes.0.push((first.to_owned(), next().parse().expect("a magnitude"))),
                }
            }
            "train" => keep = Keep::Training { predictions: words.by_ref().map(|&name| name.to_owned()).collect() },
            "predict" => {
                let mut all = words.by_ref().map(|&name| name.to_owned());
                let names = all.by_ref().take_while(|name| name != "with").collect();
                keep = Keep::Prediction { names, states: all.collect() };
            }
            _ => panic!("`{word}` means nothing on the first line"),
        }
    }
    Settings { options: Options { keep, batch }, numbers, magnitudes, machine }
}

/// What the pass of an input makes of it.
fn outcome(passes: &[Pass], folder: &str, text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["//", "pass", name, rest @ ..] = words.as_slice() else { panic!("the first line names the pass: `{line}`") };
    assert_eq!(*name, folder, "the folder has the name of the pass");
    let pass = passes.iter().find(|pass| pass.name == *name).unwrap_or_else(|| panic!("no pass is named `{name}`"));
    match pass.run(text, &settings(rest, machine(text))) {
        Ok(result) => result,
        Err(errors) => errors.iter().fold(String::new(), |text, e| text + &format!("{} {}\n", e.code, e.message)),
    }
}

/// The inputs, by folder.
fn inputs() -> BTreeMap<String, Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stages");
    let entries = |path: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<_> =
            std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    };
    let is_input = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "in");
    let cases = |folder: PathBuf| {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        (name, entries(&folder).into_iter().filter(is_input).collect())
    };
    entries(&root).into_iter().map(cases).collect()
}

#[test]
fn every_input_becomes_what_stands_beside_it() {
    let passes = passes();
    let accept = std::env::var_os("ACCEPT").is_some();
    let mut wrong = String::new();
    for (folder, files) in inputs() {
        for file in files {
            let found = outcome(&passes, &folder, &std::fs::read_to_string(&file).expect("an input"));
            let beside = file.with_extension("expect");
            if accept {
                std::fs::write(&beside, &found).expect("an expectation is written");
            }
            let expected = std::fs::read_to_string(&beside).unwrap_or_default();
            if found != expected {
                let _ = writeln!(wrong, "== {}: found\n{found}-- expected\n{expected}", file.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_pass_has_a_test() {
    let inputs = inputs();
    let without: Vec<&str> =
        passes().iter().map(|pass| pass.name).filter(|name| inputs.get(*name).is_none_or(Vec::is_empty)).collect();
    assert!(without.is_empty(), "add tests/stages/<pass>/<case>.in for {without:?}");
    assert!(inputs.values().map(Vec::len).sum::<usize>() >= 45);
}
