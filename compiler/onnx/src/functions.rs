//! Operators that a file defines, and how many nodes they become where they are used.

use crate::model::{Function, Graph, Model, Node};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Functions in functions, bodies in bodies.
pub(crate) const DEPTH: usize = 32;
/// Nodes in all, with those of bodies as often as they are repeated.
pub(crate) const NODES: u64 = 100_000;

/// The functions of a file.
pub(crate) struct Functions<'r, 'm> {
    all: &'r [Function<'m>],
    places: BTreeMap<(&'m str, &'m str), usize>,
    sizes: RefCell<BTreeMap<usize, u64>>,
}

/// A domain, of which ONNX' own has two names.
pub(crate) fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

impl<'r, 'm> Functions<'r, 'm> {
    /// Those of a model. Of two with one name the first counts.
    pub(crate) fn of(model: &'r Model<'m>) -> Functions<'r, 'm> {
        let mut places = BTreeMap::new();
        for (n, function) in model.functions.iter().enumerate() {
            places.entry((domain(function.domain), function.name)).or_insert(n);
        }
        Functions { all: &model.functions, places, sizes: RefCell::default() }
    }

    fn place(&self, node: &Node<'m>) -> Option<usize> {
        self.places.get(&(domain(node.domain), node.operator)).copied()
    }

    /// The function that a node calls.
    pub(crate) fn called(&self, node: &Node<'m>) -> Option<&'r Function<'m>> {
        self.place(node).map(|n| &self.all[n])
    }

    /// How many nodes a graph becomes if each body in it runs once; the largest number for what does not end.
    pub(crate) fn size(&self, graph: &Graph<'m>) -> u64 {
        self.nodes(&graph.nodes, 0)
    }

    /// How many nodes a node becomes.
    pub(crate) fn size_of(&self, node: &Node<'m>) -> u64 {
        self.nodes(std::slice::from_ref(node), 0)
    }

    fn nodes(&self, nodes: &[Node<'m>], depth: usize) -> u64 {
        if depth > DEPTH {
            return u64::MAX;
        }
        let mut sum = 0u64;
        for node in nodes {
            let called = match self.place(node) {
                Some(n) => self.function(n, depth + 1),
                None => 0,
            };
            let bodies = node.attributes.iter().filter_map(|attribute| attribute.graph.as_deref());
            let bodies = bodies.fold(0u64, |sum, body| sum.saturating_add(self.nodes(&body.nodes, depth + 1)));
            sum = sum.saturating_add(1).saturating_add(called).saturating_add(bodies);
            if sum > NODES {
                return u64::MAX;
            }
        }
        sum
    }

    fn function(&self, n: usize, depth: usize) -> u64 {
        let known = self.sizes.borrow().get(&n).copied();
        known.unwrap_or_else(|| {
            // One that calls itself has no end.
            self.sizes.borrow_mut().insert(n, u64::MAX);
            let size = self.nodes(&self.all[n].nodes, depth);
            self.sizes.borrow_mut().insert(n, size);
            size
        })
    }
}
