//! Descriptions of the ports of blocks, for the comments beside them in Verilog.
//!
//!     input  wire [4:0] control_align_t2,    // control: places to the left for the start of a sum, at t+2
//!
//! Blocks call the same thing by the same name, so one list does for all of them: `ports.txt`.

use arch::isa::Pad;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static MEANINGS: LazyLock<Meanings> = LazyLock::new(Meanings::new);

/// Lines of a port list: declarations and names of ports become declarations with comments.
pub(crate) fn commented_ports(ports: impl IntoIterator<Item = (String, String)>) -> String {
    let mut text = String::new();
    let mut ports = ports.into_iter().peekable();
    while let Some((declaration, name)) = ports.next() {
        let comma = if ports.peek().is_some() { "," } else { "" };
        let comment = MEANINGS.of(&name).map_or(String::new(), |meaning| format!("  // {meaning}"));
        text += &format!("    {declaration}{comma}{comment}\n");
    }
    text
}

/// Names and what they mean.
struct Meanings {
    names: BTreeMap<String, String>,
}

impl Meanings {
    fn new() -> Self {
        let lines = include_str!("ports.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let names = lines.map(|line| {
            let (name, meaning) = line.split_once(' ').unwrap_or_else(|| panic!("{line} has a meaning"));
            // `@` stands for each of the pads that buses write.
            let pads = if name.contains('@') { Pad::TEMPORARY } else { &[Pad::Data] };
            let of = |pad: &Pad| [name, meaning.trim()].map(|text| text.replace('@', &pad.to_string())).into();
            pads.iter().map(of).collect::<Vec<(String, String)>>()
        });
        Meanings { names: names.flatten().collect() }
    }

    /// What a port is for: of its own name, or of the bundle and the field that make it.
    fn of(&self, port: &str) -> Option<String> {
        let (port, cycle) = match port.rsplit_once("_t") {
            // Pads are called t0 and t1, and what is written to them write_t0.
            Some((name, cycle)) if cycle.parse::<u32>().is_ok_and(|cycle| cycle > 1) => (name, Some(cycle)),
            Some((name, cycle)) if cycle.parse::<u32>().is_ok() && self.plain(port).is_none() => (name, Some(cycle)),
            _ => (port, None),
        };
        let meaning = self.plain(port)?;
        Some(cycle.map_or(meaning.clone(), |cycle| format!("{meaning}, at t+{cycle}")))
    }

    fn plain(&self, port: &str) -> Option<String> {
        if let Some(meaning) = self.names.get(port) {
            return Some(meaning.clone());
        }
        // Of several bundles or elements a number says which.
        let name = port.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = (name.len() < port.len()).then(|| {
            let meaning = self.plain(name.trim_end_matches('_'))?;
            Some(format!("{meaning} ({})", &port[name.len()..]))
        });
        numbered.flatten().or_else(|| self.field(port))
    }

    /// A field of a bundle.
    fn field(&self, port: &str) -> Option<String> {
        let splits = port.char_indices().rev().filter(|&(_, c)| c == '_');
        splits.map(|(at, _)| port.split_at(at + 1)).find_map(|(bundle, field)| {
            let one = bundle.trim_end_matches('_').trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
            let one = format!("{one}_");
            let bundle = self.names.get(bundle).or_else(|| self.names.get(one.as_str()))?;
            Some(format!("{bundle}: {}", self.plain(field)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Meanings;

    #[test]
    fn no_name_has_two_meanings() {
        let lines: Vec<&str> =
            include_str!("ports.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        let names = |line: &&str| if line.contains('@') { arch::isa::Pad::TEMPORARY.len() } else { 1 };
        assert_eq!(lines.iter().map(names).sum::<usize>(), Meanings::new().names.len());
    }

    #[test]
    fn names_are_taken_apart() {
        let meanings = Meanings::new();
        let of = |port| meanings.of(port).unwrap_or_default();
        assert_eq!(of("clock"), "everything happens at its rising edge");
        assert_eq!(of("control_align_t2"), "control: places to the left for the start of a sum, at t+2");
        assert_eq!(of("control_write_t0_t7"), "control: write pad t0, at t+7");
        assert_eq!(of("control_a_t1"), "control: first operand, at t+1");
        assert_eq!(of("terms_3"), "a term of the sum (3)");
        assert_eq!(of("scalar_0_data_address"), "beat of the scalar unit: read address of the data pad");
        assert_eq!(of("bus_write_t1"), "write by the bus: write pad t1");
        assert_eq!(meanings.of("nonsense"), None);
    }
}
