//! A program that is part of the hardware: what the control port would have written, as constants.

use arch::Image;
use arch::image::Annotated;
use arch::registers::{REGION_BITS, Region};
use std::collections::BTreeMap;

/// Contents of programs, tables and registers.
pub(crate) struct Fixed {
    writes: BTreeMap<u32, u32>,
    /// What instructions and entries are for, by region and number.
    notes: BTreeMap<(u32, usize), String>,
    identity: u32,
}

impl Fixed {
    pub(crate) fn new(image: &Image, source: &str) -> Self {
        let writes = image.control_writes().into_iter().collect();
        Fixed { writes, notes: notes(image, source), identity: image.identity() }
    }

    /// What instruction or table entry `number` of a region is for, in the words of the source program; one line.
    pub(crate) fn note(&self, region: Region, number: usize) -> Option<&str> {
        self.notes.get(&(region as u32, number)).map(String::as_str)
    }

    /// The instructions of a program, or the entries of the tables, `chunks` of 32 bits each.
    pub(crate) fn words(&self, region: Region, chunks: usize) -> Vec<Vec<u32>> {
        let place = |number: u32| match region {
            Region::Registers | Region::Tables => region.base() + number * region.chunks(),
            _ => region.instruction(number),
        };
        let number = |address: u32| match Region::program_of(address) {
            Some((of, number, _)) => (of == region).then_some(number),
            None => (address >> REGION_BITS == region as u32).then(|| (address - region.base()) / region.chunks()),
        };
        let count = self.writes.keys().filter_map(|&address| number(address)).max().map_or(0, |last| last + 1);
        let chunk = |number: u32, k: usize| self.writes.get(&(place(number) + k as u32)).copied().unwrap_or(0);
        (0..count).map(|n| (0..chunks).map(|k| chunk(n, k)).collect()).collect()
    }

    /// The value of a register that the program decides.
    pub(crate) fn register(&self, number: u32) -> Option<u32> {
        self.writes.get(&number).copied()
    }

    /// Which image it is.
    pub(crate) fn identity(&self) -> u32 {
        self.identity
    }
}

fn notes(image: &Image, source: &str) -> BTreeMap<(u32, usize), String> {
    fn program<I>(region: Region, stream: &[Annotated<I>], source: &str) -> Vec<((u32, usize), String)> {
        let notes = stream.iter().map(|at| one_line(&at.origin.lines(source).before(&at.what)));
        notes.enumerate().map(|(n, note)| ((region as u32, n), note)).collect()
    }
    let tables = image.tables.iter().map(|table| {
        let first = table.usage.base as usize;
        ((Region::Tables as u32, first), format!("{:?}, {} entries", table.function, table.entries.len()))
    });
    let programs = [program(Region::Alu, &image.alu, source), program(Region::Scalar, &image.scalar, source)];
    programs.into_iter().flatten().chain(tables).collect()
}

/// Text that stays inside a comment of one line, whatever it is.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_note_cannot_leave_its_comment() {
        assert_eq!(one_line("h = 1\nendmodule\u{2028}"), "h = 1?endmodule?");
    }
}
