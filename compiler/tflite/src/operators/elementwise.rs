//! Operators on each element.

use super::Op;
use crate::graph::{Graph, Scheme, Translated, bounds, refuse};
use crate::write::Setting;

/// Functions of one number, with the operators of ONNX, one behind the other.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("ABS", &["Abs"]),
    ("CEIL", &["Ceil"]),
    ("COS", &["Cos"]),
    ("ELU", &["Elu"]),
    ("EXP", &["Exp"]),
    ("FLOOR", &["Floor"]),
    ("HARD_SWISH", &["HardSwish"]),
    ("LOG", &["Log"]),
    ("LOGICAL_NOT", &["Not"]),
    ("LOGISTIC", &["Sigmoid"]),
    ("NEG", &["Neg"]),
    ("ROUND", &["Round"]),
    ("RSQRT", &["Sqrt", "Reciprocal"]),
    ("SIGN", &["Sign"]),
    ("SIN", &["Sin"]),
    ("SQRT", &["Sqrt"]),
    ("TANH", &["Tanh"]),
];

/// Functions of two numbers.
const PAIRS: &[(&str, &str)] = &[
    ("BITWISE_XOR", "BitwiseXor"),
    ("EQUAL", "Equal"),
    ("GREATER", "Greater"),
    ("GREATER_EQUAL", "GreaterOrEqual"),
    ("LESS", "Less"),
    ("LESS_EQUAL", "LessOrEqual"),
    ("LOGICAL_AND", "And"),
    ("LOGICAL_OR", "Or"),
    ("POW", "Pow"),
    ("PRELU", "PRelu"),
];

/// Clamps, with the number of the fused activation that is the same.
const CLAMPS: &[(&str, i64)] = &[("RELU", 1), ("RELU_N1_TO_1", 2), ("RELU6", 3)];

/// Translate an operator of this kind.
pub(super) fn translate(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    if let Some((_, operators)) = FUNCTIONS.iter().find(|(name, _)| *name == op.name) {
        let x = g.real(op.input(0)?)?;
        let value = operators.iter().fold(x, |value, operator| g.node(operator, &[&value], &[]));
        g.set_real(op.output()?, &value, 0)?;
        return Ok(true);
    }
    if let Some((_, operator)) = PAIRS.iter().find(|(name, _)| *name == op.name) {
        let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
        let value = g.node(operator, &[&a, &b], &[]);
        g.set_real(op.output()?, &value, 0)?;
        return Ok(true);
    }
    if let Some(&(_, activation)) = CLAMPS.iter().find(|(name, _)| *name == op.name) {
        clamp(g, op, activation)?;
        return Ok(true);
    }
    match op.name {
        "ADD" => sum(g, op, "Add")?,
        "SUB" => sum(g, op, "Sub")?,
        "MUL" => multiplied(g, op)?,
        "NOT_EQUAL" => {
            let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
            let equal = g.node("Equal", &[&a, &b], &[]);
            let value = g.node("Not", &[&equal], &[]);
            g.set(op.output()?, value);
        }
        "DIV" => {
            let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
            let value = g.node("Div", &[&a, &b], &[]);
            g.set_real(op.output()?, &value, op.byte(0)?)?;
        }
        "MAXIMUM" | "MINIMUM" => {
            let out = op.output()?;
            let (a, b) = (g.operand_like(op.input(0)?, out)?, g.operand_like(op.input(1)?, out)?);
            let value = g.node(if op.name == "MAXIMUM" { "Max" } else { "Min" }, &[&a, &b], &[]);
            g.set(out, value);
        }
        "QUANTIZE" | "DEQUANTIZE" => {
            let value = g.operand_like(op.input(0)?, op.output()?)?;
            g.set(op.output()?, value);
        }
        _ => return others(g, op),
    }
    Ok(true)
}

fn others(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<bool> {
    let float = |value: f64| Setting::Float(value);
    let value = match op.name {
        "RELU_0_TO_1" => {
            let (x, low, high) = (g.real(op.input(0)?)?, g.number(0.0), g.number(1.0));
            g.node("Clip", &[&x, &low, &high], &[])
        }
        "LEAKY_RELU" => {
            let x = g.real(op.input(0)?)?;
            g.node("LeakyRelu", &[&x], &[("alpha", float(op.float(0)?))])
        }
        "GELU" => {
            let x = g.real(op.input(0)?)?;
            let approximate = if op.flag(0)? { "tanh" } else { "none" };
            g.node("Gelu", &[&x], &[("approximate", Setting::Text(approximate.into()))])
        }
        "SQUARE" => {
            let x = g.real(op.input(0)?)?;
            g.node("Mul", &[&x, &x], &[])
        }
        "SQUARED_DIFFERENCE" => {
            let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
            let value = g.node("Sub", &[&a, &b], &[]);
            g.node("Mul", &[&value, &value], &[])
        }
        "FLOOR_MOD" => {
            let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
            floor_rest(g, op, &a, &b)?.0
        }
        "FLOOR_DIV" => {
            let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
            let (_, value) = floor_rest(g, op, &a, &b)?;
            value
        }
        "ADD_N" => {
            let list = op.inputs.iter().flatten().map(|&t| g.real(t)).collect::<Translated<Vec<_>>>()?;
            let list: Vec<&str> = list.iter().map(String::as_str).collect();
            g.node("Sum", &list, &[])
        }
        "ZEROS_LIKE" => {
            let x = g.real(op.input(0)?)?;
            g.node("Sub", &[&x, &x], &[])
        }
        "SELECT" | "SELECT_V2" => return selected(g, op).map(|()| true),
        "CAST" => {
            let out = op.output()?;
            let (to, _) = g.kind(out)?;
            // Integers are cast as they are, whatever they stand for.
            let x = match g.scheme(op.input(0)?)? {
                Some(_) => return refuse("it casts quantised values", "`DEQUANTIZE` does what is meant"),
                None => g.value(op.input(0)?)?,
            };
            g.node("Cast", &[&x], &[("to", Setting::Int(to))])
        }
        _ => return Ok(false),
    };
    g.set_real(op.output()?, &value, 0)?;
    Ok(true)
}

/// `a - b * floor(a / b)`, and the quotient.
fn floor_rest(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, a: &str, b: &str) -> Translated<(String, String)> {
    let is_int = g.kind(op.input(0)?)?.1.is_int() && g.scheme(op.input(0)?)?.is_none();
    if is_int {
        let rest = g.node("Mod", &[a, b], &[]);
        let whole = g.node("Sub", &[a, &rest], &[]);
        return Ok((rest, g.node("Div", &[&whole, b], &[])));
    }
    let quotient = g.node("Div", &[a, b], &[]);
    let whole = g.node("Floor", &[&quotient], &[]);
    let product = g.node("Mul", &[&whole, b], &[]);
    Ok((g.node("Sub", &[a, &product], &[]), whole))
}

fn clamp(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, activation: i64) -> Translated<()> {
    let (x, out) = (op.input(0)?, op.output()?);
    let (Some(own), Some(wanted)) = (g.scheme(x)?, g.scheme(out)?) else {
        let value = g.real(x)?;
        return g.set_real(out, &value, activation);
    };
    let value = g.value(x)?;
    let value = g.requantised(&value, &[own.scale / wanted.scale], wanted, bounds(wanted, activation)?);
    g.set(out, value);
    Ok(())
}

/// The schemes of two operands and the result, if all have one.
fn all(g: &Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<Option<[Scheme; 3]>> {
    let found = [g.scheme(op.input(0)?)?, g.scheme(op.input(1)?)?, g.scheme(op.output()?)?];
    Ok(if let [Some(a), Some(b), Some(out)] = found { Some([a, b, out]) } else { None })
}

fn sum(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, operator: &str) -> Translated<()> {
    let (activation, out) = (op.byte(0)?, op.output()?);
    let Some([a, b, wanted]) = all(g, op)? else {
        let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
        let value = g.node(operator, &[&a, &b], &[]);
        return g.set_real(out, &value, activation);
    };
    // In steps of the first operand.
    let (x, y) = (g.value(op.input(0)?)?, g.value(op.input(1)?)?);
    let y = g.times(&y, b.scale / a.scale);
    let value = g.node(operator, &[&x, &y], &[]);
    let value = g.requantised(&value, &[a.scale / wanted.scale], wanted, bounds(wanted, activation)?);
    g.set(out, value);
    Ok(())
}

fn multiplied(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (activation, out) = (op.byte(0)?, op.output()?);
    let Some([a, b, wanted]) = all(g, op)? else {
        let (a, b) = (g.real(op.input(0)?)?, g.real(op.input(1)?)?);
        let value = g.node("Mul", &[&a, &b], &[]);
        return g.set_real(out, &value, activation);
    };
    let (x, y) = (g.value(op.input(0)?)?, g.value(op.input(1)?)?);
    let value = g.node("Mul", &[&x, &y], &[]);
    let factor = a.scale * b.scale / wanted.scale;
    let value = g.requantised(&value, &[factor], wanted, bounds(wanted, activation)?);
    g.set(out, value);
    Ok(())
}

fn selected(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    let (condition, out) = (op.input(0)?, op.output()?);
    let (yes, no) = (g.operand_like(op.input(1)?, out)?, g.operand_like(op.input(2)?, out)?);
    let (rank, own) = (g.shape(out).len(), g.shape(condition).to_vec());
    let mut condition = g.value(condition)?;
    // The condition of `SELECT` may be a list, one for each row.
    if op.name == "SELECT" && own.len() == 1 && rank > 1 {
        let shape: Vec<i64> = own.into_iter().chain(std::iter::repeat_n(1, rank - 1)).collect();
        let shape = g.indices(&[rank as i64], &shape);
        condition = g.node("Reshape", &[&condition, &shape], &[]);
    }
    let value = g.node("Where", &[&condition, &yes, &no], &[]);
    g.set(out, value);
    Ok(())
}
