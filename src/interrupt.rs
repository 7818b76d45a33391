//! Ctrl-C: leave with 130 and no half-written file.
//!
//! Files are renamed into place whole, so leaving is safe at any time; a loop that wants to finish its line asks [`requested`].

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static COOPERATIVE: AtomicBool = AtomicBool::new(false);

/// Listen. The first Ctrl-C is left to a cooperative loop if one runs; otherwise, and the second time, the process ends.
pub fn install() {
    // Without a handler Ctrl-C still ends the process, only with another code.
    let _ = ctrlc::set_handler(|| {
        let again = ASKED.swap(true, Ordering::SeqCst);
        if again || !COOPERATIVE.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
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
