//! The generator and its own values, as integers of one last place; nothing here is shared with an evaluator.
//!
//!     seed, number ──▶ word, last place 2^-q, a list of values made of each other ──▶ text of a language, inputs, expected values
//!
//! Every value is a multiple of 2^-q, and less than half of what a word with q bits after its binary point holds; so are the terms of a sum
//! together, and the factors of a product in any order, since the compiler has an order of its own.

use super::rendered;
use arch::machine::MachineSpec;
use compiler::canonical::{Batch, Keep, Options};
use compiler::fixed::Numbers;
use compiler::tensor::{Program, TensorId};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::eval::Engine;
use sim::fixed::Fixed;
use sim::golden::Golden;
use sim::grid::Stalls;
use sim::ladder::{Climb, NamedValues, Upper};
use sim::plain::Plain;

/// What a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Tabla,
    Comprehensions,
    Tile,
    Rink,
    Onnx,
}

impl Source {
    pub(crate) const ALL: [Source; 5] =
        [Source::Tabla, Source::Comprehensions, Source::Tile, Source::Rink, Source::Onnx];
}

/// How a value is made of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Input,
    Abs,
    Neg,
    Floor,
    Ceil,
    /// Halves away from zero; to even in ONNX.
    Round,
    Trunc,
    Sign,
    /// The first with the sign of the second, which is not 0: -0 is no word.
    Copysign,
    Add,
    Sub,
    Mul,
    Min,
    Max,
    Less,
    /// The third where the first is less than the second, else the second.
    Select,
    Sum,
    /// Sum of magnitudes.
    SumOfAbs,
    /// Sum of products.
    Dot,
    /// Product of all elements; of some of them, too, it is a multiple of the last place that fits.
    Product,
    Largest,
    Smallest,
    ArgMax,
    /// 1 at the first of the largest, 0 elsewhere.
    Hardmax,
    /// The element of the second at the place of the largest of the first.
    Gather,
    /// Of two whole numbers.
    BitAnd,
    BitOr,
    BitXor,
    /// A whole number by the last two digits of another one.
    ShiftLeft,
    ShiftRight,
}

/// A value: a vector, or one number.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) operation: Operation,
    pub(crate) of: Vec<usize>,
    /// In units of the last place; one for a number.
    pub(crate) units: Vec<i128>,
    /// Largest magnitude in units; of sums and differences that of all their terms together, which may be added in another order.
    reach: i128,
    /// What it may be multiplied from, whatever the order.
    spread: Spread,
    pub(crate) scalar: bool,
    /// Whether it is a result; else it is written where it is used.
    pub(crate) named: bool,
}

/// Bounds of a value, and of all parts of it that a reordered product or choice may compute.
#[derive(Debug, Clone, Copy)]
struct Spread {
    /// Magnitude in units, and at least 1.0.
    size: i128,
    /// Bits after the binary point.
    bits: u32,
}

impl Spread {
    fn of(units: &[i128], places: u32) -> Spread {
        let bits = units.iter().map(|unit| places.saturating_sub(unit.trailing_zeros().min(places))).max();
        Spread { size: largest(units).max(1 << places), bits: bits.unwrap_or(0) }
    }

    fn times(self, other: Spread, places: u32) -> Spread {
        Spread { size: (self.size * other.size) >> places, bits: self.bits + other.bits }
    }

    /// Of several values, or of a choice between them that is computed as a sum.
    fn plus(self, other: Spread) -> Spread {
        Spread { size: self.size + other.size, bits: self.bits.max(other.bits) }
    }

    /// Of the result of an operation on some values.
    fn after(operation: Operation, of: &[Spread], units: &[i128], extent: usize, places: u32) -> Spread {
        let own = Spread::of(units, places);
        match operation {
            Operation::Mul => of[0].times(of[1], places),
            Operation::Dot => {
                let product = of[0].times(of[1], places);
                Spread { size: product.size * extent as i128, ..product }
            }
            Operation::Add
            | Operation::Sub
            | Operation::Min
            | Operation::Max
            | Operation::Copysign
            | Operation::BitOr
            | Operation::BitXor => of[0].plus(of[1]),
            Operation::Select => of[1].plus(of[2]),
            Operation::Abs => of[0].plus(of[0]),
            Operation::Neg => of[0],
            Operation::Sum | Operation::SumOfAbs => Spread { size: of[0].size * extent as i128, ..of[0] },
            _ => own,
        }
    }
}

/// A program with what it computes.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) source: Source,
    pub(crate) word: u32,
    pub(crate) places: u32,
    pub(crate) extent: usize,
    pub(crate) values: Vec<Value>,
}

struct Dice(ChaCha8Rng);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0.next_u32() as usize % n
    }
}

fn choices(source: Source) -> &'static [Operation] {
    use Operation::{
        Abs, Add, ArgMax, BitAnd, BitOr, BitXor, Ceil, Copysign, Dot, Floor, Gather, Hardmax, Largest, Less, Max, Min,
        Mul, Neg, Product, Round, Select, ShiftLeft, ShiftRight, Sign, Smallest, Sub, Sum, SumOfAbs, Trunc,
    };
    match source {
        Source::Tabla => &[Neg, Add, Sub, Mul, Less, Select, Sum, Dot, Product],
        Source::Comprehensions => &[
            Abs, Neg, Floor, Ceil, Round, Trunc, Copysign, Add, Sub, Mul, Min, Max, Less, Select, Sum, Dot, Product,
            Largest, Smallest,
        ],
        Source::Tile => &[
            Abs, Neg, Floor, Ceil, Round, Add, Sub, Mul, Min, Max, Less, Select, Sum, Dot, Product, Largest, Smallest,
            BitAnd, BitOr, BitXor, ShiftLeft, ShiftRight,
        ],
        Source::Rink => &[Add, Sub, Mul, Dot],
        Source::Onnx => &[
            Abs, Neg, Floor, Ceil, Round, Sign, Add, Sub, Mul, Min, Max, Less, Select, Sum, SumOfAbs, Dot, Product,
            Largest, Smallest, ArgMax, Hardmax, Gather,
        ],
    }
}

impl Operation {
    fn operands(self) -> usize {
        match self {
            Operation::Select => 3,
            Operation::Add
            | Operation::Sub
            | Operation::Mul
            | Operation::Min
            | Operation::Max
            | Operation::Less
            | Operation::Copysign
            | Operation::Dot
            | Operation::Gather
            | Operation::BitAnd
            | Operation::BitOr
            | Operation::BitXor
            | Operation::ShiftLeft
            | Operation::ShiftRight => 2,
            _ => 1,
        }
    }

    /// Whether it makes one value, or one place, of a list.
    fn reduces(self) -> bool {
        matches!(
            self,
            Operation::Sum
                | Operation::SumOfAbs
                | Operation::Product
                | Operation::Dot
                | Operation::Largest
                | Operation::Smallest
                | Operation::ArgMax
                | Operation::Hardmax
                | Operation::Gather
        )
    }
}

/// The value of an operation in units of 2^-q; nothing where it is no multiple of that.
#[expect(clippy::too_many_lines, reason = "one arm per operation")]
fn units(
    operation: Operation,
    source: Source,
    of: &[&[i128]],
    extent: usize,
    q: u32,
    end: i128,
) -> Option<(Vec<i128>, bool)> {
    let one = 1i128 << q;
    let at = |list: &[i128], i: usize| list[if list.len() == 1 { 0 } else { i }];
    let whole = |units: i128| units.div_euclid(one) * one;
    let scalar = of.iter().all(|list| list.len() == 1);
    let each = |f: &dyn Fn(usize) -> Option<i128>| {
        let count = if scalar { 1 } else { extent };
        (0..count).map(f).collect::<Option<Vec<i128>>>().map(|units| (units, scalar))
    };
    let product = |i: usize| {
        let product = at(of[0], i) * at(of[1], i);
        (product % one == 0).then_some(product / one)
    };
    let all = || (0..extent).map(|i| at(of[0], i));
    let place = || (0..extent).rev().max_by_key(|&i| at(of[0], i)).map(|i| i as i128);
    let bits = |i: usize, of_two: fn(i128, i128) -> Option<i128>| {
        let (a, b) = (at(of[0], i), at(of[1], i));
        if a % one == 0 && b % one == 0 { of_two(a / one, b / one).map(|value| value * one) } else { None }
    };
    match operation {
        Operation::Input => None,
        Operation::Abs => each(&|i| Some(at(of[0], i).abs())),
        Operation::Neg => each(&|i| Some(-at(of[0], i))),
        Operation::Floor => each(&|i| Some(whole(at(of[0], i)))),
        Operation::Ceil => each(&|i| Some(-whole(-at(of[0], i)))),
        Operation::Trunc => each(&|i| Some(at(of[0], i).signum() * whole(at(of[0], i).abs()))),
        Operation::Round => each(&|i| {
            let (value, down) = (at(of[0], i), whole(at(of[0], i).abs()));
            let rest = 2 * (value.abs() - down);
            let odd = (down / one) % 2 == 1;
            let up = rest > one || (rest == one && (source != Source::Onnx || odd));
            Some(value.signum() * (down + if up { one } else { 0 }))
        }),
        Operation::Sign => each(&|i| Some(at(of[0], i).signum() * one)),
        Operation::Copysign => each(&|i| {
            let sign = at(of[1], i).signum();
            (sign != 0).then_some(at(of[0], i).abs() * sign)
        }),
        Operation::Add => each(&|i| Some(at(of[0], i) + at(of[1], i))),
        Operation::Sub => each(&|i| Some(at(of[0], i) - at(of[1], i))),
        Operation::Mul => each(&product),
        Operation::Min => each(&|i| Some(at(of[0], i).min(at(of[1], i)))),
        Operation::Max => each(&|i| Some(at(of[0], i).max(at(of[1], i)))),
        Operation::Less => each(&|i| Some(if at(of[0], i) < at(of[1], i) { one } else { 0 })),
        Operation::Select => each(&|i| {
            let (a, b, c) = (at(of[0], i), at(of[1], i), at(of[2], i));
            Some(if a < b { c } else { b })
        }),
        Operation::Sum => Some((vec![all().sum()], true)),
        Operation::SumOfAbs => Some((vec![all().map(i128::abs).sum()], true)),
        Operation::Dot => Some((vec![(0..extent).map(product).sum::<Option<i128>>()?], true)),
        Operation::Product => {
            let factors: Vec<i128> = all().collect();
            let of = |some: usize| {
                let chosen = (0..extent).filter(|i| some >> i & 1 == 1).map(|i| factors[i]);
                chosen.map(Some).reduce(|a, b| Some(a? * b?).filter(|ab| ab % one == 0).map(|ab| ab / one))?
            };
            let largest = (1..1 << extent).map(of).try_fold(0, |most: i128, part| Some(most.max(part?.abs())))?;
            (largest < end).then_some((vec![of((1 << extent) - 1)?], true))
        }
        Operation::Largest => Some((vec![all().max()?], true)),
        Operation::Smallest => Some((vec![all().min()?], true)),
        Operation::ArgMax => Some((vec![place()? * one], true)),
        Operation::Hardmax => {
            let place = place()?;
            Some(((0..extent as i128).map(|i| if i == place { one } else { 0 }).collect(), false))
        }
        Operation::Gather => Some((vec![at(of[1], place()? as usize)], true)),
        Operation::BitAnd => each(&|i| bits(i, |a, b| Some(a & b))),
        Operation::BitOr => each(&|i| bits(i, |a, b| Some(a | b))),
        Operation::BitXor => each(&|i| bits(i, |a, b| Some(a ^ b))),
        Operation::ShiftLeft => each(&|i| bits(i, |a, b| Some(a << (b & 3)))),
        Operation::ShiftRight => each(&|i| bits(i, |a, b| Some(a >> (b & 3)))),
    }
}

fn largest(units: &[i128]) -> i128 {
    units.iter().map(|unit| unit.abs()).max().unwrap_or_default()
}

/// Program `number` of a seed.
pub(crate) fn case(seed: u64, number: u64) -> Case {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let mut dice = Dice(random);
    let source = Source::ALL[(number % 5) as usize];
    let word = 8 + (number / 5 % 25) as u32;
    let places = dice.below(5) as u32;
    let (extent, end) = (2 + dice.below(4), 1i128 << (word - 2).min(22));
    let mut values = Vec::new();
    for input in 0..2 {
        // Most are small, so that products and sums of them have room.
        let reach = 1 + (end - 1).min([3, 40, 1 << 10, end - 1][dice.below(4)]);
        let step = if input == 1 && dice.below(2) == 0 { 1 << places } else { 1 };
        let mut unit = || (dice.below(2 * reach as usize - 1) as i128 - (reach - 1)) / step * step;
        let units: Vec<i128> = (0..extent).map(|_| unit()).collect();
        values.push(Value {
            operation: Operation::Input,
            of: Vec::new(),
            reach: largest(&units),
            spread: Spread::of(&units, places),
            units,
            scalar: false,
            named: true,
        });
    }
    let wanted = 2 + 1 + dice.below(7);
    for _ in 0..40 {
        if values.len() >= wanted {
            break;
        }
        let choices = choices(source);
        let operation = choices[dice.below(choices.len())];
        let of: Vec<usize> = (0..3).map(|_| values.len() - 1 - dice.below(values.len().min(4))).collect();
        let of = of[..operation.operands()].to_vec();
        let reduces = operation.reduces();
        if reduces && of.iter().any(|&n| values[n].scalar) {
            continue;
        }
        // Rink adds equal shapes only.
        let mixed = of.iter().any(|&n| values[n].scalar != values[of[0]].scalar);
        if source == Source::Rink && mixed && operation != Operation::Mul {
            continue;
        }
        let operands: Vec<&[i128]> = of.iter().map(|&n| values[n].units.as_slice()).collect();
        let Some((units, scalar)) = units(operation, source, &operands, extent, places, end) else { continue };
        let reach = match operation {
            Operation::Neg | Operation::Add | Operation::Sub | Operation::BitOr | Operation::BitXor => {
                of.iter().map(|&n| values[n].reach).sum()
            }
            Operation::Sum => values[of[0]].reach * extent as i128,
            _ => largest(&units),
        };
        let spreads: Vec<Spread> = of.iter().map(|&n| values[n].spread).collect();
        let spread = Spread::after(operation, &spreads, &units, extent, places);
        if reach >= end || spread.size >= end || spread.bits > places {
            continue;
        }
        let named = reduces || source == Source::Onnx || dice.below(2) == 0;
        values.push(Value { operation, of, units, reach, spread, scalar, named });
    }
    values.last_mut().expect("inputs").named = true;
    Case { source, word, places, extent, values }
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All values are equal.
    Equal,
    /// It is not for these words or this machine; with a diagnostic.
    Refused(String),
    /// A value that differs, and the program.
    Differs(String),
}

impl Case {
    /// Its text, or the operators of its graph.
    pub(crate) fn text(&self) -> String {
        rendered::text(self)
    }

    /// The expected elements of a value.
    pub(crate) fn elements(&self, number: usize) -> Vec<f64> {
        self.values[number].units.iter().map(|&units| libm::ldexp(units as f64, -(self.places as i32))).collect()
    }

    /// Inputs by name.
    pub(crate) fn inputs(&self) -> NamedValues {
        (0..2).map(|number| (rendered::input(self, number), self.elements(number))).collect()
    }

    fn compare(
        &self,
        engine: &str,
        names: &[(String, TensorId)],
        of: impl Fn(TensorId) -> Vec<f64>,
    ) -> Result<(), String> {
        for (name, number) in rendered::results(self) {
            let (_, id) = names.iter().find(|(known, _)| *known == name).ok_or(format!("no result {name}"))?;
            let (found, expected) = (of(*id), self.elements(number));
            if found != expected {
                let inputs = self.inputs();
                return Err(format!(
                    "{engine}: {name} is {found:?}, right is {expected:?}\nwords of {} bits, {inputs:?}\n{}",
                    self.word,
                    self.text()
                ));
            }
        }
        Ok(())
    }

    /// On all engines; `array`, too, if that is asked for.
    pub(crate) fn run(&self, array: bool) -> Verdict {
        let program = match rendered::program(self) {
            Ok(program) => program,
            Err(why) => return Verdict::Differs(format!("not a program: {why}\n{}", self.text())),
        };
        self.climb(&program, array).unwrap_or_else(Verdict::Differs)
    }

    fn climb(&self, program: &Program, array: bool) -> Result<Verdict, String> {
        let inputs = self.inputs();
        for (engine, values) in [
            ("golden", reals(&mut Golden::new(program), program, &inputs)?),
            ("plain", reals(&mut Plain::new(program), program, &inputs)?),
        ] {
            self.compare(engine, &program.names, |id| values[id.0].clone())?;
        }
        let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
        let steps = [inputs.clone()];
        let upper = match Upper::new(program, &options, &NamedValues::new(), &steps, &Numbers::of_width(self.word)) {
            Ok(upper) => upper,
            Err(errors) => return Ok(Verdict::Refused(errors[0].message.clone())),
        };
        let mut fixed = Fixed::new(&upper.fixed);
        for (name, values) in &inputs {
            if let Some(tensor) = fixed.tensor(name) {
                fixed.set_real(tensor, values);
            }
        }
        fixed.step();
        self.compare("fixed", &upper.fixed.names, |id| fixed.values(id))?;
        if array {
            let spec =
                MachineSpec { pus: Some(2), pes_per_pu: Some(3), word: Some(self.word), ..MachineSpec::default() };
            match Climb::new(program, &options, &NamedValues::new(), &steps, &spec) {
                Ok(climb) => {
                    climb
                        .run(Array::new(&climb.image().machine), Stalls::none())
                        .map_err(|fall| format!("array: {fall}\n{}", self.text()))?;
                }
                Err(errors) => return Ok(Verdict::Refused(errors[0].message.clone())),
            }
        }
        Ok(Verdict::Equal)
    }
}

/// All elements after a step.
fn reals(engine: &mut impl Engine, program: &Program, inputs: &NamedValues) -> Result<Vec<Vec<f64>>, String> {
    for (name, values) in inputs {
        if let Some(id) = program.tensors.iter().position(|tensor| tensor.name == *name) {
            engine.set(TensorId(id), &values.iter().copied().map(Some).collect::<Vec<_>>());
        }
    }
    engine.step().map_err(|diagnostic| diagnostic.message.clone())?;
    let elements = |id: usize| engine.value(TensorId(id)).into_iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    Ok((0..program.tensors.len()).map(elements).collect())
}

/// Program `number` of a seed, on all engines.
pub(crate) fn trial(seed: u64, number: u64, array: bool) -> Verdict {
    let case = case(seed, number);
    let caught = std::panic::catch_unwind(|| case.run(array));
    caught.unwrap_or_else(|_| Verdict::Differs(format!("a panic\n{}", case.text())))
}
