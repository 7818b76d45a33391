//! Bytes as a data set: read it, ask for every number, and for the place of every cell.

use sim::data::file::{Reading, read as read_file};

/// Nothing here may panic; every message points into the text.
pub(crate) fn read(bytes: &[u8]) {
    for separator in [None, Some(b';')] {
        let reading = Reading { separator, ..Reading::default() };
        let table = match read_file(bytes, &reading) {
            Ok(table) => table,
            Err((diagnostic, text)) => {
                let span = diagnostic.span.unwrap_or_default();
                assert!(span.start <= span.end && span.end <= text.len(), "a span outside the text: {diagnostic:?}");
                continue;
            }
        };
        // The place of a cell is searched from the start of its row: enough of them show whether that works.
        for row in 0..table.rows.len().min(64) {
            for column in 0..table.rows[row].len().min(64) {
                let span = table.wrong(row, column, "asked").span.unwrap_or_default();
                assert!(span.start <= span.end && span.end <= table.text.len(), "a span outside the text");
                let _ = (table.number(row, column), table.is_missing(row, column));
            }
        }
    }
}
