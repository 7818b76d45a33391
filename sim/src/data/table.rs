//! Cells of a data file. Numbers are read column by column, when something wants numbers.
//!
//! CSV text is read here; the other formats make a table in their own modules.

use crate::data::file::{Limits, MORE, Reading};
use crate::data::header;
use crate::data::kinds::Reader;
use crate::data::row::Row;
use arch::{Code, Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The cells of a file, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Names in the header line.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Row>,
    /// Line of the file on which each row starts, 1-based; empty where the file has no lines.
    pub lines: Vec<u64>,
    /// The text, which the spans of errors refer to; without the byte order mark, empty where the file is not text.
    pub text: String,
    /// Whether a column that is not there holds zeros, as in LIBSVM files.
    pub sparse: bool,
    /// Whether the columns of a text have no names of their own.
    pub unnamed: bool,
    /// Byte of the text at which each row starts; empty where cells have no place in it.
    starts: Vec<usize>,
    /// What stands between the cells of a row.
    separator: u8,
}

/// Most columns that are said to be missing.
const MOST_ERRORS: usize = 20;

/// What is looked for between cells, if the user names nothing.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

impl Table {
    /// Read CSV text with a header line; the cells are separated by what separates most of the names in it.
    ///
    /// # Errors
    /// As [`Table::from_separated`].
    pub fn from_csv(text: &[u8]) -> Result<Table, Diagnostic> {
        Table::from_separated(text, &Reading::default())
    }

    /// Rows of a file that is not text, or whose cells have no place in it.
    ///
    /// # Errors
    /// `E-DATA` if there are no rows, `E-LIMIT` if there are too many cells.
    pub fn from_cells(columns: Vec<String>, rows: Vec<Row>, limits: Limits) -> Result<Table, Diagnostic> {
        if rows.is_empty() || columns.is_empty() {
            return Err(Diagnostic::global(Code::Data, "the data file has no rows"));
        }
        check_size(rows.len(), columns.len(), limits)?;
        let (lines, text, starts) = (Vec::new(), String::new(), Vec::new());
        Ok(Table { columns, rows, lines, text, sparse: false, unnamed: false, starts, separator: b',' })
    }

    /// Read text with cells between separators, where none is named what separates most cells of the first line; a cell in double quotes may
    /// contain them. The first line names the columns, or is a sample ([`header`]).
    ///
    /// # Errors
    /// `E-DATA`: no rows, a column name twice, rows of different lengths, or text that is not UTF-8.
    pub fn from_separated(text: &[u8], reading: &Reading) -> Result<Table, Diagnostic> {
        let (text, limits) = (without_mark(text), reading.limits);
        let separator = reading.separator.unwrap_or_else(|| separator_of(text));
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(Diagnostic::global(Code::Data, "the data file is empty")
                .with_help("a data file has one header line with column names, then one line per sample"));
        }
        let header = text.iter().skip_while(|byte| byte.is_ascii_whitespace()).take_while(|&&byte| byte != b'\n');
        check_size(0, header.filter(|&&byte| byte == separator).count() + 1, limits)?;
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.delimiter(separator).trim(csv::Trim::All).has_headers(false).from_reader(text);
        let (mut rows, mut lines, mut starts) = (Vec::<Row>::new(), Vec::new(), Vec::new());
        let (mut line, mut counted, mut columns) = (1, 0, 0);
        for record in reader.records() {
            let record = record.map_err(|error| from_csv_error(&error, columns, text))?;
            columns = record.len();
            // The reader's own line numbers are one behind after CRLF: a record starts there before the LF.
            let start = row_start(text, record.position());
            line += text[counted..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
            counted = start;
            lines.push(line);
            starts.push(start);
            rows.push(record.iter().collect());
            check_size(rows.len() - 1, columns, limits)?;
        }
        let Some(first) = rows.first() else {
            return Err(Diagnostic::global(Code::Data, "the data file has no rows"));
        };
        let named = reading.header.map_or_else(|| header::names(first, &rows[1..]), Ok)?;
        let columns = if named {
            lines.remove(0);
            starts.remove(0);
            rows.remove(0).iter().map(str::to_owned).collect()
        } else {
            header::made_up(columns)
        };
        let mut known = BTreeSet::new();
        if let Some(twice) = columns.iter().find(|column| !known.insert(*column)) {
            return Err(Diagnostic::global(Code::Data, format!("two columns are called `{twice}`")));
        }
        if rows.is_empty() {
            return Err(Diagnostic::global(Code::Data, "the data file has a header but no rows"));
        }
        let text = String::from_utf8_lossy(text).into_owned();
        Ok(Table { columns, rows, lines, text, sparse: false, unnamed: !named, starts, separator })
    }

    /// Add the columns of `names` that a sparse file need not mention, with zeros.
    pub fn complete(&mut self, names: &[String]) {
        if !self.sparse {
            return;
        }
        let known: BTreeSet<&String> = self.columns.iter().collect();
        let missing = names.iter().filter(|name| name.parse::<u32>().is_ok() && !known.contains(name));
        let missing: Vec<String> = missing.cloned().collect();
        for row in &mut self.rows {
            for _ in &missing {
                row.push("0");
            }
        }
        self.columns.extend(missing);
    }

    /// Where a cell stands, for people.
    pub fn place(&self, row: usize, column: usize) -> String {
        let line = self.lines.get(row).map_or_else(String::new, |line| format!(" (line {line})"));
        format!("row {}{line}, column `{}`", row + 1, self.columns[column])
    }

    /// Whether a cell holds nothing, or one of the words for nothing.
    pub fn is_missing(&self, row: usize, column: usize) -> bool {
        is_nothing(&self.rows[row][column])
    }

    /// A cell is missing, and nobody has said what stands in for it.
    pub fn missing(&self, row: usize, column: usize) -> Diagnostic {
        let cell = &self.rows[row][column];
        let what = match cell.parse::<f64>() {
            Ok(_) => format!("`{cell}` is not a finite number"),
            Err(_) if cell.is_empty() => "the cell is empty".to_owned(),
            Err(_) => format!("`{cell}` is not a number"),
        };
        let help = "missing values are refused unless --missing says what they become: mean, median or zero";
        self.wrong(row, column, what).with_help(help)
    }

    /// Where a cell stands in the text.
    fn span(&self, row: usize, column: usize) -> Option<Span> {
        let &start = self.starts.get(row)?;
        let (mut commas, mut quoted, mut from) = (0, false, start);
        for (n, byte) in self.text.bytes().enumerate().skip(start) {
            match byte {
                b'"' => quoted = !quoted,
                byte if !quoted && (byte == self.separator || byte == b'\r' || byte == b'\n') => {
                    if commas == column || byte != self.separator {
                        return Some(Span::new(from, n));
                    }
                    commas += 1;
                    from = n + 1;
                }
                _ => {}
            }
        }
        Some(Span::new(from, self.text.len()))
    }

    /// Something is wrong with a cell.
    pub fn wrong(&self, row: usize, column: usize, what: impl std::fmt::Display) -> Diagnostic {
        let error = Diagnostic::global(Code::Data, format!("{}: {what}", self.place(row, column)));
        Diagnostic { span: self.span(row, column), ..error }
    }

    /// The number of the column with this name.
    ///
    /// # Errors
    /// `E-DATA`: there is none; names the nearest.
    pub fn column(&self, name: &str) -> Result<usize, Diagnostic> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            let missing = Diagnostic::global(Code::Data, format!("the data has no column `{name}`"));
            match nearest(name, &self.columns) {
                Some(near) => missing.with_help(format!("did you mean `{near}`?")),
                None => missing.with_help(format!("its columns are {}", list(&self.columns))),
            }
        })
    }

    /// Numbers of columns, in the order of their names.
    ///
    /// # Errors
    /// As [`Table::column`], for the first names that are missing.
    pub fn columns_of(&self, names: &[String]) -> Result<Vec<usize>, Vec<Diagnostic>> {
        let known: BTreeMap<&str, usize> = (0..).zip(&self.columns).map(|(n, name)| (name.as_str(), n)).collect();
        let (found, missing): (Vec<_>, Vec<_>) =
            names.iter().map(|name| known.get(name.as_str()).copied().ok_or(name)).partition(Result::is_ok);
        let missing = missing.into_iter().filter_map(Result::err).take(MOST_ERRORS);
        let missing: Vec<Diagnostic> = missing.filter_map(|name| self.column(name).err()).collect();
        if missing.is_empty() { Ok(found.into_iter().filter_map(Result::ok).collect()) } else { Err(missing) }
    }

    /// The number in a cell.
    ///
    /// # Errors
    /// `E-DATA` with row, line and column: the cell holds text, nothing, NaN or infinity.
    pub fn number(&self, row: usize, column: usize) -> Result<f64, Diagnostic> {
        let cell = &self.rows[row][column];
        let wrong = match cell.parse::<f64>() {
            Ok(value) if value.is_finite() => return Ok(value),
            Ok(_) if !self.is_missing(row, column) => format!("`{cell}` is not a finite number"),
            Err(_) if !self.is_missing(row, column) => format!("`{cell}` is not a number"),
            _ => return Err(self.missing(row, column)),
        };
        let help = if self.separator != b',' && cell.replacen(',', ".", 1).parse::<f64>().is_ok() {
            "numbers have a decimal point, not a comma"
        } else {
            "every cell of a number column must hold a finite number such as 0.25 or -3e2"
        };
        Err(self.wrong(row, column, wrong).with_help(help))
    }

    /// All numbers of some columns, row by row.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn numbers(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>, Vec<Diagnostic>> {
        self.read(&columns.iter().map(|&column| (column, Reader::Number)).collect::<Vec<_>>(), false)
    }

    /// What some columns mean, row by row; with `gaps` NaN where a cell holds nothing.
    ///
    /// # Errors
    /// `E-DATA` for each column with cells that mean nothing: the first one, and how many there are; for 20 columns at most.
    pub fn read(&self, columns: &[(usize, Reader<'_>)], gaps: bool) -> Result<Vec<Vec<f64>>, Vec<Diagnostic>> {
        let mut wrong: BTreeMap<usize, (Diagnostic, BTreeSet<usize>)> = BTreeMap::new();
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            let mut values = Vec::with_capacity(columns.len());
            for &(column, reader) in columns {
                let value =
                    if gaps && self.is_missing(row, column) { Ok(f64::NAN) } else { reader.read(self, row, column) };
                match value {
                    Ok(value) => values.push(value),
                    Err(error) => {
                        if wrong.len() < MOST_ERRORS || wrong.contains_key(&column) {
                            wrong.entry(column).or_insert_with(|| (error, BTreeSet::new())).1.insert(row);
                        }
                    }
                }
            }
            rows.push(values);
        }
        if wrong.is_empty() {
            return Ok(rows);
        }
        let all = |(first, rows): (Diagnostic, BTreeSet<usize>)| match rows.len() {
            1 => first,
            count => {
                Diagnostic { message: format!("{}; {count} cells of this column are wrong", first.message), ..first }
            }
        };
        Err(wrong.into_values().map(all).collect())
    }
}

fn list(names: &[String]) -> String {
    let mut text = names.iter().take(12).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > 12 {
        text.push_str(", ...");
    }
    text
}

/// The candidate that differs least from `name`, if it is near enough to be a slip.
fn nearest<'a>(name: &str, candidates: &'a [String]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    candidates
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, candidate)| distance <= 1 + candidate.chars().count() / 4)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate.as_str())
}

/// Cells that mean that there is no value, in any case.
const MISSING: [&str; 8] = ["", "?", "na", "n/a", "nan", "null", "none", "-"];

/// Whether a cell holds nothing.
pub fn is_nothing(cell: &str) -> bool {
    MISSING.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// Cells whose memory the name of a column takes: a text of its own.
const NAME: usize = 8;

/// Refuse what would not fit into memory, before its columns have names.
///
/// # Errors
/// `E-LIMIT` with the sizes.
pub fn check_size(rows: usize, columns: usize, limits: Limits) -> Result<(), Diagnostic> {
    let Limits { cells, .. } = limits;
    let message = if rows.saturating_mul(columns) > cells {
        format!("{rows} rows of {columns} columns are more than the {cells} cells that a data file may have")
    } else if columns > cells / NAME {
        format!("{columns} columns are more than the {} that a data file may have", cells / NAME)
    } else {
        return Ok(());
    };
    Err(Diagnostic::global(Code::Limit, message).with_help(MORE))
}

/// What separates the most cells of the first line, outside quotes; the first of equals.
fn separator_of(text: &[u8]) -> u8 {
    let mut counts = [0usize; SEPARATORS.len()];
    let mut quoted = false;
    for &byte in text.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n')) {
        match byte {
            b'"' => quoted = !quoted,
            b'\r' | b'\n' if !quoted => break,
            _ if quoted => {}
            _ => {
                counts
                    .iter_mut()
                    .zip(SEPARATORS)
                    .filter(|(_, known)| *known == byte)
                    .for_each(|(count, _)| *count += 1);
            }
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().zip(SEPARATORS).find(|(count, _)| **count == most).map_or(b',', |(_, separator)| separator)
}

/// The text of a file without the byte order mark.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// Byte at which a record starts: the reader puts it before the line end of the record before.
fn row_start(text: &[u8], position: Option<&csv::Position>) -> usize {
    let position = position.map_or(0, |position| position.byte() as usize).min(text.len());
    position + text[position..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn from_csv_error(error: &csv::Error, columns: usize, text: &[u8]) -> Diagnostic {
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, len, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, the first one has {columns}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            format!("line {} is not UTF-8 text", pos.as_ref().map_or(0, csv::Position::line))
        }
        _ => error.to_string(),
    };
    match error.position() {
        Some(position) => {
            let start = row_start(text, Some(position));
            Diagnostic::new(Code::Data, Span::new(start, start), message)
        }
        None => Diagnostic::global(Code::Data, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        Table::from_csv(text.as_bytes()).unwrap_err().message
    }

    #[test]
    fn cells_and_numbers() {
        let table = Table::from_csv(b"\xef\xbb\xbfa, b ,c\r\n1,2.5,x\r\n-3e2,4,y\r\n").unwrap();
        assert_eq!(table.columns, ["a", "b", "c"]);
        assert_eq!(table.lines, [2, 3]);
        assert_eq!(table.numbers(&[1, 0]).unwrap(), [[2.5, 1.0], [4.0, -300.0]]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(message(""), "the data file is empty");
        assert_eq!(message("a,b\n"), "the data file has a header but no rows");
        assert_eq!(message("a,a\n1,2\n"), "two columns are called `a`");
        assert_eq!(message("a,b\n1,2\n1\n"), "line 3 has 1 cells, the first one has 2");
        let table = Table::from_csv(b"a,b\n1,2\nNaN,\nx,inf\n").unwrap();
        let messages: Vec<String> = table.numbers(&[0, 1]).unwrap_err().into_iter().map(|d| d.message).collect();
        assert_eq!(
            messages,
            [
                "row 2 (line 3), column `a`: `NaN` is not a finite number; 2 cells of this column are wrong",
                "row 2 (line 3), column `b`: the cell is empty; 2 cells of this column are wrong",
            ]
        );
    }

    #[test]
    fn separators_are_found() {
        for (text, cells) in [
            ("a;b;c\n1;2;3\n", 3),
            ("a\tb\n1\t2\n", 2),
            ("a|b\n1|2\n", 2),
            ("\"x;y;z\",b\n1,2\n", 2),
            ("a\n1\n", 1),
            ("a;\"b,c,d\"\n\"1\";2\n", 2),
        ] {
            let table = Table::from_csv(text.as_bytes()).unwrap();
            assert_eq!(table.columns.len(), cells, "{text}");
            assert_eq!(table.number(0, 0), Ok(1.0), "{text}");
        }
        let table = Table::from_csv(b"a;b\n1,5;2\n").unwrap();
        assert_eq!(table.number(0, 0).unwrap_err().help.as_deref(), Some("numbers have a decimal point, not a comma"));
        let span = table.span(0, 1).unwrap();
        assert_eq!(&table.text[span.start..span.end], "2");
        let reading = Reading { separator: Some(b';'), ..Reading::default() };
        assert_eq!(Table::from_separated(b"a,b\n1,2\n", &reading).unwrap().columns, ["a,b"]);
    }

    #[test]
    fn gaps_are_nothing_and_words_for_it() {
        let table = Table::from_csv(b"a,b\n,1\nNA,2\n?,3\n4,nan\n").unwrap();
        let read = table.read(&[(0, Reader::Number), (1, Reader::Number)], true).unwrap();
        let gaps: Vec<Vec<bool>> = read.iter().map(|row| row.iter().map(|value| value.is_nan()).collect()).collect();
        assert_eq!(gaps, [[true, false], [true, false], [true, false], [false, true]]);
        let error = table.number(1, 0).unwrap_err();
        assert!(error.help.is_some_and(|help| help.contains("--missing")));
        let wrong = Table::from_csv(b"a\nfour\ninf\n").unwrap();
        assert_eq!(wrong.read(&[(0, Reader::Number)], true).unwrap_err().len(), 1);
    }

    #[test]
    fn a_text_without_header_loses_no_row() {
        let table = Table::from_csv(b"5.1,3.5,setosa\n4.9,3.0,setosa\n").unwrap();
        assert_eq!((table.columns.clone(), table.rows.len(), table.unnamed), (header::made_up(3), 2, true));
        assert_eq!((table.columns[2].as_str(), table.lines.clone()), ("c3", vec![1, 2]));
        let span = table.span(0, 1).unwrap();
        assert_eq!(&table.text[span.start..span.end], "3.5");
        let said = |header| Table::from_separated(b"1,2\n3,4\n", &Reading { header, ..Reading::default() }).unwrap();
        assert_eq!((said(None).rows.len(), said(Some(true)).rows.len(), said(Some(false)).rows.len()), (1, 1, 2));
    }

    #[test]
    fn cells_have_places() {
        let table = Table::from_csv(b"\xef\xbb\xbfa,b\r\n\"1,5\",2\r\n3,x\r\n").unwrap();
        let cell = |row, column| {
            let span = table.span(row, column).unwrap();
            &table.text[span.start..span.end]
        };
        assert_eq!([cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)], ["\"1,5\"", "2", "3", "x"]);
        let place = |span: Span| arch::diagnostic::line_column(&table.text, span.start);
        assert_eq!(place(table.number(1, 1).unwrap_err().span.unwrap()), (3, 3));
        let uneven = Table::from_csv(b"a,b\n1,2\n1\n").unwrap_err();
        assert_eq!(uneven.span, Some(Span::new(8, 8)));
    }

    #[test]
    fn a_missing_column_names_the_nearest() {
        let table = Table::from_csv(b"age,target\n1,2\n").unwrap();
        let error = table.column("taget").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.help.as_deref()),
            ("the data has no column `taget`", Some("did you mean `target`?"))
        );
    }

    /// A name takes more memory than a cell: 2,500,000 columns are the most, with rows or without.
    #[test]
    fn columns_are_limited_before_they_have_names() {
        use crate::data::{file, npy};
        let told = |bytes: &[u8]| {
            let (error, _) = file::read(bytes, &file::Reading::default()).unwrap_err();
            (error.code, error.message)
        };
        let most = "are more than the 2500000 that a data file may have";
        let csv = format!("a{}\n1\n", ",".repeat(2_500_000));
        assert_eq!(told(csv.as_bytes()), (Code::Limit, format!("2500001 columns {most}")));
        assert_eq!(told(b"1 2500000:1\n"), (Code::Limit, format!("2500001 columns {most}")));
        assert_eq!(told(&npy::write(&[0, 19_999_999], &[])), (Code::Limit, format!("19999999 columns {most}")));
        assert_eq!(told(&npy::write(&[0, 2_500_000], &[])), (Code::Data, "the data file has no rows".to_owned()));
    }

    #[test]
    fn cells_that_are_no_numbers_have_a_place_and_a_reason() {
        let table = Table::from_csv(b"a;b;c\n1;2;3\n\n3;x;4\n4;1,5;6\n").unwrap();
        assert_eq!(table.lines, [2, 4, 5]);
        let error = |row| table.number(row, 1).unwrap_err();
        let span = error(1).span.unwrap();
        assert_eq!(
            (&table.text[span.start..span.end], error(1).message),
            ("x", "row 2 (line 4), column `b`: `x` is not a number".to_owned())
        );
        assert!(error(1).help.is_some_and(|help| help.starts_with("every cell of a number column")));
        assert!(error(2).help.is_some_and(|help| help.starts_with("numbers have a decimal point")));
        let header = (0..25).map(|column| format!("a{column}")).collect::<Vec<_>>().join(",");
        let many =
            Table::from_csv(format!("{header}\n{}", format!("{}x\n", "x,".repeat(24)).repeat(3)).as_bytes()).unwrap();
        let told = many.numbers(&(0..25).collect::<Vec<_>>()).unwrap_err();
        assert_eq!(told.len(), 20);
        assert!(told.iter().all(|error| error.message.ends_with("; 3 cells of this column are wrong")));
        let error = Table::from_csv(b"a\n1\n\xff\n").unwrap_err();
        assert_eq!(error.message, "line 3 is not UTF-8 text");
    }

    /// Of 11 letters three may differ.
    #[test]
    fn a_column_that_is_missing_may_be_a_slip() {
        let table = |names: &[&str]| {
            Table::from_csv(format!("{}\n{}1\n", names.join(","), "1,".repeat(names.len() - 1)).as_bytes()).unwrap()
        };
        let help = |name: &str, names: &[&str]| table(names).column(name).unwrap_err().help.unwrap();
        assert_eq!(help("Temperaxyze", &["temperature"]), "did you mean `temperature`?");
        assert_eq!(help("temperwxyze", &["temperature"]), "its columns are `temperature`");
        let names: Vec<String> = (0..13).map(|n| format!("c{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let twelve = names[..12].iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        assert_eq!(help("temperature", &names[..12]), format!("its columns are {twelve}"));
        assert_eq!(help("temperature", &names), format!("its columns are {twelve}, ..."));
    }

    #[test]
    fn separators_are_those_of_the_header_outside_of_quotes() {
        for (text, separator) in
            [("\"a;b;c\",d\n1,2\n", b','), ("\"a\nb\";c\n1;2\n", b';'), ("a,b\n1;2;3;4\n", b','), ("\n\na|b\n", b'|')]
        {
            assert_eq!(separator_of(text.as_bytes()), separator, "{text}");
        }
    }
}
