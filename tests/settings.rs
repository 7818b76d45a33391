//! Settings of a training mean the same to every command: the command line is stronger than `[train]`, which is stronger than `[build]`.

mod tool;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tool::{done, file, run};

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

/// Settings as options, each with two values.
const OPTIONS: [(&str, [&str; 2]); 6] = [
    ("epochs", ["1", "2"]),
    ("batch", ["2", "3"]),
    ("reduction", ["mean", "sum"]),
    ("order", ["rows", "shuffled"]),
    ("seed", ["5", "6"]),
    ("split", ["0.5", "0.75"]),
];

/// Every command with every setting: two values give two results, or the option is refused with exit code 2. `same` has those that only decide
/// which values are seen, which need not show in this result.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of commands")]
fn every_setting_has_an_effect_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let program = file(folder, "line.t", PROGRAM);
    file(folder, "line.toml", format!("{TABLE}epochs = 2\nbatch = 2\n"));
    let twice = file(folder, "twice.tc", "def f(float(1) x) -> (s) {\n  s(i) = x(i) * 2.0\n}\n");
    let text = done(&["ir", &program, "--after", "tensor"]).stdout;
    let text = file(folder, "line.ir", text);
    let row = |n: i32| format!("{},{},{}\n", n % 5, n % 7, 2 * (n % 5) - n % 7);
    let data = file(folder, "data.csv", (0..24).fold("a,b,target\n".to_owned(), |text, n| text + &row(n)));
    let config = file(folder, "grid.toml", "[machine]\npus = 1\npes_per_pu = 2\n");
    let out = folder.join("out").display().to_string();
    let ranges = ["epochs", "order", "seed", "split"];
    // The command, and the settings that need not show in its result.
    let trainings: [(&[&str], &[&str]); 10] = [
        (&["ir", &program, "--after", "canonical", "--data", &data], &ranges),
        (&["ir", &program, "--after", "fixed", "--data", &data], &ranges),
        (&["explain", &program, "--data", &data, "--format", "json"], &[]),
        (&["build", &program, "--data", &data, "--out", &out, "--format", "json"], &[]),
        (&["train", &program, "--data", &data, "--engine", "fixed", "--format", "json"], &[]),
        (&["report", &program, "--data", &data, "--out", &out, "--format", "json"], &[]),
        (&["accuracy", &program, "--data", &data, "--words", "16", "--format", "json"], &[]),
        (&["prove", &program, "--data", &data, "--format", "json"], &["epochs", "order", "seed", "split", "reduction"]),
        (
            &["sim", &program, "--data", &data, "--engine", "array", "--steps", "3", "--format", "json"],
            &["epochs", "reduction"],
        ),
        (
            &["explore", &program, "--data", &data, "--format", "json"],
            &["epochs", "order", "seed", "split", "reduction"],
        ),
    ];
    for (command, same) in trainings {
        for (option, values) in OPTIONS {
            let [one, other] = values.map(|value| {
                let option = format!("--{option}");
                done(&[command, &[&option, value, "--config", &config, "--quiet"]].concat()).stdout
            });
            assert!(one != other || same.contains(&option), "{command:?}: --{option} has no effect");
        }
    }
    let refused: [&[&str]; 13] = [
        &["build", &twice],
        &["sim", &twice, "--engine", "array"],
        &["explain", &twice],
        &["prove", &twice],
        &["ir", &twice, "--after", "fixed"],
        &["train", &twice, "--data", &data],
        &["explore", &twice],
        &["check", &program],
        &["derive", &program],
        &["eval", &program],
        &["graph", &program],
        &["predict", &program, "--data", &data, "--load", "model.json"],
        &["ir", "--after", "dead", "--pass-input", &text],
    ];
    for command in refused {
        let on_text = command.contains(&"--pass-input");
        for (option, [value, _]) in
            OPTIONS.iter().filter(|(option, _)| !on_text || !["batch", "reduction"].contains(option))
        {
            let ran = run(&[command, &[&format!("--{option}"), value, "--config", &config]].concat());
            assert_eq!(ran.code, 2, "{command:?} --{option}: {}{}", ran.stdout, ran.stderr);
        }
    }
    let pass = |value: &str| {
        done(&["ir", "--after", "lower_descents", "--pass-input", &text, "--batch", "3", "--reduction", value]).stdout
    };
    assert_ne!(pass("mean"), pass("sum"));
}

/// A rate is what its expression says; what is no number is refused where it stands.
#[test]
fn a_rate_is_computed_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let with = |rate: &str| {
        let program = file(folder.path(), "line.t", PROGRAM.replace("mu = 0.1;", rate));
        file(folder.path(), "line.toml", TABLE);
        run(&["ir", &program, "--after", "tensor"])
    };
    let without_places = |ran: &tool::Ran| {
        ran.stdout.lines().map(|line| line.split('@').next().unwrap_or(line).to_owned()).collect::<Vec<_>>()
    };
    let literal = with("mu = 0.375;");
    for rate in [
        "mu = 0.125 * 3;",
        "m = 3; mu = m * 0.25 - m * 0.125;",
        "iterator k[0:3]; mu = sum[k](0.125);",
        "mu = 0.1; mu = 0.125 + 0.25;",
    ] {
        let ran = with(rate);
        assert!(
            ran.code == 0 && without_places(&literal) == without_places(&ran),
            "{rate}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    for (rate, code) in [
        ("mu = x[0];", "E-UNDEF"),
        ("model_input mu;", "E-KIND"),
        ("model mu;", "E-KIND"),
        ("iterator mu[0:3];", "E-KIND"),
        ("mu[0] = 0.1;", "E-KIND"),
        ("model_input z; mu = 0.5 * z;", "E-KIND"),
        ("mu = 1000000000000000000.0 * exp(1000);", "E-CONST"),
    ] {
        let ran = with(rate);
        assert!(ran.code == 1 && ran.stderr.contains(&format!("[{code}]")), "{rate}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains("line.t:1:"), "{rate}: {}", ran.stderr);
    }
}

/// A constant that the program does not have: a wrong argument, or a key without effect, where it stands.
#[test]
fn a_constant_that_is_not_there_is_refused_where_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "line.t", PROGRAM);
    let data = file(folder.path(), "data.csv", "a,b,target\n1,2,3\n2,1,4\n3,3,1\n1,1,1\n");
    let config = file(folder.path(), "grid.toml", "[machine]\npus = 1\npes_per_pu = 2\n[build]\nset = { zz = 1.0 }\n");
    file(folder.path(), "line.toml", format!("{TABLE}sizes = {{ q = \"features\" }}\n"));
    let ran = run(&["train", &program, "--data", &data]);
    assert!(
        ran.code == 1 && ran.stderr.contains("E-CONFIG") && ran.stderr.contains("line.toml:4:11"),
        "{}",
        ran.stderr
    );
    file(folder.path(), "line.toml", TABLE);
    let ran = run(&["check", &program, "--config", &config]);
    assert!(ran.code == 1 && ran.stderr.contains("E-CONFIG") && ran.stderr.contains("grid.toml:5:9"), "{}", ran.stderr);
    assert_eq!(run(&["check", &program, "--set", "zz=1"]).code, 2);
}

/// A program that assigns its weights itself has no gradients: what changes gradients would change nothing.
#[test]
fn settings_of_gradients_are_refused_where_there_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let program = "model_input x[2];\nmodel_output y;\nmodel w[2];\niterator i[0:2];\nh = sum[i](w[i] * x[i]);\n\
                   w[i] = w[i] - 0.125 * (h - y) * x[i];\n";
    let program = file(folder, "own.t", program);
    let data = file(folder, "data.csv", "a,b,target\n1,2,3\n2,1,3\n0,1,1\n1,0,1\n");
    let arguments = ["train", &program, "--data", &data, "--epochs", "1"];
    for (line, key) in [
        ("optimiser = \"adam\"", "optimiser"),
        ("optimiser = \"momentum\"", "optimiser"),
        ("weight_decay = 0.1", "weight_decay"),
        ("clip = 0.5", "clip"),
        ("clip_norm = 0.5", "clip_norm"),
        ("schedule = \"cosine\"", "schedule"),
        ("warm_up = 2", "warm_up"),
        ("rounding = \"stochastic\"", "rounding"),
        ("master = 20", "master"),
        ("mu = 0.5", "mu"),
        ("sizes = { n = \"features\" }", "n"),
        ("initial = { v = \"zeros\" }", "initial"),
    ] {
        file(folder, "own.toml", format!("{TABLE}{line}\n"));
        let place = if key == "initial" { "own.toml" } else { "own.toml:4" };
        tool::fails(&arguments, 1, &["E-CONFIG", &format!("`{key}`"), place]);
    }
    file(folder, "own.toml", format!("{TABLE}initial = {{ w = \"zeros\" }}\nweight_decay = 0.0\n"));
    done(&arguments);
    tool::fails(&[&arguments[..], &["--set", "mu=0.5"]].concat(), 2, &["--set mu has no effect"]);
}
