//! The cells of one row, one behind the other in one text: a table has millions of them, and a text of its own for each would take
//! more memory than what stands in it.

use std::ops::Index;

/// Cells in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    text: String,
    /// Where each cell ends.
    ends: Vec<u32>,
}

impl Row {
    /// How many cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One more cell. Files are smaller than 4 GiB.
    pub fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len() as u32);
    }

    /// The cells.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|column| &self[column])
    }

    /// Give back what was taken ahead.
    fn fitted(mut self) -> Row {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }
}

impl Index<usize> for Row {
    type Output = str;

    fn index(&self, column: usize) -> &str {
        let start = if column == 0 { 0 } else { self.ends[column - 1] };
        &self.text[start as usize..self.ends[column] as usize]
    }
}

impl<S: AsRef<str>> FromIterator<S> for Row {
    fn from_iter<I: IntoIterator<Item = S>>(cells: I) -> Row {
        let mut row = Row::default();
        cells.into_iter().for_each(|cell| row.push(cell.as_ref()));
        row.fitted()
    }
}

impl<const N: usize> PartialEq<[&str; N]> for Row {
    fn eq(&self, other: &[&str; N]) -> bool {
        self.iter().eq(other.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_apart() {
        let mut row: Row = ["", "a", "bc", ""].into_iter().collect();
        row.push("\u{fc}");
        assert_eq!(row, ["", "a", "bc", "", "\u{fc}"]);
        assert_eq!((row.len(), &row[2], &row[4]), (5, "bc", "\u{fc}"));
        assert!(row != ["", "a", "bc", ""] && !row.is_empty() && Row::default().is_empty());
    }
}
