//! Operators that the front end of `TFLite` writes beside those of ONNX (crate `tflite`): integers less their zero points, as real numbers.

use crate::build::{Translated, unsupported};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::expression::{Ex, num};
use crate::graph::Lowering;

/// Their domain.
const DOMAIN: &str = "tflite";

/// Translate an operator of the domain.
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    if c.node.domain != DOMAIN {
        return Ok(None);
    }
    let zero = c.float("zero", 0.0);
    let plus = |x: Ex, offset: f64| if offset == 0.0 { x } else { x + offset };
    let value = match c.node.operator {
        // From an integer of the file.
        "Centred" => l.builder.zip(&[c.input(0)?], Kind::FLOAT, |x| plus(x[0].clone(), -zero))?,
        // To an integer of the file.
        "Stored" => {
            let Some(kind) = Kind::of_number(c.int("to", 0)) else { return c.refuse("to") };
            l.builder.zip(&[c.input(0)?], kind, |x| plus(x[0].clone(), zero))?
        }
        "Requantize" => {
            let (x, factor) = (c.input(0)?, c.input(1)?);
            let limit = |name: &str, other: f64| Some(c.float(name, other)).filter(|value| !value.is_nan());
            let (Some(low), Some(high)) = (limit("low", f64::NEG_INFINITY), limit("high", f64::INFINITY)) else {
                return c.refuse("low");
            };
            let above = c.float("above", 0.0);
            l.builder.zip(&[x, factor], Kind::FLOAT, |x| {
                let rounded = plus(plus(x[0].clone(), zero) * x[1].clone(), above).round_even();
                plus(rounded, -zero).max(num(low)).min(num(high))
            })?
        }
        // One that the front end does not translate.
        operator => {
            let message = c.text("refusal", &format!("the operator {operator} is not supported"));
            let help = c.text("help", "there is no equivalent here: compute this node on the host");
            return unsupported(message, help);
        }
    };
    Ok(Some(vec![Slot::Tensor(value)]))
}
