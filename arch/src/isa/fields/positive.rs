//! The bit that makes negative results 0, behind the amount of a shift.

use super::super::{AluInstruction, Finish, Instruction, POSITIVE, RootInstruction, ScalarInstruction};
use crate::machine::{Machine, MachineSpec};

#[test]
fn machines_with_rectifiers_have_a_bit_for_them() {
    let machine = Machine::grid(3, 5, 24).expect("a valid grid");
    let spec = MachineSpec { rectifiers: Some(true), scalar: Some(true), ..MachineSpec::from(machine.clone()) };
    let with = Machine::try_from(spec).expect("a grid");
    let of = |finish| AluInstruction { finish, ..AluInstruction::plain(&machine) };
    for instruction in [Finish::Round, Finish::Negative, Finish::Positive].map(of) {
        let chunks = instruction.encode(&with).expect("it fits");
        assert_eq!(AluInstruction::decode(&with, &chunks), instruction);
        assert_eq!(AluInstruction::from_values(&with, &instruction.values(&with)), Ok(instruction));
        let unit = ScalarInstruction::of(instruction, true);
        assert_eq!(ScalarInstruction::decode(&with, &unit.encode(&with).expect("it fits")), unit);
    }
    let refused = of(Finish::Positive).encode(&machine).map_err(|error| error.field);
    assert_eq!(refused, Err(POSITIVE.to_owned()));
    let root = RootInstruction { positive: true, ..RootInstruction::plain(&with) };
    assert_eq!(RootInstruction::decode(&with, &root.encode(&with).expect("it fits")), root);
    assert_eq!(root.encode(&machine).map_err(|error| error.field), Err(POSITIVE.to_owned()));
    // Hardware joins both.
    for layout in [AluInstruction::layout(&with), RootInstruction::layout(&with)] {
        let (shift, positive) = (layout.field("shift"), layout.field(POSITIVE));
        assert_eq!((shift.lsb + shift.bits, positive.bits), (positive.lsb, 1));
    }
}
