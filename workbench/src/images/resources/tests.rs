//! Estimates beside what yosys made, and by hand.

use super::*;
use arch::machine::MachineSpec;

fn machine(parameters: [u32; 10]) -> Machine {
    let [pus, pes_per_pu, word, accumulator, model, data, temporary, program, tables, fifo] = parameters.map(Some);
    let spec = MachineSpec {
        pus,
        pes_per_pu,
        word,
        accumulator,
        model_depth: model,
        data_depth: data,
        temporary_depth: temporary,
        program_depth: program,
        table_entries: tables,
        output_fifo: fifo,
        ..MachineSpec::default()
    };
    Machine::try_from(spec).unwrap()
}

/// What yosys 0.70 made of whole grids: rows, columns, word, accumulator, depths of model, data, temporaries, programs,
/// tables and FIFO; alignments, shifts, shifts of roots; scalar units; then LUT, FF, DSP and block memories.
type Measured = (&'static str, [u32; 10], [&'static [u32]; 3], u32, [u64; 4]);
const MEASURED: &[Measured] = &[
    ("ecp5", [1, 16, 16, 40, 256, 256, 16, 32, 512, 16], [&[16], &[0, 15, 16], &[16]], 0, [15_651, 8_702, 18, 44]),
    ("ecp5", [1, 4, 16, 36, 16, 16, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 1, [9_780, 6_817, 7, 5]),
    (
        "xcup",
        [16, 32, 16, 48, 1024, 512, 32, 16, 512, 32],
        [&[0, 14, 15, 16], &[0, 12, 15, 16], &[0, 16]],
        0,
        [118_426, 83_291, 878, 1_041],
    ),
    (
        "xcup",
        [16, 32, 16, 36, 1024, 512, 16, 16, 512, 32],
        [&[16], &[0, 15, 16], &[16]],
        0,
        [97_950, 81_969, 878, 1_041],
    ),
    ("xcup", [4, 8, 16, 36, 1024, 512, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 0, [10_616, 11_306, 59, 69]),
    ("xcup", [4, 8, 8, 20, 1024, 512, 16, 16, 512, 32], [&[8], &[0, 7, 8], &[8]], 0, [7_664, 7_893, 59, 64]),
    ("xc7", [4, 8, 16, 36, 1024, 512, 16, 16, 512, 32], [&[16], &[0, 15, 16], &[16]], 0, [17_058, 15_262, 37, 69]),
    ("xc7", [4, 8, 8, 20, 1024, 512, 16, 16, 512, 32], [&[8], &[0, 7, 8], &[8]], 0, [11_165, 10_769, 37, 64]),
];

#[test]
fn estimates_are_near_what_yosys_makes() {
    let near = |estimate: u64, measured: u64, percent: u64| estimate.abs_diff(measured) * 100 <= percent * measured;
    for &(family, parameters, amounts, scalars, [lut, ff, dsp, bram]) in MEASURED {
        let [alignments, shifts, root_shifts] = amounts.map(|list| Amounts::of(list.iter().copied()));
        let scalar = Some(scalars > 0);
        let spec = MachineSpec { alignments, shifts, root_shifts, scalar, ..MachineSpec::from(machine(parameters)) };
        let machine = Machine::try_from(spec).unwrap();
        let found = estimate(&machine, Family::named(family));
        let percent = if family == "ecp5" { 20 } else { 5 };
        assert!(
            near(found.lut, lut, percent) && near(found.ff, ff, percent),
            "{family} {machine}: {found:?}, {lut} {ff}"
        );
        assert!(near(found.dsp, dsp, 10) && near(found.bram, bram, 10), "{family} {machine}: {found:?}, {dsp} {bram}");
    }
}

/// By hand: of a tree of 8 terms two groups of four are two blocks each and their pair is one, of 4 terms there are two. In look-up tables they are
/// 31 nodes of 36 bits.
#[test]
fn trees_of_blocks_give_way_where_multipliers_are_few() {
    let xcup = Family::named("xcup").unwrap();
    let machine = machine([4, 8, 16, 36, 64, 64, 16, 16, 512, 32]);
    let found = estimate(&machine, Some(xcup));
    let has = |dsp| Resources { lut: 99_999, ff: 99_999, dsp, bram: 999, lutram: 0, spram: 0 };
    let [enough, few] = [found.dsp, found.dsp - 1].map(has);
    let (kept, without) = (found.within(&enough), found.within(&few));
    assert_eq!(kept, found);
    assert_eq!((found.dsp - without.dsp, without.lut - found.lut), (4 * 5 + 2, 31 * 36));
    let named = |has| leaves(&machine, xcup, has).adder.is_some();
    assert_eq!((named(&enough), named(&few)), (true, false));
    assert!(lacks(&machine, xcup, &few, Microcode::Ram).is_empty());
}

/// As yosys makes them: an entry of 36 bits is as wide as a block memory of 512 words, and as two of 1,024.
#[test]
fn an_entry_lies_in_one_memory() {
    let ecp5 = Family::named("ecp5").unwrap();
    let blocks = |entries| estimate(&machine([8, 8, 16, 36, 16, 16, 16, 16, entries, 32]), Some(ecp5)).bram;
    assert_eq!([512, 1024].map(|entries| blocks(entries) - blocks(0)), [9, 18]);
}

/// What yosys 0.70 made of whole grids: `RAM16SDP4` and `TRELLIS_DPR16X4`, which nextpnr refuses where a device has fewer.
#[test]
fn groups_of_tables_are_near_what_yosys_makes() {
    let cases = [
        ("gw2a", [1, 8, 16, 39, 2048, 128, 64, 32, 512, 16], Microcode::Ram, 660),
        ("gw2a", [1, 8, 16, 36, 64, 64, 16, 16, 512, 16], Microcode::Ram, 368),
        ("gw1n", [1, 4, 16, 36, 64, 64, 16, 32, 512, 16], Microcode::Rom, 100),
        ("ecp5", [8, 8, 16, 36, 16, 16, 16, 16, 512, 32], Microcode::Ram, 1455),
        ("ecp5", [2, 8, 16, 36, 16, 16, 16, 16, 512, 32], Microcode::Ram, 492),
    ];
    for (family, parameters, microcode, groups) in cases {
        let found = estimate_of(&machine(parameters), Family::named(family).unwrap(), microcode).lutram;
        assert!(found.abs_diff(groups) * 100 <= 5 * groups, "{family} {parameters:?}: {found}, {groups}");
    }
}

/// By hand, on 2 rows of 8 PEs: 16 bits of 512 words and 39 of 256 are one and two block memories for each PE, or four and nine for a row of 128
/// and 312 bits. Temporaries of 64 words are tables, which they stay where that is asked for: 16 groups of six, and three multiplexers of 16.
#[test]
fn pads_in_rows_fill_block_memories() {
    let costs = &Family::named("ecp5").unwrap().facts().estimate;
    let pads = |pads_in_rows, block_depth, partial_sums| {
        let spec = MachineSpec {
            pus: Some(2),
            accumulator: Some(39),
            model_depth: Some(512),
            data_depth: Some(256),
            temporary_depth: Some(64),
            gradient_depth: Some(256),
            block_depth: Some(block_depth),
            pads_in_rows: Some(pads_in_rows),
            partial_sums: Some(partial_sums),
            ..MachineSpec::default()
        };
        let held = pads(&Machine::try_from(spec).unwrap(), costs);
        (held.blocks, held.tables)
    };
    let temporaries = 2 * 16 * (96 + 48);
    assert_eq!(pads(false, 0, false), (16 * (1 + 1 + 2), temporaries));
    assert_eq!(pads(true, 65, false), (2 * (4 + 4 + 9), temporaries));
    assert_eq!(pads(true, 0, false), (2 * (4 + 4 + 4 + 4 + 9), 0));
    // Sums that come back to single PEs have pads of their own.
    assert_eq!(pads(true, 65, true).0, 2 * (4 + 4 + 8 * 2));
}

#[test]
fn what_is_too_much_is_counted() {
    let ecp5 = Family::named("ecp5").unwrap();
    let has = Resources { lut: 24_288, ff: 24_288, dsp: 28, bram: 56, lutram: 0, spram: 0 };
    let sixteen = machine([1, 16, 16, 40, 256, 256, 16, 32, 512, 16]);
    assert!(lacks(&sixteen, ecp5, &has, Microcode::Ram).is_empty());
    let sixty_four = machine([8, 8, 16, 40, 256, 256, 16, 32, 512, 16]);
    let lacks = lacks(&sixty_four, ecp5, &has, Microcode::Ram);
    assert!(lacks.len() >= 3 && lacks[0].contains("LUT of 24288"), "{lacks:?}");
}

/// By hand: of 16 words of 16 bits, 8,192 rows take 128 block memories of 2 bits each, and 1,024 rows 16 of 16 bits. One in 16 of all stays free.
#[test]
fn a_store_takes_what_is_left_over() {
    let ecp5 = Family::named("ecp5").unwrap();
    let grid = machine([8, 8, 16, 36, 16, 16, 16, 16, 512, 32]);
    let rows = |bram: u64| {
        let taken = estimate(&grid, Some(ecp5)).bram;
        let has = Resources { lut: 83_640, ff: 83_640, dsp: 156, bram: taken + bram, lutram: 0, spram: 0 };
        store_rows(&grid, ecp5, &has, Microcode::Ram)
    };
    assert_eq!((rows(0), rows(160)), (0, 8192 + 1024));
}

/// By hand, of memories of 16 bits: rows of one word take one for each 16,384, rows of three words three.
#[test]
fn large_memories_hold_a_store() {
    let rows = |lanes: u32, spram: u64| {
        let lanes = Some(lanes);
        let (pus, word) = (Some(1), Some(16));
        let spec = MachineSpec { pus, pes_per_pu: lanes, word, stream_words: lanes, ..MachineSpec::default() };
        let has = Resources { lut: 5280, ff: 5280, dsp: 8, bram: 30, lutram: 0, spram };
        large_store_rows(&Machine::try_from(spec).unwrap(), &has)
    };
    assert_eq!([rows(1, 0), rows(1, 1), rows(1, 3), rows(1, 4)], [0, 16_384, 49_152, 65_536]);
    assert_eq!([rows(3, 2), rows(3, 4), rows(2, 4)], [0, 16_384, 32_768]);
}

/// docs/store.md: beside two PEs of an iCEBreaker a store does not fit, beside one it does.
#[test]
fn a_store_takes_logic() {
    let ice40 = Family::named("ice40").unwrap();
    let has = Resources { lut: 5280, ff: 5280, dsp: 8, bram: 30, lutram: 0, spram: 4 };
    let fits = |pes: u32, temporary: u32, program: u32, permutes: bool| {
        let stream_words = Some(1);
        let grid = machine([1, pes, 16, 32, 64, 64, temporary, program, 256, 16]);
        let amounts = Amounts::of([0, 14, 15, 16]);
        let shifts = MachineSpec { alignments: amounts, shifts: amounts, root_shifts: amounts, ..grid.into() };
        let grid = Machine::try_from(MachineSpec { stream_words, ..shifts }).unwrap();
        has_logic_for_store(&grid, ice40, &has, Microcode::Rom, permutes)
    };
    assert_eq!([fits(2, 16, 32, false), fits(2, 16, 32, true)], [false, false]);
    assert!(fits(1, 32, 64, false));
}

/// Grids in `configs/` fit their boards, by estimate.
#[test]
fn board_configs_fit_their_boards() {
    for name in ["ulx3s", "ulx3s-25f", "icebreaker", "tangnano9k", "tangnano20k", "zcu102"] {
        let path = crate::library::find_config(std::path::Path::new(name)).unwrap();
        let source = crate::library::read(&path).unwrap();
        let config = crate::config::Config::parse(&source).unwrap();
        let board = crate::board::ChosenBoard::find(&config.board, &path, &source).unwrap();
        let facts = board.facts().unwrap();
        // Depths and shifters that follow from the program are small.
        let spec = MachineSpec {
            temporary_depth: config.spec.temporary_depth.or(Some(16)),
            program_depth: config.spec.program_depth.or(Some(32)),
            alignments: config.spec.alignments.or(Amounts::of([0, 14, 15, 16])),
            shifts: config.spec.shifts.or(Amounts::of([0, 14, 15, 16])),
            ..config.spec
        };
        let machine = Machine::try_from(spec).unwrap();
        let lacks = lacks(&machine, facts.device.family(), &facts.resources, config.build.microcode);
        assert!(lacks.is_empty(), "{name}: {lacks:?}");
        // With as many PUs as fit there are no fewer.
        let rows = format!("pus = {}\n", machine.pus());
        assert!(source.text.contains(&rows), "{name}");
        let source = crate::failure::Source { text: source.text.replace(&rows, "pus = \"auto\"\n"), ..source };
        let config = crate::config::Config::parse(&source).unwrap();
        let filled = board.fill(&config.spec, config.build.microcode, &source).unwrap();
        assert!(filled.pus() >= machine.pus(), "{name}: {filled}");
    }
}
