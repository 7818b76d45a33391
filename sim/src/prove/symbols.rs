//! Symbols: a grid that computes with terms.
//!
//!     host ─▶ number of a term ─▶ pads ─▶ sums of products of terms ─▶ roundings, tables, quotients: terms ─▶ number of a term ─▶ host
//!
//! The host's words are the numbers of terms, so the driver of the grid packs and unpacks them as it does with any other words. Its
//! padding, 0, is the number of the word 0.

use super::reference::Algebra;
use super::sums::{Open, SumId};
use super::terms::{Node, Term, Terms};
use crate::array::values::{Maker, Values};
use arch::division::Rounding;
use arch::function::FunctionTable;
use arch::isa::{Combine, Finish, RootFunction, RootInstruction};
use std::cell::RefCell;
use std::rc::Rc;

/// Words and sums for all inputs at once.
#[derive(Debug, Clone)]
pub(super) struct Symbols(pub(super) Rc<RefCell<Terms>>);

impl Symbols {
    fn closed(&self, open: &Open) -> SumId {
        self.0.borrow_mut().sums.close(open)
    }

    fn add_times(&self, sum: &mut Open, a: Term, b: Term, coefficient: i128) {
        let mut terms = self.0.borrow_mut();
        if let Some(part) = terms.product(a, b, coefficient) {
            terms.linear(sum).push(part);
        }
    }
}

impl Values for Symbols {
    type Word = Term;
    type Sum = Open;

    fn unwritten_words(&mut self, count: usize) -> Vec<Term> {
        let mut terms = self.0.borrow_mut();
        (0..count).map(|_| terms.fresh(Node::Unwritten)).collect()
    }

    fn unwritten_sums(&mut self, count: usize) -> Vec<Open> {
        let mut terms = self.0.borrow_mut();
        let sum = |_| {
            let sum = terms.fresh(Node::UnwrittenSum);
            Open::Linear(terms.shifted(sum, 0).into_iter().collect())
        };
        (0..count).map(sum).collect()
    }

    fn constant(&mut self, word: i64) -> Term {
        self.0.borrow_mut().constant(word)
    }

    fn received(&mut self, word: i64) -> Term {
        Term(word as u32)
    }

    fn shown(&self, word: Term) -> i64 {
        i64::from(word.0)
    }

    fn shown_sum(&self, _: &Open) -> i128 {
        0
    }

    fn nothing(&mut self, combine: Combine) -> Open {
        if combine.compares() { Open::Extreme(combine, Vec::new()) } else { Open::Linear(Vec::new()) }
    }

    fn start(&mut self, word: Term, align: u32) -> Open {
        Open::Linear(self.0.borrow().shifted(word, align).into_iter().collect())
    }

    fn add(&mut self, sum: &mut Open, a: Term, b: Term) {
        self.add_times(sum, a, b, 1);
    }

    fn subtract(&mut self, sum: &mut Open, a: Term, b: Term) {
        self.add_times(sum, a, b, -1);
    }

    fn compare(&mut self, combine: Combine, sum: &mut Open, a: Term, b: Term) {
        let mut terms = self.0.borrow_mut();
        let product = terms.product(a, b, 1);
        let product = terms.sums.linear(product.as_slice());
        terms.sums.compared(combine, sum).push(product);
    }

    fn square(&mut self, combine: Combine, sum: &mut Open, a: Term, b: Term) {
        let mut terms = self.0.borrow_mut();
        if combine.compares() {
            let square: Vec<_> = terms.square(a, b, 1).collect();
            let square = terms.sums.linear(&square);
            terms.sums.compared(combine, sum).push(square);
        } else {
            let sign = if combine == Combine::Subtract { -1 } else { 1 };
            let square: Vec<_> = terms.square(a, b, sign).collect();
            terms.linear(sum).extend(square);
        }
    }

    fn join(&mut self, combine: Combine, sum: &mut Open, other: &Open) {
        let mut terms = self.0.borrow_mut();
        if combine.compares() {
            match other {
                Open::Extreme(own, of) if *own == combine => terms.sums.compared(combine, sum).extend_from_slice(of),
                other => {
                    let other = terms.sums.close(other);
                    terms.sums.compared(combine, sum).push(other);
                }
            }
        } else if *other != Open::Linear(Vec::new()) {
            let mut other = other.clone();
            let parts = std::mem::take(terms.linear(&mut other));
            terms.linear(sum).extend(parts);
        }
    }

    fn finish(&mut self, sums: &[Open], taken: &[bool], finish: Finish, shift: u32, words: &mut Vec<Term>) -> bool {
        for (sum, &taken) in sums.iter().zip(taken) {
            let word = taken.then(|| {
                let sum = self.closed(sum);
                self.0.borrow_mut().finish(sum, finish, shift)
            });
            words.push(word.unwrap_or_default());
        }
        false
    }

    fn root(&mut self, sum: &Open, root: &RootInstruction, tables: &[(i64, i64)]) -> (Term, bool) {
        let sum = self.closed(sum);
        let mut terms = self.0.borrow_mut();
        if let Some(RootFunction::Divide(rounding)) = root.function {
            return (terms.quotient(sum, root.shift, rounding), false);
        }
        let positive = root.positive.filter(|_| root.function.is_none());
        let finish = positive.map_or(Finish::Round, Finish::Positive);
        let word = terms.finish(sum, finish, root.shift);
        let Some(RootFunction::Table(usage)) = root.function else { return (word, false) };
        if tables.is_empty() {
            return (Term::default(), false);
        }
        let table = terms.tables.in_memory(usage, tables);
        (terms.function(table, word), false)
    }

    fn low(&mut self, sum: &Open) -> Term {
        let sum = self.closed(sum);
        self.0.borrow_mut().low(sum)
    }

    fn either(&mut self, one: Term, other: Term) -> Term {
        self.0.borrow_mut().either(one, other)
    }

    fn computing(&mut self, maker: Maker) {
        self.0.borrow_mut().computing(maker);
    }

    fn wrote(&mut self, word: Term, maker: Maker) {
        self.0.borrow_mut().wrote(word, maker);
    }

    fn tables_change(&mut self) {
        self.0.borrow_mut().tables.forget_memory();
    }
}

impl Algebra for Symbols {
    fn given(&mut self, tensor: usize, element: usize, step: usize) -> Term {
        self.0.borrow_mut().given(tensor, element, step)
    }

    fn undefined(&mut self) -> Term {
        self.0.borrow_mut().fresh(Node::Undefined)
    }

    fn finished(&mut self, sum: &Open, finish: Finish, shift: u32) -> Term {
        let sum = self.closed(sum);
        self.0.borrow_mut().finish(sum, finish, shift)
    }

    fn quotient(&mut self, sum: &Open, places: u32, rounding: Rounding) -> Term {
        let sum = self.closed(sum);
        self.0.borrow_mut().quotient(sum, places, rounding)
    }

    fn table(&mut self, table: &FunctionTable) -> u32 {
        self.0.borrow_mut().tables.of_program(table.usage, &table.entries)
    }

    fn function(&mut self, table: u32, of: Term) -> Term {
        self.0.borrow_mut().function(table, of)
    }
}
