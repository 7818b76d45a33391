//! A cable that is pulled in the middle of a training.

use super::tool::run;
use super::{Bench, GRID, Line, config};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// The checkpoint has the epochs before, and a board that goes on from it ends with the weights of a training that was never broken off.
#[test]
fn a_cable_is_pulled_in_mid_run() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (kept, model) = (path("kept.json"), path("model.json"));
    let data = ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--epochs", "3", "--limit", "100"];
    let trained = |bench: &Bench, more: &[&str]| {
        run(&[&["run", "--port", &bench.name, "--config", &config], &data[..], &["--format", "json"], more].concat())
    };
    let weights = || -> serde_json::Value {
        let text = fs::read_to_string(&model).unwrap();
        fs::remove_file(&model).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["model"].clone()
    };
    let whole = Bench::new(Line::Good);
    let ran = trained(&whole, &["--save", &model]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let (expected, bytes) = (weights(), whole.sent.load(Ordering::Relaxed));

    let broken = trained(&Bench::new(Line::Unplugged(bytes * 3 / 5)), &["--checkpoint", &kept, "--save", &model]);
    assert_eq!(broken.code, 6, "{}\n{}", broken.stdout, broken.stderr);
    assert!(broken.stderr.contains("no answer after 6 attempts"), "{}", broken.stderr);
    assert!(!Path::new(&model).exists(), "weights of a training that has not ended are saved");
    let checkpoint: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let done = checkpoint["lower"]["epochs"].as_u64().unwrap();
    assert!((1..3).contains(&done), "{done} epochs");

    let resumed = trained(&whole, &["--resume", &kept, "--save", &model]);
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.stdout, resumed.stderr);
    assert_eq!(weights(), expected);
}
