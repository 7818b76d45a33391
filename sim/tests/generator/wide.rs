//! Random programs with everything that tensor IR can say: what the front ends make, and what the ladder's generators leave out.
//!
//!     o[2*i + 1, 3 - j] (min)= select(i < n3, table[clamp(n[j])], x[i + k])  if 0 <= i - k < 4
//!
//! Indices as values, gathers, guards, every aggregate and start, results written in part and by several Nests, integers, truth
//! values, undefined inputs, all operators. The laws of tensor IR hold by construction; what the machine can hold is not asked.

use super::agreement::Inputs;
use super::tape::Tape;
use arch::{Origin, Span};
use compiler::tensor::{
    Affine, Aggregate, Binary, Body, Descent, Element, Function, Guard, IterId, Iterator, Nest, Node, NodeId, Program,
    Role, Start, Tensor, TensorId, Unary, Update,
};

/// Mostly small; the large one is longer than the blocks in which golden works.
const EXTENTS: [u32; 9] = [1, 2, 3, 4, 5, 3, 2, 7, 300];
const INTEGER: Element = Element::Int { bits: 32, signed: true };
/// Points of a Nest, at most.
const POINTS: u64 = 1500;
/// Functions of numbers near 0; the others are compared value by value.
const FUNCTIONS: [Function; 12] = [
    Function::Sigmoid,
    Function::Tanh,
    Function::Floor,
    Function::Abs,
    Function::Gaussian,
    Function::Sin,
    Function::Ceil,
    Function::Cos,
    Function::Atan,
    Function::Round,
    Function::Erf,
    Function::Trunc,
];
const OPERATORS: [Binary; 15] = [
    Binary::Mul,
    Binary::Add,
    Binary::Sub,
    Binary::Lt,
    Binary::Ge,
    Binary::Min,
    Binary::Max,
    Binary::Eq,
    Binary::Le,
    Binary::Gt,
    Binary::Ne,
    Binary::And,
    Binary::Or,
    Binary::DivControlled,
    Binary::Mul,
];

struct Builder<'a> {
    tape: Tape<'a>,
    program: Program,
    /// Tensors of which every element has been written or given.
    known: Vec<TensorId>,
    /// Tensors that may be written again.
    written: Vec<TensorId>,
}

fn elements(shape: &[u32]) -> usize {
    shape.iter().map(|&extent| extent as usize).product()
}

/// What a Nest's values are made of.
struct Scope<'n> {
    iterators: &'n [Iterator],
    out: TensorId,
    guards: Vec<Guard>,
}

impl Builder<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.tape.below(n)
    }

    fn tensor(&mut self, name: &str, shape: Vec<u32>, role: Role, element: Element) -> TensorId {
        self.program.tensors.push(Tensor { name: name.to_owned(), shape, role, element, span: Span::default() });
        TensorId(self.program.tensors.len() - 1)
    }

    fn shape(&self, tensor: TensorId) -> Vec<u32> {
        self.program.tensors[tensor.0].shape.clone()
    }

    fn any_shape(&mut self, most: usize) -> Vec<u32> {
        let rank = self.below(most + 1);
        let mut shape: Vec<u32> = (0..rank).map(|_| EXTENTS[self.tape.below(EXTENTS.len())]).collect();
        while elements(&shape) > POINTS as usize {
            shape.pop();
        }
        shape
    }

    /// `a*i + b*j + c` over some of the iterators.
    fn form(&mut self, iterators: &[Iterator]) -> Affine {
        let mut form = Affine::constant(self.below(5) as i64 - 2);
        for number in 0..iterators.len() {
            let coefficient = [0, 1, -1, 2, -3][self.below(5)];
            form = form.plus(coefficient, &Affine::iterator(IterId(number)));
        }
        form
    }

    fn guard(&mut self, iterators: &[Iterator]) -> Guard {
        let value = self.form(iterators);
        match self.below(4) {
            3 => Guard::Zero { value },
            _ => Guard::Within { value, bound: 1 + self.below(6) as i64 },
        }
    }

    /// An index into a dimension: shifted so that it lies inside, or held inside by a guard.
    fn index(&mut self, extent: u32, scope: &mut Scope) -> Affine {
        let form = self.form(scope.iterators);
        let (low, high) = form.range(scope.iterators);
        if high - low < i64::from(extent) {
            return form.plus(-low, &Affine::constant(1));
        }
        let plain = (0..scope.iterators.len()).map(|number| Affine::iterator(IterId(number)));
        let inside = |form: &Affine| {
            let (low, high) = form.range(scope.iterators);
            low >= 0 && high < i64::from(extent)
        };
        let fitting: Vec<Affine> = plain.filter(inside).collect();
        match self.below(3) {
            0 if !fitting.is_empty() => fitting[self.below(fitting.len())].clone(),
            2 => {
                scope.guards.push(Guard::Within { value: form.clone(), bound: i64::from(extent) });
                form
            }
            _ => Affine::constant(self.below(extent as usize) as i64),
        }
    }

    fn read(&mut self, body: &mut Body, scope: &mut Scope) -> NodeId {
        let tensor = self.known[self.tape.below(self.known.len())];
        if tensor == scope.out {
            // Other elements than the one that is written must not be read.
            return body.push(Node::Constant(0.25));
        }
        let index = self.shape(tensor).iter().map(|&extent| self.index(extent, scope)).collect();
        body.push(Node::Read { tensor, index })
    }

    /// An element at computed indices, which are integers and, mostly, clamped.
    fn gather(&mut self, body: &mut Body, scope: &mut Scope) -> NodeId {
        let tensor = self.known[self.tape.below(self.known.len())];
        if tensor == scope.out {
            return body.push(Node::Constant(0.5));
        }
        let index = self.shape(tensor).into_iter().map(|extent| {
            let value = match self.below(3) {
                0 => self.iterator(body, scope),
                1 => self.integer(body, scope),
                _ => self.value(body, scope, 0),
            };
            let value = body.push(Node::Cast(INTEGER, value));
            if self.below(40) == 39 {
                return value;
            }
            let last = body.push(Node::Constant(f64::from(extent - 1)));
            let low = body.push(Node::Binary(Binary::Min, value, last));
            let zero = body.push(Node::Constant(0.0));
            body.push(Node::Binary(Binary::Max, low, zero))
        });
        let index = index.collect();
        body.push(Node::Gather { tensor, index })
    }

    fn iterator(&mut self, body: &mut Body, scope: &Scope) -> NodeId {
        match scope.iterators.len() {
            0 => body.push(Node::Constant(2.0)),
            count => body.push(Node::Iterator(IterId(self.below(count)))),
        }
    }

    /// Quotients and remainders of integers; the divisor is, mostly, not 0.
    fn integer(&mut self, body: &mut Body, scope: &Scope) -> NodeId {
        let a = self.iterator(body, scope);
        let offset = body.push(Node::Constant(self.below(7) as f64 - 3.0));
        let a = body.push(Node::Binary(Binary::Add, a, offset));
        let b = match self.below(30) {
            29 => self.iterator(body, scope),
            n => body.push(Node::Constant([2.0, 3.0, -2.0, 5.0][n % 4])),
        };
        body.push(Node::Binary([Binary::DivFloor, Binary::RemFloor][self.below(2)], a, b))
    }

    fn value(&mut self, body: &mut Body, scope: &mut Scope, depth: usize) -> NodeId {
        if depth == 0 {
            return match self.below(8) {
                5 => body.push(Node::Constant([1.0, 0.5, -2.0, 0.3, 3.0][self.below(5)])),
                6 | 7 => self.iterator(body, scope),
                _ => self.read(body, scope),
            };
        }
        match self.below(16) {
            0..=7 => {
                let (a, b) = (self.value(body, scope, depth - 1), self.value(body, scope, depth - 1));
                body.push(Node::Binary(OPERATORS[self.below(OPERATORS.len())], a, b))
            }
            8 => {
                let a = self.value(body, scope, depth - 1);
                body.push(Node::Call(FUNCTIONS[self.below(FUNCTIONS.len())], vec![a]))
            }
            9 | 10 => {
                let condition = self.value(body, scope, depth - 1);
                let (yes, no) = (self.value(body, scope, depth - 1), self.value(body, scope, 0));
                body.push(Node::Select { condition, yes, no })
            }
            11 => {
                let a = self.value(body, scope, depth - 1);
                body.push(Node::Unary([Unary::Neg, Unary::Not][self.below(2)], a))
            }
            12 => self.integer(body, scope),
            13 => {
                let a = self.value(body, scope, depth - 1);
                let narrow = [(4, false), (8, true)].map(|(bits, signed)| Element::Int { bits, signed });
                let types = [INTEGER, Element::Bool, Element::Real, narrow[0], narrow[1]];
                body.push(Node::Cast(types[self.below(types.len())], a))
            }
            _ => self.gather(body, scope),
        }
    }

    /// Ranges and indices that write a tensor: all of it, or a part, forwards, backwards or in steps.
    fn written_part(&mut self, shape: &[u32], whole: bool) -> (Vec<Iterator>, Vec<Affine>) {
        let (mut iterators, mut index) = (Vec::new(), Vec::new());
        for &extent in shape {
            let all = i64::from(extent);
            let this = Affine::iterator(IterId(iterators.len()));
            let mut of = |low: i64, high: i64, form: Affine| {
                iterators.push(Iterator { name: format!("i{}", iterators.len()), low, high });
                index.push(form);
            };
            match if whole { self.tape.below(3) } else { self.tape.below(7) } {
                1 => of(0, all, Affine::constant(all - 1).plus(-1, &this)),
                2 => of(2, all + 2, this.plus(1, &Affine::constant(-2))),
                3 => of(0, (all + 1) / 2, Affine::default().plus(2, &this)),
                4 => of(i64::from(extent > 1), all, this),
                5 => of(0, (all + 1) / 2, this),
                6 => index.push(Affine::constant(self.tape.below(extent as usize) as i64)),
                _ => of(0, all, this),
            }
        }
        (iterators, index)
    }

    /// One more Nest that writes `out`. `whole`: all of it, whatever the values are.
    fn nest(&mut self, out: TensorId, whole: bool) {
        let shape = self.shape(out);
        let (mut iterators, out_index) = self.written_part(&shape, whole);
        let free = iterators.len();
        for number in 0..self.below(3) {
            let low = self.below(3) as i64 - 1;
            let high = low + i64::from(EXTENTS[self.below(EXTENTS.len())]);
            iterators.push(Iterator { name: format!("k{number}"), low, high });
        }
        while iterators.len() > free && iterators.iter().map(Iterator::extent).product::<u64>() > POINTS {
            iterators.pop();
        }
        let summed = iterators.len() > free;
        let aggregates = [Aggregate::Add, Aggregate::Max, Aggregate::Min, Aggregate::Mul];
        let aggregate = if summed { aggregates[self.below(4)] } else { Aggregate::Assign };
        let mut scope = Scope { iterators: &iterators, out, guards: Vec::new() };
        let mut body = Body::default();
        let depth = 1 + self.below(3);
        let mut root = self.value(&mut body, &mut scope, depth);
        let integer = self.program.tensors[out.0].element == INTEGER;
        if integer {
            root = body.push(Node::Cast(INTEGER, root));
        }
        if !whole && self.below(3) == 2 {
            let own = body.push(Node::Read { tensor: out, index: out_index.clone() });
            root = body.push(Node::Binary([Binary::Add, Binary::Sub][self.below(2)], own, root));
        }
        if !whole {
            for _ in 0..self.below(3) {
                let guard = self.guard(&iterators);
                scope.guards.push(guard);
            }
        }
        let mut guards = scope.guards;
        let start = match self.below(4) {
            2 if summed => Start::Fill(if integer { 2.0 } else { [0.5, -1.0][self.below(2)] }),
            3 if summed && !whole => Start::Element { tensor: out, index: out_index.clone() },
            _ => Start::Identity,
        };
        if whole && !guards.is_empty() {
            // Guards leave elements out: the values come first, and what is left is the second Nest's.
            self.push(
                out,
                &iterators[..free],
                free,
                out_index.clone(),
                Vec::new(),
                constant(if integer { 3.0 } else { 0.75 }),
            );
        }
        guards.truncate(6);
        self.push(out, &iterators, free, out_index, guards, body.rooted(root));
        let nest = self.program.nests.last_mut().expect("pushed just now");
        (nest.aggregate, nest.start) = (aggregate, start);
    }

    fn push(
        &mut self,
        out: TensorId,
        iterators: &[Iterator],
        free: usize,
        out_index: Vec<Affine>,
        guards: Vec<Guard>,
        body: Body,
    ) {
        let (aggregate, start) = (Aggregate::Assign, Start::Identity);
        let origin = Origin::default();
        let iterators = iterators.to_vec();
        self.program.nests.push(Nest { iterators, free, guards, out, out_index, aggregate, start, body, origin });
    }

    fn inputs(&mut self) {
        for number in 0..=self.below(3) {
            let shape = self.any_shape(3);
            let element = if self.below(4) == 3 { INTEGER } else { Element::Real };
            let input = self.tensor(&format!("x{number}"), shape, Role::Input, element);
            self.known.push(input);
        }
        let shape = self.any_shape(2);
        let state = self.tensor("w", shape.clone(), Role::State, Element::Real);
        let inout = self.tensor("io", shape, Role::InOut, Element::Real);
        self.known.extend([state, inout]);
        self.written.push(inout);
    }

    fn results(&mut self) {
        let count = 1 + self.below(5);
        for number in 0..count {
            if self.below(3) == 2 {
                let out = self.written[self.tape.below(self.written.len())];
                self.nest(out, false);
                continue;
            }
            let shape = self.any_shape(3);
            let role = if number + 1 == count { Role::Output } else { Role::Temporary };
            let element = if self.below(6) == 5 { INTEGER } else { Element::Real };
            let out = self.tensor(&format!("t{number}"), shape, role, element);
            self.nest(out, true);
            self.known.push(out);
            self.written.push(out);
        }
    }

    /// The next weights: assigned, or by descent; whole or in part.
    fn training(&mut self) {
        let state = TensorId(self.program.tensors.iter().position(|t| t.role == Role::State).expect("weights"));
        let shape = self.shape(state);
        let whole = self.below(2) == 0;
        match self.below(3) {
            1 => {
                let next = self.tensor("w.1", shape, Role::Temporary, Element::Real);
                self.next_weights(next, whole);
                self.program.updates.push(Update { state, next });
            }
            2 => {
                let gradient = self.tensor("g", shape, Role::Gradient(state), Element::Real);
                self.next_weights(gradient, whole);
                self.program.descents.push(Descent { state, gradient, rate: 0.25, span: Span::default() });
            }
            _ => {}
        }
    }

    /// A tensor that nothing reads may stay without some of its elements.
    fn next_weights(&mut self, out: TensorId, whole: bool) {
        if whole {
            self.nest(out, true);
            return;
        }
        let shape = self.shape(out);
        let (iterators, out_index) = self.written_part(&shape, false);
        let mut scope = Scope { iterators: &iterators, out, guards: Vec::new() };
        let mut body = Body::default();
        let root = self.value(&mut body, &mut scope, 2);
        let mut guards = scope.guards;
        if self.below(2) == 1 {
            guards.push(self.guard(&iterators));
        }
        self.push(out, &iterators, iterators.len(), out_index, guards, body.rooted(root));
    }

    fn given(&mut self, tensor: TensorId, may_miss: bool) -> Vec<Option<f64>> {
        let (shape, element) = (self.shape(tensor), self.program.tensors[tensor.0].element);
        let misses = may_miss && self.below(8) == 7;
        let mut value = |n: usize| {
            let value = if element == INTEGER { self.tape.below(6) as f64 } else { self.tape.value() };
            (!misses || n % 3 != 1).then_some(value)
        };
        (0..elements(&shape)).map(&mut value).collect()
    }
}

fn constant(value: f64) -> Body {
    Body { nodes: vec![Node::Constant(value)] }
}

/// A program, and what is set before each of two steps.
pub(crate) fn program(tape: &[u16]) -> (Program, Vec<Inputs>) {
    let mut builder =
        Builder { tape: Tape::new(tape), program: Program::default(), known: Vec::new(), written: Vec::new() };
    builder.inputs();
    builder.results();
    builder.training();
    let names = builder.program.tensors.iter().enumerate().map(|(id, tensor)| (tensor.name.clone(), TensorId(id)));
    builder.program.names = names.collect();
    let mut steps = Vec::new();
    for step in 0..2 {
        let mut inputs = Inputs::new();
        for id in 0..builder.program.tensors.len() {
            let given = match builder.program.tensors[id].role {
                Role::Input | Role::InOut => true,
                Role::State => step == 0,
                _ => false,
            };
            if given {
                let values = builder.given(TensorId(id), builder.program.tensors[id].role == Role::Input);
                inputs.push((TensorId(id), values));
            }
        }
        steps.push(inputs);
    }
    (builder.program, steps)
}
