//! Verilog text that Verilog-2005 and SystemVerilog-2017 read alike.
//!
//!     reg [0:0] bit;  x = bit[0];  y = word[0:0];      =>      reg bit;  x = bit;  y = word[0];
//!
//! A bit that is declared as a vector of one reads the same and means the same, but linters and waveform viewers show it as a bus.
//! Blocks of all widths are written by the same code, so it is easier to turn such vectors into bits here, in one place.

use arch::rtl::keywords::SYSTEM_VERILOG;
use std::collections::BTreeSet;

/// The pieces of a text: names and numbers, and everything between them, character by character. Comments and strings are one piece.
fn pieces(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if part(first) {
            rest.find(|c| !part(c)).unwrap_or(rest.len())
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' {
            rest[1..].find('"').map_or(rest.len(), |end| end + 2)
        } else {
            first.len_utf8()
        };
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A word of the text that `SystemVerilog` reserves, if there is one.
pub(crate) fn reserved(text: &str) -> Option<&str> {
    let pieces = pieces(text);
    // `.name(...)` names a port, which is declared elsewhere.
    let found = pieces
        .iter()
        .enumerate()
        .find(|&(n, piece)| SYSTEM_VERILOG.binary_search(piece).is_ok() && (n == 0 || pieces[n - 1] != "."));
    found.map(|(_, piece)| *piece)
}

/// The text of a module with bits in place of vectors of one bit.
pub(crate) fn single_bits(text: &str) -> String {
    const RANGE: [&str; 5] = ["[", "0", ":", "0", "]"];
    let pieces = pieces(text);
    let is_name = |piece: &str| piece.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // A range after a name is a choice of bits.
    let declares = |at: usize| pieces[at..].starts_with(&RANGE) && at > 0 && pieces[at - 1] == " ";
    // Names declared with such a range; memories keep their index, which chooses a word.
    let mut bits = BTreeSet::new();
    for at in (0..pieces.len()).filter(|&at| declares(at)) {
        let name = pieces[at + 6];
        assert!(is_name(name), "a declaration of {name}");
        if pieces.get(at + 7) != Some(&" ") || pieces.get(at + 8) != Some(&"[") {
            bits.insert(name);
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < pieces.len() {
        if declares(at) {
            at += 6;
            continue;
        }
        out.push_str(pieces[at]);
        let selected = is_name(pieces[at]) && (at == 0 || pieces[at - 1] != ".");
        at += 1;
        if !selected {
            continue;
        }
        let whole = pieces[at..].starts_with(&RANGE);
        let first = whole || pieces[at..].starts_with(&["[", "0", "]"]);
        if first && bits.contains(pieces[at - 1]) {
            at += if whole { 5 } else { 3 };
        } else if whole {
            out.push_str("[0]");
            at += 5;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_one_bit_become_bits() {
        let text = "input  wire [0:0] a,\nreg signed [0:0] b;\nlocalparam [0:0] no = 1'h0;\n\
                    assign x = a[0] & {b[0:0], word[0:0], word[3:0]} ? word[0:0] : b[0:0]; // a[0] and b[0:0]\n.a(a[0])";
        let expected = "input  wire a,\nreg signed b;\nlocalparam no = 1'h0;\n\
                        assign x = a & {b, word[0], word[3:0]} ? word[0] : b; // a[0] and b[0:0]\n.a(a)";
        assert_eq!(single_bits(text), expected);
    }

    #[test]
    fn a_memory_of_bits_keeps_its_index() {
        let text = "reg [0:0] words [0:7];\nq <= words[0];\n";
        assert_eq!(single_bits(text), "reg words [0:7];\nq <= words[0];\n");
    }

    #[test]
    fn names_that_systemverilog_reserves_are_found() {
        assert_eq!(reserved("wire global;"), Some("global"));
        assert_eq!(reserved("wire global_now; // global\n$display(\"new\"); x (.new(a));"), None);
    }
}
