//! Several ZCU102 share the batches of a training through the Python driver, each driver with an array of its own. The test connects them, with what
//! the driver uses of mpi4py; with `TABLA_MPI_PYTHON`, the Python of `scripts/setup --mpi`, MPI does (`measure ranks`).

use super::{PROGRAM, Shell, build, config, host, machine, project, python, steps, tool};
use arch::Machine;
use arch::machine::MachineSpec;
use serde_json::{Value, json};
use std::fs;
use std::io::BufReader;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::SplitWhitespace;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// An all-reduce: for each call how many ranks have come, and the sums of their words.
pub(crate) struct World {
    ranks: usize,
    calls: Mutex<Vec<(usize, Vec<u64>)>>,
}

impl World {
    fn new(ranks: usize) -> Arc<World> {
        Arc::new(World { ranks, calls: Mutex::default() })
    }

    /// Add words, if there are any; the sums of a call for which all ranks have come.
    pub(crate) fn answer(&self, call: usize, words: SplitWhitespace<'_>) -> Option<String> {
        let words: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        let mut calls = self.calls.lock().unwrap();
        if calls.len() == call {
            calls.push((0, vec![0; words.len()]));
        }
        let (come, sums) = &mut calls[call];
        if !words.is_empty() {
            assert_eq!(sums.len(), words.len(), "all ranks have as many words");
            sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
            *come += 1;
        }
        let all = || sums.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        (*come == self.ranks).then(all)
    }
}

/// A training in batches of 12 that boards share.
fn spec(accumulator: u32, stream_words: u32, output_words: u32) -> MachineSpec {
    MachineSpec {
        partial_sums: Some(true),
        gradient_depth: Some(32),
        accumulator: Some(accumulator),
        output_words: Some(output_words),
        ..machine(stream_words)
    }
}

fn shared(spec: &MachineSpec, ranks: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = project(1);
    let text = config(spec) + &format!("[build]\nbatch = 12\nranks = {ranks}\nsplit = 1.0\n");
    fs::write(folder.path().join("zynq.toml"), text).unwrap();
    // Sums that start with something, which counts once.
    let program = PROGRAM.replace("g[i] = d * x[i];", "g[i] = d * x[i] + 0.125 * w[i];");
    assert_ne!(program, PROGRAM);
    fs::write(folder.path().join("line.t"), program).unwrap();
    let out = build(folder.path());
    (folder, out)
}

/// So many ranks that train, of which the first ones are there; what became of each.
fn drive(out: &Path, spec: &MachineSpec, (present, ranks): (usize, usize), more: &Value) -> Vec<Option<Value>> {
    let sockets: Vec<PathBuf> = (0..ranks).map(|rank| out.with_file_name(format!("rank{rank}"))).collect();
    for path in &sockets {
        let _ = fs::remove_file(path);
    }
    let listeners: Vec<UnixListener> = sockets.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
    let mut values = json!({
        "sockets": sockets, "steps": steps(), "model": { "w": vec![0.0; 6] }, "epochs": 2, "patience": 20.0, "hanging": 0, "strange": -1,
    });
    values.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let start = |mut command: Command| command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut started: Vec<Child> = if let Some(python) = std::env::var_os("TABLA_MPI_PYTHON") {
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-q", "-n", &ranks.to_string()]);
        let one = host(Path::new(&python), out, &values);
        mpirun.arg(one.get_program()).args(["-m", "mpi4py"]).args(one.get_args());
        mpirun.envs(one.get_envs().filter_map(|(name, value)| Some((name, value?))));
        vec![start(mpirun)]
    } else {
        let of_rank = |rank| {
            values["rank"] = json!(rank);
            start(host(&python(), out, &values))
        };
        (0..present).map(of_rank).collect()
    };
    let world = World::new(ranks);
    let results = thread::scope(|scope| {
        let served = listeners.into_iter().take(present).map(|listener| {
            let (world, machine) = (Arc::clone(&world), Machine::try_from(spec.clone()).unwrap());
            scope.spawn(move || {
                listener.set_nonblocking(true).unwrap();
                let begun = Instant::now();
                let stream = loop {
                    match listener.accept() {
                        Ok((stream, _)) => break stream,
                        Err(_) if begun.elapsed() < Duration::from_mins(1) => thread::sleep(Duration::from_millis(5)),
                        Err(never) => panic!("a driver did not come: {never}"),
                    }
                };
                stream.set_nonblocking(false).unwrap();
                Shell::new(machine, Some(world)).serve(BufReader::new(&stream), &stream)
            })
        });
        let served: Vec<_> = served.collect();
        served.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    for child in &mut started {
        let _ = child.wait();
    }
    results
}

/// What a rank that failed has said.
fn error(result: Option<&Value>) -> &str {
    result.and_then(|result| result["error"].as_str()).unwrap_or_else(|| panic!("no error: {result:?}"))
}

/// Sums of 40, 48 and 96 bits, through one lane and two, on two and three boards: the weights are those of one process in fixed point, which knows
/// neither tiles nor ranks. Each board alone gives them, too, before and after.
#[test]
fn python_drivers_share_batches() {
    for (ranks, spec) in [(2, spec(48, 8, 1)), (3, spec(96, 1, 2)), (2, spec(40, 4, 2))] {
        let (folder, out) = shared(&spec, ranks);
        let train = ["--config", "zynq.toml", "train", "--data", "data.csv", "--split", "1", "--engine", "fixed"];
        let (code, said) = tool(folder.path(), &[&train[..], &["--save", "model.json"]].concat());
        assert_eq!(code, 0, "{said}");
        let expected = fs::read_to_string(folder.path().join("model.json")).unwrap();
        let expected = &serde_json::from_str::<Value>(&expected).unwrap()["model"];
        assert!(expected["w"].as_array().unwrap().iter().any(|w| w.as_f64() != Some(0.0)), "it learns: {expected}");
        for rank in drive(&out, &spec, (ranks, ranks), &json!({})) {
            let rank = rank.expect("a driver ended early");
            assert_eq!((&rank["model"], &rank["alone"]), (expected, expected), "{ranks} ranks: {rank}");
        }
    }
}

/// A board that hangs while it is given the model, some tiles, the last tile, in the first batch or the last; other data; a rank that never comes.
#[test]
fn every_python_driver_ends_when_one_fails() {
    let spec = spec(48, 8, 1);
    let (_folder, out) = shared(&spec, 2);
    for hanging in [1, 2, 3, 9] {
        let failed = drive(&out, &spec, (2, 2), &json!({ "hanging": hanging }));
        let own = "the run did not end in 0.5 s: it waits for its input to be taken";
        assert_eq!(
            (error(failed[1].as_ref()), error(failed[0].as_ref())),
            (own, &*format!("rank 1 has failed: {own}")),
            "{hanging}"
        );
    }
    for other in drive(&out, &spec, (2, 2), &json!({ "strange": 1 })) {
        assert!(error(other.as_ref()).starts_with("rank 1 is about another training: data is "), "{other:?}");
    }
    // Without MPI, whose own end waits for all.
    if std::env::var_os("TABLA_MPI_PYTHON").is_none() {
        assert_eq!(drive(&out, &spec, (1, 2), &json!({ "patience": 0.2 })), [Some(json!({ "aborted": 1 }))]);
    }
}
