//! The order of the samples, and that the loss which is shown is the one that is trained: each training is done a second time here, by
//! arithmetic that shares nothing with the project.

mod tool;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tool::{done, file};

/// Between -1 and 1, without a pattern.
fn scattered(number: usize) -> f64 {
    let bits = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / f64::from(1u32 << 23) - 1.0
}

/// The elements of the weight `w` of a saved model.
fn weight(saved: &str) -> Vec<f64> {
    let model: Value = serde_json::from_str(&std::fs::read_to_string(saved).unwrap()).unwrap();
    model["model"]["w"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

const ROWS: usize = 5;
const RATE: f64 = 0.5;

fn row(number: usize) -> (f64, f64) {
    (scattered(number), scattered(number + 40))
}

/// A weight after one step on each of these rows.
fn after(w: f64, rows: &[usize]) -> f64 {
    rows.iter().fold(w, |w, &number| {
        let (x, y) = row(number);
        w - RATE * (w * x - y) * x
    })
}

/// All orders of four of the rows.
fn orders() -> Vec<[usize; 4]> {
    let mut found = Vec::new();
    for code in 0..ROWS.pow(4) {
        let order = [code % 5, code / 5 % 5, code / 25 % 5, code / 125];
        if BTreeSet::from(order).len() == 4 {
            found.push(order);
        }
    }
    found
}

/// The orders of the epochs that lead from 0 to these weights, one after each epoch: all possible ones are tried.
fn epochs(weights: &[f64]) -> Vec<[usize; 4]> {
    let mut before = 0.0;
    let mut found: Vec<[usize; 4]> = Vec::new();
    for &reached in weights {
        let fits = |order: &[usize; 4]| (after(before, order) - reached).abs() < 1e-14;
        let fitting: Vec<_> = orders().into_iter().filter(fits).collect();
        assert_eq!(fitting.len(), 1, "one order leads from {before} to {reached}: {fitting:?}");
        found.extend(fitting);
        before = reached;
    }
    found
}

/// Steps do not commute, so the weight after each epoch says in which order its rows came.
#[test]
fn samples_come_in_the_order_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let lines = (0..ROWS).map(row).fold("x,y\n".to_owned(), |text, (x, y)| text + &format!("{x},{y}\n"));
    let data = file(folder.path(), "data.csv", lines);
    let text = format!("mu = {RATE}; model_input x; model_output y; model w; h = w * x; minimize squared(h, y);");
    let program = file(folder.path(), "line.t", text);
    let saved = folder.path().join("model.json").display().to_string();
    let trained = |table: &str, more: &[&str], epochs: usize, engine: &str| {
        let settings = "[train]\nprediction = 'h'\nloss = 'squared'\nstandardise = false\nstandardise_target = false\n";
        file(folder.path(), "line.toml", format!("{settings}{table}"));
        let epochs = epochs.to_string();
        let arguments = ["train", &program, "--data", &data, "--epochs", &epochs, "--save", &saved, "--config", "tiny"];
        done(&[&arguments[..], &["--engine", engine, "--quiet"], more].concat());
        weight(&saved)[0]
    };
    let reached = |order: &str| -> Vec<f64> {
        let by_table = |epochs| trained(&format!("order = '{order}'\n"), &[], epochs, "golden");
        let weights: Vec<f64> = (1..=4).map(by_table).collect();
        // The argument is stronger than the table, and means the same.
        assert_eq!(trained("order = 'rows'\n", &["--order", order], 4, "golden"), weights[3], "{order}");
        let words = trained("", &["--order", order], 4, "array");
        assert!((words - weights[3]).abs() < 1e-3, "{order}: {words}, not {}", weights[3]);
        weights
    };
    assert_eq!(epochs(&reached("rows")), [[0, 1, 2, 3]; 4]);
    let store = epochs(&reached("store"));
    assert_eq!(store, [store[0]; 4]);
    // Without any word of it, it is the order of a store.
    assert_eq!(epochs(&[trained("", &[], 1, "golden")]), store[..1]);
    // Of the same rows, in orders of their own: that two of four are the same by chance is one in four.
    for order in ["shuffled", "permuted"] {
        let orders = epochs(&reached(order));
        let rows: BTreeSet<BTreeSet<usize>> = orders.iter().copied().map(BTreeSet::from).collect();
        assert_eq!(rows, BTreeSet::from([BTreeSet::from(store[0])]), "{order}: {orders:?}");
        assert!(BTreeSet::from_iter(&orders).len() > 2, "{order}: {orders:?}");
    }
}

/// What is trained: the result of `link` of `classes` sums, judged by `loss`.
struct Trained {
    loss: &'static str,
    /// Statements behind the sums `z[k]`.
    link: &'static str,
    classes: usize,
    /// What the label of a row is, before it is coded.
    label: fn(usize) -> f64,
    /// Keys of `[train]` that code labels.
    table: &'static str,
    h: fn(&[f64]) -> Vec<f64>,
    of: fn(&[f64], &[f64]) -> f64,
    /// How often what is shown has what is trained: a squared error is trained by half.
    shown: f64,
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

fn identity(z: &[f64]) -> Vec<f64> {
    z.to_vec()
}

fn sigmoids(z: &[f64]) -> Vec<f64> {
    z.iter().map(|&z| sigmoid(z)).collect()
}

fn softmax(z: &[f64]) -> Vec<f64> {
    let sum: f64 = z.iter().map(|z| z.exp()).sum();
    z.iter().map(|z| z.exp() / sum).collect()
}

fn entropy(h: f64, y: f64) -> f64 {
    -(y * h.ln() + (1.0 - y) * (1.0 - h).ln())
}

fn number(n: usize) -> f64 {
    2.0 * scattered(n + 70)
}

fn truth(n: usize) -> f64 {
    f64::from(u8::from(scattered(n + 70) > 0.0))
}

fn class(n: usize) -> f64 {
    ((n + n / 3) % 3) as f64
}

const TRAINED: [Trained; 8] = [
    Trained {
        loss: "squared",
        link: "h = z[0];",
        classes: 1,
        label: number,
        table: "",
        h: identity,
        of: |h, y| 0.5 * (h[0] - y[0]).powi(2),
        shown: 2.0,
    },
    Trained {
        loss: "absolute",
        link: "h = z[0];",
        classes: 1,
        label: number,
        table: "",
        h: identity,
        of: |h, y| (h[0] - y[0]).abs(),
        shown: 1.0,
    },
    Trained {
        loss: "huber",
        link: "h = z[0];",
        classes: 1,
        label: number,
        table: "",
        h: identity,
        of: |h, y| {
            let error = (h[0] - y[0]).abs();
            if error < 1.0 { 0.5 * error * error } else { error - 0.5 }
        },
        shown: 1.0,
    },
    Trained {
        loss: "hinge",
        link: "h = z[0];",
        classes: 1,
        label: truth,
        table: "labels = { 0 = -1, 1 = 1 }\n",
        h: identity,
        of: |h, y| (1.0 - h[0] * (2.0 * y[0] - 1.0)).max(0.0),
        shown: 1.0,
    },
    Trained {
        loss: "logistic",
        link: "h = sigmoid(z[0]);",
        classes: 1,
        label: truth,
        table: "labels = { 0 = 0, 1 = 1 }\n",
        h: sigmoids,
        of: |h, y| entropy(h[0], y[0]),
        shown: 1.0,
    },
    Trained {
        loss: "poisson",
        link: "h = exp(z[0]);",
        classes: 1,
        label: class,
        table: "",
        h: |z| vec![z[0].exp()],
        of: |h, y| h[0] - y[0] * h[0].ln(),
        shown: 1.0,
    },
    Trained {
        loss: "one_hot",
        link: "h[k] = sigmoid(z[k]);",
        classes: 3,
        label: class,
        table: "",
        h: sigmoids,
        of: |h, y| h.iter().zip(y).map(|(&h, &y)| entropy(h, y)).sum(),
        shown: 1.0,
    },
    Trained {
        loss: "cross_entropy",
        link: "e[k] = exp(z[k]); l = log(sum[k](e[k])); h[k] = exp(z[k] - l);",
        classes: 3,
        label: class,
        table: "",
        h: softmax,
        of: |h, y| h.iter().zip(y).map(|(h, y)| -y * h.ln()).sum(),
        shown: 1.0,
    },
];

impl Trained {
    /// Features and label of a row.
    fn row(&self, n: usize) -> ([f64; 2], Vec<f64>) {
        let label = (self.label)(n);
        let label = if self.classes == 1 {
            vec![label]
        } else {
            (0..self.classes).map(|class| f64::from(u8::from(class as f64 == label))).collect()
        };
        ([scattered(n), scattered(n + 40)], label)
    }

    fn loss_of(&self, w: &[f64], n: usize) -> f64 {
        let (x, y) = self.row(n);
        let z: Vec<f64> = w.chunks(2).map(|w| w[0] * x[0] + w[1] * x[1]).collect();
        (self.of)(&(self.h)(&z), &y)
    }

    /// Mean loss of these rows.
    fn mean(&self, w: &[f64], rows: std::ops::Range<usize>) -> f64 {
        let count = rows.len() as f64;
        rows.map(|n| self.loss_of(w, n)).sum::<f64>() / count
    }

    /// Weights after epochs of steps down the loss itself: its slopes are differences.
    fn descended(&self, epochs: usize, rows: usize, rate: f64) -> Vec<f64> {
        const STEP: f64 = 1e-5;
        let mut w = vec![0.0; 2 * self.classes];
        for n in (0..epochs).flat_map(|_| 0..rows) {
            let slope = |element: usize| {
                let moved = |by: f64| {
                    let mut w = w.clone();
                    w[element] += by;
                    self.loss_of(&w, n)
                };
                (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
            };
            let slopes: Vec<f64> = (0..w.len()).map(slope).collect();
            w.iter_mut().zip(slopes).for_each(|(w, slope)| *w -= rate * slope);
        }
        w
    }
}

/// The cells of the row of an engine in the table that a command prints.
fn printed(text: &str, engine: &str) -> Vec<f64> {
    let row = text.lines().find(|line| line.starts_with(engine)).unwrap_or_else(|| panic!("no {engine} in\n{text}"));
    row.split_whitespace().skip(1).take(2).map(|cell| cell.parse().unwrap()).collect()
}

fn check(trained: &Trained, folder: &Path) {
    const EPOCHS: usize = 3;
    let Trained { loss, link, classes, table, .. } = trained;
    let rows = 0..12;
    let cells = |n: usize| format!("{},{},{}\n", scattered(n), scattered(n + 40), (trained.label)(n));
    let data = file(folder, "data.csv", rows.map(cells).fold("a,b,y\n".to_owned(), |text, row| text + &row));
    let label = if *classes == 1 { "y".to_owned() } else { format!("y[{classes}]") };
    let text = format!(
        "mu = 0.1; model_input x[2]; model_output {label}; model w[{classes}][2]; iterator i[0:2]; iterator k[0:{classes}];
        z[k] = sum[i](w[k][i] * x[i]);\n{link}\nminimize {loss}(h, y);"
    );
    let program = file(folder, &format!("{loss}.t"), text);
    let settings = format!(
        "[train]\nprediction = 'h'\nloss = '{loss}'\norder = 'rows'\nsplit = 0.75\nstandardise = false\n\
         standardise_target = false\n{table}"
    );
    file(folder, &format!("{loss}.toml"), settings);
    let path = |name: &str| folder.join(name).display().to_string();
    let (saved, out, epochs) = (path("model.json"), path("out"), EPOCHS.to_string());
    let training = [&program, "--data", &data, "--epochs", &epochs, "--config", "tiny", "--quiet"];
    let train = |more: &[&str]| done(&[&["train"], &training[..], more].concat());
    // What is trained.
    let found = train(&["--engine", "golden", "--save", &saved, "--format", "json"]).json();
    let (w, wanted) = (weight(&saved), trained.descended(EPOCHS, 9, 0.1));
    for (found, wanted) in w.iter().zip(&wanted) {
        assert!((found - wanted).abs() < 1e-8, "{loss}: {w:?}, not {wanted:?}");
    }
    // What is shown: in JSON, as text, and as the last points of the curves of a report.
    let shown = [trained.mean(&w, 0..9), trained.mean(&w, 9..12)].map(|mean| mean * trained.shown);
    for (part, wanted) in ["train", "test"].into_iter().zip(shown) {
        let loss_of = found[part]["golden"]["loss"].as_f64().unwrap();
        assert!((loss_of - wanted).abs() < 1e-12, "{loss}, {part}: {loss_of}, not {wanted}");
    }
    let same = |cells: &[f64]| cells.iter().zip(shown).all(|(cell, wanted)| (cell - wanted).abs() < 0.6e-5);
    let text = train(&["--engine", "golden"]).stdout;
    assert!(same(&printed(&text, "golden")), "{loss}: not {shown:?}\n{text}");
    done(&[&["report"], &training[..], &["--engine", "array", "--out", &out]].concat());
    let read = |name: &str| std::fs::read_to_string(folder.join("out").join(name)).unwrap();
    assert!(same(&printed(&read("report.txt"), "golden")), "{loss}");
    let document: Value = serde_json::from_str(&read("report.json")).unwrap();
    let page = read("report.html");
    for engine in ["golden", "array"] {
        let curve = document["training"]["curves"][engine].as_array().unwrap();
        assert_eq!(curve.len(), EPOCHS);
        let mut row = format!("<td>{engine}</td>");
        for part in ["train", "test"] {
            let last = &document["training"][part][engine];
            assert_eq!(&curve[EPOCHS - 1][part], last, "{loss}, {engine}, {part}");
            row += &format!("<td class=\"n\">{:.5}</td>", last["loss"].as_f64().unwrap());
        }
        assert!(page.contains(&row), "{loss}: no {row} in the page");
    }
    for (part, wanted) in ["train", "test"].into_iter().zip(shown) {
        let of_golden = document["training"][part]["golden"]["loss"].as_f64().unwrap();
        assert!((of_golden - wanted).abs() < 1e-12, "{loss}, {part}: {of_golden}, not {wanted}");
    }
}

/// Each loss of the library: descent along differences of what its name says leads to the same weights, and every table and curve shows it.
#[test]
fn the_loss_that_is_shown_is_the_loss_that_is_trained() {
    let folder = tempfile::tempdir().unwrap();
    for trained in &TRAINED {
        check(trained, folder.path());
    }
}
