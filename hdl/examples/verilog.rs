//! Writes the Verilog of a grid: `cargo run -p hdl --example verilog -- ROWS COLUMNS WORD [key=value ...]`.

use arch::amounts::Amounts;
use arch::machine::{Machine, MachineSpec};
use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| arguments.get(n).and_then(|text| text.parse().ok());
    let mut spec = MachineSpec { pus: number(0), pes_per_pu: number(1), word: number(2), ..MachineSpec::default() };
    let mut leaves = hdl::Leaves::GENERIC;
    for (key, text) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        let amounts = || Amounts::of(text.split(',').filter_map(|amount| amount.parse().ok()));
        let value = text.parse().ok();
        match key {
            "alignments" => spec.alignments = amounts(),
            "shifts" => spec.shifts = amounts(),
            "root_shifts" => spec.root_shifts = amounts(),
            "leaves" => leaves = fpga::family::Family::named(text).expect("a family").leaves(),
            "accumulator" => spec.accumulator = value,
            "stream_words" => spec.stream_words = value,
            "model_depth" => spec.model_depth = value,
            "data_depth" => spec.data_depth = value,
            "temporary_depth" => spec.temporary_depth = value,
            "program_depth" => spec.program_depth = value,
            "table_entries" => spec.table_entries = value,
            "output_fifo" => spec.output_fifo = value,
            "extremes" => spec.extremes = text.parse().ok(),
            "scalar" => spec.scalar = text.parse().ok(),
            _ => panic!("no parameter {key}"),
        }
    }
    let machine = Machine::try_from(spec).unwrap_or_else(|error| panic!("{error}"));
    std::io::stdout().write_all(hdl::elaborate_with(&machine, leaves).verilog.as_bytes()).expect("stdout takes text");
}
