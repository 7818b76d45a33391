//! Scales: a power of two between a sum and a function is part of the sum.

use crate::canonical::expr::Expr;
use crate::canonical::expr::linear::{Term, is_power_of_two, term_expr, terms};
use crate::canonical::flow::Flow;
use crate::tensor::{Aggregate, Nest, Program, Role, Start, TensorId};

/// Multiply the summands instead of the sum, where a function is applied to a sum times a power of two, of either sign.
///
///     s[c] = sum[k](d[c][k] * d[c][k])                     s[c] = sum[k](-0.0625 * (d[c][k] * d[c][k]))
///     p[c] = exp(-0.0625 * s[c])                  =>       p[c] = exp(s[c])
///
/// The factor moves the binary point of each product, and its sign says whether products are added or subtracted: it costs nothing there. Before
/// the function it would be an operation of its own, for which each value waits. The sum is read nowhere else. Dead code has been removed.
pub fn scales_into_sums(program: &Program) -> Program {
    let mut result = program.clone();
    let flow = Flow::of(program);
    for number in 0..program.nests.len() {
        let body = Expr::from_body(&result.nests[number].body);
        let mut scaled = Vec::new();
        body.visit(&mut |e| {
            if let Expr::Call(_, arguments) = e {
                scaled.extend(arguments.iter().filter_map(|argument| scaled_sum(program, &flow, number, argument)));
            }
        });
        for (sum, coefficient) in scaled {
            let writer = flow.writers[sum.0][0];
            let [mut own]: [Term; 1] =
                terms(&Expr::from_body(&result.nests[writer].body)).try_into().expect("just looked at");
            own.coefficient *= coefficient;
            result.nests[writer].body = term_expr(&own).to_body();
            let body = Expr::from_body(&result.nests[number].body);
            let body = body.map(&mut |e| match e {
                Expr::Call(function, arguments) => {
                    let plain = |argument: Expr| match scaled_read(&argument) {
                        Some((Expr::Read(tensor, index), _)) if tensor == sum => Expr::Read(tensor, index),
                        _ => argument,
                    };
                    Expr::Call(function, arguments.into_iter().map(plain).collect())
                }
                other => other,
            });
            result.nests[number].body = body.to_body();
        }
    }
    result
}

/// An element, and the constant that it is multiplied with.
fn scaled_read(e: &Expr) -> Option<(Expr, f64)> {
    let [Term { coefficient, factors }]: [Term; 1] = terms(e).try_into().ok()?;
    let [read @ Expr::Read(..)]: [Expr; 1] = factors.try_into().ok()? else { return None };
    Some((read, coefficient))
}

/// The sum that an argument of a function is but for a power of two, and that; `None` where it is another one's, too, or cannot take the factor.
fn scaled_sum(program: &Program, flow: &Flow, reader: usize, argument: &Expr) -> Option<(TensorId, f64)> {
    let (read, coefficient) = scaled_read(argument)?;
    let Expr::Read(tensor, _) = read else { return None };
    let (&[writer], &[only]) = (flow.writers[tensor.0].as_slice(), flow.readers[tensor.0].as_slice()) else {
        return None;
    };
    let Nest { body, start, .. } = &program.nests[reader];
    let times = Expr::from_body(body).tensors().iter().filter(|&&other| other == tensor).count();
    let starts = matches!(start, Start::Element { tensor: other, .. } if *other == tensor);
    let sum = &program.nests[writer];
    let private = !flow.kept[tensor.0] && program.tensors[tensor.0].role == Role::Temporary && only == reader;
    let plain = sum.guards.is_empty() && sum.aggregate == Aggregate::Add && sum.start == Start::Identity;
    let [own]: [Term; 1] = terms(&Expr::from_body(&sum.body)).try_into().ok()?;
    // One factor and its power of two would be a product with a constant.
    let free = own.factors.len() > 1 && is_power_of_two(own.coefficient * coefficient);
    (times == 1 && !starts && private && plain && free && coefficient != 1.0).then_some((tensor, coefficient))
}
