//! Bodies as trees, which is how rewriting wants them; and substitution of iterators.

pub(super) mod linear;

use crate::tensor::{
    Affine, Binary, Body, Element, Function, Guard, IterId, Nest, Node, NodeId, Start, TensorId, Unary,
};
use std::collections::BTreeSet;

/// A scalar expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    Constant(f64),
    Iterator(IterId),
    Read(TensorId, Vec<Affine>),
    Gather(TensorId, Vec<Expr>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Select(Box<[Expr; 3]>),
    Cast(Element, Box<Expr>),
    Call(Function, Vec<Expr>),
}

impl Expr {
    pub(crate) fn add(a: Expr, b: Expr) -> Expr {
        Expr::Binary(Binary::Add, Box::new(a), Box::new(b))
    }

    pub(crate) fn sub(a: Expr, b: Expr) -> Expr {
        Expr::Binary(Binary::Sub, Box::new(a), Box::new(b))
    }

    pub(crate) fn mul(a: Expr, b: Expr) -> Expr {
        Expr::Binary(Binary::Mul, Box::new(a), Box::new(b))
    }

    pub(crate) fn neg(a: Expr) -> Expr {
        Expr::Unary(Unary::Neg, Box::new(a))
    }

    pub(crate) fn from_body(body: &Body) -> Expr {
        fn tree(nodes: &[Node], node: NodeId) -> Expr {
            Expr::from_node(&nodes[node.0], &|operand| tree(nodes, operand))
        }
        tree(&body.nodes, body.root())
    }

    /// The expression of a node, given those of the nodes that it computes from.
    pub(super) fn from_node(node: &Node, value: &dyn Fn(NodeId) -> Expr) -> Expr {
        let sub = |node: NodeId| Box::new(value(node));
        match node {
            Node::Constant(value) => Expr::Constant(*value),
            Node::Iterator(iterator) => Expr::Iterator(*iterator),
            Node::Read { tensor, index } => Expr::Read(*tensor, index.clone()),
            Node::Gather { tensor, index } => Expr::Gather(*tensor, index.iter().map(|&n| value(n)).collect()),
            Node::Unary(operation, a) => Expr::Unary(*operation, sub(*a)),
            Node::Binary(operation, a, b) => Expr::Binary(*operation, sub(*a), sub(*b)),
            Node::Select { condition, yes, no } => Expr::Select(Box::new([value(*condition), value(*yes), value(*no)])),
            Node::Cast(element, a) => Expr::Cast(*element, sub(*a)),
            Node::Call(function, arguments) => Expr::Call(*function, arguments.iter().map(|&n| value(n)).collect()),
        }
    }

    /// As nodes; equal subtrees become one node.
    pub(crate) fn to_body(&self) -> Body {
        let mut body = Body::default();
        let root = self.emit(&mut body);
        if root != body.root() {
            // The value has to be the last node: nothing after it is used.
            body.nodes.truncate(root.0 + 1);
        }
        body
    }

    fn emit(&self, body: &mut Body) -> NodeId {
        let node = match self {
            Expr::Constant(value) => Node::Constant(*value),
            Expr::Iterator(iterator) => Node::Iterator(*iterator),
            Expr::Read(tensor, index) => Node::Read { tensor: *tensor, index: index.clone() },
            Expr::Gather(tensor, index) => {
                Node::Gather { tensor: *tensor, index: index.iter().map(|e| e.emit(body)).collect() }
            }
            Expr::Unary(operation, a) => Node::Unary(*operation, a.emit(body)),
            Expr::Binary(operation, a, b) => {
                let a = a.emit(body);
                Node::Binary(*operation, a, b.emit(body))
            }
            Expr::Select(parts) => {
                let [condition, yes, no] = &**parts;
                let (condition, yes) = (condition.emit(body), yes.emit(body));
                Node::Select { condition, yes, no: no.emit(body) }
            }
            Expr::Cast(element, a) => Node::Cast(*element, a.emit(body)),
            Expr::Call(function, arguments) => Node::Call(*function, arguments.iter().map(|e| e.emit(body)).collect()),
        };
        match body.nodes.iter().position(|n| *n == node) {
            Some(existing) => NodeId(existing),
            None => body.push(node),
        }
    }

    /// Visit this expression and everything below it, parents first.
    pub(super) fn visit(&self, f: &mut impl FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Constant(_) | Expr::Iterator(_) | Expr::Read(..) => {}
            Expr::Gather(_, list) | Expr::Call(_, list) => list.iter().for_each(|e| e.visit(f)),
            Expr::Unary(_, a) | Expr::Cast(_, a) => a.visit(f),
            Expr::Binary(_, a, b) => {
                a.visit(f);
                b.visit(f);
            }
            Expr::Select(parts) => parts.iter().for_each(|e| e.visit(f)),
        }
    }

    /// Rebuild from the leaves up.
    pub(crate) fn map(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        let rebuilt = self.with_parts(&mut |part| part.map(f));
        f(rebuilt)
    }

    /// Replace the outermost expressions that have a replacement.
    pub(super) fn replace(self, f: &mut impl FnMut(&Expr) -> Option<Expr>) -> Expr {
        f(&self).unwrap_or_else(|| self.with_parts(&mut |part| part.replace(f)))
    }

    fn with_parts(self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        match self {
            Expr::Constant(_) | Expr::Iterator(_) | Expr::Read(..) => self,
            Expr::Gather(tensor, list) => Expr::Gather(tensor, list.into_iter().map(f).collect()),
            Expr::Call(function, list) => Expr::Call(function, list.into_iter().map(f).collect()),
            Expr::Unary(operation, a) => Expr::Unary(operation, Box::new(f(*a))),
            Expr::Cast(element, a) => Expr::Cast(element, Box::new(f(*a))),
            Expr::Binary(operation, a, b) => {
                let a = f(*a);
                Expr::Binary(operation, Box::new(a), Box::new(f(*b)))
            }
            Expr::Select(parts) => Expr::Select(Box::new(parts.map(f))),
        }
    }

    /// Iterators it depends on.
    pub(super) fn iterators(&self) -> BTreeSet<IterId> {
        let mut found = BTreeSet::new();
        self.visit(&mut |e| match e {
            Expr::Iterator(iterator) => {
                found.insert(*iterator);
            }
            Expr::Read(_, index) => found.extend(index.iter().flat_map(|a| a.terms.iter().map(|t| t.0))),
            _ => {}
        });
        found
    }

    /// Tensors it reads, once per place.
    pub(super) fn tensors(&self) -> Vec<TensorId> {
        let mut found = Vec::new();
        self.visit(&mut |e| {
            if let Expr::Read(tensor, _) | Expr::Gather(tensor, _) = e {
                found.push(*tensor);
            }
        });
        found
    }

    /// Put an affine form in the place of each iterator.
    pub(super) fn substitute(self, with: &[Affine]) -> Expr {
        self.map(&mut |e| match e {
            Expr::Iterator(iterator) => match with[iterator.0].as_iterator() {
                Some(other) => Expr::Iterator(other),
                None => affine_expr(&with[iterator.0]),
            },
            Expr::Read(tensor, index) => Expr::Read(tensor, index.iter().map(|a| substitute(a, with)).collect()),
            other => other,
        })
    }
}

/// An affine form as an expression.
fn affine_expr(form: &Affine) -> Expr {
    let mut sum = Expr::Constant(form.offset as f64);
    for &(iterator, coefficient) in &form.terms {
        let term = Expr::mul(Expr::Constant(coefficient as f64), Expr::Iterator(iterator));
        sum = Expr::add(sum, term);
    }
    sum
}

/// Put an affine form in the place of each iterator of an affine form.
pub(crate) fn substitute(form: &Affine, with: &[Affine]) -> Affine {
    let mut result = Affine::constant(form.offset);
    for &(iterator, coefficient) in &form.terms {
        result = result.plus(coefficient, &with[iterator.0]);
    }
    result
}

/// Tensors a nest reads, once per place (body and start).
pub(crate) fn reads(nest: &Nest) -> Vec<TensorId> {
    let mut found: Vec<TensorId> = nest
        .body
        .nodes
        .iter()
        .filter_map(|node| match node {
            Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
            _ => None,
        })
        .collect();
    if let Start::Element { tensor, .. } = &nest.start {
        found.push(*tensor);
    }
    found
}

/// A guard with its iterators replaced; `None` if it mentions one that is not among the first `known`.
pub(super) fn guard(guard: &Guard, known: usize, with: &[Affine]) -> Option<Guard> {
    let (Guard::Within { value, .. } | Guard::Zero { value }) = guard;
    if value.terms.iter().any(|t| t.0.0 >= known) {
        return None;
    }
    let value = substitute(value, with);
    Some(match guard {
        Guard::Within { bound, .. } => Guard::Within { value, bound: *bound },
        Guard::Zero { .. } => Guard::Zero { value },
    })
}
