//! `explain E-KIND`: what a diagnostic code means, the smallest text that has it, and what to do about it.
//!
//! The text is the code's section of docs/errors.md, which `tests/errors.rs` generates from `arch::Code` and the programs in docs/errors.

use crate::arguments::Global;
use crate::output;
use arch::Code;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use workbench::Failure;
use workbench::documents::Document;

/// What a diagnostic code means.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained {
    /// The code.
    code: &'static str,
    /// What it says.
    meaning: &'static str,
    /// What to do about it.
    remedy: &'static str,
    /// Its section of docs/errors.md.
    page: &'static str,
}

/// Every section.
const PAGE: &str = include_str!("../../../docs/errors.md");

/// The code that the program argument names instead of a file.
///
/// # Errors
/// It has the form of a code, but there is none of that name.
pub fn named(program: Option<&Path>) -> Result<Option<Code>, Failure> {
    let Some(text) = program.and_then(Path::to_str) else { return Ok(None) };
    let upper = text.to_ascii_uppercase();
    let has_form = ["E-", "W-"].iter().any(|prefix| upper.starts_with(prefix)) && !text.contains(['.', '/']);
    if !has_form {
        return Ok(None);
    }
    let unknown = || {
        let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        Failure::Usage(format!("unknown diagnostic code `{text}`; the codes are {}", known.join(", ")))
    };
    Code::named(&upper).map(Some).ok_or_else(unknown)
}

/// Print one section.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(global: &Global, code: Code) -> Result<(), Failure> {
    let section = section(code);
    output::either(
        global.format,
        || format!("{section}\n"),
        || {
            Document::new(Explained {
                code: code.as_str(),
                meaning: code.meaning(),
                remedy: code.remedy(),
                page: section,
            })
        },
    )
}

/// The section of a code, with its heading.
fn section(code: Code) -> &'static str {
    let heading = format!("## {code}\n");
    let start = PAGE.find(&heading).expect("tests/errors.rs generates a section for each code");
    let length = PAGE[start + 3..].find("\n## ").map_or(PAGE.len() - start, |next| next + 3);
    PAGE[start..start + length].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_section_of_its_own() {
        for &code in Code::ALL {
            let section = section(code);
            assert!(section.contains(code.meaning()) && section.contains(code.remedy()), "{code}");
            assert_eq!(section.matches("\n## ").count(), 0, "{code}");
        }
    }

    #[test]
    fn a_code_is_told_from_a_file() {
        assert_eq!(named(Some(Path::new("e-kind"))).unwrap(), Some(Code::Kind));
        for file in ["logistic.t", "E-KIND.t", "folder/E-KIND"] {
            assert_eq!(named(Some(Path::new(file))).unwrap(), None, "{file}");
        }
        assert!(matches!(named(Some(Path::new("E-KINDD"))), Err(Failure::Usage(_))));
    }
}
