//! Ctrl-C, or a request to end or hang up: leave with 130, no half-written file and no external program still running.
//!
//! Files are renamed into place whole, so leaving is safe at any time; a loop that wants to finish its line asks [`requested`].

use crate::output;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static COOPERATIVE: AtomicBool = AtomicBool::new(false);

/// Listen. The first Ctrl-C is left to a cooperative loop if one runs; otherwise, and the second time, the process ends.
pub fn install() {
    // Without a handler Ctrl-C still ends the process, only with another code.
    let _ = ctrlc::set_handler(|| {
        let again = ASKED.swap(true, Ordering::SeqCst);
        if again || !COOPERATIVE.load(Ordering::SeqCst) {
            leave();
        }
    });
}

/// End the process, without programs it started and without half-written files.
fn leave() -> ! {
    arch::children::end_all();
    output::remove_leftovers();
    std::process::exit(130);
}

/// Whether Ctrl-C was pressed.
pub fn requested() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// While this lives, the first Ctrl-C only sets [`requested`].
pub struct Cooperative;

impl Cooperative {
    /// From now on the caller asks.
    pub fn begin() -> Cooperative {
        COOPERATIVE.store(true, Ordering::SeqCst);
        Cooperative
    }
}

impl Drop for Cooperative {
    fn drop(&mut self) {
        COOPERATIVE.store(false, Ordering::SeqCst);
    }
}
