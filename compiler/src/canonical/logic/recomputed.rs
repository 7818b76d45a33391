//! Comparisons of a value with itself, or with its extreme: both sides are the same words.

use super::super::draft::Draft;
use super::super::expr::{Expr, substitute};
use super::super::flow::Flow;
use super::super::fuse::Inverse;
use crate::tensor::{Affine, Aggregate, Binary, IterId, Iterator, Nest, Node, Program, Role, TensorId};
use std::collections::BTreeSet;

/// Compute a value once where a comparison meets it twice: as it is, and as a tensor, or as the extreme of it.
///
///     M max= a[i] * x[i]                =>      M.1[i] = a[i] * x[i]        stored: rounded once
///     e[i] = a[i] * x[i] == M                   M max= M.1[i];  e[i] = M.1[i] == M
///
/// A comparison is exact, and a tensor is rounded: without this the product would never equal its own rounded maximum. What is not compared is
/// left alone.
pub fn store_recomputed(program: &Program) -> Program {
    let compared = |node: &Node| matches!(node, Node::Binary(operation, ..) if compares(*operation));
    let seeds: Vec<usize> =
        (0..program.nests.len()).filter(|&number| program.nests[number].body.nodes.iter().any(compared)).collect();
    if seeds.is_empty() {
        return program.clone();
    }
    let mut draft = Draft::new(program);
    draft.nests.clone_from(&program.nests);
    // Nests grow by those that store values; the places of those before do not change.
    let flow = Flow::of(program);
    let reached = Reached::all(program, &flow, &seeds);
    let mut stored: Vec<(usize, Nest)> = Vec::new();
    for number in 0..program.nests.len() {
        let Some(known) = Recomputed::of(&draft, &flow, number) else { continue };
        let mut readers: BTreeSet<usize> = BTreeSet::new();
        for reached in reached.iter().filter(|reached| reached.tensors.contains(&known.out)) {
            readers.extend(reached.nests.iter().copied().filter(|&reader| known.is_in(&draft, &flow, number, reader)));
        }
        if !readers.is_empty() {
            let value = known.store(&mut draft, number, &mut stored);
            for reader in readers {
                known.replace(&mut draft, &flow, reader, &value);
            }
        }
    }
    for (number, nest) in stored.into_iter().rev() {
        draft.nests.insert(number, nest);
    }
    draft.finish()
}

fn compares(operation: Binary) -> bool {
    use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(operation, Lt | Le | Gt | Ge | Eq | Ne)
}

/// What a comparison is made of: through element-wise definitions and extremes, whose values are those of their elements.
struct Reached {
    nests: BTreeSet<usize>,
    tensors: BTreeSet<TensorId>,
}

impl Reached {
    /// What the comparisons are made of. Those that share a definition are one: a value of one may be an extreme of the other.
    fn all(program: &Program, flow: &Flow, seeds: &[usize]) -> Vec<Reached> {
        seeds.iter().map(|&seed| Reached::from(program, flow, seed)).fold(Vec::new(), |all, mut own| {
            let (mut apart, shared): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|other: &Reached| other.nests.is_disjoint(&own.nests));
            for other in shared {
                own.nests.extend(other.nests);
                own.tensors.extend(other.tensors);
            }
            apart.push(own);
            apart
        })
    }

    fn from(program: &Program, flow: &Flow, seed: usize) -> Reached {
        let mut reached = Reached { nests: BTreeSet::from([seed]), tensors: BTreeSet::new() };
        let mut open = vec![seed];
        while let Some(nest) = open.pop() {
            for tensor in super::super::expr::reads(&program.nests[nest]) {
                if !reached.tensors.insert(tensor) {
                    continue;
                }
                let values = |&writer: &usize| {
                    matches!(program.nests[writer].aggregate, Aggregate::Assign | Aggregate::Min | Aggregate::Max)
                };
                let writers = flow.writers[tensor.0].iter().copied().filter(values);
                open.extend(writers.filter(|&writer| reached.nests.insert(writer)));
            }
        }
        reached
    }
}

/// A value that one nest computes, and others may compute again.
struct Recomputed {
    value: Expr,
    iterators: Vec<Iterator>,
    out: TensorId,
    /// The element of each point; none: it is an extreme of the value.
    index: Option<Vec<Affine>>,
}

impl Recomputed {
    fn of(draft: &Draft, flow: &Flow, number: usize) -> Option<Recomputed> {
        let nest = &draft.nests[number];
        let value = Expr::from_body(&nest.body);
        let computed = matches!(&value, Expr::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Div, ..));
        let role = &draft.program.tensors[nest.out.0].role;
        if !computed || !nest.guards.is_empty() || flow.writers[nest.out.0].len() != 1 || *role == Role::State {
            return None;
        }
        let index = match nest.aggregate {
            Aggregate::Assign => {
                Inverse::of(nest)?;
                Some(nest.out_index.clone())
            }
            Aggregate::Min | Aggregate::Max => None,
            Aggregate::Add | Aggregate::Mul => return None,
        };
        Some(Recomputed { value, iterators: nest.iterators.clone(), out: nest.out, index })
    }

    /// Whether a later nest computes it again.
    fn is_in(&self, draft: &Draft, flow: &Flow, number: usize, reader: usize) -> bool {
        let nest = &draft.nests[reader];
        // New tensors are written once.
        let changed = |tensor: &TensorId| tensor.0 < flow.writers.len() && flow.written_in(*tensor, number..reader);
        let mut found = false;
        if reader > number && !self.value.tensors().iter().any(changed) {
            Expr::from_body(&nest.body).visit(&mut |part| found |= self.point(part, &nest.iterators).is_some());
        }
        found
    }

    /// The tensor and index that hold it: its own, or a new one that is stored before the nest that compares its elements.
    fn store(&self, draft: &mut Draft, number: usize, stored: &mut Vec<(usize, Nest)>) -> (TensorId, Vec<Affine>) {
        if let Some(index) = &self.index {
            let role = &mut draft.program.tensors[self.out.0].role;
            if *role == Role::Temporary {
                *role = Role::Stored;
            }
            return (self.out, index.clone());
        }
        let from_first =
            |(k, iterator): (usize, &Iterator)| Affine { offset: -iterator.low, terms: vec![(IterId(k), 1)] };
        let index: Vec<Affine> = self.iterators.iter().enumerate().map(from_first).collect();
        let tensor = draft.like(self.out, self.iterators.iter().map(|iterator| iterator.extent() as u32).collect());
        draft.program.tensors[tensor.0].role = Role::Stored;
        let mut own = Draft { program: Program::default(), nests: Vec::new() };
        own.assign(self.iterators.clone(), tensor, index.clone(), &self.value, &draft.nests[number].origin);
        stored.extend(own.nests.pop().map(|nest| (number, nest)));
        draft.nests[number].body = Expr::Read(tensor, index.clone()).to_body();
        (tensor, index)
    }

    fn replace(&self, draft: &mut Draft, flow: &Flow, reader: usize, (tensor, index): &(TensorId, Vec<Affine>)) {
        let nest = &mut draft.nests[reader];
        let iterators = &nest.iterators;
        let read = |part: Expr| match self.point(&part, iterators) {
            Some(point) => Expr::Read(*tensor, index.iter().map(|form| substitute(form, &point)).collect()),
            None => part,
        };
        let body = Expr::from_body(&nest.body).map(&mut |part| read(part));
        nest.body = body.to_body();
        let alone = flow.writers[nest.out.0].len() == 1;
        if let (true, Expr::Read(tensor, index), Aggregate::Assign, Some(inverse)) =
            (alone, body, nest.aggregate, Inverse::of(nest))
        {
            forward(draft, reader, &inverse, (tensor, &index));
        }
    }

    /// The point of its own iterators at which it is an expression of other ones.
    fn point(&self, other: &Expr, iterators: &[Iterator]) -> Option<Vec<Affine>> {
        let mut point = vec![None; self.iterators.len()];
        if !binds(&self.value, other, &mut point) {
            return None;
        }
        let point: Vec<Affine> = point.into_iter().collect::<Option<_>>()?;
        let inside = point.iter().zip(&self.iterators).all(|(form, own)| {
            let (low, high) = form.range(iterators);
            own.low <= low && high < own.high
        });
        (inside && same(&self.value.clone().substitute(&point), other)).then_some(point)
    }
}

/// Let later nests read what a definition copies: values of it may be computed again, too.
fn forward(draft: &mut Draft, definition: usize, inverse: &Inverse, (tensor, index): (TensorId, &[Affine])) {
    let (before, after) = draft.nests.split_at_mut(definition + 1);
    let copy = &before[definition];
    if !copy.guards.is_empty() {
        return;
    }
    let element = |own: &[Affine]| -> Vec<Affine> {
        let point = inverse.apply(own);
        index.iter().map(|form| substitute(form, &point)).collect()
    };
    for nest in after {
        let body = Expr::from_body(&nest.body).map(&mut |part| match part {
            Expr::Read(read, own) if read == copy.out => Expr::Read(tensor, element(&own)),
            other => other,
        });
        nest.body = body.to_body();
    }
}

/// Whether an expression may be another one at some point, which its reads say.
fn binds(own: &Expr, other: &Expr, point: &mut [Option<Affine>]) -> bool {
    match (own, other) {
        (Expr::Read(a, from), Expr::Read(b, to)) => {
            for (from, to) in from.iter().zip(to) {
                if let [(IterId(iterator), 1)] = from.terms[..] {
                    point[iterator].get_or_insert_with(|| to.plus(-1, &Affine::constant(from.offset)));
                }
            }
            a == b
        }
        (Expr::Constant(a), Expr::Constant(b)) => a == b,
        (Expr::Unary(a, of), Expr::Unary(b, other)) => a == b && binds(of, other, point),
        (Expr::Call(a, of), Expr::Call(b, others)) => {
            a == b && of.len() == others.len() && of.iter().zip(others).all(|(of, other)| binds(of, other, point))
        }
        (Expr::Binary(operation, a, b), Expr::Binary(other, c, d)) if operation == other => {
            let before = point.to_vec();
            if binds(a, c, point) && binds(b, d, point) {
                return true;
            }
            point.clone_from_slice(&before);
            matches!(operation, Binary::Add | Binary::Mul) && binds(a, d, point) && binds(b, c, point)
        }
        _ => false,
    }
}

/// Whether two expressions are the same, whatever the order of factors and summands.
fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Binary(operation @ (Binary::Add | Binary::Mul), a, b), Expr::Binary(other, c, d)) => {
            operation == other && (same(a, c) && same(b, d) || same(a, d) && same(b, c))
        }
        (Expr::Binary(operation, a, b), Expr::Binary(other, c, d)) => operation == other && same(a, c) && same(b, d),
        (Expr::Unary(operation, a), Expr::Unary(other, b)) => operation == other && same(a, b),
        (Expr::Call(function, of), Expr::Call(other, others)) => {
            function == other && of.len() == others.len() && of.iter().zip(others).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}
