//! The reference: what the fixed-point program computes, for all inputs at once.
//!
//!     h = round(+ w[i] * x[i]) >> 12  over i in 0..3       =>      finish(w[0] * x[0] + w[1] * x[1] + w[2] * x[2], round, 12)
//!
//! Operation by operation and element by element, as [`crate::fixed`] does it with numbers. It knows nothing of a grid.

use super::sums::{Open, Part, SumId};
use super::terms::{Node, Term, Terms};
use crate::fixed::address::{Address, advance};
use arch::division::Rounding;
use arch::isa::{Combine, Finish};
use compiler::fixed::{Kind, Operand, Operation, Program, Role};

/// An element that an operation has computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computed {
    /// In which step, from 1 on.
    pub(super) step: usize,
    /// Number of the operation.
    pub(super) operation: usize,
    /// Row-major element of its tensor.
    pub(super) element: usize,
    /// What it is.
    pub(super) term: Term,
}

/// The program and its memory.
#[derive(Debug)]
pub(super) struct Reference<'a> {
    pub(super) program: &'a Program,
    pub(super) memory: Vec<Vec<Term>>,
    steps: usize,
}

/// Elements of each tensor.
fn elements(shape: &[u32]) -> usize {
    shape.iter().map(|&n| n as usize).product()
}

impl<'a> Reference<'a> {
    /// The memory before the first step: weights are given, and what no operation computes stays undefined.
    pub(super) fn new(program: &'a Program, terms: &mut Terms) -> Reference<'a> {
        let memory = program.tensors.iter().enumerate().map(|(number, tensor)| match &tensor.role {
            Role::Parameter(words) => words.iter().map(|&word| terms.constant(word)).collect(),
            Role::State => (0..elements(&tensor.shape)).map(|element| terms.given(number, element, 0)).collect(),
            // Inputs are set in each step.
            Role::Input => vec![Term::default(); elements(&tensor.shape)],
            _ => (0..elements(&tensor.shape)).map(|_| terms.fresh(Node::Undefined)).collect(),
        });
        Reference { program, memory: memory.collect(), steps: 0 }
    }

    /// The inputs of the next step.
    pub(super) fn set_inputs(&mut self, terms: &mut Terms) {
        let inputs = self.program.tensors.iter().zip(&mut self.memory).enumerate();
        for (number, (_, words)) in inputs.filter(|(_, (tensor, _))| tensor.role == Role::Input) {
            for (element, word) in words.iter_mut().enumerate() {
                *word = terms.given(number, element, self.steps + 1);
            }
        }
    }

    /// Run every operation once, and tell of every element.
    pub(super) fn step(&mut self, terms: &mut Terms, mut tell: impl FnMut(Computed)) {
        self.steps += 1;
        for (number, operation) in self.program.operations.iter().enumerate() {
            let step = self.steps;
            self.run(operation, terms, |element, term| tell(Computed { step, operation: number, element, term }));
        }
    }

    fn source(&self, operation: &Operation, operand: &Operand, terms: &mut Terms) -> Source {
        match operand {
            Operand::Constant { word, .. } => Source::Constant(terms.constant(*word)),
            Operand::Read { tensor, index } => {
                Source::Memory(tensor.0, Address::of(operation, index, &self.program.tensors[tensor.0].shape))
            }
        }
    }

    fn run(&mut self, operation: &Operation, terms: &mut Terms, mut tell: impl FnMut(usize, Term)) {
        let extents: Vec<usize> = operation.iterators.iter().map(|i| i.extent() as usize).collect();
        if extents.contains(&0) {
            return;
        }
        let destination = Address::of(operation, &operation.out_index, &self.program.tensors[operation.out.0].shape);
        let action = self.action(operation, terms);
        let mut point = vec![0; extents.len()];
        loop {
            let term = self.element(&action, &extents, operation.free, &mut point, terms);
            let element = destination.at(&point);
            self.memory[operation.out.0][element] = term;
            tell(element, term);
            if !advance(&mut point[..operation.free], &extents[..operation.free]) {
                return;
            }
        }
    }

    fn action(&self, operation: &Operation, terms: &mut Terms) -> Action {
        let mut source = |operand| self.source(operation, operand, terms);
        match &operation.kind {
            &Kind::MultiplyAdd { ref start, align, ref product, square, combine, shift, finish, .. } => {
                Action::MultiplyAdd {
                    start: start.as_ref().map(|start| (source(start), align)),
                    product: product.as_ref().map(|(a, b)| (source(a), source(b))),
                    square,
                    combine,
                    finish: finish.alu(),
                    shift,
                }
            }
            Kind::Product { factor, shift, one } => {
                Action::Product { factor: source(factor), shift: *shift, one: *one }
            }
            &Kind::Divide { ref dividend, ref divisor, places, rounding } => {
                Action::Divide { dividend: source(dividend), divisor: source(divisor), places, rounding }
            }
            Kind::Function { table, input } => {
                let (input, table) = (source(input), &self.program.tables[*table]);
                Action::Function { table: terms.program_table(table.usage, &table.entries), input }
            }
        }
    }

    /// One element; the free part of the point says which.
    fn element(&self, action: &Action, extents: &[usize], free: usize, point: &mut [usize], terms: &mut Terms) -> Term {
        match action {
            Action::MultiplyAdd { start, product, square, combine, finish, shift } => {
                let parts = |terms: &Terms, a: Term, b: Term, sign: i128| -> Vec<Part> {
                    if *square {
                        terms.square(a, b, sign).collect()
                    } else {
                        terms.product(a, b, sign).into_iter().collect()
                    }
                };
                let start = start.as_ref().map(|(start, align)| terms.shifted(start.at(&self.memory, point), *align));
                let sum = if combine.compares() {
                    let mut all: Vec<SumId> = Vec::new();
                    all.extend(start.map(|part| terms.sums.linear(part.as_slice())));
                    self.products(product.as_ref(), extents, free, point, |a, b| {
                        let parts = parts(terms, a, b, 1);
                        all.push(terms.sums.linear(&parts));
                    });
                    Open::Extreme(*combine, all)
                } else {
                    let sign = if *combine == Combine::Subtract { -1 } else { 1 };
                    let mut all: Vec<_> = start.into_iter().flatten().collect();
                    self.products(product.as_ref(), extents, free, point, |a, b| {
                        all.extend(parts(terms, a, b, sign));
                    });
                    Open::Linear(all)
                };
                let sum = terms.sums.close(&sum);
                terms.finish(sum, *finish, *shift)
            }
            Action::Product { factor, shift, one } => {
                let mut result = terms.constant(*one);
                let inner = free..extents.len();
                loop {
                    let part = terms.product(result, factor.at(&self.memory, point), 1);
                    let sum = terms.sums.linear(part.as_slice());
                    result = terms.finish(sum, Finish::Round, *shift);
                    if !advance(&mut point[inner.clone()], &extents[inner.clone()]) {
                        return result;
                    }
                }
            }
            Action::Divide { dividend, divisor, places, rounding } => {
                let dividend = terms.shifted(dividend.at(&self.memory, point), self.program.word);
                let divisor = terms.shifted(divisor.at(&self.memory, point), 0);
                let both: Vec<_> = dividend.into_iter().chain(divisor).collect();
                let sum = terms.sums.linear(&both);
                terms.quotient(sum, *places, *rounding)
            }
            Action::Function { table, input } => terms.function(*table, input.at(&self.memory, point)),
        }
    }

    /// Visit the factors of every product at a point.
    fn products(
        &self,
        factors: Option<&(Source, Source)>,
        extents: &[usize],
        free: usize,
        point: &mut [usize],
        mut visit: impl FnMut(Term, Term),
    ) {
        let Some((a, b)) = factors else { return };
        loop {
            visit(a.at(&self.memory, point), b.at(&self.memory, point));
            if !advance(&mut point[free..], &extents[free..]) {
                return;
            }
        }
    }
}

enum Source {
    Constant(Term),
    Memory(usize, Address),
}

impl Source {
    fn at(&self, memory: &[Vec<Term>], point: &[usize]) -> Term {
        match self {
            Source::Constant(term) => *term,
            Source::Memory(tensor, address) => memory[*tensor][address.at(point)],
        }
    }
}

/// An operation with its addresses worked out.
enum Action {
    MultiplyAdd {
        start: Option<(Source, u32)>,
        product: Option<(Source, Source)>,
        square: bool,
        combine: Combine,
        finish: Finish,
        shift: u32,
    },
    Product {
        factor: Source,
        shift: u32,
        one: i64,
    },
    Divide {
        dividend: Source,
        divisor: Source,
        places: u32,
        rounding: Rounding,
    },
    Function {
        table: u32,
        input: Source,
    },
}
