//! A grid as yosys makes it of the cells of ECP5 and iCE40 trains one batch, word for word as the array does.

use arch::Machine;
use arch::machine::MachineSpec;
use arch::rtl::Rtl;
use arch::tools::Toolbox;
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use fpga::family::Family;
use fpga::yosys::synthesise;
use sim::array::Array;
use sim::grid::{Lockstep, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library};

/// Two PEs of 12 bits with a function unit; pads of all kinds: block memories on iCE40, tables and block memories on ECP5.
fn spec() -> MachineSpec {
    MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(2),
        word: Some(12),
        accumulator: Some(28),
        stream_words: Some(1),
        model_depth: Some(128),
        data_depth: Some(16),
        temporary_depth: Some(32),
        program_depth: Some(16),
        table_entries: Some(128),
        output_fifo: Some(4),
        ..MachineSpec::default()
    }
}

/// One update of logistic regression from a batch of three samples.
fn climb(spec: &MachineSpec) -> Climb {
    let text = include_str!("../conformance/tabla/bench_logistic_3.t");
    let (program, _) = language::parse(Language::Tabla, text, &language::Options::default()).unwrap();
    let values = |pairs: &[(&str, &[f64])]| pairs.iter().map(|(name, v)| ((*name).to_owned(), v.to_vec())).collect();
    let model: NamedValues = values(&[("w", &[0.25, 1.0, 0.5])]);
    let step: NamedValues =
        values(&[("x", &[1.0, 0.5, -2.0, 1.0, -0.25, 0.75, 1.0, 1.5, 0.125]), ("y", &[1.0, 0.0, 1.0])]);
    let options = Options { keep: Keep::AllNames, batch: Batch { size: 3, reduction: Reduction::Sum } };
    Climb::new(&program, &options, &model, &[step], spec).unwrap_or_else(|refused| panic!("{refused:?}"))
}

/// What yosys makes of the grid for `family`, with models of the cells.
fn netlist(machine: &Machine, family: &str) -> Rtl {
    let family = Family::named(family).unwrap();
    let rtl = hdl::elaborate_with(machine, family.leaves());
    let folder = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::default();
    let netlist = synthesise(&rtl, family, folder.path(), &toolbox).unwrap_or_else(|error| panic!("{error}"));
    netlist.simulation(&rtl, &toolbox).unwrap().expect("every cell has a model")
}

/// The batch on the array and on `netlist`: as many words agree as there are. That others are noticed shows `netlist`, on less Verilog.
fn train(family: &str) {
    let machine = Machine::try_from(spec()).unwrap();
    let netlist = netlist(&machine, family);
    let library = Library::build(&netlist, &sim::verilator::Options::brief()).unwrap_or_else(|e| panic!("{e}"));
    let mut pair = Lockstep::new(Array::new(&machine), GridDevice::new(&library, &machine));
    let agreement = climb(&spec()).run(&mut pair, Stalls::seeded(3, 40, 40));
    assert!(pair.mismatch().is_none(), "{:?}", pair.mismatch().map(ToString::to_string));
    assert!(agreement.unwrap_or_else(|fall| panic!("{fall}")).words >= 3);
}

#[test]
fn ecp5() {
    train("ecp5");
}

#[test]
fn ice40() {
    train("ice40");
}
