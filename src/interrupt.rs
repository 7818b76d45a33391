//! Ctrl-C, or a request to end or hang up: leave with 130, no half-written file and no external program still running.
//!
//! Files are renamed into place whole, so leaving is safe at any time; a loop that wants to finish its line asks [`requested`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use workbench::{Cancel, writing};

static ASKED: OnceLock<Cancel> = OnceLock::new();
static COOPERATIVE: AtomicBool = AtomicBool::new(false);

/// What Ctrl-C asks; the work looks at it.
pub fn cancel() -> &'static Cancel {
    ASKED.get_or_init(Cancel::default)
}

/// Listen. The first Ctrl-C is left to a cooperative loop if one runs; otherwise, and the second time, the process ends.
pub fn install() {
    let cancel = cancel();
    // Without a handler Ctrl-C still ends the process, only with another code.
    let _ = ctrlc::set_handler(|| {
        let again = cancel.ask();
        if again || !COOPERATIVE.load(Ordering::SeqCst) {
            leave();
        }
    });
}

/// End the process, without programs it started and without half-written files.
fn leave() -> ! {
    arch::children::end_all();
    writing::remove_leftovers();
    std::process::exit(130);
}

/// Whether Ctrl-C was pressed.
pub fn requested() -> bool {
    cancel().is_asked()
}

/// Whether the first Ctrl-C only sets [`requested`], because somebody asks.
pub fn set_cooperative(cooperative: bool) {
    COOPERATIVE.store(cooperative, Ordering::SeqCst);
}
