//! Rectifiers in Verilog, word for word: behind sums inside PEs, behind trees, in the scalar unit, with limits, and on grids without.

use crate::made_up;
use arch::isa::Finish;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{GridDevice, Library, Options as Build};

const TEXT: &str = "def f(float(9) X, float(6,9) W, float(6) B, float(7,6) V) -> (Y, Z, r) {
  H(i) +=! W(i,k) * X(k)
  Y(i) = fmin(fmax(H(i) + B(i), 0.0), 0.7)
  G(j) +=! V(j,i) * Y(i)
  Z(j) = fmax(G(j), 0.0)
  h +=! W(2,k) * X(k)
  r = fmax(fmin(B(1) - h, 0.2), 0.0)
}";

#[test]
fn rectifiers_are_the_same_on_the_rtl() {
    let (program, _) = language::parse(Language::TensorComprehensions, TEXT, &language::Options::default()).unwrap();
    let (_, steps) = made_up::values(&program, 1, 3);
    let names = ["Y", "Z", "r"].map(str::to_owned).to_vec();
    let options = Options { keep: Keep::Prediction { names, states: Vec::new() }, batch: Batch::SINGLE };
    for (rectifiers, limits) in [(None, None), (None, Some(false)), (Some(false), None)] {
        let (pus, pes_per_pu) = (Some(2), Some(3));
        let spec = MachineSpec { pus, pes_per_pu, scalar: Some(true), rectifiers, limits, ..MachineSpec::default() };
        let climb = Climb::new(&program, &options, &NamedValues::new(), &steps, &spec).unwrap();
        let in_pes = climb.image().alu.iter().filter(|at| matches!(at.instruction.finish, Finish::Positive(_))).count();
        let in_roots = climb.image().root.iter().filter(|at| at.instruction.positive.is_some()).count();
        assert_eq!(in_pes + in_roots > 0, rectifiers.is_none(), "{in_pes} and {in_roots}: {}", climb.fixed);
        let machine = &climb.image().machine;
        assert_eq!(machine.limits(), rectifiers.or(limits).is_none());
        let library = Library::build(&hdl::elaborate(machine), &Build::brief()).expect("the grid compiles");
        climb.run(GridDevice::new(&library, machine), Stalls::none()).unwrap();
    }
}
