//! A table and its charts as a page.

use super::rendered;
use crate::Failure;
use minijinja::{Value as Inserted, context};
use serde::Serialize;

/// A cell of a table.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// Whether that is a number, or several.
    pub number: bool,
}

/// A table with its charts.
#[derive(Debug)]
pub struct Table<'a> {
    /// What it is about.
    pub title: &'a str,
    /// A line below that.
    pub about: &'a str,
    /// What the table's words mean.
    pub notes: &'a str,
    /// Names of its columns.
    pub heads: Vec<Cell>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// Charts ([`super::charts::lines`]), and what stands below each.
    pub pictures: Vec<(String, &'static str)>,
}

impl Table<'_> {
    /// For browsers.
    ///
    /// # Errors
    /// The template is wrong: a bug of ours.
    pub fn html(&self) -> Result<String, Failure> {
        let drawn = |(svg, below): &(String, &str)| context! { svg => Inserted::from_safe_string(svg.clone()), below };
        let Table { title, about, notes, heads, rows, pictures } = self;
        let pictures: Vec<Inserted> = pictures.iter().map(drawn).collect();
        rendered(include_str!("table.html"), context! { title, about, notes, heads, rows, pictures })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_pictures_are_not() {
        let cell = |text: &str, number| Cell { text: text.to_owned(), number };
        let table = Table {
            title: "<b>",
            about: "a & b",
            notes: "",
            heads: vec![cell("name", false), cell("count", true)],
            rows: vec![vec![cell("<script>", false), cell("3", true)]],
            pictures: vec![("<svg></svg>".to_owned(), "below")],
        };
        let html = table.html().unwrap();
        assert!(
            html.contains("<h1>&lt;b&gt;</h1>") && html.contains("a &amp; b") && !html.contains("<script"),
            "{html}"
        );
        assert!(html.contains("<figure><svg></svg><figcaption>below</figcaption></figure>"), "{html}");
        assert!(html.contains("<th class=\"n\">count</th>") && html.contains("<td class=\"n\">3</td>"), "{html}");
        assert!(html.contains("--paper: #fff"), "it has the style of the other pages");
    }
}
