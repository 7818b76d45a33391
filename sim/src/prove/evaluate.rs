//! Terms at words: what the symbolic words are for certain inputs.
//!
//!     round(w * x >> 4)   at w = 12, x = 5      =>      4
//!
//! This is where roundings, tables and quotients mean something again. It shows that two terms really differ, and tests compare it with
//! what the array computes.

use super::sums::{Sum, SumId};
use super::terms::{Node, Term, Terms};
use arch::division::{divide, operands};
use arch::isa::Finish;
use arch::number::{round_half_even, saturate, wrap};

impl Terms {
    /// The terms that a sum is made of.
    fn words_of(&self, sum: SumId, visit: &mut dyn FnMut(Term)) {
        match self.sums.get(sum) {
            Sum::Linear(parts) => parts.iter().flat_map(|part| part.0.factors()).for_each(visit),
            Sum::Extreme(_, of) => of.iter().for_each(|&sum| self.words_of(sum, visit)),
        }
    }

    /// The terms that a term is made of.
    pub(super) fn operands(&self, term: Term, visit: &mut dyn FnMut(Term)) {
        match self.node(term) {
            Node::Constant(_)
            | Node::Given { .. }
            | Node::Unwritten(_)
            | Node::UnwrittenSum(_)
            | Node::Undefined(_) => {}
            Node::Wide(sum) | Node::Finish { sum, .. } | Node::Low(sum) | Node::Quotient { sum, .. } => {
                self.words_of(sum, visit);
            }
            Node::Function { of, .. } | Node::Positive(of) => visit(of),
            Node::Either(one, other) => [one, other].into_iter().for_each(visit),
        }
    }

    /// Terms and all that they are made of, operands first.
    pub(super) fn cone(&self, of: &[Term]) -> Vec<Term> {
        let (mut seen, mut cone, mut open) = (vec![false; self.len()], Vec::new(), of.to_vec());
        while let Some(term) = open.pop() {
            if !std::mem::replace(&mut seen[term.0 as usize], true) {
                cone.push(term);
                self.operands(term, &mut |operand| open.push(operand));
            }
        }
        // A term is made after its operands.
        cone.sort_unstable();
        cone
    }

    /// What these terms are worth; `word` says it of those that are made of nothing.
    #[cfg(test)]
    pub(super) fn evaluate(&self, of: &[Term], word: &mut dyn FnMut(Term) -> i64) -> Vec<i64> {
        let values = self.values(&self.cone(of), word);
        of.iter().map(|term| values[term.0 as usize] as i64).collect()
    }

    /// What the terms of a cone are worth, by their numbers.
    pub(super) fn values(&self, cone: &[Term], word: &mut dyn FnMut(Term) -> i64) -> Vec<i128> {
        let mut values = vec![0; self.len()];
        for &term in cone {
            values[term.0 as usize] = self.value_of(term, &values, word);
        }
        values
    }

    fn value_of(&self, term: Term, values: &[i128], word: &mut dyn FnMut(Term) -> i64) -> i128 {
        match self.node(term) {
            Node::Constant(value) => i128::from(value),
            Node::Given { .. } | Node::Unwritten(_) | Node::UnwrittenSum(_) | Node::Undefined(_) => {
                i128::from(word(term))
            }
            Node::Wide(sum) => self.evaluate_sum(sum, values),
            Node::Finish { sum, finish, shift } => {
                let sum = self.evaluate_sum(sum, values);
                match finish {
                    Finish::Negative => i128::from(sum < 0),
                    Finish::Round => i128::from(saturate(round_half_even(sum, shift), self.word).0),
                    Finish::Positive(_) => unreachable!("a positive part is a term of its own"),
                }
            }
            Node::Positive(of) => values[of.0 as usize].max(0),
            Node::Low(sum) => wrap(self.evaluate_sum(sum, values), self.word),
            Node::Function { table, of } => {
                i128::from(self.tables.get(table).evaluate(self.word, values[of.0 as usize] as i64))
            }
            Node::Quotient { sum, places, rounding } => {
                let (dividend, divisor) = operands(self.evaluate_sum(sum, values), self.word);
                i128::from(divide(dividend, divisor, places, rounding, self.word).0)
            }
            Node::Either(one, other) => values[one.0 as usize] | values[other.0 as usize],
        }
    }

    fn evaluate_sum(&self, sum: SumId, values: &[i128]) -> i128 {
        match self.sums.get(sum) {
            Sum::Linear(parts) => {
                let part = |(product, coefficient): &(super::sums::Product, i128)| {
                    product.factors().fold(*coefficient, |all, factor| all.wrapping_mul(values[factor.0 as usize]))
                };
                wrap(parts.iter().map(part).fold(0, i128::wrapping_add), self.accumulator)
            }
            Sum::Extreme(combine, of) => {
                let all = of.iter().map(|&sum| self.evaluate_sum(sum, values));
                all.reduce(|one, other| combine.join(one, other)).expect("an extreme is of something")
            }
        }
    }
}
