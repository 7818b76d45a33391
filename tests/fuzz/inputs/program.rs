//! Bytes as a program: read it; what is accepted is put into canonical form and evaluated, as long as it is small.

use compiler::canonical::{Batch, Keep, Options as CanonicalOptions, canonicalise};
use compiler::language::{Language, Limits, Options, parse};
use sim::golden::Golden;

/// Nothing here may panic; that the form is right is checked by the verifier of tensor IR.
pub(crate) fn read(language: Language, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // Small, so that a run takes milliseconds: the limits themselves are a part of what is tried.
    let limits = Limits { elements: 1 << 10, elements_in_all: 1 << 12, points: 1 << 14, ..Limits::default() };
    let shapes = ["A", "B", "C", "x", "w"].map(|name| (name.to_owned(), vec![3, 3])).to_vec();
    let options = Options { limits, shapes, ..Options::default() };
    let Ok((program, warnings)) = parse(language, &text, &options) else { return };
    for warning in &warnings {
        let span = warning.span.unwrap_or_default();
        assert!(span.start <= span.end && span.end <= text.len(), "a span outside the text: {warning:?}");
    }
    compiler::tensor::verify(&program);
    let points = program.nests.iter().map(|nest| {
        nest.iterators.iter().map(|iterator| (iterator.high - iterator.low).max(0)).fold(1, i64::saturating_mul)
    });
    if points.fold(0, i64::saturating_add) > 1 << 16 {
        return;
    }
    let _ = Golden::new(&program).step();
    if limits.check(&program).is_err() {
        return;
    }
    let options = CanonicalOptions { keep: Keep::AllNames, batch: Batch::SINGLE };
    if let Ok(canonical) = canonicalise(&program, &options) {
        compiler::tensor::verify(&canonical);
    }
}
