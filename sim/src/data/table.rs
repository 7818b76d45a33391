//! CSV text to cells. Numbers are read column by column, when something wants numbers.

use arch::{Code, Diagnostic, Span};

/// The cells of a file, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Names in the header line.
    pub columns: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Line of the file on which each row starts, 1-based.
    pub lines: Vec<u64>,
    /// The text, which the spans of errors refer to; without the byte order mark.
    pub text: String,
    /// Byte of the text at which each row starts.
    starts: Vec<usize>,
}

impl Table {
    /// Read CSV text with a header line.
    ///
    /// # Errors
    /// `E-DATA`: no header, no rows, a column name twice, rows of different lengths, or text that is no UTF-8.
    pub fn from_csv(text: &[u8]) -> Result<Table, Diagnostic> {
        let text = without_mark(text);
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(Diagnostic::global(Code::Data, "the data file is empty")
                .with_help("a data file has one header line with column names, then one line per sample"));
        }
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
        let columns: Vec<String> = match reader.headers() {
            Ok(header) => header.iter().map(str::to_owned).collect(),
            Err(error) => return Err(from_csv_error(&error, &[], text)),
        };
        for (n, column) in columns.iter().enumerate() {
            if columns[..n].contains(column) {
                return Err(Diagnostic::global(Code::Data, format!("two columns are called `{column}`")));
            }
        }
        if columns.iter().all(|column| column.parse::<f64>().is_ok()) {
            return Err(Diagnostic::global(
                Code::Data,
                "the first line holds numbers where the column names should be",
            )
            .with_help("put a header line before the first sample"));
        }
        let (mut rows, mut lines, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut line, mut counted) = (1, 0);
        for record in reader.records() {
            let record = record.map_err(|error| from_csv_error(&error, &columns, text))?;
            // The reader's own line numbers are one behind after CRLF: a record starts there before the LF.
            let start = row_start(text, record.position());
            line += text[counted..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
            counted = start;
            lines.push(line);
            starts.push(start);
            rows.push(record.iter().map(str::to_owned).collect());
        }
        if rows.is_empty() {
            return Err(Diagnostic::global(Code::Data, "the data file has a header but no rows"));
        }
        Ok(Table { columns, rows, lines, text: String::from_utf8_lossy(text).into_owned(), starts })
    }

    /// Where a cell stands in the text.
    pub fn span(&self, row: usize, column: usize) -> Span {
        let start = self.starts[row];
        let (mut commas, mut quoted, mut from) = (0, false, start);
        for (n, byte) in self.text.bytes().enumerate().skip(start) {
            match byte {
                b'"' => quoted = !quoted,
                b',' | b'\r' | b'\n' if !quoted => {
                    if commas == column || byte != b',' {
                        return Span::new(from, n);
                    }
                    commas += 1;
                    from = n + 1;
                }
                _ => {}
            }
        }
        Span::new(from, self.text.len())
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

    /// The number in a cell.
    ///
    /// # Errors
    /// `E-DATA` with row, line and column: the cell holds text, nothing, NaN or infinity.
    pub fn number(&self, row: usize, column: usize) -> Result<f64, Diagnostic> {
        let cell = &self.rows[row][column];
        let wrong = match cell.parse::<f64>() {
            Ok(value) if value.is_finite() => return Ok(value),
            Ok(_) => format!("`{cell}` is not a finite number"),
            Err(_) if cell.is_empty() => "the cell is empty".to_owned(),
            Err(_) => format!("`{cell}` is not a number"),
        };
        let place = format!("row {} (line {}), column `{}`", row + 1, self.lines[row], self.columns[column]);
        Err(Diagnostic::new(Code::Data, self.span(row, column), format!("{place}: {wrong}"))
            .with_help("every cell of a number column must hold a finite number such as 0.25 or -3e2"))
    }

    /// All numbers of some columns, row by row. Collects up to 20 errors.
    ///
    /// # Errors
    /// One `E-DATA` per cell that is no number.
    pub fn numbers(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>, Vec<Diagnostic>> {
        let mut errors = Vec::new();
        let mut rows = Vec::with_capacity(self.rows.len());
        for row in 0..self.rows.len() {
            let mut values = Vec::with_capacity(columns.len());
            for &column in columns {
                match self.number(row, column) {
                    Ok(value) => values.push(value),
                    Err(error) if errors.len() < 20 => errors.push(error),
                    Err(_) => {}
                }
            }
            rows.push(values);
        }
        if errors.is_empty() { Ok(rows) } else { Err(errors) }
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

/// The text of a file without the byte order mark.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
}

/// Byte at which a record starts: the reader puts it before the line end of the record before.
fn row_start(text: &[u8], position: Option<&csv::Position>) -> usize {
    let position = position.map_or(0, |position| position.byte() as usize).min(text.len());
    position + text[position..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn from_csv_error(error: &csv::Error, columns: &[String], text: &[u8]) -> Diagnostic {
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, len, .. } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, the header has {}", columns.len())
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
        assert_eq!(message("1,2\n3,4\n"), "the first line holds numbers where the column names should be");
        assert_eq!(message("a,b\n1,2\n1\n"), "line 3 has 1 cells, the header has 2");
        let table = Table::from_csv(b"a,b\n1,2\nNaN,\nx,inf\n").unwrap();
        let messages: Vec<String> = table.numbers(&[0, 1]).unwrap_err().into_iter().map(|d| d.message).collect();
        assert_eq!(
            messages,
            [
                "row 2 (line 3), column `a`: `NaN` is not a finite number",
                "row 2 (line 3), column `b`: the cell is empty",
                "row 3 (line 4), column `a`: `x` is not a number",
                "row 3 (line 4), column `b`: `inf` is not a finite number",
            ]
        );
    }

    #[test]
    fn cells_have_places() {
        let table = Table::from_csv(b"\xef\xbb\xbfa,b\r\n\"1,5\",2\r\n3,x\r\n").unwrap();
        let cell = |row, column| {
            let span = table.span(row, column);
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
}
