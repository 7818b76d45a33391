//! Work in a thread of its own: the thread that called holds no lock while it waits, hears signals and shows progress.
//!
//! ```text
//! caller ──spawn──▶ work ──epochs, warnings──▶ caller: callback, warnings
//!    └── Ctrl-C, or a callback that raises ──▶ Cancel, which the work asks for after each epoch
//! ```
//!
//! An interrupted caller does not wait for the work: it ends by itself, and its result is dropped.

use crate::failures::{objects, raised};
use arch::Diagnostic;
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;
use workbench::{Cancel, Failure, Note, Progress, Source};

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Events that wait to be heard; the work waits for who is slow.
const WAITING: usize = 64;

/// Nested programs are read recursively; the main thread of a process has more than the 2 MiB of other threads, too.
const STACK: usize = 64 << 20;

/// What the work says while it goes on.
enum Event {
    /// `("begin" | "epoch" | "end", engine, epochs done, epochs in all, loss)`.
    Progress(&'static str, String, usize, usize, Option<f64>),
    Warnings(Source, Vec<Diagnostic>),
    Note(String),
}

/// The ears of the work.
struct Relay {
    events: SyncSender<Event>,
    cancel: Cancel,
    /// Whether somebody wants to see epochs.
    watched: bool,
}

impl Relay {
    // Who has gone away hears nothing.
    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

impl Progress for Relay {
    fn note(&self, note: &Note) {
        self.send(Event::Note(note.to_string()));
    }

    fn warnings(&self, source: &Source, warnings: &[Diagnostic]) {
        if !warnings.is_empty() {
            self.send(Event::Warnings(source.clone(), warnings.to_vec()));
        }
    }

    fn begins(&self, engine: &str, epochs: usize, done: usize) {
        if self.watched {
            self.send(Event::Progress("begin", engine.to_owned(), done, epochs, None));
        }
    }

    fn wants_loss(&self) -> bool {
        self.watched
    }

    fn epoch(&self, engine: &str, epoch: usize, loss: Option<f64>) {
        if self.watched {
            self.send(Event::Progress("epoch", engine.to_owned(), epoch, 0, loss));
        }
    }

    fn ends(&self, engine: &str) {
        if self.watched {
            self.send(Event::Progress("end", engine.to_owned(), 0, 0, None));
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_asked()
    }
}

/// Do `work`; `callback` hears of epochs.
///
/// # Errors
/// What the work reports; what a callback or the handler of a signal raises.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (events, heard) = sync_channel(WAITING);
    let cancel = Cancel::default();
    let relay = Relay { events, cancel: cancel.clone(), watched: callback.is_some() };
    let thread = thread::Builder::new().name("tabla-gen".to_owned()).stack_size(STACK);
    let thread = thread
        .spawn(move || work(&relay))
        .map_err(|error| raised(py, &Failure::Tool(format!("no thread could be started: {error}"))))?;
    // The channel closes when the work is over, since the work owns its other end.
    if let Err(error) = listen(py, heard, callback) {
        cancel.ask();
        return Err(error);
    }
    match py.detach(|| thread.join()) {
        Ok(result) => result.map_err(|failure| raised(py, &failure)),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(raised(py, &Failure::Bug(said.unwrap_or("the work ended without a word").to_owned())))
        }
    }
}

/// Hear the work until it is over.
fn listen(py: Python<'_>, mut heard: Receiver<Event>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    loop {
        // A receiver goes where it is waited at.
        let (event, back) = py.detach(move || (heard.recv_timeout(PATIENCE), heard));
        heard = back;
        match event {
            Ok(event) => tell(py, event, callback)?,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn tell(py: Python<'_>, event: Event, callback: Option<&Py<PyAny>>) -> PyResult<()> {
    match event {
        Event::Progress(what, engine, done, epochs, loss) => {
            if let Some(callback) = callback {
                callback.call1(py, (what, engine, done, epochs, loss))?;
            }
        }
        Event::Warnings(source, warnings) => {
            let warn = py.import("tabla_gen.errors")?.getattr("warn")?;
            warn.call1((objects(py, &source, &warnings)?,))?;
        }
        Event::Note(text) => {
            py.import("tabla_gen.errors")?.getattr("note")?.call1((text,))?;
        }
    }
    Ok(())
}
