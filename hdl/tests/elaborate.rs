//! Properties of the generated text that need no tool. What the hardware computes is compared in sim/tests/hardware/lockstep.rs.

use arch::Machine;
use arch::machine::MachineSpec;

fn modules(verilog: &str) -> Vec<&str> {
    verilog.lines().filter_map(|line| line.strip_prefix("module ")?.split(' ').next()).collect()
}

#[test]
fn equal_blocks_are_one_module() {
    let of = |pus, columns| hdl::elaborate(&Machine::grid(pus, columns, 16).expect("a valid grid")).verilog;
    let large = of(4, 4);
    for name in ["processing_engine", "processing_unit", "root_unit", "row_mask", "tabla"] {
        assert_eq!(modules(&large).iter().filter(|module| **module == name).count(), 1, "{name}");
    }
    // Four times the PEs are hardly more text.
    assert!(of(8, 8).len() < large.len() * 3 / 2);
}

#[test]
fn the_same_machine_gives_the_same_text() {
    let machine = Machine::grid(3, 5, 24).expect("a valid grid");
    let first = hdl::elaborate(&machine);
    assert_eq!(first, hdl::elaborate(&machine));
    assert!(first.verilog.is_ascii());
    assert_eq!(modules(&first.verilog).last(), Some(&first.top.as_str()));
}

#[test]
fn every_module_says_what_it_is() {
    let text = hdl::elaborate(&Machine::grid(2, 4, 16).expect("a valid grid")).verilog;
    let lines: Vec<&str> = text.lines().collect();
    for (n, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("module ")) {
        assert!(lines[n - 1].starts_with("// ") && lines[n - 1].ends_with('.'), "{line}");
    }
}

#[test]
fn smallest_and_largest_machines() {
    let spec = |pus, pes_per_pu, word| MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        ..MachineSpec::default()
    };
    let smallest = MachineSpec {
        model_depth: Some(2),
        data_depth: Some(2),
        temporary_depth: Some(2),
        program_depth: Some(4),
        table_entries: Some(0),
        output_fifo: Some(4),
        accumulator: Some(16),
        ..spec(1, 1, 8)
    };
    let widest = MachineSpec { stream_words: Some(64), accumulator: Some(96), ..spec(2, 64, 32) };
    for spec in [smallest, widest, spec(16, 32, 16)] {
        let machine = Machine::try_from(spec).expect("a valid grid");
        let rtl = hdl::elaborate(&machine);
        let in_data = rtl.ports.iter().find(|port| port.name == "in_data").expect("there is an input");
        assert_eq!(in_data.width, machine.stream_words() * machine.word());
    }
}

/// What lets sums out is in no other grid: without it, or without the pads that they wait in, the text is the same.
#[test]
fn sums_leave_where_that_is_asked_for() {
    let of = |partial_sums, gradient_depth| {
        let spec = MachineSpec { partial_sums, gradient_depth: Some(gradient_depth), ..MachineSpec::default() };
        hdl::elaborate(&Machine::try_from(spec).expect("a valid grid")).verilog
    };
    let parts = [
        "leaving_sum",
        "joined_parts",
        "sum_port",
        "sum_gate",
        "part_decode",
        "part_counter",
        "part_select",
        "batch_goes_on",
    ];
    let (without, with) = (of(None, 64), of(Some(true), 64));
    assert_eq!(without, of(Some(false), 64));
    assert!(!parts.iter().any(|part| without.contains(part)));
    assert!(parts.iter().all(|part| modules(&with).contains(part)), "{:?}", modules(&with));
    // Alone the bit of `widths` says that it was asked for.
    let (flat, flat_with) = (of(None, 0), of(Some(true), 0));
    assert_eq!(modules(&flat), modules(&flat_with));
    assert_eq!(flat.lines().zip(flat_with.lines()).filter(|(one, other)| one != other).count(), 1);
}

/// A machine with every part: each port of each module says what it carries.
#[test]
fn every_port_says_what_it_carries() {
    let spec = MachineSpec {
        pus: Some(3),
        pes_per_pu: Some(5),
        divider: Some(true),
        extremes: Some(true),
        squares: Some(true),
        rectifiers: Some(true),
        limits: Some(true),
        scalar: Some(true),
        gradient_depth: Some(16),
        ..MachineSpec::default()
    };
    let few = arch::amounts::Amounts::of([0, 4, 9]);
    let sums = MachineSpec { partial_sums: Some(true), output_words: None, ..spec.clone() };
    let listed = MachineSpec { alignments: few, shifts: few, root_shifts: few, ..spec.clone() };
    for spec in [spec, sums, listed, MachineSpec { pus: Some(1), pes_per_pu: Some(1), ..MachineSpec::default() }] {
        let text = hdl::elaborate(&Machine::try_from(spec).expect("a valid grid")).verilog;
        let is_port = |line: &&str| line.starts_with("    input  wire ") || line.starts_with("    output ");
        let silent: std::collections::BTreeSet<&str> =
            text.lines().filter(is_port).filter(|line| !line.contains("  // ")).collect();
        assert!(silent.is_empty(), "add to hdl/src/rtl/ports.txt: {silent:#?}");
    }
}
