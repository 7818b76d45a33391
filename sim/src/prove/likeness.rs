//! Likeness: what a wrong word was meant to be, and by which operands it differs from that.
//!
//!     wanted   round(2^20 * w[3] - d * x[3] >> 20)          shares the word it starts from, and a factor, with
//!     made     round(2^20 * w[3] - d * x[2] >> 20)          which differs by an operand: x[3], x[2]
//!
//! This only serves to say what went wrong. Whether something did is decided before.

use super::sums::{Part, Product, Sum, SumId};
use super::terms::{Node, Term, Terms};

/// What words have in common, at least, that are taken for each other: more than the number of their operands.
pub(super) const ALIKE: usize = 2;

/// How much words have in common that are made of one sum.
const SAME: usize = 1 << 40;

/// How much words look like a certain one.
pub(super) struct Likeness<'a> {
    terms: &'a Terms,
    wanted: Term,
    /// Factors of its sum.
    factors: Vec<Term>,
}

impl<'a> Likeness<'a> {
    pub(super) fn new(terms: &'a Terms, wanted: Term) -> Likeness<'a> {
        let mut factors = Vec::new();
        terms.operands(wanted, &mut |factor| factors.push(factor));
        factors.sort_unstable();
        factors.dedup();
        Likeness { terms, wanted, factors }
    }

    /// `None`: not at all. A sum is known by the words it starts from first, then by its products, then by their factors.
    pub(super) fn of(&self, made: Term) -> Option<usize> {
        let terms = self.terms;
        match (terms.node(self.wanted), terms.node(made)) {
            (Node::Function { table: one, .. }, Node::Function { table: other, .. }) if one == other => {
                return Some(ALIKE);
            }
            (Node::Finish { sum: a, .. }, Node::Finish { sum: b, .. })
            | (Node::Quotient { sum: a, .. }, Node::Quotient { sum: b, .. })
                if a == b =>
            {
                return Some(SAME);
            }
            _ => {}
        }
        let (a, b) = sums_alike(terms, self.wanted, made)?;
        let (Some(one), Some(other)) = (terms.sums.parts(a), terms.sums.parts(b)) else { return Some(ALIKE) };
        let shared = |part: &Part| match (one.binary_search(part).is_ok(), part.0) {
            (true, Product(_, Term::NONE)) => 16,
            (true, _) => 4,
            (false, product) if product.factors().any(|factor| self.factors.binary_search(&factor).is_ok()) => 2,
            (false, _) => usize::from(one.len() <= 8 && one.iter().any(|own| own.1 == part.1)),
        };
        Some(other.iter().map(shared).sum::<usize>() + usize::from(one.len() == other.len()))
    }
}

/// Operands by which two words differ that are otherwise made alike: `(expected, found)`.
pub(super) fn operand_pairs(terms: &Terms, expected: Term, found: Term) -> Vec<(Term, Term)> {
    match (terms.node(expected), terms.node(found)) {
        (Node::Function { table: one, of: a }, Node::Function { table: other, of: b }) if one == other => vec![(a, b)],
        (Node::Positive(a), Node::Positive(b)) => vec![(a, b)],
        _ => sums_alike(terms, expected, found).map_or_else(Vec::new, |(a, b)| pairs_of_sums(terms, a, b)),
    }
}

/// The sums that two words are made of in the same way.
pub(super) fn sums_alike(terms: &Terms, expected: Term, found: Term) -> Option<(SumId, SumId)> {
    match (terms.node(expected), terms.node(found)) {
        (Node::Finish { sum: a, finish, shift }, Node::Finish { sum: b, finish: own_finish, shift: own_shift })
            if (finish, shift) == (own_finish, own_shift) =>
        {
            Some((a, b))
        }
        (
            Node::Quotient { sum: a, places, rounding },
            Node::Quotient { sum: b, places: own_places, rounding: own_rounding },
        ) if (places, rounding) == (own_places, own_rounding) => Some((a, b)),
        (Node::Low(a), Node::Low(b)) | (Node::Wide(a), Node::Wide(b)) => Some((a, b)),
        _ => None,
    }
}

/// What one sum has and the other has not.
pub(super) fn without(one: &[Part], other: &[Part]) -> Vec<Part> {
    one.iter().filter(|part| other.binary_search(part).is_err()).copied().collect()
}

fn pairs_of_sums(terms: &Terms, expected: SumId, found: SumId) -> Vec<(Term, Term)> {
    match (terms.sums.get(expected), terms.sums.get(found)) {
        (Sum::Linear(one), Sum::Linear(other)) => {
            let (missing, mut instead) = (without(one, other), without(other, one));
            if instead.is_empty() {
                // What is multiplied by 0 is not there.
                instead.push((Product::ONE, 0));
            }
            let alike = |wanted: Part| instead.iter().flat_map(move |&made| different_factors(terms, wanted, made));
            missing.into_iter().flat_map(alike).collect()
        }
        (Sum::Extreme(_, one), Sum::Extreme(_, other)) => {
            let missing = one.iter().filter(|sum| !other.contains(sum));
            let instead: Vec<SumId> = other.iter().filter(|sum| !one.contains(sum)).copied().collect();
            missing.flat_map(|&a| instead.iter().flat_map(move |&b| pairs_of_sums(terms, a, b))).collect()
        }
        _ => Vec::new(),
    }
}

/// The factors that differ of two products that are otherwise alike; a factor may be constant.
fn different_factors(terms: &Terms, one: Part, other: Part) -> Vec<(Term, Term)> {
    let ((Product(a, b), times), (Product(c, d), own)) = (one, other);
    let constant = |word: i128| terms.known_constant(word).unwrap_or(Term::NONE);
    let pairs = match (one.0, other.0) {
        // A constant in place of one factor or both.
        (_, Product::ONE) if own % times == 0 => vec![(a, constant(own / times)), (b, constant(own / times))],
        (Product(_, Term::NONE), _) if own == 1 && a == c => vec![(constant(times), d)],
        (Product(_, Term::NONE), _) if own == 1 && a == d => vec![(constant(times), c)],
        (_, Product(_, Term::NONE)) if times == 1 && a == c => vec![(b, constant(own))],
        (_, Product(_, Term::NONE)) if times == 1 && b == c => vec![(a, constant(own))],
        _ if times != own => Vec::new(),
        _ => {
            let all = [(a == c, (b, d)), (a == d, (b, c)), (b == c, (a, d)), (b == d, (a, c))];
            all.into_iter().filter(|(shared, _)| *shared).map(|(_, pair)| pair).collect()
        }
    };
    pairs.into_iter().filter(|&(wanted, read)| wanted != Term::NONE && read != Term::NONE).collect()
}
