//! What a grid takes of a device: an estimate before synthesis.
//!
//! Multipliers and block memories follow from the structure of the machine (docs/machine.md); the look-up tables from the
//! synthesis of one small grid, scaled by the widths.

use arch::Machine;
use arch::isa::{AluInstruction, Instruction, LoadInstruction, MoveInstruction, RootInstruction};
use fpga::yosys;
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

fn family(name: Option<yosys::Family>) -> Family {
    match name {
        Some(yosys::Family::Ice40UltraPlus) => Family { multiplier: 16, memories: SMALL, inputs: 4 },
        Some(yosys::Family::UltraScalePlus | yosys::Family::Series7) => {
            Family { multiplier: 18, memories: LARGE, inputs: 6 }
        }
        _ => Family { multiplier: 18, memories: LARGE, inputs: 4 },
    }
}

/// Deepest memory that becomes look-up tables instead of a block.
const SHALLOW: u64 = 64;

/// Estimate a grid on a family; without one it counts as ECP5.
pub fn estimate(machine: &Machine, name: Option<yosys::Family>) -> Estimate {
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
    let functions = machine.table_entries() > 0;
    let roots = pus + 1;
    // Tables per bit of the accumulator and of the word, from synthesis of a 2 x 2 and a 2 x 4 grid with 16-bit words
    // (yosys 0.70): about 800 tables of four inputs per PE, 700 per function unit.
    let (pe, root, function, sequencer) = if family.inputs == 6 {
        (9 * accumulator + 10 * word, 6 * accumulator, 32 * word, 2_400)
    } else {
        (12 * accumulator + 14 * word, 8 * accumulator, 44 * word, 3_200)
    };
    let pe_lut = pe + of_pe(&shallow);
    let root_lut = root + if functions { function } else { 0 };
    let tree_lut = (pes + pus).saturating_sub(2) * accumulator;
    let table = if functions { blocks(depth(machine.table_entries()), 2 * (word + 2)) } else { 0 };
    let program = |bits: u32| blocks(depth(machine.program_depth()), u64::from(bits));
    let programs = [
        AluInstruction::layout(machine).bits,
        RootInstruction::layout(machine).bits,
        MoveInstruction::layout(machine).bits,
        LoadInstruction::layout(machine).bits,
    ];
    Estimate {
        dsp: pes * multiplier + if functions { roots * multiplier } else { 0 },
        bram: pes * of_pe(&blocks) + roots * table + programs.iter().map(|&bits| program(bits)).sum::<u64>(),
        lut: pes * pe_lut + roots * root_lut + tree_lut + sequencer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    /// What yosys 0.70 found for 2 x 4 PEs of 16 bits with small pads and 512 table entries: 14,570 tables of four inputs and 11
    /// multipliers on ECP5, 10,746 tables of six and 11 multipliers on `UltraScale+`.
    #[test]
    fn a_small_grid_is_about_as_large_as_synthesised() {
        let spec = MachineSpec {
            pus: Some(2),
            pes_per_pu: Some(4),
            model_depth: Some(16),
            data_depth: Some(16),
            temporary_depth: Some(16),
            program_depth: Some(16),
            table_entries: Some(512),
            ..MachineSpec::default()
        };
        let machine = Machine::try_from(spec).unwrap();
        for (family, lut) in [(yosys::Family::Ecp5, 14_570), (yosys::Family::UltraScalePlus, 10_746)] {
            let estimate = estimate(&machine, Some(family));
            assert!(estimate.lut.abs_diff(lut) * 100 < 15 * lut, "{family:?}: {} tables", estimate.lut);
            assert_eq!(estimate.dsp, 11);
        }
    }

    /// Grids in `configs/` fit their boards, by estimate.
    #[test]
    fn board_configs_fit_their_boards() {
        for name in ["icebreaker", "ulx3s", "zcu102"] {
            let path = crate::library::find_config(std::path::Path::new(name)).unwrap();
            let source = crate::library::read(&path).unwrap();
            let config = crate::config::Config::parse(&source).unwrap();
            let board = crate::board::Board::find(&config.board, &path, &source).unwrap();
            let facts = board.facts().unwrap();
            let Estimate { dsp, bram, lut } = estimate(&config.machine, Some(facts.device.family()));
            let has = facts.resources;
            assert!(dsp <= has.dsp && bram <= has.bram && lut <= has.lut, "{name}: {dsp} {bram} {lut} of {has:?}");
        }
    }
}
