//! Results on stdout, talk on stderr.

use crate::arguments::{Format, Global};
use crate::{interrupt, render};
use arch::Diagnostic;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use workbench::{Failure, Note, Progress, Source};

/// How much is said on stderr, and how.
#[derive(Debug)]
pub struct Talk {
    /// Whether stderr may be coloured.
    pub colour: bool,
    /// Whether stderr is a terminal that can show progress.
    pub terminal: bool,
    volume: Volume,
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Volume {
    Quiet,
    Normal,
    Verbose,
}

impl Talk {
    /// As the arguments and the environment ask.
    pub fn new(global: &Global) -> Talk {
        let volume = match (global.quiet, global.verbose) {
            (true, _) => Volume::Quiet,
            (false, true) => Volume::Verbose,
            (false, false) => Volume::Normal,
        };
        let terminal = std::io::stderr().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Talk { colour: terminal && !no_colour, terminal, volume }
    }

    /// Say nothing: for work whose results are judged by somebody else.
    pub fn silent() -> Talk {
        Talk { colour: false, terminal: false, volume: Volume::Quiet }
    }

    /// What is going on.
    pub fn say(&self, message: impl std::fmt::Display) {
        if self.volume >= Volume::Normal {
            error_line(&message.to_string());
        }
    }

    /// What is going on, for those who want to know more.
    pub fn detail(&self, message: impl std::fmt::Display) {
        if self.says_details() {
            error_line(&message.to_string());
        }
    }

    /// Whether [`Talk::detail`] says anything.
    pub fn says_details(&self) -> bool {
        self.volume == Volume::Verbose
    }

    /// Do some work. If it takes longer than 2 s and progress is shown, say so then, and each time that it has taken twice as long.
    pub fn during<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        if !self.shows_progress() {
            return work();
        }
        ticking(FIRST_WORD, |seconds| error_line(&format!("{what}: {seconds:.0} s so far")), work)
    }

    /// Whether progress is shown.
    pub fn shows_progress(&self) -> bool {
        self.terminal && self.volume >= Volume::Normal
    }
}

/// Work that takes longer is talked about.
const FIRST_WORD: Duration = Duration::from_secs(2);

/// Do some work, and call `say` with the seconds so far after `first`, and each time that it has taken twice as long.
fn ticking<T>(first: Duration, say: impl Fn(f64) + Send, work: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (begun, mut next) = (Instant::now(), first);
            while wait.recv_timeout(next.saturating_sub(begun.elapsed())) == Err(RecvTimeoutError::Timeout) {
                say(begun.elapsed().as_secs_f64());
                next *= 2;
            }
        });
        let result = work();
        drop(done);
        result
    })
}

impl Progress for Talk {
    fn note(&self, note: &Note) {
        match note {
            Note::MadeUpSamples => self.say(format!("{note} (use --data)")),
            Note::MadeUpRecords => self.say(format!("{note} (use --inputs)")),
            Note::LeftOver { .. }
            | Note::NoStore
            | Note::StoreIdle
            | Note::StoreInOrder
            | Note::StoreTooSmall { .. }
            | Note::Adapted { .. }
            | Note::Makes { detail: false, .. } => self.say(note),
            Note::Simulates(_) | Note::Makes { .. } => self.detail(note),
        }
    }

    fn warnings(&self, source: &Source, warnings: &[Diagnostic]) {
        render::warnings(source, warnings, self);
    }

    fn cancelled(&self) -> bool {
        interrupt::requested()
    }

    fn listens(&self, listens: bool) {
        interrupt::set_cooperative(listens);
    }
}

/// A line on stderr; a closed stderr is nobody's problem.
pub fn error_line(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Text on stdout. A reader that has gone away (`| head`) ends the process quietly.
pub fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(Failure::File(format!("cannot write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// A JSON document on stdout, on one line.
pub fn json(document: &impl Serialize) -> Result<(), Failure> {
    result(&(serde_json::to_string(document).expect("documents are names, numbers and lists of them") + "\n"))
}

/// Text or JSON, as asked.
pub fn either<D: Serialize>(
    format: Format,
    text: impl FnOnce() -> String,
    document: impl FnOnce() -> D,
) -> Result<(), Failure> {
    match format {
        Format::Text => result(&text()),
        Format::Json => json(&document()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Long work is talked about, and ends all the same; short work is not.
    #[test]
    fn long_work_is_talked_about() {
        let said = Mutex::new(Vec::new());
        let note = |seconds: f64| said.lock().unwrap().push(seconds);
        assert_eq!(ticking(Duration::from_mins(1), note, || 1), 1);
        assert!(said.lock().unwrap().is_empty());
        ticking(Duration::from_millis(10), note, || std::thread::sleep(Duration::from_millis(90)));
        let said = said.into_inner().unwrap();
        assert!((1..=4).contains(&said.len()) && said.is_sorted() && said[0] >= 0.01, "{said:?}");
    }
}
