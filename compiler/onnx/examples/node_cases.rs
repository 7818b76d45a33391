//! Runs a file of cases and says of each what came out.
//!
//! ```text
//! node_cases golden|fixed|array FILE [NAME...]
//! ```
//!
//! A line per case: `pass NAME`, `refused NAME: why`, `wrong NAME: what`, `skipped NAME: why`. On `fixed` and `array` a case passes if its
//! largest error is within 1 % of the largest value, and `array` says the same words as `fixed`. scripts/onnx runs it.

#[path = "../tests/run/mod.rs"]
mod run;

use run::{Verdict, cases};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[allow(clippy::print_stdout, reason = "this is a program")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, file, names @ ..] = &arguments[..] else { panic!("node_cases ENGINE FILE [NAME...]") };
    let bytes = std::fs::read(file).expect("a file of cases");
    std::panic::set_hook(Box::new(|_| {}));
    for case in cases(&bytes) {
        if !names.is_empty() && !names.iter().any(|name| name == case.name) {
            continue;
        }
        let verdict = catch_unwind(AssertUnwindSafe(|| run::run(engine, &case)));
        let (word, why) = match verdict {
            Ok(Verdict::Pass) => ("pass", String::new()),
            Ok(Verdict::Refused(why)) => ("refused", why),
            Ok(Verdict::Wrong(why)) => ("wrong", why),
            Ok(Verdict::Skipped(why)) => ("skipped", why),
            Err(panic) => ("panic", panic.downcast_ref::<String>().cloned().unwrap_or_default()),
        };
        let why = why.replace('\n', " ");
        println!("{word} {}{}{why}", case.name, if why.is_empty() { "" } else { ": " });
    }
}
