//! Bytes as microcode: decode each kind of instruction, show, encode and write it; then run all of it on a small array, with streams.

use arch::Machine;
use arch::isa::{AluInstruction, Instruction, LoadInstruction, MoveInstruction, RootInstruction, ScalarInstruction};
use arch::machine::MachineSpec;
use arch::registers::{self, Region};
use sim::array::Array;
use sim::grid::Grid;
use std::fmt::{Debug, Display};

fn round_trip<I: Instruction + Display + Debug>(machine: &Machine, chunks: &[u32]) {
    let instruction = I::decode(machine, chunks);
    assert!(!instruction.to_string().is_empty());
    let encoded = instruction.encode(machine).unwrap_or_else(|error| panic!("{error}: {instruction:?}"));
    assert_eq!(I::decode(machine, &encoded), instruction);
    assert_eq!(I::from_values(machine, &instruction.values(machine)), Ok(instruction));
}

/// Nothing here may panic, whatever the words are.
pub(crate) fn run(bytes: &[u8]) {
    let spec = MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(3),
        program_depth: Some(4),
        scalar: Some(true),
        ..MachineSpec::default()
    };
    let machine = Machine::try_from(spec).expect("a possible machine");
    let words: Vec<u32> =
        bytes.chunks(4).map(|chunk| chunk.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))).collect();
    let chunks = words.get(..16).unwrap_or(&words);
    round_trip::<AluInstruction>(&machine, chunks);
    round_trip::<RootInstruction>(&machine, chunks);
    round_trip::<MoveInstruction>(&machine, chunks);
    round_trip::<LoadInstruction>(&machine, chunks);
    round_trip::<ScalarInstruction>(&machine, chunks);
    let mut array = Array::new(&machine);
    let mut words = words.into_iter();
    for (region, layout) in [
        (Region::Alu, AluInstruction::layout(&machine)),
        (Region::Root, RootInstruction::layout(&machine)),
        (Region::Move, MoveInstruction::layout(&machine)),
        (Region::Load, LoadInstruction::layout(&machine)),
        (Region::Scalar, ScalarInstruction::layout(&machine)),
    ] {
        for slot in 0..4 {
            for chunk in 0..layout.chunks() {
                let address = region.instruction(slot) + chunk;
                array.control_write(address, words.next().unwrap_or(0));
            }
        }
    }
    for register in registers::STEP_LENGTH..=registers::TILE_END {
        array.control_write(register, words.next().unwrap_or(registers::ENTRY_ENABLE | register));
    }
    for _ in 0..64 {
        // Anything, anywhere on the control port.
        let (Some(address), Some(data)) = (words.next(), words.next()) else { break };
        array.control_write(address & 0xf_ffff, data);
    }
    array.control_write(registers::STEPS, 3);
    array.control_write(
        registers::CONTROL,
        registers::START | registers::START_LOAD_MODEL | registers::START_EMIT_MODEL,
    );
    let beat = vec![-1; machine.stream_words() as usize];
    for cycle in 0..400 {
        array.cycle((cycle % 3 != 0).then_some(&beat), cycle % 5 != 0);
    }
    array.reset();
    assert_eq!(array.control_read(registers::CONTROL) & registers::BUSY, 0, "a reset ends every run");
}
