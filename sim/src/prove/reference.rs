//! The reference: what the fixed-point program computes, for all inputs at once.
//!
//!     h = round(+ w[i] * x[i]) >> 12  over i in 0..3       =>      finish(w[0] * x[0] + w[1] * x[1] + w[2] * x[2], round, 12)
//!
//! Operation by operation and element by element, as [`crate::fixed`] does it with numbers. It knows nothing of a grid.

use crate::array::values::Values;
use crate::fixed::address::{Address, advance};
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish};
use compiler::fixed::{Kind, Operand, Operation, Program, Role};

/// Values of a grid with which a program computes, too.
pub(super) trait Algebra: Values {
    /// An element that the host sends: of a weight (step 0), or of an input of step 1, 2, ...
    fn given(&mut self, tensor: usize, element: usize, step: usize) -> Self::Word;
    /// An element that no operation has computed.
    fn undefined(&mut self) -> Self::Word;
    /// What becomes of a sum.
    fn finished(&mut self, sum: &Self::Sum, finish: Finish, shift: u32) -> Self::Word;
    /// The quotient of the two words in a sum.
    fn quotient(&mut self, sum: &Self::Sum, places: u32, rounding: Rounding) -> Self::Word;
    /// The number of a table.
    fn table(&mut self, table: &FunctionTable) -> u32;
    /// What a table makes of a word.
    fn function(&mut self, table: u32, of: Self::Word) -> Self::Word;
}

/// An element that an operation has computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computed<W> {
    /// In which step, from 1 on.
    pub(super) step: usize,
    /// Number of the operation.
    pub(super) operation: usize,
    /// Row-major element of its tensor.
    pub(super) element: usize,
    /// What it is.
    pub(super) term: W,
}

/// The program and its memory.
#[derive(Debug)]
pub(super) struct Reference<'a, W> {
    pub(super) program: &'a Program,
    pub(super) memory: Vec<Vec<W>>,
    /// Numbers of the program's tables.
    tables: Vec<u32>,
    steps: usize,
}

/// Elements of each tensor.
fn elements(shape: &[u32]) -> usize {
    shape.iter().map(|&n| n as usize).product()
}

impl<'a, W: Copy + Default> Reference<'a, W> {
    /// The memory before the first step: weights are given, and what no operation computes stays undefined.
    pub(super) fn new(program: &'a Program, values: &mut impl Algebra<Word = W>) -> Reference<'a, W> {
        let memory = program.tensors.iter().enumerate().map(|(number, tensor)| match &tensor.role {
            Role::Parameter(words) => words.iter().map(|&word| values.constant(word)).collect(),
            Role::State => (0..elements(&tensor.shape)).map(|element| values.given(number, element, 0)).collect(),
            // Inputs are set in each step.
            Role::Input => vec![W::default(); elements(&tensor.shape)],
            _ => (0..elements(&tensor.shape)).map(|_| values.undefined()).collect(),
        });
        let memory = memory.collect();
        Reference {
            program,
            memory,
            tables: program.tables.iter().map(|table| values.table(table)).collect(),
            steps: 0,
        }
    }

    /// The inputs of the next step.
    pub(super) fn set_inputs(&mut self, values: &mut impl Algebra<Word = W>) {
        let inputs = self.program.tensors.iter().zip(&mut self.memory).enumerate();
        for (number, (_, words)) in inputs.filter(|(_, (tensor, _))| tensor.role == Role::Input) {
            for (element, word) in words.iter_mut().enumerate() {
                *word = values.given(number, element, self.steps + 1);
            }
        }
    }

    /// Run every operation once, and tell of every element; false stops.
    pub(super) fn step(&mut self, values: &mut impl Algebra<Word = W>, mut tell: impl FnMut(Computed<W>) -> bool) {
        self.steps += 1;
        for (number, operation) in self.program.operations.iter().enumerate() {
            let step = self.steps;
            let told = |element, term| tell(Computed { step, operation: number, element, term });
            if !self.run(operation, values, told) {
                return;
            }
        }
    }

    fn source(&self, operation: &Operation, operand: &Operand, values: &mut impl Algebra<Word = W>) -> Source<W> {
        match operand {
            Operand::Constant { word, .. } => Source::Constant(values.constant(*word)),
            Operand::Read { tensor, index } => {
                Source::Memory(tensor.0, Address::of(operation, index, &self.program.tensors[tensor.0].shape))
            }
        }
    }

    fn run(
        &mut self,
        operation: &Operation,
        values: &mut impl Algebra<Word = W>,
        mut tell: impl FnMut(usize, W) -> bool,
    ) -> bool {
        let extents: Vec<usize> = operation.iterators.iter().map(|i| i.extent() as usize).collect();
        if extents.contains(&0) {
            return true;
        }
        let destination = Address::of(operation, &operation.out_index, &self.program.tensors[operation.out.0].shape);
        let kind = operation.kind.map(|operand| self.source(operation, operand, values));
        let mut point = vec![0; extents.len()];
        loop {
            let term = self.element(&kind, &extents, operation.free, &mut point, values);
            let element = destination.at(&point);
            self.memory[operation.out.0][element] = term;
            if !tell(element, term) {
                return false;
            }
            if !advance(&mut point[..operation.free], &extents[..operation.free]) {
                return true;
            }
        }
    }

    /// One element; the free part of the point says which.
    fn element<V: Algebra<Word = W>>(
        &self,
        kind: &Kind<Source<W>>,
        extents: &[usize],
        free: usize,
        point: &mut [usize],
        values: &mut V,
    ) -> W {
        match kind {
            Kind::MultiplyAdd { start, align, product, square, combine, finish, shift, .. } => {
                let mut sum = match start {
                    Some(start) => values.start(start.at(&self.memory, point), *align),
                    None => values.nothing(*combine),
                };
                self.products(product.as_ref(), extents, free, point, |a, b| match combine {
                    _ if *square => values.square(*combine, &mut sum, a, b),
                    Combine::Add => values.add(&mut sum, a, b),
                    Combine::Subtract => values.subtract(&mut sum, a, b),
                    Combine::Maximum | Combine::Minimum => values.compare(*combine, &mut sum, a, b),
                });
                values.finished(&sum, finish.alu(), *shift)
            }
            Kind::Product { factor, shift, one } => {
                let mut result = values.constant(*one);
                let inner = free..extents.len();
                loop {
                    let mut sum = values.nothing(Combine::Add);
                    values.add(&mut sum, result, factor.at(&self.memory, point));
                    result = values.finished(&sum, Finish::Round, *shift);
                    if !advance(&mut point[inner.clone()], &extents[inner.clone()]) {
                        return result;
                    }
                }
            }
            Kind::Divide { dividend, divisor, places, rounding } => {
                let mut sum = values.start(dividend.at(&self.memory, point), self.program.word);
                let divisor = values.start(divisor.at(&self.memory, point), 0);
                values.join(Combine::Add, &mut sum, &divisor);
                values.quotient(&sum, *places, *rounding)
            }
            Kind::Function { table, input } => values.function(self.tables[*table], input.at(&self.memory, point)),
        }
    }

    /// Visit the factors of every product at a point.
    fn products(
        &self,
        factors: Option<&(Source<W>, Source<W>)>,
        extents: &[usize],
        free: usize,
        point: &mut [usize],
        mut visit: impl FnMut(W, W),
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

enum Source<W> {
    Constant(W),
    Memory(usize, Address),
}

impl<W: Copy> Source<W> {
    fn at(&self, memory: &[Vec<W>], point: &[usize]) -> W {
        match self {
            Source::Constant(term) => *term,
            Source::Memory(tensor, address) => memory[*tensor][address.at(point)],
        }
    }
}
