//! Buses of the columns in Verilog, word for word: what is computed is copied from the rows to the columns, evenly and not.

use crate::made_up;
use arch::machine::MachineSpec;
use arch::timing::Unit;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::grid::Stalls;
use sim::ladder::Climb;
use sim::verilator::{GridDevice, Library, Options as Build};

/// The fourth power of a matrix, and the eighth, on as many rows as columns.
fn powers(size: u32, lines: u32) {
    let text = format!(
        "def f(float({size},{size}) A) -> (C) {{ B(i,j) +=! A(i,k) * A(k,j)  D(i,j) +=! B(i,k) * B(k,j)  \
         C(i,j) +=! D(i,k) * D(k,j) }}"
    );
    let (program, _) = language::parse(Language::TensorComprehensions, &text, &language::Options::default()).unwrap();
    let (model, steps) = made_up::values(&program, 1, 3);
    let keep = Keep::Prediction { names: vec!["C".to_owned()], states: Vec::new() };
    let options = Options { keep, batch: Batch::SINGLE };
    let spec = MachineSpec {
        pus: Some(lines),
        pes_per_pu: Some(lines),
        scalar: Some(false),
        column_buses: Some(true),
        ..MachineSpec::default()
    };
    let climb = Climb::new(&program, &options, &model, &steps, &spec).unwrap();
    let moves = &climb.image().moves;
    assert!(moves.iter().any(|at| at.instruction.source == Unit::Across), "nothing goes across: {moves:?}");
    let machine = &climb.image().machine;
    let library = Library::build(&hdl::elaborate(machine), &Build::default()).expect("the grid compiles");
    climb.run(GridDevice::new(&library, machine), Stalls::none()).unwrap();
}

#[test]
fn rows_go_to_columns_on_the_rtl() {
    powers(8, 4);
}

/// The last row and the last column of the grid have a word less than the others.
#[test]
fn fewer_rows_than_lines_go_to_columns() {
    powers(7, 4);
}
