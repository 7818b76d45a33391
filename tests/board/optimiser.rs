//! An optimiser on a board: what it remembers lies beside the weights.

use super::tool::run;
use super::{Bench, GRID, Line, config};
use std::fs;

/// A derived gradient with momentum, decay and a rate that changes, in batches: what the optimiser remembers lies in the board's model pads.
#[test]
fn an_optimiser_runs_on_a_board() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let text = "mu = 0.05; m = 31; model_input x[m]; model_output y; model w[m]; iterator i[0:m];
        h = sum[i](w[i] * x[i]); h = sigmoid(h); minimize logistic(h, y);";
    let table = "[train]\nprediction = 'h'\nloss = 'logistic'\nlabels = { 0 = 0, 1 = 1 }\nbias = true\n\
        optimiser = 'momentum'\nweight_decay = 0.01\nschedule = 'cosine'\nwarm_up = 1\n[train.sizes]\nm = 'inputs'\n";
    let program = folder.path().join("decayed.t");
    fs::write(&program, text).unwrap();
    fs::write(folder.path().join("decayed.toml"), table).unwrap();
    let training = [program.to_str().unwrap(), "--data", "examples/breast_cancer.csv", "--config", &config];
    let more = ["--epochs", "2", "--limit", "80", "--batch", "4", "--format", "json"];
    let saved = |name: &str| folder.path().join(name).display().to_string();
    let (on_array, on_board) = (saved("array.json"), saved("board.json"));
    let array = run(&[&["train"], &training[..], &more, &["--save", &on_array]].concat());
    assert_eq!(array.code, 0, "{}", array.stderr);
    let bench = Bench::new(Line::Good);
    let board = run(&[&["run", "--port", &bench.name], &training[..], &more, &["--save", &on_board]].concat());
    assert_eq!(board.code, 0, "{}\n{}", board.stdout, board.stderr);
    let (array, board) = (array.json(), board.json());
    assert_eq!(board["words_differing"], 0, "{board}");
    assert_eq!(board["test"]["board"], array["test"]["array"]);
    let model = |path: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&fs::read_to_string(path).unwrap()).unwrap()["model"].clone()
    };
    let (array, board) = (model(&on_array), model(&on_board));
    assert!(board["w.velocity"].as_array().is_some_and(|velocity| velocity.len() == 31), "{board}");
    assert_eq!(board, array);
}
