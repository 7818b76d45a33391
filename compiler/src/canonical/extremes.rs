//! Largest and smallest of several values, two at a time.

use super::expr::Expr;
use super::flow::fresh_name;
use crate::tensor::{Affine, Aggregate, Binary, Element, IterId, Nest, Program, Role, Start, Tensor, TensorId};

/// Values that one nest may compare.
const VALUES: u64 = 64;

/// Write a maximum or minimum over few points as a tree of choices between two.
///
///     m = max[k](x[k])   k in 0..4      =>      m.1 = max(x[0], x[1]);  m.2 = max(x[2], x[3]);  m = max(m.1, m.2)
///
/// More than 64 points, or conditions on them, stay as they are.
pub fn unroll_extremes(program: &Program) -> Program {
    let mut result = program.clone();
    result.nests.clear();
    for nest in &program.nests {
        let points: u64 = nest.iterators[nest.free..].iter().map(crate::tensor::Iterator::extent).product();
        let operation = match nest.aggregate {
            Aggregate::Max => Binary::Max,
            Aggregate::Min => Binary::Min,
            _ => {
                result.nests.push(nest.clone());
                continue;
            }
        };
        if points > VALUES || points == 0 || !nest.guards.is_empty() {
            result.nests.push(nest.clone());
            continue;
        }
        unroll(&mut result, nest, operation);
    }
    result
}

fn unroll(program: &mut Program, nest: &Nest, operation: Binary) {
    let free = nest.iterators[..nest.free].to_vec();
    let body = Expr::from_body(&nest.body);
    let mut values: Vec<Expr> = match &nest.start {
        Start::Identity => Vec::new(),
        Start::Fill(value) => vec![Expr::Constant(*value)],
        Start::Element { tensor, index } => vec![Expr::Read(*tensor, index.clone())],
    };
    let mut point: Vec<i64> = nest.iterators[nest.free..].iter().map(|i| i.low).collect();
    loop {
        let with: Vec<Affine> = (0..nest.free)
            .map(|i| Affine::iterator(IterId(i)))
            .chain(point.iter().map(|&value| Affine::constant(value)))
            .collect();
        values.push(body.clone().substitute(&with));
        let mut level = point.len();
        loop {
            if level == 0 {
                finish(program, nest, &free, values, operation);
                return;
            }
            level -= 1;
            point[level] += 1;
            if point[level] < nest.iterators[nest.free + level].high {
                break;
            }
            point[level] = nest.iterators[nest.free + level].low;
        }
    }
}

/// Combine values pairwise, each pair in a temporary, until one nest can write the result.
fn finish(program: &mut Program, nest: &Nest, free: &[crate::tensor::Iterator], values: Vec<Expr>, operation: Binary) {
    let assign = |out: TensorId, out_index: Vec<Affine>, value: &Expr| Nest {
        iterators: free.to_vec(),
        free: free.len(),
        guards: Vec::new(),
        out,
        out_index,
        aggregate: Aggregate::Assign,
        start: Start::Identity,
        body: value.to_body(),
        span: nest.span,
    };
    let mut values = values;
    while values.len() > 2 {
        let mut pairs = Vec::with_capacity(values.len().div_ceil(2));
        let mut rest = values.into_iter();
        while let Some(first) = rest.next() {
            let Some(second) = rest.next() else {
                pairs.push(first);
                break;
            };
            let temporary = TensorId(program.tensors.len());
            program.tensors.push(Tensor {
                name: fresh_name(program, &program.tensors[nest.out.0].name),
                shape: free.iter().map(|i| i.extent() as u32).collect(),
                role: Role::Temporary,
                element: Element::Real,
                span: nest.span,
            });
            let index: Vec<Affine> = free
                .iter()
                .enumerate()
                .map(|(i, it)| Affine::iterator(IterId(i)).plus(-1, &Affine::constant(it.low)))
                .collect();
            let value = Expr::Binary(operation, Box::new(first), Box::new(second));
            program.nests.push(assign(temporary, index.clone(), &value));
            pairs.push(Expr::Read(temporary, index));
        }
        values = pairs;
    }
    let value = values
        .into_iter()
        .reduce(|a, b| Expr::Binary(operation, Box::new(a), Box::new(b)))
        .expect("there is at least one point");
    program.nests.push(assign(nest.out, nest.out_index.clone(), &value));
}
