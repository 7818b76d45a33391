//! Text form of fixed-point IR: printed by [`Display`](std::fmt::Display), read back by [`FromStr`](std::str::FromStr) to the same value.
//!
//! ```text
//! word 16
//! accumulator 48
//! input x[3]: q14
//! state w[3]: q13
//! parameter p[2]: q0 = [1, -2]
//! temporary h: q11
//! output a: q15
//! table sigmoid#0: q11 -> q15, 2^6 segments at 0
//!
//! h = round(+ w[i] * x[i]) >> 16  over i in 0..3                                   @ 80..98 as h
//! a = sigmoid#0(h)
//! w[i] = round(w[i] << 16 - a * x[i] * 2^-3) >> 16  for i in 0..3
//! c = negative(h << 2 - y * 1:q0)
//! s = round(+ h * h) >> 7 within ranges
//! e = round(+ (x[i] - y[i])^2) >> 16  over i in 0..3
//! m = round(0:q14 max x[i] * 1:q0)  over i in 0..3
//! p = product(x[i]) >> 14 from 16384  over i in 0..3
//! q = quotient(a << 12 / h)
//! n = quotient_down(a / h)
//! name h = h
//! ```
//!
//! `q13` is the number of bits after the binary point. A multiply-add is `finish(start << align COMBINE a * b * 2^scale) >> shift` with the
//! combinations `+`, `-`, `max`, `min`, and may have a squared difference in the place of the product; what is absent is not written: no start, an alignment, scale or shift of 0, no product. `19661:q16`
//! is a constant word. `within ranges` is [`SumBound::Ranges`](crate::fixed::SumBound). A table is that which [`FunctionTable::build`](arch::function::FunctionTable::build) makes of its line; any other has its entries behind it.
//! Elements, loops and origins are written as in tensor IR.

mod parse;
mod print;

use super::Finish;
use crate::fixed::Role;
use arch::division::Rounding;
use arch::function::Function;
use arch::isa::{Combine, UNLIMITED};

/// Words of declarations, with the role; parameters have words, too.
const ROLES: [(&str, Role); 4] =
    [("input", Role::Input), ("state", Role::State), ("temporary", Role::Temporary), ("output", Role::Output)];

/// The other words that are names in quotes only.
const WORDS: &[&str] = &[
    "parameter",
    "word",
    "accumulator",
    "table",
    "name",
    "for",
    "over",
    "in",
    "limit",
    "as",
    "at",
    "from",
    "max",
    "min",
    "segments",
    "within",
];

/// Whether a word means something in this form.
fn reserved(word: &str) -> bool {
    ROLES.iter().any(|(role, _)| *role == word) || WORDS.contains(&word)
}

/// Signs between start and product.
const COMBINES: [(&str, Combine); 4] =
    [("+", Combine::Add), ("-", Combine::Subtract), ("max", Combine::Maximum), ("min", Combine::Minimum)];

/// How an accumulator becomes a word.
const FINISHES: [(&str, Finish); 5] = [
    ("round", Finish::Round),
    ("negative", Finish::Negative),
    ("positive", Finish::Positive(UNLIMITED)),
    ("nearest", Finish::Whole(Rounding::Nearest)),
    ("floor", Finish::Whole(Rounding::Down)),
];

/// The function of a name that a table can hold.
fn function(name: &str) -> Option<Function> {
    Function::ALL.iter().copied().find(|function| function.has_table() && function.name() == name)
}

#[cfg(test)]
mod tests {
    use crate::fixed::{Kind, Program};
    use arch::Code;

    const ALL: &str = "\
word 16
accumulator 48
input x[3]: q14  @ 3..9
state w[3]: q13
parameter p[2]: q0 = [1, -2]
temporary h: q11
output a: q15
temporary \"table\": q-3
table sigmoid#0: q11 -> q15, 2^6 segments at 0
table log#1: q4 -> q10, 2^3 segments at 64

h = round(+ w[i] * x[i]) >> 16  over i in 0..3  @ 80..98 as h, \"max\"
a = sigmoid#0(h)
w[i] = round(w[i] << 16 - a * x[2*i - 1] * 2^-3) >> 16  for i in -1..3
a = negative(-3:q2 << 2 - h * -1:q-4)
a = round(0:q14 max x[i] * 1:q0)  over i in 0..3
a = round(min p[i#0] * x[i#1]) >> 1  for i#0 in 0..2  over i#1 in 0..3
a = round() within ranges
h = round(h << 3 - (x[i] - -3:q14)^2 * 2^-4) >> 21  over i in 0..3
a = negative(+ (w[2] - w[0])^2)
a = round(h)
a = product(x[i]) >> 14 from 16384  over i in 0..3
a = quotient(h << 12 / a)
\"table\" = quotient_down(h / -7:q0)
name h = h
name \"odd name\" = a
";

    #[test]
    fn everything_comes_back() {
        let program: Program = ALL.parse().unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(program.to_string(), ALL);
        assert_eq!(program.to_string().parse(), Ok(program.clone()));
        assert!(matches!(&program.operations[3].kind, Kind::MultiplyAdd { start: Some(_), align: 2, shift: 0, .. }));
        assert_eq!(program.tables[1].entries.len(), 120, "8 segments in each of 15 octaves");
    }

    #[test]
    fn tables_of_other_entries_have_them_written() {
        let mut program: Program = ALL.parse().expect("a good text");
        program.tables[0].entries[3] = (-7, 5);
        let text = program.to_string();
        assert!(text.contains("2^6 segments at 0 = [(") && text.contains("(-7, 5)"), "{text}");
        assert_eq!(text.parse(), Ok(program));
    }

    #[test]
    fn mistakes_are_told_where_they_are() {
        let start = "word 16\naccumulator 48\ntemporary u: q2\n";
        for (line, code, words, place) in [
            ("input u: q3", Code::Redef, "two tensors are named `u`", "u"),
            ("input v", Code::Syntax, "expected `:`, found the end of the line", ""),
            ("input v: r3", Code::Syntax, "expected bits after the binary point, such as `q14`, found `r3`", "r3"),
            ("u = v", Code::Undef, "no operation is named `v`", "v"),
            ("u = round(v)", Code::Undef, "no tensor is named `v`", "v"),
            ("u = sigmoid#0(u)", Code::Undef, "there is no table sigmoid#0", "sigmoid"),
            ("table sine#0: q1 -> q1, 2^3 segments at 0", Code::Undef, "no table can hold the function `sine`", "sine"),
            ("table sigmoid#1: q1 -> q1, 2^3 segments at 0", Code::Syntax, "this is table 0", "1"),
            ("table sigmoid#0: q1 -> q1, 2^15 segments at 0", Code::Syntax, "a table has 2^1 to 2^14 segments", "15"),
            ("u = round(u + )", Code::Syntax, "expected an element or a constant, found `)`", ")"),
            ("u = round(u ? u)", Code::Syntax, "expected `)`, found `?`", "?"),
        ] {
            let text = format!("{start}{line}");
            let error = text.parse::<Program>().expect_err(line);
            assert_eq!((error.code, error.message.as_str()), (code, words), "{line}");
            let span = error.span.expect("a place");
            assert_eq!(text[span.start..span.end].trim(), place, "{line}");
        }
        for line in ["input v: q99999", "input v: q-99999", "u = round(u << 99999)", "u = round(+ u * u * 2^99999)"] {
            assert_eq!(format!("{start}{line}").parse::<Program>().expect_err(line).code, Code::Limit, "{line}");
        }
        let error = "accumulator 48".parse::<Program>().expect_err("no word");
        assert_eq!(error.message, "expected `word`, found `accumulator`");
    }
}
