//! How deep brackets nest. Parsers and what comes behind them recurse, so what is deeper than the limit is refused before.

use super::Limits;
use arch::{Code, Diagnostic, Span};
use chumsky::span::SimpleSpan;

/// What a token does to the depth.
pub(super) enum Bracket {
    Opens,
    Closes,
    None,
}

/// E-LIMIT at the first token that stands inside too many brackets, which are called `what`.
pub(super) fn too_deep(
    tokens: impl Iterator<Item = (Bracket, SimpleSpan)>,
    what: &str,
    way_out: &str,
    limits: &Limits,
) -> Option<Diagnostic> {
    let mut depth = 0usize;
    for (bracket, place) in tokens {
        match bracket {
            Bracket::Opens => depth += 1,
            Bracket::Closes => depth = depth.saturating_sub(1),
            Bracket::None => {}
        }
        if depth > limits.depth {
            let (span, message) =
                (Span::new(place.start, place.end), format!("more than {} nested {what}", limits.depth));
            return Some(Diagnostic::new(Code::Limit, span, message).with_help(way_out));
        }
    }
    None
}
