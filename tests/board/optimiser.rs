//! An optimiser, and updates rounded in their own way, on a board: what they remember lies beside the weights.

use super::tool::{done, run};
use super::{Bench, GRID, Line, config};
use std::fs;

/// A derived gradient in batches, with settings of `[train]`: each state of them lies in the board's model pads, with so many elements.
#[test]
fn an_optimiser_runs_on_a_board() {
    let momentum = "optimiser = 'momentum'\nweight_decay = 0.01\nschedule = 'cosine'\nwarm_up = 1";
    let states: [(&str, &[(&str, usize)]); 3] = [
        (momentum, &[("w.velocity", 31)]),
        ("rounding = 'stochastic'", &[("w.dither", 1), ("rounding.state", 6)]),
        ("master = 20", &[("w.low", 31)]),
    ];
    let bench = Bench::new(Line::Good);
    for (settings, states) in states {
        trained_alike(&bench, settings, states);
    }
}

fn trained_alike(bench: &Bench, settings: &str, states: &[(&str, usize)]) {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let text = "mu = 0.05; m = 31; model_input x[m]; model_output y; model w[m]; iterator i[0:m];
        h = sum[i](w[i] * x[i]); h = sigmoid(h); minimize logistic(h, y);";
    let table = "[train]\nprediction = 'h'\nloss = 'logistic'\nlabels = { 0 = 0, 1 = 1 }\nbias = true\n";
    let program = folder.path().join("decayed.t");
    fs::write(&program, text).unwrap();
    fs::write(folder.path().join("decayed.toml"), format!("{table}{settings}\n[train.sizes]\nm = 'inputs'\n")).unwrap();
    let training = [program.to_str().unwrap(), "--data", "examples/breast_cancer.csv", "--config", &config];
    let more = ["--epochs", "2", "--limit", "80", "--batch", "4", "--format", "json"];
    let saved = |name: &str| folder.path().join(name).display().to_string();
    let (on_array, on_board) = (saved("array.json"), saved("board.json"));
    let array = done(&[&["train"], &training[..], &more, &["--save", &on_array]].concat()).json();
    let board = run(&[&["run", "--port", &bench.name], &training[..], &more, &["--save", &on_board]].concat());
    assert_eq!(board.code, 0, "{settings}\n{}\n{}", board.stdout, board.stderr);
    let board = board.json();
    assert_eq!(board["words_differing"], 0, "{board}");
    assert_eq!(board["test"]["board"], array["test"]["array"]);
    let model = |path: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&fs::read_to_string(path).unwrap()).unwrap()["model"].clone()
    };
    let (array, board) = (model(&on_array), model(&on_board));
    for &(state, elements) in states {
        let words = board[state].as_array().unwrap_or_else(|| panic!("no {state} in {board}"));
        assert!(words.len() == elements && words.iter().any(|word| word != 0.0), "{state}: {board}");
    }
    assert_eq!(board, array);
    let built = saved("built");
    done(&[&["build"], &training[..], &["--out", &built]].concat());
    let header = fs::read_to_string(folder.path().join("built/driver/decayed_train.h")).unwrap();
    // A generator of zeros stays there, and then nothing is rounded by chance.
    let starts = |line: &str| assert!(header.contains(line), "no {line:?} in\n{header}");
    match states[0].0 {
        "w.dither" => {
            starts("   w_dither   first 0\n   rounding_state[6]   first random, between -0.49 and 0.49; never all 0\n");
        }
        "w.low" => starts("   w_low[31]   first 0\n"),
        _ => {}
    }
}
