//! Constant folding.

use super::expr::Expr;
use super::expr::linear::terms;
use super::flow::Flow;
use super::logic::{choose, less};
use crate::tensor::{Aggregate, Binary, Element, Function, Nest, Program, Role, Start, TensorId, Unary};
use arch::Origin;

/// Compute what is constant, drop what does nothing, and bring constants to their readers.
///
///     m = 3; a = 2 * m + x * 1 - 0      =>      m = 3; a = 6 + x
///     s = sum[i](x)   (4 times)         =>      s = 4 * x
///
/// Real numbers are meant: `x * 0` is 0. One constant makes others: this goes on until nothing changes. (A constant that is not a
/// number differs from itself: hence the bound.)
pub fn fold_constants(program: &Program) -> Program {
    let mut program = program.clone();
    for _ in 0..16 {
        let next = fold_once(&program);
        if next == program {
            break;
        }
        program = next;
    }
    program
}

fn fold_once(program: &Program) -> Program {
    let mut result = program.clone();
    for nest in &mut result.nests {
        nest.body = simplify(Expr::from_body(&nest.body)).to_body();
        drop_idle_iterators(nest);
    }
    let flow = Flow::of(&result);
    // A tensor whose only writer stores one constant is that constant wherever it is read; the reader says where it is from.
    let constants: Vec<Option<(f64, Origin)>> = result
        .tensors
        .iter()
        .enumerate()
        .map(|(id, tensor)| match (&tensor.role, flow.writers[id].as_slice()) {
            (Role::Parameter(values), []) if !values.is_empty() && values.iter().all(|v| *v == values[0]) => {
                Some((values[0], Origin::default()))
            }
            (Role::State | Role::InOut | Role::Input | Role::Label, _) => None,
            (_, [writer]) => {
                let writer = &result.nests[*writer];
                constant_of(writer).map(|value| (value, writer.origin.clone()))
            }
            _ => None,
        })
        .collect();
    for nest in &mut result.nests {
        let mut constant = |tensor: TensorId| {
            let (value, origin) = constants[tensor.0].as_ref()?;
            nest.origin.join(origin);
            Some(*value)
        };
        let body = Expr::from_body(&nest.body).map(&mut |e| match e {
            Expr::Read(tensor, index) => constant(tensor).map_or(Expr::Read(tensor, index), Expr::Constant),
            other => other,
        });
        if let Start::Element { tensor, .. } = &nest.start
            && let Some(value) = constant(*tensor)
        {
            nest.start = Start::Fill(value);
        }
        nest.body = simplify(body).to_body();
    }
    result
}

fn constant_of(nest: &Nest) -> Option<f64> {
    match (nest.aggregate, Expr::from_body(&nest.body)) {
        (Aggregate::Assign, Expr::Constant(value)) if nest.guards.is_empty() => Some(value),
        _ => None,
    }
}

/// A sum over an iterator that nothing depends on is a multiplication, a product of equal constants is a power, and the largest of
/// equal values is each of them.
fn drop_idle_iterators(nest: &mut Nest) {
    if let (Aggregate::Mul, Expr::Constant(value)) = (nest.aggregate, Expr::from_body(&nest.body))
        && nest.guards.is_empty()
        && nest.start == Start::Identity
    {
        let times: u64 = nest.iterators.drain(nest.free..).map(|iterator| iterator.extent()).product();
        nest.aggregate = Aggregate::Assign;
        nest.body = Expr::Constant(libm::pow(value, times as f64)).to_body();
        return;
    }
    if !matches!(nest.aggregate, Aggregate::Add | Aggregate::Max | Aggregate::Min) || !nest.guards.is_empty() {
        return;
    }
    let body = Expr::from_body(&nest.body);
    let used = body.iterators();
    let idle: Vec<usize> =
        (nest.free..nest.iterators.len()).filter(|&i| !used.contains(&crate::tensor::IterId(i))).collect();
    let times: u64 = idle.iter().map(|&i| nest.iterators[i].extent()).product();
    let sum = nest.aggregate == Aggregate::Add;
    // Of no points there is no largest one.
    if idle.is_empty() || times == 0 && !sum {
        return;
    }
    let mut with = Vec::new();
    let mut kept = Vec::new();
    for (i, iterator) in nest.iterators.iter().enumerate() {
        if idle.contains(&i) {
            with.push(crate::tensor::Affine::default());
        } else {
            with.push(crate::tensor::Affine::iterator(crate::tensor::IterId(kept.len())));
            kept.push(iterator.clone());
        }
    }
    let mut value = body.substitute(&with);
    if times != 1 && sum {
        value = Expr::mul(Expr::Constant(times as f64), value);
    }
    nest.iterators = kept;
    if nest.iterators.len() == nest.free {
        let with = |start: Expr, value: Expr| match nest.aggregate {
            Aggregate::Max => choose(less(start.clone(), value.clone()), value, start),
            Aggregate::Min => choose(less(start.clone(), value.clone()), start, value),
            _ => Expr::add(start, value),
        };
        value = match &nest.start {
            Start::Identity => value,
            Start::Fill(start) => with(Expr::Constant(*start), value),
            Start::Element { tensor, index } => with(Expr::Read(*tensor, index.clone()), value),
        };
        nest.start = Start::Identity;
        nest.aggregate = Aggregate::Assign;
    }
    nest.body = simplify(value).to_body();
}

/// Fold one expression.
pub(super) fn simplify(expr: Expr) -> Expr {
    expr.map(&mut simplify_one)
}

fn simplify_one(expr: Expr) -> Expr {
    use Expr::Constant;
    match expr {
        Expr::Unary(Unary::Neg, a) => match *a {
            Constant(value) => Constant(-value),
            Expr::Unary(Unary::Neg, inner) => *inner,
            other => Expr::neg(other),
        },
        Expr::Unary(Unary::Not, a) => match *a {
            Constant(value) => Constant(f64::from(value == 0.0)),
            other => Expr::Unary(Unary::Not, Box::new(other)),
        },
        Expr::Binary(operation, a, b) => match (operation, *a, *b) {
            (operation, Constant(a), Constant(b)) if binary(operation, a, b).is_some() => {
                Constant(binary(operation, a, b).expect("just computed"))
            }
            (Binary::Add, Constant(0.0), other)
            | (Binary::Add | Binary::Sub, other, Constant(0.0))
            | (Binary::Mul, Constant(1.0), other)
            | (Binary::Mul | Binary::Div | Binary::DivControlled, other, Constant(1.0)) => other,
            (Binary::Sub, Constant(0.0), other) => simplify_one(Expr::neg(other)),
            (Binary::Mul, Constant(0.0), _) | (Binary::Mul, _, Constant(0.0)) => Constant(0.0),
            (Binary::Mul, Constant(-1.0), other) | (Binary::Mul, other, Constant(-1.0)) => {
                simplify_one(Expr::neg(other))
            }
            (Binary::Div | Binary::DivControlled, other, Constant(by)) if by != 0.0 => {
                simplify_one(Expr::mul(Constant(1.0 / by), other))
            }
            (operation @ (Binary::Add | Binary::Sub), a, b) => {
                let sum = Expr::Binary(operation, Box::new(a), Box::new(b));
                // What remains when everything else cancels.
                match terms(&sum).as_slice() {
                    [] => Constant(0.0),
                    [term] if term.factors.is_empty() => Constant(term.coefficient),
                    _ => sum,
                }
            }
            (operation, a, b) => Expr::Binary(operation, Box::new(a), Box::new(b)),
        },
        Expr::Call(function, arguments) => {
            called(function, &arguments).map_or(Expr::Call(function, arguments), Constant)
        }
        Expr::Cast(element, a) => match *a {
            Constant(value) if converted(element, value).is_some() => {
                Constant(converted(element, value).expect("just computed"))
            }
            other => Expr::Cast(element, Box::new(other)),
        },
        Expr::Select(parts) => match *parts {
            [Constant(0.0), _, no] => no,
            [Constant(_), yes, _] => yes,
            parts => Expr::Select(Box::new(parts)),
        },
        other => other,
    }
}

/// The value of a function of constants, if it has one.
pub(super) fn called(function: Function, arguments: &[Expr]) -> Option<f64> {
    let mut values = [0.0; 3];
    for (value, argument) in values.iter_mut().zip(arguments) {
        let Expr::Constant(constant) = argument else { return None };
        *value = *constant;
    }
    Some(function.value(values)).filter(|value| value.is_finite())
}

fn binary(operation: Binary, a: f64, b: f64) -> Option<f64> {
    Some(match operation {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div | Binary::DivControlled if b != 0.0 => a / b,
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::Lt => f64::from(a < b),
        Binary::Le => f64::from(a <= b),
        Binary::Gt => f64::from(a > b),
        Binary::Ge => f64::from(a >= b),
        Binary::Eq => f64::from(a == b),
        Binary::Ne => f64::from(a != b),
        Binary::And => f64::from(a != 0.0 && b != 0.0),
        Binary::Or => f64::from(a != 0.0 || b != 0.0),
        Binary::DivFloor if b != 0.0 => libm::floor(a / b),
        Binary::RemFloor if b != 0.0 => a - b * libm::floor(a / b),
        _ => return None,
    })
}

/// A conversion, of a value that the element type has.
fn converted(element: Element, value: f64) -> Option<f64> {
    match element {
        Element::Real => Some(value),
        Element::Bool => Some(f64::from(value != 0.0)),
        Element::Int { bits, signed } => {
            let whole = libm::trunc(value);
            let end = libm::exp2(f64::from(bits - u32::from(signed)));
            (if signed { -end } else { 0.0 } <= whole && whole < end).then_some(whole)
        }
    }
}
