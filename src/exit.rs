//! Exit codes of the process.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | something in the user's program, config or data is wrong |
//! | 2 | the arguments are wrong |
//! | 3 | two rungs of the ladder disagree |
//! | 4 | the program does not fit the machine, or the machine the board |
//! | 5 | an external tool is missing or failed |
//! | 6 | a file or device cannot be read or written |
//! | 7 | values were clipped to their words, and `--deny-saturation` was given |
//! | 8 | the words do not suffice, and `--deny-inaccuracy` was given |
//! | 101 | a bug of ours |
//! | 130 | interrupted |

use arch::Diagnostic;
use workbench::Failure;

/// Whether a diagnostic is about a name in the arguments, which the program does not define.
fn is_setting(diagnostic: &Diagnostic) -> bool {
    diagnostic.setting.is_some()
}

/// The exit code of the process.
pub fn exit_code(failure: &Failure) -> u8 {
    match failure {
        Failure::Diagnostics { diagnostics, .. } if !diagnostics.is_empty() && diagnostics.iter().all(is_setting) => 2,
        Failure::Diagnostics { .. } => 1,
        Failure::Usage(_) => 2,
        Failure::Mismatch(_) => 3,
        Failure::DoesNotFit { .. } => 4,
        Failure::Tool(_) => 5,
        Failure::File(_) => 6,
        Failure::Saturated(_) => 7,
        Failure::Inaccurate(_) => 8,
        Failure::Bug(_) => 101,
        Failure::Interrupted => 130,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;
    use workbench::Source;

    /// The codes of a table `| code | meaning |`.
    fn table(text: &str) -> BTreeSet<u8> {
        text.lines().filter_map(|line| line.split('|').nth(1)?.trim().parse().ok()).collect()
    }

    /// One failure of each kind, what the manual, the help and this file say: the same codes.
    #[test]
    fn exit_codes_are_documented() {
        let source = Source { name: String::new(), text: String::new() };
        let failures = [
            Failure::data("x", Vec::new()),
            Failure::DoesNotFit { source, diagnostics: Vec::new() },
            Failure::Usage(String::new()),
            Failure::Mismatch(String::new()),
            Failure::Tool(String::new()),
            Failure::File(String::new()),
            Failure::Saturated(String::new()),
            Failure::Inaccurate(String::new()),
            Failure::Interrupted,
            Failure::Bug(String::new()),
        ];
        let codes: BTreeSet<u8> = failures.iter().map(exit_code).chain([0]).collect();
        assert_eq!(codes.len(), failures.len() + 1, "each kind has its own");
        assert_eq!(table(include_str!("../docs/command-line.md")), codes, "docs/command-line.md");
        let head: String =
            include_str!("exit.rs").lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
        assert_eq!(table(&head), codes, "the head of this file");
        let help = crate::arguments::Arguments::command().get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.split("Exit codes:").nth(1).expect("the help lists them").to_owned();
        let said: BTreeSet<u8> = help.split([' ', '\n', ',']).filter_map(|word| word.parse().ok()).collect();
        assert_eq!(said, codes, "--help");
    }
}
