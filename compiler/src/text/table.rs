//! Function tables as text: `table 0 sigmoid word 16 q 12 -> q 15 log2 6 at 0`. The entries follow from the rest, but for tables that are made
//! for a few words only: `table 1 exp word 16 q 3 -> q 9 log2 7 shift 1 at 64 = [(1, 0), (1, 1), ...]`.

use super::Cursor;
use super::token::Kind;
use super::write;
use arch::function::{Function, FunctionTable};
use arch::{Code, Diagnostic};

/// One line, without its end.
pub fn table(number: usize, table: &FunctionTable) -> String {
    let FunctionTable { function, input_fraction, output_fraction, word, usage, .. } = table;
    let (log2, base) = (usage.log2, usage.base);
    let shift = if usual(table).usage == *usage { String::new() } else { format!(" shift {}", usage.segment_shift) };
    let entries = entries(table);
    format!(
        "table {number} {function} word {word} q {input_fraction} -> q {output_fraction} log2 {log2}{shift} at {base}{entries}"
    )
}

/// The table for all words of its formats with as many segments, at the same place.
pub fn usual(table: &FunctionTable) -> FunctionTable {
    let FunctionTable { function, word, input_fraction, output_fraction, usage, .. } = table;
    let mut built = FunctionTable::build(*function, *word, *input_fraction, *output_fraction, usage.log2);
    built.usage.base = usage.base;
    built
}

/// ` = [(base, delta), ...]`, if the entries are not the usual ones.
pub fn entries(table: &FunctionTable) -> String {
    if usual(table).entries == table.entries {
        return String::new();
    }
    format!(" = [{}]", write::list(&table.entries, ", ", |(base, delta)| format!("({base}, {delta})")))
}

/// Entries, where there are some.
///
/// # Errors
/// `E-SYNTAX`.
pub fn read_entries(cursor: &mut Cursor, table: &mut FunctionTable) -> Result<(), Diagnostic> {
    if cursor.take("=") {
        table.entries = cursor.list(|cursor| {
            cursor.expect("(")?;
            let base = cursor.integer()?;
            cursor.expect(",")?;
            let delta = cursor.integer()?;
            cursor.expect(")")?;
            Ok((base, delta))
        })?;
    }
    Ok(())
}

/// Words of a segment, as a power of two, behind the word that announces them.
///
/// # Errors
/// `E-SYNTAX` for segments that are more than all words.
pub fn read_shift(cursor: &mut Cursor, table: &mut FunctionTable) -> Result<(), Diagnostic> {
    let (place, shift): (_, u32) = (cursor.peek().span, cursor.integer()?);
    let (log2, word) = (table.usage.log2, table.word);
    if shift > word - log2 {
        let message = format!("2^{log2} segments of 2^{shift} words are more than all words of {word} bits");
        return Err(Diagnostic::new(Code::Syntax, place, message));
    }
    table.usage.segment_shift = shift;
    Ok(())
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
    let mut table = FunctionTable::build(function, word, input, output, log2);
    if cursor.take("shift") {
        read_shift(cursor, &mut table)?;
    }
    cursor.expect("at")?;
    table.usage.base = cursor.integer()?;
    read_entries(cursor, &mut table)?;
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
            assert_eq!(read(&mut cursor), Ok(built.clone()));
            let (few, _) = FunctionTable::closest(function, 16, (11, 9), (100, 900), 64);
            let mut cursor = Cursor::new(&table(number, &few), |_| false).expect("tokens");
            cursor.expect("table").expect("the first word");
            assert_eq!(read(&mut cursor), Ok(few));
        }
    }
}
