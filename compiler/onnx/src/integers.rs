//! Results of integer types: whole numbers that their type holds.
//!
//! ```text
//! int8, int16      Add, Sub, Mul and the like wrap where they are computed
//! int32, int64     the tensor has that element type: golden refuses what does not fit, words what they have no room for
//! constants        wrap when the file is read
//! ```
//!
//! Values are held in double precision, which represents every integer below 2^53 exactly. A larger constant in a computation gives W-NUMBER.

use crate::build::{Builder, Loops, Refusal, Translated, Val};
use crate::elements::Kind;
use crate::expression::call;
use arch::{Code, Diagnostic};
use compiler::ranges::EXACT_INTEGERS;
use compiler::tensor::{Aggregate, Element, Function, Node, Program, Role, Start, TensorId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Operators that give integers of integers, and compute them with fractions: those are cut off.
const FRACTIONAL: [&str; 5] = ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "Resize", "Upsample"];

/// Constants that double precision does not have, by tensor: how the first of them is told.
#[derive(Debug, Default)]
pub(crate) struct Inexact(BTreeMap<usize, String>);

impl Inexact {
    /// Notice what is told of constants that were read into a tensor.
    pub(crate) fn read(&mut self, id: TensorId, told: Option<String>) {
        self.0.extend(told.map(|told| (id.0, told)));
    }

    /// Notice that a constant tensor was computed from others.
    pub(crate) fn computed(&mut self, out: TensorId, mut from: impl Iterator<Item = TensorId>) {
        if let Some(told) = from.find_map(|tensor| self.0.get(&tensor.0).cloned()) {
            self.0.insert(out.0, told);
        }
    }

    /// A warning for each of them that a Nest of the program reads.
    pub(crate) fn warnings(&self, program: &Program) -> Vec<Diagnostic> {
        let is_read = |tensor: TensorId| program.nests.iter().any(|nest| reads(nest).any(|read| read == tensor));
        let told = self.0.iter().filter(|(id, _)| is_read(TensorId(**id)));
        told.map(|(&id, told)| {
            let message = format!("{told}, and integers from 2^53 on are computed with in double precision");
            Diagnostic::new(Code::WarnNumber, program.tensors[id].span, message)
                .with_help("results that are as large are refused; smaller ones may be off by what was rounded")
        })
        .collect()
    }
}

/// What is told of integers of a file, if double precision does not have one of them.
pub(crate) fn inexact(name: &str, kind: Kind, values: &[f64]) -> Option<String> {
    let element = values.iter().position(|value| value.abs() >= EXACT_INTEGERS).filter(|_| kind.is_int())?;
    Some(format!("element {element} of `{name}` is {}", values[element]))
}

/// What a Nest reads.
pub(crate) fn reads(nest: &compiler::tensor::Nest) -> impl Iterator<Item = TensorId> {
    let nodes = nest.body.nodes.iter().filter_map(|node| match node {
        Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
        _ => None,
    });
    let start = match &nest.start {
        Start::Element { tensor, .. } => Some(*tensor),
        _ => None,
    };
    nodes.chain(start)
}

impl Builder {
    /// A result of a node as an integer of its type, if that is one; `first` is the first tensor of the node. Constants wrap.
    ///
    /// # Errors
    /// E-CONST: a constant that is not exact.
    pub(crate) fn integer(&mut self, value: Val, operator: &str, first: usize) -> Translated<Val> {
        let (Kind::Int { bits, signed }, Some((low, high))) = (value.kind, value.kind.limits()) else {
            return Ok(value);
        };
        if value.id.0 < first {
            return Ok(value);
        }
        let cut = FRACTIONAL.contains(&operator);
        let value = if cut { self.apply(value, |x| call(Function::Trunc, x))? } else { value };
        let tensor = &mut self.program.tensors[value.id.0];
        match &mut tensor.role {
            Role::Parameter(values) => {
                for value in Arc::make_mut(values).iter_mut().filter(|value| !(low..=high).contains(*value)) {
                    if value.is_nan() || value.abs() >= EXACT_INTEGERS {
                        let message = format!("its result is the integer {value}, which has no exact value here");
                        return Err(Refusal::new(Code::Const, message)
                            .help("integers are computed with in double precision, up to 2^53"));
                    }
                    *value = (*value - low).rem_euclid(high - low + 1.0) + low;
                }
            }
            role if role.is_computed() && tensor.element == Element::Real => {
                tensor.element = Element::Int { bits, signed };
            }
            _ => {}
        }
        Ok(value)
    }

    /// A sum or product of integers that do not wrap where they are computed is held to its type on the way, too.
    pub(crate) fn hold_sum(&mut self, sum: Val, loops: &Loops) {
        let adds = matches!(loops.aggregate, Aggregate::Add | Aggregate::Mul) && !loops.over.is_empty();
        if let (Kind::Int { bits: bits @ 32.., signed }, true) = (sum.kind, adds) {
            self.program.tensors[sum.id.0].element = Element::Int { bits, signed };
        }
    }
}
