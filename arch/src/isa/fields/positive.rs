//! The bit that makes negative results 0, and what positive ones are at most, behind the amount of a shift.

use super::super::UNLIMITED;
use super::super::walk::WalkFields;
use crate::machine::Machine;
use crate::number::word_max;

/// Field behind a shift amount, of machines with `rectifiers`: a negative result becomes 0.
pub const POSITIVE: &str = "positive";
/// Field behind that, of machines with `limits`: what a positive result is at most.
pub const LIMIT: &str = "limit";

/// Whether a negative result becomes 0, and what it is at most, behind the shift amount: hardware takes all for one field.
pub(super) fn rectifier(walk: &mut dyn WalkFields, machine: &Machine, positive: &mut Option<i32>) {
    let most = word_max(machine.word()) as u32;
    let (mut is, mut limit) = (positive.is_some(), positive.map_or(0, |limit| (limit as u32).min(most)));
    if machine.rectifiers() {
        walk.flag(POSITIVE, &mut is);
    } else {
        walk.absent(POSITIVE, u32::from(is));
    }
    if machine.limits() {
        walk.unsigned(LIMIT, machine.word() - 1, &mut limit);
    } else {
        walk.absent(LIMIT, u32::from(is && limit < most));
    }
    let limited = machine.limits() && limit < most;
    *positive = is.then_some(if limited { limit as i32 } else { UNLIMITED });
}

#[cfg(test)]
mod tests {
    use super::super::super::{
        AluInstruction, Finish, Instruction, LIMIT, POSITIVE, RootInstruction, ScalarInstruction, UNLIMITED,
    };
    use crate::machine::{Machine, MachineSpec};

    #[test]
    fn machines_with_rectifiers_have_a_bit_for_them() {
        let machine = Machine::grid(3, 5, 24).expect("a valid grid");
        let spec = MachineSpec { rectifiers: Some(true), scalar: Some(true), ..MachineSpec::from(machine.clone()) };
        let with = Machine::try_from(spec).expect("a grid");
        let of = |finish| AluInstruction { finish, ..AluInstruction::plain(&machine) };
        for instruction in [Finish::Round, Finish::Negative, Finish::Positive(UNLIMITED)].map(of) {
            let chunks = instruction.encode(&with).expect("it fits");
            assert_eq!(AluInstruction::decode(&with, &chunks), instruction);
            assert_eq!(AluInstruction::from_values(&with, &instruction.values(&with)), Ok(instruction));
            let unit = ScalarInstruction::of(instruction, true);
            assert_eq!(ScalarInstruction::decode(&with, &unit.encode(&with).expect("it fits")), unit);
        }
        let refused = of(Finish::Positive(UNLIMITED)).encode(&machine).map_err(|error| error.field);
        assert_eq!(refused, Err(POSITIVE.to_owned()));
        let root = RootInstruction { positive: Some(UNLIMITED), ..RootInstruction::plain(&with) };
        assert_eq!(RootInstruction::decode(&with, &root.encode(&with).expect("it fits")), root);
        assert_eq!(root.encode(&machine).map_err(|error| error.field), Err(POSITIVE.to_owned()));
        // Hardware joins both.
        for layout in [AluInstruction::layout(&with), RootInstruction::layout(&with)] {
            let (shift, positive) = (layout.field("shift"), layout.field(POSITIVE));
            assert_eq!((shift.lsb + shift.bits, positive.bits), (positive.lsb, 1));
        }
    }

    #[test]
    fn machines_with_limits_have_a_field_for_them() {
        let machine = Machine::grid(2, 2, 16).expect("a valid grid");
        let with = |limits| MachineSpec { rectifiers: Some(true), limits: Some(limits), ..machine.clone().into() };
        let [without, with] = [false, true].map(|limits| Machine::try_from(with(limits)).expect("a grid"));
        let largest = (1 << (with.word() - 1)) - 1;
        for limit in [0, 255, largest - 1, UNLIMITED] {
            let alu = AluInstruction { finish: Finish::Positive(limit), ..AluInstruction::plain(&with) };
            assert_eq!(AluInstruction::decode(&with, &alu.encode(&with).expect("it fits")), alu);
            let root = RootInstruction { positive: Some(limit), ..RootInstruction::plain(&with) };
            assert_eq!(RootInstruction::decode(&with, &root.encode(&with).expect("it fits")), root);
            let refused = root.encode(&without).map_err(|error| error.field).err();
            assert_eq!(refused, (limit < largest).then(|| LIMIT.to_owned()));
        }
        // No word is larger than the largest.
        let all = AluInstruction { finish: Finish::Positive(largest), ..AluInstruction::plain(&with) };
        let decoded = AluInstruction::decode(&with, &all.encode(&with).expect("it fits"));
        assert_eq!(decoded.finish, Finish::Positive(UNLIMITED));
        for layout in [AluInstruction::layout(&with), RootInstruction::layout(&with)] {
            let (positive, limit) = (layout.field(POSITIVE), layout.field(LIMIT));
            assert_eq!((positive.lsb + 1, limit.bits), (limit.lsb, with.word() - 1));
        }
    }
}
