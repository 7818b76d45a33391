//! Runs a file of cases and says of each what came out.
//!
//! ```text
//! node_cases golden|fixed|array FILE SECONDS [NAME...]
//! ```
//!
//! A line per case: `pass NAME`, `refused NAME: why`, `wrong NAME: what`, `skipped NAME: why`. On `fixed` and `array` a case passes if its
//! largest error is within 1 % of the largest value (where an infinity is wanted: beyond all other values), and `array` says the same words as
//! `fixed`; elements that are no numbers are not compared, and counted: `pass NAME: elements that are not compared: 3`. Each case is a process of its own, which is
//! ended after so many seconds: `late NAME`. `measure onnx` runs it.

#[path = "../tests/run/mod.rs"]
mod run;

use run::{Verdict, cases};
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[allow(clippy::print_stdout, reason = "this is a program")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, file, seconds, names @ ..] = &arguments[..] else {
        panic!("node_cases ENGINE FILE SECONDS [NAME...]")
    };
    let seconds: u64 = seconds.parse().expect("seconds");
    let bytes = std::fs::read(file).expect("a file of cases");
    std::panic::set_hook(Box::new(|_| {}));
    for case in cases(&bytes) {
        if names.is_empty() {
            println!("{}", apart(engine, file, case.name, Duration::from_secs(seconds)));
        } else if names.iter().any(|name| name == case.name) {
            let verdict = catch_unwind(AssertUnwindSafe(|| run::run(engine, &case)));
            println!("{}", line(case.name, verdict));
        }
    }
}

fn line(name: &str, verdict: std::thread::Result<Verdict>) -> String {
    let (word, why) = match verdict {
        Ok(Verdict::Pass | Verdict::Told) => ("pass", String::new()),
        Ok(Verdict::PassWithout(elements)) => ("pass", format!("elements that are not compared: {elements}")),
        Ok(Verdict::Refused(why)) => ("refused", why),
        Ok(Verdict::Wrong(why)) => ("wrong", why),
        Ok(Verdict::Skipped(why)) => ("skipped", why),
        Err(panic) => ("panic", panic.downcast_ref::<String>().cloned().unwrap_or_default()),
    };
    let why = why.replace('\n', " ");
    format!("{word} {name}{}{why}", if why.is_empty() { "" } else { ": " })
}

/// The line of a case, from a process that gets no more than `most`.
fn apart(engine: &str, file: &str, name: &str, most: Duration) -> String {
    let own = std::env::current_exe().expect("a path");
    let mut child = Command::new(own)
        .args([engine, file, "0", name])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let begun = Instant::now();
    loop {
        if child.try_wait().expect("a state").is_some() {
            let mut text = String::new();
            child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
            let text = text.trim_end();
            return if text.is_empty() { format!("panic {name}: the process ended") } else { text.to_owned() };
        }
        if begun.elapsed() > most {
            child.kill().expect("it ends");
            child.wait().expect("a state");
            return format!("late {name}: it took longer than {} s", most.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
