//! Updates whose rounding is not that of other sums start with the weight itself.

use super::dead::remove_dead_nests;
use super::expr::Expr;
use super::flow::{Flow, fresh_name};
use super::primitive::{Atom, Primitive};
use super::{Batch, Options};
use crate::rounding;
use crate::tensor::{Affine, Aggregate, Binary, Element, Nest, Program, Role, Start, Tensor, TensorId};
use arch::isa::Combine;
use arch::{Code, Diagnostic};

/// What changes a weight becomes one term beside the weight, where the weight has more bits than a word or is rounded by chance.
///
///     t = 0.9998*w;  w' = t - d*x          =>     t = -0.0002*w;  s = t - d*x;  w' = w + s
///     w' = w - sum[b](d[b]*x[b])           =>     s = -sum[b](d[b]*x[b]);       w' = w + s        (a batch and a master)
///
/// A sum over the batch is made once: the master needs it twice, and tiles have it at their end.
///
/// # Errors
/// An update that is no sum with the weight in it.
pub fn part_steps(program: &Program, options: &Options) -> Result<Program, Vec<Diagnostic>> {
    let mut parting = Parting { result: program.clone(), program, flow: Flow::of(program), before: Vec::new() };
    let mut wrong = Vec::new();
    let mut parted = false;
    for update in &program.updates {
        let name = &program.tensors[update.state.0].name;
        let has = |companion: String| program.tensors.iter().any(|tensor| tensor.name == companion);
        let master = has(rounding::low(name));
        if !master && !has(rounding::dither(name)) {
            continue;
        }
        let once = master && options.batch != Batch::SINGLE;
        for &number in &parting.flow.writers[update.next.0].clone() {
            let nest = &program.nests[number];
            if is_apart(nest, update.state) && !(once && nest.iterators.len() > nest.free) {
                continue;
            }
            if parting.part(number, update.state).is_none() {
                let message = format!("the update of `{name}` is not a sum of it and of what changes it");
                let help = "leave `rounding` and `master` out of [train]";
                wrong.push(Diagnostic::new(Code::Backend, nest.origin.span(), message).with_help(help));
            }
            parted = true;
        }
    }
    match (wrong.is_empty(), parted) {
        (false, _) => Err(wrong),
        (true, true) => Ok(remove_dead_nests(&parting.placed())),
        (true, false) => Ok(program.clone()),
    }
}

/// Whether a nest is the element of a state and one sum beside it.
fn is_apart(nest: &Nest, state: TensorId) -> bool {
    match Primitive::of(nest) {
        Some(Primitive::MultiplyAdd {
            start: Some(Atom::Read(tensor, index)),
            product: Some(_),
            combine: Combine::Add | Combine::Subtract,
            negative: false,
            whole: false,
            ..
        }) => tensor == state && index == nest.out_index,
        _ => false,
    }
}

struct Parting<'a> {
    program: &'a Program,
    flow: Flow,
    result: Program,
    /// New nests, each with the number of the one that it stands before.
    before: Vec<(usize, Nest)>,
}

impl Parting<'_> {
    /// Let a nest add its change to the state.
    fn part(&mut self, number: usize, state: TensorId) -> Option<()> {
        let nest = &self.program.nests[number];
        let step = self.temporary(state);
        let change = self.change(nest, state, step)?;
        self.before.push((number, change));
        let index = nest.out_index.clone();
        let sum = Expr::add(Expr::Read(state, index.clone()), Expr::Read(step, index));
        let whole = &mut self.result.nests[number];
        whole.iterators.truncate(whole.free);
        (whole.aggregate, whole.start, whole.body) = (Aggregate::Assign, Start::Identity, sum.to_body());
        Some(())
    }

    /// The nest that writes to `out` what a nest makes, less the state.
    fn change(&mut self, nest: &Nest, state: TensorId, out: TensorId) -> Option<Nest> {
        let body = Expr::from_body(&nest.body);
        let (start, product) = match (&nest.start, &body) {
            (Start::Element { tensor, index }, _) if nest.aggregate == Aggregate::Add => {
                (Some((*tensor, index.clone())), body)
            }
            _ if nest.aggregate != Aggregate::Assign => return None,
            (_, Expr::Binary(operation @ (Binary::Add | Binary::Sub), start, product)) => {
                let Expr::Read(tensor, index) = &**start else { return None };
                let product = (**product).clone();
                let product = if *operation == Binary::Sub { Expr::neg(product) } else { product };
                (Some((*tensor, index.clone())), product)
            }
            _ => (None, body),
        };
        let changed = |start: Option<TensorId>, product: Expr| {
            let (start, body) = match (start, nest.aggregate) {
                (None, _) => (Start::Identity, product),
                (Some(tensor), Aggregate::Add) => (Start::Element { tensor, index: nest.out_index.clone() }, product),
                (Some(tensor), _) => (Start::Identity, sum(Expr::Read(tensor, nest.out_index.clone()), product)),
            };
            Nest { out, start, body: body.to_body(), ..nest.clone() }
        };
        match start {
            Some((_, index)) if index != nest.out_index => None,
            Some((tensor, _)) if tensor == state => Some(changed(None, product)),
            Some((tensor, _)) => {
                // The weight may be among the products, or in what the sum starts with.
                if let Some(product) = less_one(&product, state, &nest.out_index) {
                    return Some(changed(Some(tensor), product));
                }
                let start = self.temporary(state);
                for number in self.flow.writers[tensor.0].clone() {
                    let writer = self.program.nests[number].clone();
                    let change = self.change(&writer, state, start)?;
                    self.before.push((number, change));
                }
                Some(changed(Some(start), product))
            }
            None => less_one(&product, state, &nest.out_index).map(|product| changed(None, product)),
        }
    }

    fn temporary(&mut self, state: TensorId) -> TensorId {
        let Tensor { name, shape, span, .. } = self.program.tensors[state.0].clone();
        let name = fresh_name(&self.result, &name);
        self.result.tensors.push(Tensor { name, shape, role: Role::Temporary, element: Element::Real, span });
        TensorId(self.result.tensors.len() - 1)
    }

    /// The program with the new nests in their places.
    fn placed(self) -> Program {
        let Parting { mut result, before, .. } = self;
        let nests = std::mem::take(&mut result.nests).into_iter().enumerate();
        for (number, nest) in nests {
            result.nests.extend(before.iter().filter(|(place, _)| *place == number).map(|(_, nest)| nest.clone()));
            result.nests.push(nest);
        }
        result
    }
}

/// `start + product`, as a difference where the product is negative.
fn sum(start: Expr, product: Expr) -> Expr {
    match product {
        Expr::Unary(crate::tensor::Unary::Neg, positive) => Expr::sub(start, *positive),
        other => Expr::add(start, other),
    }
}

/// `(c - 1) * w` of the product `c * w`.
fn less_one(product: &Expr, state: TensorId, at: &[Affine]) -> Option<Expr> {
    let (sign, product) = match product {
        Expr::Unary(crate::tensor::Unary::Neg, positive) => (-1.0, &**positive),
        other => (1.0, other),
    };
    let is_state = |e: &Expr| matches!(e, Expr::Read(tensor, index) if *tensor == state && index == at);
    let Expr::Binary(Binary::Mul, a, b) = product else { return None };
    let factor = match (&**a, &**b) {
        (Expr::Constant(factor), weight) | (weight, Expr::Constant(factor)) if is_state(weight) => sign * factor,
        _ => return None,
    };
    Some(Expr::mul(Expr::Constant(factor - 1.0), Expr::Read(state, at.to_vec())))
}
