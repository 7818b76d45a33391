//! Operations with their addresses worked out.

use super::address::{Address, advance};
use arch::division::{Rounding, divide};
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish};
use arch::number::{round_half_even, saturate, wrap};
use compiler::fixed::{Kind, Operand, Operation, Program, SumBound};

/// An operation whose operands are linear addresses: `base + sum(stride * iterations of each iterator)`.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    extents: Vec<usize>,
    free: usize,
    out: usize,
    destination: Address,
    action: Action,
}

#[derive(Debug, Clone)]
enum Source {
    Memory { tensor: usize, address: Address },
    Constant(i64),
}

#[derive(Debug, Clone)]
enum Action {
    MultiplyAdd {
        start: Option<Source>,
        align: u32,
        product: Option<Factors>,
        combine: Combine,
        shift: u32,
        finish: Finish,
        /// Whether words make sums that the accumulator does not hold; then they are computed as they are.
        may_wrap: bool,
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
        table: usize,
        input: Source,
    },
}

/// The factors of each product, or what is squared: their difference.
#[derive(Debug, Clone)]
struct Factors {
    a: Source,
    b: Source,
    square: bool,
}

impl Factors {
    /// Modulo 2^64.
    fn narrow(&self, a: i64, b: i64) -> i64 {
        if self.square { (a - b).wrapping_mul(a - b) } else { a.wrapping_mul(b) }
    }

    /// Words have at most 32 bits.
    fn exact(&self, a: i64, b: i64) -> i128 {
        if self.square { i128::from(a - b) * i128::from(a - b) } else { i128::from(a * b) }
    }
}

impl Compiled {
    pub(super) fn new(program: &Program, operation: &Operation) -> Compiled {
        let source = |operand: &Operand| match operand {
            Operand::Constant { word, .. } => Source::Constant(*word),
            Operand::Read { tensor, index } => Source::Memory {
                tensor: tensor.0,
                address: Address::of(operation, index, &program.tensors[tensor.0].shape),
            },
        };
        let action = match &operation.kind {
            Kind::MultiplyAdd { start, align, product, square, combine, shift, finish, bound, .. } => {
                Action::MultiplyAdd {
                    start: start.as_ref().map(source),
                    align: *align,
                    product: product.as_ref().map(|(a, b)| Factors { a: source(a), b: source(b), square: *square }),
                    combine: *combine,
                    shift: *shift,
                    finish: finish.alu(),
                    may_wrap: *bound == SumBound::Ranges && !combine.compares(),
                }
            }
            Kind::Product { factor, shift, one } => {
                Action::Product { factor: source(factor), shift: *shift, one: *one }
            }
            Kind::Divide { dividend, divisor, places, rounding } => Action::Divide {
                dividend: source(dividend),
                divisor: source(divisor),
                places: *places,
                rounding: *rounding,
            },
            Kind::Function { table, input } => Action::Function { table: *table, input: source(input) },
        };
        Compiled {
            extents: operation.iterators.iter().map(|i| i.extent() as usize).collect(),
            free: operation.free,
            out: operation.out.0,
            destination: Address::of(operation, &operation.out_index, &program.tensors[operation.out.0].shape),
            action,
        }
    }

    /// Compute every element; returns how many results saturated.
    pub(super) fn run(&self, program: &Program, memory: &mut [Vec<i64>]) -> u64 {
        if self.extents.contains(&0) {
            return 0;
        }
        let word = program.word;
        let mut saturations = 0;
        let mut point = vec![0usize; self.extents.len()];
        loop {
            let (result, saturated) = match &self.action {
                Action::MultiplyAdd { start, align, product, combine, shift, finish, may_wrap } => {
                    let start = start.as_ref().map(|s| s.at(memory, &point));
                    let sum = if combine.compares() {
                        let extreme =
                            product.as_ref().map(|factors| self.extreme(factors, *combine, memory, &mut point));
                        let start = start.map(|start| i128::from(start) << align);
                        let all = start.into_iter().chain(extreme);
                        all.reduce(|one, other| combine.join(one, other)).expect("something is compared")
                    } else if *may_wrap {
                        self.whole(
                            start.map(|start| i128::from(start) << align),
                            product.as_ref(),
                            *combine,
                            memory,
                            &mut point,
                        )
                    } else {
                        self.total(program, (start, align), product.as_ref(), *combine, memory, &mut point)
                    };
                    let (result, saturated) = finished(sum, program, *shift, *finish);
                    // What wraps is not the sum: it counts as clipped, whatever is left of it.
                    (result, saturated || *may_wrap && wrap(sum, program.accumulator) != sum)
                }
                Action::Product { factor, shift, one } => self.product(factor, *shift, *one, word, memory, &mut point),
                Action::Divide { dividend, divisor, places, rounding } => {
                    divide(dividend.at(memory, &point), divisor.at(memory, &point), *places, *rounding, word)
                }
                Action::Function { table, input } => {
                    let table: &FunctionTable = &program.tables[*table];
                    table.evaluate(input.at(memory, &point))
                }
            };
            let element = self.destination.at(&point);
            memory[self.out][element] = result;
            saturations += u64::from(saturated);
            if !advance(&mut point[..self.free], &self.extents[..self.free]) {
                return saturations;
            }
        }
    }

    /// Free points: the sums that it makes.
    pub(super) fn points(&self) -> usize {
        if self.extents.contains(&0) { 0 } else { self.extents[..self.free].iter().product() }
    }

    /// Add to each sum what the products of this sample are, without start and rounding.
    pub(super) fn add_to(&self, program: &Program, memory: &[Vec<i64>], sums: &mut [i128]) {
        let Action::MultiplyAdd { product, combine, .. } = &self.action else { panic!("only sums are divided") };
        let mut point = vec![0usize; self.extents.len()];
        let (free, reduced) = self.extents.split_at(self.free);
        if let (Some(factors), Some((&count, outer))) = (product, free.split_last())
            && reduced.iter().all(|&extent| extent == 1)
            && count > 0
        {
            // Of one product each, many sums are made in one go.
            let sign = if *combine == Combine::Subtract { -1 } else { 1 };
            let inner = outer.len();
            for row in sums.chunks_mut(count) {
                let a = Run::new(&factors.a, memory, &point, inner);
                let b = Run::new(&factors.b, memory, &point, inner);
                for (k, sum) in row.iter_mut().enumerate() {
                    *sum = sum.wrapping_add(sign * factors.exact(a.get(k), b.get(k)));
                }
                advance(&mut point[..inner], outer);
            }
            return;
        }
        for sum in sums {
            *sum = sum.wrapping_add(self.total(program, (None, &0), product.as_ref(), *combine, memory, &mut point));
            advance(&mut point[..self.free], free);
        }
    }

    /// Results of sums that were made elsewhere; returns how many saturated.
    pub(super) fn conclude(&self, program: &Program, memory: &mut [Vec<i64>], sums: &[i128]) -> u64 {
        let Action::MultiplyAdd { start, align, shift, finish, .. } = &self.action else {
            panic!("only sums are divided")
        };
        let mut point = vec![0usize; self.extents.len()];
        let mut saturations = 0;
        for &sum in sums {
            let start = start.as_ref().map_or(0, |start| i128::from(start.at(memory, &point)) << align);
            let (result, saturated) = finished(start.wrapping_add(sum), program, *shift, *finish);
            memory[self.out][self.destination.at(&point)] = result;
            saturations += u64::from(saturated);
            advance(&mut point[..self.free], &self.extents[..self.free]);
        }
        saturations
    }

    /// Start and products at a point; exact modulo `2^accumulator`.
    fn total(
        &self,
        program: &Program,
        (start, align): (Option<i64>, &u32),
        product: Option<&Factors>,
        combine: Combine,
        memory: &[Vec<i64>],
        point: &mut [usize],
    ) -> i128 {
        if program.accumulator <= 64 {
            let sum = self.sum64(product, memory, point);
            let sum = if combine == Combine::Subtract { sum.wrapping_neg() } else { sum };
            i128::from(start.unwrap_or(0).wrapping_shl(*align).wrapping_add(sum))
        } else {
            self.whole(start.map(|start| i128::from(start) << align), product, combine, memory, point)
        }
    }

    /// Start and products at a point.
    fn whole(
        &self,
        start: Option<i128>,
        product: Option<&Factors>,
        combine: Combine,
        memory: &[Vec<i64>],
        point: &mut [usize],
    ) -> i128 {
        let sum = self.sum128(product, memory, point);
        let sum = if combine == Combine::Subtract { sum.wrapping_neg() } else { sum };
        start.unwrap_or(0).wrapping_add(sum)
    }

    /// Call `visit` with base addresses and strides of the two factors for each run of the innermost reduction loop.
    fn runs(
        &self,
        Factors { a, b, .. }: &Factors,
        memory: &[Vec<i64>],
        point: &mut [usize],
        mut visit: impl FnMut(Run<'_>, Run<'_>, usize),
    ) {
        let innermost = self.extents.len() - 1;
        let outer = self.free..innermost;
        loop {
            point[innermost] = 0;
            visit(
                Run::new(a, memory, point, innermost),
                Run::new(b, memory, point, innermost),
                self.extents[innermost],
            );
            if !advance(&mut point[outer.clone()], &self.extents[outer.clone()]) {
                return;
            }
        }
    }

    fn sum64(&self, product: Option<&Factors>, memory: &[Vec<i64>], point: &mut [usize]) -> i64 {
        let Some(factors) = product else { return 0 };
        if self.free == self.extents.len() {
            return factors.narrow(factors.a.at(memory, point), factors.b.at(memory, point));
        }
        let mut sum = 0i64;
        self.runs(factors, memory, point, |a, b, count| {
            if let (Some(a), Some(b)) = (a.contiguous(count), b.contiguous(count)) {
                for (&a, &b) in a.iter().zip(b) {
                    sum = sum.wrapping_add(factors.narrow(a, b));
                }
            } else {
                for k in 0..count {
                    sum = sum.wrapping_add(factors.narrow(a.get(k), b.get(k)));
                }
            }
        });
        sum
    }

    fn sum128(&self, product: Option<&Factors>, memory: &[Vec<i64>], point: &mut [usize]) -> i128 {
        let Some(factors) = product else { return 0 };
        if self.free == self.extents.len() {
            return factors.exact(factors.a.at(memory, point), factors.b.at(memory, point));
        }
        let mut sum = 0i128;
        self.runs(factors, memory, point, |a, b, count| {
            for k in 0..count {
                sum = sum.wrapping_add(factors.exact(a.get(k), b.get(k)));
            }
        });
        sum
    }

    /// The largest or smallest product.
    fn extreme(&self, factors: &Factors, combine: Combine, memory: &[Vec<i64>], point: &mut [usize]) -> i128 {
        if self.free == self.extents.len() {
            return factors.exact(factors.a.at(memory, point), factors.b.at(memory, point));
        }
        let mut found: Option<i128> = None;
        self.runs(factors, memory, point, |a, b, count| {
            let products = (0..count).map(|k| factors.exact(a.get(k), b.get(k)));
            let best = if combine == Combine::Maximum { products.max() } else { products.min() };
            let both = found.into_iter().chain(best);
            found = if combine == Combine::Maximum { both.max() } else { both.min() };
        });
        found.expect("there is at least one point")
    }

    fn product(
        &self,
        factor: &Source,
        shift: u32,
        one: i64,
        word: u32,
        memory: &[Vec<i64>],
        point: &mut [usize],
    ) -> (i64, bool) {
        let (mut value, mut saturated) = (one, false);
        let inner = self.free..self.extents.len();
        loop {
            let next = i128::from(value) * i128::from(factor.at(memory, point));
            let (rounded, clipped) = saturate(round_half_even(next, shift), word);
            value = rounded;
            saturated |= clipped;
            if !advance(&mut point[inner.clone()], &self.extents[inner.clone()]) {
                return (value, saturated);
            }
        }
    }
}

/// What an accumulator becomes, and whether it saturated.
fn finished(sum: i128, program: &Program, shift: u32, finish: Finish) -> (i64, bool) {
    let sum = wrap(sum, program.accumulator);
    match finish {
        Finish::Round => saturate(round_half_even(sum, shift), program.word),
        Finish::Negative => (i64::from(sum < 0), false),
    }
}

impl Source {
    fn at(&self, memory: &[Vec<i64>], point: &[usize]) -> i64 {
        match self {
            Source::Constant(word) => *word,
            Source::Memory { tensor, address } => memory[*tensor][address.at(point)],
        }
    }
}

/// One operand along the innermost loop.
#[derive(Clone, Copy)]
enum Run<'a> {
    Words { words: &'a [i64], first: usize, stride: i64 },
    Constant(i64),
}

impl<'a> Run<'a> {
    fn new(source: &Source, memory: &'a [Vec<i64>], point: &[usize], innermost: usize) -> Run<'a> {
        match source {
            Source::Constant(word) => Run::Constant(*word),
            Source::Memory { tensor, address } => {
                Run::Words { words: &memory[*tensor], first: address.at(point), stride: address.strides[innermost] }
            }
        }
    }

    fn get(self, k: usize) -> i64 {
        match self {
            Run::Constant(word) => word,
            Run::Words { words, first, stride } => words[(first as i64 + stride * k as i64) as usize],
        }
    }

    fn contiguous(self, count: usize) -> Option<&'a [i64]> {
        match self {
            Run::Words { words, first, stride: 1 } => Some(&words[first..first + count]),
            _ => None,
        }
    }
}
