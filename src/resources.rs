//! What a grid takes of a device: an estimate before synthesis.
//!
//! The counts follow the structure of the machine (docs/machine.md); the coefficients of the look-up tables are fitted to
//! synthesised 16-bit PEs (about 950 four-input tables on ECP5, 300 to 500 six-input ones on `UltraScale+`).

use arch::Machine;
use arch::isa::{AluInstruction, Instruction, LoadInstruction, MoveInstruction, RootInstruction};
use serde::Serialize;

/// Multipliers, block memories, look-up tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Multipliers.
    pub dsp: u64,
    /// Block memories.
    pub bram: u64,
    /// Look-up tables.
    pub lut: u64,
}

/// What the cells of a family hold.
struct Family {
    /// Operand bits of a multiplier.
    multiplier: u64,
    /// Widths and depths of a block memory.
    memories: &'static [(u64, u64)],
    /// Inputs of a look-up table.
    inputs: u64,
}

/// 18 kbit, as on ECP5 and `UltraScale+`.
const LARGE: &[(u64, u64)] = &[(36, 512), (18, 1024), (9, 2048), (4, 4096), (2, 8192), (1, 16384)];
/// 4 kbit, as on iCE40.
const SMALL: &[(u64, u64)] = &[(16, 256), (8, 512), (4, 1024), (2, 2048)];

fn family(name: Option<&str>) -> Family {
    match name {
        Some("ice40") => Family { multiplier: 16, memories: SMALL, inputs: 4 },
        Some("xcup") => Family { multiplier: 18, memories: LARGE, inputs: 6 },
        _ => Family { multiplier: 18, memories: LARGE, inputs: 4 },
    }
}

/// Deepest memory that becomes look-up tables instead of a block.
const SHALLOW: u64 = 64;

/// Estimate a grid on a family (`ecp5`, `ice40`, `xcup`; others count as ECP5).
pub fn estimate(machine: &Machine, name: Option<&str>) -> Estimate {
    let family = family(name);
    let (word, accumulator) = (u64::from(machine.word()), u64::from(machine.accumulator()));
    let (pes, pus) = (u64::from(machine.pes()), u64::from(machine.pus()));
    let multiplier = word.div_ceil(family.multiplier).pow(2);
    let blocks = |depth: u64, width: u64| {
        if depth <= SHALLOW {
            return 0;
        }
        let shapes = family.memories.iter().map(|&(wide, deep)| width.div_ceil(wide) * depth.div_ceil(deep));
        shapes.min().unwrap_or(0)
    };
    let shallow =
        |depth: u64, width: u64| if depth <= SHALLOW { width * depth.div_ceil(1 << family.inputs) } else { 0 };
    let depth = |words: u32| u64::from(words);
    let pads = [depth(machine.model_depth()), 2 * depth(machine.data_depth())];
    let temporaries = [depth(machine.temporary_depth()); 2];
    let of_pe =
        |cost: &dyn Fn(u64, u64) -> u64| pads.iter().chain(&temporaries).map(|&depth| cost(depth, word)).sum::<u64>();
    // A shifter of A bits by up to 63 places is six levels of two-way choices; a six-input table makes two levels.
    let shifter = |width: u64| if family.inputs == 6 { 3 * width } else { 6 * width };
    let control = 100;
    let pe_lut = 2 * shifter(accumulator) + 3 * accumulator + 6 * word + control + of_pe(&shallow);
    let functions = machine.table_entries() > 0;
    let roots = pus + 1;
    let root_lut =
        shifter(accumulator) + 2 * accumulator + 4 * word + if functions { 2 * shifter(2 * word) } else { 0 };
    let tree_lut = (pes + pus) * accumulator;
    let table = if functions { blocks(depth(machine.table_entries()), 2 * (word + 2)) } else { 0 };
    let program = |bits: u32| blocks(depth(machine.program_depth()), u64::from(bits));
    let programs = [
        AluInstruction::layout(machine).bits,
        RootInstruction::layout(machine).bits,
        MoveInstruction::layout(machine).bits,
        LoadInstruction::layout(machine).bits,
    ];
    let microcode: u64 = programs.iter().map(|&bits| u64::from(bits)).sum();
    Estimate {
        dsp: pes * multiplier + if functions { roots * multiplier } else { 0 },
        bram: pes * of_pe(&blocks) + roots * table + programs.iter().map(|&bits| program(bits)).sum::<u64>(),
        lut: pes * pe_lut + roots * root_lut + tree_lut + 4 * microcode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pe_of_16_bits_is_about_as_large_as_measured() {
        let eight = Machine::grid(8, 8, 16).unwrap();
        let ecp5 = estimate(&eight, Some("ecp5"));
        let per_pe = ecp5.lut / 64;
        assert!((800..1300).contains(&per_pe), "{per_pe} tables per PE");
        assert_eq!(ecp5.dsp, 64 + 9);
        assert!(estimate(&eight, Some("xcup")).lut < ecp5.lut);
    }
}
