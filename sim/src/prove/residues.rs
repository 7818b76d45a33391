//! Residues: words and sums for all inputs at once, at one random point of the field modulo 2^61 - 1.
//!
//!     h = round(w * x + v * y >> 12)      sum 18 = 3 * 5 + 4 * ..  modulo p      h = hash(round, sum, 12)
//!
//! Inputs and weights are random residues, sums of products are residues, and what a rounding, a table or a divider makes of one is a hash of
//! its operands: an uninterpreted function. Two sums that are different polynomials of their words have the same residue with a probability of at
//! most 2 / p ([`crate::prove`] has the same polynomials as terms, at a hundred times the work). The laws are those of [`terms`](super::terms), but
//! that coefficients are integers, not modulo 2^A: what differs here may still be equal there, not the other way round.

use super::hash::{Map, Set};
use super::reference::Algebra;
use super::tables::Tables;
use crate::array::values::Values;
use arch::division::{Rounding, divide, operands};
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish, RootFunction, RootInstruction};
use arch::machine::Machine;
use arch::number::{round_half_even, saturate, word_max, wrap};
use std::cell::RefCell;
use std::rc::Rc;

/// The prime.
const PRIME: u64 = (1 << 61) - 1;
/// Words from here on are residues, those below are constants; the driver carries both.
const FIRST: i64 = 1 << 61;

/// A constant word, or the residue of one that is not constant. The default is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Word(i64);

impl Word {
    fn of(residue: u64) -> Word {
        Word(FIRST + residue as i64)
    }

    fn constant(self) -> Option<i64> {
        (self.0 < FIRST).then_some(self.0)
    }

    fn residue(self) -> u64 {
        if self.0 < FIRST { of_integer(self.0.into()) } else { (self.0 - FIRST) as u64 }
    }
}

fn of_integer(value: i128) -> u64 {
    value.rem_euclid(i128::from(PRIME)) as u64
}

fn plus(a: u64, b: u64) -> u64 {
    let sum = a + b;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn minus(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + PRIME - b }
}

fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let folded = (product as u64 & PRIME) + (product >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

/// `residue * 2^by`. The order of 2 is 61: farther shifts are another factor, which nothing else has.
fn shifted(residue: u64, by: u32) -> u64 {
    let scaled = times(residue, 1 << (by % 61));
    if by < 61 { scaled } else { times(scaled, hash(Made::FarShift, [by.into(), 0, 0])) }
}

/// A sum that has been computed: constant, or its residue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Closed {
    Constant(i128),
    Other(u64),
}

/// A sum that is being computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sum {
    /// The products of constants, and the residue of all others.
    Linear(i128, u64),
    /// What has been compared.
    Extreme(Combine, Vec<Closed>),
}

/// What makes a word or a sum that is not constant.
#[derive(Debug, Clone, Copy)]
enum Made {
    Given = 1,
    Fresh,
    Rounded,
    Negative,
    Positive,
    Low,
    Function,
    Quotient,
    Either,
    Largest,
    Smallest,
    FarShift,
}

/// A residue that is different for different operands, but for chance.
fn hash(made: Made, operands: [u64; 3]) -> u64 {
    let mix = |state: u64, value: u64| {
        let mut z = (state ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    operands.into_iter().fold(mix(0x51_7cc1_b727_220a, made as u64), mix) % PRIME
}

/// Words that are known, and what the laws need of them.
#[derive(Debug)]
struct Known {
    word: u32,
    accumulator: u32,
    /// Words that are not constant; whether the grid has yet to make it.
    words: Map<Word, bool>,
    /// How many the grid has yet to make.
    awaited: usize,
    /// Words that are positive parts.
    positive: Set<Word>,
    /// What sums have been rounded to.
    rounded: Map<u64, Vec<Word>>,
    /// The signs of sums.
    signs: Map<u64, Word>,
    /// Sums `t - n * t`, and the word t whose positive part each is.
    parts: Map<u64, Word>,
    tables: Tables,
    fresh: u64,
    /// Whether the reference is done.
    grid: bool,
}

/// The grid and the reference computing with residues. Clones share what they know.
#[derive(Debug, Clone)]
pub(super) struct Residues {
    accumulator: u32,
    known: Rc<RefCell<Known>>,
}

impl Residues {
    pub(super) fn new(machine: &Machine) -> Residues {
        let (word, accumulator) = (machine.word(), machine.accumulator());
        let known = Known {
            word,
            accumulator,
            words: Map::default(),
            awaited: 0,
            positive: Set::default(),
            rounded: Map::default(),
            signs: Map::default(),
            parts: Map::default(),
            tables: Tables::new(word),
            fresh: 0,
            grid: false,
        };
        Residues { accumulator, known: Rc::new(RefCell::new(known)) }
    }

    /// From now on the grid makes words, and everything that the reference made is awaited.
    pub(super) fn await_grid(&self) {
        self.known.borrow_mut().grid = true;
    }

    /// Words that the reference made and the grid has not.
    pub(super) fn awaited(&self) -> usize {
        self.known.borrow().awaited
    }

    /// Binary logarithm of the probability that a wrong word is not seen: 2 / p for each word that was made.
    pub(super) fn log2_error(&self) -> i32 {
        self.known.borrow().words.len().max(1).next_power_of_two().ilog2() as i32 + 1 - 61
    }

    fn close(&self, sum: &Sum) -> Closed {
        match sum {
            &Sum::Linear(constant, 0) => Closed::Constant(wrap(constant, self.accumulator)),
            &Sum::Linear(constant, rest) => Closed::Other(plus(rest, of_integer(wrap(constant, self.accumulator)))),
            Sum::Extreme(combine, of) => self.extreme(*combine, of),
        }
    }

    fn extreme(&self, combine: Combine, of: &[Closed]) -> Closed {
        let identity = combine.identity(self.accumulator);
        let join = |one: i128, other: &Closed| match other {
            Closed::Constant(value) => combine.join(one, *value),
            Closed::Other(_) => one,
        };
        let constant = of.iter().fold(identity, join);
        let mut own: Vec<u64> =
            of.iter().filter_map(|&one| if let Closed::Other(one) = one { Some(one) } else { None }).collect();
        own.sort_unstable();
        own.dedup();
        match own[..] {
            [] => Closed::Constant(constant),
            [only] if constant == identity => Closed::Other(only),
            _ => {
                let made = if combine == Combine::Minimum { Made::Smallest } else { Made::Largest };
                let bound = of_integer(constant);
                Closed::Other(own.iter().fold(0, |all, &one| hash(made, [all, one, bound])))
            }
        }
    }

    /// What has been compared in this way: first of all the sum itself.
    fn compared<'a>(&self, combine: Combine, sum: &'a mut Sum) -> &'a mut Vec<Closed> {
        if !matches!(sum, Sum::Extreme(own, _) if *own == combine) {
            *sum = Sum::Extreme(combine, vec![self.close(sum)]);
        }
        let Sum::Extreme(_, of) = sum else { unreachable!("just made one") };
        of
    }

    /// The parts of a sum that adds; one that compares becomes a single one.
    fn linear<'a>(&self, sum: &'a mut Sum) -> (&'a mut i128, &'a mut u64) {
        if matches!(sum, Sum::Extreme(..)) {
            *sum = match self.close(sum) {
                Closed::Constant(value) => Sum::Linear(value, 0),
                Closed::Other(residue) => Sum::Linear(0, residue),
            };
        }
        let Sum::Linear(constant, rest) = sum else { unreachable!("just made one") };
        (constant, rest)
    }

    fn add_parts(&self, sum: &mut Sum, (constant, rest): (i128, u64), subtract: bool) {
        let (own, others) = self.linear(sum);
        if subtract {
            (*own, *others) = (*own - constant, minus(*others, rest));
        } else {
            (*own, *others) = (*own + constant, plus(*others, rest));
        }
    }
}

/// `a * b`: its constant part, and the residue of the rest.
fn product(a: Word, b: Word) -> (i128, u64) {
    match (a.constant(), b.constant()) {
        (Some(a), Some(b)) => (i128::from(a) * i128::from(b), 0),
        _ => (0, times(a.residue(), b.residue())),
    }
}

/// `(a - b) * (a - b)`, multiplied out.
fn square(a: Word, b: Word) -> (i128, u64) {
    let [aa, ab, bb] = [(a, a), (a, b), (b, b)].map(|(a, b)| product(a, b));
    (aa.0 - 2 * ab.0 + bb.0, minus(plus(aa.1, bb.1), plus(ab.1, ab.1)))
}

impl Known {
    /// A word that is not constant has been made.
    fn made(&mut self, residue: u64) -> Word {
        let word = Word::of(residue);
        let grid = self.grid;
        let awaited = self.words.entry(word).or_insert_with(|| {
            self.awaited += usize::from(!grid);
            !grid
        });
        if grid && std::mem::take(awaited) {
            self.awaited -= 1;
        }
        word
    }

    /// A word that the host sends: nobody has to make it.
    fn sent(&mut self, residue: u64) -> Word {
        self.words.insert(Word::of(residue), false);
        Word::of(residue)
    }

    /// The word that is alone in a sum, times `2^shift`: law 2.
    fn alone(&self, sum: u64, shift: u32) -> Option<Word> {
        let fits = self.word + shift <= self.accumulator && shift < 61;
        let word = Word::of(times(sum, 1 << ((61 - shift % 61) % 61)));
        (fits && self.words.contains_key(&word)).then_some(word)
    }

    fn finish(&mut self, sum: Closed, finish: Finish, shift: u32) -> Word {
        match (finish, sum) {
            (Finish::Positive(limit), _) => {
                let word = self.finish(sum, Finish::Round, shift);
                let positive = self.positive(word);
                self.limited(positive, limit)
            }
            (Finish::Round, Closed::Constant(value)) => Word(saturate(round_half_even(value, shift), self.word).0),
            (Finish::Negative, Closed::Constant(value)) => Word(i64::from(value < 0)),
            (Finish::Round, Closed::Other(sum)) => self.round(sum, shift),
            (Finish::Negative, Closed::Other(sum)) => self.sign(sum),
        }
    }

    /// A word that is not negative, or a limit that is less: what machines without limits do.
    fn limited(&mut self, word: Word, limit: i32) -> Word {
        if i128::from(limit) >= word_max(self.word) {
            return word;
        }
        let room = self.less(limit, word);
        let room = self.positive(room);
        self.less(limit, room)
    }

    /// `limit - word`
    fn less(&mut self, limit: i32, word: Word) -> Word {
        let sum = match word.constant() {
            Some(value) => Closed::Constant(i128::from(limit) - i128::from(value)),
            None => Closed::Other(minus(of_integer(limit.into()), word.residue())),
        };
        self.finish(sum, Finish::Round, 0)
    }

    fn round(&mut self, sum: u64, shift: u32) -> Word {
        if let (0, Some(&word)) = (shift, self.parts.get(&sum)) {
            return self.positive(word);
        }
        if let Some(word) = self.alone(sum, shift) {
            return self.made(word.residue());
        }
        let word = self.made(hash(Made::Rounded, [sum, shift.into(), 0]));
        let known = self.rounded.entry(sum).or_default();
        if !known.contains(&word) {
            known.push(word);
            if let Some(&sign) = self.signs.get(&sum) {
                self.part(word, sign);
            }
        }
        word
    }

    /// 1 if the sum is negative, else 0; and the sums that are positive parts by it: law 3.
    fn sign(&mut self, sum: u64) -> Word {
        let sign = self.made(hash(Made::Negative, [sum, 0, 0]));
        if self.signs.insert(sum, sign).is_none() {
            let alone: Vec<Word> =
                (0..=self.accumulator - self.word).filter_map(|shift| self.alone(sum, shift)).collect();
            let rounded = self.rounded.get(&sum).cloned().unwrap_or_default();
            alone.into_iter().chain(rounded).for_each(|word| self.part(word, sign));
        }
        sign
    }

    /// `word - sign * word` is the positive part of the word.
    fn part(&mut self, word: Word, sign: Word) {
        let residue = word.residue();
        self.parts.insert(minus(residue, times(residue, sign.residue())), word);
    }

    fn positive(&mut self, word: Word) -> Word {
        match word.constant() {
            Some(value) => Word(value.max(0)),
            None if self.positive.contains(&word) => self.made(word.residue()),
            None => {
                let word = self.made(hash(Made::Positive, [word.residue(), 0, 0]));
                self.positive.insert(word);
                word
            }
        }
    }

    fn function(&mut self, table: u32, of: Word) -> Word {
        match of.constant() {
            Some(value) => Word(self.tables.get(table).evaluate(self.word, value)),
            None => self.made(hash(Made::Function, [table.into(), of.residue(), 0])),
        }
    }

    fn quotient(&mut self, sum: Closed, places: u32, rounding: Rounding) -> Word {
        match sum {
            Closed::Constant(value) => {
                let (dividend, divisor) = operands(value, self.word);
                Word(divide(dividend, divisor, places, rounding, self.word).0)
            }
            Closed::Other(sum) => self.made(hash(Made::Quotient, [sum, places.into(), rounding as u64])),
        }
    }

    fn fresh(&mut self) -> u64 {
        self.fresh += 1;
        hash(Made::Fresh, [self.fresh, 0, 0])
    }
}

impl Values for Residues {
    type Word = Word;
    type Sum = Sum;

    fn unwritten_words(&mut self, count: usize) -> Vec<Word> {
        let mut known = self.known.borrow_mut();
        (0..count).map(|_| Word::of(known.fresh())).collect()
    }

    fn unwritten_sums(&mut self, count: usize) -> Vec<Sum> {
        let mut known = self.known.borrow_mut();
        (0..count).map(|_| Sum::Linear(0, known.fresh())).collect()
    }

    fn constant(&mut self, word: i64) -> Word {
        Word(word)
    }

    fn received(&mut self, word: i64) -> Word {
        Word(word)
    }

    fn shown(&self, word: Word) -> i64 {
        word.0
    }

    fn shown_sum(&self, _: &Sum) -> i128 {
        0
    }

    fn nothing(&mut self, combine: Combine) -> Sum {
        if combine.compares() { Sum::Extreme(combine, Vec::new()) } else { Sum::Linear(0, 0) }
    }

    fn start(&mut self, word: Word, align: u32) -> Sum {
        match word.constant() {
            Some(value) => Sum::Linear(i128::from(value) << align, 0),
            None => Sum::Linear(0, shifted(word.residue(), align)),
        }
    }

    fn add(&mut self, sum: &mut Sum, a: Word, b: Word) {
        self.add_parts(sum, product(a, b), false);
    }

    fn subtract(&mut self, sum: &mut Sum, a: Word, b: Word) {
        self.add_parts(sum, product(a, b), true);
    }

    fn compare(&mut self, combine: Combine, sum: &mut Sum, a: Word, b: Word) {
        let (constant, rest) = product(a, b);
        let product = self.close(&Sum::Linear(constant, rest));
        self.compared(combine, sum).push(product);
    }

    fn square(&mut self, combine: Combine, sum: &mut Sum, a: Word, b: Word) {
        let (constant, rest) = square(a, b);
        if combine.compares() {
            let square = self.close(&Sum::Linear(constant, rest));
            self.compared(combine, sum).push(square);
        } else {
            self.add_parts(sum, (constant, rest), combine == Combine::Subtract);
        }
    }

    fn join(&mut self, combine: Combine, sum: &mut Sum, other: &Sum) {
        match other {
            Sum::Extreme(own, of) if *own == combine => self.compared(combine, sum).extend_from_slice(of),
            other if combine.compares() => {
                let other = self.close(other);
                self.compared(combine, sum).push(other);
            }
            &Sum::Linear(constant, rest) => self.add_parts(sum, (constant, rest), false),
            Sum::Extreme(..) => {
                let mut other = other.clone();
                let (constant, rest) = self.linear(&mut other);
                self.add_parts(sum, (*constant, *rest), false);
            }
        }
    }

    fn finish(&mut self, sums: &[Sum], taken: &[bool], finish: Finish, shift: u32, words: &mut Vec<Word>) -> bool {
        for (sum, &taken) in sums.iter().zip(taken) {
            let word = taken.then(|| self.finished(sum, finish, shift));
            words.push(word.unwrap_or_default());
        }
        false
    }

    fn root(&mut self, sum: &Sum, root: &RootInstruction, tables: &[(i64, i64)]) -> (Word, bool) {
        if let Some(RootFunction::Divide(rounding)) = root.function {
            return (self.quotient(sum, root.shift, rounding), false);
        }
        let positive = root.positive.filter(|_| root.function.is_none());
        let finish = positive.map_or(Finish::Round, Finish::Positive);
        let word = self.finished(sum, finish, root.shift);
        let Some(RootFunction::Table(usage)) = root.function else { return (word, false) };
        if tables.is_empty() {
            return (Word::default(), false);
        }
        let mut known = self.known.borrow_mut();
        let table = known.tables.in_memory(usage, tables);
        (known.function(table, word), false)
    }

    fn low(&mut self, sum: &Sum) -> Word {
        let sum = self.close(sum);
        let mut known = self.known.borrow_mut();
        match sum {
            Closed::Constant(value) => Word(wrap(value, known.word) as i64),
            Closed::Other(sum) => match known.alone(sum, 0) {
                Some(word) => word,
                None => known.made(hash(Made::Low, [sum, 0, 0])),
            },
        }
    }

    fn either(&mut self, one: Word, other: Word) -> Word {
        match (one.constant(), other.constant()) {
            (Some(one), Some(other)) => Word(one | other),
            (_, Some(0)) => one,
            (Some(0), _) => other,
            _ if one == other => one,
            _ => {
                let (one, other) = (one.min(other), one.max(other));
                self.known.borrow_mut().made(hash(Made::Either, [one.residue(), other.residue(), 0]))
            }
        }
    }

    fn tables_change(&mut self) {
        self.known.borrow_mut().tables.forget_memory();
    }
}

impl Algebra for Residues {
    fn given(&mut self, tensor: usize, element: usize, step: usize) -> Word {
        let residue = hash(Made::Given, [tensor as u64, element as u64, step as u64]);
        self.known.borrow_mut().sent(residue)
    }

    fn undefined(&mut self) -> Word {
        Word::of(self.known.borrow_mut().fresh())
    }

    fn finished(&mut self, sum: &Sum, finish: Finish, shift: u32) -> Word {
        let sum = self.close(sum);
        self.known.borrow_mut().finish(sum, finish, shift)
    }

    fn quotient(&mut self, sum: &Sum, places: u32, rounding: Rounding) -> Word {
        let sum = self.close(sum);
        self.known.borrow_mut().quotient(sum, places, rounding)
    }

    fn table(&mut self, table: &FunctionTable) -> u32 {
        self.known.borrow_mut().tables.of_program(table.usage, &table.entries)
    }

    fn function(&mut self, table: u32, of: Word) -> Word {
        self.known.borrow_mut().function(table, of)
    }
}
