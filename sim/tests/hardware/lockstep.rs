//! The array against its hardware, under Verilator and in rust-hdl's simulator: both sides get the same calls, every answer is
//! compared in every cycle. Programs are random.

mod generator;
mod repeats;

use crate::modelled::Modelled;
use arch::amounts::Amounts;
use arch::isa::{AluInstruction, Pad};
use arch::machine::{Machine, MachineSpec};
use arch::registers::{self, Region};
use arch::rtl::Rtl;
use arch::tools::Toolbox;
use fpga::family::Family;
use generator::{Generator, Random, beats, first, write_program};
use hdl::Leaves;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use sim::array::Array;
use sim::grid::{Grid, Host, Lockstep, Stalls};
use sim::verilator::{GridDevice, Library, Options, lint};

/// One run in lockstep; the words come back with the answer to every call.
fn run(grid: &mut Lockstep<Array, impl Grid>, machine: &Machine, generator: &mut Generator, seed: u64) {
    let programs = generator.programs();
    programs.write(grid, machine);
    let tiled = machine.gradient_depth() > 0;
    let steps = u64::from(generator.random.below(if tiled { 9 } else { 4 }));
    if tiled {
        // The last batch of a run may be cut off.
        grid.control_write(registers::TILES, generator.random.below(4));
        grid.control_write(registers::TILE_END, programs.tile_end);
    }
    grid.control_write(registers::STEPS, steps as u32);
    grid.control_write(registers::STEP_LENGTH, programs.step_length as u32);
    for &(register, value) in &programs.entries {
        grid.control_write(register, value);
    }
    let load_model = generator.random.chance(70);
    let flags =
        registers::START | if load_model { registers::START_LOAD_MODEL } else { 0 } | registers::START_EMIT_MODEL;
    grid.control_write(registers::CONTROL, flags);
    let stalls = if seed.is_multiple_of(3) { Stalls::none() } else { Stalls::seeded(seed, 30, 60) };
    let mut host = Host::new(stalls);
    let beats = if load_model { programs.model_beats } else { 0 } + steps * programs.step_beats;
    for _ in 0..beats {
        host.send((0..machine.stream_words()).map(|_| generator.random.word(machine.word())).collect());
    }
    let words = steps * programs.step_words + programs.model_words;
    let limit = 20_000 + 10 * (beats + words) + steps * programs.step_length;
    let end = host.exchange(grid, words as usize, limit).and_then(|()| host.finish(grid, limit));
    assert!(grid.mismatch().is_none(), "{machine}, seed {seed}: {}", grid.mismatch().expect("just seen"));
    end.unwrap_or_else(|stuck| panic!("{machine}, seed {seed}: {stuck}"));
    for register in
        [registers::CYCLES_LOW, registers::CYCLES_HIGH, registers::CONTROL, registers::STEPS, registers::GRID]
    {
        grid.control_read(register);
    }
    assert!(grid.mismatch().is_none(), "{machine}, seed {seed}: {}", grid.mismatch().expect("just seen"));
}

fn check(spec: MachineSpec, seeds: std::ops::Range<u64>) {
    let machine = Machine::try_from(spec).expect("a valid grid");
    check_rtl(&machine, &hdl::elaborate(&machine), seeds);
}

fn check_rtl(machine: &Machine, rtl: &Rtl, seeds: std::ops::Range<u64>) {
    let library = Library::build(rtl, &Options::brief()).expect("the grid compiles");
    for seed in seeds {
        compare(machine, GridDevice::new(&library, machine), seed);
    }
}

/// Three runs; pads keep what the run before left.
fn compare(machine: &Machine, hardware: impl Grid, seed: u64) {
    let mut grid = Lockstep::new(Array::new(machine), hardware);
    let mut generator = Generator { machine, random: Random(ChaCha8Rng::seed_from_u64(seed)), long: false };
    generator.tables(&mut grid);
    generator.fill(&mut grid);
    assert!(grid.mismatch().is_none(), "{machine}: {}", grid.mismatch().expect("just seen"));
    for _ in 0..3 {
        run(&mut grid, machine, &mut generator, seed);
    }
}

fn grid(pus: u32, pes_per_pu: u32, word: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        model_depth: Some(16),
        data_depth: Some(8),
        temporary_depth: Some(8),
        program_depth: Some(16),
        table_entries: Some(64),
        output_fifo: Some(8),
        divider: Some(true),
        ..MachineSpec::default()
    }
}

/// A grid that also takes the largest or smallest, and squares differences, in more loops.
fn comparing(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { loops: Some(6), extremes: Some(true), squares: Some(true), ..spec.clone() }
}

/// A grid with a scalar unit, and a loop more.
fn with_unit(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { scalar: Some(true), loops: Some(5), ..spec.clone() }
}

/// The array makes products of many beats at once; its slow twin makes each by itself. Grids whose rows fill no vector, sums of 48, 62, 80
/// and 96 bits, gradient pads, and pads that are read ahead, where writes meet reads in every order.
#[test]
fn many_beats_at_once() {
    let grids = [
        with_unit(&comparing(&grid(1, 1, 8))),
        MachineSpec { gradient_depth: Some(4), ..comparing(&grid(3, 16, 16)) },
        MachineSpec { pad_register: Some(true), ..with_unit(&grid(5, 8, 16)) },
        MachineSpec { accumulator: Some(62), gradient_depth: Some(2), pad_register: Some(true), ..grid(2, 4, 18) },
        MachineSpec { accumulator: Some(96), ..comparing(&grid(4, 8, 32)) },
    ];
    for spec in grids {
        let machine = Machine::try_from(spec).expect("a valid grid");
        (0..100).for_each(|seed| compare(&machine, Array::beat_by_beat(&machine), seed));
    }
}

#[test]
fn one_pe() {
    check(comparing(&MachineSpec { accumulator: Some(96), gradient_depth: Some(2), ..grid(1, 1, 8) }), 0..100);
}

#[test]
fn long_programs() {
    check(with_unit(&MachineSpec { program_depth: Some(4096), ..grid(2, 2, 16) }), 0..60);
}

#[test]
fn one_row_of_wide_words() {
    check(grid(1, 2, 24), 0..100);
}

#[test]
fn two_rows() {
    check(grid(2, 4, 16), 0..100);
}

/// The square of a difference has two bits more than the accumulator; the scalar unit squares, too.
#[test]
fn squares_wider_than_sums() {
    check(MachineSpec { accumulator: Some(16), squares: Some(true), ..with_unit(&grid(2, 2, 8)) }, 0..60);
}

#[test]
fn odd_numbers() {
    check(comparing(&MachineSpec { gradient_depth: Some(8), ..grid(3, 5, 16) }), 0..100);
}

#[test]
fn widest_words() {
    check(comparing(&MachineSpec { stream_words: Some(6), ..grid(2, 3, 32) }), 0..100);
}

/// Pads that are no power of two deep, in PEs and in rows.
#[test]
fn pads_of_several_memories() {
    let deep = |spec: MachineSpec| MachineSpec { model_depth: Some(576), temporary_depth: Some(640), ..spec };
    check(deep(with_unit(&comparing(&MachineSpec { gradient_depth: Some(4), ..grid(1, 3, 16) }))), 0..15);
    check(deep(MachineSpec { pads_in_rows: Some(true), pad_register: Some(true), ..grid(2, 1, 16) }), 0..15);
}

/// A grid whose rows give their results to its columns.
fn across(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { column_buses: Some(true), ..spec.clone() }
}

/// A grid that makes negative results 0.
fn rectifying(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { rectifiers: Some(true), ..spec.clone() }
}

/// A grid that gives positive results limits, too.
fn limiting(spec: &MachineSpec) -> MachineSpec {
    MachineSpec { limits: Some(true), ..rectifying(spec) }
}

/// Positive results have limits, too.
#[test]
fn large_results_become_limits() {
    check(limiting(&with_unit(&comparing(&MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) }))), 0..60);
    check(limiting(&grid(1, 3, 32)), 0..60);
    let [_, narrow, _] = few_amounts();
    check(limiting(&narrow), 0..60);
}

/// Negative results become 0 in PEs, in roots and in the scalar unit, with any shift amount and with a few.
#[test]
fn negative_results_become_zero() {
    check(rectifying(&with_unit(&comparing(&MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) }))), 0..60);
    check(rectifying(&MachineSpec { pad_register: Some(true), ..grid(1, 2, 9) }), 0..60);
    let [wide, _, few] = few_amounts();
    check(rectifying(&wide), 0..60);
    check(rectifying(&few), 0..60);
}

/// PEs, and roots, that leave negative words negative, and such that reach a limit one too late.
#[test]
fn a_wrong_rectifier_is_found() {
    let [wide, narrow, few] = few_amounts();
    let faults = [
        (rectifying(&few), "rectified ? 24'd0 : ", ""),
        (rectifying(&wide), "~arrives ? 16'd0 : rectified ? 16'd0 : ", "~arrives ? 16'd0 : "),
        (limiting(&narrow), ">= positive_0[", "> positive_0["),
    ];
    for (spec, right, wrong) in faults {
        let machine = Machine::try_from(spec).expect("a valid grid");
        let mut rtl = hdl::elaborate(&machine);
        assert!(rtl.verilog.contains(right), "the text has changed");
        rtl.verilog = rtl.verilog.replace(right, wrong);
        let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..100));
        assert!(found.is_err(), "a wrong rectifier and nobody noticed: {right}");
    }
}

/// Results of rows that go to columns, with and without functions, the scalar unit, tiles and pads with registers.
#[test]
fn rows_to_columns() {
    check(across(&comparing(&MachineSpec { gradient_depth: Some(4), ..grid(3, 3, 16) })), 0..60);
    check(across(&with_unit(&MachineSpec { pad_register: Some(true), ..grid(2, 2, 9) })), 0..60);
    check(across(&comparing(&grid(2, 6, 16))), 0..60);
    check(across(&with_unit(&grid(6, 2, 9))), 0..60);
}

/// Lanes of one row, of two and of three; more bits than a machine word holds; each with and without stalls.
#[test]
fn several_words_of_output() {
    let lanes = |output_words: u32, spec: MachineSpec| MachineSpec { output_words: Some(output_words), ..spec };
    check(lanes(2, comparing(&MachineSpec { gradient_depth: Some(4), ..grid(4, 3, 16) })), 0..60);
    check(lanes(4, with_unit(&grid(4, 2, 9))), 0..60);
    check(lanes(8, MachineSpec { output_fifo: Some(4), ..grid(8, 1, 24) }), 0..60);
    check(lanes(2, comparing(&grid(6, 2, 32))), 0..60);
}

/// Beats that leave in several transfers: of rows, two of which share a lane, and of all PEs; through a queue that is full most of the time.
#[test]
fn several_transfers_of_a_beat() {
    let wide = |output_words: u32, emit_words: u32, spec: MachineSpec| MachineSpec {
        output_words: Some(output_words),
        emit_words: Some(emit_words),
        ..spec
    };
    check(wide(1, 2, comparing(&MachineSpec { gradient_depth: Some(4), ..grid(4, 3, 16) })), 0..60);
    check(wide(2, 8, MachineSpec { output_fifo: Some(4), ..grid(4, 2, 9) }), 0..60);
    check(wide(1, 4, with_unit(&comparing(&grid(1, 4, 24)))), 0..60);
    check(wide(2, 4, MachineSpec { pad_register: Some(true), output_fifo: Some(4), ..grid(4, 1, 32) }), 0..60);
}

/// A beat that leaves one transfer early.
#[test]
fn a_missing_transfer_is_found() {
    let spec = MachineSpec { output_words: Some(1), emit_words: Some(4), ..grid(2, 2, 16) };
    let machine = Machine::try_from(spec).expect("a valid grid");
    let mut rtl = hdl::elaborate(&machine);
    let right = "shown == last_transfer";
    assert!(rtl.verilog.contains(right), "the text has changed");
    rtl.verilog = rtl.verilog.replace(right, "shown[1] == last_transfer[1]");
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..20));
    assert!(found.is_err(), "a transfer was left out and nobody noticed");
}

/// Two lanes that change places.
#[test]
fn lanes_in_the_wrong_order_are_found() {
    let machine = Machine::try_from(MachineSpec { output_words: Some(2), ..grid(4, 2, 16) }).expect("a valid grid");
    let mut rtl = hdl::elaborate(&machine);
    let [first, second] = [".out_data(out_data[0 +: 16])", ".out_further_0(out_data[16 +: 16])"];
    assert!(rtl.verilog.contains(first) && rtl.verilog.contains(second), "the text has changed");
    rtl.verilog = rtl.verilog.replace(first, ".out_data(out_data[16 +: 16])");
    rtl.verilog = rtl.verilog.replace(second, ".out_further_0(out_data[0 +: 16])");
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..20));
    assert!(found.is_err(), "lanes were exchanged and nobody noticed");
}

/// Pads that are read a cycle ahead: also what is read too early is the same.
#[test]
fn pads_with_registers() {
    let registered = |spec: MachineSpec| MachineSpec { pad_register: Some(true), ..spec };
    check(registered(comparing(&MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) })), 0..50);
    check(registered(with_unit(&grid(2, 2, 16))), 0..50);
}

/// Pads whose words lie side by side in a row: with gradient pads among them or, where sums come back to single PEs, beside them; with registers; the
/// scalar unit keeps its own.
#[test]
fn pads_in_rows() {
    let rows = |spec: MachineSpec| MachineSpec { pads_in_rows: Some(true), ..spec };
    check(rows(comparing(&MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) })), 0..60);
    let registered = MachineSpec { pad_register: Some(true), gradient_depth: Some(4), ..grid(1, 4, 9) };
    check(rows(with_unit(&registered)), 0..60);
    check(rows(MachineSpec { partial_sums: Some(true), gradient_depth: Some(4), ..grid(2, 2, 24) }), 0..60);
}

/// A PE that writes when its neighbour does.
#[test]
fn a_neighbours_write_is_found() {
    let machine = Machine::try_from(MachineSpec { pads_in_rows: Some(true), ..grid(1, 2, 16) }).expect("a valid grid");
    let mut rtl = hdl::elaborate(&machine);
    let own = "if (write_1) words[write_address][31:16] <= write_data_1;";
    assert!(rtl.verilog.contains(own), "the text has changed");
    rtl.verilog = rtl.verilog.replace(own, "if (write_0) words[write_address][31:16] <= write_data_1;");
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..20));
    assert!(found.is_err(), "a neighbour's write enable was taken and nobody noticed");
}

#[test]
fn a_scalar_unit() {
    check(with_unit(&grid(2, 4, 16)), 0..100);
}

#[test]
fn a_scalar_unit_with_everything() {
    let [tiled, narrow, few] = few_amounts().map(|spec| with_unit(&spec));
    let wide = comparing(&MachineSpec { gradient_depth: Some(8), accumulator: Some(70), ..grid(2, 3, 9) });
    for spec in [comparing(&tiled), narrow, few, with_unit(&wide)] {
        check(spec, 0..40);
    }
}

#[test]
fn no_functions_and_smallest_memories() {
    let spec = MachineSpec {
        table_entries: Some(0),
        divider: None,
        model_depth: Some(2),
        data_depth: Some(2),
        temporary_depth: Some(2),
        output_fifo: Some(4),
        accumulator: Some(18),
        ..grid(4, 1, 9)
    };
    check(spec, 0..100);
}

/// Shifters that do a few amounts only.
fn few_amounts() -> [MachineSpec; 3] {
    let few = |spec: MachineSpec, alignments: &[u32], shifts: &[u32], root_shifts: &[u32]| MachineSpec {
        alignments: Amounts::of(alignments.iter().copied()),
        shifts: Amounts::of(shifts.iter().copied()),
        root_shifts: Amounts::of(root_shifts.iter().copied()),
        ..spec
    };
    [
        few(
            MachineSpec { accumulator: Some(40), gradient_depth: Some(4), ..grid(2, 4, 16) },
            &[0, 5, 15, 33],
            &[0, 3, 16, 30],
            &[14, 16],
        ),
        few(grid(1, 2, 9), &[8], &[7], &[9]),
        few(grid(1, 3, 24), &[0, 23, 63], &[0, 1, 12, 23, 24, 40, 46, 63], &[0, 1, 2, 30, 50]),
    ]
}

#[test]
fn a_few_shift_amounts() {
    for spec in few_amounts() {
        check(spec, 0..100);
    }
}

/// The same sums from a multiplier block that is named, by a model of what its manual says; then with `right` made `wrong`.
fn leaves(family: &str) -> Leaves {
    Family::named(family).expect("a family").leaves()
}

fn check_cells(leaves: Leaves, cell: &str, model: &str, mistakes: &[(&str, &str)]) {
    let machine = Machine::try_from(few_amounts()[0].clone()).expect("a valid grid");
    let mut rtl = hdl::elaborate_with(&machine, leaves);
    assert!(rtl.verilog.contains(cell));
    rtl.verilog += model;
    check_rtl(&machine, &rtl, 0..50);
    for (right, wrong) in mistakes {
        assert!(rtl.verilog.contains(right), "the text has changed");
        let broken = Rtl { verilog: rtl.verilog.replace(right, wrong), ..rtl.clone() };
        let found = std::panic::catch_unwind(|| check_rtl(&machine, &broken, 0..100));
        assert!(found.is_err(), "{wrong} changed something and nobody noticed");
    }
}

#[test]
fn cells_of_ultrascale() {
    let model = include_str!("lockstep/ultrascale.v");
    let resets = (".RSTA(~admitted), .RSTB(~admitted | without_b_0)", ".RSTA(1'b0), .RSTB(without_b_0)");
    let joined = ("~admitted | without_b_0", "~admitted");
    let gates = (".RSTA(~give_0), .RSTB(~give_0), .RSTC(~give_0)", ".RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0)");
    check_cells(leaves("xcup"), "DSP48E2", model, &[resets, joined, gates]);
}

/// Trees whose groups have one, two, three and four terms.
#[test]
fn trees_of_blocks() {
    let model = include_str!("lockstep/ultrascale.v");
    for (rows, columns) in [(5, 2), (1, 7)] {
        let machine = Machine::try_from(grid(rows, columns, 16)).expect("a valid grid");
        let mut rtl = hdl::elaborate_with(&machine, leaves("xcup"));
        assert!(rtl.verilog.contains("module block_tree"));
        rtl.verilog += model;
        check_rtl(&machine, &rtl, 0..30);
    }
}

/// The model is the one that netlists are simulated with.
#[test]
fn cells_of_ecp5() {
    let model = include_str!("../../../fpga/families/ecp5/cells.v");
    check_cells(leaves("ecp5"), "MULT18X18D", model, &[(".RST0(~admitted)", ".RST0(1'b0)")]);
}

/// The Rust side of every block, which rust-hdl's simulator runs.
#[test]
fn blocks_simulate_as_their_text_does() {
    let [.., few] = few_amounts();
    let tiled = MachineSpec { gradient_depth: Some(4), ..grid(2, 3, 16) };
    let unit = with_unit(&comparing(&tiled));
    let lanes = MachineSpec { output_words: Some(2), ..comparing(&grid(4, 1, 9)) };
    let wide = MachineSpec { output_words: Some(2), emit_words: Some(4), ..comparing(&grid(2, 2, 9)) };
    let rectified = [rectifying(&unit), rectifying(&few)];
    let rows = MachineSpec { pads_in_rows: Some(true), pad_register: Some(true), ..unit.clone() };
    let sums = MachineSpec { partial_sums: Some(true), ..tiled };
    let others = [rows, MachineSpec { pads_in_rows: Some(true), ..sums.clone() }, sums].into_iter().chain(rectified);
    for spec in [grid(1, 2, 9), lanes, wide, across(&grid(2, 2, 9))].into_iter().chain(others) {
        let machine = Machine::try_from(spec).expect("a valid grid");
        compare(&machine, Modelled::new(&machine), 0);
    }
}

/// A grid of four PEs with all kinds of streams.
fn with_everything() -> Machine {
    let spec = with_unit(&comparing(&MachineSpec { gradient_depth: Some(4), ..grid(2, 2, 16) }));
    Machine::try_from(spec).expect("a valid grid")
}

/// A reset in mid-run, then a run that depends on nothing from before it.
#[test]
fn reset_in_the_middle_of_a_run() {
    let machine = with_everything();
    let library = Library::build(&hdl::elaborate(&machine), &Options::brief()).expect("the grid compiles");
    for seed in 0..20 {
        let mut device = GridDevice::new(&library, &machine);
        let mut generator =
            Generator { machine: &machine, random: Random(ChaCha8Rng::seed_from_u64(seed)), long: false };
        // Like a run of `compare`, broken off somewhere.
        let programs = generator.programs();
        programs.write(&mut device, &machine);
        device.control_write(registers::STEPS, 3);
        device.control_write(registers::TILES, 2);
        for &(register, value) in &programs.entries {
            device.control_write(register, value);
        }
        device.control_write(registers::CONTROL, registers::START | registers::START_LOAD_MODEL);
        let beat = vec![1; machine.stream_words() as usize];
        for _ in 0..generator.random.range(1, 200) {
            device.cycle(Some(&beat), generator.random.chance(50));
        }
        device.reset();

        let mut grid = Lockstep::new(Array::new(&machine), device);
        load_and_dump(&mut grid, &mut generator, seed);
    }
}

/// A run that depends on nothing from before it: the model is loaded and emitted.
fn load_and_dump(grid: &mut Lockstep<Array, impl Grid>, generator: &mut Generator, seed: u64) {
    let machine = generator.machine;
    let beat = vec![1; machine.stream_words() as usize];
    for _ in 0..8 {
        assert!(!grid.cycle(Some(&beat), true).input_taken, "seed {seed}: takes input before it is told to");
    }
    let load = generator.load_all(Pad::Model);
    let dump = AluInstruction { end: true, ..generator.dump(Pad::Model) };
    write_program(grid, machine, Region::Load, &[load]);
    write_program(grid, machine, Region::Alu, &[dump]);
    grid.control_write(registers::STEPS, 0);
    let entry = registers::ENTRY_ENABLE | first(machine);
    grid.control_write(registers::ENTRY_LOAD_MODEL, entry);
    grid.control_write(registers::ENTRY_EMIT_MODEL, entry);
    let flags = registers::START | registers::START_LOAD_MODEL | registers::START_EMIT_MODEL;
    grid.control_write(registers::CONTROL, flags);
    let mut host = Host::new(Stalls::none());
    for _ in 0..beats(&load.counts) {
        host.send((0..machine.stream_words()).map(|_| generator.random.word(16)).collect());
    }
    let words = (beats(&dump.counts) * u64::from(dump.transfers(machine) * machine.output_words())) as usize;
    let end = host.exchange(grid, words, 10_000).and_then(|()| host.finish(grid, 10_000));
    assert!(grid.mismatch().is_none(), "seed {seed}: {}", grid.mismatch().expect("just seen"));
    end.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
}

/// Aborts at random cycles, with input that stops and output that is not taken: entries stay, nothing of the run is left.
#[test]
fn abort_in_any_state() {
    let machine = with_everything();
    let library = Library::build(&hdl::elaborate(&machine), &Options::brief()).expect("the grid compiles");
    let mut states = std::collections::BTreeSet::new();
    for seed in 0..60 {
        states.insert(aborted(&machine, GridDevice::new(&library, &machine), seed));
    }
    assert!(states.len() >= 5, "aborted in {states:?}");
    for seed in 60..63 {
        aborted(&machine, Modelled::new(&machine), seed);
    }
}

/// A run, aborted; then whole runs. The state in which it was aborted.
fn aborted(machine: &Machine, hardware: impl Grid, seed: u64) -> &'static str {
    let mut array = Array::new(machine);
    array.watch(0);
    let mut grid = Lockstep::new(array, hardware);
    let mut generator = Generator { machine, random: Random(ChaCha8Rng::seed_from_u64(seed)), long: false };
    generator.tables(&mut grid);
    generator.fill(&mut grid);
    let programs = generator.programs();
    programs.write(&mut grid, machine);
    grid.control_write(registers::STEPS, 3);
    grid.control_write(registers::STEP_LENGTH, programs.step_length as u32);
    for &(register, value) in &programs.entries {
        grid.control_write(register, value);
    }
    let flags = registers::START | registers::START_LOAD_MODEL | registers::START_EMIT_MODEL;
    grid.control_write(registers::CONTROL, flags);
    // Input that stops for ever, output that is not taken, or both streams at full speed.
    let (fed, drained) = (generator.random.range(0, 300), generator.random.chance(50));
    let beat = vec![1; machine.stream_words() as usize];
    for cycle in 0..generator.random.range(1, 400) {
        grid.cycle((cycle < fed).then_some(&beat), drained);
    }
    let state = grid.grids_mut().0.observation().expect("it is watched").run_state;
    grid.control_write(registers::CONTROL, registers::ABORT);
    for _ in 0..3 {
        grid.cycle(Some(&beat), true);
    }
    assert_eq!(grid.control_read(registers::CONTROL), 0, "seed {seed}: idle after an abort");
    for &(register, value) in &programs.entries {
        assert_eq!(grid.control_read(register), value, "seed {seed}: entries stay");
    }
    assert!(grid.mismatch().is_none(), "{machine}, seed {seed}: {}", grid.mismatch().expect("just seen"));
    load_and_dump(&mut grid, &mut generator, seed);
    state
}

#[test]
fn generated_text_has_no_warnings() {
    // Usual grids are in tests/lint.rs.
    let sizes = [(1, 1, 8), (3, 5, 16), (2, 3, 32)];
    let specs = sizes.map(|(pus, pes_per_pu, word)| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        ..MachineSpec::default()
    });
    let smallest = MachineSpec { table_entries: Some(0), divider: None, program_depth: Some(4), ..grid(1, 1, 8) };
    let tiled = MachineSpec { gradient_depth: Some(16), ..grid(2, 3, 24) };
    let dividing = [grid(1, 1, 8), comparing(&tiled), comparing(&grid(1, 1, 9)), comparing(&grid(5, 1, 16))];
    let lanes = [(2, 2), (6, 2), (8, 8)]
        .map(|(pus, lanes)| MachineSpec { output_words: Some(lanes), ..comparing(&grid(pus, 3, 16)) });
    let wide = [(2, 1, 2), (2, 2, 4), (4, 1, 8)].map(|(pus, words, emit)| MachineSpec {
        output_words: Some(words),
        emit_words: Some(emit),
        ..comparing(&grid(pus, 2, 16))
    });
    let units = [&smallest, &tiled, &few_amounts()[0], &comparing(&few_amounts()[1])].map(with_unit);
    for spec in
        specs.into_iter().chain([smallest]).chain(dividing).chain(few_amounts()).chain(units).chain(lanes).chain(wide)
    {
        let machine = Machine::try_from(spec).expect("a valid grid");
        let rtl = hdl::elaborate(&machine);
        lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{machine}: {error}"));
    }
}

#[test]
fn a_fault_in_the_hardware_is_found() {
    let machine = Machine::try_from(grid(2, 4, 16)).expect("a valid grid");
    let mut rtl = hdl::elaborate(&machine);
    let (right, wrong) = ("shifted_half & (shifted_sticky | shifted_floor[0])", "shifted_half");
    assert!(rtl.verilog.contains(right), "the text has changed");
    rtl.verilog = rtl.verilog.replace(right, wrong);
    let found = std::panic::catch_unwind(|| check_rtl(&machine, &rtl, 0..100));
    assert!(found.is_err(), "ties were rounded up and nobody noticed");
}
