//! The slow twin: the same words, point by point as the operations say it, in wide arithmetic. Tests compare the fast evaluator with it.
//!
//! It shares the number code and the tables with it, and nothing else: neither loops nor lanes.

use arch::division::divide;
use arch::isa;
use arch::number::{round_half_even, saturate, wrap};
use compiler::fixed::{Kind, Operand, Operation, Program, SumBound};
use compiler::tensor::{Affine, Iterator};

/// Run every operation once on the words of all tensors, row-major; how many results of each were clipped.
pub(super) fn step(program: &Program, memory: &mut [Vec<i64>]) -> Vec<u64> {
    program.operations.iter().map(|operation| run(program, operation, memory)).collect()
}

fn run(program: &Program, operation: &Operation, memory: &mut [Vec<i64>]) -> u64 {
    let (free, reduced) = operation.iterators.split_at(operation.free);
    if operation.iterators.iter().any(|iterator| iterator.extent() == 0) {
        return 0;
    }
    let mut clipped = 0;
    for point in points(free) {
        let inner = || points(reduced).map(|reduced| [point.as_slice(), &reduced].concat());
        let (word, saturated) = result(program, operation, memory, &point, inner);
        let element = element(program, operation.out.0, &operation.out_index, &point);
        memory[operation.out.0][element] = word;
        clipped += u64::from(saturated);
    }
    clipped
}

/// The word at a point of the free iterators, and whether it is clipped; `inner` gives the points of the reduction.
fn result<P: std::iter::Iterator<Item = Vec<i64>>>(
    program: &Program,
    operation: &Operation,
    memory: &[Vec<i64>],
    point: &[i64],
    inner: impl Fn() -> P,
) -> (i64, bool) {
    let word = |operand: &Operand, point: &[i64]| match operand {
        Operand::Constant { word, .. } => *word,
        Operand::Read { tensor, index } => memory[tensor.0][element(program, tensor.0, index, point)],
    };
    match &operation.kind {
        Kind::MultiplyAdd { start, align, product, square, combine, shift, finish, bound, .. } => {
            let products = product.iter().flat_map(|(a, b)| {
                inner().map(|point| {
                    let (a, b) = (i128::from(word(a, &point)), i128::from(word(b, &point)));
                    let product = if *square { (a - b) * (a - b) } else { a * b };
                    if *combine == isa::Combine::Subtract { -product } else { product }
                })
            });
            let start = start.iter().map(|start| i128::from(word(start, point)) << align);
            let sum = start.chain(products).reduce(|one, other| combine.join(one, other)).unwrap_or(0);
            let held = wrap(sum, program.accumulator);
            let (word, saturated) = match finish.alu() {
                isa::Finish::Round => saturate(round_half_even(held, *shift), program.word),
                isa::Finish::Negative => (i64::from(held < 0), false),
                isa::Finish::Positive(limit) => {
                    let (word, saturated) = saturate(round_half_even(held, *shift), program.word);
                    let limit = i64::from(limit);
                    (
                        if word < 0 {
                            0
                        } else if word > limit {
                            limit
                        } else {
                            word
                        },
                        saturated,
                    )
                }
            };
            let may_wrap = *bound == SumBound::Ranges && !combine.compares();
            (word, saturated || may_wrap && held != sum)
        }
        Kind::Product { factor, shift, one } => inner().fold((*one, false), |(value, any), point| {
            let next = i128::from(value) * i128::from(word(factor, &point));
            let (rounded, clipped) = saturate(round_half_even(next, *shift), program.word);
            (rounded, any || clipped)
        }),
        Kind::Divide { dividend, divisor, places, rounding } => {
            divide(word(dividend, point), word(divisor, point), *places, *rounding, program.word)
        }
        Kind::Function { table, input } => program.tables[*table].evaluate(word(input, point)),
    }
}

/// All points of a box, in lexicographic order.
fn points(iterators: &[Iterator]) -> impl std::iter::Iterator<Item = Vec<i64>> {
    let count: u64 = iterators.iter().map(Iterator::extent).product();
    (0..count).map(|number| {
        let mut rest = number;
        let mut point: Vec<i64> = iterators
            .iter()
            .rev()
            .map(|iterator| {
                let place = iterator.low + (rest % iterator.extent()) as i64;
                rest /= iterator.extent();
                place
            })
            .collect();
        point.reverse();
        point
    })
}

fn element(program: &Program, tensor: usize, index: &[Affine], point: &[i64]) -> usize {
    let shape = &program.tensors[tensor].shape;
    index.iter().zip(shape).fold(0, |at, (index, &extent)| at * extent as usize + index.at(point) as usize)
}

mod tests {
    use super::*;
    use crate::fixed::Fixed;
    use arch::division::Rounding;
    use arch::isa::Combine;
    use compiler::fixed::{Finish, Role, Tensor};
    use compiler::tensor::{IterId, TensorId};
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    /// Draws operations and words.
    struct Draw(ChaCha8Rng);

    impl Draw {
        fn below(&mut self, n: usize) -> usize {
            self.0.next_u32() as usize % n
        }

        fn of<T: Copy>(&mut self, all: &[T]) -> T {
            all[self.below(all.len())]
        }

        /// Any word, often one of the ends.
        fn word(&mut self, bits: u32) -> i64 {
            let any = i64::from(self.0.next_u32() as i32) >> (32 - bits);
            let end = if any < 0 { -1 << (bits - 1) } else { (1 << (bits - 1)) - 1 };
            match self.below(4) {
                0 => end,
                1 => any >> self.below(bits as usize),
                _ => any,
            }
        }

        /// A read of a new tensor by some of these iterators in any order; now and then at a sum with another one, or every second element.
        fn read(&mut self, program: &mut Program, iterators: &[Iterator], within: usize) -> Operand {
            let mut used: Vec<usize> = (0..within).filter(|_| self.below(4) > 0).collect();
            (0..used.len()).for_each(|n| used.swap(n, self.below(n + 1)));
            let index = used.iter().map(|&n| {
                let mut form =
                    Affine { offset: self.below(2) as i64, terms: vec![(IterId(n), self.of(&[1, 1, 1, 2]))] };
                let other = self.below(within);
                if self.below(5) == 0 && other != n {
                    form.terms.push((IterId(other), 1));
                    form.terms.sort_unstable();
                }
                form
            });
            let index: Vec<Affine> = index.collect();
            let reach = |form: &Affine| {
                let of_term = |&(IterId(n), stride): &(IterId, i64)| stride * (iterators[n].high - 1);
                (form.offset + form.terms.iter().map(of_term).sum::<i64>() + 1) as u32
            };
            let tensor = tensor(program, index.iter().map(reach).collect());
            Operand::Read { tensor, index }
        }
    }

    fn tensor(program: &mut Program, shape: Vec<u32>) -> TensorId {
        let name = format!("t{}", program.tensors.len());
        let tensor = Tensor { name, shape, role: Role::State, fraction: 0, columns: None, span: arch::Span::default() };
        program.tensors.push(tensor);
        TensorId(program.tensors.len() - 1)
    }

    /// One operation of any kind but a function, on tensors of its own.
    fn program(draw: &mut Draw) -> Program {
        let word = draw.of(&[8, 8, 13, 16, 16, 24, 32]);
        let accumulator = draw.of(&[2 * word, 2 * word + 3, 48.max(2 * word), 80, 96]);
        let (tensors, operations) = (Vec::new(), Vec::new());
        let mut program = Program { word, accumulator, tensors, operations, tables: Vec::new(), names: Vec::new() };
        let (free, all) = (draw.below(4), draw.below(3));
        let iterators = (0..free + all).map(|_| {
            let low = draw.below(2) as i64;
            let extent = draw.of(&[1, 2, 3, 5, 7, 8, 9, 13, 31, 33, 41, 67, 131]);
            Iterator { name: "i".into(), low, high: low + extent }
        });
        let mut iterators: Vec<Iterator> = iterators.collect();
        while iterators.iter().map(Iterator::extent).product::<u64>() > 20_000 {
            for iterator in &mut iterators {
                iterator.high = (iterator.high + 1) / 2 + iterator.low;
            }
        }
        // Now and then several points write one element: the last one counts.
        let operand = draw.read(&mut program, &iterators, free);
        let Operand::Read { tensor: out, index: out_index } = operand.clone() else { unreachable!("it reads") };
        let own = draw.below(3) == 0;
        let mut read = |draw: &mut Draw, within| match draw.below(8) {
            0 => Operand::Constant { word: draw.word(word), fraction: 0 },
            _ => draw.read(&mut program, &iterators, within),
        };
        let (shift, within) = (draw.of(&[0, 1, 5, word, 2 * word - 1, 40, 63]), iterators.len());
        let (start, a, b) = (read(draw, free), read(draw, within), read(draw, within));
        let start = if own { operand } else { start };
        let kind = match draw.below(8) {
            0 if all == 0 => Kind::Divide {
                dividend: start,
                divisor: a,
                places: draw.below(20) as u32,
                rounding: draw.of(&[Rounding::Nearest, Rounding::Down]),
            },
            1 => Kind::Product { factor: a, shift: shift.min(word), one: 1 },
            other => Kind::MultiplyAdd {
                start: (other != 2).then_some(start),
                align: draw.of(&[0, 1, word - 1, 20]),
                product: (other == 2 || draw.below(6) > 0).then_some((a, b)),
                square: draw.below(3) == 0,
                scale: 0,
                combine: draw.of(&Combine::ALL),
                shift,
                finish: draw.of(&[
                    Finish::Round,
                    Finish::Round,
                    Finish::Positive(i32::MAX),
                    Finish::Positive(9),
                    Finish::Negative,
                ]),
                bound: draw.of(&[SumBound::Formats, SumBound::Ranges]),
            },
        };
        let free = if matches!(kind, Kind::Divide { .. }) { iterators.len() } else { free };
        program.operations.push(Operation { iterators, free, out, out_index, kind, origin: arch::Origin::default() });
        program
    }

    /// Every word and every count of random operations: strides, windows, tiles and what is left of them, lanes of every width.
    #[test]
    fn lanes_are_words_one_by_one() {
        let (mut clipped, mut counted) = (0, 0);
        for seed in 0..1500 {
            let mut draw = Draw(ChaCha8Rng::seed_from_u64(seed));
            let program = program(&mut draw);
            let mut fixed = Fixed::new(&program);
            let mut memory = Vec::new();
            for (id, tensor) in program.tensors.iter().enumerate() {
                let elements: u32 = tensor.shape.iter().product();
                let words: Vec<i64> = (0..elements).map(|_| draw.word(program.word)).collect();
                fixed.set(TensorId(id), &words);
                memory.push(words);
            }
            let mut counts = vec![0; program.operations.len()];
            for _ in 0..2 {
                fixed.step();
                counts.iter_mut().zip(step(&program, &mut memory)).for_each(|(sum, count)| *sum += count);
            }
            for (id, words) in memory.iter().enumerate() {
                assert_eq!(fixed.words(TensorId(id)), *words, "seed {seed}: t{id} of\n{program}");
            }
            let found: Vec<u64> = fixed.computed().iter().map(|count| count.values).collect();
            assert_eq!(found, counts, "seed {seed}: counts of\n{program}");
            (clipped, counted) = (clipped + counts[0], counted + u64::from(counts[0] == 0));
        }
        assert!(clipped > 5_000 && counted > 200, "{clipped} words clipped, none in {counted} programs");
    }
}
