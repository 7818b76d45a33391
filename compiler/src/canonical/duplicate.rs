//! Common subexpressions: nests that compute the same values become one.

use super::flow::Flow;
use super::fold::fold_constants;
use super::fuse::fuse_maps;
use super::split::split_into_primitives;
use crate::tensor::{Body, Iterator, Nest, Node, NodeId, Program, Role, Start, TensorId};

/// Let readers of a temporary read the earlier tensor that holds the same values.
///
///     p = a * b; q = a * b; r = p + q      =>      p = a * b; r = p + p
///
/// What had two readers may have one now, and becomes part of it: fusion and splitting follow, if anything was shared. Terms that cancel leave
/// constants: folding follows, too.
pub fn share_duplicates(program: &Program) -> Program {
    let shared = share_once(program);
    if shared == *program { shared } else { share_once(&fold_constants(&split_into_primitives(&fuse_maps(&shared)))) }
}

fn share_once(program: &Program) -> Program {
    let mut result = program.clone();
    let mut flow = Flow::of(&result);
    let mut number = 0;
    while number < result.nests.len() {
        match find_original(&result, &flow, number) {
            Some(original) => {
                let copy = result.nests[number].out;
                let keep = result.nests[original].out;
                replace_reads(&mut result, copy, keep);
                let gone = result.nests.remove(number);
                result.nests[original].origin.join(&gone.origin);
                flow = Flow::of(&result);
            }
            None => number += 1,
        }
    }
    result
}

/// An earlier nest that writes the same elements with the same values.
fn find_original(program: &Program, flow: &Flow, number: usize) -> Option<usize> {
    let nest = &program.nests[number];
    let single = |t: TensorId| flow.writers[t.0].len() == 1;
    let temporary = matches!(program.tensors[nest.out.0].role, Role::Temporary | Role::Output);
    if flow.kept[nest.out.0] || !single(nest.out) || !temporary {
        return None;
    }
    (0..number).find(|&original| {
        let other = &program.nests[original];
        single(other.out)
            && program.tensors[other.out.0].shape == program.tensors[nest.out.0].shape
            && !matches!(program.tensors[other.out.0].role, Role::State | Role::InOut)
            && same(other, nest)
            && super::expr::reads(nest).iter().all(|t| !flow.written_in(*t, original..number))
    })
}

fn same(a: &Nest, b: &Nest) -> bool {
    let bounds = |n: &Nest| n.iterators.iter().map(|&Iterator { low, high, .. }| (low, high)).collect::<Vec<_>>();
    bounds(a) == bounds(b)
        && (a.free, &a.guards, &a.out_index, a.aggregate, &a.start)
            == (b.free, &b.guards, &b.out_index, b.aggregate, &b.start)
        && same_value(&a.body, a.body.root(), &b.body, b.body.root())
}

/// Whether two nodes are the same expression. Their bodies may number their nodes otherwise.
fn same_value(a: &Body, one: NodeId, b: &Body, other: NodeId) -> bool {
    let (x, y) = (&a.nodes[one.0], &b.nodes[other.0]);
    let (of_x, of_y) = (x.operands(), y.operands());
    if of_x.is_empty() || of_x.len() != of_y.len() {
        return x == y;
    }
    let bare = |node: &Node| node.with_operands(|_| NodeId(0));
    bare(x) == bare(y) && of_x.into_iter().zip(of_y).all(|(one, other)| same_value(a, one, b, other))
}

fn replace_reads(program: &mut Program, from: TensorId, to: TensorId) {
    for nest in &mut program.nests {
        if let Start::Element { tensor, .. } = &mut nest.start
            && *tensor == from
        {
            *tensor = to;
        }
        for node in &mut nest.body.nodes {
            if let Node::Read { tensor, .. } | Node::Gather { tensor, .. } = node
                && *tensor == from
            {
                *tensor = to;
            }
        }
    }
}
