//! Buses of the columns in Verilog, word for word: what is computed is copied from the rows to the columns, evenly and not.

use crate::made_up;
use arch::machine::MachineSpec;
use arch::timing::Unit;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::grid::Stalls;
use sim::ladder::Climb;
use sim::verilator::{GridDevice, Library, Options as Build};

/// The second, the third and the fourth power of a matrix.
fn powers(size: u32, pus: u32, pes_per_pu: u32) {
    let text = format!(
        "def f(float({size},{size}) A) -> (C) {{ B(i,j) +=! A(i,k) * A(k,j)  D(i,j) +=! B(i,k) * B(k,j)  \
         C(i,j) +=! D(i,k) * D(k,j) }}"
    );
    let (program, _) = language::parse(Language::TensorComprehensions, &text, &language::Options::default()).unwrap();
    let (model, steps) = made_up::values(&program, 1, 3);
    let keep = Keep::Prediction { names: vec!["C".to_owned()], states: Vec::new() };
    let options = Options { keep, batch: Batch::SINGLE };
    let spec = MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        scalar: Some(false),
        column_buses: Some(true),
        ..MachineSpec::default()
    };
    let climb = Climb::new(&program, &options, &model, &steps, &spec).unwrap();
    let moves = &climb.image().moves;
    assert!(moves.iter().any(|at| at.instruction.source == Unit::Across), "nothing goes across: {moves:?}");
    let machine = &climb.image().machine;
    let library = Library::build(&hdl::elaborate(machine), &Build::brief()).expect("the grid compiles");
    climb.run(GridDevice::new(&library, machine), Stalls::none()).unwrap();
}

#[test]
fn rows_go_to_columns_on_the_rtl() {
    powers(8, 4, 4);
}

/// The last row and the last column of the grid have a word less than the others.
#[test]
fn fewer_rows_than_lines_go_to_columns() {
    powers(7, 4, 4);
}

/// Half of the columns take words at once.
#[test]
fn few_rows_go_to_many_columns() {
    powers(11, 2, 8);
}

/// Half of the rows send words at once.
#[test]
fn many_rows_go_to_few_columns() {
    powers(11, 8, 2);
}
