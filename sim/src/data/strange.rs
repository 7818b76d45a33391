//! Columns that a training can hardly use, although every cell is a number: reported, never changed.
//!
//! | rows of a column | is warnings because |
//! |---|---|
//! | one value so far from the others that it makes up their deviation | scaled, the others are the same number |
//! | values that are not 0 and all below 1e-300 | nearly all of their bits are lost |
//! | each of n whole numbers in a row once | it numbers the rows |

use arch::{Code, Diagnostic};

/// Rows from which on whole numbers in a row are no accident.
const LEAST_NUMBERED: usize = 20;

/// By what one value has to widen the deviation.
const FAR: f64 = 1e6;

/// A value this large is warnings even where the others are all the same.
const HUGE: f64 = 1e30;

/// What is strange about columns of features, whose rows are `rows`; NaN is a gap. `place` says where a cell stands.
pub fn columns(names: &[String], rows: &[Vec<f64>], place: &dyn Fn(usize, usize) -> String) -> Vec<Diagnostic> {
    let warnings = |(column, name): (usize, &String)| {
        let cells: Vec<(usize, f64)> =
            rows.iter().map(|row| row[column]).enumerate().filter(|(_, value)| !value.is_nan()).collect();
        let values: Vec<f64> = cells.iter().map(|&(_, value)| value).collect();
        let warn = |message: String| {
            Diagnostic::global(Code::WarnData, message).with_help(format!("--drop {name} leaves the column out"))
        };
        if let Some(at) = far(&values) {
            let (row, value) = cells[at];
            return Some(warn(format!(
                "{}: {value:e} is so far from the others that scaling makes them one number",
                place(row, column)
            )));
        }
        if values.iter().any(|&value| value != 0.0) && values.iter().all(|value| value.abs() < 1e-300) {
            return Some(warn(format!("column `{name}` holds values below 1e-300, of which most bits are lost")));
        }
        numbers_rows(&values)
            .then(|| warn(format!("column `{name}` numbers the rows: each of {} whole numbers once", values.len())))
    };
    names.iter().enumerate().filter_map(warnings).collect()
}

/// The number of the value that is far from all others, if there is one.
fn far(values: &[f64]) -> Option<usize> {
    let largest = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if values.len() < 3 || largest == 0.0 {
        return None;
    }
    // Of parts of the largest, so that squares stay numbers.
    let parts = || values.iter().map(|value| value / largest);
    let mean = parts().sum::<f64>() / values.len() as f64;
    let away = |value: f64| libm::fabs(value / largest - mean);
    let at = (0..values.len()).max_by(|&a, &b| away(values[a]).total_cmp(&away(values[b])))?;
    let others = || values.iter().enumerate().filter(|&(n, _)| n != at).map(|(_, value)| value / largest);
    let count = (values.len() - 1) as f64;
    let middle = others().sum::<f64>() / count;
    let spread = others().map(|value| libm::fabs(value - middle)).fold(0.0, f64::max);
    let gap = libm::fabs(values[at] / largest - middle);
    let alone = spread == 0.0 && largest < HUGE;
    (gap > FAR * spread && !alone).then_some(at)
}

/// Whether these are n whole numbers in a row, in any order.
fn numbers_rows(values: &[f64]) -> bool {
    if values.len() < LEAST_NUMBERED || values.iter().any(|value| libm::trunc(*value) != *value) {
        return false;
    }
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut seen = vec![false; values.len()];
    values.iter().all(|value| {
        let at = value - least;
        at < values.len() as f64 && !std::mem::replace(&mut seen[at as usize], true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(column: &[f64]) -> Vec<String> {
        let rows: Vec<Vec<f64>> = column.iter().map(|&value| vec![value]).collect();
        let place = |row: usize, _: usize| format!("row {}", row + 1);
        columns(&["a".to_owned()], &rows, &place).into_iter().map(|warning| warning.message).collect()
    }

    #[test]
    fn what_no_training_uses_is_told() {
        assert_eq!(
            warnings(&[1.0, 2.0, 1e308, 3.0]),
            ["row 3: 1e308 is so far from the others that scaling makes them one number"]
        );
        assert_eq!(warnings(&[0.0, 0.0, 0.0, 1e308]).len(), 1);
        assert_eq!(
            warnings(&[1e-310, 2e-310, 0.0]),
            ["column `a` holds values below 1e-300, of which most bits are lost"]
        );
        let permuted: Vec<f64> = (0..50).map(|n| f64::from(n * 7 % 50 + 100)).collect();
        assert_eq!(warnings(&permuted), ["column `a` numbers the rows: each of 50 whole numbers once"]);
    }

    #[test]
    fn ordinary_columns_are_not() {
        // A rare category, an outlier as data has them, counts that come twice, few rows, gaps, nothing.
        let mut twice: Vec<f64> = (0..50).map(f64::from).collect();
        twice[7] = 8.0;
        let few: Vec<f64> = (0..19).map(f64::from).collect();
        for column in [
            &[0.0, 0.0, 0.0, 1.0][..],
            &[1.0, 2.0, 3.0, 999_999.0],
            &twice,
            &few,
            &[f64::NAN, 1.0, 1.5],
            &[],
            &[0.0; 30],
        ] {
            assert_eq!(warnings(column), Vec::<String>::new(), "{column:?}");
        }
    }
}
