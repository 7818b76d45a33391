//! The adjoint of each Nest, last one first.
//!
//! ```text
//! h    += w[i] * x[i]     =>     w.gradient[i]  = h.gradient * x[i]
//! m max= a[i]             =>     a.gradient[i]  = select(lost[i], 0, m.gradient)    `extremes` says which lost
//! p   *= a[i]             =>     p.others[i]   *= select(j == i, 1, a[j])  over j
//!                                a.gradient[i]  = p.gradient * p.others[i]
//! s    = a[k]   k computed =>    a.gradient[p]  = s.gradient * (k == p)
//! ```

use super::Objective;
use super::activity::{Activity, is_loss};
use super::builder::{Builder, substitute};
use super::extremes;
use super::gradients::{Gradients, Made, Use, identity, new_tensor};
use super::losses::Applied;
use super::partial::{Backwards, Leaf};
use super::scatter::{Contribution, is_simple, over_box, restrict, substitute_guard};
use super::versions::{bounding_box, overlap, written_boxes};
use crate::tensor::{
    Affine, Aggregate, Binary, Body, Guard, IterId, Iterator, Nest, Node, NodeId, Program, Start, Tensor, TensorId,
};
use arch::{Code, Diagnostic};

/// The program with its adjoint behind it, and the gradient of each weight.
pub(super) fn sweep(
    program: Program,
    objective: &Objective,
    activity: &Activity,
) -> Result<(Program, Vec<TensorId>), Diagnostic> {
    let forward = program.nests.clone();
    let mut sweep = Sweep { program, forward, objective, activity, gradients: Gradients::default() };
    let mut one = Builder::default();
    one.constant(1.0);
    sweep.gradients.give(objective.value, over_box(&[], one.body, objective.span));
    for number in (0..sweep.forward.len()).rev() {
        let out = sweep.forward[number].out;
        if !activity.active(out) {
            continue;
        }
        match objective.losses.iter().find(|loss| loss.value == out) {
            Some(loss) if sweep.is_last_writer(number) => sweep.loss(loss),
            Some(_) => {}
            None => sweep.nest(number)?,
        }
    }
    let gradients = objective.weights.iter().map(|&weight| sweep.weight(weight)).collect::<Result<_, _>>()?;
    Ok((sweep.program, gradients))
}

struct Sweep<'a> {
    /// Grows.
    program: Program,
    /// The Nests as they were.
    forward: Vec<Nest>,
    objective: &'a Objective,
    activity: &'a Activity,
    gradients: Gradients,
}

impl Sweep<'_> {
    fn is_last_writer(&self, number: usize) -> bool {
        self.forward[number + 1..].iter().all(|nest| nest.out != self.forward[number].out)
    }

    /// The gradient of a weight, which has all its elements.
    fn weight(&mut self, weight: TensorId) -> Result<TensorId, Diagnostic> {
        let shape = &self.program.tensors[weight.0].shape;
        let needed = shape.iter().map(|&extent| (0, i64::from(extent))).collect();
        let wanted = Use { needed, divisible: true, changes: false, kept: true };
        let made = self.gradients.make(&mut self.program, weight, &wanted);
        made.and_then(|made| made.tensor()).ok_or_else(|| {
            let tensor = &self.program.tensors[weight.0];
            let message = format!("what is minimised does not vary with `{}`", tensor.name);
            Diagnostic::new(Code::Link, tensor.span, message).with_note(self.objective.span, "what is minimised")
        })
    }

    /// The derivative that a loss of the library knows.
    fn loss(&mut self, loss: &Applied) {
        let wanted = Use { needed: Vec::new(), divisible: true, changes: false, kept: false };
        let Some(made) = self.gradients.make(&mut self.program, loss.value, &wanted) else { return };
        for ranges in written_boxes(&self.program, loss.prediction) {
            let index = identity(ranges.len());
            let mut b = Builder::default();
            let h = b.read(loss.prediction, index.clone());
            let y = b.read(loss.label, index);
            let slope = loss.loss.derivative(&mut b, h, y);
            let weight = made.read(&mut b, &[]);
            let value = b.mul(weight, slope);
            self.gradients.give(loss.at, over_box(&ranges, b.rooted(value), loss.span));
        }
    }

    fn consumes(&self, nest: &Nest) -> bool {
        let value = self.activity.nodes(&nest.body)[nest.body.root().0];
        !is_loss(self.objective, nest.out) && (value || self.activity.start_varies(nest))
    }

    /// Who needs the gradient of a tensor, and how.
    fn gradient_use(&self, tensor: TensorId) -> Option<Use> {
        let writers = || self.forward.iter().enumerate().filter(move |(_, nest)| nest.out == tensor);
        let consumers: Vec<&Nest> = writers().map(|(_, nest)| nest).filter(|nest| self.consumes(nest)).collect();
        let last = writers().map(|(number, _)| number).max()?;
        let read_between = self.forward[..last].iter().any(|nest| reads(nest, tensor));
        let overlapping = writers().any(|(a, first)| writers().any(|(b, second)| a < b && overlap(first, second)));
        Some(Use {
            needed: bounding_box(consumers.iter().copied())?,
            divisible: consumers.iter().all(|nest| is_simple(&nest.out_index)),
            changes: read_between || overlapping,
            kept: false,
        })
    }

    fn nest(&mut self, number: usize) -> Result<(), Diagnostic> {
        let nest = self.forward[number].clone();
        let Some(wanted) = self.gradient_use(nest.out) else { return Ok(()) };
        let Some(mut made) = self.gradients.make(&mut self.program, nest.out, &wanted) else { return Ok(()) };
        let covers = |earlier: &Nest| earlier.out == nest.out && self.consumes(earlier) && overlap(earlier, &nest);
        if self.forward[..number].iter().any(covers) {
            made = self.take(&nest, &made);
        }
        if self.consumes(&nest) {
            let mut part = nest.clone();
            if restrict(&mut part.iterators, &nest.out_index, &made.ranges) {
                self.value(&part, &made)?;
                self.start(&part, &made);
            }
        }
        Ok(())
    }

    /// What the body reads.
    fn value(&mut self, nest: &Nest, made: &Made) -> Result<(), Diagnostic> {
        let varied = self.activity.nodes(&nest.body);
        let root = nest.body.root();
        if !varied[root.0] {
            return Ok(());
        }
        let mut b = Builder::new(nest.body.clone());
        let mut seed = made.read(&mut b, &nest.out_index);
        match nest.aggregate {
            Aggregate::Assign | Aggregate::Add => {}
            Aggregate::Max | Aggregate::Min => {
                let zero = b.constant(0.0);
                if let Some(beyond) = extremes::beyond_start(&mut b, nest) {
                    seed = b.select(beyond, seed, zero);
                }
                if let Some(losers) = extremes::losers(&mut self.program, nest) {
                    let lost = b.read(losers, from_first(&nest.iterators));
                    seed = b.select(lost, zero, seed);
                }
            }
            Aggregate::Mul => {
                let others = self.others(nest);
                let index = from_first(&nest.iterators);
                let rest = b.read(others, index);
                seed = b.mul(seed, rest);
                let start = start_value(&mut b, &nest.start);
                seed = b.mul(seed, start);
            }
        }
        let computed = matches!(nest.body.nodes[root.0], Node::Call(..)) && nest.aggregate == Aggregate::Assign;
        let known_value = computed.then(|| b.read(nest.out, nest.out_index.clone()));
        let leaves = Backwards::new(&mut b, &varied, known_value).run(seed).map_err(|reason| {
            Diagnostic::new(Code::Gradient, nest.origin.span(), reason)
                .with_label("between a weight and what is minimised")
                .with_note(self.objective.span, "what is minimised")
                .with_help("leave it out of what is minimised, or give the weight's gradient yourself")
        })?;
        for leaf in leaves {
            let (tensor, contribution) = self.contribution(nest, &b, leaf);
            if self.activity.active(tensor) {
                self.gradients.give(tensor, contribution);
            }
        }
        Ok(())
    }

    fn contribution(&self, nest: &Nest, b: &Builder, leaf: Leaf) -> (TensorId, Contribution) {
        let (iterators, guards, span) = (nest.iterators.clone(), nest.guards.clone(), nest.origin.span());
        match leaf {
            Leaf::Read { tensor, index, adjoint } => {
                (tensor, Contribution { iterators, guards, index, body: b.rooted(adjoint), span })
            }
            Leaf::Gather { tensor, index: computed, adjoint } => {
                let (mut b, mut iterators, mut index) = (b.clone(), iterators, Vec::new());
                let mut value = adjoint;
                for (&extent, &node) in self.program.tensors[tensor.0].shape.iter().zip(&computed) {
                    let place = IterId(iterators.len());
                    iterators.push(Iterator { name: format!("p{}", place.0), low: 0, high: i64::from(extent) });
                    index.push(Affine::iterator(place));
                    let here = b.body.push(Node::Iterator(place));
                    let hit = b.binary(Binary::Eq, node, here);
                    value = b.mul(value, hit);
                }
                (tensor, Contribution { iterators, guards, index, body: b.rooted(value), span })
            }
        }
    }

    /// What accumulation starts from.
    fn start(&mut self, nest: &Nest, made: &Made) {
        let Start::Element { tensor, index } = &nest.start else { return };
        if !self.activity.active(*tensor) {
            return;
        }
        let mut b = Builder::default();
        let mut value = made.read(&mut b, &nest.out_index);
        match nest.aggregate {
            Aggregate::Assign | Aggregate::Add => {}
            Aggregate::Max | Aggregate::Min => {
                if let Some(beyond) = extremes::beyond_start(&mut b, nest) {
                    let zero = b.constant(0.0);
                    value = b.select(beyond, zero, value);
                }
            }
            Aggregate::Mul => {
                let name = format!("{}.product", self.program.tensors[nest.out.0].name);
                let free = &nest.iterators[..nest.free];
                let product = new_tensor(&mut self.program, &name, extents(free), nest.origin.span());
                let out_index = from_first(free);
                let rest = b.read(product, out_index.clone());
                value = b.mul(value, rest);
                self.program.nests.push(Nest { out: product, out_index, start: Start::Identity, ..nest.clone() });
            }
        }
        let (tensor, index) = (*tensor, index.clone());
        let contribution = Contribution {
            iterators: nest.iterators[..nest.free].to_vec(),
            guards: free_guards(nest),
            index,
            body: b.rooted(value),
            span: nest.origin.span(),
        };
        self.gradients.give(tensor, contribution);
    }

    /// For every point of a product the product of all other points: no quotient, so that a factor may be 0.
    fn others(&mut self, nest: &Nest) -> TensorId {
        let (free, count) = (nest.free, nest.iterators.len());
        let name = format!("{}.others", self.program.tensors[nest.out.0].name);
        let tensor = new_tensor(&mut self.program, &name, extents(&nest.iterators), nest.origin.span());
        // The same reduction once more, under other numbers.
        let with: Vec<Affine> =
            (0..count).map(|i| Affine::iterator(IterId(if i < free { i } else { i + count - free }))).collect();
        let mut b = Builder::new(substitute(&nest.body, &with));
        let factor = b.body.root();
        let mut same: Option<NodeId> = None;
        for i in free..count {
            let (this, other) = (IterId(i), IterId(i + count - free));
            let (this, other) = (b.body.push(Node::Iterator(this)), b.body.push(Node::Iterator(other)));
            let equal = b.binary(Binary::Eq, this, other);
            same = Some(same.map_or(equal, |before| b.binary(Binary::And, before, equal)));
        }
        let one = b.constant(1.0);
        let value = same.map_or(factor, |same| b.select(same, one, factor));
        let mut iterators = nest.iterators.clone();
        iterators.extend(nest.iterators[free..].iter().map(|i| Iterator { name: format!("{}'", i.name), ..i.clone() }));
        self.program.nests.push(Nest {
            iterators,
            free: count,
            guards: nest.guards.iter().map(|guard| substitute_guard(guard, &with)).collect(),
            out: tensor,
            out_index: from_first(&nest.iterators),
            aggregate: Aggregate::Mul,
            start: Start::Identity,
            body: b.rooted(value),
            origin: nest.origin.clone(),
        });
        tensor
    }

    /// Move the gradient of what a Nest overwrites to a tensor of its own: what was there before has none.
    fn take(&mut self, nest: &Nest, made: &Made) -> Made {
        let gradient = made.tensor().expect("a gradient that changes is a tensor");
        let Tensor { name, shape, .. } = self.program.tensors[gradient.0].clone();
        let taken = new_tensor(&mut self.program, &format!("{name}.taken"), shape, nest.origin.span());
        let guards = free_guards(nest);
        let iterators = nest.iterators[..nest.free].to_vec();
        let copy = Body { nodes: vec![Node::Read { tensor: gradient, index: nest.out_index.clone() }] };
        let (aggregate, start) = (Aggregate::Assign, Start::Identity);
        let copied = Nest { iterators, guards, out: taken, aggregate, start, body: copy, ..nest.clone() };
        self.program.nests.push(copied);
        let body = Body { nodes: vec![Node::Constant(0.0)] };
        let aggregate = if nest.free < nest.iterators.len() { Aggregate::Add } else { Aggregate::Assign };
        self.program.nests.push(Nest { out: gradient, aggregate, start: Start::Identity, body, ..nest.clone() });
        made.moved_to(taken)
    }
}

/// The conditions that do not depend on what is summed over.
fn free_guards(nest: &Nest) -> Vec<Guard> {
    let free = |guard: &&Guard| {
        let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
        value.terms.iter().all(|t| t.0.0 < nest.free)
    };
    nest.guards.iter().filter(free).cloned().collect()
}

fn reads(nest: &Nest, tensor: TensorId) -> bool {
    nest.body.nodes.iter().any(
        |node| matches!(node, Node::Read { tensor: read, .. } | Node::Gather { tensor: read, .. } if *read == tensor),
    )
}

fn start_value(b: &mut Builder, start: &Start) -> NodeId {
    match start {
        Start::Identity => b.constant(1.0),
        Start::Fill(value) => b.constant(*value),
        Start::Element { tensor, index } => b.read(*tensor, index.clone()),
    }
}

/// How many values each iterator has.
pub(super) fn extents(iterators: &[Iterator]) -> Vec<u32> {
    iterators.iter().map(|iterator| iterator.extent() as u32).collect()
}

/// An index that counts each iterator from its first value.
pub(super) fn from_first(iterators: &[Iterator]) -> Vec<Affine> {
    let form = |(i, iterator): (usize, &Iterator)| Affine { offset: -iterator.low, terms: vec![(IterId(i), 1)] };
    iterators.iter().enumerate().map(form).collect()
}
