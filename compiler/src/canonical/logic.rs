//! Comparison, choice and logic as arithmetic on 0 and 1.

use super::expr::Expr;
use crate::tensor::{Binary, Function, Node, Program, Unary};

/// Leave one comparison, `l < 0`, and no other logic.
///
///     a > b           =>  (b - a) < 0
///     a >= b          =>  1 - ((a - b) < 0)
///     min(a, b)       =>  select(a < b, a, b)
///     select(c,y,n)   =>  (n - c*n) + c*y           (c is 0 or 1, so both products are exact)
///     abs(x)          =>  x - 2*(x*(x < 0))
///
/// Exact in fixed point, too: the difference is compared before it is rounded, and products with 0 and 1 are not rounded.
pub fn rewrite_logic(program: &Program) -> Program {
    let mut result = program.clone();
    for nest in &mut result.nests {
        let is_logic = |node: &Node| match node {
            Node::Binary(operation, ..) => !matches!(operation, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div),
            Node::Unary(operation, _) => *operation == Unary::Not,
            Node::Select { .. } | Node::Call(Function::Abs, _) | Node::Cast(..) => true,
            _ => false,
        };
        if nest.body.nodes.iter().any(is_logic) {
            nest.body = Expr::from_body(&nest.body).map(&mut rewrite).to_body();
        }
    }
    result
}

fn negative(e: Expr) -> Expr {
    Expr::Binary(Binary::Lt, Box::new(e), Box::new(Expr::Constant(0.0)))
}

fn less(a: Expr, b: Expr) -> Expr {
    match (a, b) {
        (a, Expr::Constant(0.0)) => negative(a),
        (Expr::Constant(0.0), b) => negative(Expr::neg(b)),
        (a, b) => negative(Expr::sub(a, b)),
    }
}

fn not(e: Expr) -> Expr {
    Expr::sub(Expr::Constant(1.0), e)
}

fn choose(condition: Expr, yes: Expr, no: Expr) -> Expr {
    let other = Expr::sub(no.clone(), Expr::mul(condition.clone(), no));
    Expr::add(other, Expr::mul(condition, yes))
}

/// Whether the value can only be 0 or 1.
fn is_bit(e: &Expr) -> bool {
    match e {
        Expr::Constant(value) => *value == 0.0 || *value == 1.0,
        Expr::Binary(Binary::Lt, ..) => true,
        Expr::Binary(Binary::Mul, a, b) => is_bit(a) && is_bit(b),
        Expr::Binary(Binary::Sub, a, b) => matches!(**a, Expr::Constant(1.0)) && is_bit(b),
        _ => false,
    }
}

/// The truth of a value: itself if it is a bit, else whether it differs from 0.
fn truth(e: Expr) -> Expr {
    if is_bit(&e) {
        return e;
    }
    Expr::add(negative(e.clone()), negative(Expr::neg(e)))
}

fn rewrite(e: Expr) -> Expr {
    match e {
        Expr::Unary(Unary::Not, a) => not(truth(*a)),
        Expr::Binary(operation, a, b) => {
            let (a, b) = (*a, *b);
            match operation {
                Binary::Lt => less(a, b),
                Binary::Gt => less(b, a),
                Binary::Ge => not(less(a, b)),
                Binary::Le => not(less(b, a)),
                Binary::Ne => Expr::add(less(a.clone(), b.clone()), less(b, a)),
                Binary::Eq => not(Expr::add(less(a.clone(), b.clone()), less(b, a))),
                Binary::And => Expr::mul(truth(a), truth(b)),
                Binary::Or => not(Expr::mul(not(truth(a)), not(truth(b)))),
                Binary::Min => choose(less(a.clone(), b.clone()), a, b),
                Binary::Max => choose(less(a.clone(), b.clone()), b, a),
                _ => Expr::Binary(operation, Box::new(a), Box::new(b)),
            }
        }
        Expr::Select(parts) => {
            let [condition, yes, no] = *parts;
            choose(truth(condition), yes, no)
        }
        Expr::Call(Function::Abs, mut arguments) => {
            let x = arguments.pop().expect("abs has an argument");
            let flipped = Expr::mul(x.clone(), negative(x.clone()));
            Expr::sub(x, Expr::mul(Expr::Constant(2.0), flipped))
        }
        Expr::Cast(crate::tensor::Element::Real, a) => *a,
        other => other,
    }
}
