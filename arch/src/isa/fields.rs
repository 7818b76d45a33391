//! The fields of each instruction kind, in the order in which they lie in a microcode word.

mod positive;

pub use positive::{LIMIT, POSITIVE};

use super::walk::{Instruction, WalkFields};
use super::{
    Address, AluInstruction, Combine, Factor, Finish, LEVELS, LoadInstruction, Mask, MoveInstruction, NO_LEVEL, Pad,
    RootFunction, RootInstruction, ScalarInstruction, Start, TableUse, Tiles,
};
use super::{Below, Segments};
use crate::division::Rounding;
use crate::machine::Machine;
use crate::number::ceil_log2;
use crate::timing::Unit;
use positive::rectifier;

/// Bits of a loop count.
pub const COUNT_BITS: u32 = 16;
/// Bits of a delay.
pub const DELAY_BITS: u32 = 24;
/// Bits of an interval.
pub const INTERVAL_BITS: u32 = 16;
/// Bits of a shift amount.
pub const SHIFT_BITS: u32 = 6;

/// What operands `b` and `c` may be, and bits of either.
const B: [&str; Pad::COUNT + 1] = Pad::words_and(Pad::COUNT, &["immediate"]);
const C: [&str; Pad::COUNT + 2] = Pad::words_and(Pad::COUNT, &["immediate", "zero"]);
const OPERAND_BITS: u32 = C.len().next_power_of_two().ilog2();
/// What operand `a` may be on machines with squares: the same, or both factors are its difference to `b`.
const FACTORS: [&str; 2 << SQUARE_BIT] = Pad::words_and(1 << SQUARE_BIT, &Pad::LESS_B);
/// What results are written to: the number of the data pad, which they never are, means no write.
const WRITES: [&str; Pad::COUNT] = Pad::words_and(Pad::Data as usize, &["none"]);
const SCALAR_WRITES: [&str; Pad::COUNT] = Pad::words_and(0, &["none", "none"]);
/// Bit of operand `a` that says so, above the number of a pad.
pub const SQUARE_BIT: u32 = Pad::COUNT.next_power_of_two().ilog2();

/// Words for the levels of loops, and for none of them.
const LEVEL_WORDS: [&str; LEVELS + 1] = ["k0", "k1", "k2", "k3", "k4", "k5", "none"];

fn level(walk: &mut dyn WalkFields, name: &str, value: &mut u8) {
    let mut number = u32::from(*value);
    walk.choice(name, 3, &LEVEL_WORDS, &mut number);
    *value = number as u8;
}

fn mask(walk: &mut dyn WalkFields, machine: &Machine, mask: &mut Mask) {
    let row_bits = ceil_log2(u64::from(machine.pus()) + 1).max(1);
    let column_bits = ceil_log2(u64::from(machine.pes_per_pu()) + 1).max(1);
    walk.flag("flat", &mut mask.flat);
    walk.unsigned("row_low", row_bits, &mut mask.row_low);
    walk.unsigned("column_low", column_bits, &mut mask.column_low);
    walk.unsigned("row_high", row_bits, &mut mask.row_high);
    walk.unsigned("column_high", column_bits, &mut mask.column_high);
    level(walk, "row_level", &mut mask.row_level);
    level(walk, "column_level", &mut mask.column_level);
    level(walk, "pick_row", &mut mask.pick_row);
    level(walk, "pick_column", &mut mask.pick_column);
}

/// Address bits of a pad (the data pad's without its bank bit).
pub fn pad_bits(machine: &Machine, pad: Pad) -> u32 {
    ceil_log2(u64::from(pad.depth(machine))).max(1)
}

/// Address bits of the gradient pad; 0 where there is none.
pub fn gradient_bits(machine: &Machine) -> u32 {
    ceil_log2(u64::from(machine.gradient_depth().max(1)))
}

/// Whether only the last tile writes; nowhere else where there are no tiles.
fn late(walk: &mut dyn WalkFields, machine: &Machine, late: &mut bool) {
    if gradient_bits(machine) == 0 {
        walk.absent("late", u32::from(*late));
    } else {
        walk.flag("late", late);
    }
}

/// Whether words are parts of sums; nowhere where sums do not come back.
fn parts(walk: &mut dyn WalkFields, machine: &Machine, gradient: &mut bool) {
    if machine.hands_out_sums() {
        walk.flag("gradient", gradient);
    } else {
        walk.absent("gradient", u32::from(*gradient));
    }
}

/// Whether the scalar unit takes the word, too; nowhere where there is none.
fn for_scalar(walk: &mut dyn WalkFields, machine: &Machine, scalar: &mut bool) {
    if machine.scalar() {
        walk.flag("scalar", scalar);
    } else {
        walk.absent("scalar", u32::from(*scalar));
    }
}

fn widest_pad_bits(machine: &Machine) -> u32 {
    Pad::ALL.into_iter().map(|pad| pad_bits(machine, pad)).max().unwrap_or(1)
}

fn pad_from(number: u32) -> Pad {
    Pad::ALL[number as usize % Pad::COUNT]
}

fn unit(walk: &mut dyn WalkFields, name: &str, unit: &mut Unit) {
    let mut global = *unit == Unit::Global;
    walk.flag(name, &mut global);
    *unit = if global { Unit::Global } else { Unit::Row };
}

/// Whose result a move takes: only grids with buses of the columns have the bit that says across.
fn source(walk: &mut dyn WalkFields, machine: &Machine, source: &mut Unit) {
    let mut across = *source == Unit::Across;
    unit(walk, "global", source);
    if machine.column_buses() {
        walk.flag("across", &mut across);
    } else {
        walk.absent("across", u32::from(across));
    }
    if across && *source == Unit::Row {
        *source = Unit::Across;
    }
}

/// All PEs.
fn everywhere(machine: &Machine) -> Mask {
    Mask::all(machine.pus(), machine.pes_per_pu())
}

/// What alu and scalar instructions have in common: when beats are issued.
fn pacing(walk: &mut dyn WalkFields, machine: &Machine, i: &mut AluInstruction) {
    walk.flag("end", &mut i.end);
    walk.unsigned("delay", DELAY_BITS, &mut i.delay);
    walk.positive("interval", INTERVAL_BITS, &mut i.interval);
    walk.counts(COUNT_BITS, machine, &mut i.counts);
    let mut reduce = u32::from(i.reduce);
    walk.unsigned("reduce", 3, &mut reduce);
    i.reduce = reduce as u8;
}

/// Where a pad is read.
fn read(walk: &mut dyn WalkFields, machine: &Machine, pad: Pad, i: &mut AluInstruction) {
    walk.address(Pad::NAMES[pad as usize], pad_bits(machine, pad), machine, &i.counts, &mut i.reads[pad as usize]);
}

/// What is done with the operands.
fn operation(walk: &mut dyn WalkFields, machine: &Machine, i: &mut AluInstruction) {
    let mut a = i.a as u32;
    // Only machines with squares have the bit that says so.
    if machine.squares() {
        a |= u32::from(i.square) << SQUARE_BIT;
        walk.choice("a", SQUARE_BIT + 1, &FACTORS, &mut a);
        i.square = a >> SQUARE_BIT == 1;
    } else {
        walk.absent("square", u32::from(i.square));
        walk.choice("a", SQUARE_BIT, &Pad::NAMES, &mut a);
    }
    i.a = pad_from(a);
    let mut b = if let Factor::Pad(pad) = i.b { pad as u32 } else { Pad::COUNT as u32 };
    walk.choice("b", OPERAND_BITS, &B, &mut b);
    i.b = if b as usize >= Pad::COUNT { Factor::Immediate } else { Factor::Pad(pad_from(b)) };
    let mut c = match i.c {
        Start::Pad(pad) => pad as u32,
        Start::Immediate => Pad::COUNT as u32,
        Start::Zero => Pad::COUNT as u32 + 1,
    };
    walk.choice("c", OPERAND_BITS, &C, &mut c);
    i.c = match c as usize {
        ..Pad::COUNT => Start::Pad(pad_from(c)),
        Pad::COUNT => Start::Immediate,
        _ => Start::Zero,
    };
    // Only machines with extremes have the bit that says comparing.
    let mut combine = i.combine as u32;
    let bits = 1 + u32::from(machine.extremes());
    walk.choice("combine", bits, &["add", "subtract", "max", "min"], &mut combine);
    i.combine = Combine::ALL[combine as usize % Combine::ALL.len()];
    walk.unsigned("align", SHIFT_BITS, &mut i.align);
    walk.unsigned("shift", SHIFT_BITS, &mut i.shift);
    let mut positive = if let Finish::Positive(limit) = i.finish { Some(limit) } else { None };
    let mut negative = i.finish == Finish::Negative;
    rectifier(walk, machine, &mut positive);
    walk.flag("negative", &mut negative);
    i.finish = match (negative, positive) {
        (true, _) => Finish::Negative,
        (false, Some(limit)) => Finish::Positive(limit),
        (false, None) => Finish::Round,
    };
    walk.signed("immediate_b", machine.word(), &mut i.immediate_b);
    walk.signed("immediate_c", machine.word(), &mut i.immediate_c);
}

impl Instruction for AluInstruction {
    fn plain(machine: &Machine) -> AluInstruction {
        AluInstruction {
            delay: 0,
            interval: 1,
            counts: [1; LEVELS],
            reduce: 0,
            reads: [Address::default(); Pad::COUNT],
            a: Pad::Model,
            b: Factor::Immediate,
            square: false,
            c: Start::Zero,
            combine: Combine::Add,
            align: 0,
            shift: 0,
            finish: Finish::Round,
            immediate_b: 0,
            immediate_c: 0,
            write: None,
            destination: Address::default(),
            tree: false,
            emit: false,
            mask: everywhere(machine),
            tiles: Tiles::Every,
            end: false,
        }
    }

    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields) {
        pacing(walk, machine, self);
        for pad in Pad::ALL {
            read(walk, machine, pad, self);
        }
        operation(walk, machine, self);
        let mut write = self.write.unwrap_or(Pad::Data) as u32;
        walk.choice("write", SQUARE_BIT, &WRITES, &mut write);
        self.write = Some(pad_from(write)).filter(|&pad| pad != Pad::Data);
        walk.address("destination", widest_pad_bits(machine), machine, &self.counts, &mut self.destination);
        walk.flag("tree", &mut self.tree);
        walk.flag("emit", &mut self.emit);
        mask(walk, machine, &mut self.mask);
        let mut is_late = self.tiles == Tiles::Last;
        late(walk, machine, &mut is_late);
        let (mut parks, mut parked) = match self.tiles {
            Tiles::Park(address) => (true, address),
            Tiles::Every | Tiles::Last => (false, Address::default()),
        };
        let bits = gradient_bits(machine);
        if bits == 0 {
            walk.absent("park", u32::from(parks));
        } else {
            walk.flag("park", &mut parks);
            walk.address("park", bits, machine, &self.counts, &mut parked);
        }
        self.tiles = match (parks, is_late) {
            (true, _) => Tiles::Park(parked),
            (false, true) => Tiles::Last,
            (false, false) => Tiles::Every,
        };
    }
}

impl Instruction for ScalarInstruction {
    fn plain(machine: &Machine) -> ScalarInstruction {
        ScalarInstruction::of(AluInstruction::plain(machine), false)
    }

    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields) {
        let i = &mut self.alu;
        pacing(walk, machine, i);
        for pad in Pad::ALL.into_iter().filter(|&pad| pad != Pad::Model) {
            read(walk, machine, pad, i);
        }
        operation(walk, machine, i);
        walk.absent("write_model", u32::from(i.write == Some(Pad::Model)));
        let mut write = i.write.unwrap_or(Pad::Data) as u32;
        walk.choice("write", SQUARE_BIT, &SCALAR_WRITES, &mut write);
        i.write = Some(pad_from(write)).filter(|pad| Pad::TEMPORARY.contains(pad));
        walk.address("destination", pad_bits(machine, Pad::T0), machine, &i.counts, &mut i.destination);
        walk.flag("send", &mut self.send);
        walk.absent("scalar", u32::from(!machine.scalar()));
        walk.absent("model_base", u32::from(i.reads[Pad::Model as usize] != Address::default()));
        walk.absent("alu", u32::from(*i != ScalarInstruction::of(*i, false).alu));
    }
}

impl Instruction for RootInstruction {
    fn plain(_: &Machine) -> RootInstruction {
        RootInstruction {
            delay: 0,
            interval: 1,
            count: 1,
            unit: Unit::Row,
            shift: 0,
            positive: None,
            function: None,
            end: false,
        }
    }

    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields) {
        walk.flag("end", &mut self.end);
        walk.unsigned("delay", DELAY_BITS, &mut self.delay);
        walk.positive("interval", INTERVAL_BITS, &mut self.interval);
        walk.positive("count", 24, &mut self.count);
        unit(walk, "global", &mut self.unit);
        walk.unsigned("shift", SHIFT_BITS, &mut self.shift);
        rectifier(walk, machine, &mut self.positive);
        let mut used = self.function.is_some();
        walk.flag("function", &mut used);
        let mut divide = matches!(self.function, Some(RootFunction::Divide(_)));
        walk.flag("divide", &mut divide);
        let mut table = match self.function {
            Some(RootFunction::Table(table)) => table,
            _ => TableUse { base: 0, log2: 0, segment_shift: 0, segments: Segments::Uniform },
        };
        walk.unsigned("table_base", ceil_log2(u64::from(machine.table_entries())).max(1), &mut table.base);
        walk.unsigned("table_log2", 4, &mut table.log2);
        walk.unsigned("segment_shift", 5, &mut table.segment_shift);
        // Tables: 0 uniform; by octave, and below: 1 lowest, 2 zero, 3 highest. Division: 0 to nearest, 1 down.
        let mut segments = match table.segments {
            _ if divide => u32::from(self.function == Some(RootFunction::Divide(Rounding::Down))),
            Segments::Uniform => 0,
            Segments::Octave(Below::Lowest) => 1,
            Segments::Octave(Below::Zero) => 2,
            Segments::Octave(Below::Highest) => 3,
        };
        walk.choice("segments", 2, &["uniform", "lowest", "zero", "highest"], &mut segments);
        table.segments = match segments {
            0 => Segments::Uniform,
            1 => Segments::Octave(Below::Lowest),
            2 => Segments::Octave(Below::Zero),
            _ => Segments::Octave(Below::Highest),
        };
        let rounding = if segments == 0 { Rounding::Nearest } else { Rounding::Down };
        let function = if divide { RootFunction::Divide(rounding) } else { RootFunction::Table(table) };
        self.function = used.then_some(function);
    }
}

impl Instruction for MoveInstruction {
    fn plain(machine: &Machine) -> MoveInstruction {
        MoveInstruction {
            delay: 0,
            interval: 1,
            counts: [1; LEVELS],
            source: Unit::Row,
            pad: Pad::T0,
            destination: Address::default(),
            mask: everywhere(machine),
            late: false,
            scalar: false,
            end: false,
        }
    }

    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields) {
        walk.flag("end", &mut self.end);
        walk.unsigned("delay", DELAY_BITS, &mut self.delay);
        walk.positive("interval", INTERVAL_BITS, &mut self.interval);
        walk.counts(COUNT_BITS, machine, &mut self.counts);
        source(walk, machine, &mut self.source);
        // A bit for each but the first.
        let written = std::mem::replace(&mut self.pad, Pad::T0);
        for &pad in &Pad::TEMPORARY[1..] {
            let mut is = written == pad;
            walk.flag(Pad::NAMES[pad as usize], &mut is);
            self.pad = if is { pad } else { self.pad };
        }
        walk.address("destination", pad_bits(machine, Pad::T0), machine, &self.counts, &mut self.destination);
        mask(walk, machine, &mut self.mask);
        late(walk, machine, &mut self.late);
        for_scalar(walk, machine, &mut self.scalar);
    }
}

impl Instruction for LoadInstruction {
    fn plain(machine: &Machine) -> LoadInstruction {
        LoadInstruction {
            counts: [1; LEVELS],
            pad: Pad::Model,
            gradient: false,
            destination: Address::default(),
            scatter: false,
            pick_group: NO_LEVEL,
            mask: everywhere(machine),
            scalar: false,
            end: false,
        }
    }

    fn walk(&mut self, machine: &Machine, walk: &mut dyn WalkFields) {
        walk.flag("end", &mut self.end);
        walk.counts(COUNT_BITS, machine, &mut self.counts);
        let mut data = self.pad == Pad::Data;
        walk.flag("data", &mut data);
        self.pad = if data { Pad::Data } else { Pad::Model };
        let sums = if machine.hands_out_sums() { gradient_bits(machine) } else { 0 };
        let bits = pad_bits(machine, Pad::Model).max(pad_bits(machine, Pad::Data)).max(sums);
        walk.address("destination", bits, machine, &self.counts, &mut self.destination);
        walk.flag("scatter", &mut self.scatter);
        level(walk, "pick_group", &mut self.pick_group);
        mask(walk, machine, &mut self.mask);
        for_scalar(walk, machine, &mut self.scalar);
        parts(walk, machine, &mut self.gradient);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{Fits, Value, innermost};
    use crate::machine::MachineSpec;

    fn machine() -> Machine {
        Machine::grid(3, 5, 24).expect("a valid grid")
    }

    fn an_instruction() -> AluInstruction {
        let mut reads = [Address::default(); Pad::COUNT];
        reads[Pad::Model as usize] = Address { base: 9, strides: innermost(0, [60, 5, 0, 1]) };
        reads[Pad::Data as usize] = Address { base: 200, strides: innermost(0, [0, -5, 0, 2]) };
        reads[Pad::T0 as usize] = Address { base: 1, strides: innermost(0, [0, 1, 0, 0]) };
        AluInstruction {
            delay: 70_000,
            interval: 8,
            counts: innermost(1, [2, 3, 1, 5]),
            reduce: 2,
            reads,
            a: Pad::T1,
            b: Factor::Pad(Pad::Data),
            square: false,
            c: Start::Pad(Pad::Model),
            combine: Combine::Subtract,
            align: 13,
            shift: 40,
            finish: Finish::Negative,
            immediate_b: -(1 << 23),
            immediate_c: (1 << 23) - 1,
            write: Some(Pad::T0),
            destination: Address { base: 3, strides: innermost(0, [15, 5, 0, 0]) },
            tree: true,
            emit: false,
            mask: Mask {
                flat: true,
                row_low: 1,
                column_low: 2,
                row_high: 3,
                column_high: 0,
                row_level: NO_LEVEL - 1,
                column_level: NO_LEVEL,
                pick_row: NO_LEVEL,
                pick_column: NO_LEVEL - 3,
            },
            tiles: Tiles::Every,
            end: true,
        }
    }

    #[test]
    fn decode_inverts_encode() {
        let machine = machine();
        let instruction = an_instruction();
        let chunks = instruction.encode(&machine).expect("it fits");
        assert_eq!(chunks.len(), AluInstruction::layout(&machine).chunks() as usize);
        assert_eq!(AluInstruction::decode(&machine, &chunks), instruction);
    }

    #[test]
    fn machines_with_squares_have_a_bit_for_them() {
        let with =
            Machine::try_from(MachineSpec { squares: Some(true), ..MachineSpec::from(machine()) }).expect("a grid");
        let square = AluInstruction { square: true, ..an_instruction() };
        for instruction in [an_instruction(), square] {
            let chunks = instruction.encode(&with).expect("it fits");
            assert_eq!(AluInstruction::decode(&with, &chunks), instruction);
            assert_eq!(AluInstruction::from_values(&with, &instruction.values(&with)), Ok(instruction));
        }
        assert_eq!(AluInstruction::layout(&with).bits, AluInstruction::layout(&machine()).bits + 1);
        assert_eq!(square.encode(&machine()).map_err(|error| error.field), Err("square".to_owned()));
        let scalar = Machine::try_from(MachineSpec { scalar: Some(true), ..MachineSpec::from(with) }).expect("a grid");
        let alu = AluInstruction { reads: [Address::default(); Pad::COUNT], square: true, ..an_instruction() };
        let unit = ScalarInstruction::of(alu, true);
        assert_eq!(ScalarInstruction::decode(&scalar, &unit.encode(&scalar).expect("it fits")), unit);
    }

    #[test]
    fn grids_with_buses_of_columns_have_a_bit_for_them() {
        let square = Machine::grid(3, 3, 24).expect("a valid grid");
        let spec = MachineSpec { column_buses: Some(true), ..MachineSpec::from(square) };
        let with = Machine::try_from(spec).expect("a grid");
        for source in [Unit::Row, Unit::Global, Unit::Across] {
            let moves = MoveInstruction { source, ..MoveInstruction::plain(&with) };
            assert_eq!(MoveInstruction::decode(&with, &moves.encode(&with).expect("it fits")), moves);
            assert_eq!(MoveInstruction::from_values(&with, &moves.values(&with)), Ok(moves));
        }
        let across = MoveInstruction { source: Unit::Across, ..MoveInstruction::plain(&machine()) };
        assert_eq!(across.encode(&machine()).map_err(|error| error.field), Err("across".to_owned()));
    }

    #[test]
    fn values_with_names_are_the_instruction() {
        let machine = machine();
        let (instruction, plain) = (an_instruction(), AluInstruction::plain(&machine).values(&machine));
        let values = instruction.values(&machine);
        assert_eq!(AluInstruction::from_values(&machine, &values), Ok(instruction));
        assert!(
            plain.iter().all(|(_, value)| *value != Value::Flag(true)),
            "a bit that is usual could not be left out"
        );
        let names = |values: &[(String, Value)]| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&values), names(&plain));
        let value = |name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        assert_eq!(value("counts"), Some(Value::Counts(innermost(1, [2, 3, 1, 5]))));
        assert_eq!(value("data"), Some(Value::Address(Address { base: 200, strides: innermost(0, [0, -5, 0, 2]) })));
        assert!(matches!(value("write"), Some(Value::Choice(words, number)) if words[number as usize] == "t0"));
        assert!(matches!(value("row_level"), Some(Value::Choice(words, number)) if words[number as usize] == "k5"));
    }

    #[test]
    fn a_value_that_does_not_fit_is_named() {
        let machine = machine();
        for (name, wrong, bits) in [
            ("immediate_b", Value::Number(1 << 23), 24),
            ("shift", Value::Number(-1), SHIFT_BITS),
            ("counts", Value::Counts(innermost(1, [1, 0, 1, 1])), COUNT_BITS),
            ("data", Value::Address(Address { base: 256, strides: [0; LEVELS] }), 8),
            ("b", Value::Choice(&[], 8), 3),
        ] {
            let mut values = an_instruction().values(&machine);
            values.iter_mut().filter(|(known, _)| known == name).for_each(|(_, value)| *value = wrong.clone());
            let error = AluInstruction::from_values(&machine, &values).expect_err(name);
            assert_eq!((error.field.as_str(), error.bits), (name, bits));
        }
    }

    #[test]
    fn tiles_need_gradient_pads() {
        let spec = MachineSpec { gradient_depth: Some(20), ..MachineSpec::from(machine()) };
        let tiled = Machine::try_from(spec).expect("a valid grid");
        let address = Address { base: 31, strides: innermost(0, [-6, 2, 0, 0]) };
        for (tiles, field) in [(Tiles::Every, None), (Tiles::Last, Some("late")), (Tiles::Park(address), Some("park"))]
        {
            let instruction = AluInstruction { tiles, ..an_instruction() };
            let chunks = instruction.encode(&tiled).expect("it fits");
            assert_eq!(AluInstruction::decode(&tiled, &chunks), instruction);
            let refused = instruction.encode(&machine()).err().map(|error| (error.field, error.bits));
            assert_eq!(refused, field.map(|field| (field.to_owned(), 0)));
        }
        let moves = MoveInstruction { late: true, ..MoveInstruction::plain(&machine()) };
        assert!(MoveInstruction::decode(&tiled, &moves.encode(&tiled).expect("it fits")).late);
        assert!(moves.encode(&machine()).is_err());
    }

    #[test]
    fn the_scalar_unit_is_one_pe_without_a_model() {
        let spec = MachineSpec { scalar: Some(true), ..MachineSpec::from(machine()) };
        let with = Machine::try_from(spec).expect("a valid grid");
        let mut alu = AluInstruction { c: Start::Immediate, ..an_instruction() };
        alu.reads[Pad::Model as usize] = Address::default();
        alu.reads[Pad::Data as usize].base = 19;
        for send in [false, true] {
            let instruction = ScalarInstruction::of(alu, send);
            let chunks = instruction.encode(&with).expect("it fits");
            assert_eq!(ScalarInstruction::decode(&with, &chunks), instruction);
            let refused = |instruction: ScalarInstruction, machine: &Machine| {
                instruction.encode(machine).err().map(|error| error.field)
            };
            assert_eq!(refused(instruction, &machine()), Some("scalar".to_owned()));
            let with_alu = |alu| ScalarInstruction { alu, send };
            assert_eq!(refused(with_alu(alu), &with), Some("alu".to_owned()));
            let model = AluInstruction { write: Some(Pad::Model), ..instruction.alu };
            assert_eq!(refused(with_alu(model), &with), Some("write_model".to_owned()));
        }
        let moves = MoveInstruction { scalar: true, ..MoveInstruction::plain(&machine()) };
        assert!(MoveInstruction::decode(&with, &moves.encode(&with).expect("it fits")).scalar);
        assert!(moves.encode(&machine()).is_err());
        let load = LoadInstruction { scalar: true, ..LoadInstruction::plain(&machine()) };
        assert!(LoadInstruction::decode(&with, &load.encode(&with).expect("it fits")).scalar);
        assert!(load.encode(&machine()).is_err());
        let names = |machine| ScalarInstruction::layout(machine).fields.into_iter().map(|field| field.name);
        assert!(names(&with).all(|name| !name.starts_with("model") && !name.starts_with("row")));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = AluInstruction { immediate_b: 1 << 23, ..an_instruction() }.encode(&machine()).unwrap_err();
        assert_eq!(error, Fits { field: "immediate_b".into(), bits: 24, value: 1 << 23 });
    }
}
