//! Bugs of ours: a panic, wherever it happens, ends as one message that says what to report, and with its exit code.
//!
//!     a verifier panics in a thread of a sweep      =>      error: w: index 8..=8 of 8 (compiler/src/fixed/verify.rs:84)
//!                                                           (a bug of tabla-gen; please report it ...)

use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, PoisonError};
use workbench::Failure;

/// What the first panic said, and where. Panics that follow from it say less.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

fn remember(panic: &PanicHookInfo<'_>) {
    let said = panic.payload_as_str().unwrap_or("a panic without a message");
    let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line())).unwrap_or_default();
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| format!("{said}{place}"));
}

/// Do `work`; a panic in it, or in a thread of it, is a [`Failure::Bug`]. With `RUST_BACKTRACE` set there is the trace on stderr, too.
pub fn caught(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let report = std::panic::take_hook();
    let traced = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
    std::panic::set_hook(Box::new(move |panic| {
        remember(panic);
        if traced {
            report(panic);
        }
    }));
    std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let said = FIRST.lock().unwrap_or_else(PoisonError::into_inner).take();
        Err(Failure::Bug(said.unwrap_or_else(|| "something panicked".to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both in one test: there is one hook.
    #[test]
    fn panics_become_failures() {
        let said = |work: &dyn Fn()| match caught(|| {
            work();
            Ok(())
        }) {
            Err(failure @ Failure::Bug(_)) => format!("{} {failure:?}", crate::exit::exit_code(&failure)),
            other => panic!("{other:?}"),
        };
        let here = said(&|| assert_eq!(1 + 1, 3, "the sum of w"));
        assert!(here.starts_with("101") && here.contains("the sum of w") && here.contains("src/bug.rs:"), "{here}");
        let inside = said(&|| drop(crate::jobs::each(4, Some(2), &|n| assert!(n != 2, "number {n} fell"))));
        assert!(inside.contains("number 2 fell"), "{inside}");
        assert!(caught(|| Ok(())).is_ok());
    }
}
