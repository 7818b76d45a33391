//! Names, numbers and origins as text that the cursor reads back.

use super::token::{NUMBERS, begins_word, word_length};
use arch::{Origin, Span};

/// A name; in quotes if it is a word of the form or has letters that names do not have.
pub fn name(name: &str, reserved: fn(&str) -> bool) -> String {
    let plain =
        name.starts_with(begins_word) && word_length(name) == name.len() && !reserved(name) && !NUMBERS.contains(&name);
    if plain { name.to_owned() } else { format!("{name:?}") }
}

/// A real number with the fewest digits that read back to the same value.
pub fn real(value: f64) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value == libm::trunc(value) && value.abs() < 1e15 || value.is_infinite() {
        format!("{value}")
    } else {
        format!("{value:?}")
    }
}

/// The origin at the end of a statement; nothing for none.
pub fn origin(origin: &Origin, reserved: fn(&str) -> bool) -> String {
    if *origin == Origin::default() {
        return String::new();
    }
    let spans = list(origin.spans(), ", ", |Span { start, end }| format!("{start}..{end}"));
    let names = list(origin.names(), ", ", |text| name(text, reserved));
    let parts = ["  @".to_owned(), spans, if names.is_empty() { names } else { format!("as {names}") }];
    list(parts.iter().filter(|part| !part.is_empty()), " ", Clone::clone)
}

/// The text of each with something between them.
pub fn list<T>(items: impl IntoIterator<Item = T>, between: &str, text: impl FnMut(T) -> String) -> String {
    items.into_iter().map(text).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::super::Cursor;
    use super::*;

    #[test]
    fn every_number_comes_back() {
        let patterns = (0..10_000u64).map(|n| f64::from_bits(n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let special = [0.0, -0.0, 1.0, -1.0, 0.1, 1e15, -1e15, 1e300, 5e-324, f64::INFINITY, f64::NEG_INFINITY];
        for value in patterns.chain(special).filter(|value| !value.is_nan()) {
            let back = Cursor::new(&real(value), |_| false).and_then(|mut cursor| cursor.real());
            assert_eq!(back.map(f64::to_bits), Ok(value.to_bits()), "{}", real(value));
        }
        assert!(Cursor::new(&real(f64::NAN), |_| false).and_then(|mut cursor| cursor.real()).is_ok_and(f64::is_nan));
        assert_eq!([real(3.0), real(-0.5), real(1e-7), real(2e20)], ["3", "-0.5", "1e-7", "2e20"]);
    }

    #[test]
    fn every_name_comes_back() {
        for text in ["h", "w.1", "a.b.2", "for", "=3", "", "1x", "a.", "ä", "\"", "a b", "inf\n"] {
            let written = name(text, |word| word == "for");
            let back = Cursor::new(&written, |word| word == "for").and_then(|mut cursor| cursor.name());
            assert_eq!(back.expect(text).text, text);
        }
        assert_eq!(
            [name("w.1", |_| false), name("for", |_| true), name("=3", |_| false)],
            ["w.1", "\"for\"", "\"=3\""]
        );
    }

    #[test]
    fn origins_are_short() {
        let spans = [Span::new(20, 36), Span::new(4, 8)];
        assert_eq!(origin(&Origin::new(spans, ["h".into()]), |_| false), "  @ 20..36, 4..8 as h");
        assert_eq!(origin(&Origin::new([], ["h".into()]), |_| false), "  @ as h");
        assert_eq!(origin(&Origin::default(), |_| false), "");
    }
}
