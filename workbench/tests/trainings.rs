//! Trainings in words of 12 bits: at rates that they round away, with a master and by chance; of a program with constants.

use std::path::Path;
use workbench::samples::Choice;
use workbench::{Choices, Outcome, Project, RunOptions, Rung, Samples, Training};

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// Ten epochs of a published program in words of 12 bits, with a line more in its `[train]` table.
fn train((program, data): (&str, &str), rate: &str, line: &str, rung: Rung) -> Outcome {
    let table = read(&format!("programs/{program}.toml"));
    let kept = |line: &&str| !line.starts_with("mu =") && !line.starts_with("epochs =");
    let table = table.lines().filter(kept).collect::<Vec<_>>().join("\n");
    let table = table.replacen("[train]", &format!("[train]\nmu = {rate}\nepochs = 10\n{line}"), 1);
    let grid = "[machine]\npus = 2\npes_per_pu = 4\nword = 12\n";
    let text = read(&format!("programs/{program}.t"));
    let project = Project::in_memory(&format!("{program}.t"), &text, Some(&table), Some(grid)).unwrap();
    let rows = Choice::of_text("rows.csv", &read(&format!("examples/{data}.csv"))).unwrap();
    let samples = Samples::read(&project, &Choices::default(), rows, &()).unwrap();
    let training = Training::new(project, samples).unwrap();
    training.run(&RunOptions { tries_wider: false, ..RunOptions::on(rung) }, None, &()).unwrap()
}

/// How far the loss, or R2, of the words is from golden's.
fn distance(outcome: &Outcome) -> f64 {
    let figure = |train: &sim::train::metrics::Metrics| train.r2.unwrap_or(train.loss);
    (figure(&outcome.last().train) - figure(&outcome.results[0].train)).abs()
}

/// Golden is the training on real numbers, which knows no word. To the nearest word, most updates are lost.
#[test]
fn a_small_rate_trains_as_on_real_numbers() {
    for case in [("logistic", "breast_cancer"), ("softmax", "wine"), ("linear", "diabetes")] {
        for line in ["master = 20", "rounding = 'stochastic'"] {
            let outcome = train(case, "1e-4", line, Rung::Fixed);
            assert!(distance(&outcome) < 0.02, "{case:?}, {line}: {}", distance(&outcome));
            assert!(outcome.stalls.iter().all(|stall| stall.share < 0.05), "{case:?}, {line}: {:?}", outcome.stalls);
        }
    }
    for case in [("logistic", "breast_cancer"), ("softmax", "wine")] {
        let nearest = train(case, "1e-4", "", Rung::Fixed);
        assert!(distance(&nearest) > 0.03 && !nearest.stalls.is_empty(), "{case:?}: {}", distance(&nearest));
    }
}

/// Rounded by chance, but the same words on every grid: those of the seed.
#[test]
fn chance_is_that_of_the_seed() {
    let weights = |line: &str, rung| train(("softmax", "iris"), "1e-3", line, rung).last().trained.model.clone();
    for line in ["rounding = 'stochastic'", "master = 20"] {
        assert_eq!(weights(line, Rung::Fixed), weights(line, Rung::Array), "{line}");
    }
    let seeded = |seed: u32| weights(&format!("rounding = 'stochastic'\nseed = {seed}"), Rung::Fixed);
    assert_eq!(seeded(1), weights("rounding = 'stochastic'", Rung::Fixed));
    assert_ne!(seeded(1)["w"], seeded(2)["w"]);
}

/// A tensor of constants is sent with the weights.
#[test]
fn constants_reach_the_grid() {
    const TEXT: &str = "def net(float(5) X, float(5) W) -> (Y) { Y +=! W(n) * X(n) * sin(0.25 * n) }";
    const TABLE: &str = "[train]\nprediction = 'Y'\nloss = 'squared'\nweights = ['W']\nmu = 0.1\nepochs = 3";
    let row = |n: usize| (1..=6).map(|k| (n * k * k % 13).to_string()).collect::<Vec<_>>().join(",") + "\n";
    let data = "a,b,c,d,e,target\n".to_owned() + &(0..30).map(row).collect::<String>();
    let weights = |rung| {
        let project =
            Project::in_memory("c.tc", TEXT, Some(TABLE), Some("[machine]\npus = 2\npes_per_pu = 2")).unwrap();
        let samples = Samples::read(&project, &Choices::default(), Choice::of_text("rows.csv", &data).unwrap(), &());
        let training = Training::new(project, samples.unwrap()).unwrap();
        training.run(&RunOptions::on(rung), None, &()).unwrap().last().trained.model.clone()
    };
    let words = weights(Rung::Fixed);
    assert!(words["W"][1..].iter().all(|&w| w != 0.0), "{words:?}");
    assert_eq!(words, weights(Rung::Array));
}
