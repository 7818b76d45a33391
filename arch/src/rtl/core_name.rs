//! The name of a core: the prefix that lets several cores stand in one design, one firmware and one `LiteX` system.
//!
//! ```text
//!                       generic          core `net`
//! modules               tabla            net
//!                       tabla_axi        net_axi
//!                       grid             net_grid
//! C, Python             tabla_run        net_run
//!                       TABLA_WORD_BITS  NET_WORD_BITS
//! ```
//!
//! Blocks and templates are written with generic names, and named once, as a whole text, when files are made of them.

use super::keywords::is_reserved;
use super::modules;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The generic name of a core.
const GENERIC: &str = "tabla";
/// Longest name: file names of modules are to stay short.
const LONGEST: usize = 64;
/// Modules of the testbenches beside a core.
const TAKEN: [&str; 2] = ["testbench", "axi_testbench"];

/// The name of a core: a letter, then letters, digits and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct CoreName(String);

impl TryFrom<String> for CoreName {
    type Error = String;

    fn try_from(name: String) -> Result<CoreName, String> {
        CoreName::new(&name)
    }
}

impl CoreName {
    /// A core of this name.
    ///
    /// # Errors
    /// Verilog takes no such name, in words.
    pub fn new(name: &str) -> Result<CoreName, String> {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !plain || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(format!("`{name}` is no name of a module: a letter, then letters, digits and `_`"));
        }
        if name.len() > LONGEST {
            return Err(format!("a name of {} letters is too long for a module: {LONGEST} at most", name.len()));
        }
        if is_reserved(name) || TAKEN.contains(&name) {
            return Err(format!("`{name}` is taken: no module can have this name"));
        }
        Ok(CoreName(name.to_owned()))
    }

    /// The core of something that is called so: the same name, or the nearest that is possible.
    pub fn near(name: &str) -> CoreName {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(LONGEST).collect();
        CoreName::new(&name).unwrap_or_else(|_| {
            let longer = format!("grid_{name}");
            CoreName(longer[..longer.len().min(LONGEST)].to_owned())
        })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of a module that is generically called so.
    pub fn module(&self, generic: &str) -> String {
        match generic.strip_prefix(GENERIC) {
            _ if self.0 == GENERIC => generic.to_owned(),
            Some("") => self.0.clone(),
            Some(rest) if rest.starts_with('_') => self.0.clone() + rest,
            _ => format!("{}_{generic}", self.0),
        }
    }

    /// Verilog with its modules, and those of the texts `around` it, named for this core: where they are declared and where they are used.
    /// Everything else, such as the cells of a device, keeps its name.
    pub fn verilog(&self, text: &str, around: &[&str]) -> String {
        let texts = std::iter::once(text).chain(around.iter().copied());
        let known: BTreeSet<String> = texts.flat_map(modules).map(|(name, _)| name).collect();
        let pieces = pieces(text);
        // What the next pieces are, without blanks and comments.
        let code: Vec<usize> = (0..pieces.len()).filter(|&n| pieces[n].1 != Kind::Blank).collect();
        let mut named = String::with_capacity(text.len() + text.len() / 8);
        let mut at = 0;
        for (n, &(piece, kind)) in pieces.iter().enumerate() {
            let is_code = kind != Kind::Blank;
            let next = |ahead: usize| code.get(at + ahead).map_or(("", Kind::Other), |&n| pieces[n]);
            let declares = at > 0 && pieces[code[at - 1]].0 == "module";
            // An instance, or parameters of one.
            let uses = || (next(1).0 == "#" || next(1).1 == Kind::Word) && next(2).0 == "(";
            let is_module = is_code && code[at] == n && kind == Kind::Word && known.contains(piece);
            if is_module && (declares || uses()) {
                named += &self.module(piece);
            } else {
                named += piece;
            }
            at += usize::from(is_code);
        }
        named
    }

    /// A template in C or Python, named for this core: `tabla`, `TABLA` and `Tabla` as parts of identifiers. The name of the generator stays.
    pub fn text(&self, template: &str) -> String {
        let mut named = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.to_ascii_lowercase().find(GENERIC) {
            let (found, after) = (&rest[at..at + GENERIC.len()], &rest[at + GENERIC.len()..]);
            let alone = !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric())
                && !after.starts_with(|c: char| c.is_ascii_alphanumeric())
                && !["-gen", "_gen"].iter().any(|generator| after.starts_with(generator));
            named += &rest[..at];
            named += &if alone { self.spelt(found) } else { found.to_owned() };
            rest = after;
        }
        named + rest
    }

    /// The name in the case of `like`.
    fn spelt(&self, like: &str) -> String {
        let name = &self.0;
        match like.as_bytes() {
            [b'T', b'A', ..] => name.to_ascii_uppercase(),
            [b'T', ..] => name[..1].to_ascii_uppercase() + &name[1..],
            _ => name.clone(),
        }
    }
}

/// A part of a Verilog text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An identifier or a keyword.
    Word,
    /// Blanks and comments.
    Blank,
    /// A string, or a sign.
    Other,
}

/// All of a text, in parts.
fn pieces(text: &str) -> Vec<(&str, Kind)> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let until = |mark: &str, from: usize| rest[from..].find(mark).map_or(rest.len(), |at| from + at + mark.len());
        let (length, kind) = match first {
            _ if rest.starts_with("//") => (until("\n", 0), Kind::Blank),
            _ if rest.starts_with("/*") => (until("*/", 2), Kind::Blank),
            c if c.is_whitespace() => (rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()), Kind::Blank),
            '"' => (until("\"", 1), Kind::Other),
            c if in_word(c) => (rest.find(|c| !in_word(c)).unwrap_or(rest.len()), Kind::Word),
            c => (c.len_utf8(), Kind::Other),
        };
        let (piece, after) = rest.split_at(length);
        pieces.push((piece, kind));
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::CoreName;

    fn net() -> CoreName {
        CoreName::new("net").unwrap()
    }

    #[test]
    fn modules_are_named_where_they_are_declared_and_used() {
        let grid = "// grid: a grid.\nmodule grid (\n    input wire x\n);\n    wire tree;\n    tree #(.N(2)) tree (.grid(x), .y(tree));\n    DP16KD memory (.A(x));\nendmodule\n";
        let tree = "\nmodule tree #(parameter N = 1) (input wire grid, output wire y);\n    assign y = grid; /* grid tree ( */\nendmodule\n";
        let top = "\nmodule tabla (input wire x);\n    grid grid (.x(x));\n    grid\n        // The second.\n        other (.x(x));\n    initial $display(\"grid grid (\");\nendmodule\n";
        let named = net().verilog(&[tree, grid, top].concat(), &[]);
        let expected = [
            tree.replace("module tree", "module net_tree"),
            grid.replace("module grid", "module net_grid").replace("tree #(", "net_tree #("),
            top.replace("module tabla", "module net")
                .replace("    grid grid (.", "    net_grid grid (.")
                .replace("    grid\n", "    net_grid\n"),
        ];
        assert_eq!(named, expected.concat());
        // Text that uses modules of another one.
        assert_eq!(net().verilog(top, &[grid]), expected[2]);
        // The generic core is the text as it is.
        assert_eq!(CoreName::new("tabla").unwrap().verilog(top, &[grid]), top);
    }

    #[test]
    fn templates_take_the_name() {
        let template =
            "#define TABLA_X 1\nstruct tabla_write; add_tabla(Tabla()); \"tabla: no\" tabla-gen tabla_gen tablature";
        let expected = "#define NET_X 1\nstruct net_write; add_net(Net()); \"net: no\" tabla-gen tabla_gen tablature";
        assert_eq!(net().text(template), expected);
    }

    #[test]
    fn only_names_of_modules_are_taken() {
        for wrong in ["", "3", "a b", "_a", "\u{e4}", "wire", "logic", "testbench", &"a".repeat(65)] {
            assert!(CoreName::new(wrong).is_err(), "{wrong}");
        }
        let near = |name: &str| CoreName::near(name).0;
        assert_eq!(near("logistic"), "logistic");
        assert_eq!(near("a b\"; $(x)\n"), "a_b_____x__");
        assert_eq!([near("3"), near("\u{e4}"), near("wire"), near("")], ["grid_3", "grid__", "grid_wire", "grid_"]);
        assert_eq!([near(&"a".repeat(99)).len(), near(&"3".repeat(99)).len()], [64, 64]);
    }
}
