//! TABLA: a training step in a few lines.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ ast ──resolve──▶ resolved program ──lower──▶ tensor IR
//!                                          names,          coverage,
//!                                          constants,      versions,
//!                                          ranks, bounds   groups to Nests
//! ```

mod ast;
mod lexer;
mod lower;
mod mistakes;
mod parser;
mod resolve;

use super::preprocessor::{self, Expanded, Host};
use super::{Options, Parsed, in_source_order};
use crate::derived::derive;
use crate::tensor;
use arch::Diagnostic;

/// Read a TABLA program.
///
/// # Errors
/// Everything that is wrong with it, in source order: first what cannot be read at all, and only if there is no such thing, what
/// has no meaning.
pub fn parse(text: &str, options: &Options) -> Parsed {
    let source = preprocessor::expand(text, Host::Tabla, options);
    read(&source).map_err(|errors| source.explained(errors))
}

fn read(source: &Expanded) -> Parsed {
    let (text, options) = (source.text.as_ref(), source.options.as_ref());
    let (mut tokens, malformed) = lexer::lex(source, options.seed_dialect);
    let shadows = lexer::free_defined_names(text, &mut tokens);
    let mut errors = [source.errors.clone(), malformed].concat();
    let dropped: Vec<usize> =
        errors.iter().filter_map(|error| Some(error.span?.start)).take(options.limits.errors).collect();
    let (items, unread) = parser::parse(text, &tokens, &dropped, &options.limits);
    errors.extend(unread);
    if !errors.is_empty() {
        return Err(in_source_order(errors, options));
    }
    let mut diagnostics = shadows;
    let resolved = resolve::resolve(&items, options, &mut diagnostics);
    if any_error(&diagnostics) {
        return Err(in_source_order(diagnostics, options));
    }
    let (program, objective) = lower::lower(&resolved, options, &mut diagnostics);
    if any_error(&diagnostics) {
        return Err(in_source_order(diagnostics, options));
    }
    tensor::verify(&program);
    let program = match &objective {
        Some(objective) => derive(&program, objective).map_err(|errors| in_source_order(errors, options))?,
        None => program,
    };
    Ok((program, in_source_order(diagnostics, options)))
}

fn any_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning())
}
