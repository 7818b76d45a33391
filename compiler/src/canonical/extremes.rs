//! Largest and smallest of several values: halves against each other, then two at a time.

use super::expr::Expr;
use super::flow::fresh_name;
use crate::tensor::{Affine, Aggregate, Binary, Element, IterId, Nest, Program, Role, Start, Tensor, TensorId};

/// Values that are compared one by one; more are halved first.
const FEW: u64 = 4;

/// Write a maximum or minimum as choices between two.
///
///     m = max[k](x[k])   k in 0..9      =>      m.1[k] = max(x[k], x[k+5])   k in 0..4;   m.1[4] = x[4]
///                                               m.2[k] = max(m.1[k], m.1[k+3])   k in 0..2;   m.2[2] = m.1[2]
///                                               m.3 = max(m.2[0], m.2[1]);  m = max(m.3, m.2[2])
///
/// Each halving is one vector statement, whatever the number of points. Nests with conditions on their points stay as they are.
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
        if points == 0 || !nest.guards.is_empty() {
            result.nests.push(nest.clone());
            continue;
        }
        let few = halve(&mut result, nest.clone(), operation);
        unroll(&mut result, &few, operation);
    }
    result
}

/// Compare halves of the longest iterator until few points are left.
fn halve(program: &mut Program, mut nest: Nest, operation: Binary) -> Nest {
    while nest.iterators[nest.free..].iter().map(crate::tensor::Iterator::extent).product::<u64>() > FEW {
        let longest = (nest.free..nest.iterators.len())
            .max_by_key(|&i| (nest.iterators[i].extent(), std::cmp::Reverse(i)))
            .expect("there are several points");
        let (low, extent) = (nest.iterators[longest].low, nest.iterators[longest].extent() as i64);
        let (pairs, rest) = (extent / 2, extent - extent / 2);
        let shape =
            |i: usize, it: &crate::tensor::Iterator| if i == longest { rest } else { it.extent() as i64 } as u32;
        let temporary = TensorId(program.tensors.len());
        program.tensors.push(Tensor {
            name: fresh_name(program, &program.tensors[nest.out.0].name),
            shape: nest.iterators.iter().enumerate().map(|(i, it)| shape(i, it)).collect(),
            role: Role::Temporary,
            element: program.tensors[nest.out.0].element,
            span: nest.span,
        });
        let index: Vec<Affine> = (0..nest.iterators.len())
            .map(|i| Affine::iterator(IterId(i)).plus(-1, &Affine::constant(nest.iterators[i].low)))
            .collect();
        let body = Expr::from_body(&nest.body);
        let mut step = |from: i64, to: i64, value: Expr| {
            let mut iterators = nest.iterators.clone();
            (iterators[longest].low, iterators[longest].high) = (from, to);
            program.nests.push(Nest {
                free: iterators.len(),
                iterators,
                guards: Vec::new(),
                out: temporary,
                out_index: index.clone(),
                aggregate: Aggregate::Assign,
                start: Start::Identity,
                body: value.to_body(),
                span: nest.span,
            });
        };
        let mut with: Vec<Affine> = (0..nest.iterators.len()).map(|i| Affine::iterator(IterId(i))).collect();
        with[longest].offset = rest;
        let pair = Expr::Binary(operation, Box::new(body.clone()), Box::new(body.clone().substitute(&with)));
        step(low, low + pairs, pair);
        if rest > pairs {
            step(low + pairs, low + rest, body);
        }
        nest.iterators[longest].high = low + rest;
        nest.body = Expr::Read(temporary, index).to_body();
    }
    nest
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
