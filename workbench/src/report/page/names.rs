//! Values in the user's names. Stages of the compiler name what they make after a tensor, with something behind it: `w.4` is the fourth temporary
//! that was made, on the way to `w`.
//!
//! | name | shown as |
//! |---|---|
//! | `w` | w |
//! | `w.4` | w (part 4) |
//! | `w.copy2`, `w.4.copy` | w (copy 2), w (part 4, copy) |
//! | `p.near` | p (approximation) |
//! | `sum.1`, the sum in the third line | line 3 (part 1) |

use arch::origin::Origin;
use compiler::fixed::Program;
use std::collections::{BTreeMap, BTreeSet};

/// What stands behind a tensor's name, and reads badly.
const PARTS: [(&str, &str); 7] = [
    ("again", "computed again"),
    ("at", "window"),
    ("in", "block"),
    ("low", "low half"),
    ("near", "approximation"),
    ("rest", "remainder"),
    ("taken", "chosen"),
];

/// The user's names of a program.
pub struct Names<'a> {
    source: &'a str,
    known: BTreeSet<&'a str>,
    origins: BTreeMap<&'a str, &'a Origin>,
}

impl<'a> Names<'a> {
    /// Those of a program, whose text is `source`.
    pub fn new(program: &'a Program, source: &'a str) -> Names<'a> {
        let tensors = program.tensors.iter().map(|tensor| tensor.name.as_str());
        let given = program.names.iter().map(|(name, _)| name.as_str());
        let fused = program.operations.iter().flat_map(|operation| operation.origin.names()).map(String::as_str);
        let known = tensors.chain(given).chain(fused).filter(|name| is_users(name, source)).collect();
        let target = |operation: &'a compiler::fixed::Operation| program.tensors[operation.out.0].name.as_str();
        // The first operation counts: those behind it fill other elements.
        let origins = program.operations.iter().rev().map(|operation| (target(operation), &operation.origin)).collect();
        Names { source, known, origins }
    }

    /// A value.
    pub fn value(&self, name: &str) -> String {
        match self.parts(name) {
            (whole, parts) if parts.is_empty() => whole,
            (whole, parts) => format!("{whole} ({})", parts.join(", ")),
        }
    }

    /// What the user knows, and which part of it this is.
    fn parts(&self, name: &str) -> (String, Vec<String>) {
        let alone = || (name.to_owned(), Vec::new());
        let Some((stem, part)) = name.rsplit_once('.').filter(|_| !self.known.contains(name)) else { return alone() };
        let origin = self.origins.get(name).map(|origin| (origin.names(), origin.line(self.source)));
        let (whole, mut parts) = match origin {
            _ if self.known.contains(stem) || self.origins.contains_key(stem) => self.parts(stem),
            Some(([own, ..], _)) => (own.clone(), Vec::new()),
            Some((_, line)) if line > 0 => (format!("line {line}"), Vec::new()),
            _ => self.parts(stem),
        };
        parts.push(part_text(part));
        (whole, parts)
    }

    /// A text with values in it, such as `h multiply-add, w.4 sigmoid`.
    pub fn text(&self, text: &str) -> String {
        let word = |word: &str| {
            let (name, end) = word.strip_suffix(',').map_or((word, ""), |name| (name, ","));
            self.value(name) + end
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Whether a name is the user's: it has no part, or stands so in the program, as names of ONNX models do.
fn is_users(name: &str, source: &str) -> bool {
    let inside = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    let alone = |(at, _): (usize, &str)| {
        !source[..at].ends_with(inside) && !source[at + name.len()..].trim_start_matches('.').starts_with(inside)
    };
    !name.contains('.') || source.match_indices(name).any(alone)
}

fn part_text(part: &str) -> String {
    let part = part.trim_end_matches('+');
    let word = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = &part[word.len()..];
    let word = PARTS.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long);
    match (word, number) {
        ("", number) => format!("part {number}"),
        (word, "") => word.to_owned(),
        (word, number) => format!("{word} {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::Span;

    #[test]
    fn values_have_the_names_of_the_user() {
        let source = "p = q;\nfc.weight\nsum(p);\n";
        let (named, line) = (Origin::new([Span::new(0, 5)], ["g".to_owned()]), Origin::of(Span::new(17, 23)));
        let names = Names {
            source,
            known: ["p", "w", "fc.weight"].into(),
            origins: [("sum.1", &line), ("sum.2", &named), ("w.4", &named)].into(),
        };
        for (name, shown) in [
            ("w", "w"),
            ("w.4", "w (part 4)"),
            ("w.4.copy", "w (part 4, copy)"),
            ("w.copy2+", "w (copy 2)"),
            ("p.near", "p (approximation)"),
            ("fc.weight", "fc.weight"),
            ("fc.weight.3", "fc.weight (part 3)"),
            ("sum.1", "line 3 (part 1)"),
            ("sum.2", "g (part 2)"),
            ("sum.2.strip1", "g (part 2, strip 1)"),
            ("one.7", "one (part 7)"),
        ] {
            assert_eq!(names.value(name), shown);
        }
        assert_eq!(names.text("p multiply-add, w.4 sigmoid"), "p multiply-add, w (part 4) sigmoid");
        assert!(is_users("fc.weight", source) && !is_users("c.weight", source) && !is_users("fc.weigh", source));
    }
}
