//! Diagnostics for people (ariadne, on stderr) and for programs (JSON, on stdout).

use crate::arguments::{Format, Global};
use crate::output::{self, Talk};
use arch::Diagnostic;
use workbench::documents::{Problem, Problems, messages};
use workbench::drawing::{text, visible};
use workbench::{Failure, Source};

/// Tell the user why the tool stops.
pub fn failure(failure: &Failure, global: &Global, talk: &Talk) {
    let (source, diagnostics) = match failure {
        Failure::Diagnostics { source, diagnostics } | Failure::DoesNotFit { source, diagnostics } => {
            (source, diagnostics.as_slice())
        }
        Failure::Usage(message)
        | Failure::Mismatch(message)
        | Failure::Saturated(message)
        | Failure::Inaccurate(message)
        | Failure::Tool(message)
        | Failure::File(message)
        | Failure::Bug(message) => {
            let internal = match failure {
                Failure::Bug(_) => {
                    " (a bug of tabla-gen: please report it with the command, the config and the program)"
                }
                _ => "",
            };
            let message = format!("{message}{internal}");
            output::error_line(&format!("error: {}", visible(&message)));
            // What is wrong with a result stands in it, and stdout holds one document only.
            let is_told = matches!(
                failure,
                Failure::Usage(_) | Failure::Mismatch(_) | Failure::Saturated(_) | Failure::Inaccurate(_)
            );
            if global.format == Format::Json && !is_told {
                let _ = output::json(&plain(failure.code().as_str(), &message));
            }
            return;
        }
        Failure::Interrupted => {
            output::error_line("interrupted");
            if global.format == Format::Json {
                let _ = output::json(&plain(failure.code().as_str(), "interrupted"));
            }
            return;
        }
    };
    if global.format == Format::Json {
        // Nobody is left to tell if stdout cannot be written.
        let _ = output::json(&Problems::new(messages(source, diagnostics)));
    } else {
        for diagnostic in diagnostics {
            output::error_line(text(source, diagnostic, talk.colour).trim_end());
        }
    }
}

/// One error that is about no text, as a document.
fn plain(code: &str, message: &str) -> Problems {
    Problems::new(vec![Problem::error(code, message)])
}

/// Show warnings on stderr, and of very many the first ones.
pub fn warnings(source: &Source, warnings: &[Diagnostic], talk: &Talk) {
    for warning in &warnings[..warnings.len().min(MOST_WARNINGS)] {
        talk.say(text(source, warning, talk.colour).trim_end());
    }
    if let Some(more @ 1..) = warnings.len().checked_sub(MOST_WARNINGS) {
        talk.say(format!("and {more} more warnings; --format json has all of them"));
    }
}

/// Nobody reads more, and each drawing looks at the whole text.
const MOST_WARNINGS: usize = 20;
