//! Chains: what a small step waits for becomes shorter.

use crate::canonical::expr::Expr;
use crate::canonical::flow::{Flow, fresh_name};
use crate::canonical::primitive::{Atom, Primitive};
use crate::tensor::{Affine, Aggregate, IterId, Iterator, Nest, Program, Role, Start, Tensor, TensorId};
use arch::isa::Combine;

/// Updates with more elements than this are long compared with the way of one value through the grid.
const SMALL: u64 = 256;

/// Add both parts of a difference in the update, instead of the difference: one operation less between the last value and the
/// weights.
///
///     e = -(0.3 * y);  t = e + 0.3 * h;  w'[i] = w[i] - t * x[i]
///     =>  p[0] = -y;  p[1] = h;  z[i] = 0.3 * x[i];  w'[i] = w[i] + sum[k](-(p[k] * z[i]))
///
/// `h` is computed in the place of `p[1]`: nothing else reads it. The sum is exact, so no rounding is added. Runs on primitive nests.
pub fn shorten_chains(program: &Program) -> Program {
    let mut result = program.clone();
    let mut number = 0;
    while number < result.nests.len() {
        match Chain::find(&result, number) {
            Some(chain) => {
                chain.shorten(&mut result);
                // Nests before this one have moved: start over.
                number = 0;
            }
            None => number += 1,
        }
    }
    result
}

/// `w' = w ± t * x`, `t = rate * (±h ± y)`, `h` late and used nowhere else.
struct Chain {
    /// Nests: of the update, of `t`, of the scaled `y` if that is one, of `h`.
    update: usize,
    difference: usize,
    scaled: Option<usize>,
    late: usize,
    early: Atom,
    early_negative: bool,
    rate: f64,
    factor: (TensorId, Vec<Affine>),
    before: (TensorId, Vec<Affine>),
    scale: i32,
    subtract: bool,
}

/// The only writer of a scalar that is read once.
fn private(program: &Program, flow: &Flow, tensor: TensorId) -> Option<usize> {
    let single = flow.writers[tensor.0].len() == 1 && flow.readers[tensor.0].len() == 1 && !flow.kept[tensor.0];
    let tensor_of = &program.tensors[tensor.0];
    let scalar = tensor_of.shape.is_empty() && matches!(tensor_of.role, Role::Temporary | Role::Output);
    (single && scalar).then(|| flow.writers[tensor.0][0])
}

fn simple(nest: &Nest) -> bool {
    nest.guards.is_empty() && nest.aggregate == Aggregate::Assign
}

/// `start ± rate * other`
struct Difference {
    start: Atom,
    other: (TensorId, Vec<Affine>),
    rate: f64,
    minus: bool,
}

impl Difference {
    fn of(nest: &Nest) -> Option<Difference> {
        let Some(Primitive::MultiplyAdd {
            start: Some(start),
            product: Some((Atom::Read(other, at), Atom::Constant(rate))),
            square: false,
            scale: 0,
            combine,
            negative: false,
            whole: false,
        }) = Primitive::of(nest)
        else {
            return None;
        };
        Some(Difference { start, other: (other, at), rate, minus: combine == Combine::Subtract })
    }
}

/// `±(rate * y)`: `y`, the rate, and whether it is negative.
fn scaled_read(nest: &Nest) -> Option<(Atom, f64, bool)> {
    let Some(Primitive::MultiplyAdd {
        start: None,
        product: Some((read @ Atom::Read(..), Atom::Constant(rate))),
        square: false,
        scale: 0,
        combine,
        negative: false,
        whole: false,
    }) = Primitive::of(nest)
    else {
        return None;
    };
    Some((read, rate, combine == Combine::Subtract))
}

impl Chain {
    fn find(program: &Program, update: usize) -> Option<Chain> {
        let nest = &program.nests[update];
        let points: u64 = nest.iterators.iter().map(Iterator::extent).product();
        if !simple(nest) || !(2..=SMALL).contains(&points) || nest.free != nest.iterators.len() {
            return None;
        }
        let Some(Primitive::MultiplyAdd {
            start: Some(Atom::Read(before, at)),
            product,
            square: false,
            scale,
            combine,
            negative,
            whole: false,
        }) = Primitive::of(nest)
        else {
            return None;
        };
        let (a, b) = product.filter(|_| !negative)?;
        let flow = Flow::of(program);
        // Which factor is the difference.
        let difference = |atom: &Atom| match atom {
            Atom::Read(tensor, _) => private(program, &flow, *tensor).filter(|&n| simple(&program.nests[n])),
            Atom::Constant(_) => None,
        };
        let (difference, factor) = match (difference(&a), difference(&b)) {
            (Some(found), None) => (found, b),
            (None, Some(found)) => (found, a),
            _ => return None,
        };
        let Atom::Read(factor, index) = factor else { return None };
        // Who reads a scalar twice in one nest, `t - t * x`, still needs it.
        if program.nests[difference].out == before {
            return None;
        }
        let Difference { start, other: (other, other_at), rate, minus } = Difference::of(&program.nests[difference])?;
        let shared = Chain {
            update,
            difference,
            scaled: None,
            late: 0,
            early: start.clone(),
            early_negative: false,
            rate,
            factor: (factor, index),
            before: (before, at),
            scale,
            subtract: combine == Combine::Subtract,
        };
        let Atom::Read(start_of, _) = &start else { return None };
        if *start_of == other {
            return None;
        }
        if rate == 1.0 {
            // t = h ± y
            let late = private(program, &flow, *start_of)?;
            let early = Atom::Read(other, other_at);
            return Some(Chain { late, early, early_negative: minus, ..shared }).filter(|c| c.in_time(&flow));
        }
        // t = ±(rate * y) ± rate * h
        let scaled = private(program, &flow, *start_of)?;
        let (early, same, early_negative) = scaled_read(&program.nests[scaled])?;
        let late = private(program, &flow, other)?;
        let chain = Chain { scaled: Some(scaled), late, early, early_negative, ..shared };
        (same == rate && !minus && simple(&program.nests[scaled])).then_some(chain).filter(|c| c.in_time(&flow))
    }

    /// Whether what is to be computed early can be.
    fn in_time(&self, flow: &Flow) -> bool {
        let at = self.difference.min(self.scaled.unwrap_or(self.difference));
        let early = match &self.early {
            Atom::Read(tensor, _) => !flow.written_in(*tensor, at..self.update),
            Atom::Constant(_) => false,
        };
        early && !flow.written_in(self.factor.0, at..self.update)
    }

    fn shorten(self, program: &mut Program) {
        let update = program.nests[self.update].clone();
        // The difference, scaled or not, is part of what is made here.
        let gone: Vec<usize> = [Some(self.difference), self.scaled].into_iter().flatten().collect();
        let mut origin = update.origin.clone();
        for &number in &gone {
            origin.join(&program.nests[number].origin);
        }
        let span = origin.span();
        let mut temporary = |shape: Vec<u32>, like: TensorId| {
            let name = fresh_name(program, &program.tensors[like.0].name);
            let element = program.tensors[like.0].element;
            program.tensors.push(Tensor { name, shape, role: Role::Temporary, element, span });
            TensorId(program.tensors.len() - 1)
        };
        let parts = temporary(vec![2], update.out);
        let assign = |out, out_index: Vec<Affine>, iterators: Vec<Iterator>, body: Expr| Nest {
            free: iterators.len(),
            iterators,
            guards: Vec::new(),
            out,
            out_index,
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: body.to_body(),
            origin: origin.clone(),
        };
        // The factor takes the rate: it is known early.
        let own: Vec<Affine> = (0..update.free).map(|i| Affine::iterator(IterId(i))).collect();
        let mut made = Vec::new();
        let factor = if self.rate == 1.0 {
            Expr::Read(self.factor.0, self.factor.1.clone())
        } else {
            let scaled = temporary(update.iterators.iter().map(|i| i.high as u32).collect(), update.out);
            let body = Expr::mul(Expr::Constant(self.rate), Expr::Read(self.factor.0, self.factor.1.clone()));
            made.push(assign(scaled, own.clone(), update.iterators.clone(), body));
            Expr::Read(scaled, own)
        };
        let Atom::Read(early, at) = self.early else { unreachable!("found so") };
        let early = Expr::Read(early, at);
        let early = if self.early_negative { Expr::neg(early) } else { early };
        made.push(assign(parts, vec![Affine::constant(0)], Vec::new(), early));
        let mut iterators = update.iterators.clone();
        let part = Affine::iterator(IterId(iterators.len()));
        iterators.push(Iterator { name: "k".into(), low: 0, high: 2 });
        let mut product = Expr::mul(Expr::Read(parts, vec![part]), factor);
        if self.scale != 0 {
            product = Expr::mul(Expr::Constant(libm::ldexp(1.0, self.scale)), product);
        }
        let body = if self.subtract { Expr::neg(product) } else { product };
        let (tensor, index) = self.before;
        let start = Start::Element { tensor, index };
        let sum = Nest { iterators, aggregate: Aggregate::Add, start, body: body.to_body(), origin, ..update };
        // The late value lands in its place.
        let late = &mut program.nests[self.late];
        (late.out, late.out_index) = (parts, vec![Affine::constant(1)]);
        program.nests[self.update] = sum;
        replace(program, &gone, made);
    }
}

/// Put nests where the first of those that go stood.
fn replace(program: &mut Program, gone: &[usize], mut made: Vec<Nest>) {
    let at = *gone.iter().min().expect("the difference goes");
    let mut nests: Vec<Nest> = Vec::new();
    for (number, nest) in program.nests.drain(..).enumerate() {
        if number == at {
            nests.append(&mut made);
        }
        if !gone.contains(&number) {
            nests.push(nest);
        }
    }
    program.nests = nests;
}
