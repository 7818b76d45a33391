//! Where the names of a JSON object stand: serde forgets it, and a message about a name should point at it.

use arch::Span;

/// Names of the outermost object and their places, in order, those that come twice twice. The text is known to be JSON.
pub fn names(text: &str) -> Vec<(String, Span)> {
    let (mut names, mut depth, mut at) = (Vec::new(), 0usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = at + literal(&bytes[at..]);
                let is_name = depth == 1 && text[end..].trim_start().starts_with(':');
                if let (true, Ok(name)) = (is_name, serde_json::from_str(&text[at..end])) {
                    names.push((name, Span::new(at, end)));
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

    #[test]
    fn names_of_the_outermost_object() {
        let text = r#"{"x": [1, {"in": 2}], "a\"b" : "x:", "x": "y\\"}"#;
        let found: Vec<(String, &str)> =
            names(text).into_iter().map(|(name, span)| (name, &text[span.start..span.end])).collect();
        let expected = [("x", "\"x\""), ("a\"b", r#""a\"b""#), ("x", "\"x\"")];
        assert_eq!(found, expected.map(|(name, place)| (name.to_owned(), place)));
    }
}
