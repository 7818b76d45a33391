//! Settings of a training mean the same to every command: the command line is stronger than `[train]`, which is stronger than `[build]`.

mod tool;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tool::{done, file};

const PROGRAM: &str = "mu = 0.1;\nmodel_input x[2];\nmodel_output y;\nmodel w[2];\ngradient g[2] -> w;\niterator i[0:2];\n\
                       h = sum[i](w[i] * x[i]);\nd = h - y;\ng[i] = d * x[i];\n";
const TABLE: &str = "[train]\nprediction = \"h\"\nloss = \"squared\"\n";

/// Three sets of values, all different, as TOML, as arguments, and as the commands show them.
fn said(which: usize) -> (String, Vec<String>, Value) {
    let (batch, reduction, epochs) = ([2, 3, 4][which], ["sum", "mean", "sum"][which], [2, 3, 4][which]);
    let (order, seed, split) = (["shuffled", "rows", "shuffled"][which], [5, 6, 7][which], [0.5, 0.75, 0.625][which]);
    let toml = format!(
        "batch = {batch}\nreduction = \"{reduction}\"\nepochs = {epochs}\norder = \"{order}\"\nseed = {seed}\nsplit = {split}\n"
    );
    let named = [("batch", batch.to_string()), ("reduction", reduction.to_owned()), ("epochs", epochs.to_string())];
    let more = [("order", order.to_owned()), ("seed", seed.to_string()), ("split", split.to_string())];
    let arguments = named.into_iter().chain(more).flat_map(|(name, value)| [format!("--{name}"), value]).collect();
    let shown = json!({ "epochs": epochs, "batch": batch, "reduction": reduction, "order": order, "seed": seed, "split": split });
    (toml, arguments, shown)
}

/// What each command says it has decided, and the microcode that `build` writes.
fn decided(folder: &Path, arguments: &[String]) -> (Vec<(&'static str, Value)>, String) {
    let path = |name: &str| folder.join(name).display().to_string();
    let (program, config, data) = (path("line.t"), path("grid.toml"), path("data.csv"));
    let mut found = Vec::new();
    for command in ["build", "train", "explain", "report"] {
        let mut all = vec![command, &program, "--config", &config, "--data", &data, "--format", "json", "--quiet"];
        all.extend(arguments.iter().map(String::as_str));
        let out = path(command);
        if matches!(command, "build" | "report") {
            all.extend(["--out", &out]);
        }
        let document = done(&all).json();
        let settings = match command {
            "build" => &document["report"]["settings"],
            _ => &document["settings"],
        };
        found.push((command, settings.clone()));
    }
    (found, fs::read_to_string(folder.join("build/train/microcode.hex")).unwrap())
}

#[test]
fn every_command_decides_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    file(folder, "line.t", PROGRAM);
    let row = |n: i32| format!("{},{},{}\n", n % 5, n % 7, 2 * (n % 5) - n % 7);
    file(folder, "data.csv", (0..24).fold("a,b,target\n".to_owned(), |text, n| text + &row(n)));
    let ((weak, ..), (middle, ..), (_, strong, _)) = (said(0), said(1), said(2));
    let grid = "[machine]\npus = 1\npes_per_pu = 2\n";
    let mut programs = Vec::new();
    for (level, (table, arguments)) in
        [(String::new(), Vec::new()), (middle.clone(), Vec::new()), (middle, strong)].into_iter().enumerate()
    {
        file(folder, "grid.toml", format!("{grid}[build]\n{weak}"));
        file(folder, "line.toml", format!("{TABLE}{table}"));
        let (found, microcode) = decided(folder, &arguments);
        for (command, settings) in found {
            assert_eq!(settings, said(level).2, "{command}, level {level}");
        }
        programs.push(microcode);
    }
    // The batch is part of the program.
    assert!(programs[0] != programs[1] && programs[1] != programs[2]);
}
