//! Signals that a viewer shows at first, for two viewers.
//!
//! | file | for | how |
//! |---|---|---|
//! | `.gtkw` | GTKWave | `gtkwave out.vcd out.gtkw` |
//! | `.sucl` | Surfer | `surfer out.vcd --command-file out.sucl` |

use super::signals::{Kind, Signal};
use std::fmt::Write;

/// The groups of a view: a heading, and which signals stand below it.
fn groups(signals: &[Signal]) -> Vec<(String, Vec<&Signal>)> {
    let mut groups: Vec<(String, Vec<&Signal>)> = Vec::new();
    for signal in signals {
        // PEs behind the first two look the same; the viewer's tree has them.
        let is_pe = signal.scope.last().and_then(|scope| scope.strip_prefix("pe")).and_then(|n| n.parse::<u32>().ok());
        if is_pe.is_some_and(|n| n > 1) || signal.name.starts_with("control_") || signal.name == "interval" {
            continue;
        }
        let heading = signal.scope[1..].join(" ");
        let heading = if heading.is_empty() { "streams".to_owned() } else { heading };
        match groups.last_mut() {
            Some((last, members)) if *last == heading => members.push(signal),
            _ => groups.push((heading, vec![signal])),
        }
    }
    groups
}

fn path(signal: &Signal) -> String {
    signal.scope.iter().chain([&signal.name]).map(String::as_str).collect::<Vec<_>>().join(".")
}

/// A save file of `GTKWave`. `text_is_bits`: the file has text as vectors of bits.
pub fn gtkwave(signals: &[Signal], text_is_bits: bool) -> String {
    let mut text = String::from("[*] written by tabla-gen\n[sst_width] 240\n[signals_width] 260\n@28\ngrid.clock\n");
    for (heading, members) in groups(signals) {
        // 200: a comment; 22, 28, 420, 820: right-justified hexadecimal, binary, signed decimal, ASCII.
        let _ = writeln!(text, "@200\n-{heading}");
        for signal in members {
            let (flags, range) = match signal.kind {
                Kind::Bits(1) => ("28", String::new()),
                Kind::Bits(bits) => ("24", format!("[{}:0]", bits - 1)),
                Kind::Signed(bits) => ("420", format!("[{}:0]", bits - 1)),
                Kind::Text(bytes) if text_is_bits => ("820", format!("[{}:0]", 8 * bytes - 1)),
                Kind::Text(_) => ("820", String::new()),
            };
            let _ = writeln!(text, "@{flags}\n{}{range}", path(signal));
        }
    }
    text
}

/// A command file of Surfer.
pub fn surfer(signals: &[Signal]) -> String {
    let mut text = String::from("variable_add grid.clock\n");
    for (heading, members) in groups(signals) {
        let _ = writeln!(text, "divider_add {}", heading.replace(' ', "_"));
        for signal in members {
            let _ = writeln!(text, "variable_add {}", path(signal));
        }
    }
    text.push_str("zoom_fit\n");
    text
}
