//! Terms in words.
//!
//!     h[3] of step 1                            an element of the program has its name
//!     round(+ w[3] * x[3] - 2^4 * h >> 12)      what has none says what it is made of
//!     ... and 780 more                          the first few of many

use super::difference::{Element, When};
use super::hash::Map;
use super::reference::Computed;
use super::sums::{Part, Product, Sum, SumId};
use super::terms::{Node, Term, Terms};
use arch::isa::{Combine, Finish};
use compiler::fixed::Program;

/// Parts of a sum that are spelled out.
const MOST: usize = 4;

/// Words in words that are spelled out.
const DEEPEST: usize = 3;

/// Names of the terms that are elements of the program.
pub(super) struct Names<'a> {
    program: &'a Program,
    terms: &'a Terms,
    /// The first element that a term is.
    first: Map<Term, Computed<Term>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(program: &'a Program, terms: &'a Terms, computed: &[Computed<Term>]) -> Names<'a> {
        let mut first = Map::default();
        for element in computed {
            first.entry(element.term).or_insert(*element);
        }
        Names { program, terms, first }
    }

    /// The first element that a term is, if an operation computed it.
    pub(super) fn computed(&self, term: Term) -> Option<Computed<Term>> {
        self.first.get(&term).copied()
    }

    /// The element that a term is.
    pub(super) fn element(&self, term: Term) -> Option<Element> {
        let (tensor, element, step) = match self.terms.node(term) {
            Node::Given { tensor, element, step } => (tensor as usize, element as usize, step as usize),
            Node::Constant(_) => return None,
            _ => {
                let computed = self.computed(term)?;
                (self.program.operations[computed.operation].out.0, computed.element, computed.step)
            }
        };
        let tensor = &self.program.tensors[tensor];
        let when = if step == 0 { When::Given } else { When::Step(step) };
        Some(Element::of(&tensor.name, &tensor.shape, element, when))
    }

    /// What a term is: by name if it has one.
    pub(super) fn word(&self, term: Term) -> String {
        self.nested(term, DEEPEST)
    }

    /// What a term is made of.
    pub(super) fn made_of(&self, term: Term) -> String {
        self.spelled(term, DEEPEST)
    }

    /// Parts of a sum.
    pub(super) fn parts(&self, parts: &[Part]) -> String {
        self.part_list(parts, DEEPEST)
    }

    fn nested(&self, term: Term, depth: usize) -> String {
        self.element(term).map_or_else(|| self.spelled(term, depth), |element| element.to_string())
    }

    fn spelled(&self, term: Term, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else { return "...".to_owned() };
        match self.terms.node(term) {
            Node::Constant(word) => word.to_string(),
            Node::Given { .. } => self.element(term).map_or_else(String::new, |element| element.to_string()),
            Node::Unwritten(_) | Node::UnwrittenSum(_) => "what nothing wrote".to_owned(),
            Node::Undefined(_) => "undefined".to_owned(),
            Node::Wide(sum) => format!("({})", self.sum(sum, depth)),
            Node::Finish { sum, finish: Finish::Round, shift } => format!("round({} >> {shift})", self.sum(sum, depth)),
            Node::Finish { sum, finish: Finish::Negative, .. } => format!("negative({})", self.sum(sum, depth)),
            Node::Finish { sum, finish: Finish::Positive(_), .. } => format!("positive({})", self.sum(sum, depth)),
            Node::Positive(of) => format!("positive({})", self.nested(of, depth)),
            Node::Low(sum) => format!("low({})", self.sum(sum, depth)),
            Node::Function { table, of } => format!("table{table}({})", self.nested(of, depth)),
            Node::Quotient { sum, places, .. } => format!("quotient({}, {places} places)", self.sum(sum, depth)),
            Node::Either(one, other) => format!("({} | {})", self.nested(one, depth), self.nested(other, depth)),
        }
    }

    fn sum(&self, sum: SumId, depth: usize) -> String {
        match self.terms.sums.get(sum) {
            Sum::Linear(parts) => self.part_list(parts, depth),
            Sum::Extreme(combine, of) => {
                let name = if *combine == Combine::Minimum { "min" } else { "max" };
                let shown: Vec<String> = of.iter().take(MOST).map(|&sum| self.sum(sum, depth)).collect();
                format!("{name}({}{})", shown.join(", "), more(of.len()))
            }
        }
    }

    fn part_list(&self, parts: &[Part], depth: usize) -> String {
        if parts.is_empty() {
            return "0".to_owned();
        }
        let shown: Vec<String> = parts.iter().take(MOST).map(|part| self.part(part, depth)).collect();
        format!("{}{}", shown.join(" "), more(parts.len()))
    }

    fn part(&self, &(product, coefficient): &Part, depth: usize) -> String {
        let sign = if coefficient < 0 { "-" } else { "+" };
        let mut factors: Vec<String> = Vec::new();
        match coefficient.unsigned_abs() {
            1 if product != Product::ONE => {}
            power if power.is_power_of_two() && power > 8 => factors.push(format!("2^{}", power.trailing_zeros())),
            other => factors.push(other.to_string()),
        }
        factors.extend(product.factors().map(|factor| self.nested(factor, depth)));
        format!("{sign} {}", factors.join(" * "))
    }
}

/// How many are not shown.
fn more(count: usize) -> String {
    if count > MOST { format!(" and {} more", count - MOST) } else { String::new() }
}
