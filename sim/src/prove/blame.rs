//! Blame: from words that differ to the first word that is wrong, and to the instruction.
//!
//!     expected   w' = round(w - d * x >> 12)      d = round(h - y >> 0)      h = round(w[0]*x[0] + w[1]*x[1] >> 12)     never made
//!     found      w' = round(w - e * x >> 12)      e = round(g - y >> 0)      g = round(w[0]*x[0] + w[0]*x[1] >> 12)     not expected
//!
//! The first wrong word is the first one, in the order of the program, that the differing word is made of and that the grid never makes: `h`.
//! What the grid makes instead is not a word of the program, but is made of such words only: `g`, and so its instruction is known. Where
//! it makes nothing instead, the instruction is that of other elements of the same operation. Where it makes every word that is
//! expected, the last of them is not where it is read.

use super::difference::{Cause, Difference, Element, Listing, Operand, Place, When};
use super::expected::Expected;
use super::likeness::{ALIKE, Likeness, operand_pairs, sums_alike, without};
use super::show::Names;
use super::sums::Part;
use super::terms::{Node, Term, Terms};
use super::witness::witness;
use crate::array::values::Maker;
use arch::image::{Annotated, Feed};

/// A word that the host gets and should not.
#[derive(Debug, Clone)]
pub(super) struct Mismatch {
    /// Tensor of the image.
    pub(super) tensor: usize,
    /// Its element, row-major.
    pub(super) element: usize,
    pub(super) when: When,
    pub(super) expected: Term,
    pub(super) found: Term,
}

/// Whether a word depends on an element that no operation computed.
pub(super) fn is_undefined(terms: &Terms, term: Term) -> bool {
    terms.cone(&[term]).into_iter().any(|term| matches!(terms.node(term), Node::Undefined(_)))
}

/// The emission instruction that sends an element of a tensor of the image.
fn sender(listing: Listing<'_>, mismatch: &Mismatch) -> Option<Place> {
    let image = listing.image;
    let (feeds, entry, tiles) = match mismatch.when {
        When::End | When::Given => (&image.model_out, image.entries.emit_model?, 1),
        When::Step(_) => (&image.step_out, image.entries.emit_step?, image.tiles.max(1) as usize),
    };
    let shape = &image.tensors[mismatch.tensor].shape;
    let carries = |feed: &Feed| {
        let mut carried = false;
        feed.for_each_beat(|counters| {
            let beat = feed.beat(shape, counters);
            carried |= (0..image.machine.output_words()).any(|lane| beat.element(lane) == Some(mismatch.element));
        });
        feed.tensor == mismatch.tensor && carried
    };
    // Every tile runs the same instructions.
    let each = (feeds.len() / tiles).max(1);
    let number = feeds.iter().rposition(carries)?;
    Some(listing.place("alu", entry as usize + number % each))
}

/// Follow the words that differ down to the first wrong word, and describe it.
pub(super) fn difference(
    terms: &Terms,
    (expected, known): (&Expected<'_, Term>, usize),
    listing: Listing<'_>,
    all: &[Mismatch],
) -> Difference {
    let (mismatch, witness) = witness(terms, all);
    let tensor = &listing.image.tensors[mismatch.tensor];
    let seen = Element::of(&tensor.name, &tensor.shape, mismatch.element, mismatch.when);
    let names = Names::new(expected.reference.program, terms, &expected.computed);
    let search = Search { names, terms, known, whole: expected, listing };
    let Culprit { cause, expected, found, instructions } = search.culprit(mismatch);
    let names = &search.names;
    let (shown, instead) = in_words(terms, names, expected, found);
    Difference {
        first: names.element(expected).unwrap_or_else(|| seen.clone()),
        seen,
        expected: shown,
        found: instead,
        cause,
        instructions,
        operands: search.operands(expected, found),
        sender: sender(listing, mismatch),
        witness,
    }
}

/// The first wrong word, and who is to blame.
struct Culprit {
    cause: Cause,
    expected: Term,
    found: Term,
    instructions: Vec<Place>,
}

/// What it counts that a word is one of those that the wrong word is made of.
const NEAR: usize = 14;

/// What it counts that a word is never made.
const LOST: usize = 3;

/// Operands of operands that a report follows.
const DEEPEST: usize = 4;

/// What is known about all words.
struct Search<'a> {
    names: Names<'a>,
    terms: &'a Terms,
    whole: &'a Expected<'a, Term>,
    /// Terms that the program knows.
    known: usize,
    listing: Listing<'a>,
}

impl Search<'_> {
    fn culprit(&self, mismatch: &Mismatch) -> Culprit {
        let &Mismatch { expected, found, .. } = mismatch;
        let cone = self.terms.cone(&[expected]);
        let computed: Vec<Term> = cone.into_iter().filter(|&term| self.is_computed(term)).collect();
        let Some(&first) = computed.iter().find(|&&term| self.terms.made_by(term).is_none()) else {
            return Culprit { cause: Cause::Misplaces, expected, found, instructions: self.makers(expected) };
        };
        let likeness = Likeness::new(self.terms, first);
        let of_found = self.terms.cone(&[found]);
        // What the grid makes in its place may have got lost, too.
        let all = (self.known..self.terms.len()).map(|number| Term(number as u32));
        let foreign = all.filter(|&term| self.is_foreign(term));
        let near = |term: Term| if of_found.binary_search(&term).is_ok() { NEAR } else { 0 };
        let alike =
            foreign.filter_map(|term| Some((likeness.of(term).filter(|&like| like >= ALIKE)? + near(term), term)));
        let instead = alike.max_by_key(|&(like, term)| (like, std::cmp::Reverse(term))).map(|best| best.1);
        let Some(instead) = instead else {
            let found = if first == expected { found } else { first };
            return Culprit { cause: Cause::Omits, expected: first, found, instructions: self.kin(first) };
        };
        // Where that is made of words that the program does not know, the first of those is wrong.
        let wrong = self.terms.cone(&[instead]).into_iter().find(|&term| self.is_foreign(term)).unwrap_or(instead);
        let meant = if wrong == instead {
            first
        } else {
            let likeness = Likeness::new(self.terms, wrong);
            let lost = |term: Term| if self.terms.made_by(term).is_none() { LOST } else { 0 };
            let rank = |&term: &Term| (likeness.of(term).map(|like| like + lost(term)), std::cmp::Reverse(term));
            let alike = computed.iter().copied().filter(|&term| likeness.of(term) >= Some(ALIKE));
            alike.max_by_key(rank).unwrap_or(first)
        };
        // Who made it, and who makes what it should be.
        let mut instructions = self.makers(wrong);
        instructions.extend(self.kin(meant));
        instructions.dedup();
        Culprit { cause: Cause::Makes, expected: meant, found: wrong, instructions }
    }

    /// Whether an operation of the program made something of other words.
    fn is_computed(&self, term: Term) -> bool {
        let given = matches!(self.terms.node(term), Node::Given { .. } | Node::Constant(_));
        !given && self.names.computed(term).is_some()
    }

    /// Whether the grid makes it, and the program does not.
    fn is_foreign(&self, term: Term) -> bool {
        let unwritten = matches!(self.terms.node(term), Node::Unwritten(_) | Node::Constant(_));
        term.0 as usize >= self.known && !unwritten && self.terms.made_by(term).is_some()
    }

    /// The operand by which a word differs: one that is never made, or that is read where nothing was written, or the first. Where
    /// another element of its tensor is read, the operand by which these differ, too, and so on: that may be where it went wrong.
    fn operands(&self, expected: Term, found: Term) -> Vec<Operand> {
        let rank = |&(wanted, read): &(Term, Term)| {
            let lost = self.is_computed(wanted) && self.terms.made_by(wanted).is_none();
            let unwritten = matches!(self.terms.node(read), Node::Unwritten(_));
            (!lost, !unwritten, !self.is_computed(wanted), wanted)
        };
        let (mut all, mut pair) = (Vec::new(), (expected, found));
        while all.len() < DEEPEST {
            let Some(next) = operand_pairs(self.terms, pair.0, pair.1).into_iter().min_by_key(rank) else { break };
            all.push(Operand { operand: self.names.word(next.0), made_by: self.makers(next.0) });
            let operation = |term: Term| self.names.computed(term).map(|of| (of.operation, of.step));
            if operation(next.0).is_none() || operation(next.0) != operation(next.1) {
                break;
            }
            pair = next;
        }
        all
    }

    /// Who made a word, and who wrote it where it was not made; where nobody did, who did so with others of its kind.
    fn makers(&self, term: Term) -> Vec<Place> {
        let made = |term: Term| self.terms.made_by(term);
        let wrote = |term: Term| self.terms.written_by(term);
        let given = matches!(self.terms.node(term), Node::Given { .. });
        let maker = made(term).or_else(|| self.relatives(term).into_iter().find_map(made).filter(|_| given));
        let sent = matches!(maker, Some(Maker::Root(..) | Maker::Scalar(_)));
        let writer = wrote(term).or_else(|| self.relatives(term).into_iter().find_map(wrote).filter(|_| sent));
        let all: Vec<Place> = maker.into_iter().chain(writer).flat_map(|maker| self.listing.makers(maker)).collect();
        if all.is_empty() { self.kin(term) } else { all }
    }

    /// What the same operation computed in the same step, or the other elements of a tensor that was given, the nearest elements first:
    /// several instructions may make a tensor, each a part of it.
    fn relatives(&self, term: Term) -> Vec<Term> {
        if let Node::Given { tensor, step, .. } = self.terms.node(term) {
            let mut elements: Vec<usize> = (0..self.whole.reference.memory[tensor as usize].len()).collect();
            if let Node::Given { element: own, .. } = self.terms.node(term) {
                elements.sort_by_key(|element| element.abs_diff(own as usize));
            }
            let known = |element: usize| self.terms.known_given(tensor, element as u32, step);
            return elements.into_iter().filter_map(known).collect();
        }
        let Some(own) = self.names.computed(term) else { return Vec::new() };
        let kin = self.whole.computed.iter().filter(|other| (other.operation, other.step) == (own.operation, own.step));
        let mut kin: Vec<_> = kin.collect();
        kin.sort_by_key(|other| other.element.abs_diff(own.element));
        kin.into_iter().map(|other| other.term).collect()
    }

    /// Who makes other elements of the same operation, or else who says that it makes that tensor.
    fn kin(&self, term: Term) -> Vec<Place> {
        if let Some(relative) = self.relatives(term).into_iter().find(|&term| self.terms.made_by(term).is_some()) {
            return self.makers(relative);
        }
        let Some(element) = self.names.element(term) else { return Vec::new() };
        let Listing { image, .. } = self.listing;
        let of_alu = naming(&image.alu, &element.tensor).map(|number| self.listing.place("alu", number));
        let of_unit = naming(&image.scalar, &element.tensor).map(|number| self.listing.place("scalar", number));
        of_alu.chain(of_unit).collect()
    }
}

/// The instructions of a stream that say that they make a tensor.
fn naming<'a, I>(stream: &'a [Annotated<I>], tensor: &'a str) -> impl Iterator<Item = usize> + 'a {
    let says = move |what: &str| {
        let mut parts = what.split(", ").filter(|part| !part.ends_with(" emit"));
        parts.any(|part| part.split(' ').next() == Some(tensor))
    };
    stream.iter().enumerate().filter(move |(_, at)| says(&at.what)).map(|(number, _)| number)
}

/// Two words that differ, in words: only the parts of their sums that do, if they are otherwise made alike.
fn in_words(terms: &Terms, names: &Names<'_>, expected: Term, found: Term) -> (String, String) {
    let whole = |term: Term, known: bool| if known { names.word(term) } else { names.made_of(term) };
    if expected == found {
        return (whole(expected, false), "nothing".to_owned());
    }
    let sums = sums_alike(terms, expected, found);
    let parts = sums.and_then(|(a, b)| Some((terms.sums.parts(a)?, terms.sums.parts(b)?)));
    match parts {
        Some((one, other)) if one.len().max(other.len()) > 4 => {
            let part = |parts: &[Part]| format!("a sum with {}", names.parts(parts));
            (part(&without(one, other)), part(&without(other, one)))
        }
        _ => (whole(expected, false), whole(found, names.computed(found).is_some())),
    }
}
