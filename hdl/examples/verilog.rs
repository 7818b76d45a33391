//! Writes the Verilog of a grid: `cargo run -p hdl --example verilog -- ROWS COLUMNS WORD [key=value ...]`.

use arch::machine::{Machine, MachineSpec};
use std::io::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize| arguments.get(n).and_then(|text| text.parse().ok());
    let mut spec = MachineSpec { pus: number(0), pes_per_pu: number(1), word: number(2), ..MachineSpec::default() };
    let mut leaves = hdl::Leaves::GENERIC;
    for (key, text) in arguments.iter().filter_map(|argument| argument.split_once('=')) {
        match key {
            "leaves" => leaves = fpga::family::Family::named(text).expect("a family").leaves(),
            _ => spec.set(key, text).unwrap_or_else(|error| panic!("{key}={text}: {error}")),
        }
    }
    let machine = Machine::try_from(spec).unwrap_or_else(|error| panic!("{error}"));
    std::io::stdout().write_all(hdl::elaborate_with(&machine, leaves).verilog.as_bytes()).expect("stdout takes text");
}
