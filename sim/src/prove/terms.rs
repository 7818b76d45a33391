//! Terms: words for all inputs at once.
//!
//!     h = round(w * x + v * y >> 12)         #7 = finish(sum #2, round, 12)      sum #2 = #3 * #5 + #4 * #6
//!     p = sigmoid(h)                         #8 = table #0 of #7
//!
//! A term that is made twice gets the number that it has ([hash-consing](https://en.wikipedia.org/wiki/Hash_consing)), so two words that
//! are computed in the same way have one number, wherever and in whatever order they are computed. What a rounding, a table or a divider
//! does to a word that is not constant is left open: nothing is said of them but that equal operands give equal results.
//!
//! Four laws of the numbers are used beside those of sums, each of which the array obeys:
//!
//! 1. What is constant is computed.
//! 2. A word that is shifted to the left and back again, or taken from a sum in which it is alone, is the word it was.
//! 3. `t - n * t` is the positive part of a word `t`, if `n` is 1 where `t`, or the sum that `t` is rounded from, is negative, else 0.
//! 4. A bus that two words reach at once holds their bits, or-ed: the same word twice, or with 0, is that word.

use super::hash::Map;
use super::sums::{Open, Part, Product, SumId, Sums};
use super::tables::Tables;
use crate::array::values::Maker;
use arch::division::{Rounding, divide, operands};
use arch::isa::Finish;
use arch::number::{round_half_even, saturate, word_max, wrap};

/// The number of a term. The default is the word 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Term(pub(super) u32);

impl Term {
    /// Where there is no term.
    pub(super) const NONE: Term = Term(u32::MAX);
}

/// What a term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A word.
    Constant(i64),
    /// An element that the host sends: of a weight (step 0), or of an input of step 1, 2, ...
    Given {
        /// Which tensor of the fixed-point program.
        tensor: u32,
        /// Which element, row-major.
        element: u32,
        /// When.
        step: u32,
    },
    /// What a word of a memory held that nothing wrote.
    Unwritten(u32),
    /// The same of an accumulator: not a word.
    UnwrittenSum(u32),
    /// An element of the program that no operation has computed.
    Undefined(u32),
    /// A sum that is no sum of products, inside another one: not a word.
    Wide(SumId),
    /// What becomes of a sum.
    Finish {
        /// Which.
        sum: SumId,
        /// How.
        finish: Finish,
        /// By how many places it is shifted first.
        shift: u32,
    },
    /// The word, or 0 if it is negative.
    Positive(Term),
    /// The low bits of a sum.
    Low(SumId),
    /// A function of a word.
    Function {
        /// Which table.
        table: u32,
        /// Of what.
        of: Term,
    },
    /// The quotient of the two words in a sum.
    Quotient {
        /// `dividend * 2^W + divisor`.
        sum: SumId,
        /// Left shift of the dividend.
        places: u32,
        /// How it is rounded.
        rounding: Rounding,
    },
    /// The bits of both.
    Either(Term, Term),
}

/// Who made a term, and who wrote it where it was not made.
#[derive(Debug, Clone, Copy, Default)]
struct Trace {
    /// Number of a maker; 0: nobody.
    made: u32,
    wrote: u32,
}

/// All terms, and the sums and tables in them.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) word: u32,
    pub(super) accumulator: u32,
    nodes: Vec<Node>,
    index: Map<Node, Term>,
    pub(super) sums: Sums,
    pub(super) tables: Tables,
    /// Those that have been computing and writing, from number 1 on.
    makers: Vec<Maker>,
    maker_numbers: Map<Maker, u32>,
    /// The one that computes.
    maker: u32,
    traces: Vec<Trace>,
}

impl Terms {
    pub(super) fn new(word: u32, accumulator: u32) -> Terms {
        let mut terms = Terms {
            word,
            accumulator,
            nodes: Vec::new(),
            index: Map::default(),
            sums: Sums::new(accumulator),
            tables: Tables::new(word),
            makers: Vec::new(),
            maker_numbers: Map::default(),
            maker: 0,
            traces: Vec::new(),
        };
        let zero = terms.constant(0);
        debug_assert_eq!(zero, Term::default());
        terms
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, term: Term) -> Node {
        self.nodes[term.0 as usize]
    }

    fn push(&mut self, node: Node) -> Term {
        let term = Term(u32::try_from(self.nodes.len()).expect("fewer than 2^32 terms"));
        assert!(term != Term::NONE, "fewer than 2^32 terms");
        self.nodes.push(node);
        self.traces.push(Trace::default());
        term
    }

    fn term(&mut self, node: Node) -> Term {
        if let Some(&term) = self.index.get(&node) {
            return term;
        }
        let term = self.push(node);
        self.index.insert(node, term);
        term
    }

    /// A term that is equal to no other.
    pub(super) fn fresh(&mut self, node: impl Fn(u32) -> Node) -> Term {
        self.push(node(self.nodes.len() as u32))
    }

    pub(super) fn given(&mut self, tensor: usize, element: usize, step: usize) -> Term {
        self.term(Node::Given { tensor: tensor as u32, element: element as u32, step: step as u32 })
    }

    pub(super) fn constant(&mut self, word: i64) -> Term {
        self.term(Node::Constant(word))
    }

    /// The term of an element that is given, if it is.
    pub(super) fn known_given(&self, tensor: u32, element: u32, step: u32) -> Option<Term> {
        self.index.get(&Node::Given { tensor, element, step }).copied()
    }

    /// The term of a constant, if somebody has made it.
    pub(super) fn known_constant(&self, word: i128) -> Option<Term> {
        self.index.get(&Node::Constant(i64::try_from(word).ok()?)).copied()
    }

    /// Its value, if it is the same for all inputs.
    pub(super) fn value(&self, term: Term) -> Option<i64> {
        match self.node(term) {
            Node::Constant(word) => Some(word),
            _ => None,
        }
    }

    /// Whether its value fits a word.
    fn is_word(&self, term: Term) -> bool {
        !matches!(self.node(term), Node::UnwrittenSum(_) | Node::Wide(_))
    }

    /// `coefficient * a * b`; `None` if that is nothing.
    pub(super) fn product(&self, a: Term, b: Term, coefficient: i128) -> Option<Part> {
        match (self.value(a), self.value(b)) {
            (Some(0), _) | (_, Some(0)) => None,
            (Some(a), Some(b)) => Some((Product::ONE, coefficient * i128::from(a) * i128::from(b))),
            (Some(a), None) => Some((Product::word(b), coefficient * i128::from(a))),
            (None, Some(b)) => Some((Product::word(a), coefficient * i128::from(b))),
            (None, None) => Some((Product::of(a, b), coefficient)),
        }
    }

    /// `coefficient * (a - b) * (a - b)`, multiplied out: sums are exact.
    pub(super) fn square(&self, a: Term, b: Term, coefficient: i128) -> impl Iterator<Item = Part> + use<> {
        let parts = [(a, a, 1), (a, b, -2), (b, b, 1)];
        parts.map(|(a, b, times)| self.product(a, b, coefficient * times)).into_iter().flatten()
    }

    /// `a * 2^align`; `None` if that is nothing.
    pub(super) fn shifted(&self, word: Term, align: u32) -> Option<Part> {
        match self.value(word) {
            Some(0) => None,
            Some(value) => Some((Product::ONE, i128::from(value) << align)),
            None => Some((Product::word(word), 1 << align)),
        }
    }

    /// The parts of an open sum; one that compares becomes a single wide one.
    pub(super) fn linear<'a>(&mut self, open: &'a mut Open) -> &'a mut Vec<Part> {
        if matches!(open, Open::Extreme(..)) {
            let id = self.sums.close(open);
            let parts = self.sums.parts(id).map(<[Part]>::to_vec);
            *open = Open::Linear(parts.unwrap_or_else(|| vec![(Product::word(self.term(Node::Wide(id))), 1)]));
        }
        let Open::Linear(parts) = open else { unreachable!("just made one") };
        parts
    }

    /// The word that is alone in a sum, and how often it counts.
    fn alone(&self, sum: SumId) -> Option<(Term, i128)> {
        match self.sums.parts(sum)? {
            &[(Product(word, Term::NONE), coefficient)] if word != Term::NONE && self.is_word(word) => {
                Some((word, coefficient))
            }
            _ => None,
        }
    }

    /// The word whose positive part a sum is: law 3.
    fn positive_part(&self, sum: SumId) -> Option<Term> {
        let &[one, other] = self.sums.parts(sum)? else { return None };
        let alone = |(Product(word, none), times): Part| {
            (none == Term::NONE && word != Term::NONE && times == 1 && self.is_word(word)).then_some(word)
        };
        let (word, (Product(a, b), times)) = match (alone(one), alone(other)) {
            (Some(word), None) => (word, other),
            (None, Some(word)) => (word, one),
            _ => return None,
        };
        let sign = if a == word { b } else { a };
        if times != -1 || (a != word && b != word) || sign == Term::NONE {
            return None;
        }
        let Node::Finish { sum: tested, finish: Finish::Negative, .. } = self.node(sign) else { return None };
        let fits = 1 << (self.accumulator - self.word);
        let of_word = self.alone(tested).is_some_and(|(of, times)| of == word && (1..=fits).contains(&times));
        let of_sum = matches!(self.node(word), Node::Finish { sum, finish: Finish::Round, .. } if sum == tested);
        (of_word || of_sum).then_some(word)
    }

    /// The word, or 0 if it is negative.
    fn positive(&mut self, word: Term) -> Term {
        match (self.value(word), self.node(word)) {
            (Some(value), _) => self.constant(value.max(0)),
            (None, Node::Positive(_)) => word,
            _ => self.term(Node::Positive(word)),
        }
    }

    /// The word that is not negative, or a limit that is less: as `limit - max(limit - word, 0)`, which is what machines without limits do.
    fn limited(&mut self, word: Term, limit: i32) -> Term {
        let limit = i128::from(limit);
        match self.value(word) {
            _ if limit >= word_max(self.word) => word,
            Some(value) => self.constant(value.min(limit as i64)),
            None => {
                let room = self.less(limit, word);
                let room = self.positive(room);
                self.less(limit, room)
            }
        }
    }

    /// `limit - word`
    fn less(&mut self, limit: i128, word: Term) -> Term {
        let sum = self.sums.linear(&[(Product::ONE, limit), (Product::word(word), -1)]);
        self.finish(sum, Finish::Round, 0)
    }

    /// What becomes of a sum.
    pub(super) fn finish(&mut self, sum: SumId, finish: Finish, shift: u32) -> Term {
        if let Finish::Positive(limit) = finish {
            let word = self.finish(sum, Finish::Round, shift);
            let positive = self.positive(word);
            self.trace(positive);
            return self.limited(positive, limit);
        }
        if let (Finish::Round, 0, Some(word)) = (finish, shift, self.positive_part(sum)) {
            let positive = self.positive(word);
            self.trace(positive);
            return positive;
        }
        let constant = self.sums.constant(sum);
        let word = match (constant, finish) {
            (Some(value), Finish::Negative) => self.constant(i64::from(value < 0)),
            (Some(value), Finish::Round | Finish::Positive(_)) => {
                self.constant(saturate(round_half_even(value, shift), self.word).0)
            }
            // A sign does not depend on the shift.
            (None, Finish::Negative) => self.term(Node::Finish { sum, finish, shift: 0 }),
            (None, Finish::Round | Finish::Positive(_)) => match self.alone(sum) {
                Some((word, coefficient)) if self.word + shift <= self.accumulator && coefficient == 1 << shift => word,
                _ => self.term(Node::Finish { sum, finish, shift }),
            },
        };
        self.trace(word);
        word
    }

    /// The low bits of a sum.
    pub(super) fn low(&mut self, sum: SumId) -> Term {
        match (self.sums.constant(sum), self.alone(sum)) {
            (Some(value), _) => self.constant(wrap(value, self.word) as i64),
            (None, Some((word, 1))) => word,
            _ => self.term(Node::Low(sum)),
        }
    }

    pub(super) fn function(&mut self, table: u32, of: Term) -> Term {
        let word = match self.value(of) {
            Some(value) => self.constant(self.tables.get(table).evaluate(self.word, value)),
            None => self.term(Node::Function { table, of }),
        };
        self.trace(word);
        word
    }

    pub(super) fn quotient(&mut self, sum: SumId, places: u32, rounding: Rounding) -> Term {
        let word = if let Some(value) = self.sums.constant(sum) {
            let (dividend, divisor) = operands(value, self.word);
            self.constant(divide(dividend, divisor, places, rounding, self.word).0)
        } else {
            self.term(Node::Quotient { sum, places, rounding })
        };
        self.trace(word);
        word
    }

    pub(super) fn either(&mut self, one: Term, other: Term) -> Term {
        let zero = Term::default();
        match (self.value(one), self.value(other)) {
            (Some(one), Some(other)) => self.constant(one | other),
            _ if one == other || other == zero => one,
            _ if one == zero => other,
            _ => self.term(Node::Either(one.min(other), one.max(other))),
        }
    }
}

/// Who makes and writes words.
impl Terms {
    fn maker_number(&mut self, maker: Maker) -> u32 {
        if let Some(&number) = self.maker_numbers.get(&maker) {
            return number;
        }
        self.makers.push(maker);
        let number = self.makers.len() as u32;
        self.maker_numbers.insert(maker, number);
        number
    }

    pub(super) fn computing(&mut self, maker: Maker) {
        self.maker = self.maker_number(maker);
    }

    /// The term was made by whoever computes.
    fn trace(&mut self, term: Term) {
        let made = &mut self.traces[term.0 as usize].made;
        if *made == 0 {
            *made = self.maker;
        }
    }

    pub(super) fn wrote(&mut self, term: Term, maker: Maker) {
        self.traces[term.0 as usize].wrote = self.maker_number(maker);
    }

    fn maker(&self, number: u32) -> Option<Maker> {
        number.checked_sub(1).map(|number| self.makers[number as usize])
    }

    /// The instruction that was the first to make the term.
    pub(super) fn made_by(&self, term: Term) -> Option<Maker> {
        self.maker(self.traces[term.0 as usize].made)
    }

    /// The move or load instruction that wrote it last.
    pub(super) fn written_by(&self, term: Term) -> Option<Maker> {
        self.maker(self.traces[term.0 as usize].wrote)
    }
}
