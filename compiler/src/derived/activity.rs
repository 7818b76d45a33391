//! Values between the weights and the objective.
//!
//! ```text
//! w ──▶ h ──▶ d ──▶ e        varied: h, d, e and c = (h > 0) does not vary
//!       └───▶ c              useful: w, h, d, x          active: w, h, d
//! ```
//!
//! Only active tensors get gradients: the adjoint of the rest is nobody's business.

use super::Objective;
use crate::tensor::{Binary, Body, Element, Nest, Node, Program, Start, TensorId, Unary};

/// What varies with a weight, and what the objective varies with.
pub(super) struct Activity {
    varied: Vec<bool>,
    useful: Vec<bool>,
}

impl Activity {
    pub(super) fn of(program: &Program, objective: &Objective) -> Activity {
        let none = vec![false; program.tensors.len()];
        let mut activity = Activity { varied: none.clone(), useful: none };
        for weight in &objective.weights {
            activity.varied[weight.0] = true;
        }
        activity.useful[objective.value.0] = true;
        // Tensors with several writers, and losses that stand before the rest of the program, need another round.
        while activity.forwards(program, objective) {}
        while activity.backwards(program, objective) {}
        activity
    }

    fn forwards(&mut self, program: &Program, objective: &Objective) -> bool {
        let mut changed = false;
        for nest in &program.nests {
            let varies = !is_loss(objective, nest.out) && (self.value_varies(nest) || self.start_varies(nest));
            changed |= varies && !std::mem::replace(&mut self.varied[nest.out.0], true);
        }
        for loss in &objective.losses {
            changed |= self.varied[loss.at.0] && !std::mem::replace(&mut self.varied[loss.value.0], true);
        }
        changed
    }

    fn backwards(&mut self, program: &Program, objective: &Objective) -> bool {
        let mut changed = false;
        for loss in &objective.losses {
            changed |= self.useful[loss.value.0] && !std::mem::replace(&mut self.useful[loss.at.0], true);
        }
        for nest in program.nests.iter().rev() {
            if !self.useful[nest.out.0] || is_loss(objective, nest.out) {
                continue;
            }
            let mut sources: Vec<TensorId> = nest.body.nodes.iter().filter_map(tensor_of).collect();
            if let Start::Element { tensor, .. } = &nest.start {
                sources.push(*tensor);
            }
            for source in sources {
                changed |= !std::mem::replace(&mut self.useful[source.0], true);
            }
        }
        changed
    }

    /// Whether a tensor needs a gradient.
    pub(super) fn active(&self, tensor: TensorId) -> bool {
        self.varied[tensor.0] && self.useful[tensor.0]
    }

    /// Whether a Nest starts from something that varies.
    pub(super) fn start_varies(&self, nest: &Nest) -> bool {
        matches!(&nest.start, Start::Element { tensor, .. } if self.varied[tensor.0])
    }

    fn value_varies(&self, nest: &Nest) -> bool {
        self.nodes(&nest.body)[nest.body.root().0]
    }

    /// Which nodes of a body vary with a weight.
    pub(super) fn nodes(&self, body: &Body) -> Vec<bool> {
        let mut varied: Vec<bool> = Vec::with_capacity(body.nodes.len());
        for node in &body.nodes {
            let varies = match node {
                Node::Constant(_) | Node::Iterator(_) | Node::Unary(Unary::Not, _) | Node::Cast(Element::Bool, _) => {
                    false
                }
                Node::Read { tensor, .. } | Node::Gather { tensor, .. } => self.varied[tensor.0],
                Node::Unary(Unary::Neg, a) | Node::Cast(_, a) => varied[a.0],
                Node::Binary(operation, a, b) => !selects(*operation) && (varied[a.0] || varied[b.0]),
                Node::Select { yes, no, .. } => varied[yes.0] || varied[no.0],
                Node::Call(_, arguments) => arguments.iter().any(|a| varied[a.0]),
            };
            varied.push(varies);
        }
        varied
    }
}

/// Whether a Nest that writes this tensor computes the value of a loss of the library.
pub(super) fn is_loss(objective: &Objective, tensor: TensorId) -> bool {
    objective.losses.iter().any(|loss| loss.value == tensor)
}

fn tensor_of(node: &Node) -> Option<TensorId> {
    match node {
        Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
        _ => None,
    }
}

/// Comparisons and logic: 0 or 1, constant but for jumps.
fn selects(operation: Binary) -> bool {
    match operation {
        Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne | Binary::And | Binary::Or => true,
        Binary::Add
        | Binary::Sub
        | Binary::Mul
        | Binary::Div
        | Binary::DivFloor
        | Binary::DivControlled
        | Binary::RemFloor
        | Binary::Min
        | Binary::Max => false,
    }
}
