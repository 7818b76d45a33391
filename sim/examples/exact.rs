//! Exact programs, as many as one wants; `scripts/soak exact` starts it.
//!
//!     exact SEED FIRST COUNT
//!
//! Every program runs on golden, plain and fixed, one in ten on the array, too. Exit code 1 if a value differed.

#![allow(clippy::print_stdout, reason = "it tells how far it is")]

#[allow(dead_code, reason = "shared with the tests")]
#[path = "../tests/exact/oracle.rs"]
mod oracle;
#[path = "../tests/exact/rendered.rs"]
mod rendered;

use oracle::{Verdict, trial};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u64> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [seed, first, count] = arguments[..] else { return Err("exact SEED FIRST COUNT".into()) };
    std::panic::set_hook(Box::new(|_| {}));
    let (mut equal, mut refused, mut differ) = (0u64, 0u64, 0u64);
    let begin = Instant::now();
    for number in first..first + count {
        match trial(seed, number, number % 10 == 0) {
            Verdict::Equal => equal += 1,
            Verdict::Refused(_) => refused += 1,
            Verdict::Differs(why) => {
                differ += 1;
                println!("program {number}: {why}");
            }
        }
        if (number + 1 - first) % 10_000 == 0 {
            println!(
                "{}: {equal} equal, {refused} refused, {differ} differ, {:.0} s",
                number + 1,
                begin.elapsed().as_secs_f64()
            );
        }
    }
    println!("seed {seed}, programs {first} to {}: {equal} equal, {refused} refused, {differ} differ", first + count);
    if differ == 0 { Ok(()) } else { Err(format!("{differ} programs differ").into()) }
}
