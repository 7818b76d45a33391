//! LIBSVM text: `LABEL NUMBER:VALUE NUMBER:VALUE ...  # comment`, features that are not mentioned are 0.

use crate::data::file::Limits;
use crate::data::table::{Table, check_size};
use arch::{Code, Diagnostic, Span};
use std::collections::BTreeSet;

/// Name of the column that holds the labels; it is the last one.
pub const LABEL: &str = "label";

/// Whether the first line that says something is a label and, among other things, a feature: no header of another format looks like that,
/// and what is damaged in it is told by [`read`].
pub fn looks_like(text: &[u8]) -> bool {
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(|line| String::from_utf8_lossy(&line[..line.len().min(4096)]).into_owned());
    let Some(line) = lines.map(|line| without_comment(&line).trim().to_owned()).find(|line| !line.is_empty()) else {
        return false;
    };
    let mut words = line.split_ascii_whitespace();
    let label = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
    label && words.any(|word| feature(word).is_some())
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default()
}

fn feature(word: &str) -> Option<(u32, &str)> {
    let (number, value) = word.split_once(':')?;
    value.parse::<f64>().ok()?;
    Some((number.parse().ok()?, value))
}

/// Read LIBSVM text. Columns are called by their numbers, from 1 on (from 0, if there is a feature 0), then `label`.
///
/// # Errors
/// `E-DATA` with the place of what is not a label or feature, or of a feature that comes twice; `E-LIMIT`.
pub fn read(text: &[u8], limits: Limits) -> Result<Table, Diagnostic> {
    let text = String::from_utf8_lossy(text);
    let mut samples: Vec<(&str, Vec<(u32, &str)>)> = Vec::new();
    let (mut lines, mut most, mut least) = (Vec::new(), 0, 1);
    let mut start = 0;
    for (number, line) in (1u64..).zip(text.split_inclusive('\n')) {
        let (begin, mut place) = (start, 0);
        start += line.len();
        let mut words = without_comment(line).split_ascii_whitespace();
        let mut wrong = |word: &str, what: &str| {
            place = line.find(word).unwrap_or(0);
            let span = Span::new(begin + place, begin + place + word.len());
            Err(Diagnostic::new(Code::Data, span, format!("line {number}: `{word}` {what}")))
        };
        let Some(label) = words.next() else { continue };
        if label.parse::<f64>().is_err() {
            return wrong(label, "is not a label: a number comes first");
        }
        let (mut features, mut known) = (Vec::new(), BTreeSet::new());
        for word in words {
            let Some((number, value)) = feature(word) else {
                return wrong(word, "is not a feature: NUMBER:VALUE is expected");
            };
            if !known.insert(number) {
                return wrong(word, "gives a feature that the line has already given");
            }
            most = most.max(number);
            least = least.min(number);
            check_size(samples.len() + 1, most as usize + 1, limits)?;
            features.push((number, value));
        }
        samples.push((label.strip_prefix('+').unwrap_or(label), features));
        lines.push(number);
    }
    let columns = (least..=most).map(|number| number.to_string()).chain([LABEL.to_owned()]);
    let rows = samples.into_iter().map(|(label, features)| {
        let mut row = vec!["0"; (most + 1 - least) as usize];
        for (number, value) in features {
            row[(number - least) as usize] = value;
        }
        row.push(label);
        row.into_iter().collect()
    });
    let mut table = Table::from_cells(columns.collect(), rows.collect(), limits)?;
    (table.lines, table.sparse) = (lines, true);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_become_columns() {
        let mut table = read(b"+1 1:0.5 3:2 # first\n\n-1 2:1e-3\n", Limits::default()).unwrap();
        assert_eq!(table.columns, ["1", "2", "3", "label"]);
        assert_eq!(table.rows, [["0.5", "0", "2", "1"], ["0", "1e-3", "0", "-1"]]);
        assert_eq!(table.lines, [1, 3]);
        table.complete(&["2".to_owned(), "5".to_owned(), "name".to_owned()]);
        assert_eq!(table.columns, ["1", "2", "3", "label", "5"]);
        assert_eq!(table.rows[1], ["0", "1e-3", "0", "-1", "0"]);
        assert_eq!(read(b"3 0:1 1:2\n", Limits::default()).unwrap().columns, ["0", "1", "label"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let error = |text: &str| {
            let error = read(text.as_bytes(), Limits::default()).unwrap_err();
            (error.message, error.span.unwrap().start)
        };
        let label = "line 2: `x` is not a label: a number comes first";
        assert_eq!(error("1 1:2\nx 1:2\n"), (label.to_owned(), 6));
        let feature = "line 1: `2;3` is not a feature: NUMBER:VALUE is expected";
        assert_eq!(error("1 1:2 2;3\n"), (feature.to_owned(), 6));
        let twice = "line 1: `1:3` gives a feature that the line has already given";
        assert_eq!(error("1 1:2 1:3\n"), (twice.to_owned(), 6));
        assert_eq!(read(b"1 4294967295:1\n", Limits::default()).unwrap_err().code, Code::Limit);
    }

    #[test]
    fn other_formats_do_not_look_like_it() {
        assert!(looks_like(b"# comment\n-1 1:2\n") && looks_like(b"0.5 7:1\n"));
        for text in ["a,b\n1,2\n", "1\n2\n", "1 2:x\n", "time 1:00\n", "", "1,2:3\n"] {
            assert!(!looks_like(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn places_are_whole_words_of_their_lines() {
        let text = "1 1:2\n-1 3:x 4:1\n";
        let span = read(text.as_bytes(), Limits::default()).unwrap_err().span.unwrap();
        assert_eq!(&text[span.start..span.end], "3:x");
    }
}
