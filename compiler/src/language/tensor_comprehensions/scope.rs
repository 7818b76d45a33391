//! Names of a function and their meaning during lowering.

use super::ast::Declaration;
use super::ranges::Range;
use super::types::Type;
use crate::language::nearest;
use crate::tensor::TensorId;
use arch::Span;
use std::collections::BTreeMap;

/// A tensor as a program sees it. Its coordinates need not start at 0; its elements do.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) tensor: TensorId,
    /// Coordinates, per dimension.
    pub(super) domain: Vec<Range>,
    pub(super) kind: Type,
    /// Where it was declared or assigned last.
    pub(super) span: Span,
    /// A parameter, which is never assigned.
    pub(super) parameter: bool,
}

/// The names of one function (or of one call of it).
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    pub(super) sizes: BTreeMap<&'s str, (i64, Span)>,
    pub(super) tensors: BTreeMap<&'s str, View>,
    /// Assigned names, in the order of their first assignment.
    pub(super) assigned: Vec<&'s str>,
    /// What the head of the function states about its results.
    pub(super) stated: BTreeMap<&'s str, Declaration<'s>>,
    /// Put before the names of its tensors: empty for the entry, `f.` for a call of `f`.
    pub(super) prefix: String,
}

impl<'s> Scope<'s> {
    /// Where a name was introduced.
    pub(super) fn place(&self, name: &str) -> Option<Span> {
        self.sizes.get(name).map(|&(_, span)| span).or_else(|| self.tensors.get(name).map(|view| view.span))
    }

    /// A name now stands for a tensor.
    pub(super) fn assign(&mut self, name: &'s str, view: View) {
        // Parameters are never assigned.
        if self.tensors.insert(name, view).is_none() {
            self.assigned.push(name);
        }
    }

    /// The known name that looks most like this one.
    pub(super) fn nearest(&self, name: &str) -> Option<&'s str> {
        nearest(name, self.tensors.keys().chain(self.sizes.keys()).copied())
    }
}
