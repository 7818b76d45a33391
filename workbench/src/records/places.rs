//! Positions of the names of JSON records: serde drops them, and a message about a name should point at it.

use arch::Span;

/// A name of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Number of the record.
    pub record: usize,
    /// The name.
    pub name: String,
    /// Where it stands.
    pub span: Span,
}

/// Names of the outermost object, or of the objects of the outermost list, in order, those that come twice twice. The text is known
/// to be JSON.
pub(super) fn names(text: &str) -> Vec<Place> {
    let outermost = if text.trim_start().starts_with('[') { 2 } else { 1 };
    let (mut names, mut depth, mut records, mut at) = (Vec::new(), 0usize, 0usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => {
                depth += 1;
                records += usize::from(depth == outermost);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = at + literal(&bytes[at..]);
                let is_name = depth == outermost && text[end..].trim_start().starts_with(':');
                if let (true, Ok(name)) = (is_name, serde_json::from_str(&text[at..end])) {
                    names.push(Place { record: records.saturating_sub(1), name, span: Span::new(at, end) });
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// Length of a string literal with its quotes.
fn literal(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (n, &byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return n + 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String, &str)> {
        let shown = |Place { record, name, span }: Place| (record, name, &text[span.start..span.end]);
        names(text).into_iter().map(shown).collect()
    }

    #[test]
    fn names_of_the_outermost_object() {
        let text = r#"{"x": [1, {"in": 2}], "a\"b" : "x:", "x": "y\\"}"#;
        let expected = [("x", "\"x\""), ("a\"b", r#""a\"b""#), ("x", "\"x\"")];
        assert_eq!(found(text), expected.map(|(name, place)| (0, name.to_owned(), place)));
    }

    #[test]
    fn names_of_a_list_of_objects() {
        let text = r#" [{"x": [[1]], "y": {"in": 2}}, {"x": 3}]"#;
        let expected = [(0, "x"), (0, "y"), (1, "x")];
        let names: Vec<(usize, String)> = found(text).into_iter().map(|(record, name, _)| (record, name)).collect();
        assert_eq!(names, expected.map(|(record, name)| (record, name.to_owned())));
    }
}
