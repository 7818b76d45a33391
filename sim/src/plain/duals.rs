//! Dual numbers: tensor IR as it is written, each value with its slope along one direction of the weights.
//!
//! ```text
//!  w = 2 + 1 t,  x = 3                 t: how far the weights have moved
//!  h = w * x         = 6 + 3 t         (a + a' t) * (b + b' t) = a b + (a' b + a b') t
//!  e = max(h, 1)     = 6 + 3 t         the slope of the operand that is taken
//! ```
//!
//! It exists to be compared with [`compiler::derived`], which goes backwards through the same program: the slope of what is minimised is
//! the sum over all weights of gradient times direction. The two share nothing; the slopes of functions are written once more in
//! `slopes`. Extremes take the first operand that attains them, as the head of [`compiler::derived`] says.

mod slopes;

use super::{at, holds, points, scalar};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Element, IterId, Nest, Node, NodeId, Program, Role, Start, TensorId, Unary,
};

/// A value, and its slope.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dual {
    /// The value.
    pub value: f64,
    /// How much it changes for each step along the direction.
    pub slope: f64,
}

impl Dual {
    fn constant(value: f64) -> Dual {
        Dual { value, slope: 0.0 }
    }
}

/// A program being evaluated; undefined elements are `None`.
#[derive(Debug, Clone)]
pub struct Duals {
    program: Program,
    /// Whether some element of a tensor may depend on a weight.
    varies: Vec<bool>,
    elements: Vec<Vec<Option<Dual>>>,
}

impl Duals {
    /// Nothing is set but the parameters.
    pub fn new(program: &Program, weights: &[TensorId]) -> Duals {
        let elements = program.tensors.iter().map(|tensor| match &tensor.role {
            Role::Parameter(values) => values.iter().map(|&value| Some(Dual::constant(value))).collect(),
            _ => vec![None; tensor.shape.iter().map(|&extent| extent as usize).product()],
        });
        Duals { elements: elements.collect(), varies: varying(program, weights), program: program.clone() }
    }

    /// Set the elements of a tensor, row-major, and their slopes; no slopes are zeros.
    ///
    /// # Panics
    /// When there are fewer values or slopes than elements.
    pub fn set(&mut self, tensor: TensorId, values: &[f64], slopes: Option<&[f64]>) {
        for (n, element) in self.elements[tensor.0].iter_mut().enumerate() {
            *element = Some(Dual { value: values[n], slope: slopes.map_or(0.0, |slopes| slopes[n]) });
        }
    }

    /// The elements of a tensor, row-major.
    pub fn of(&self, tensor: TensorId) -> &[Option<Dual>] {
        &self.elements[tensor.0]
    }

    /// Evaluate the program once; states are not updated.
    pub fn step(&mut self) {
        for number in 0..self.program.nests.len() {
            let nest = self.program.nests[number].clone();
            self.run(&nest);
        }
    }

    fn run(&mut self, nest: &Nest) {
        let (free, summed) = nest.iterators.split_at(nest.free);
        let varies = self.nodes(&nest.body);
        for outer in points(free) {
            let mut total: Option<Option<Dual>> = None;
            for inner in points(summed) {
                let point = [outer.clone(), inner].concat();
                if nest.guards.iter().all(|guard| holds(guard, &point)) {
                    let value = self.body(&nest.body, &varies, &point);
                    total = Some(match total.unwrap_or_else(|| self.start(nest, &point)) {
                        None => value.filter(|_| nest.start == Start::Identity),
                        Some(before) => value.map(|value| combine(nest.aggregate, before, value)),
                    });
                }
            }
            if let Some(total) = total {
                let place = self.place(nest.out, nest.out_index.iter().map(|index| at(index, &outer)));
                self.elements[nest.out.0][place] = total;
            }
        }
    }

    /// Where the element at a point starts; `None` at its first value.
    fn start(&self, nest: &Nest, point: &[i64]) -> Option<Dual> {
        match &nest.start {
            Start::Identity => None,
            Start::Fill(value) => Some(Dual::constant(*value)),
            Start::Element { tensor, index } => self.read(*tensor, index, point),
        }
    }

    fn read(&self, tensor: TensorId, index: &[Affine], point: &[i64]) -> Option<Dual> {
        self.elements[tensor.0][self.place(tensor, index.iter().map(|index| at(index, point)))]
    }

    fn place(&self, tensor: TensorId, index: impl Iterator<Item = i64>) -> usize {
        let shape = &self.program.tensors[tensor.0].shape;
        index.zip(shape).fold(0, |place, (index, &extent)| place * extent as usize + index as usize)
    }

    fn nodes(&self, body: &Body) -> Vec<bool> {
        nodes(body, &self.varies)
    }

    fn body(&self, body: &Body, varies: &[bool], point: &[i64]) -> Option<Dual> {
        let mut values: Vec<Option<Dual>> = Vec::with_capacity(body.nodes.len());
        for node in &body.nodes {
            let of = |node: &NodeId| values[node.0];
            let value = match node {
                Node::Constant(value) => Some(Dual::constant(*value)),
                Node::Iterator(IterId(iterator)) => Some(Dual::constant(point[*iterator] as f64)),
                Node::Read { tensor, index } => self.read(*tensor, index, point),
                Node::Gather { tensor, index } => {
                    let index: Option<Vec<i64>> =
                        index.iter().map(|node| of(node).map(|index| libm::floor(index.value) as i64)).collect();
                    index.and_then(|index| self.elements[tensor.0][self.place(*tensor, index.into_iter())])
                }
                Node::Unary(Unary::Neg, a) => of(a).map(|a| Dual { value: -a.value, slope: -a.slope }),
                Node::Unary(operator, a) => of(a).map(|a| Dual::constant(scalar::unary(*operator, a.value))),
                Node::Binary(operator, a, b) => match (of(a), of(b)) {
                    (Some(one), Some(other)) => binary(*operator, (one, varies[a.0]), (other, varies[b.0])),
                    _ => None,
                },
                Node::Select { condition, yes, no } => {
                    of(condition).and_then(|condition| if condition.value == 0.0 { of(no) } else { of(yes) })
                }
                Node::Cast(Element::Real, a) => of(a),
                Node::Cast(element, a) => of(a).map(|a| Dual::constant(scalar::cast(*element, a.value))),
                Node::Call(function, arguments) => {
                    let arguments: Option<Vec<Dual>> = arguments.iter().map(of).collect();
                    arguments.map(|arguments| slopes::call(*function, &arguments))
                }
            };
            values.push(value);
        }
        values.pop().flatten()
    }
}

/// One more value of a sum, product or extreme; of equal ones the first stays.
fn combine(aggregate: Aggregate, total: Dual, next: Dual) -> Dual {
    let replaced = match aggregate {
        Aggregate::Assign => true,
        Aggregate::Max => next.value > total.value,
        Aggregate::Min => next.value < total.value,
        Aggregate::Add => {
            return Dual { value: total.value + next.value, slope: total.slope + next.slope };
        }
        Aggregate::Mul => return product(total, next),
    };
    if replaced { next } else { total }
}

fn product(a: Dual, b: Dual) -> Dual {
    Dual { value: a.value * b.value, slope: a.slope * b.value + a.value * b.slope }
}

/// An operation on two values, of each of which is known whether it may vary.
fn binary(operator: Binary, (a, a_varies): (Dual, bool), (b, b_varies): (Dual, bool)) -> Option<Dual> {
    let value = scalar::binary(operator, a.value, b.value).ok().flatten()?;
    // Of equal operands the first counts, unless only the second varies not: what is constant is no kink's slope.
    let tie = if a_varies && !b_varies { b.slope } else { a.slope };
    let slope = match operator {
        Binary::Add => a.slope + b.slope,
        Binary::Sub => a.slope - b.slope,
        Binary::Mul => return Some(product(a, b)),
        Binary::Div | Binary::DivControlled => (a.slope * b.value - a.value * b.slope) / (b.value * b.value),
        Binary::RemFloor => a.slope,
        Binary::Min if a.value < b.value => a.slope,
        Binary::Max if a.value > b.value => a.slope,
        Binary::Min | Binary::Max if a.value == b.value => tie,
        Binary::Min | Binary::Max => b.slope,
        _ => 0.0,
    };
    Some(Dual { value, slope })
}

/// Which nodes of a body may depend on a weight, given the tensors that may.
fn nodes(body: &Body, tensors: &[bool]) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(body.nodes.len());
    for node in &body.nodes {
        let jumps = match node {
            Node::Unary(Unary::Not, _) | Node::Cast(Element::Bool, _) => true,
            Node::Binary(operator, ..) => {
                use Binary::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
                matches!(operator, Lt | Le | Gt | Ge | Eq | Ne | And | Or)
            }
            _ => false,
        };
        let value = match node {
            Node::Read { tensor, .. } | Node::Gather { tensor, .. } => tensors[tensor.0],
            Node::Select { yes, no, .. } => varies[yes.0] || varies[no.0],
            other => other.operands().iter().any(|operand| varies[operand.0]),
        };
        varies.push(value && !jumps);
    }
    varies
}

/// Which tensors may depend on a weight.
fn varying(program: &Program, weights: &[TensorId]) -> Vec<bool> {
    let mut varies: Vec<bool> = (0..program.tensors.len()).map(|id| weights.contains(&TensorId(id))).collect();
    loop {
        let before = varies.clone();
        for nest in &program.nests {
            let start = matches!(&nest.start, Start::Element { tensor, .. } if varies[tensor.0]);
            varies[nest.out.0] |= start || nodes(&nest.body, &varies).last() == Some(&true);
        }
        if varies == before {
            return varies;
        }
    }
}
