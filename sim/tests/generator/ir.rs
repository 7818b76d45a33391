//! Random programs of tensor IR: what the languages can say and TABLA cannot.
//!
//!     o[i, j] (+)= expression of a[i + k], b[2*j], c[3 - k], iterators bound or summed over, minimum and maximum
//!
//! All results cover their tensors, all reads lie inside, so a program has a meaning by construction.

use super::tape::Tape;
use arch::{Origin, Span};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Element, Function, IterId, Iterator, Nest, Node, NodeId, Program, Role, Start,
    Tensor, TensorId, Update,
};
use sim::ladder::NamedValues;

const EXTENTS: [u32; 9] = [1, 2, 3, 4, 5, 7, 8, 9, 13];

struct Builder<'a> {
    tape: Tape<'a>,
    program: Program,
    /// Tensors that have values.
    known: Vec<TensorId>,
}

fn elements(shape: &[u32]) -> usize {
    shape.iter().map(|&extent| extent as usize).product()
}

impl Builder<'_> {
    fn tensor(&mut self, name: &str, shape: Vec<u32>, role: Role) -> TensorId {
        let tensor = Tensor { name: name.to_owned(), shape, role, element: Element::Real, span: Span::default() };
        self.program.tensors.push(tensor);
        TensorId(self.program.tensors.len() - 1)
    }

    fn shape(&mut self, most: usize) -> Vec<u32> {
        let rank = self.tape.below(most + 1);
        (0..rank).map(|_| EXTENTS[self.tape.below(EXTENTS.len())]).collect()
    }

    /// An index into a dimension: an iterator with stride and offset, forwards or backwards, or a constant; always inside.
    fn index(&mut self, extent: u32, iterators: &[Iterator]) -> Affine {
        let last = i64::from(extent) - 1;
        let mut choices = Vec::new();
        for (n, iterator) in iterators.iter().enumerate() {
            let this = Affine::iterator(IterId(n));
            for stride in [1, 2, -1] {
                let (first, end) = (stride * iterator.low, stride * (iterator.high - 1));
                let (low, high) = (first.min(end), first.max(end));
                if high - low <= last {
                    let room = last - (high - low);
                    let shift = if room > 0 && stride == 1 { self.tape.below(room as usize + 1) as i64 } else { 0 };
                    choices.push(Affine::constant(shift - low).plus(stride, &this));
                }
            }
        }
        // Windows: a sum of two iterators that fits.
        for (n, first) in iterators.iter().enumerate() {
            for (m, second) in iterators.iter().enumerate().skip(n + 1) {
                let (low, high) = (first.low + second.low, first.high + second.high - 2);
                if high - low <= last {
                    let sum = Affine::iterator(IterId(n)).plus(1, &Affine::iterator(IterId(m)));
                    choices.push(Affine::constant(-low).plus(1, &sum));
                }
            }
        }
        match self.tape.below(choices.len() + 1) {
            n if n < choices.len() => choices.swap_remove(n),
            _ => Affine::constant(self.tape.below(extent as usize) as i64),
        }
    }

    fn read(&mut self, body: &mut Body, iterators: &[Iterator]) -> NodeId {
        let tensor = self.known[self.tape.below(self.known.len())];
        let shape = self.program.tensors[tensor.0].shape.clone();
        let index = shape.iter().map(|&extent| self.index(extent, iterators)).collect();
        body.push(Node::Read { tensor, index })
    }

    fn value(&mut self, body: &mut Body, iterators: &[Iterator], depth: usize) -> NodeId {
        if depth == 0 {
            return if self.tape.below(6) == 5 {
                body.push(Node::Constant([1.0, 0.5, -2.0, 0.3][self.tape.below(4)]))
            } else {
                self.read(body, iterators)
            };
        }
        let operators =
            [Binary::Mul, Binary::Add, Binary::Sub, Binary::Mul, Binary::Lt, Binary::Ge, Binary::Min, Binary::Max];
        match self.tape.below(operators.len() + 3) {
            n if n < operators.len() => {
                let (a, b) = (self.value(body, iterators, depth - 1), self.value(body, iterators, depth - 1));
                body.push(Node::Binary(operators[n], a, b))
            }
            n if n == operators.len() => {
                let a = self.value(body, iterators, depth - 1);
                let function = [Function::Sigmoid, Function::Tanh, Function::Gaussian][self.tape.below(3)];
                body.push(Node::Call(function, vec![a]))
            }
            n if n == operators.len() + 1 => {
                let (a, b) = (self.read(body, iterators), self.value(body, iterators, 0));
                let difference = body.push(Node::Binary(Binary::Sub, a, b));
                body.push(Node::Binary(Binary::Mul, difference, difference))
            }
            _ => self.read(body, iterators),
        }
    }

    fn nest(&mut self, out: TensorId) {
        let shape = self.program.tensors[out.0].shape.clone();
        let mut iterators: Vec<Iterator> = Vec::new();
        for (n, &extent) in shape.iter().enumerate() {
            iterators.push(Iterator { name: format!("i{n}"), low: 0, high: i64::from(extent) });
        }
        let free = iterators.len();
        for n in 0..self.tape.below(3) {
            let low = self.tape.below(2) as i64;
            let high = low + i64::from(EXTENTS[self.tape.below(EXTENTS.len())]);
            iterators.push(Iterator { name: format!("k{n}"), low, high });
        }
        let points: i64 = iterators.iter().map(|iterator| iterator.high - iterator.low).product();
        if points > 2000 {
            iterators.truncate(free);
        }
        let summed = iterators.len() > free;
        let aggregate = match (summed, self.tape.below(6)) {
            (false, _) => Aggregate::Assign,
            (true, 4) => Aggregate::Max,
            (true, 5) => Aggregate::Min,
            _ => Aggregate::Add,
        };
        let mut body = Body::default();
        let depth = 1 + self.tape.below(2);
        let root = self.value(&mut body, &iterators, depth);
        let body = body.rooted(root);
        let out_index = (0..free).map(|n| Affine::iterator(IterId(n))).collect();
        let start = Start::Identity;
        self.program.nests.push(Nest {
            iterators,
            free,
            guards: Vec::new(),
            out,
            out_index,
            aggregate,
            start,
            body,
            origin: Origin::default(),
        });
    }
}

/// A program with weights, and values for three samples.
pub(crate) fn program(tape: &[u16]) -> (Program, NamedValues, Vec<NamedValues>) {
    let mut builder = Builder { tape: Tape::new(tape), program: Program::default(), known: Vec::new() };
    for n in 0..=builder.tape.below(3) {
        let shape = builder.shape(3);
        let shape = if elements(&shape) > 300 { shape[..1].to_vec() } else { shape };
        let input = builder.tensor(&format!("x{n}"), shape, Role::Input);
        builder.known.push(input);
    }
    let inputs = builder.known.clone();
    let shape = builder.shape(2);
    let state = builder.tensor("w", shape.clone(), Role::State);
    builder.known.push(state);
    let count = 1 + builder.tape.below(4);
    for n in 0..count {
        let shape = builder.shape(2);
        let role = if n + 1 == count { Role::Output } else { Role::Temporary };
        let out = builder.tensor(&format!("t{n}"), shape, role);
        builder.nest(out);
        builder.known.push(out);
        builder.program.names.push((format!("t{n}"), out));
    }
    if builder.tape.below(2) == 1 {
        let next = builder.tensor("w.1", shape, Role::Temporary);
        builder.nest(next);
        builder.program.updates.push(Update { state, next });
    }
    let program = builder.program;
    let mut tape = builder.tape;
    let mut values =
        |id: TensorId| -> Vec<f64> { (0..elements(&program.tensors[id.0].shape)).map(|_| tape.value()).collect() };
    let model = NamedValues::from([("w".to_owned(), values(state))]);
    let mut sample = || inputs.iter().map(|&id| (program.tensors[id.0].name.clone(), values(id))).collect();
    let samples = (0..3).map(|_| sample()).collect();
    (program, model, samples)
}
