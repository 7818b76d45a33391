//! Random programs on the whole ladder for as long as one wants; `scripts/soak` starts it.
//!
//!     soak SEED SECONDS STATE FOUND [array | identity]
//!
//! With `array` the generated hardware stays out of it, and ten times as many programs climb in the same time. With `identity` only the
//! canonical passes run: each rewrite is tested as an identity of polynomials.
//! Trial `n` of a seed is always the same program. The file STATE holds the number of the next trial, so that a run goes on where the
//! last one ended; a program that falls is made small and written into the folder FOUND. Exit code 1 if one fell.

#![allow(clippy::print_stdout, reason = "it tells how far it is")]

#[allow(dead_code, reason = "shared with the tests, which read files, too")]
#[path = "../tests/generator/mod.rs"]
mod random;

use random::trial::{Hardware, Kind, Trial, Verdict, grid, hardware, hardware_for_tiles, keep, of_tape};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (seed, seconds, state, found, mode) = match arguments.as_slice() {
        [seed, seconds, state, found] => (seed, seconds, state, found, "rtl"),
        [seed, seconds, state, found, mode] if ["array", "identity"].contains(&mode.as_str()) => {
            (seed, seconds, state, found, mode.as_str())
        }
        _ => return Err("soak SEED SECONDS STATE FOUND [array | identity]".into()),
    };
    let with_hardware = mode == "rtl";
    let (seed, seconds): (u64, u64) = (seed.parse()?, seconds.parse()?);
    let (state, found) = (Path::new(state), Path::new(found));
    let mut number: u64 = match fs::read_to_string(state) {
        Ok(text) => text.trim().parse()?,
        Err(_) => 0,
    };
    // A panic is one more way to fall; shrinking would say it a thousand times.
    std::panic::set_hook(Box::new(|_| {}));
    let begin = Instant::now();
    let built = [hardware(2, 4, 16), hardware(3, 5, 16), hardware(1, 2, 24)];
    let hardware: Vec<Hardware> = built.into_iter().filter(|_| with_hardware).map(Hardware::build).collect();
    let tiled = with_hardware.then(|| Hardware::build(hardware_for_tiles(2, 4, 16)));
    let first = number;
    let (mut climbed, mut refused, mut fell, mut rewrites) = (0u64, 0u64, 0u64, 0u64);
    let end = begin + Duration::from_secs(seconds);
    let mut told = Instant::now();
    while Instant::now() < end {
        let kind = [Kind::Tabla, Kind::Wide, Kind::Ir][(number % 3) as usize];
        // Grids of every shape, by number.
        let shapes = [(1, 1), (1, 5), (4, 1), (4, 4), (8, 8), (3, 2), (2, 7), (16, 4)];
        let (pus, columns) = shapes[(number / 3 % shapes.len() as u64) as usize];
        let grids = [grid(pus, columns, 8 + (number % 17) as u32), grid(3, 5, 16)];
        let run = |trial: &Trial| match mode {
            "identity" => trial.identities(),
            _ => trial.run_whole_and_in_tiles(&grids, &hardware, tiled.as_ref()),
        };
        let tape = random::tape::random(seed, number, 40 + (number % 160) as usize);
        match run(&of_tape(kind, &tape)) {
            Verdict::Climbed(times) => {
                climbed += 1;
                rewrites += u64::from(times);
            }
            Verdict::Refused(_) => refused += 1,
            Verdict::Fell(_) => {
                fell += 1;
                println!("trial {number} fell: {}", keep(kind, &tape, found, &format!("seed-{seed}-{number}"), run));
            }
        }
        number += 1;
        fs::write(state, format!("{number}\n"))?;
        if told.elapsed() > Duration::from_mins(1) {
            told = Instant::now();
            println!("trial {number}: {climbed} climbed, {refused} refused, {fell} fell");
        }
    }
    println!("seed {seed}, trials {first} to {number}: {climbed} climbed, {refused} refused, {fell} fell");
    if mode == "identity" {
        println!("{rewrites} rewrites tested");
    }
    if fell == 0 { Ok(()) } else { Err(format!("{fell} programs fell, see {}", found.display()).into()) }
}
