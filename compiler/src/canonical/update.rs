//! Gradient descent as nests, for one sample or a batch.

use super::expr::{Expr, reads};
use super::flow::{Flow, fresh_name};
use super::{Batch, Reduction};
use crate::tensor::{Affine, Aggregate, IterId, Iterator, Nest, Program, Role, Start, Tensor, TensorId, Update};
use arch::{Code, Diagnostic, Origin};

/// Give everything that depends on the sample a leading dimension: the batch.
///
///     d     = h - y;        g[i]   = d * x[i]
///     =>  d[b]  = h[b] - y[b];  g[b,i] = d[b] * x[b,i]
///
/// What depends on weights and constants only stays as it is, and so does what follows from means ([`Role::Mean`]), which bring the
/// samples together:
///
///     g.mean[i] = g[i]       =>  g.mean[i] = sum[b](1/B * g[b,i])
///
/// A program that assigns its state itself says what happens after one sample, not after several: that is an error.
pub fn vectorise(program: &Program, batch: Batch) -> Result<Program, Vec<Diagnostic>> {
    let is_mean = |tensor: TensorId| program.tensors[tensor.0].role == Role::Mean;
    let (depends, combined) = dependence(program);
    let errors = assigned(program, &depends, &combined);
    if !errors.is_empty() {
        return Err(errors);
    }

    let mut result = program.clone();
    for (tensor, depends) in result.tensors.iter_mut().zip(&depends) {
        if *depends {
            tensor.shape.insert(0, batch.size);
            if let Role::Gradient(_) = tensor.role {
                // One gradient per sample is not the gradient of the weights.
                tensor.role = Role::Temporary;
            }
        }
    }
    let lead = Affine::iterator(IterId(0));
    for nest in &mut result.nests {
        if is_mean(nest.out) {
            combine(program, nest, &depends, batch);
        }
        if !depends[nest.out.0] {
            continue;
        }
        let shift = |index: &mut Vec<Affine>, dependent: bool| {
            for form in index.iter_mut() {
                form.terms.iter_mut().for_each(|term| term.0.0 += 1);
            }
            if dependent {
                index.insert(0, lead.clone());
            }
        };
        nest.iterators.insert(0, Iterator { name: "b".into(), low: 0, high: i64::from(batch.size) });
        nest.free += 1;
        shift(&mut nest.out_index, true);
        for guard in &mut nest.guards {
            let (crate::tensor::Guard::Within { value, .. } | crate::tensor::Guard::Zero { value }) = guard;
            value.terms.iter_mut().for_each(|term| term.0.0 += 1);
        }
        if let Start::Element { tensor, index } = &mut nest.start {
            shift(index, depends[tensor.0]);
        }
        let body = Expr::from_body(&nest.body).map(&mut |e| match e {
            Expr::Iterator(iterator) => Expr::Iterator(IterId(iterator.0 + 1)),
            Expr::Read(tensor, mut index) => {
                shift(&mut index, depends[tensor.0]);
                Expr::Read(tensor, index)
            }
            Expr::Gather(tensor, mut index) => {
                if depends[tensor.0] {
                    index.insert(0, Expr::Iterator(IterId(0)));
                }
                Expr::Gather(tensor, index)
            }
            other => other,
        });
        nest.body = body.to_body();
    }
    means_are_computed(&mut result);
    Ok(result)
}

/// Whether each tensor depends on the sample, and whether it follows from means, which bring the samples together.
fn dependence(program: &Program) -> (Vec<bool>, Vec<bool>) {
    let is_mean = |tensor: TensorId| program.tensors[tensor.0].role == Role::Mean;
    // What follows from means; it is computed once, whatever the batch is.
    let mut combined: Vec<bool> = (0..program.tensors.len()).map(|n| is_mean(TensorId(n))).collect();
    let mut depends: Vec<bool> =
        program.tensors.iter().map(|t| matches!(t.role, Role::Input | Role::Label | Role::InOut)).collect();
    // A tensor with several writers may become dependent after it has been read, hence the repetition.
    loop {
        let mut changed = false;
        for nest in &program.nests {
            let sources = reads(nest);
            if !depends[nest.out.0] && !is_mean(nest.out) && sources.iter().any(|t| depends[t.0]) {
                depends[nest.out.0] = true;
                changed = true;
            }
            if !combined[nest.out.0] && sources.iter().any(|t| combined[t.0]) {
                combined[nest.out.0] = true;
                changed = true;
            }
        }
        if !changed {
            return (depends, combined);
        }
    }
}

/// States that the program assigns itself, once per sample.
fn assigned(program: &Program, depends: &[bool], combined: &[bool]) -> Vec<Diagnostic> {
    let updates = program.updates.iter().filter(|update| depends[update.next.0] || !combined[update.next.0]);
    updates
        .map(|update| {
            let (state, next) = (&program.tensors[update.state.0], &program.tensors[update.next.0]);
            let message = format!(
                "`{}` is assigned by the program, once per sample: that cannot be done for a batch",
                state.name
            );
            Diagnostic::new(Code::Backend, next.span, message).with_help(format!(
                "train with a batch of 1, or assign a gradient linked to `{}` and leave the update to the tool",
                state.name
            ))
        })
        .collect()
}

/// Let a copy of an element combine that element of all samples.
fn combine(program: &Program, nest: &mut Nest, depends: &[bool], batch: Batch) {
    let Expr::Read(tensor, mut index) = Expr::from_body(&nest.body) else { return };
    let input = matches!(program.tensors[tensor.0].role, Role::Input | Role::Label);
    let size = f64::from(batch.size);
    let sums = batch.reduction == Reduction::Sum && !input;
    // What does not depend on the sample is the same for each of them.
    let scale = match (depends[tensor.0], sums) {
        (true, true) | (false, false) => 1.0,
        (true, false) => 1.0 / size,
        (false, true) => size,
    };
    if depends[tensor.0] {
        index.insert(0, Affine::iterator(IterId(nest.iterators.len())));
        nest.iterators.push(Iterator { name: "b".into(), low: 0, high: i64::from(batch.size) });
        nest.aggregate = Aggregate::Add;
    }
    nest.body = Expr::mul(Expr::Constant(scale), Expr::Read(tensor, index)).to_body();
}

/// Means have become nests like others.
fn means_are_computed(program: &mut Program) {
    for tensor in program.tensors.iter_mut().filter(|tensor| tensor.role == Role::Mean) {
        tensor.role = Role::Temporary;
    }
}

/// Turn `descents` into nests and `updates`; means have become nests like others.
///
///     descent w, g, mu              =>  w'[i] = w[i] - mu * g[i]
///     a batch of B samples, mean    =>  w'[i] = w[i] + sum[b](-(mu/B) * g[b,i])     (starting at w: nothing is rounded in between)
///
/// One nest for every nest that writes the gradient, over the same elements: weights without a gradient keep their value.
/// For a batch the program has to be vectorised before.
pub fn lower_descents(program: &Program, batch: Batch) -> Program {
    let mut result = program.clone();
    means_are_computed(&mut result);
    let flow = Flow::of(program);
    for descent in result.descents.drain(..).collect::<Vec<_>>() {
        let (state, gradient) = (descent.state, descent.gradient);
        let batched = program.tensors[gradient.0].shape.len() > program.tensors[state.0].shape.len();
        let rate = match batch.reduction {
            Reduction::Mean => descent.rate / f64::from(batch.size),
            Reduction::Sum => descent.rate,
        };
        // A gradient that does not depend on the sample is the same for each of them.
        let rate = if batched { rate } else { rate * f64::from(batch.size) };
        let next = TensorId(result.tensors.len());
        let name = fresh_name(&result, &program.tensors[state.0].name);
        result.tensors.push(Tensor {
            name,
            shape: program.tensors[state.0].shape.clone(),
            role: Role::Temporary,
            element: program.tensors[state.0].element,
            span: descent.span,
        });
        for &writer in &flow.writers[gradient.0] {
            let writer = &program.nests[writer];
            let free = &writer.iterators[..writer.free];
            let skip = usize::from(batched);
            // Iterators in the order: those of the element, then the batch.
            let order: Vec<usize> = (skip..writer.free).chain(0..skip).collect();
            let with: Vec<Affine> = (0..writer.free)
                .map(|old| Affine::iterator(IterId(order.iter().position(|&o| o == old).expect("a permutation"))))
                .collect();
            let index: Vec<Affine> = writer.out_index.iter().map(|a| super::expr::substitute(a, &with)).collect();
            let element = index[skip..].to_vec();
            let iterators: Vec<Iterator> = order.iter().map(|&o| free[o].clone()).collect();
            let step = Expr::mul(Expr::Constant(rate), Expr::Read(gradient, index));
            let (aggregate, start, body) = if batched {
                (Aggregate::Add, Start::Element { tensor: state, index: element.clone() }, Expr::neg(step))
            } else {
                (Aggregate::Assign, Start::Identity, Expr::sub(Expr::Read(state, element.clone()), step))
            };
            let guards = writer.guards.iter().filter_map(|guard| super::expr::guard(guard, writer.free, &with));
            result.nests.push(Nest {
                iterators,
                free: writer.free - skip,
                guards: guards.collect(),
                out: next,
                out_index: element,
                aggregate,
                start,
                body: body.to_body(),
                origin: Origin::new([writer.origin.span(), descent.span], []),
            });
        }
        result.updates.push(Update { state, next });
    }
    result
}

/// Put the nests that compute next values of states last, so that every reader of an old value comes before.
///
///     w' = w - d * x; z = w * v     =>     z = w * v; w' = w - d * x
pub fn updates_last(program: &Program) -> Program {
    let flow = Flow::of(program);
    let mut late = vec![false; program.nests.len()];
    for update in &program.updates {
        let writers = &flow.writers[update.next.0];
        if flow.readers[update.next.0].iter().all(|reader| writers.contains(reader)) {
            for &writer in writers {
                // Moving the nest past the writers of what it reads would change what it reads.
                let sources = reads(&program.nests[writer]);
                late[writer] =
                    sources.iter().all(|t| !flow.written_in(*t, writer + 1..program.nests.len()) || *t == update.next);
            }
        }
    }
    let mut result = program.clone();
    let (mut early, mut last) = (Vec::new(), Vec::new());
    for (nest, late) in result.nests.drain(..).zip(late) {
        if late { last.push(nest) } else { early.push(nest) }
    }
    early.append(&mut last);
    result.nests = early;
    result
}
