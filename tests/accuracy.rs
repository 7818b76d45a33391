//! The golden figures of docs/tables/accuracy.txt against `NumPy`: every published program is trained a second time, by a script that shares nothing with
//! this project but the order of the samples and the first weights, which come from a seed.

use arch::tools::Toolbox;
use serde_json::{Value, json};
use sim::data::split::{epoch_order, split};
use sim::train::engine::Signature;
use sim::train::initial_model;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the script needs to know of a program: its rate, epochs, bound of the first weights, and the extents of its layers.
struct Published {
    program: &'static str,
    data: &'static str,
    mu: f64,
    epochs: usize,
    bound: f64,
    layers: &'static [(&'static str, usize, usize)],
}

/// As `programs/*.toml` say.
const PUBLISHED: [Published; 5] = [
    Published { program: "logistic", data: "breast_cancer", mu: 0.02, epochs: 20, bound: 0.0, layers: &[] },
    Published { program: "svm", data: "breast_cancer", mu: 0.01, epochs: 20, bound: 0.0, layers: &[] },
    Published { program: "linear", data: "diabetes", mu: 0.002, epochs: 30, bound: 0.0, layers: &[] },
    Published {
        program: "backpropagation",
        data: "digits",
        mu: 0.1,
        epochs: 5,
        bound: 0.2,
        layers: &[("w12", 25, 65), ("w23", 11, 25)],
    },
    Published {
        program: "backpropagation4",
        data: "digits",
        mu: 0.2,
        epochs: 10,
        bound: 0.5,
        layers: &[("w12", 25, 65), ("w23", 17, 25), ("w34", 11, 17)],
    },
];

/// Losses and scores by `NumPy`.
fn computed(published: &Published) -> Vec<f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = root.join(format!("examples/{}.csv", published.data));
    let rows = std::fs::read_to_string(&data).unwrap().lines().count() - 1;
    let parts = split(rows, 0.8, 1);
    let orders: Vec<_> = (0..published.epochs).map(|epoch| epoch_order(parts.train.len(), true, 1, epoch)).collect();
    let sizes = published.layers.iter().map(|&(name, rows, columns)| (name.to_owned(), rows * columns)).collect();
    let signature =
        Signature { fields: Vec::new(), inputs: 0, prediction: (String::new(), 0), model: sizes, sequence: Vec::new() };
    let first = initial_model(&signature, |_| published.bound, 1);
    let matrix = |&(name, _, columns): &(&str, usize, usize)| {
        (name.to_owned(), first[name].chunks(columns).map(<[f64]>::to_vec).collect())
    };
    let weights: BTreeMap<String, Vec<Vec<f64>>> = published.layers.iter().map(matrix).collect();
    let task = json!({ "data": data, "program": published.program, "train": parts.train, "test": parts.test,
        "orders": orders, "mu": published.mu, "weights": weights });
    let python = Toolbox::default().program("python3").unwrap_or_else(|missing| panic!("{missing}"));
    let mut child = Command::new(python)
        .arg(root.join("tests/accuracy/figures.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(task.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", published.program);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    said.as_array().unwrap().iter().map(|figure| figure.as_f64().unwrap()).collect()
}

#[test]
fn the_golden_figures_are_those_of_numpy() {
    let page = include_str!("../docs/tables/accuracy.txt");
    for published in &PUBLISHED {
        let [train_loss, test_loss, train_score, test_score] = computed(published)[..] else { panic!("four figures") };
        let score = |score: f64| {
            if published.program == "linear" { format!("{score:.4}") } else { format!("{:.2} %", 100.0 * score) }
        };
        let row =
            format!("| golden | {train_loss:.5} | {test_loss:.5} | {} | {} |", score(train_score), score(test_score));
        let title = format!("{} on {}.csv", published.program, published.data);
        let section = page.split("## ").find(|section| section.starts_with(&title)).unwrap();
        let found = section.lines().find(|line| line.starts_with("| golden |")).unwrap();
        assert!(found.starts_with(&row), "{title}: the page has\n{found}, NumPy gives\n{row}");
    }
}
