//! Tile, the text form: contractions over all valid index sets, and element-wise lines.
//!
//! ```text
//!  text ──lexer──▶ logical lines ──parser──▶ functions ──lower──▶ tensor IR
//!                                                       index spaces, broadcasting
//! ```
//!
//! [`edsl`] makes the same functions by calls from Rust.
//!
//! Shapes come with the host's values (`Options::shapes`), integer parameters, too (`Options::integers`, `--set`).

mod ast;
mod built;
mod calls;
mod contraction;
pub mod edsl;
mod elementwise;
mod forms;
mod indices;
mod lexer;
mod lower;
mod moves;
mod parser;
mod scope;
mod space;

use super::preprocessor::{self, Expanded, Host};
use super::{Options, Parsed, in_source_order};
use crate::tensor;

/// Read a Tile program.
///
/// # Errors
/// Everything that is wrong with it, in source order; a missing input only if nothing else is.
pub fn parse(text: &str, options: &Options) -> Parsed {
    let source = preprocessor::expand(text, Host::Tile, options);
    read(&source).map_err(|errors| source.explained(errors))
}

fn read(expanded: &Expanded) -> Parsed {
    let (text, options) = (expanded.text.as_ref(), expanded.options.as_ref());
    let (lines, malformed) = lexer::lex(expanded);
    let mut errors = [expanded.errors.clone(), malformed].concat();
    let dropped: Vec<usize> =
        errors.iter().filter_map(|error| Some(error.span?.start)).take(options.limits.errors).collect();
    let (functions, unread) = parser::parse(text, &lines, &dropped, &options.limits);
    errors.extend(unread);
    let parameters = functions.iter().flat_map(|function| &function.parameters);
    errors.extend(expanded.unknown_settings(parameters.map(|parameter| parameter.text)));
    if !errors.is_empty() {
        return Err(in_source_order(errors, options));
    }
    let (program, warnings) = lower::lower(&functions, options).map_err(|errors| in_source_order(errors, options))?;
    tensor::verify(&program);
    Ok((program, in_source_order(warnings, options)))
}
