//! Derivatives of the library's functions: the formulas of the table of functions as nodes.
//!
//! ```text
//! v = sigmoid(x)    =>    v * (1 - v)             by the value, where that is enough: it has been computed
//! v = log(x)        =>    1 / x
//! ```

use super::builder::Builder;
use crate::tensor::{Binary, Function, NodeId};
use arch::function::Formula;
use arch::function::formula::Operator;

/// The derivative of `function(arguments)`, whose value is `value`, by argument number `by`; `None` if there is none.
pub(super) fn derivative(
    b: &mut Builder,
    function: Function,
    arguments: &[NodeId],
    value: NodeId,
    by: usize,
) -> Option<NodeId> {
    Some(nodes(b, &function.derivative(by)?, arguments, value))
}

fn nodes(b: &mut Builder, formula: &Formula, arguments: &[NodeId], value: NodeId) -> NodeId {
    let mut of = |formula: &Formula| nodes(b, formula, arguments, value);
    match formula {
        Formula::Argument(place) => arguments[*place],
        Formula::Value => value,
        Formula::Number(number) => b.constant(*number),
        Formula::Negate(a) => {
            let a = of(a);
            b.neg(a)
        }
        Formula::Binary(operator, operands) => {
            let (x, y) = (of(&operands[0]), of(&operands[1]));
            match operator {
                Operator::Add => b.add(x, y),
                Operator::Subtract => b.sub(x, y),
                Operator::Multiply => b.mul(x, y),
                Operator::Divide => b.div(x, y),
                Operator::DivideDown => b.binary(Binary::DivFloor, x, y),
                Operator::Less => b.binary(Binary::Lt, x, y),
            }
        }
        Formula::Select(parts) => {
            let [condition, yes, no] = parts.each_ref().map(of);
            b.select(condition, yes, no)
        }
        Formula::Call(function, operands) => {
            let operands = operands.iter().map(of).collect();
            b.call(*function, operands)
        }
    }
}
