//! Steps that repeat earlier ones pass at once; the slow twin counts each of their cycles.

use super::generator::{Generator, Programs, Random, beats as beats_of};
use super::{comparing, grid, with_unit};
use arch::isa::{Address, AluInstruction, Combine, Instruction, Pad, Start, innermost};
use arch::machine::{Machine, MachineSpec};
use arch::registers;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sim::array::Array;
use sim::grid::{CycleResult, Grid, Host, Stalls};
use std::collections::VecDeque;

/// An array, and the cycles in which its host asked it.
struct Asked {
    array: Array,
    cycles: u64,
}

impl Grid for Asked {
    fn control_write(&mut self, address: u32, data: u32) {
        self.array.control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.array.control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.cycles += 1;
        self.array.cycle(input, output_ready)
    }

    fn repeat(
        &mut self,
        offered: &mut VecDeque<Vec<i64>>,
        more: &mut dyn FnMut() -> Option<Vec<i64>>,
        words: &mut Vec<i64>,
    ) {
        self.array.repeat(offered, more, words);
    }
}

/// Which programs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Short,
    Long,
    /// A word lands in the midst of a loop, in a row that the loop reads later; of a sum, or of 16 words.
    Between(u8),
}

/// A word of the input goes to row 8; rows 0 to 15 are read from the next cycle on, row 8 two cycles after the word is there.
fn between(generator: &Generator, programs: &mut Programs, reduce: u8) {
    let machine = generator.machine;
    let rows = |base: u32, stride: i32| Address { base, strides: innermost(0, [stride]) };
    let word = AluInstruction {
        // The loader has brought the next sample.
        delay: 60,
        reads: [rows(0, 0); Pad::COUNT],
        a: Pad::Data,
        immediate_b: 1,
        write: Some(Pad::T0),
        destination: rows(8, 0),
        ..AluInstruction::plain(machine)
    };
    // Every step adds to the model, or subtracts from it; its words at the end tell of all steps.
    let model = rows(0, i32::from(reduce == 0));
    let mut reads = [rows(0, 1); Pad::COUNT];
    reads[Pad::Model as usize] = model;
    let all = AluInstruction {
        counts: innermost(1, [16]),
        reduce,
        reads,
        a: Pad::T0,
        combine: if reduce == 0 { Combine::Subtract } else { Combine::Add },
        c: Start::Pad(Pad::Model),
        write: Some(Pad::Model),
        destination: model,
        delay: 0,
        end: true,
        ..word
    };
    (programs.alu[0], programs.alu[1]) = (word, all);
    programs.load[2] = generator.load_all(Pad::Data);
    programs.step_beats = beats_of(&programs.load[2].counts);
    programs.step_length = 120;
    let others = [registers::ENTRY_STEP_ROOT, registers::ENTRY_STEP_MOVE, registers::ENTRY_STEP_SCALAR];
    for (register, value) in &mut programs.entries {
        *value = if others.contains(register) { 0 } else { *value };
    }
}

/// Runs of an array with a random program: all words, cycles, and what else its registers say of them; and the cycles that were asked for.
fn runs(array: Array, machine: &Machine, seed: u64, kind: Kind) -> (Vec<i64>, Vec<[u32; 3]>, u64) {
    let mut grid = Asked { array, cycles: 0 };
    let mut generator =
        Generator { machine, random: Random(ChaCha8Rng::seed_from_u64(seed)), long: kind == Kind::Long };
    generator.tables(&mut grid);
    generator.fill(&mut grid);
    let mut programs = generator.programs();
    if let Kind::Between(reduce) = kind {
        between(&generator, &mut programs, reduce);
    }
    programs.write(&mut grid, machine);
    let (mut words, mut said) = (Vec::new(), Vec::new());
    let tiled = machine.gradient_depth() > 0;
    for run in 0..3 {
        if tiled && run < 2 {
            grid.control_write(registers::TILES, generator.random.below(4));
            grid.control_write(registers::TILE_END, programs.tile_end);
        }
        let steps = u64::from(generator.random.below(80));
        grid.control_write(registers::STEPS, steps as u32);
        grid.control_write(registers::STEP_LENGTH, programs.step_length as u32);
        for &(register, value) in &programs.entries {
            grid.control_write(register, value);
        }
        let load_model = run == 0;
        let model = if load_model { registers::START_LOAD_MODEL } else { 0 };
        grid.control_write(registers::CONTROL, registers::START | registers::START_EMIT_MODEL | model);
        let mut host = Host::new(Stalls::none());
        let beats = if load_model { programs.model_beats } else { 0 } + steps * programs.step_beats;
        let made: Vec<Vec<i64>> = (0..beats)
            .map(|_| (0..machine.stream_words()).map(|_| generator.random.word(machine.word())).collect())
            .collect();
        let mut made = made.into_iter();
        let expected = (steps * programs.step_words + programs.model_words) as usize;
        let mut came: Vec<i64> = Vec::new();
        let limit = 20_000 + 10 * (beats + expected as u64) + steps * programs.step_length;
        for _ in 0..limit {
            came.extend_from_slice(host.repeat(&mut grid, &mut || made.next()));
            while host.beats_left() < 2 {
                let Some(beat) = made.next() else { break };
                host.send(beat);
            }
            if host.beats_left() == 0 && came.len() >= expected {
                break;
            }
            came.extend(host.cycle(&mut grid).output);
        }
        host.take_words();
        host.finish(&mut grid, limit).unwrap_or_else(|stuck| panic!("{machine}, seed {seed}: {stuck}"));
        came.extend(host.take_words());
        words.push(came.len() as i64);
        words.extend(came);
        let registers = [registers::CYCLES_LOW, registers::CYCLES_HIGH, registers::CONTROL];
        said.push(registers.map(|register| grid.control_read(register)));
    }
    (words, said, grid.cycles)
}

/// The same from an array and from its slow twin; the cycles that the array was asked for, and all.
fn compare(machine: &Machine, seed: u64, kind: Kind) -> [u64; 2] {
    let (words, said, asked) = runs(Array::new(machine), machine, seed, kind);
    let (expected, twin, all) = runs(Array::beat_by_beat(machine), machine, seed, kind);
    assert_eq!((words, said), (expected, twin), "{machine}, seed {seed}");
    [asked, all]
}

/// Programs whose writes meet reads in every order, in up to 80 steps a run.
#[test]
fn steps_that_repeat_pass_at_once() {
    let grids = [
        with_unit(&comparing(&grid(1, 1, 8))),
        MachineSpec { gradient_depth: Some(4), ..comparing(&grid(3, 16, 16)) },
        MachineSpec { pad_register: Some(true), ..with_unit(&grid(5, 8, 16)) },
        MachineSpec { accumulator: Some(62), gradient_depth: Some(2), pad_register: Some(true), ..grid(2, 4, 18) },
        MachineSpec { accumulator: Some(96), stream_words: Some(8), ..comparing(&grid(4, 8, 32)) },
    ];
    for spec in grids {
        let machine = Machine::try_from(spec).expect("a valid grid");
        let compared = (0..15).map(|seed| compare(&machine, seed, Kind::Short));
        let [asked, all] = compared.fold([0, 0], |sums, [asked, all]| [sums[0] + asked, sums[1] + all]);
        assert!(4 * asked < 3 * all, "{machine}: {asked} cycles asked for, of {all}");
    }
}

/// Loops whose beats are carried out together, beside writes to the rows that they read.
#[test]
fn beats_of_long_loops_are_carried_out_together() {
    let deep = |spec: MachineSpec| MachineSpec {
        model_depth: Some(64),
        data_depth: Some(32),
        temporary_depth: Some(32),
        ..spec
    };
    let grids = [
        with_unit(&grid(2, 4, 16)),
        MachineSpec { pad_register: Some(true), ..with_unit(&grid(2, 2, 16)) },
        MachineSpec { gradient_depth: Some(4), rectifiers: Some(true), ..grid(1, 3, 16) },
    ];
    for spec in grids {
        let machine = Machine::try_from(deep(spec)).expect("a valid grid");
        for seed in 100..200 {
            compare(&machine, seed, Kind::Long);
        }
    }
}

#[test]
fn what_lands_in_the_midst_of_a_loop_is_read_in_it() {
    let shallow = MachineSpec { temporary_depth: Some(32), program_depth: Some(64), ..grid(2, 2, 16) };
    for spec in [shallow.clone(), MachineSpec { pad_register: Some(true), ..shallow }] {
        let machine = Machine::try_from(spec).expect("a valid grid");
        for reduce in [0, 1] {
            for seed in 0..40 {
                // Programs with two instructions at least before those that emit.
                let mut generator =
                    Generator { machine: &machine, random: Random(ChaCha8Rng::seed_from_u64(seed)), long: false };
                if generator.programs().alu.len() >= 3 + Pad::COUNT {
                    compare(&machine, seed, Kind::Between(reduce));
                }
            }
        }
    }
}
