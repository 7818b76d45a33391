//! Shared parts of the text forms of all stages, so that each prints and reads back to the same value.
//!
//!     text ──tokens──▶ names, numbers, symbols, line ends ──Cursor──▶ the value of a stage
//!     value ──Display, with `name`, `real` and `origin` of `write`──▶ text
//!
//! | module | holds |
//! |---|---|
//! | [`token`] | characters to tokens |
//! | [`cursor`] | a place among the tokens: what stands there, what is expected, the error if it does not |
//! | [`mod@write`] | names, numbers and origins as text, and lists of them |
//! | [`names`] | elements of tensors and loops over them, as text |
//! | [`known`] | these, read back |
//! | [`nearest`] | the known name that was meant |
//! | [`forms`] | sums of counters |
//! | [`table`] | function tables |
//!
//! The rules of every text form:
//!
//! - One statement per line; `//` begins a comment that ends with the line. Blank lines mean nothing.
//! - A name is letters, digits, `_` and inner dots (`h`, `w.1`), or anything in double quotes (`"odd name"`, with the escapes of Rust).
//!   Each stage has a list of words that stand for something else; a name that is one of them is quoted.
//! - `%3` is the number of a thing in its list.
//! - Real numbers are written with the fewest digits that read back to the same value; `inf` and `nan` are numbers.
//! - A statement may end with its origin: `@ 20..36, 4..8 as h, g` has the places in the source, in bytes, and the user's names.
//!
//! A stage implements [`std::fmt::Display`] and [`std::str::FromStr`] with [`arch::Diagnostic`] as the error: a text is the user's, so
//! what is wrong with it is told like everything else. Printing goes through the same functions that the verifier's messages use, so
//! it never fails, even for a value that breaks a law.

pub mod cursor;
pub mod forms;
pub mod known;
pub mod names;
pub mod nearest;
pub mod table;
pub mod token;
pub mod write;

pub use cursor::Cursor;

use crate::laws::{Broken, Laws};
use arch::{Code, Diagnostic};
use std::str::FromStr;

/// Read a text of a stage and check its laws.
///
/// # Errors
/// What is wrong with it; `E-LAW` for a law that it breaks.
pub fn read<T: FromStr<Err = Diagnostic>>(text: &str, laws: impl Fn(&T) -> Laws) -> Result<T, Vec<Diagnostic>> {
    let value = text.parse().map_err(|error| vec![error])?;
    laws(&value).map_err(|broken| {
        let help = "the laws are at the head of the stage's module; the verifier holds every pass to them";
        let of = |broken: &Broken| Diagnostic::global(Code::Law, format!("the text breaks {broken}")).with_help(help);
        broken.iter().map(of).collect::<Vec<_>>()
    })?;
    Ok(value)
}

/// What a text says in which something is replaced that stands there once.
#[cfg(test)]
pub(crate) fn changed<T: FromStr<Err = Diagnostic>>(text: &str, from: &str, to: &str) -> T {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to).parse().expect("a good text")
}
