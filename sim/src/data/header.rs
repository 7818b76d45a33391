//! Header detection: does the first line of a text name the columns, or is it the first sample?
//!
//! | first cell of a column | below it | says |
//! |---|---|---|
//! | a text | numbers | names |
//! | a number | numbers | a sample, unless all of them count: `0,1,2,...` |
//! | a text | texts, and the same one again | a sample |
//!
//! Without any of these the line names the columns.

use crate::data::row::Row;
use crate::data::table::is_nothing;
use arch::{Code, Diagnostic};

/// Rows that are looked at.
const ROWS: usize = 200;

/// Whether the first line names the columns.
///
/// # Errors
/// `E-DATA`: columns contradict each other.
pub fn names(first: &Row, rows: &[Row]) -> Result<bool, Diagnostic> {
    let (mut names, mut samples, mut counted) = (Vec::new(), Vec::new(), Vec::new());
    for column in 0..first.len() {
        let cell = &first[column];
        let below = || {
            rows.iter()
                .take(ROWS)
                .filter(|row| column < row.len())
                .map(|row| &row[column])
                .filter(|cell| !is_nothing(cell))
        };
        let count = below().count();
        let numbers = below().filter(|cell| is_number(cell)).count();
        let numeric = count > 0 && 2 * numbers > count;
        match cell.parse::<f64>() {
            _ if is_nothing(cell) => {}
            Ok(value) if numeric || count == 0 => {
                counted.push(value);
                samples.push(column);
            }
            Err(_) if numeric => names.push(column),
            Err(_) if below().any(|other| other == cell) => samples.push(column),
            _ => {}
        }
    }
    let whole = counted.iter().all(|value| libm::trunc(*value) == *value);
    let counts = whole && counted.len() > 1 && counted.windows(2).all(|pair| pair[1] - pair[0] == 1.0);
    if samples.is_empty() || counts && counted.len() == samples.len() {
        return Ok(true);
    }
    let Some(&name) = names.first() else { return Ok(false) };
    let (sample, name) = (&first[samples[0]], &first[name]);
    let message = format!("the first line may name the columns, as `{name}` says, or be a sample, as `{sample}` says");
    Err(Diagnostic::global(Code::Data, message).with_help("say which with --header yes or --header no"))
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

/// Names of columns that have none.
pub fn made_up(count: usize) -> Vec<String> {
    (1..=count).map(|column| format!("c{column}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_told_from_samples() {
        let says = |text: &str| {
            let mut rows: Vec<Row> = text.lines().map(|line| line.split(',').collect()).collect();
            let first = rows.remove(0);
            names(&first, &rows).map_err(|wrong| wrong.message)
        };
        for (text, expected) in [
            ("a,b,y\n1,2,u\n3,4,v", true),
            ("a,b\nx,y\nz,w", true),
            // UCI: numbers with a class, letters only, a gap.
            ("5.1,3.5,Iris-setosa\n4.9,3.0,Iris-setosa", false),
            ("p,x,s\ne,x,s\np,y,n", false),
            ("?,3,yes\n2,4,no", false),
            ("39, State-gov, 77516\n50, Private, 83311", false),
            // Columns that are counted, as pandas names them.
            ("0,1,2\n0.5,0.25,1\n1,2,3", true),
            ("0,1,class\n0.5,0.25,u\n1,2,v", true),
            ("id,1990,1991\nu,5,6\nv,7,8", true),
            ("1.5,2.5\n2,3", false),
        ] {
            assert_eq!(says(text), Ok(expected), "{text}");
        }
        assert!(says("a,0.5\n1,2\n3,4").unwrap_err().contains("`a`"));
    }
}
