//! Tensor Comprehensions: statements on indexed tensors with inferred ranges.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ functions ──lower──▶ tensor IR
//!                                                 types, ranges of indices, calls inlined
//! ```
//!
//! Sizes come with the host's shapes (`Options::shapes`), or by `--set N=4`.

mod ast;
mod conditions;
mod functions;
mod lexer;
mod lower;
mod mistakes;
mod parser;
mod ranges;
mod scatter;
mod scope;
mod statement;
mod types;
mod value;

use super::preprocessor::{self, Expanded, Host};
use super::{Options, Parsed, in_source_order};
use crate::tensor;
use arch::Diagnostic;

pub use ranges::Explanation;

/// The element type that a word names, as `int8`, if it names one.
pub(super) fn element(word: &str) -> Option<tensor::Element> {
    types::Type::of_keyword(word).map(types::Type::element)
}

/// Read a program in Tensor Comprehensions.
///
/// # Errors
/// Everything that is wrong with it, in source order; a missing input only if nothing else is.
pub fn parse(text: &str, options: &Options) -> Parsed {
    let source = preprocessor::expand(text, Host::TensorComprehensions, options);
    let read = read(&source).map_err(|errors| source.explained(errors));
    read.map(|(program, warnings, _)| (program, warnings))
}

/// The range of every index variable of the entry, statement by statement, and where it comes from.
///
/// # Errors
/// As [`parse`].
pub fn explain_ranges(text: &str, options: &Options) -> Result<Vec<Explanation>, Vec<Diagnostic>> {
    let source = preprocessor::expand(text, Host::TensorComprehensions, options);
    let read = read(&source).map_err(|errors| source.explained(errors));
    read.map(|(_, _, explanations)| explanations)
}

fn read(source: &Expanded) -> Result<lower::Lowered, Vec<Diagnostic>> {
    let (text, options) = (source.text.as_ref(), source.options.as_ref());
    let (tokens, malformed) = lexer::lex(source);
    let mut errors = [source.errors.clone(), malformed].concat();
    let dropped: Vec<usize> =
        errors.iter().filter_map(|error| Some(error.span?.start)).take(options.limits.errors).collect();
    let (functions, unread) = parser::parse(text, &tokens, &dropped, &options.limits);
    errors.extend(unread);
    let extents = functions.iter().flat_map(|function| &function.parameters).flat_map(|parameter| &parameter.extents);
    let sizes = extents.filter_map(|extent| match extent {
        ast::Extent::Name(name) => Some(name.text),
        ast::Extent::Integer(..) => None,
    });
    errors.extend(source.unknown_settings(sizes));
    if !errors.is_empty() {
        return Err(in_source_order(errors, options));
    }
    let (program, warnings, explanations) =
        lower::lower(&functions, options).map_err(|errors| in_source_order(errors, options))?;
    tensor::verify(&program);
    Ok((program, in_source_order(warnings, options), explanations))
}
