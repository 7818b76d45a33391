//! Bits and shifts of two whole numbers as arithmetic on their binary digits.

use super::bounds::{self, Bounds};
use super::is_whole;
use crate::canonical::draft::Draft;
use crate::canonical::expr::Expr;
use crate::tensor::{Affine, Aggregate, Binary, Element, Function, IterId, Iterator, Nest, Node, Program, Role, Start};

/// Digits of a number that fits a word, and places that it can be shifted by.
const MOST_DIGITS: u32 = 31;

/// Compute bits digit by digit, from the highest one, and shifts place by place. Operands are whole numbers: of others they have no value.
///
///     a & b     =>  r = -(a // 2^n * (b // 2^n)), for k = n-1 .. 0: r = 2 * r + digit(a, k) * digit(b, k)
///     a | b     =>  a + b - (a & b)
///     a ^ b     =>  a + b - 2 * (a & b)
///     a << b    =>  for k = 1 .. n: a = a + a * (b >= k)
///     a >> b    =>  for k = 1 .. n: a = a + (b >= k) * (a // 2 - a)
///
/// Each step is stored: no number is larger than operands and result, so that words which hold these hold all.
pub fn expand_bits(program: &Program) -> Program {
    let has_bits =
        |nest: &Nest| nest.body.nodes.iter().any(|node| matches!(node, Node::Call(of, _) if of.is_of_digits()));
    if !program.nests.iter().any(has_bits) {
        return program.clone();
    }
    let mut bounds = bounds::of_tensors(program);
    let mut draft = Draft::new(program);
    for nest in &program.nests {
        if !has_bits(nest) {
            draft.nests.push(nest.clone());
            continue;
        }
        let mut expansion = Expansion { draft: &mut draft, bounds: &mut bounds, nest };
        let body = Expr::from_body(&nest.body).map(&mut |part| match part {
            Expr::Call(function, arguments) if function.is_of_digits() => expansion.call(function, arguments),
            other => other,
        });
        draft.nests.push(Nest { body: body.to_body(), ..nest.clone() });
    }
    draft.finish()
}

/// What a function of digits can be.
pub(super) fn limits(function: Function, a: Bounds, b: Bounds) -> Bounds {
    let digits = digits_of(a).max(digits_of(b));
    let all = libm::exp2(f64::from(digits));
    match function {
        Function::BitAnd if a.0 >= 0.0 => (0.0, a.1),
        Function::BitAnd if b.0 >= 0.0 => (0.0, b.1),
        Function::BitAnd | Function::BitOr | Function::BitXor if digits <= MOST_DIGITS => {
            (if a.0 < 0.0 || b.0 < 0.0 { -all } else { 0.0 }, all - 1.0)
        }
        Function::ShiftRight if b.0 >= 0.0 => (a.0.min(0.0), a.1.max(0.0)),
        Function::ShiftLeft if a.0 >= 0.0 => (0.0, f64::INFINITY),
        _ => bounds::ANY,
    }
}

/// Digits behind which a number is its sign.
fn digits_of((low, high): Bounds) -> u32 {
    let digits = |most: f64| if most < 1.0 { 0 } else { libm::ilogb(most.min(f64::MAX)) as u32 + 1 };
    digits(high).max(digits(-1.0 - low))
}

/// The values that a nest needs for its bits.
struct Expansion<'a> {
    draft: &'a mut Draft,
    /// Of each tensor.
    bounds: &'a mut Vec<Bounds>,
    nest: &'a Nest,
}

impl Expansion<'_> {
    fn call(&mut self, function: Function, arguments: Vec<Expr>) -> Expr {
        let arguments: Vec<Expr> = arguments.into_iter().map(|argument| self.stored(argument)).collect();
        let (a, b) = (&arguments[0], &arguments[1]);
        let all = || Expr::add(a.clone(), b.clone());
        match function {
            Function::BitAnd => self.common(a, b),
            Function::BitOr => Expr::sub(all(), self.common(a, b)),
            Function::BitXor => Expr::sub(all(), Expr::mul(Expr::Constant(2.0), self.common(a, b))),
            Function::ShiftLeft => self.shifted(a, b, 1.0),
            _ => self.shifted(a, b, -1.0),
        }
    }

    fn bounds(&self, e: &Expr) -> Bounds {
        bounds::of(e, self.bounds, &self.nest.iterators)
    }

    /// The value at each point of the nest.
    fn stored(&mut self, value: Expr) -> Expr {
        if matches!(value, Expr::Read(..) | Expr::Constant(_)) {
            return value;
        }
        let Nest { iterators, guards, origin, out, .. } = self.nest;
        let from_first =
            |(k, iterator): (usize, &Iterator)| Affine { offset: -iterator.low, terms: vec![(IterId(k), 1)] };
        let index: Vec<Affine> = iterators.iter().enumerate().map(from_first).collect();
        let shape = iterators.iter().map(|iterator| iterator.extent() as u32).collect();
        let name = self.draft.program.tensors[out.0].name.clone();
        let tensor = self.draft.tensor(&name, shape, Role::Stored, Element::Real, origin.span());
        self.bounds.push(self.bounds(&value));
        self.draft.nests.push(Nest {
            free: iterators.len(),
            iterators: iterators.clone(),
            guards: guards.clone(),
            out: tensor,
            out_index: index.clone(),
            aggregate: Aggregate::Assign,
            start: Start::Identity,
            body: value.to_body(),
            origin: origin.clone(),
        });
        Expr::Read(tensor, index)
    }

    /// `a // 2`
    fn half(&mut self, a: &Expr) -> Expr {
        let (low, high) = self.bounds(a);
        match a {
            Expr::Constant(value) => Expr::Constant(libm::floor(value / 2.0)),
            _ if low >= 0.0 && high < 2.0 => Expr::Constant(0.0),
            _ => self.stored(Expr::Binary(Binary::DivFloor, Box::new(a.clone()), Box::new(Expr::Constant(2.0)))),
        }
    }

    /// `a & b`
    fn common(&mut self, a: &Expr, b: &Expr) -> Expr {
        let of = [a, b].map(|operand| self.bounds(operand));
        // All digits of the other one that matter are those of one that is not negative.
        let positive = of.iter().filter(|of| of.0 >= 0.0).map(|&of| digits_of(of)).min();
        let digits = positive.unwrap_or_else(|| digits_of(of[0]).max(digits_of(of[1]))).min(MOST_DIGITS) as usize;
        let [a, b] = [a, b].map(|operand| {
            let mut halves = vec![operand.clone()];
            for place in 0..digits {
                halves.push(self.half(&halves[place]));
            }
            halves
        });
        let digit = |of: &[Expr], place: usize| match (&of[place], &of[place + 1]) {
            (Expr::Constant(value), Expr::Constant(half)) => Expr::Constant(value - 2.0 * half),
            (value, Expr::Constant(0.0)) => value.clone(),
            (value, half) => Expr::sub(value.clone(), Expr::mul(Expr::Constant(2.0), half.clone())),
        };
        let signs = Expr::neg(Expr::mul(a[digits].clone(), b[digits].clone()));
        let mut common = if positive.is_some() { Expr::Constant(0.0) } else { self.stored(signs) };
        for place in (0..digits).rev() {
            let both = Expr::mul(digit(&a, place), digit(&b, place));
            common = self.stored(Expr::add(Expr::mul(Expr::Constant(2.0), common), both));
        }
        common
    }

    /// `a * 2^(sign * b)`, rounded down.
    fn shifted(&mut self, a: &Expr, b: &Expr, sign: f64) -> Expr {
        let (low, high) = self.bounds(b);
        let (up, down) = if sign > 0.0 { (high, -low) } else { (-low, high) };
        let places = |end: f64| 1..=end.clamp(0.0, f64::from(MOST_DIGITS)) as u32;
        let reached = |operation: Binary, place: f64| {
            Expr::Binary(operation, Box::new(b.clone()), Box::new(Expr::Constant(place)))
        };
        let (more, less) = if sign > 0.0 { (Binary::Ge, Binary::Le) } else { (Binary::Le, Binary::Ge) };
        let mut value = a.clone();
        for place in places(up) {
            let again = Expr::mul(value.clone(), reached(more, sign * f64::from(place)));
            value = self.stored(Expr::add(value, again));
        }
        for place in places(down) {
            let half = self.half(&value);
            let step = Expr::mul(reached(less, -sign * f64::from(place)), Expr::sub(half, value.clone()));
            value = self.stored(Expr::add(value, step));
        }
        if is_whole(a, &|tensor| self.draft.program.tensors[tensor.0].element != Element::Real) {
            value
        } else {
            Expr::Call(Function::Floor, vec![value])
        }
    }
}
