//! The table of functions as a page of the manual: docs/languages/functions.md.

use super::{Function, Hardware};
use std::fmt::Write;

const HEAD: &str = "\
# Functions

Generated from the table of functions (`arch/src/function/rows.rs`) by `cargo run -p arch --example functions`; a test compares. A dash: the
language does not have the function; of ONNX, that no operator without settings is this function (docs/models.md has all). Derivatives are by each argument; `y` is the value, and `a < b` is 1 or 0. On the grid a function is a
*table* with linear interpolation, the *rounding* of an accumulator, by binary *digits*, or written out by the formula that stands there;
*golden only* means that programs with it evaluate in 64-bit arithmetic, and the back end refuses them with E-BACKEND.

|function|TABLA|Tensor Comprehensions|Tile|ONNX|arguments|derivative|on the grid|
|---|---|---|---|---|---|---|---|
";

/// The page.
pub fn page() -> String {
    let spelled = |names: &[&str]| if names.is_empty() { "-".to_owned() } else { code(names) };
    Function::ALL.iter().fold(HEAD.to_owned(), |mut page, &function| {
        let grid = match function.hardware() {
            Hardware::Table(_) => "table".to_owned(),
            Hardware::WrittenOut(formula) => code(&[compact(formula)]),
            Hardware::Rounding => "rounding".to_owned(),
            Hardware::Digits => "digits".to_owned(),
            Hardware::None => "golden only".to_owned(),
        };
        let domains = function.domain();
        let _ = writeln!(
            page,
            "|`{function}({})`|{}|{}|{}|{}|{domains}|{}|{grid}|",
            function.arguments().join(", "),
            spelled(function.in_tabla()),
            spelled(function.in_comprehensions()),
            spelled(function.in_tile()),
            spelled(function.in_onnx()),
            code(&function.derivatives().iter().map(|formula| compact(formula)).collect::<Vec<_>>()),
        );
        page
    })
}

/// A formula without blanks, which makes narrow columns.
fn compact(formula: &str) -> String {
    formula.replace(' ', "")
}

fn code(words: &[impl std::fmt::Display]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    const RUN: &str = "cargo run -p arch --example functions > docs/languages/functions.md";

    #[test]
    fn the_page_is_that_of_the_rows() {
        let (found, expected) = (include_str!("../../../docs/languages/functions.md"), super::page());
        for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
            assert_eq!(found, expected, "docs/languages/functions.md:{}: run {RUN}", line + 1);
        }
        assert_eq!(found.len(), expected.len(), "docs/languages/functions.md has all lines: run {RUN}");
    }
}
