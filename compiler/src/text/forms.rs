//! Sums of numbered counters, as text: `2*d1 - d0 + 4`. Jobs write addresses so, and pieces of tensors their indices.

use super::Cursor;
use super::known::LARGEST;
use super::token::Kind;
use arch::Diagnostic;

/// A number and terms of a coefficient and the number of a counter, whose name begins with `letter`.
pub fn sum(letter: char, offset: i64, terms: impl IntoIterator<Item = (usize, i64)>) -> String {
    let mut text = String::new();
    let mut add = |negative: bool, size: String| {
        text += match (text.is_empty(), negative) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        text += &size;
    };
    let mut empty = true;
    for (number, coefficient) in terms {
        let size = coefficient.unsigned_abs();
        let counter = format!("{letter}{number}");
        add(coefficient < 0, if size == 1 { counter } else { format!("{size}*{counter}") });
        empty = false;
    }
    if offset != 0 || empty {
        add(offset < 0, offset.unsigned_abs().to_string());
    }
    text
}

/// The number and the terms of a sum of counters, of which there are `count`.
///
/// # Errors
/// `E-SYNTAX`, `E-LIMIT`
pub fn read_sum(cursor: &mut Cursor, letter: char, count: usize) -> Result<(i64, Vec<(usize, i64)>), Diagnostic> {
    let (mut offset, mut terms) = (0, Vec::new());
    let mut sign = if cursor.take("-") { -1 } else { 1 };
    loop {
        if matches!(cursor.peek().kind, Kind::Number(_)) {
            let size: i64 = cursor.bounded(LARGEST)?;
            if cursor.take("*") {
                terms.push((numbered(cursor, letter, count)?, sign * size));
            } else {
                offset += sign * size;
            }
        } else {
            terms.push((numbered(cursor, letter, count)?, sign));
        }
        if cursor.take("+") {
            sign = 1;
        } else if cursor.take("-") {
            sign = -1;
        } else {
            return Ok((offset, terms));
        }
    }
}

/// `k3`: a letter and a number below `count`.
///
/// # Errors
/// `E-SYNTAX`
pub fn numbered(cursor: &mut Cursor, letter: char, count: usize) -> Result<usize, Diagnostic> {
    let word = match &cursor.peek().kind {
        Kind::Word { text, quoted: false } => text.strip_prefix(letter).and_then(|digits| digits.parse().ok()),
        _ => None,
    };
    let number = word.filter(|&number| number < count);
    let number = number.ok_or_else(|| cursor.expected(&format!("`{letter}` and a number below {count}")))?;
    cursor.advance();
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_come_back() {
        for (text, offset, terms) in [
            ("0", 0, vec![]),
            ("-3", -3, vec![]),
            ("k0", 0, vec![(0, 1)]),
            ("-k1 + 2*k0 - 7", -7, vec![(1, -1), (0, 2)]),
            ("4*k2 + 5", 5, vec![(2, 4)]),
        ] {
            assert_eq!(sum('k', offset, terms.clone()), text);
            let mut cursor = Cursor::new(text, |_| false).expect("tokens");
            assert_eq!(read_sum(&mut cursor, 'k', 3), Ok((offset, terms)));
        }
        let mut beyond = Cursor::new("k3", |_| false).expect("tokens");
        assert!(read_sum(&mut beyond, 'k', 3).is_err());
    }
}
