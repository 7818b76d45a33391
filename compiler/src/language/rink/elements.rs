//! `elem [A B] 200 first`: all statements for each of 200 elements, of which the listed variables have a value each.
//!
//! ```text
//! var input M : [3 3]   var input u : [3]   var output v : [3]
//! elem [u v] 200 first
//! v = (M # u) . [[1 2]]          v[e][a] += M[a][b] * u[e][b]  for e in 0..200      the matrix is that of all elements
//! ```
//!
//! A variable that is not listed keeps what it is, if no element changes it; what is computed on the way to a listed one has a value for each
//! element as well.

use super::ast::Elements;
use super::reports::Reports;
use super::types::Types;
use crate::language::{Limits, nearest};
use crate::tensor::{Affine, IterId, Iterator, Nest, Node, Program, Role, TensorId};
use arch::{Code, Diagnostic};
use std::collections::BTreeMap;

/// Give tensors their dimension of elements. `finals` are the last tensors of variables.
pub(super) fn spread(
    program: &mut Program,
    elements: &Elements,
    types: &Types,
    finals: &BTreeMap<&str, TensorId>,
    limits: &Limits,
    reports: &mut Reports,
) {
    for name in &elements.names {
        if !types.variables.contains_key(name.text) {
            let diagnostic = Diagnostic::new(Code::Undef, name.span, format!("`{}` is not declared", name.text))
                .with_label("unknown name");
            let near = nearest(name.text, types.variables.keys().copied());
            reports.add(match near {
                Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
                None => diagnostic,
            });
        }
    }
    let (count, place) = elements.count;
    let Some(extent) = u32::try_from(count).ok().filter(|&extent| extent > 0) else {
        let message = format!("there are at least 1 element and at most {}, not {count}", u32::MAX);
        reports.add(Diagnostic::new(Code::Range, place, message).with_label("elements"));
        return;
    };
    let listed = |variable: &str| elements.names.iter().any(|name| name.text == variable);
    let mut each: Vec<bool> =
        program.tensors.iter().map(|tensor| listed(&tensor.name) && tensor.role == Role::Input).collect();
    let last: BTreeMap<TensorId, &str> = finals.iter().map(|(&name, &tensor)| (tensor, name)).collect();
    for nest in &program.nests {
        let name = &program.tensors[nest.out.0].name;
        let target = last.get(&nest.out).copied().unwrap_or_else(|| name.split('.').next().unwrap_or(name));
        let mut reads = nest.body.nodes.iter();
        let varies = reads.any(|node| matches!(node, Node::Read { tensor, .. } if each[tensor.0]));
        each[nest.out.0] = listed(target) || varies;
    }
    for (&name, tensor) in finals {
        let variable = &types.variables[name];
        if each[tensor.0] && !listed(name) && (variable.input || variable.output || !types.qualified) {
            let message = format!("`{name}` has another value for each element");
            let diagnostic = Diagnostic::new(Code::Shape, elements.span, message).with_label("it is not listed");
            reports.add(diagnostic.with_note(variable.span, "declared here").with_help("list it, or do not assign it"));
        }
    }
    for (tensor, &each) in program.tensors.iter_mut().zip(&each) {
        if each {
            tensor.shape.insert(if elements.first { 0 } else { tensor.shape.len() }, extent);
            let size = tensor.shape.iter().fold(1u64, |product, &extent| product.saturating_mul(u64::from(extent)));
            if size > limits.elements || tensor.shape.len() > limits.rank {
                let label = format!("at most {} elements in {} dimensions", limits.elements, limits.rank);
                let message = format!("`{}` is too large with {extent} elements", tensor.name);
                reports.add(Diagnostic::new(Code::Limit, place, message).with_label(label));
            }
        }
    }
    for nest in program.nests.iter_mut().filter(|nest| each[nest.out.0]) {
        spread_nest(nest, i64::from(extent), elements.first, &each);
        let points = nest.iterators.iter().fold(1u64, |product, iterator| product.saturating_mul(iterator.extent()));
        if points > limits.points {
            let message = format!("this loops over more than {} points", limits.points);
            reports.add(Diagnostic::new(Code::Limit, place, message).with_label("too many elements"));
        }
    }
}

/// One more free iterator, in front of the others or behind them.
fn spread_nest(nest: &mut Nest, extent: i64, first: bool, each: &[bool]) {
    let own = IterId(if first { 0 } else { nest.free });
    let moved = |iterator: IterId| IterId(iterator.0 + usize::from(iterator >= own));
    let place = |index: &mut Vec<Affine>, spread: bool| {
        for form in index.iter_mut() {
            form.terms.iter_mut().for_each(|term| term.0 = moved(term.0));
        }
        if spread {
            index.insert(if first { 0 } else { index.len() }, Affine::iterator(own));
        }
    };
    let mut name = String::from("e");
    while nest.iterators.iter().any(|other| other.name == name) {
        name.push('e');
    }
    let iterator = Iterator { name, low: 0, high: extent };
    nest.iterators.insert(own.0, iterator);
    nest.free += 1;
    place(&mut nest.out_index, true);
    for node in &mut nest.body.nodes {
        match node {
            Node::Read { tensor, index } => place(index, each[tensor.0]),
            Node::Iterator(iterator) => *iterator = moved(*iterator),
            _ => {}
        }
    }
}
