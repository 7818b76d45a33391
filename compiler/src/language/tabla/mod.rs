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
use crate::derived::{Objective, derive};
use crate::tensor::{self, Program};
use arch::Diagnostic;

/// Read a TABLA program.
///
/// # Errors
/// Everything that is wrong with it, in source order: first what cannot be read at all, and only if there is no such thing, what
/// has no meaning.
pub fn parse(text: &str, options: &Options) -> Parsed {
    let source = preprocessor::expand(text, Host::Tabla, options);
    let differentiated = |(program, objective, warnings): Read| match &objective {
        Some(objective) => match derive(&program, objective) {
            Ok(program) => Ok((program, warnings)),
            Err(errors) => Err(in_source_order(errors, &source.options)),
        },
        None => Ok((program, warnings)),
    };
    read(&source).and_then(differentiated).map_err(|errors| source.explained(errors))
}

/// Read a TABLA program without deriving its gradients; with what it minimises.
///
/// # Errors
/// As [`parse`].
pub fn source(text: &str, options: &Options) -> Result<(Program, Option<Objective>), Vec<Diagnostic>> {
    let source = preprocessor::expand(text, Host::Tabla, options);
    let (program, objective, _) = read(&source).map_err(|errors| source.explained(errors))?;
    Ok((program, objective))
}

/// A program, what it minimises, and warnings.
type Read = (Program, Option<Objective>, Vec<Diagnostic>);

fn read(source: &Expanded) -> Result<Read, Vec<Diagnostic>> {
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
    Ok((program, objective, in_source_order(diagnostics, options)))
}

fn any_error(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| !diagnostic.code.is_warning())
}
