//! Sums: what an accumulator holds, for all inputs at once.
//!
//!     sum        3 * x * y + 2^12 * h + 5        products of two words, single words and a constant, each once, with a coefficient
//!                                                modulo 2^A, sorted
//!     extreme    max { x * y, 2^12 * h }         sums, each once, sorted
//!
//! While a sum is computed it is [`Open`]: what is added is only noted. When it is needed it is closed: equal products become one, those
//! whose coefficient is 0 modulo 2^A vanish, and the sum gets the number that all equal sums have.

use super::hash::Map;
use super::terms::Term;
use arch::isa::Combine;
use arch::number::wrap;
use std::rc::Rc;

/// A product of two words, in ascending order; of one word, if the second is [`Term::NONE`]; or 1, if both are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Product(pub(super) Term, pub(super) Term);

impl Product {
    /// The empty product.
    pub(super) const ONE: Product = Product(Term::NONE, Term::NONE);

    /// One word.
    pub(super) fn word(word: Term) -> Product {
        Product(word, Term::NONE)
    }

    /// Two words.
    pub(super) fn of(a: Term, b: Term) -> Product {
        if a <= b { Product(a, b) } else { Product(b, a) }
    }

    /// Its words.
    pub(super) fn factors(self) -> impl Iterator<Item = Term> {
        [self.0, self.1].into_iter().filter(|&term| term != Term::NONE)
    }
}

/// A product and how often it counts.
pub(super) type Part = (Product, i128);

/// The number of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SumId(u32);

/// A sum that has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sum {
    /// Sorted, coefficients signed and not 0.
    Linear(Rc<[Part]>),
    /// The largest or smallest of at least two sums, sorted.
    Extreme(Combine, Rc<[SumId]>),
}

/// A sum that is being computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Open {
    /// What has been added, in any order.
    Linear(Vec<Part>),
    /// What has been compared.
    Extreme(Combine, Vec<SumId>),
}

/// All sums that have a number.
#[derive(Debug)]
pub(super) struct Sums {
    accumulator: u32,
    known: Vec<Sum>,
    linear: Map<Rc<[Part]>, SumId>,
    extremes: [Map<Rc<[SumId]>, SumId>; 2],
    /// For sorting.
    parts: Vec<Part>,
}

impl Sums {
    pub(super) fn new(accumulator: u32) -> Sums {
        Sums {
            accumulator,
            known: Vec::new(),
            linear: Map::default(),
            extremes: [Map::default(), Map::default()],
            parts: Vec::new(),
        }
    }

    /// The sum of that number.
    pub(super) fn get(&self, id: SumId) -> &Sum {
        &self.known[id.0 as usize]
    }

    /// Its parts, if it is a sum of products.
    pub(super) fn parts(&self, id: SumId) -> Option<&[Part]> {
        match self.get(id) {
            Sum::Linear(parts) => Some(parts),
            Sum::Extreme(..) => None,
        }
    }

    /// Its value, if it is the same for all inputs.
    pub(super) fn constant(&self, id: SumId) -> Option<i128> {
        match self.parts(id)? {
            [] => Some(0),
            [(Product::ONE, value)] => Some(*value),
            _ => None,
        }
    }

    fn number(&mut self, sum: Sum) -> SumId {
        let id = SumId(u32::try_from(self.known.len()).expect("fewer than 2^32 sums"));
        self.known.push(sum);
        id
    }

    /// The number of the sum of these products.
    pub(super) fn linear(&mut self, parts: &[Part]) -> SumId {
        let mut own = std::mem::take(&mut self.parts);
        own.clear();
        own.extend_from_slice(parts);
        own.sort_unstable_by_key(|part| part.0);
        own.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.wrapping_add(next.1);
            }
            same
        });
        own.retain_mut(|part| {
            part.1 = wrap(part.1, self.accumulator);
            part.1 != 0
        });
        let id = if let Some(&id) = self.linear.get(own.as_slice()) {
            id
        } else {
            let shared: Rc<[Part]> = own.as_slice().into();
            let id = self.number(Sum::Linear(shared.clone()));
            self.linear.insert(shared, id);
            id
        };
        self.parts = own;
        id
    }

    /// The number of a constant.
    pub(super) fn of_constant(&mut self, value: i128) -> SumId {
        self.linear(&[(Product::ONE, value)])
    }

    /// The number of the largest or smallest of these.
    fn extreme(&mut self, combine: Combine, of: &[SumId]) -> SumId {
        let identity = combine.identity(self.accumulator);
        let constants = of.iter().filter_map(|&id| self.constant(id));
        let constant = constants.fold(identity, |one, other| combine.join(one, other));
        let mut own: Vec<SumId> = of.iter().copied().filter(|&id| self.constant(id).is_none()).collect();
        if constant != identity || own.is_empty() {
            own.push(self.of_constant(constant));
        }
        own.sort_unstable();
        own.dedup();
        if let [only] = own[..] {
            return only;
        }
        let side = usize::from(combine == Combine::Minimum);
        if let Some(&id) = self.extremes[side].get(own.as_slice()) {
            return id;
        }
        let shared: Rc<[SumId]> = own.into();
        let id = self.number(Sum::Extreme(combine, shared.clone()));
        self.extremes[side].insert(shared, id);
        id
    }

    /// The number of a sum that has been computed.
    pub(super) fn close(&mut self, open: &Open) -> SumId {
        match open {
            Open::Linear(parts) => self.linear(parts),
            Open::Extreme(combine, of) => self.extreme(*combine, of),
        }
    }

    /// What has been compared in this way: first of all the sum itself.
    pub(super) fn compared<'a>(&mut self, combine: Combine, open: &'a mut Open) -> &'a mut Vec<SumId> {
        if !matches!(open, Open::Extreme(own, _) if *own == combine) {
            *open = Open::Extreme(combine, vec![self.close(open)]);
        }
        let Open::Extreme(_, of) = open else { unreachable!("just made one") };
        of
    }
}
