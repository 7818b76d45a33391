//! Trainings beyond labels of rows: sequences, the inputs themselves, centres, directions; and when they end.

mod tool;

use compiler::choice::Choice;
use compiler::derived::optimisers::Method;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use tool::{done, fails, file};

/// A table of rows by a formula.
fn table(folder: &Path, header: &str, rows: usize, row: impl Fn(usize) -> Vec<f64>) -> String {
    let mut text = format!("{header}\n");
    for number in 0..rows {
        let cells: Vec<String> = row(number).iter().map(f64::to_string).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    file(folder, "data.csv", text)
}

/// Between -1 and 1, without a pattern.
fn scattered(number: usize) -> f64 {
    let bits = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / f64::from(1u32 << 23) - 1.0
}

fn trained(program: &str, data: &str, more: &[&str]) -> Value {
    let document = done(&[&["train", program, "--data", data, "--format", "json", "--quiet"], more].concat()).json();
    assert_eq!(document["words_differing"].as_u64().unwrap_or(0), 0, "{document}");
    document
}

/// The elements of a weight of a saved model.
fn weight(saved: &str, name: &str) -> Vec<f64> {
    let model: Value = serde_json::from_str(&std::fs::read_to_string(saved).unwrap()).unwrap();
    model["model"][name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// Weights that are not trained, a state that goes on, and a trained reading of it.
const ECHO_STATE: &str = "mu = 0.2; n = 12;
    model_input x; model_output y;
    model r[n][n], v[n], s[n], w[n];
    gradient g[n] -> w;
    iterator i[0:n]; iterator j[0:n];
    t[i] = sigmoid_symmetric(sum[j](r[i][j] * s[j]) + v[i] * x);
    s[i] = t[i];
    h = sum[i](w[i] * t[i]);
    d = h - y;
    g[i] = d * t[i];";

const ECHO_STATE_TABLE: &str = "[train]
    prediction = 'h'
    loss = 'squared'
    initial = { r = { uniform = 0.8 }, v = { uniform = 1.0 } }
    order = 'rows'
    epochs = 20
    sequence = ['s']\n";

/// A sine, five steps ahead: a quarter of a period, of which the value itself says nothing.
#[test]
fn an_echo_state_network_foresees_a_sine() {
    let folder = tempfile::tempdir().unwrap();
    let sine = |n: usize| (0.3 * n as f64).sin();
    let data = table(folder.path(), "x,y", 200, |n| vec![sine(n), sine(n + 5)]);
    let program = file(folder.path(), "echo.t", ECHO_STATE);
    let settings = file(folder.path(), "echo.toml", ECHO_STATE_TABLE);
    let saved = folder.path().join("model.json").display().to_string();
    let r2 = |document: &Value, part: &str, engine: &str| document[part][engine]["r2"].as_f64().unwrap();
    let document = trained(&program, &data, &["--engine", "array", "--config", "tiny", "--save", &saved]);
    for engine in ["golden", "array"] {
        for part in ["train", "test"] {
            assert!(r2(&document, part, engine) >= 0.95, "{document}");
        }
    }
    // A saved sequence is at its beginning; new rows begin one.
    assert_eq!(weight(&saved, "s"), [0.0; 12]);
    let predicted = done(&["predict", &program, "--data", &data, "--load", &saved, "--format", "json"]).json();
    let wrong = predicted["predictions"].as_array().unwrap().iter().enumerate().skip(20);
    let wrong = wrong.map(|(n, value)| (value.as_f64().unwrap() - sine(n + 5)).abs()).fold(0.0, f64::max);
    assert!(wrong < 0.5, "{wrong}");
    // Without its state a prediction has nothing to go by.
    std::fs::write(&settings, ECHO_STATE_TABLE.replace("sequence = ['s']", "")).unwrap();
    let forgetful = trained(&program, &data, &["--engine", "golden"]);
    assert!(r2(&forgetful, "test", "golden") < 0.5, "{forgetful}");
}

#[test]
fn sequences_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(folder.path(), "x,y", 20, |n| vec![scattered(n), scattered(n)]);
    let program = file(folder.path(), "echo.t", ECHO_STATE);
    let settings = |from: &str, to: &str| file(folder.path(), "echo.toml", ECHO_STATE_TABLE.replace(from, to));
    let refused = |code: i32, words: &[&str]| fails(&["train", &program, "--data", &data], code, words);
    settings("['s']", "['w']");
    refused(1, &["E-CONFIG", "assigns no state `w`"]);
    settings("'rows'", "'shuffled'");
    refused(2, &["order = \"rows\""]);
    settings("", "");
    file(folder.path(), "echo.t", ECHO_STATE.replace("s[i] = t[i]", "s[i] = t[i] + y"));
    refused(1, &["E-CONFIG", "goes on by the label `y`"]);
}

/// Two numbers for four that follow from two.
#[test]
fn an_autoencoder_learns_its_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize| {
        let (a, b) = (scattered(2 * n), scattered(2 * n + 1));
        vec![a, b, 0.8 * a - 0.6 * b, 0.6 * a + 0.8 * b]
    };
    let data = table(folder.path(), "a,b,c,d", 120, row);
    let text =
        "def code(float(4) X, float(2,4) E, float(4,2) D) -> (H, Y) { H(j) +=! E(j,i) * X(i)  Y(i) +=! D(i,j) * H(j) }";
    let program = file(folder.path(), "code.tc", text);
    let settings = "[train]\nprediction = 'Y'\nlabel = 'X'\nloss = 'squared'\nweights = ['E', 'D']\nmu = 0.1\n\
                    initial = { E = 'xavier', D = 'xavier' }\nstandardise = false\nepochs = 20\n";
    file(folder.path(), "code.toml", settings);
    let document = trained(&program, &data, &["--engine", "array", "--config", "tiny"]);
    for engine in ["golden", "array"] {
        assert!(document["test"][engine]["loss"].as_f64().unwrap() < 0.01, "{document}");
    }
    builds(folder.path(), &program, &data);
}

fn builds(folder: &Path, program: &str, data: &str) {
    let out = folder.join("out").display().to_string();
    done(&["build", program, "--data", data, "--config", "tiny", "--out", &out, "--quiet"]);
    assert!(folder.join("out/train/layout.json").exists());
}

/// The nearest of two centres moves: the mean of each heap of points.
#[test]
fn centres_are_found_without_labels() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize| {
        let (x, y) = if n.is_multiple_of(2) { (1.5, -0.5) } else { (-1.0, 1.0) };
        vec![x + 0.3 * scattered(2 * n), y + 0.3 * scattered(2 * n + 1)]
    };
    let data = table(folder.path(), "x,y", 100, row);
    let text = "def means(float(2) X, float(2,2) C) -> (E) {
        D(k) +=! (X(n) - C(k,n)) * (X(n) - C(k,n))\n  E min=! D(k)\n}";
    let program = file(folder.path(), "means.tc", text);
    let settings = "[train]\nprediction = 'E'\nloss = 'E'\nweights = ['C']\nmu = 0.02\n\
                    initial = { C = { uniform = 0.5 } }\nstandardise = false\nepochs = 10\n";
    file(folder.path(), "means.toml", settings);
    let saved = folder.path().join("model.json").display().to_string();
    trained(&program, &data, &["--engine", "array", "--config", "tiny", "--save", &saved]);
    let mut centres: Vec<Vec<f64>> = weight(&saved, "C").chunks(2).map(<[f64]>::to_vec).collect();
    centres.sort_by(|a, b| a[0].total_cmp(&b[0]));
    for (found, wanted) in centres.concat().iter().zip([-1.0, 1.0, 1.5, -0.5]) {
        assert!((found - wanted).abs() < 0.1, "{centres:?}");
    }
    builds(folder.path(), &program, &data);
}

/// Oja's rule: the direction in which points are spread most, at length 1.
#[test]
fn the_first_component_is_found_without_labels() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize| {
        let (along, across) = (1.5 * scattered(2 * n), 0.2 * scattered(2 * n + 1));
        vec![0.6 * along - 0.8 * across, 0.8 * along + 0.6 * across]
    };
    let data = table(folder.path(), "x,y", 200, row);
    let text = "mu = 0.02; model_input x[2]; model w[2]; iterator i[0:2];
        h = sum[i](w[i] * x[i]);
        z[i] = w[i] + mu * (h * (x[i] - h * w[i]));
        e = sum[i]((x[i] - h * w[i]) * (x[i] - h * w[i]));
        w[i] = z[i];";
    let program = file(folder.path(), "oja.t", text);
    let settings = "[train]\nprediction = 'h'\nloss = 'e'\ninitial = { w = { uniform = 0.5 } }\nstandardise = false\nepochs = 10\n";
    file(folder.path(), "oja.toml", settings);
    let saved = folder.path().join("model.json").display().to_string();
    trained(&program, &data, &["--engine", "array", "--config", "tiny", "--save", &saved]);
    let w = weight(&saved, "w");
    let sign = w[0].signum();
    assert!((sign * w[0] - 0.6).abs() < 0.05 && (sign * w[1] - 0.8).abs() < 0.05, "{w:?}");
    builds(folder.path(), &program, &data);
}

/// The validation part wants the opposite of what trains: no epoch is better than the first, whose weights are kept.
#[test]
fn the_best_epoch_is_kept_and_no_better_one_ends_the_training() {
    let folder = tempfile::tempdir().unwrap();
    // 100 rows: 64 train, 16 validate, 20 test.
    let slope = |n: usize| if (64..80).contains(&n) { -1.0 } else { 1.0 };
    let data = table(folder.path(), "x,y", 100, |n| vec![scattered(n), slope(n) * scattered(n)]);
    let program = file(
        folder.path(),
        "line.t",
        "mu = 0.02; model_input x; model_output y; model w; h = w * x; minimize squared(h, y);",
    );
    let settings = "[train]\nprediction = 'h'\nloss = 'squared'\norder = 'rows'\nstandardise = false\n\
                    standardise_target = false\nvalidation = 0.2\n";
    let run = |more: &str, epochs: &str, engine: &str| {
        file(folder.path(), "line.toml", format!("{settings}{more}"));
        let saved = folder.path().join("model.json").display().to_string();
        trained(&program, &data, &["--epochs", epochs, "--engine", engine, "--config", "tiny", "--save", &saved]);
        weight(&saved, "w")
    };
    // One epoch by hand: 64 steps of w += 0.02 (x - w x) x.
    let step = |w: f64, n: usize| w + 0.02 * (scattered(n) - w * scattered(n)) * scattered(n);
    let first = (0..64).fold(0.0, step);
    assert!(first > 0.2);
    for (more, epochs) in [("", "1"), ("", "6"), ("patience = 2\n", "6")] {
        let found = run(more, epochs, "golden");
        assert!((found[0] - first).abs() < 1e-12, "{found:?}, not {first}");
    }
    let found = run("patience = 2\n", "6", "array");
    assert!((found[0] - first).abs() < 1e-3, "{found:?}, not {first}");
    // After two epochs that are no better it is over; without patience it goes on.
    let points = |more: &str| {
        file(folder.path(), "line.toml", format!("{settings}{more}"));
        let checkpoint = folder.path().join("checkpoint.json").display().to_string();
        let arguments = ["--epochs", "6", "--engine", "golden", "--checkpoint", &checkpoint];
        trained(&program, &data, &arguments);
        let text: Value = serde_json::from_str(&std::fs::read_to_string(checkpoint).unwrap()).unwrap();
        text["golden"]["epochs"].as_u64().unwrap()
    };
    assert_eq!((points("patience = 2\n"), points("")), (3, 6));
}

/// All but gradient descent, which comes first.
fn optimisers_that_remember() -> impl Iterator<Item = &'static str> {
    Method::CASES[1..].iter().map(|method| method.name)
}

/// What an optimiser remembers is part of a checkpoint: three epochs and three more are six.
#[test]
fn an_optimiser_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = table(folder.path(), "x,y", 40, |n| vec![scattered(n), 0.7 * scattered(n) + 0.1 * scattered(n + 99)]);
    let text = "mu = 0.02; model_input x; model_output y; model w; h = w * x; minimize squared(h, y);";
    let program = file(folder.path(), "line.t", text);
    for optimiser in optimisers_that_remember() {
        let settings = format!("[train]\nprediction = 'h'\nloss = 'squared'\noptimiser = '{optimiser}'\n");
        file(folder.path(), "line.toml", settings);
        let run = |epochs: &str, more: [&str; 4]| {
            trained(&program, &data, &[&["--engine", "golden", "--epochs", epochs][..], &more].concat());
        };
        let (checkpoint, resumed, whole) = (path("checkpoint.json"), path("resumed.json"), path("whole.json"));
        run("3", ["--checkpoint", &checkpoint, "--save", &resumed]);
        let broken_off = weight(&resumed, "w");
        run("6", ["--resume", &checkpoint, "--save", &resumed]);
        run("6", ["--batch", "1", "--save", &whole]);
        assert_eq!(weight(&resumed, "w"), weight(&whole, "w"), "{optimiser}");
        assert_ne!(broken_off, weight(&whole, "w"), "{optimiser}");
    }
}

/// The same on the array, where batches are cut into tiles, samples are shuffled anew in each epoch, and an epoch leaves rows over: the words of
/// an unbroken training, also of what the optimiser remembers.
#[test]
fn an_optimiser_goes_on_on_the_array_in_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let row = |n: usize| {
        let x: Vec<f64> = (0..8).map(|k| scattered(9 * n + k)).collect();
        let y = x.iter().enumerate().map(|(k, x)| (k as f64 - 3.0) * 0.2 * x).sum::<f64>();
        [x, vec![y]].concat()
    };
    let data = table(folder.path(), "a,b,c,d,e,f,g,h,y", 60, row);
    let text = "mu = 0.02; m = 8; model_input x[m]; model_output y; model w[m]; iterator i[0:m];
        h = sum[i](w[i] * x[i]); minimize squared(h, y);";
    let program = file(folder.path(), "line.t", text);
    let grid = ["--config", "tiny", "--machine", "data_depth=8", "--batch", "14"];
    for optimiser in optimisers_that_remember() {
        let settings =
            format!("[train]\nprediction = 'h'\nloss = 'squared'\noptimiser = '{optimiser}'\norder = 'shuffled'\n");
        file(folder.path(), "line.toml", settings);
        let explained = done(&[&["explain", &program, "--data", &data, "--format", "json"], &grid[..]].concat());
        assert!(explained.json()["tiles"].as_u64().unwrap() > 1, "{optimiser}: {}", explained.stdout);
        let run = |epochs: &str, more: [&str; 4]| {
            trained(&program, &data, &[&["--engine", "array", "--epochs", epochs][..], &grid, &more].concat());
        };
        let (checkpoint, resumed, whole) = (path("checkpoint.json"), path("resumed.json"), path("whole.json"));
        run("3", ["--checkpoint", &checkpoint, "--save", &resumed]);
        let broken_off = weight(&resumed, "w");
        run("6", ["--resume", &checkpoint, "--save", &resumed]);
        run("6", ["--seed", "1", "--save", &whole]);
        let model = |path: &str| -> Value {
            serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()["model"].clone()
        };
        assert_eq!(model(&resumed), model(&whole), "{optimiser}");
        assert!(model(&whole).as_object().unwrap().len() > 1, "{optimiser} remembers nothing");
        assert_ne!(broken_off, weight(&whole, "w"), "{optimiser}");
    }
}

/// The shipped convolutional network learns in words of 16 bits what it learns on real numbers; docs/accuracy.md has all of the data.
#[test]
fn a_convolutional_network_learns_digits() {
    let limits = ["--limit", "600", "--epochs", "4", "--engine", "fixed"];
    let document = trained("programs/lenet.tc", "examples/digits.csv", &limits);
    let score = |engine: &str| document["train"][engine]["accuracy"].as_f64().unwrap();
    assert!(score("fixed") > 0.95 && (score("fixed") - score("golden")).abs() < 0.02, "{document}");
}
