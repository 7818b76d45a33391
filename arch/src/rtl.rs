//! Generated hardware: Verilog text and the ports of its top module. Several cores in one design: [`CoreName`].

mod core_name;
pub mod keywords;

pub use core_name::CoreName;

/// Direction of a port, seen from the design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven from outside.
    Input,
    /// Driven by the design.
    Output,
    /// Driven by one side at a time: a pin.
    Both,
}

/// One port of the top module.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Port {
    /// Name in the Verilog text.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Width in bits, at least 1.
    pub width: u32,
}

/// One generated design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rtl {
    /// Name of the top module.
    pub top: String,
    /// Text of all modules, valid Verilog-2005 and SystemVerilog-2017.
    pub verilog: String,
    /// Ports of the top module, `clock` first.
    pub ports: Vec<Port>,
}

impl Rtl {
    /// The ports of every grid's top module (docs/machine.md sections 5 to 7), for beats of input and output of so many bits.
    pub fn grid_ports(input_bits: u32, output_bits: u32) -> Vec<Port> {
        use Direction::{Input, Output};
        let port = |name: &str, direction, width| Port { name: name.to_owned(), direction, width };
        vec![
            port("clock", Input, 1),
            port("reset", Input, 1),
            port("control_write", Input, 1),
            port("control_address", Input, crate::registers::ADDRESS_BITS),
            port("control_data", Input, 32),
            port("control_read", Output, 32),
            port("in_data", Input, input_bits),
            port("in_valid", Input, 1),
            port("in_ready", Output, 1),
            port("out_data", Output, output_bits),
            port("out_valid", Output, 1),
            port("out_ready", Input, 1),
        ]
    }

    /// The same, named for a core.
    #[must_use]
    pub fn named(&self, core: &CoreName) -> Rtl {
        Rtl { top: core.module(&self.top), verilog: core.verilog(&self.verilog, &[]), ports: self.ports.clone() }
    }

    /// Each module by itself, children before parents: its name, and its text with what stands before it since the module above.
    pub fn modules(&self) -> Vec<(String, String)> {
        modules(&self.verilog)
    }
}

/// The modules of a text, in its order. What stands before the first one, such as who made the text, stands before each.
///
/// # Panics
/// When a module does not end.
pub fn modules(text: &str) -> Vec<(String, String)> {
    const END: &str = "\nendmodule\n";
    // A comment that stands alone, with an empty line after it, belongs to the whole text.
    let (head, mut rest) = match text.split_once("\n\n") {
        Some((head, rest)) if head.lines().all(|line| line.starts_with("//")) => (head, rest),
        _ => ("", text),
    };
    let mut modules = Vec::new();
    while !rest.trim().is_empty() {
        let end = rest.find(END).expect("a module ends") + END.len();
        let (module, after) = rest.split_at(end);
        let declaration = module.lines().find_map(|line| line.strip_prefix("module ")).expect("a module has a name");
        let name = declaration.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let head = if head.is_empty() { String::new() } else { format!("{head}\n\n") };
        modules.push((name.to_owned(), head + module.trim_start()));
        rest = after;
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::modules;

    #[test]
    fn a_text_falls_into_its_modules() {
        let text = "// Made by hand.\n// For a test.\n\n// Nothing.\n(* shared *)\nmodule a (\n    input x\n);\nendmodule\n\n// More.\nmodule b #(\n    parameter N = 1\n) ();\n    a a();\nendmodule\n";
        let head = "// Made by hand.\n// For a test.\n\n";
        let expected = [
            ("a", "// Nothing.\n(* shared *)\nmodule a (\n    input x\n);\nendmodule\n"),
            ("b", "// More.\nmodule b #(\n    parameter N = 1\n) ();\n    a a();\nendmodule\n"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), format!("{head}{text}")));
        assert_eq!(modules(text), expected);
    }

    #[test]
    fn a_text_without_a_head_is_modules_only() {
        assert_eq!(modules("\n// One.\nmodule a;\nendmodule\n").len(), 1);
    }
}
