//! Operations as loop nests: addresses worked out, lanes chosen, rounding prepared.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::address::Address;
use super::finish::{Finish, WordSum};
use crate::lanes::loops::{A, B, Loops, NUMBER, OUT, Places, START};
use crate::lanes::{self, DOUBLE, Products, Values, begin};
use arch::division::{Rounding, divide};
use arch::number::{NARROW, round_half_even, saturate};
use compiler::fixed::{Kind, Operand, Operation, Program, SumBound};

/// An operation that is ready to run.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    loops: Loops,
    /// Whether there is nothing to do.
    empty: bool,
    out: usize,
    /// Start, first and second operand.
    sources: [Source; 3],
    action: Action,
}

#[derive(Debug, Clone)]
enum Source {
    /// The tensor that is written.
    Own,
    Tensor(usize),
    Constant([i32; 1]),
}

#[derive(Debug, Clone)]
enum Action {
    Sums(Sums),
    Product { shift: u32, one: i64 },
    Divide { places: u32, rounding: Rounding },
    Function { table: usize },
}

#[derive(Debug, Clone)]
struct Sums {
    /// Whether 64 bits hold them.
    narrow: bool,
    /// Left shift of the start, if there is one.
    start: Option<u32>,
    products: Option<Products>,
    finish: Finish,
}

impl Compiled {
    pub(super) fn new(program: &Program, operation: &Operation) -> Compiled {
        let (start, a, b, ordered) = match &operation.kind {
            Kind::MultiplyAdd { start, product, .. } => {
                (start.as_ref(), product.as_ref().map(|(a, _)| a), product.as_ref().map(|(_, b)| b), false)
            }
            Kind::Product { factor, .. } => (None, Some(factor), None, true),
            Kind::Divide { dividend, divisor, .. } => (None, Some(dividend), Some(divisor), false),
            Kind::Function { input, .. } => (None, Some(input), None, false),
        };
        let shape = |tensor: usize| &program.tensors[tensor].shape;
        let source = |operand: Option<&Operand>| match operand {
            Some(Operand::Read { tensor, index }) => {
                let source = if *tensor == operation.out { Source::Own } else { Source::Tensor(tensor.0) };
                (source, Some(Address::of(operation, index, shape(tensor.0))))
            }
            Some(Operand::Constant { word, .. }) => (Source::Constant([*word as i32]), None),
            None => (Source::Constant([0]), None),
        };
        let [start, a, b] = [start, a, b].map(source);
        let out = Some(Address::of(operation, &operation.out_index, shape(operation.out.0)));
        let extents: Vec<usize> = operation.iterators.iter().map(|i| i.extent() as usize).collect();
        let accesses = [&out, &start.1, &a.1, &b.1].map(|address| {
            let Address { base, strides } = address.as_ref()?;
            Some((*base, strides.as_slice()))
        });
        Compiled {
            loops: Loops::new(&extents, operation.free, accesses, ordered),
            empty: extents.contains(&0),
            out: operation.out.0,
            sources: [start.0, a.0, b.0],
            action: Action::new(program, operation),
        }
    }

    /// Compute every element; returns how many results saturated.
    pub(super) fn run(&self, program: &Program, memory: &mut [Vec<i32>]) -> u64 {
        if self.empty {
            return 0;
        }
        let mut out = std::mem::take(&mut memory[self.out]);
        let reads = self.reads(memory);
        let clipped = match &self.action {
            Action::Sums(sums) => {
                let mut rounded = Rounded { reads, sums, out: &mut out, clipped: 0 };
                sums.run(&self.loops, &mut rounded);
                rounded.clipped
            }
            action => self.one_by_one(action, program, reads, &mut out),
        };
        memory[self.out] = out;
        clipped
    }

    /// The words of each source, but for those of the tensor that is written.
    fn reads<'m>(&'m self, memory: &'m [Vec<i32>]) -> [Option<&'m [i32]>; 3] {
        self.sources.each_ref().map(|source| match source {
            Source::Own => None,
            Source::Tensor(tensor) => Some(memory[*tensor].as_slice()),
            Source::Constant(word) => Some(word.as_slice()),
        })
    }

    /// What is no sum.
    fn one_by_one(&self, action: &Action, program: &Program, reads: [Option<&[i32]>; 3], out: &mut [i32]) -> u64 {
        let mut saturations = 0;
        self.loops.each_point(|places| {
            let word = |access: usize, places: Places| {
                i64::from(reads[access - START].unwrap_or(out)[places[access] as usize])
            };
            let (result, saturated) = match action {
                Action::Product { shift, one } => {
                    let mut all = (*one, false);
                    self.loops.each_reduced(places, |places| {
                        let next = i128::from(all.0) * i128::from(word(A, places));
                        let (rounded, clipped) = saturate(round_half_even(next, *shift), program.word);
                        all = (rounded, all.1 || clipped);
                    });
                    all
                }
                Action::Divide { places: by, rounding } => {
                    divide(word(A, places), word(B, places), *by, *rounding, program.word)
                }
                Action::Function { table } => program.tables[*table].evaluate(word(A, places)),
                Action::Sums(_) => unreachable!("sums are computed side by side"),
            };
            out[places[OUT] as usize] = result as i32;
            saturations += u64::from(saturated);
        });
        saturations
    }

    /// Free points: the sums that it makes.
    pub(super) fn points(&self) -> usize {
        let free = self.loops.free.iter().map(|l| l.extent).product::<usize>();
        if self.empty { 0 } else { free * self.loops.vector.extent }
    }

    fn sums(&self) -> &Sums {
        let Action::Sums(sums) = &self.action else { panic!("only sums are divided") };
        sums
    }

    /// Add to each sum what the products of this sample are, without start and rounding.
    pub(super) fn add_to(&self, memory: &[Vec<i32>], sums: &mut [i128]) {
        if self.empty {
            return;
        }
        let [_, a, b] = self.reads(memory).map(|words| words.unwrap_or(&memory[self.out]));
        self.sums().run(&self.loops, &mut Unrounded { factors: (a, b), sums });
    }

    /// Results of sums that were made elsewhere; returns how many saturated.
    pub(super) fn conclude(&self, memory: &mut [Vec<i32>], sums: &[i128]) -> u64 {
        if self.empty {
            return 0;
        }
        let Sums { start, finish, .. } = self.sums();
        let mut out = std::mem::take(&mut memory[self.out]);
        let [given, ..] = self.reads(memory);
        let mut saturations = 0;
        self.loops.each_point(|places| {
            let given = |align| i128::from(given.unwrap_or(&out)[places[START] as usize]) << align;
            let sum = sums[places[NUMBER] as usize].wrapping_add(start.map_or(0, given));
            let (word, saturated) = finish.whole(sum);
            out[places[OUT] as usize] = word;
            saturations += u64::from(saturated);
        });
        memory[self.out] = out;
        saturations
    }
}

impl Action {
    fn new(program: &Program, operation: &Operation) -> Action {
        match operation.kind {
            Kind::MultiplyAdd { ref start, align, ref product, square, combine, shift, finish, bound, .. } => {
                let (bits, compares) = (operation.sum_bits(program.word), combine.compares());
                let counts_wrapped = bound == SumBound::Ranges && !compares;
                Action::Sums(Sums {
                    narrow: bits <= NARROW,
                    start: start.is_some().then_some(align),
                    products: product.is_some().then_some(Products { square, combine, doubles: bits <= DOUBLE }),
                    finish: Finish::new((program.word, program.accumulator), bits, shift, finish.alu(), counts_wrapped),
                })
            }
            Kind::Product { shift, one, .. } => Action::Product { shift, one },
            Kind::Divide { places, rounding, .. } => Action::Divide { places, rounding },
            Kind::Function { table, .. } => Action::Function { table },
        }
    }
}

/// Words with their sums of this kind, rounded.
struct Rounded<'a> {
    reads: [Option<&'a [i32]>; 3],
    sums: &'a Sums,
    out: &'a mut [i32],
    clipped: u64,
}

impl<S: WordSum> Values<S> for Rounded<'_> {
    #[inline(always)]
    fn factors(&self) -> (&[i32], &[i32]) {
        let [_, a, b] = self.reads.map(|words| words.unwrap_or(self.out));
        (a, b)
    }

    #[inline(always)]
    fn start(&self, places: &Places, vector: &Places, sums: &mut [S]) {
        match self.sums.start {
            Some(align) => {
                let words = self.reads[0].unwrap_or(self.out);
                begin(sums, words, places[START], vector[START], |word| S::start(word, align));
            }
            None => sums.fill(self.sums.products.map_or(S::ZERO, Products::nothing)),
        }
    }

    #[inline(always)]
    fn put(&mut self, places: &Places, vector: &Places, sums: &mut [S]) {
        self.clipped += S::finish(sums, &self.sums.finish, (self.out, places[OUT], vector[OUT]));
    }
}

/// The same without start and rounding, added to the sums of other samples.
struct Unrounded<'a> {
    factors: (&'a [i32], &'a [i32]),
    sums: &'a mut [i128],
}

impl<S: WordSum> Values<S> for Unrounded<'_> {
    #[inline(always)]
    fn factors(&self) -> (&[i32], &[i32]) {
        self.factors
    }

    #[inline(always)]
    fn start(&self, _: &Places, _: &Places, sums: &mut [S]) {
        sums.fill(S::ZERO);
    }

    #[inline(always)]
    fn put(&mut self, places: &Places, vector: &Places, sums: &mut [S]) {
        for (t, sum) in sums.iter().enumerate() {
            let total = &mut self.sums[(places[NUMBER] + vector[NUMBER] * t as i64) as usize];
            *total = total.wrapping_add(sum.whole());
        }
    }
}

impl Sums {
    fn run(&self, loops: &Loops, values: &mut (impl Values<i64> + Values<i128>)) {
        if self.narrow {
            lanes::run::<i64>(loops, self.products, values);
        } else {
            lanes::run::<i128>(loops, self.products, values);
        }
    }
}
