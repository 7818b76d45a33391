//! The smaller subcommands: new projects, graphs, sweeps, manual pages.

mod tool;

use std::fs;
use std::path::Path;
use tool::{done, fails, file, tool};

const LOGISTIC: &str = "programs/logistic.t";

#[test]
fn a_new_project_works_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("new");
    done(&["init", &project.display().to_string()]);
    let run = |arguments: &[&str]| {
        let output = tool(arguments).current_dir(&project).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let trained = run(&["train", "--config", "board.toml", "--data", "data.csv", "--format", "json"]);
    let trained: serde_json::Value = serde_json::from_str(&trained).unwrap();
    assert!(trained["test"]["array"]["accuracy"].as_f64().unwrap() > 0.85, "{trained}");
    run(&["explain", "--config", "board.toml"]);
    run(&["--config", "board.toml"]);
    assert!(project.join("out/rtl/model.v").is_file());
    // A second time there is something that would be lost.
    fails(&["init", &project.display().to_string()], 6, &["exists and is not empty"]);
    let again = folder.path().join("again");
    done(&["init", &again.display().to_string()]);
    for name in ["model.t", "model.toml", "board.toml", "data.csv", "README.md"] {
        assert_eq!(fs::read(project.join(name)).unwrap(), fs::read(again.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_new_project_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    for (template, board) in [("multiclass", "ulx3s"), ("regression", "icebreaker"), ("network", "zcu102")] {
        let project = folder.path().join(template);
        done(&["init", &project.display().to_string(), "--template", template, "--board", board]);
        let run = |arguments: &[&str]| {
            let output = tool(arguments).args(["--config", "board.toml"]).current_dir(&project).output().unwrap();
            assert!(output.status.success(), "{template}: {}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
        };
        let trained = run(&["train", "--data", "data.csv", "--epochs", "3", "--format", "json"]);
        assert!(trained["test"]["array"]["loss"].as_f64().unwrap().is_finite(), "{trained}");
        if template == "multiclass" {
            // The 64 PEs of the configuration would take nine tenths of the device; place and route needs more room.
            let resources = &run(&["build", "--format", "json"])["report"]["resources"];
            for cells in resources.as_array().unwrap() {
                let part = cells["estimated"].as_f64().unwrap() / cells["available"].as_f64().unwrap();
                assert!(part <= 0.8, "{cells}");
            }
            // The board's own 100 MHz are those of a smaller program.
            let config = fs::read_to_string(project.join("board.toml")).unwrap();
            assert!(config.contains("[board]\nclock_mhz = 80.0\nname = \"ulx3s-85f\"\n"), "{config}");
            // Fisher's first flower of each class, as UCI's file has them.
            let table = fs::read_to_string(project.join("data.csv")).unwrap();
            for flower in ["5.1,3.5,1.4,0.2,setosa", "7.0,3.2,4.7,1.4,versicolor", "6.3,3.3,6.0,2.5,virginica"] {
                assert_eq!(table.lines().filter(|line| *line == flower).count(), 1, "{flower}");
            }
            assert_eq!(trained["confusion"]["classes"], serde_json::json!(["setosa", "versicolor", "virginica"]));
        }
        run(&["build", "--format", "json"]);
        assert!(project.join("out/rtl/model.v").is_file());
    }
    // What trains nothing has records, and a model of another tool its weights.
    let function = folder.path().join("function");
    done(&["init", &function.display().to_string(), "--template", "function"]);
    let arguments = ["eval", "model.tc", "--inputs", "inputs.json", "--engine", "array", "--config", "board.toml"];
    let output = tool(&arguments).current_dir(&function).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let model = folder.path().join("onnx");
    done(&["init", &model.display().to_string(), "--template", "onnx"]);
    let output = tool(&["check", "--config", "board.toml"]).current_dir(&model).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// In a folder without any of our files.
#[test]
fn what_is_shipped_is_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        tool::finish({
            let mut command = tool(arguments);
            command.current_dir(folder.path());
            command
        })
    };
    let trained = run(&["train", "logistic", "--data", "breast_cancer", "--epochs", "2", "--engine", "fixed"]);
    assert_eq!(trained.code, 0, "{}", trained.stderr);
    assert!(trained.stdout.contains("programs/logistic.t on 455 training"), "{}", trained.stdout);
    for (arguments, code, words) in [
        (&["logistc"][..], 6, "did you mean `logistic`?"),
        (&["train", "logistic", "--data", "irises"], 6, "shipped tables are breast_cancer, diabetes"),
        (&["tarin", "logistic", "--data", "iris"], 2, "did you mean `train`?"),
    ] {
        let ran = run(arguments);
        assert!(ran.code == code && ran.stderr.contains(words), "{arguments:?}: {}\n{}", ran.code, ran.stderr);
    }
    assert!(run(&["--help"]).stdout.contains("tangnano20k, tangnano9k, tiny, ulx3s-25f"));
}

/// The newest section of CHANGELOG.md is that of this version.
#[test]
fn the_version_is_that_of_the_changes() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(done(&["--version"]).stdout, format!("tabla-gen {version}\n"));
    let changes = fs::read_to_string("CHANGELOG.md").unwrap();
    assert_eq!(changes.lines().find_map(|line| line.strip_prefix("## ")), Some(version));
}

#[test]
fn the_gradients_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let text = "mu = 0.5; model_input x[3]; model_output y; model w[3]; iterator i[0:3];\n\
                h = sum[i](w[i] * x[i]); minimize squared(h, y);";
    let tabla = file(folder.path(), "line.t", text);
    let derived = done(&["derive", &tabla]).stdout;
    for line in ["gradient(w) w.gradient[3]", "h.gradient = sum.1 - y", "w -= 0.5 * w.gradient"] {
        assert!(derived.contains(line), "{line}\n{derived}");
    }
    // A function says in the table beside it what is trained.
    let text = "def line(float(3) X, float(3) W) -> (H) { H +=! W(i) * X(i) }";
    let function = file(folder.path(), "line.tc", text);
    fails(&["derive", &function], 2, &["has no gradients"]);
    file(folder.path(), "line.toml", "[train]\nprediction = \"H\"\nloss = \"squared\"\nweights = [\"W\"]\nmu = 0.5\n");
    let derived = done(&["derive", &function]).stdout;
    for line in ["label \"label\"", "state W[3]", "H.gradient = H - \"label\"", "W -= 0.5 * W.gradient"] {
        assert!(derived.contains(line), "{line}\n{derived}");
    }
    let ir = done(&["ir", &function, "--after", "derived", "--quiet"]).stdout;
    assert!(ir.contains("H.gradient = H - \"label\"") && ir.contains("W -= 0.5 * W.gradient"), "{ir}");
    // A wrong table is not overlooked.
    file(folder.path(), "line.toml", "[train]\nprediction = \"H\"\nloss = \"squared\"\nweight = [\"W\"]\n");
    for command in ["derive", "build", "check"] {
        fails(&[command, &function], 1, &["E-CONFIG", "did you mean `weights`?"]);
    }
}

#[test]
fn the_graph_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("g.svg").display().to_string();
    let dot = done(&["graph", LOGISTIC, "--svg", &svg]).stdout;
    assert!(dot.starts_with("digraph \"logistic\" {") && dot.contains("label = \"x[31]\""), "{dot}");
    let drawing = fs::read_to_string(&svg).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.contains("w[31]") && drawing.contains("</svg>"));
    let graph = done(&["graph", LOGISTIC, "--format", "json"]).json();
    let tensors = graph["tensors"].as_array().unwrap();
    let number = |name: &str| tensors.iter().position(|tensor| tensor["name"] == name).unwrap();
    let (gradient, model) = (number("g"), number("w"));
    let update = serde_json::json!({ "from": gradient, "to": model, "update": true });
    assert!(graph["arrows"].as_array().unwrap().contains(&update), "{graph}");
    // Every language has one.
    let inputs = file(folder.path(), "in.json", r#"{"A": [[1, 2, 3], [4, 5, 6]], "B": [[1, 2], [3, 4], [5, 6]]}"#);
    let tile = ["graph", "tests/conformance/tile/matmul_small.tile", "--inputs", &inputs, "--format", "json"];
    let other = done(&tile).json();
    assert!(other["arrows"].as_array().unwrap().len() >= 2);
}

/// What a report says about the pace is what runs of 16 and of 48 steps differ by.
#[test]
fn a_report_has_the_cycles_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let built = done(&["build", LOGISTIC, "--config", "tiny", "--out", &out, "--format", "json"]).json();
    let run = |steps: &str| {
        let sim = ["sim", LOGISTIC, "--config", "tiny", "--engine", "array", "--steps", steps, "--format", "json"];
        done(&sim).json()["cycles"].as_f64().unwrap()
    };
    let figures = &built["report"]["cycles"];
    assert_eq!(figures["cycles_per_sample"].as_f64().unwrap(), (run("48") - run("16")) / 32.0, "{figures}");
    let second = figures["cycles_per_sample"].as_f64().unwrap() * figures["samples_per_second"].as_f64().unwrap();
    let clock = built["report"]["board"]["clock_mhz"].as_f64().unwrap() * 1e6;
    assert!((second - clock).abs() < 1e-6 * clock, "{second} cycles in a second");
}

#[test]
fn the_pictures_are_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let mut python = std::process::Command::new("python3");
    python
        .args(["measure/python/pictures.py", "--to"])
        .arg(folder.path())
        .env("TABLA_GEN", env!("CARGO_BIN_EXE_tabla-gen"));
    assert!(python.status().unwrap().success());
    let mut drawn = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path())).unwrap();
        let kept = std::fs::read_to_string(std::path::Path::new("docs/pictures").join(&name)).unwrap_or_default();
        assert!(kept == std::fs::read_to_string(path).unwrap(), "{}: run cargo measure pictures", name.display());
        drawn += 1;
    }
    assert_eq!(drawn, 5);
}

#[test]
fn a_sweep_finds_the_best_machines() {
    let sweep = ["explore", "--config", "tiny", "--pus", "1,2", "--pes-per-pu", "2,4", "--stream-words", "2"];
    let one = done(&[&sweep[..], &["--format", "json", "--jobs", "1"]].concat()).stdout;
    let two = done(&[&sweep[..], &["--format", "json", "--jobs", "3"]].concat()).stdout;
    assert_eq!(one, two, "the number of jobs changes nothing");
    let found: serde_json::Value = serde_json::from_str(&one).unwrap();
    let machines = found["machines"].as_array().unwrap();
    assert_eq!(machines.len(), 4);
    let of = |pus: u64, pes: u64| machines.iter().find(|m| m["pus"] == pus && m["pes_per_pu"] == pes).unwrap();
    let figure = |machine: &serde_json::Value, key: &str| machine[key].as_f64().unwrap();
    let (large, small) = (of(2, 4), of(1, 2));
    assert!(
        figure(large, "cycles_per_sample") < figure(small, "cycles_per_sample"),
        "eight engines are faster than two"
    );
    assert!(figure(large, "lut") > figure(small, "lut"));
    assert_eq!(machines.iter().map(|machine| machine["rank"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let speeds: Vec<f64> = machines.iter().map(|machine| figure(machine, "samples_per_second")).collect();
    assert!(speeds.is_sorted_by(|a, b| a >= b), "{speeds:?}");
    assert!(machines.iter().any(|machine| machine["best"] == true));
    let impossible = done(&["explore", "--config", "tiny", "--pus", "1,200", "--format", "json"]).json();
    assert!(impossible["machines"][1]["refused"].as_str().unwrap().contains("between 1 and 128"), "{impossible}");
    let text = done(&sweep).stdout;
    assert!(text.contains("best") && text.contains(" LUT\n"), "{text}");
    // A sample that is sent takes longer than its computation; with a store the grid decides.
    let board = |store: &str, order: &str| {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("board.toml");
        let text = format!(
            "[machine]\npus = 1\npes_per_pu = 4\nstream_words = 1\n[board]\nname = \"ulx3s-85f\"\nstore = \"{store}\"\n"
        );
        std::fs::write(&config, text).unwrap();
        let config = config.to_str().unwrap();
        let data = ["--data", "examples/breast_cancer.csv", "--order", order];
        let explore = ["--config", config, "--format", "json", "explore", LOGISTIC];
        done(&[&explore[..], &data].concat()).json()["machines"][0].clone()
    };
    let (sent, stored) = (board("none", "store"), board("bram", "store"));
    assert_eq!(sent["limited_by"], "link");
    assert_ne!(stored["limited_by"], "link");
    // Samples that are drawn anew in every epoch are sent in every epoch.
    assert_eq!(board("bram", "shuffled")["limited_by"], "link");
    // 30 features, the bias and the label, words of two bytes, ten bits each at 3,000,000 per second.
    let by_hand = 3e6 / (32.0 * 2.0 * 10.0);
    assert!((figure(&sent, "samples_per_second") - by_hand).abs() < 1e-9 * by_hand, "{sent}");
    assert!(figure(&stored, "samples_per_second") > 10.0 * figure(&sent, "samples_per_second"), "{stored}");
}

#[test]
fn manual_pages_name_every_subcommand() {
    let page = done(&["man"]).stdout;
    assert!(page.contains(".TH tabla-gen 1") && page.contains("tabla\\-gen\\-train(1)"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man").display().to_string();
    done(&["man", "--out", &out, "--quiet"]);
    for command in ["tabla-gen", "tabla-gen-train", "tabla-gen-eval", "tabla-gen-explore"] {
        let page = fs::read_to_string(Path::new(&out).join(format!("{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{command}");
    }
}

#[test]
fn wrong_arguments_are_said() {
    fails(&["schema", "nothing"], 2, &["there is no schema `nothing`", "train"]);
    fails(&["explore", LOGISTIC, "--jobs", "0"], 2, &["--jobs"]);
    fails(&["graph", "nowhere.t"], 6, &["cannot read nowhere.t"]);
    let folder = tempfile::tempdir().unwrap();
    let blocked = file(folder.path(), "file", "") + "/new";
    fails(&["init", &blocked], 6, &["cannot write"]);
}

#[test]
fn accuracy_grows_with_the_word() {
    let arguments =
        ["accuracy", LOGISTIC, "--data", "examples/breast_cancer.csv", "--epochs", "3", "--words", "8,16,24"];
    let found = done(&[&arguments[..], &["--format", "json"]].concat()).json();
    let loss = |word: usize, kind: &str| found["words"][word][kind]["train"]["loss"].as_f64().unwrap();
    let golden = found["golden"]["train"]["loss"].as_f64().unwrap();
    for kind in ["rounded", "fixed"] {
        let far = [0, 1, 2].map(|word| (loss(word, kind) - golden).abs());
        assert!(far[2] < far[0] && far[1] < far[0] && far[2] < 1e-3, "{kind}: {far:?}");
    }
    assert!(done(&arguments).stdout.contains("\n16 bits, fixed "));
}

/// One table of docs/tables/accuracy.txt, made again: results do not depend on the machine, so a page that differs is old.
#[test]
fn the_accuracy_page_is_fresh() {
    let arguments = [
        "accuracy",
        LOGISTIC,
        "--data",
        "examples/breast_cancer.csv",
        "--words",
        "12,16",
        "--quiet",
        "--format",
        "json",
    ];
    let table = measure::tables::accuracy(&done(&arguments).json()).unwrap();
    let page = fs::read_to_string("docs/tables/accuracy.txt").unwrap();
    let section = page.split("## ").find(|section| section.starts_with("logistic on breast_cancer.csv")).unwrap();
    let lines: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(lines.len(), 6, "a head, golden, and two widths\n{table}");
    for line in lines {
        assert!(
            section.lines().any(|known| known == line),
            "run cargo measure accuracy: docs/tables/accuracy.txt lacks\n{line}"
        );
    }
}

/// Every published program, without data: numbers are made up so that no training diverges.
#[test]
fn every_program_is_explained_without_data() {
    for entry in fs::read_dir("programs").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "t") {
            let explained = done(&["explain", &path.display().to_string(), "--quiet"]).stdout;
            assert!(explained.contains("cycles per sample") && explained.contains("bound  "), "{}", path.display());
        }
    }
}

#[test]
fn numbers_are_explained() {
    let explained = done(&["explain", "--config", "tiny", "--explain-numbers"]).stdout;
    assert!(explained.starts_with("numbers ") && explained.contains("w  "), "{explained}");
    let train = ["train", LOGISTIC, "--data", "examples/breast_cancer.csv", "--epochs", "1", "--engine", "fixed"];
    let numbers = done(&[&train[..], &["--explain-numbers", "--format", "json"]].concat()).json()["numbers"].clone();
    let w = numbers.as_array().unwrap().iter().find(|number| number["tensor"] == "w").unwrap().clone();
    assert!(w["fraction"].as_i64().unwrap() > 8 && w["decided"].as_str().is_some_and(|why| !why.is_empty()), "{w}");
    assert!(w["low"].as_f64().unwrap() < w["high"].as_f64().unwrap());
}

/// What a mistake looks like on a terminal, which `script` plays.
fn on_a_terminal(program: &str, no_color: bool) -> String {
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &format!("{} check {program}", env!("CARGO_BIN_EXE_tabla-gen")), "/dev/null"]);
    command.env("TERM", "xterm").env_remove("NO_COLOR").stdin(std::process::Stdio::null());
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let folder = tempfile::tempdir().unwrap();
    let program = file(folder.path(), "p.t", "model_input x[3];\nh = x[0] * v;\n");
    let (coloured, plain) = (on_a_terminal(&program, false), on_a_terminal(&program, true));
    assert!(coloured.contains("\u{1b}[") && coloured.contains("E-UNDEF"), "{coloured}");
    assert!(!plain.contains('\u{1b}') && plain.contains("E-UNDEF"), "{plain}");
}
