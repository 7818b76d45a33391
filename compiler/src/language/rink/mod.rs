//! Rink's tensor model language: whole tensors, outer products, contractions, exchanged dimensions.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ declarations, statements ──lower──▶ tensor IR
//!                                                             types, analyses, index maps composed
//! ```

mod analysis;
mod ast;
mod cfdlang;
mod elements;
mod lexer;
mod lower;
mod parser;
mod reports;
mod types;

use super::preprocessor::{self, Expanded, Host};
use super::{Options, Parsed, in_source_order};
use crate::tensor;
use reports::Reports;

/// Read a program in the tensor model language.
///
/// # Errors
/// Everything that is wrong with it, in source order.
pub fn parse(text: &str, options: &Options) -> Parsed {
    let source = preprocessor::expand(text, Host::Rink, options);
    read(&source).map_err(|errors| source.explained(errors))
}

fn read(expanded: &Expanded) -> Parsed {
    let (text, options) = (expanded.text.as_ref(), expanded.options.as_ref());
    let (mut tokens, malformed) = lexer::lex(expanded);
    if options.cfdlang == Some(1) {
        cfdlang::first(&mut tokens);
    }
    let mut errors = [expanded.errors.clone(), malformed].concat();
    let dropped: Vec<usize> =
        errors.iter().filter_map(|error| Some(error.span?.start)).take(options.limits.errors).collect();
    let (mut source, unread) = parser::parse(text, &tokens, &dropped, &options.limits);
    errors.extend(unread);
    if options.cfdlang == Some(2) {
        errors.extend(cfdlang::second(&mut source, &options.limits));
    }
    errors.extend(expanded.unknown_settings(std::iter::empty()));
    if !errors.is_empty() {
        return Err(in_source_order(errors, options));
    }
    let mut reports = Reports::up_to(4 * options.limits.errors);
    let program = lower::lower(&source, options, &mut reports);
    let diagnostics = in_source_order(reports.diagnostics, options);
    if diagnostics.first().is_some_and(|diagnostic| !diagnostic.code.is_warning()) {
        return Err(diagnostics);
    }
    tensor::verify(&program);
    Ok((program, diagnostics))
}
