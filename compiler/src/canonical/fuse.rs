//! Fusion: definitions move to where they are used.

use super::expr::linear::terms;
use super::expr::{Expr, reads, substitute};
use super::flow::Flow;
use crate::tensor::{
    Affine, Aggregate, Binary, Function, IterId, Iterator, Nest, Node, Program, Role, Start, TensorId, Unary,
};

/// Put element-wise arithmetic in the place where its result is read, if that is one place; copies and constants everywhere.
///
///     t[i] = w[i] * x[i]
///     h    = sum[i](t[i])           =>     h = sum[i](w[i] * x[i])
///
///     g[i]  = d * x[i]
///     w'[i] = w[i] - mu * g[i]      =>     w'[i] = w[i] - mu * (d * x[i])
///
///     r[i] = max(s[i] + b[i], 0)
///     q[i] = rint(0.1 * r[i])       =>     q[i] = max(rint(0.1 * (s[i] + b[i])), 0)
///
///     q[i] = rint(0.1 * s[i])
///     r[i] = max(q[i] + 4, 0)       =>     r[i] = max(rint(0.1 * s[i] + 4), 0)
///
/// Other functions, comparisons and sums stay: they are operations of their own. So do stored values ([`Role::Stored`]) that are no copies, and what would make a body larger than
/// [`LARGEST_FUSED`]: `b = a + a; c = b + b; ...` doubles with every statement. Definitions that are no longer read stay, too, until
/// dead code goes: what [`super::split`] makes may turn out to be one of them, and then has the name of the source.
pub fn fuse_maps(program: &Program) -> Program {
    let mut result = program.clone();
    // Definitions in program order: what was put into a later definition is inlined with it.
    let mut number = 0;
    while number < result.nests.len() {
        inline_definition(&mut result, number);
        number += 1;
    }
    result
}

/// Nodes of the largest body that fusion makes, counted as a tree: the work of later passes grows with its square.
pub const LARGEST_FUSED: u64 = 128;

fn inline_definition(program: &mut Program, number: usize) {
    let definition = program.nests[number].clone();
    let target = definition.out;
    let flow = Flow::of(program);
    if flow.kept[target.0]
        || flow.writers[target.0].len() != 1
        || definition.aggregate != Aggregate::Assign
        || !definition.guards.is_empty()
        || matches!(program.tensors[target.0].role, Role::State | Role::InOut)
    {
        return;
    }
    let body = Expr::from_body(&definition.body);
    let trivial = matches!(body, Expr::Read(..) | Expr::Constant(_));
    let uses = flow.readers[target.0].len();
    let scales = |&reader: &usize| {
        let nest = &program.nests[reader];
        nest.aggregate == Aggregate::Assign && is_scaled(&Expr::from_body(&nest.body), target)
    };
    let rectified = rectified(&body).is_some() && flow.readers[target.0].iter().all(scales);
    let shifts = |&reader: &usize| {
        let mut found = false;
        Expr::from_body(&program.nests[reader].body).visit(&mut |e| found |= moved(e, target).is_some());
        found
    };
    let rounded = is_rounded(&body) && flow.readers[target.0].iter().all(shifts);
    if !(trivial || uses == 1 && (arithmetic(&body) || rectified || rounded)) {
        return;
    }
    let Some(inverse) = Inverse::of(&definition) else { return };
    let sources = body.tensors();
    let size = definition.body.tree_size(|_| 1);
    let readers = flow.readers[target.0].clone();
    let changed = |reader: usize| reader <= number || sources.iter().any(|t| flow.written_in(*t, number + 1..reader));
    if program.tensors[target.0].role == Role::Stored {
        // All readers go on reading the same words: those that are copied.
        let copied = |reader: &usize| !changed(*reader) && !sources.contains(&program.nests[*reader].out);
        if !trivial || !readers.iter().all(copied) {
            return;
        }
        for source in &sources {
            let role = &mut program.tensors[source.0].role;
            if *role == Role::Temporary {
                *role = Role::Stored;
            }
        }
    }
    for reader in readers {
        if changed(reader) {
            continue;
        }
        let nest = &mut program.nests[reader];
        if !trivial && nest.body.tree_size(|tensor| if tensor == target { size } else { 1 }) > LARGEST_FUSED {
            continue;
        }
        // A nest that writes one of the sources may read it only where it writes (law 6).
        if sources.contains(&nest.out) {
            continue;
        }
        if put_into(nest, target, &body, &inverse) {
            nest.origin.join(&definition.origin);
        }
    }
}

/// Replace reads of `target` by what its definition computes; `false`, and nothing is changed, where the sum would start from an expression.
fn put_into(nest: &mut Nest, target: TensorId, body: &Expr, inverse: &Inverse) -> bool {
    if let Start::Element { tensor, index } = &nest.start
        && *tensor == target
    {
        match body.clone().substitute(&inverse.apply(index)) {
            Expr::Read(tensor, index) => nest.start = Start::Element { tensor, index },
            Expr::Constant(value) => nest.start = Start::Fill(value),
            _ => return false,
        }
    }
    let own = Expr::from_body(&nest.body);
    if let Expr::Call(Function::Rint, arguments) = body {
        let shifted = own.map(&mut |e| match moved(&e, target) {
            Some((index, shift)) => {
                let value = arguments[0].clone().substitute(&inverse.apply(&index));
                let sum = Expr::Call(Function::Rint, vec![Expr::add(value, Expr::Constant(shift))]);
                Expr::Binary(Binary::Max, Box::new(sum), Box::new(Expr::Constant(0.0)))
            }
            None => e,
        });
        nest.body = shifted.to_body();
        return true;
    }
    // A positive factor and rounding keep what is negative below 0.
    let (body, is_rectified) = match rectified(body).filter(|_| is_scaled(&own, target)) {
        Some(value) => (value, true),
        None => (body, false),
    };
    let replaced = own.map(&mut |e| match e {
        Expr::Read(tensor, index) if tensor == target => body.clone().substitute(&inverse.apply(&index)),
        other => other,
    });
    let zero = Box::new(Expr::Constant(0.0));
    let replaced = if is_rectified { Expr::Binary(Binary::Max, Box::new(replaced), zero) } else { replaced };
    nest.body = replaced.to_body();
    true
}

/// What an expression is the positive part of.
fn rectified(e: &Expr) -> Option<&Expr> {
    match e {
        Expr::Binary(Binary::Max, value, zero) if **zero == Expr::Constant(0.0) && arithmetic(value) => Some(value),
        _ => None,
    }
}

/// Whether an expression is the nearest whole number of arithmetic.
fn is_rounded(e: &Expr) -> bool {
    matches!(e, Expr::Call(Function::Rint, arguments) if arithmetic(&arguments[0]))
}

/// The index of an element of a tensor and an even number, if an expression is the positive part of their sum: of two nearest whole numbers the
/// even one stays the even one, so that the number may be added before rounding.
fn moved(e: &Expr, target: TensorId) -> Option<(Vec<Affine>, f64)> {
    let Expr::Binary(Binary::Max, sum, zero) = e else { return None };
    let [one, other] = &*terms(sum) else { return None };
    let (constant, term) = if one.factors.is_empty() { (one, other) } else { (other, one) };
    let even = constant.factors.is_empty() && constant.coefficient % 2.0 == 0.0;
    match term.factors.as_slice() {
        [Expr::Read(tensor, index)] if *tensor == target && term.is_plain() && even => {
            (**zero == Expr::Constant(0.0)).then(|| (index.clone(), constant.coefficient))
        }
        _ => None,
    }
}

/// Whether an expression is an element of a tensor times a constant above 0, or the nearest whole number of that or of an element.
fn is_scaled(e: &Expr, target: TensorId) -> bool {
    let is_read = |e: &Expr| matches!(e, Expr::Read(tensor, _) if *tensor == target);
    match e {
        Expr::Binary(Binary::Mul, a, b) => match (&**a, &**b) {
            (Expr::Constant(factor), read) | (read, Expr::Constant(factor)) => *factor > 0.0 && is_read(read),
            _ => false,
        },
        Expr::Call(Function::Rint, arguments) => is_read(&arguments[0]) || is_scaled(&arguments[0], target),
        _ => false,
    }
}

/// Whether a value can become part of another nest's sum of products.
fn arithmetic(e: &Expr) -> bool {
    match e {
        Expr::Constant(_) | Expr::Read(..) | Expr::Unary(Unary::Neg, _) => true,
        Expr::Binary(operation, ..) => matches!(operation, Binary::Add | Binary::Sub | Binary::Mul),
        _ => false,
    }
}

/// How to find a nest's free iterators from the index of the element it wrote.
pub(super) struct Inverse {
    /// For each free iterator: the dimension that shows it, and its offset there.
    from: Vec<(usize, i64)>,
}

impl Inverse {
    /// Exists if each free iterator is, plus an offset, a dimension of the output, and the other dimensions are constant.
    pub(super) fn of(nest: &Nest) -> Option<Inverse> {
        let mut from = vec![None; nest.free];
        for (dimension, form) in nest.out_index.iter().enumerate() {
            match form.terms.as_slice() {
                [] => {}
                [(iterator, 1)] if from[iterator.0].is_none() => from[iterator.0] = Some((dimension, form.offset)),
                _ => return None,
            }
        }
        Some(Inverse { from: from.into_iter().collect::<Option<_>>()? })
    }

    /// The free iterators at the element with this index.
    pub(super) fn apply(&self, index: &[Affine]) -> Vec<Affine> {
        self.from.iter().map(|&(dimension, offset)| index[dimension].plus(-1, &Affine::constant(offset))).collect()
    }
}

/// Write a result where it is copied to.
///
///     sum.1 = sum[i](w[i] * x[i])
///     h     = sum.1                  =>     h = sum[i](w[i] * x[i])
pub fn forward_copies(program: &Program) -> Program {
    let mut result = program.clone();
    let mut number = 0;
    while number < result.nests.len() {
        match forward(&result, number) {
            Some((definition, nest)) => {
                result.nests[number] = nest;
                result.nests.remove(definition);
            }
            None => number += 1,
        }
    }
    result
}

/// The nest that does the work of the copy `number` and of the definition it copies.
fn forward(program: &Program, number: usize) -> Option<(usize, Nest)> {
    let copy = &program.nests[number];
    let (Aggregate::Assign, [Node::Read { tensor, index }]) = (copy.aggregate, copy.body.nodes.as_slice()) else {
        return None;
    };
    let flow = Flow::of(program);
    let temporary = !flow.kept[tensor.0] && matches!(program.tensors[tensor.0].role, Role::Temporary | Role::Output);
    let (&[writer], 1) = (flow.writers[tensor.0].as_slice(), flow.readers[tensor.0].len()) else { return None };
    let definition = &program.nests[writer];
    let sources = reads(definition);
    let moved = writer < number
        && sources.iter().all(|t| !flow.written_in(*t, writer + 1..number))
        && !sources.contains(&copy.out);
    if !temporary || !moved || !copy.guards.is_empty() || *tensor == copy.out {
        return None;
    }
    // The copy's iterators, seen from the definition: both must name the same elements, each exactly once.
    let inverse = Inverse::of(definition)?.apply(index);
    let mut of_copy = vec![None; copy.free];
    for (iterator, form) in inverse.iter().enumerate() {
        let [(other, 1)] = form.terms.as_slice() else { return None };
        let (ours, theirs) = (&definition.iterators[iterator], &copy.iterators[other.0]);
        if of_copy[other.0].is_some() || theirs.low + form.offset != ours.low || theirs.high + form.offset != ours.high
        {
            return None;
        }
        of_copy[other.0] = Some(Affine { offset: -form.offset, terms: vec![(IterId(iterator), 1)] });
    }
    let with: Vec<Affine> = of_copy.into_iter().collect::<Option<_>>()?;
    let out_index = copy.out_index.iter().map(|a| substitute(a, &with)).collect();
    let origin = copy.origin.with(&definition.origin);
    Some((writer, Nest { out: copy.out, out_index, origin, ..definition.clone() }))
}

/// Merge a sum of sums, and a sum that is added to something only once, into one sum.
///
///     s[b] = sum[i](a[b,i] * c[i])
///     t    = sum[b](-s[b])             =>     t = sum[b,i](-(a[b,i] * c[i]))
pub fn merge_sums(program: &Program) -> Program {
    let mut result = program.clone();
    let mut number = 0;
    while number < result.nests.len() {
        match merge(&result, number) {
            Some((inner, nest)) => {
                result.nests[number] = nest;
                result.nests.remove(inner);
            }
            None => number += 1,
        }
    }
    result
}

fn merge(program: &Program, number: usize) -> Option<(usize, Nest)> {
    let outer = &program.nests[number];
    if outer.aggregate != Aggregate::Add || !outer.guards.is_empty() {
        return None;
    }
    let expr = Expr::from_body(&outer.body);
    let (tensor, index) = single_read(&expr)?;
    let flow = Flow::of(program);
    let (&[writer], 1) = (flow.writers[tensor.0].as_slice(), flow.readers[tensor.0].len()) else { return None };
    let inner = &program.nests[writer];
    let sources = reads(inner);
    if flow.kept[tensor.0]
        || program.tensors[tensor.0].role == Role::Stored
        || writer >= number
        || inner.aggregate != Aggregate::Add
        || inner.start != Start::Identity
        || !inner.guards.is_empty()
        || sources.iter().any(|t| flow.written_in(*t, writer + 1..number) || *t == outer.out)
    {
        return None;
    }
    let mut with = Inverse::of(inner)?.apply(&index);
    let mut iterators: Vec<Iterator> = outer.iterators.clone();
    for reduction in &inner.iterators[inner.free..] {
        with.push(Affine::iterator(IterId(iterators.len())));
        iterators.push(reduction.clone());
    }
    let value = Expr::from_body(&inner.body).substitute(&with);
    let body = expr.map(&mut |e| match e {
        Expr::Read(t, _) if t == tensor => value.clone(),
        other => other,
    });
    let origin = outer.origin.with(&inner.origin);
    Some((writer, Nest { iterators, body: body.to_body(), origin, ..outer.clone() }))
}

/// The only read of an expression that is a constant multiple of it.
fn single_read(e: &Expr) -> Option<(TensorId, Vec<Affine>)> {
    match e {
        Expr::Read(tensor, index) => Some((*tensor, index.clone())),
        Expr::Unary(Unary::Neg, a) => single_read(a),
        Expr::Binary(Binary::Mul, a, b) => match (&**a, &**b) {
            (Expr::Constant(_), other) | (other, Expr::Constant(_)) => single_read(other),
            _ => None,
        },
        _ => None,
    }
}
