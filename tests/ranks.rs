//! Ranks share the samples of every batch: the same bits for every number of them, in the middle of a training, too; and what they refuse.

mod tool;

use serde_json::Value;
use sim::train::ranks::Communicator;
use sim::train::ranks::threads::{Thread, threads};
use std::fs;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;
use tool::{done, fails, file, run};
use workbench::checkpoint::Checkpoint;
use workbench::ranks::{agree, on_threads};
use workbench::samples::Choice;
use workbench::{Choices, Failure, Progress, Project, RunOptions, Rung, Samples, Training};

const CANCER: &[&str] = &["train", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--format", "json"];

/// Arguments with more behind them.
fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

/// A result without cycles, which depend on the number of ranks, and without stalled updates and wider words, which are not looked for on ranks.
fn without_cycles(mut result: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields
                    .retain(|name, _| !name.contains("cycles") && !["stalls", "bits_needed"].contains(&name.as_str()));
                fields.values_mut().for_each(strip);
            }
            Value::Array(all) => all.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut result);
    result
}

/// Model, loss, metrics and clipped values of one process are those of 1, 2 and 3 ranks; 455 samples leave some over.
#[test]
fn every_number_of_ranks_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    // Features of at most 2 and weights of at most 0.25, which are clipped.
    let config = "[machine]\npus = 2\npes_per_pu = 2\n[numbers.fractions]\nx = 14\nw = 17\n";
    let config = file(folder.path(), "narrow.toml", config);
    for (engine, reduction) in [("fixed", "sum"), ("array", "mean")] {
        let settings =
            ["--engine", engine, "--reduction", reduction, "--batch", "48", "--epochs", "2", "--order", "shuffled"];
        let settings = with(&settings, &["--config", &config]);
        let train = |ranks: &[&str]| {
            let model = folder.path().join("model.json").display().to_string();
            let ran = done(&with(&with(CANCER, &settings), &with(ranks, &["--save", &model])));
            (ran.json(), fs::read_to_string(model).unwrap())
        };
        let (alone, model) = train(&[]);
        assert!(!alone["saturations"].as_array().unwrap().is_empty(), "nothing is clipped: {alone}");
        for ranks in ["--ranks=1", "--ranks=2", "--ranks=3"] {
            let (shared, shared_model) = train(&[ranks]);
            assert_eq!(shared_model, model, "{engine} {ranks}");
            if engine == "fixed" {
                assert_eq!(without_cycles(shared), without_cycles(alone.clone()), "{ranks}");
            } else {
                assert_eq!(shared["words_differing"], 0);
                assert!(shared["words_compared"].as_u64().unwrap() > 0);
                for part in ["train", "test", "saturations"] {
                    assert_eq!(shared[part], alone[part], "{ranks}");
                }
            }
        }
    }
}

/// Two programs in batches of 256: fixed point on 1, 2 and 3 ranks, arrays and Verilog whose sums leave through their streams, and two boards behind
/// their links have the same weights, those of one process without ranks.
#[test]
fn grids_that_hand_out_sums_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let logistic = ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--limit", "330"];
    // A network with 5 hidden units, so that little goes over the lines.
    let digits = ["programs/backpropagation.t", "--data", "examples/digits.csv", "--limit", "330", "--set", "l2=6"];
    for (name, program) in [("logistic", &logistic[..]), ("digits", &digits)] {
        let trained = |command: &str, more: &[&str]| {
            let model = folder.path().join("model.json").display().to_string();
            let settings = ["--batch", "256", "--epochs", "2", "--format", "json", "--save", &model];
            let grid = ["--machine", "pus=4", "--machine", "pes_per_pu=4"];
            let ran = done(&[&[command][..], program, &settings, &grid, more].concat()).json();
            assert_eq!(ran["words_differing"].as_u64().unwrap_or(0), 0, "{name} {more:?}");
            let model: Value = serde_json::from_str(&fs::read_to_string(model).unwrap()).unwrap();
            model["model"].clone()
        };
        let expected = trained("train", &["--engine", "fixed"]);
        for ranks in ["--ranks=1", "--ranks=2", "--ranks=3"] {
            assert_eq!(trained("train", &["--engine", "fixed", ranks]), expected, "{name} {ranks}");
            let sums = ["--engine", "array", "--machine", "partial_sums=true", ranks];
            assert_eq!(trained("train", &sums), expected, "{name} {ranks}");
        }
        let rtl = ["--engine", "rtl", "--machine", "partial_sums=true", "--ranks=2"];
        assert_eq!(trained("train", &rtl), expected, "{name} rtl");
        let boards = ["--machine", "partial_sums=true", "--ranks=2", "--port", "simulated,simulated"];
        assert_eq!(trained("run", &boards), expected, "{name} on boards");
    }
}

const LINE: &str = "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];
                    h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";

/// A training of 35 samples in batches of 8; 9 more test.
fn line(seed: u64) -> Training {
    let table = "[train]\nprediction = 'h'\nloss = 'squared'\nepochs = 6\nbatch = 8\norder = 'shuffled'";
    let project = Project::in_memory("line.t", LINE, Some(table), Some("[machine]\npus = 1\npes_per_pu = 2")).unwrap();
    let row = |n: i32| format!("{},{},{}\n", n % 5, n % 7, 2 * (n % 5) - n % 7);
    let rows = (0..44).map(row).collect::<Vec<String>>().concat();
    let table = Choice::of_text("rows.csv", &format!("a,b,target\n{rows}")).unwrap();
    let choices = Choices { seed: Some(seed), ..Choices::default() };
    Training::new(project.clone(), Samples::read(&project, &choices, table, &()).unwrap()).unwrap()
}

/// Stops after so many epochs in words, and keeps the checkpoint.
struct Stops {
    after: usize,
    kept: Mutex<Option<Checkpoint>>,
}

impl Progress for Stops {
    fn wants_checkpoints(&self) -> bool {
        true
    }

    fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), Failure> {
        *self.kept.lock().unwrap() = Some(checkpoint.clone());
        Ok(())
    }

    fn cancelled(&self) -> bool {
        let kept = self.kept.lock().unwrap();
        kept.iter().filter_map(|kept| kept.lower.as_ref()).any(|lower| lower.epochs >= self.after)
    }
}

/// Broken off in the middle, with another number of ranks every time.
#[test]
fn a_training_goes_on_with_another_number_of_ranks() {
    let patience = Duration::from_mins(1);
    let training = line(3);
    for rung in [Rung::Fixed, Rung::Array] {
        let how = RunOptions::on(rung);
        let whole = training.run(&how, None, &()).unwrap().last().trained.model.clone();
        let mut kept = None;
        for (after, ranks) in [(1, 3), (2, 1), (4, 2)] {
            let stops = Stops { after, kept: Mutex::new(None) };
            let broken = on_threads(&training, &how, (ranks, patience), kept.as_ref(), &stops);
            assert!(matches!(broken, Err(Failure::Interrupted)), "{:?}", broken.err());
            kept = stops.kept.into_inner().unwrap();
            assert_eq!(kept.as_ref().unwrap().lower.as_ref().unwrap().epochs, after);
        }
        let all = on_threads(&training, &how, (4, patience), kept.as_ref(), &()).unwrap();
        assert_eq!(all.last().trained.model, whole, "{rung:?}");
        // And without ranks.
        assert_eq!(training.run(&how, kept, &()).unwrap().last().trained.model, whole, "{rung:?}");
    }
}

/// One rank has another seed, one cannot begin, one ends in the middle: all ranks end, and say why.
#[test]
fn ranks_that_differ_or_fail_end_all() {
    let each = |what: &(dyn Fn(Thread) -> Result<(), Failure> + Sync)| -> Vec<String> {
        std::thread::scope(|scope| {
            let ranks = threads(3, Duration::from_mins(1)).into_iter();
            let ranks: Vec<_> = ranks.map(|rank| scope.spawn(move || what(rank))).collect();
            ranks
                .into_iter()
                .map(|rank| rank.join().unwrap().map_or_else(|why| why.to_string(), |()| String::new()))
                .collect()
        })
    };
    let other_seed = each(&|rank| {
        let training = line(if rank.rank() == 1 { 4 } else { 3 });
        let all: Rc<dyn Communicator> = Rc::new(rank);
        training.run(&RunOptions { ranks: Some(&all), ..RunOptions::on(Rung::Fixed) }, None, &()).map(drop)
    });
    for said in &other_seed {
        assert!(said.contains("rank 1 is about another training: data is "), "{other_seed:?}");
    }
    // One rank goes on, the others begin.
    let stops = Stops { after: 1, kept: Mutex::new(None) };
    let broken = line(3).run(&RunOptions::on(Rung::Fixed), None, &stops);
    assert!(matches!(broken, Err(Failure::Interrupted)), "{:?}", broken.err());
    let kept = stops.kept.into_inner().unwrap();
    let other_place = each(&|rank| {
        let begun = kept.clone().filter(|_| rank.rank() == 2);
        let all: Rc<dyn Communicator> = Rc::new(rank);
        line(3).run(&RunOptions { ranks: Some(&all), ..RunOptions::on(Rung::Fixed) }, begun, &()).map(drop)
    });
    for said in &other_place {
        assert!(said.contains("rank 2 is about another training: checkpoint is "), "{other_place:?}");
        assert!(said.contains(", none on rank 0"), "{other_place:?}");
    }
    let cannot_begin = each(&|rank| {
        let own = if rank.rank() == 2 { Err(Failure::Usage("no such thing".to_owned())) } else { Ok(()) };
        agree(&rank, own)
    });
    let told = "rank 2 has failed: no such thing";
    assert_eq!(cannot_begin, [told, told, "no such thing"]);
    let ends = each(&|rank| {
        let number = rank.rank();
        let all: Rc<dyn Communicator> = Rc::new(rank);
        let stops = Stops { after: if number == 1 { 2 } else { 100 }, kept: Mutex::new(None) };
        line(3).run(&RunOptions { ranks: Some(&all), ..RunOptions::on(Rung::Fixed) }, None, &stops).map(drop)
    });
    assert_eq!(ends[1], "interrupted");
    for rank in [0, 2] {
        assert!(ends[rank].starts_with(&format!("rank {rank} waits for rank ")), "{ends:?}");
    }
}

#[test]
fn what_ranks_cannot_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let batch = with(CANCER, &["--batch", "16", "--ranks=2", "--engine"]);
    fails(&with(&batch, &["golden"]), 2, &["sums of real numbers depend on their order"]);
    fails(&with(&batch, &["rtl"]), 2, &["its grid does not hand out the sums of a batch", "partial_sums = true"]);
    fails(&with(CANCER, &["--ranks=2", "--engine", "fixed"]), 2, &["--batch N"]);
    fails(&with(CANCER, &["--ranks=0"]), 2, &["between 1 and 256"]);
    // Tests are built without MPI; where the flag stands does not matter.
    for flag in [with(CANCER, &["--ranks"]), with(&["train", "--ranks"], &CANCER[1..])] {
        fails(&flag, 2, &["this build is without MPI", "scripts/setup --mpi", "cargo build --features mpi"]);
    }
    fails(&with(&["report"], &with(&CANCER[1..], &["--ranks=2"])), 2, &["a report is about one machine"]);
    let boards = with(&["run"], &with(&CANCER[1..], &["--batch", "16", "--ranks=2", "--limit", "40", "--port"]));
    fails(&with(&boards, &["simulated"]), 2, &["2 ranks need a port each, --port PORT,PORT,...; 1 given"]);
    fails(&with(&boards, &["simulated,simulated"]), 2, &["its grid does not hand out the sums of a batch"]);
    let config = file(folder.path(), "rom.toml", "[machine]\npartial_sums = true\n[build]\nmicrocode = \"rom\"\n");
    fails(&with(&boards, &["simulated,simulated", "--config", &config]), 2, &["microcode = \"ram\""]);
    let flat = with(&batch, &["array", "--machine", "gradient_depth=0"]);
    let ran = run(&flat);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.json()["diagnostics"][0]["message"].as_str().unwrap().contains("gradient pads"), "{}", ran.stdout);
    let program = file(folder.path(), "line.t", LINE);
    file(folder.path(), "line.toml", "[train]\nprediction = 'h'\nloss = 'squared'\n");
    let data = file(folder.path(), "d.csv", "a,b,y\n1,2,3\n2,1,3\n0,1,1\n1,0,2\n1,1,3\n2,2,4\n");
    done(&["train", &program, "--data", &data, "--batch", "2", "--engine", "array", "--ranks=5", "--epochs", "1"]);
}
