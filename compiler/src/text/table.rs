//! Function tables as text: `table 0 sigmoid word 16 q12 -> q15 log2 6 at 0`. The entries follow from the rest.

use super::Cursor;
use super::token::Kind;
use arch::function::{Function, FunctionTable};
use arch::{Code, Diagnostic};

/// One line, without its end.
pub fn table(number: usize, table: &FunctionTable) -> String {
    let FunctionTable { function, input_fraction, output_fraction, word, usage, .. } = table;
    let (log2, base) = (usage.log2, usage.base);
    format!("table {number} {function} word {word} q {input_fraction} -> q {output_fraction} log2 {log2} at {base}")
}

/// The table of a line, of which `table` has been read.
///
/// # Errors
/// `E-SYNTAX`, and `E-UNDEF` for a function that no table holds.
pub fn read(cursor: &mut Cursor) -> Result<FunctionTable, Diagnostic> {
    let _: usize = cursor.integer()?;
    let span = cursor.peek().span;
    let Kind::Word { text, .. } = cursor.peek().kind.clone() else { return Err(cursor.expected("a function")) };
    let known = Function::ALL.iter().find(|function| function.has_table() && function.to_string() == text);
    let Some(&function) = known else {
        return Err(Diagnostic::new(Code::Undef, span, format!("unknown function `{text}`")));
    };
    cursor.advance();
    cursor.expect("word")?;
    let word: u32 = cursor.integer()?;
    cursor.expect("q")?;
    let input: i32 = cursor.integer()?;
    cursor.expect("->")?;
    cursor.expect("q")?;
    let output: i32 = cursor.integer()?;
    cursor.expect("log2")?;
    let log2: u32 = cursor.integer()?;
    if !(8..=32).contains(&word) || !(1..word - 1).contains(&log2) {
        return Err(Diagnostic::new(
            Code::Syntax,
            span,
            "words have 8 to 32 bits, and a table fewer than 2^(bits - 1) segments",
        ));
    }
    cursor.expect("at")?;
    let mut table = FunctionTable::build(function, word, input, output, log2);
    table.usage.base = cursor.integer()?;
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_comes_back() {
        let functions = Function::ALL.iter().copied().filter(|function| function.has_table());
        for (number, function) in functions.enumerate() {
            let mut built = FunctionTable::build(function, 16, 11, 9, 4);
            built.usage.base = 12;
            let mut cursor = Cursor::new(&table(number, &built), |_| false).expect("tokens");
            cursor.expect("table").expect("the first word");
            assert_eq!(read(&mut cursor), Ok(built));
        }
    }
}
