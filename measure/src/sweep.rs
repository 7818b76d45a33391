//! `sweep`: a sweep (docs/sweeps.md) that is killed at random moments and goes on gives the same table as one that ran through, and so does one whose jobs a
//! cluster runs, each as a process of its own. Needs scripts/setup --sweep.
//!
//! ```text
//! cargo measure sweep           24 machines on the iCEBreaker, 3 seeds of place and route each: through, and killed eight times; 45 CPU minutes
//! cargo measure sweep --quick   four machines without a board, killed three times, and on a cluster, in less than a minute; CI runs it
//! SEED=7 ...                              other moments
//! OUT=FOLDER ...                          keep the sweeps there; default: target/sweep
//! ```

#![allow(clippy::print_stdout, reason = "what was found is what it is run for")]

use crate::project::none;
use crate::{Outcome, Project};
use std::error::Error;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use xshell::cmd;

/// The smallest machines that train something: synthesis takes 10 CPU seconds of each, a seed 15. Memories follow from the program, which has no table.
const LONG: &str = "programs/linear.t --config icebreaker --pus 1 --pes-per-pu 1 --batches 1,2,4 --words 8,9,10,11,12,13,14,16 --place-seeds 1,2,3 \
    --machine model_depth=auto --machine data_depth=auto --machine temporary_depth=auto --machine program_depth=auto --machine table_entries=0";
const QUICK: &str = "programs/logistic.t --data examples/breast_cancer.csv --pus 1,2 --pes-per-pu 2 --stream-words 2 --batches 1,4 --words 16";

/// The stand-in of a cluster: who submits a job hears its number at once, and the job runs in a session of its own.
const SUBMIT: &str = "#!/bin/sh\nsetsid \"$1\" >>\"$(dirname \"$0\")/cluster.log\" 2>&1 </dev/null &\necho $! | tee -a \"$(dirname \"$0\")/submitted\"\n";

struct Sweeps<'a> {
    project: &'a Project,
    tool: PathBuf,
    snakemake: PathBuf,
    /// The path with the pinned tools.
    path: String,
    out: PathBuf,
}

impl Sweeps<'_> {
    /// A new workflow.
    fn begin(&self, name: &str, what: &str) -> Outcome {
        let (tool, out, what) = (&self.tool, self.out.join(name), what.split_whitespace());
        let explore = cmd!(self.project.shell, "{tool} explore {what...} --workflow {out} --quiet");
        Ok(explore.env("PATH", &self.path).quiet().ignore_stdout().run()?)
    }

    /// Snakemake in a workflow; what it says goes to its log.
    fn snakemake(&self, name: &str, arguments: &[&str]) -> Result<Command, Box<dyn Error>> {
        let folder = self.out.join(name);
        let log = File::options().create(true).append(true).open(self.out.join(format!("{name}.log")))?;
        let mut command = Command::new(&self.snakemake);
        command.args(["--quiet", "all", "--directory"]).arg(&folder).arg("-s").arg(folder.join("Snakefile"));
        command.arg("--config").arg(format!("tabla_gen={}", self.tool.display())).args(arguments);
        command.env("PATH", &self.path).current_dir(self.project.shell.current_dir());
        command.stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    fn work(&self, name: &str, arguments: &[&str], failure: &str) -> Outcome {
        if self.snakemake(name, arguments)?.status()?.success() {
            return Ok(());
        }
        let log = fs::read_to_string(self.out.join(format!("{name}.log")))?;
        let last: Vec<&str> = log.lines().rev().take(40).collect();
        Err(format!("{failure}\n{}", last.into_iter().rev().collect::<Vec<_>>().join("\n")).into())
    }

    /// The table of a sweep is that of the one that ran through.
    fn same(&self, name: &str) -> Outcome {
        for file in ["table.csv", "table.json", "index.html"] {
            let report = |name: &str| fs::read(self.out.join(name).join("report").join(file));
            if report("through")? != report(name)? {
                return Err(format!("{name}: another {file}").into());
            }
        }
        Ok(())
    }

    /// Results that are there, each of which can be read.
    fn results(&self, name: &str) -> Result<usize, Box<dyn Error>> {
        let mut count = 0;
        let folder = self.out.join(name).join("results");
        for machine in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
            for file in fs::read_dir(machine.path())? {
                let path = file?.path();
                if path.extension().is_some_and(|extension| extension == "json") {
                    let text = fs::read(&path)?;
                    serde_json::from_slice::<serde_json::Value>(&text)
                        .map_err(|_| format!("a kill has left {} that is not whole", path.display()))?;
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// Killed with all that it has started in its group, in the middle half of an unbroken sweep's time: by its last kill it may be done. How many kills came
    /// while it was at work.
    fn kill(&self, kills: u32, took: Duration, seed: u64) -> Result<u32, Box<dyn Error>> {
        let (mut hits, mut state) = (0, seed);
        for _ in 0..kills {
            let mut child = self.snakemake("broken", &["-c2"])?.process_group(0).spawn()?;
            // Knuth's MMIX.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let part = (state >> 33) as f64 / f64::from(1u32 << 31);
            sleep(took.mul_f64(0.25 + part / 2.0));
            if child.try_wait()?.is_none() {
                let group = format!("-{}", child.id());
                cmd!(self.project.shell, "sh -c 'kill -s KILL -- $0' {group}").quiet().run()?;
                hits += 1;
            }
            child.wait()?;
            self.results("broken")?;
            self.work("broken", &["--unlock"], "a sweep that was killed cannot be unlocked")?;
        }
        Ok(hits)
    }

    /// On the stand-in of a cluster: how many jobs it ran.
    fn cluster(&self) -> Result<usize, Box<dyn Error>> {
        let submit = self.out.join("submit");
        fs::write(&submit, SUBMIT)?;
        fs::set_permissions(&submit, Permissions::from_mode(0o755))?;
        let submit = submit.display().to_string();
        let executor = ["--executor", "cluster-generic", "--cluster-generic-submit-cmd", &submit];
        let jobs = ["--jobs", "2", "--seconds-between-status-checks", "1"];
        self.work("cluster", &[executor, jobs].concat(), "the sweep on a cluster fails")?;
        self.same("cluster")?;
        let text = fs::read_to_string(self.out.join("submitted"))?;
        let mut submitted: Vec<&str> = text.lines().collect();
        submitted.sort_unstable();
        submitted.dedup();
        // All of its jobs, but the one that makes the table.
        let results = self.results("cluster")?;
        if submitted.len() == results {
            Ok(results)
        } else {
            Err(format!("{} jobs were submitted for {results} results", submitted.len()).into())
        }
    }
}

/// Run through, killed, and on a cluster.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let quick = arguments == ["--quick"];
    none(&arguments[usize::from(quick)..])?;
    let (what, kills) = if quick { (QUICK, 3) } else { (LONG, 8) };
    let seed = std::env::var("SEED").ok().map_or(Ok(u64::from(std::process::id())), |seed| seed.parse())?;
    let out = std::env::var("OUT").unwrap_or_else(|_| "target/sweep".to_owned());
    let out = project.shell.current_dir().join(Path::new(&out));
    project.shell.remove_path(&out)?;
    fs::create_dir_all(&out)?;
    let tools = project.group("tools")?.join("bin");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH")?);
    let snakemake = project.group("sweep")?.join("bin/snakemake");
    let sweeps = Sweeps { project, tool: project.tool(false)?, snakemake, path, out };

    sweeps.begin("through", what)?;
    let begin = Instant::now();
    sweeps.work("through", &["-c2"], "the sweep that runs through fails")?;
    let took = begin.elapsed();
    let rows = fs::read_to_string(sweeps.out.join("through/report/table.csv"))?.lines().count() - 1;
    println!("sweep: {rows} machines in {} s", took.as_secs());

    sweeps.begin("broken", what)?;
    let hits = sweeps.kill(kills, took, seed)?;
    if hits == 0 {
        return Err("no kill came while it was at work".into());
    }
    sweeps.work("broken", &["-c2"], "a sweep that was killed does not go on")?;
    sweeps.same("broken")?;
    let seconds = begin.elapsed().as_secs();
    println!(
        "sweep: {hits} of {kills} kills came while it was at work (SEED={seed}); the same table, after {seconds} s"
    );
    if quick {
        sweeps.begin("cluster", what)?;
        let jobs = sweeps.cluster()?;
        println!(
            "sweep: {jobs} jobs on the stand-in of a cluster; the same table, after {} s",
            begin.elapsed().as_secs()
        );
    }
    Ok(())
}
