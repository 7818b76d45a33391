//! Elements that are certainly written, so that readers need not check.

use compiler::tensor::{Affine, IterId, Nest, Node, Program, Start, TensorId};

/// First and last index of each dimension.
type Region = Vec<(i64, i64)>;

/// Regions that the Nests so far write in every step, by tensor.
pub(super) struct Written {
    regions: Vec<Vec<Region>>,
}

impl Written {
    /// Before the first Nest; what is given is known to who has set it.
    pub(super) fn new(program: &Program) -> Written {
        let whole = |shape: &[u32]| shape.iter().map(|&extent| (0, i64::from(extent) - 1)).collect();
        let tensors = program.tensors.iter();
        let regions = tensors.map(|t| if t.role.is_computed() { Vec::new() } else { vec![whole(&t.shape)] });
        Written { regions: regions.collect() }
    }

    /// A Nest is evaluated. Only what it writes for certain counts: a box, each dimension of which has an iterator of its own.
    pub(super) fn add(&mut self, nest: &Nest) {
        let mut used = vec![false; nest.iterators.len()];
        let mut is_dense = |index: &Affine| match index.terms.as_slice() {
            [] => true,
            &[(IterId(iterator), 1 | -1)] => !std::mem::replace(&mut used[iterator], true),
            _ => false,
        };
        let exists = nest.guards.is_empty() && nest.iterators.iter().all(|iterator| iterator.low < iterator.high);
        if exists && nest.out_index.iter().all(&mut is_dense) {
            self.regions[nest.out.0].push(region(nest, &nest.out_index));
        }
    }

    /// What a Nest reads that may never have been written.
    pub(super) fn unsure(&self, nest: &Nest) -> Vec<usize> {
        let start = match &nest.start {
            Start::Element { tensor, index } => Some((*tensor, Some(index))),
            Start::Identity | Start::Fill(_) => None,
        };
        let of_node = |node| match node {
            &Node::Read { tensor, ref index } => Some((tensor, Some(index))),
            Node::Gather { tensor, .. } => Some((*tensor, None)),
            _ => None,
        };
        let reads = nest.body.nodes.iter().filter_map(of_node).chain(start);
        let unsure =
            reads.filter(|(tensor, index)| !index.is_some_and(|index| self.has(*tensor, &region(nest, index))));
        unsure.map(|(tensor, _)| tensor.0).collect()
    }

    fn has(&self, tensor: TensorId, read: &Region) -> bool {
        let inside = |written: &Region| written.iter().zip(read).all(|(w, r)| w.0 <= r.0 && r.1 <= w.1);
        self.regions[tensor.0].iter().any(inside)
    }
}

fn region(nest: &Nest, index: &[Affine]) -> Region {
    index.iter().map(|index| index.range(&nest.iterators)).collect()
}

/// Whether the first Nest that writes a tensor writes all of it, so that no step sees old values.
pub(super) fn written_whole(program: &Program, nests: &[&Nest], tensor: TensorId) -> bool {
    let Some(nest) = nests.iter().find(|nest| nest.out == tensor) else { return false };
    let mut written = Written { regions: vec![Vec::new(); program.tensors.len()] };
    written.add(nest);
    let whole = program.tensors[tensor.0].shape.iter().map(|&extent| (0, i64::from(extent) - 1)).collect();
    written.has(tensor, &whole)
}
