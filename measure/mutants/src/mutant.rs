//! The active mutant, as instrumented code asks for it. Part of the crate `arch` in the copy that `cargo measure mutants` makes.
//!
//! `TABLA_MUTANT` is its number. With `TABLA_MUTANTS_REACHED` none is on, and the number of each that is asked for is appended to that file, once a process.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

const UNKNOWN: u32 = u32::MAX;
const RECORDING: u32 = u32::MAX - 1;
static ON: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; 1 << 14] = [const { AtomicBool::new(false) }; 1 << 14];

/// That of `here` which is on, or 0.
pub fn of(here: &[u32]) -> u32 {
    match ON.load(Relaxed) {
        0 => 0,
        UNKNOWN | RECORDING => slow(here),
        on if here.contains(&on) => on,
        _ => 0,
    }
}

/// Whether it is on.
pub fn active(number: u32) -> bool {
    of(&[number]) != 0
}

#[cold]
fn slow(here: &[u32]) -> u32 {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    let open = |path| {
        Mutex::new(OpenOptions::new().append(true).create(true).open(path).expect("a file that can be appended to"))
    };
    let Some(file) = FILE.get_or_init(|| std::env::var_os("TABLA_MUTANTS_REACHED").map(open)) else {
        let number = std::env::var("TABLA_MUTANT").ok().and_then(|number| number.parse().ok());
        ON.store(number.unwrap_or(0), Relaxed);
        return of(here);
    };
    ON.store(RECORDING, Relaxed);
    for &number in here {
        if !REACHED[number as usize].swap(true, Relaxed) {
            // One write, so that several processes may append.
            file.lock()
                .expect("nobody panics holding it")
                .write_all(format!("{number}\n").as_bytes())
                .expect("there is space");
        }
    }
    0
}
