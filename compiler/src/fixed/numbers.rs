//! Numbers: what is given about words, accumulators and tables before binary points are chosen, and what is told about them afterwards.

use crate::optimisations::Disabled;
use crate::rounding::Rounding;
use arch::Diagnostic;
use arch::number::default_accumulator;
use std::collections::BTreeMap;

/// What the machine's numbers look like, and what the user decided about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// Word width in bits.
    pub word: u32,
    /// Accumulator width in bits.
    pub accumulator: u32,
    /// Binary points that were given, by tensor name.
    pub fractions: BTreeMap<String, i32>,
    /// Entries of a grid's table memory.
    pub table_entries: u32,
    /// So many at most, if more than these make every function as accurate as its format; 0: no more.
    pub most_table_entries: u32,
    /// Whether so many may also be taken to save the steps of functions that are accurate, but have no room beside each other. They cost block memories, which a
    /// board may want for pads.
    pub spares_steps: bool,
    /// Bits that every range is made wider by, against values beyond those seen.
    pub headroom: u32,
    /// Whether engines square a difference in one beat.
    pub squares: bool,
    /// How the updates of weights are rounded that have states for it.
    pub rounding: Rounding,
    /// Optimisations that are disabled.
    pub disabled: Disabled,
}

impl Numbers {
    /// The defaults of a machine with this word width.
    pub fn of_width(word: u32) -> Numbers {
        let accumulator = default_accumulator(word);
        Numbers {
            word,
            accumulator,
            fractions: BTreeMap::new(),
            table_entries: 1024,
            most_table_entries: 0,
            spares_steps: false,
            headroom: 0,
            squares: true,
            rounding: Rounding::default(),
            disabled: Disabled::NOTHING,
        }
    }

    /// The same with words of another width, and accumulators that suit them.
    #[must_use]
    pub fn of_word(&self, word: u32) -> Numbers {
        let accumulator = self.accumulator.max(default_accumulator(word));
        Numbers { word, accumulator, ..self.clone() }
    }

    /// The numbers of a machine.
    pub fn of_machine(machine: &arch::Machine) -> Numbers {
        Numbers {
            accumulator: machine.accumulator(),
            table_entries: machine.table_entries(),
            squares: machine.squares(),
            ..Numbers::of_width(machine.word())
        }
    }
}

/// How the binary points were found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NumberReport {
    /// One entry per tensor of the fixed-point program.
    pub tensors: Vec<TensorNumbers>,
    /// What deserves attention (all are warnings).
    pub notes: Vec<Diagnostic>,
    /// Functions that are less accurate than their formats for want of table entries.
    pub inaccurate: usize,
    /// Whether functions are computed in steps only because their tables, as accurate as they are, do not fit together.
    pub crowded: bool,
}

/// How one tensor's binary point was found.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorNumbers {
    /// Its name.
    pub name: String,
    /// Its values in the measured run, or declared.
    pub range: Option<(f64, f64)>,
    /// Bits after the binary point.
    pub fraction: i32,
    /// What decided it.
    pub decided: String,
}
