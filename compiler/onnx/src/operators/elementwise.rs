//! One value of each, or of several that are repeated to a common shape.

use super::integers::{all_exact, bitwise, complement, power, quotient, shift, wrap, wrapped};
use crate::build::{Translated, Val};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, call, call2, num, select};
use crate::graph::Lowering;
use compiler::tensor::Function;

type Results = Translated<Option<Vec<Slot>>>;

fn one(value: Val) -> Vec<Slot> {
    vec![Slot::Tensor(value)]
}

/// `max(x, 0) + log(1 + exp(-|x|))`, which does not overflow.
pub(crate) fn softplus(x: Ex) -> Ex {
    x.clone().max(0.0) + call(Function::Log1p, call(Function::Exp, -call(Function::Abs, x)))
}

/// An activation function of one value and two settings.
struct Activation {
    name: &'static str,
    /// The settings `alpha` and `beta` of a node that has none.
    settings: [f64; 2],
    value: fn(Ex, f64, f64) -> Ex,
    /// Whether it is an operator, too: others are functions of recurrent layers only.
    operator: bool,
}

const fn row(name: &'static str, settings: [f64; 2], value: fn(Ex, f64, f64) -> Ex) -> Activation {
    Activation { name, settings, value, operator: true }
}

/// Those with settings, or of several functions of the table in `arch`, which has the others.
const ACTIVATIONS: [Activation; 13] = [
    row("Relu", [0.0; 2], |x, _, _| x.max(0.0)),
    Activation { operator: false, ..row("Affine", [1.0, 0.0], |x, a, b| x * a + b) },
    row("LeakyRelu", [0.01, 0.0], |x, a, _| select(x.clone().lt(0.0), x.clone() * a, x)),
    row("ThresholdedRelu", [1.0, 0.0], |x, a, _| select(x.clone().gt(a), x, num(0.0))),
    Activation { operator: false, ..row("ScaledTanh", [1.0, 1.0], |x, a, b| call(Function::Tanh, x * b) * a) },
    row("HardSigmoid", [0.2, 0.5], |x, a, b| (x * a + b).max(0.0).min(1.0)),
    row("Elu", [1.0, 0.0], |x, a, _| select(x.clone().lt(0.0), (exp(x.clone().min(0.0)) - 1.0) * a, x)),
    row("Selu", [1.673_263_192_176_818_8, 1.050_700_984_811_782_8], |x, a, b| {
        let scaled = (exp(x.clone().min(0.0)) - 1.0) * a;
        select(x.clone().gt(0.0), x, scaled) * b
    }),
    row("Celu", [1.0, 0.0], |x, a, _| x.clone().max(0.0) + ((exp((x / a).min(0.0)) - 1.0) * a).min(0.0)),
    row("Softplus", [0.0; 2], |x, _, _| softplus(x)),
    row("Softsign", [0.0; 2], |x, _, _| x.clone() / (call(Function::Abs, x) + 1.0)),
    row("HardSwish", [0.0; 2], |x, _, _| x.clone() * (x * (1.0 / 6.0) + 0.5).max(0.0).min(1.0)),
    row("Swish", [1.0, 0.0], |x, a, _| match a {
        1.0 => call(Function::Silu, x),
        _ => x.clone() * call(Function::Sigmoid, x * a),
    }),
];

fn exp(x: Ex) -> Ex {
    call(Function::Exp, x)
}

/// An activation function by its name, with the settings `alpha` and `beta` where it has some.
pub(crate) fn activation(name: &str, x: Ex, alpha: Option<f64>, beta: Option<f64>) -> Option<Ex> {
    if let Some(function) = Function::of_onnx(name) {
        return Some(call(function, x));
    }
    let found = ACTIVATIONS.iter().find(|activation| activation.name == name)?;
    let [a, b] = found.settings;
    Some((found.value)(x, alpha.unwrap_or(a), beta.unwrap_or(b)))
}

/// Translate an operator of this kind.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Results {
    let name = c.node.operator;
    match name {
        "Log" => return Ok(Some(one(logarithm(l, c.input(0)?)?))),
        "Dropout" => return dropout(l, c).map(Some),
        _ => {}
    }
    let is_activation = ACTIVATIONS.iter().any(|activation| activation.name == name && activation.operator);
    if Function::of_onnx(name).is_some() || is_activation {
        let attribute = |name: &str| c.attribute(name).and_then(|attribute| attribute.float).map(f64::from);
        let (alpha, beta) = (attribute("alpha"), attribute(if name == "Selu" { "gamma" } else { "beta" }));
        let x = c.input(0)?;
        let value = l.builder.apply(x, |x| activation(name, x.clone(), alpha, beta).unwrap_or(x))?;
        return Ok(Some(one(value)));
    }
    if let Some(value) = unary(l, c, name)? {
        return Ok(Some(one(value)));
    }
    if let Some(value) = binary(l, c, name)? {
        return Ok(Some(one(value)));
    }
    several(l, c, name)
}

fn unary(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Option<Val>> {
    let b = &mut l.builder;
    let x = || c.input(0);
    let truth = |value: Val| Val { kind: Kind::Bool, ..value };
    let lambd = c.float("lambd", 0.5);
    let bias = c.float("bias", 0.0);
    let exact = c.text("approximate", "none") == "none";
    Ok(Some(match name {
        "Identity" => x()?,
        "Neg" => {
            let kind = x()?.kind;
            b.apply(x()?, |x| wrapped(-x, kind))?
        }
        "Reciprocal" => b.apply(x()?, |x| num(1.0) / x)?,
        "Round" => b.apply(x()?, Ex::round_even)?,
        "Not" => truth(b.apply(x()?, Ex::negated)?),
        "Sign" => b.apply(x()?, |x| x.clone().gt(0.0) - x.lt(0.0))?,
        "IsNaN" => truth(b.apply(x()?, |x| x.clone().differs(x))?),
        "IsInf" => {
            let (plus, minus) = (c.int("detect_positive", 1) != 0, c.int("detect_negative", 1) != 0);
            let is = |wanted: bool, x: Ex, value: f64| if wanted { x.equals(value) } else { num(0.0) };
            truth(b.apply(x()?, |x| is(plus, x.clone(), f64::INFINITY).or(is(minus, x, f64::NEG_INFINITY)))?)
        }
        "Gelu" if exact => b.apply(x()?, |x| call(Function::Gelu, x))?,
        "Gelu" => b.apply(x()?, |x| {
            let cubed = x.clone() * x.clone() * x.clone();
            let inner = (x.clone() + cubed * 0.044_715) * (2.0 / std::f64::consts::PI).sqrt();
            x * 0.5 * (call(Function::Tanh, inner) + 1.0)
        })?,
        "Shrink" => b.apply(x()?, |x| {
            let up = x.clone().lt(-lambd);
            select(up, x.clone() + bias, select(x.clone().gt(lambd), x - bias, num(0.0)))
        })?,
        "Binarizer" => {
            let threshold = c.float("threshold", 0.0);
            b.apply(x()?, |x| x.gt(threshold))?
        }
        "BitwiseNot" => {
            let kind = x()?.kind;
            b.apply(x()?, |x| complement(x, kind))?
        }
        "Cast" | "CastLike" | "BitCast" => return cast(l, c, name).map(Some),
        _ => return Ok(None),
    }))
}

/// For inference: the operand itself, and which of its elements are kept, all of them.
fn dropout(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Slot>> {
    let b = &mut l.builder;
    let x = c.input(0)?;
    let off = c.optional(2)?.is_none_or(|flag| b.known(flag).is_some_and(|values| values.first() == Some(&0.0)));
    let ratio = c.optional(1)?.and_then(|ratio| b.known(ratio)?.first().copied());
    if !off && ratio != Some(0.0) {
        return crate::build::unsupported(
            "it drops values at random",
            "export the model for inference: training_mode is false then",
        );
    }
    let mut results = one(x);
    if c.wants(1) {
        let shape = b.shape(x);
        results.extend(one(b.map(&shape, Kind::Bool, |_, _| num(1.0))?));
    }
    Ok(results)
}

/// A logarithm. Of a constant it is minus infinity at 0; of anything else that is no number, as everywhere in tensor IR.
pub(crate) fn logarithm(l: &mut Lowering<'_, '_>, x: Val) -> Translated<Val> {
    let b = &mut l.builder;
    let Some(values) = b.known(x) else { return b.apply(x, |x| call(Function::Log, x)) };
    let of = |&value: &f64| if value == 0.0 { f64::NEG_INFINITY } else { Function::Log.value([value, 0.0, 0.0]) };
    let (shape, values) = (b.shape(x), values.iter().map(of).collect());
    b.constants(&shape, x.kind, values)
}

fn cast(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Val> {
    let value = c.input(0)?;
    let to = match name {
        "Cast" => Kind::of_number(c.int("to", 0)),
        "CastLike" => Some(c.input(1)?.kind),
        _ => None,
    };
    let Some(to) = to else { return c.refuse("to") };
    l.cast(value, to, c.int("saturate", 1) != 0)
}

/// Bits of the fraction, smallest exponent, largest value and what lies beyond it, of small floating-point formats.
fn rounding(kind: Kind) -> Option<(i32, i32, f64, f64)> {
    let (infinite, none) = (f64::INFINITY, f64::NAN);
    match kind {
        Kind::Real(10) => Some((10, -14, 65504.0, infinite)),
        Kind::Real(16) => Some((7, -126, 3.389_531_389_251_535_5e38, infinite)),
        Kind::Real(17) => Some((3, -6, 448.0, none)),
        Kind::Real(18) => Some((3, -7, 240.0, none)),
        Kind::Real(19) => Some((2, -14, 57344.0, infinite)),
        Kind::Real(20) => Some((2, -15, 57344.0, none)),
        Kind::Real(23) => Some((1, 0, 6.0, 6.0)),
        _ => None,
    }
}

/// Whether every value of a type is one of half precision or bfloat16, too.
fn exact(from: Kind, to: Kind) -> bool {
    let few = match from {
        Kind::Int { bits, .. } => bits <= 8,
        Kind::Real(format) => (17..=20).contains(&format) || format == 23,
        Kind::Bool => true,
    };
    few && matches!(to, Kind::Real(10 | 16))
}

impl Lowering<'_, '_> {
    /// A value in another element type.
    pub(crate) fn cast(&mut self, value: Val, to: Kind, saturate: bool) -> Translated<Val> {
        let b = &mut self.builder;
        let from = value.kind;
        let retyped = Val { kind: to, ..value };
        if from == to {
            return Ok(value);
        }
        if exact(from, to) {
            return Ok(retyped);
        }
        if let (Some((fraction, exponent, most, beyond)), true) =
            (rounding(to), from == Kind::FLOAT || from.is_int() || rounding(from).is_some() || from == Kind::Real(11))
        {
            let shape = b.shape(value);
            let small = !matches!(to, Kind::Real(10 | 16));
            return b.map(&shape, to, |b, at| {
                // What is too large stays so, without becoming infinite on the way.
                let x = b.read(value, at).max(-4.0 * most).min(4.0 * most);
                let size = call(Function::Abs, x.clone());
                let exponents = call(Function::Log2, size.max(2f64.powi(exponent))).floor();
                let unit = call(Function::Exp2, exponents - f64::from(fraction));
                let rounded = (x / unit.clone()).round_even() * unit;
                let outside = if small && saturate { num(most) } else { num(beyond) };
                let high = select(rounded.clone().gt(most), outside.clone(), rounded.clone());
                let value = select(rounded.clone().lt(-most), -outside, high);
                // The one format without anything that is not a number.
                if to == Kind::Real(23) { select(rounded.clone().equals(rounded), value, num(0.0)) } else { value }
            });
        }
        match (from, to) {
            (_, Kind::Real(24)) => unsupported_cast(),
            (_, Kind::Bool) => {
                let value = b.apply(value, |x| x.differs(0.0))?;
                Ok(Val { kind: to, ..value })
            }
            (Kind::Real(_), Kind::Int { bits, .. }) => {
                let value = b.apply(value, |x| call(Function::Trunc, x))?;
                let wrapped = if bits <= 16 { wrap(self, value, to)? } else { value };
                Ok(Val { kind: to, ..wrapped })
            }
            (Kind::Int { .. }, Kind::Int { bits, .. }) => {
                let (low, high) = to.limits().unwrap_or_default();
                let inside = from.limits().is_some_and(|own| own.0 >= low && own.1 <= high);
                match bits {
                    _ if inside => Ok(retyped),
                    ..=16 => Ok(Val { kind: to, ..wrap(self, value, to)? }),
                    // A tensor of its own, which is held to its type.
                    _ => {
                        let shape = self.builder.shape(value);
                        self.builder.map(&shape, to, |b, at| b.read(value, at))
                    }
                }
            }
            _ => Ok(retyped),
        }
    }
}

fn unsupported_cast() -> Translated<Val> {
    crate::build::unsupported("a conversion to float8e8m0 is not supported", "keep the scale in another type")
}

fn binary(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Translated<Option<Val>> {
    type Operation = fn(Ex, Ex) -> Ex;
    let comparison: Option<Operation> = match name {
        "Equal" => Some(Ex::equals),
        "Less" => Some(Ex::lt),
        "LessOrEqual" => Some(Ex::le),
        "Greater" => Some(Ex::gt),
        "GreaterOrEqual" => Some(Ex::ge),
        "And" => Some(Ex::and),
        "Or" => Some(Ex::or),
        "Xor" => Some(Ex::differs),
        _ => None,
    };
    if let Some(operation) = comparison {
        let operands = legacy(l, c)?;
        return l.builder.zip(&operands, Kind::Bool, |x| operation(x[0].clone(), x[1].clone())).map(Some);
    }
    if matches!(name, "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "BitShift" | "Div" | "Mod") {
        all_exact(l, &[c.input(0)?, c.input(1)?])?;
    }
    if matches!(name, "BitwiseAnd" | "BitwiseOr" | "BitwiseXor") {
        return bitwise(l, c, name).map(Some);
    }
    if name == "BitShift" {
        return shift(l, c).map(Some);
    }
    let kind = c.optional(0)?.map_or(Kind::FLOAT, |value| value.kind);
    if name == "Pow" && kind.is_int() {
        return power(l, c).map(Some);
    }
    let fmod = c.int("fmod", 0) != 0;
    let operation: Box<dyn Fn(Ex, Ex) -> Ex> = match name {
        "Add" => Box::new(move |a, b| wrapped(a + b, kind)),
        "Sub" => Box::new(move |a, b| wrapped(a - b, kind)),
        "Mul" => Box::new(move |a, b| wrapped(a * b, kind)),
        "Div" if kind.is_int() => Box::new(move |a, b| quotient(a, b, kind)),
        "Div" => Box::new(|a, b| a / b),
        "Pow" => Box::new(|a, b| call2(Function::Pow, a, b)),
        "Mod" if fmod => Box::new(|a, b| call2(Function::Fmod, a, b)),
        "Mod" if kind.is_int() => Box::new(Ex::floor_rem),
        // The remainder with the sign of the divisor, which may be infinite.
        "Mod" => Box::new(|a, b| {
            let rest = call2(Function::Fmod, a, b.clone());
            let other = rest.clone().lt(0.0).differs(b.clone().lt(0.0)).and(rest.clone().differs(0.0));
            select(other, rest.clone() + b, rest)
        }),
        "PRelu" => Box::new(|a, b| select(a.clone().lt(0.0), a.clone() * b, a)),
        _ => return Ok(None),
    };
    let mut operands = legacy(l, c)?;
    if name == "PRelu" && c.version < 9 && l.builder.rank(operands[1]) == 1 {
        operands[1] = l.channels(operands[1], operands[0])?;
    }
    l.builder.zip(&operands, kind, |x| operation(x[0].clone(), x[1].clone())).map(Some)
}

/// Two operands; before version 7 the second one was repeated along an axis of the first.
pub(super) fn legacy(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Vec<Val>> {
    let (a, b) = (c.input(0)?, c.input(1)?);
    if c.version >= 7 || c.int("broadcast", 0) == 0 {
        return Ok(vec![a, b]);
    }
    let (rank, own) = (l.builder.rank(a), l.builder.shape(b));
    let axis = crate::call::axis(c.int("axis", rank as i64 - own.len() as i64), rank + 1)?;
    let behind = rank.saturating_sub(axis + own.len());
    let shape: Vec<i64> = own.into_iter().chain(std::iter::repeat_n(1, behind)).collect();
    Ok(vec![a, l.builder.reshape(b, &shape)?])
}

fn several(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>, name: &str) -> Results {
    let fold = |l: &mut Lowering<'_, '_>, operation: fn(Ex, Ex) -> Ex| -> Translated<Val> {
        let values = c.inputs()?;
        let kind = c.input(0)?.kind;
        l.builder.zip(&values, kind, |x| x.into_iter().reduce(operation).unwrap_or(num(0.0)))
    };
    Ok(Some(one(match name {
        "Sum" => fold(l, |a, b| a + b)?,
        "Max" => fold(l, Ex::max)?,
        "Min" => fold(l, Ex::min)?,
        "Mean" => {
            let count = c.operands.len() as f64;
            let sum = fold(l, |a, b| a + b)?;
            l.builder.apply(sum, |x| x / count)?
        }
        "Where" => {
            let (condition, yes, no) = (c.input(0)?, c.input(1)?, c.input(2)?);
            l.builder.zip(&[condition, yes, no], yes.kind, |x| select(x[0].clone(), x[1].clone(), x[2].clone()))?
        }
        "Clip" => {
            let x = c.input(0)?;
            let attribute = |name: &str| c.attribute(name).and_then(|a| a.float).map(f64::from);
            let mut values = vec![x];
            let (low, high) = (c.optional(1)?, c.optional(2)?);
            values.extend(low);
            values.extend(high);
            let (least, most) = (attribute("min"), attribute("max"));
            l.builder.zip(&values, x.kind, |x| {
                let mut x = x.into_iter();
                let mut value = x.next().unwrap_or(num(0.0));
                if low.is_some() {
                    value = value.max(x.next().unwrap_or(num(0.0)));
                }
                if high.is_some() {
                    value = value.min(x.next().unwrap_or(num(0.0)));
                }
                let value = least.map_or(value.clone(), |least| value.max(least));
                most.map_or(value.clone(), |most| value.min(most))
            })?
        }
        _ => return Ok(None),
    })))
}
