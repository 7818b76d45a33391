//! Function tables by what they do, wherever they lie in the memory of the grid.

use arch::function::evaluate;
use arch::isa::{Segments, TableUse};

/// A function table: its use, but for where it lies, and its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) usage: TableUse,
    pub(super) entries: Vec<(i64, i64)>,
}

impl Table {
    /// What it makes of a word.
    pub(super) fn evaluate(&self, word: u32, x: i64) -> i64 {
        evaluate(&self.usage, word, x, |entry| self.entries[entry]).0
    }
}

/// All tables; equal ones have one number.
#[derive(Debug)]
pub(super) struct Tables {
    word: u32,
    all: Vec<Table>,
    /// Those in the memory of the grid that roots have used since it was last written.
    loaded: Vec<(TableUse, u32)>,
}

impl Tables {
    pub(super) fn new(word: u32) -> Tables {
        Tables { word, all: Vec::new(), loaded: Vec::new() }
    }

    pub(super) fn get(&self, number: u32) -> &Table {
        &self.all[number as usize]
    }

    /// A table of the program.
    pub(super) fn of_program(&mut self, usage: TableUse, entries: &[(i64, i64)]) -> u32 {
        let entries = entries[..reach(&usage, self.word)].to_vec();
        self.number_of(Table { usage: TableUse { base: 0, ..usage }, entries })
    }

    /// A table as it lies in the memory of the grid.
    pub(super) fn in_memory(&mut self, usage: TableUse, memory: &[(i64, i64)]) -> u32 {
        if let Some(&(_, number)) = self.loaded.iter().find(|(known, _)| *known == usage) {
            return number;
        }
        let at = |entry: usize| memory[(usage.base as usize + entry) % memory.len()];
        let entries = (0..reach(&usage, self.word)).map(at).collect();
        let number = self.number_of(Table { usage: TableUse { base: 0, ..usage }, entries });
        self.loaded.push((usage, number));
        number
    }

    /// The memory changes.
    pub(super) fn forget_memory(&mut self) {
        self.loaded.clear();
    }

    fn number_of(&mut self, table: Table) -> u32 {
        let known = self.all.iter().position(|known| *known == table);
        known.unwrap_or_else(|| {
            self.all.push(table);
            self.all.len() - 1
        }) as u32
    }
}

/// Entries that words can choose from.
fn reach(usage: &TableUse, word: u32) -> usize {
    match usage.segments {
        Segments::Uniform => 1 << usage.log2,
        // The largest word is less than 2^(W-1).
        Segments::Octave(_) => (word as usize - 1) << usage.log2,
    }
}
