//! Squared differences in Verilog, word for word: in PEs, through trees, compared, with a constant, in the scalar unit.

use crate::made_up;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library, Options as Build};

const TEXT: &str = "def f(float(7,6) X, float(5,6) C, float(6) Y) -> (S, m, E, r) {
  S(i,j) +=! (X(i,k) - C(j,k)) * (X(i,k) - C(j,k))
  m max=! (Y(k) - 0.25) * (Y(k) - 0.25)
  E(j,k) = 1.0 - (Y(k) - C(j,k)) * (Y(k) - C(j,k))
  h +=! Y(k) * Y(k)
  g +=! Y(k) * C(2,k)
  r = (h - g) * (h - g)
}";

#[test]
fn differences_are_squared_on_the_rtl() {
    let (program, _) = language::parse(Language::TensorComprehensions, TEXT, &language::Options::default()).unwrap();
    let (_, steps) = made_up::values(&program, 1, 3);
    let names = ["S", "m", "E", "r"].map(str::to_owned).to_vec();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(2), scalar: Some(true), ..MachineSpec::default() };
    let climb = Climb::new(&program, &options, &NamedValues::new(), &steps, &spec).unwrap();
    let squares = climb.image().alu.iter().filter(|at| at.instruction.square).count();
    let in_unit = climb.image().scalar.iter().filter(|at| at.instruction.alu.square).count();
    assert!(squares >= 3 && squares + in_unit >= 4, "{squares} and {in_unit}: {}", climb.fixed);
    let machine = &climb.image().machine;
    let library = Library::build(&hdl::elaborate(machine), &Build::brief()).expect("the grid compiles");
    climb.run(GridDevice::new(&library, machine), Stalls::none()).unwrap();
}
