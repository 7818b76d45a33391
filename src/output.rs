//! Results on stdout, talk on stderr.

use crate::arguments::{Format, Global};
use crate::{interrupt, render};
use arch::Diagnostic;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};
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

    /// Whether progress is shown.
    pub fn shows_progress(&self) -> bool {
        self.terminal && self.volume >= Volume::Normal
    }
}

impl Progress for Talk {
    fn note(&self, note: &Note) {
        match note {
            Note::MadeUpSamples => self.say(format!("{note} (use --data)")),
            Note::MadeUpRecords => self.say(format!("{note} (use --inputs)")),
            Note::LeftOver { .. } | Note::StoreIdle | Note::StoreInOrder | Note::StoreTooSmall { .. } => self.say(note),
            Note::Simulates(_) => self.detail(note),
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
