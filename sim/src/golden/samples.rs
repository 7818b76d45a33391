//! The evaluated part of a program, and the effect of a batch's samples on its tensors.
//!
//! ```text
//! h = w * x;  d = h - y;  g = d * x;  g.mean = g        w, g.mean   one value for all samples
//!                                                       x, y, h, d  one value for each sample, sample after sample
//!                                                       g           only its sum over the samples is asked for
//! ```

use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::tensor::{Aggregate, Descent, Element, IterId, Nest, Node, Program, Role, Start, TensorId, Update};

/// What a tensor holds in a step of several samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// What all samples have in common.
    Once,
    /// One value per sample, sample after sample.
    Each,
    /// The sum over the samples, in their order.
    Sum,
}

/// The samples of a step, by tensor.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    pub(super) batch: Batch,
    held: Vec<Held>,
}

/// `value * factor / divisor` is what a combined value becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub(super) factor: f64,
    pub(super) divisor: f64,
}

impl Scale {
    pub(super) const ONE: Scale = Scale { factor: 1.0, divisor: 1.0 };

    pub(super) fn of(self, value: f64) -> f64 {
        value * self.factor / self.divisor
    }

    pub(super) fn is_one(self) -> bool {
        self == Scale::ONE
    }
}

impl Samples {
    /// Of the Nests that are evaluated.
    ///
    /// # Panics
    /// If the program assigns a state once per sample, which has no meaning for several: the canonical passes refuse it.
    pub(super) fn new(program: &Program, nests: &[&Nest], updates: &[Update], options: &Options) -> Samples {
        let mut samples = Samples { batch: options.batch, held: vec![Held::Once; program.tensors.len()] };
        if options.batch.size <= 1 {
            return samples;
        }
        for (held, tensor) in samples.held.iter_mut().zip(&program.tensors) {
            if is_given(&tensor.role) {
                *held = Held::Each;
            }
        }
        // A tensor with several writers may come to depend on the sample after it has been read.
        loop {
            let mut spread = false;
            for nest in nests {
                if samples.spreads_to(program, nest) {
                    samples.held[nest.out.0] = Held::Each;
                    spread = true;
                }
            }
            if !spread {
                break;
            }
        }
        for update in updates {
            let name = &program.tensors[update.state.0].name;
            assert!(samples.held(update.next) == Held::Once, "`{name}` is assigned once per sample");
        }
        for id in (0..program.tensors.len()).map(TensorId) {
            if samples.held(id) == Held::Each && is_summed(program, nests, options, id) {
                samples.held[id.0] = Held::Sum;
            }
        }
        samples
    }

    /// Whether a Nest makes its tensor depend on the sample, and nobody has noticed.
    fn spreads_to(&self, program: &Program, nest: &Nest) -> bool {
        program.tensors[nest.out.0].role != Role::Mean
            && self.held(nest.out) == Held::Once
            && reads(nest).iter().any(|&read| self.held(read) != Held::Once)
    }

    pub(super) fn held(&self, tensor: TensorId) -> Held {
        self.held[tensor.0]
    }

    /// How many values a tensor has per element.
    pub(super) fn copies(&self, tensor: TensorId) -> usize {
        if self.held(tensor) == Held::Each { self.batch.size as usize } else { 1 }
    }

    /// What the sum of a tensor over the samples becomes where they are combined: of a gradient the mean or the sum, of an input the mean.
    pub(super) fn scale(&self, program: &Program, tensor: TensorId) -> Scale {
        let size = f64::from(self.batch.size.max(1));
        let sums = self.batch.reduction == Reduction::Sum && !is_given(&program.tensors[tensor.0].role);
        match (self.held(tensor) == Held::Once, sums) {
            (true, false) | (false, true) => Scale::ONE,
            // What does not depend on the sample is the same for each of them.
            (true, true) => Scale { factor: size, divisor: 1.0 },
            (false, false) => Scale { factor: 1.0, divisor: size },
        }
    }
}

/// Whether a value is given with each sample.
fn is_given(role: &Role) -> bool {
    matches!(role, Role::Input | Role::Label | Role::InOut)
}

/// What a Nest reads.
pub(super) fn reads(nest: &Nest) -> Vec<TensorId> {
    let start = match &nest.start {
        Start::Element { tensor, .. } => Some(*tensor),
        Start::Identity | Start::Fill(_) => None,
    };
    let of_node = |node: &Node| match node {
        Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
        _ => None,
    };
    nest.body.nodes.iter().filter_map(of_node).chain(start).collect()
}

/// Whether nobody asks for the values of single samples, and they can be added up while they are computed: one Nest writes each element once,
/// as a value or as a sum, and only copies that combine samples read it.
fn is_summed(program: &Program, nests: &[&Nest], options: &Options, tensor: TensorId) -> bool {
    let asked = |(name, id): &(String, TensorId)| *id == tensor && is_asked(&options.keep, name);
    let combines = |nest: &&&Nest| program.tensors[nest.out.0].role == Role::Mean;
    let mut writers = nests.iter().filter(|nest| nest.out == tensor);
    let (Some(writer), None) = (writers.next(), writers.next()) else { return false };
    let adds =
        writer.free == writer.iterators.len() || writer.aggregate == Aggregate::Add && writer.start == Start::Identity;
    adds && writes_once(writer)
        && !is_given(&program.tensors[tensor.0].role)
        && program.tensors[tensor.0].element == Element::Real
        && !program.names.iter().any(asked)
        && nests.iter().filter(|nest| reads(nest).contains(&tensor)).all(|nest| combines(&nest))
}

/// Whether a Nest writes every element at one point of the free iterators only: each occurs alone in an index of its own.
fn writes_once(nest: &Nest) -> bool {
    let mut alone: Vec<IterId> = nest
        .out_index
        .iter()
        .filter_map(|index| match index.terms.as_slice() {
            &[(iterator, _)] => Some(iterator),
            _ => None,
        })
        .collect();
    alone.sort_unstable();
    alone.dedup();
    (0..nest.free).all(|n| alone.contains(&IterId(n)) || nest.iterators[n].extent() <= 1)
}

fn is_asked(keep: &Keep, name: &String) -> bool {
    match keep {
        Keep::AllNames => true,
        Keep::Training { predictions: names } | Keep::Prediction { names, .. } => names.contains(name),
    }
}

/// What of a program is evaluated: the Nests that what is asked for follows from, in their order, and the updates and descents of the states
/// that go on.
pub(super) fn needed<'p>(program: &'p Program, keep: &Keep) -> (Vec<&'p Nest>, Vec<Update>, Vec<Descent>) {
    let (mut updates, mut descents) = (program.updates.clone(), program.descents.clone());
    match keep {
        Keep::AllNames => return (program.nests.iter().collect(), updates, descents),
        Keep::Training { .. } => {}
        Keep::Prediction { states, .. } => {
            descents.clear();
            updates.retain(|update| states.contains(&program.tensors[update.state.0].name));
        }
    }
    let names = program.names.iter().filter(|(name, _)| is_asked(keep, name)).map(|&(_, id)| id);
    let mut wanted = vec![false; program.tensors.len()];
    let of_states = updates.iter().map(|update| update.next).chain(descents.iter().map(|descent| descent.gradient));
    for id in names.chain(of_states) {
        wanted[id.0] = true;
    }
    let mut nests: Vec<&Nest> = Vec::new();
    for nest in program.nests.iter().rev() {
        if wanted[nest.out.0] {
            for read in reads(nest) {
                wanted[read.0] = true;
            }
            nests.push(nest);
        }
    }
    nests.reverse();
    (nests, updates, descents)
}
