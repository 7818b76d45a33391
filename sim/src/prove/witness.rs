//! Witness: inputs that show that a word differs.
//!
//!     expected round(x * y >> 4), found round(x * x >> 4)      =>      at x = 12, y = -3: -2 in place of 9

use super::blame::Mismatch;
use super::difference::Witness;
use super::terms::{Node, Term, Terms};

/// Words that are computed to show a difference, at most and for all inputs that are tried.
const WORK: usize = 200_000_000;

/// A word for a term that is made of nothing, in one trial. Tensors have words of different sizes: large ones saturate, and saturated
/// words are equal; small ones are rounded away.
fn made_up(terms: &Terms, term: Term, trial: u64) -> i64 {
    let mix = |value: u64| {
        let value =
            (value ^ trial.wrapping_mul(0xd134_2543_de82_ef95)).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let value = (value ^ value >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value ^ value >> 32
    };
    let kind = if let Node::Given { tensor, .. } = terms.node(term) { u64::from(tensor) + 1 } else { 0 };
    let bits = 2 + mix(kind << 32) % u64::from(terms.word - 1);
    (mix(u64::from(term.0)) as i64) >> (64 - bits)
}

/// The first word that some inputs show to differ, with what it should be and is for the first of these; the first word if there is none.
pub(super) fn witness<'a>(terms: &Terms, all: &'a [Mismatch]) -> (&'a Mismatch, Option<Witness>) {
    let both: Vec<Term> = all.iter().flat_map(|mismatch| [mismatch.expected, mismatch.found]).collect();
    let cone = terms.cone(&both);
    for trial in 0..(WORK / cone.len().max(1)).clamp(8, 5000) as u64 {
        let values = terms.values(&cone, &mut |term| made_up(terms, term, trial));
        let [wanted, came] = [|m: &Mismatch| m.expected, |m: &Mismatch| m.found].map(|of| {
            let value = |mismatch: &Mismatch| values[of(mismatch).0 as usize] as i64;
            all.iter().map(value).collect::<Vec<i64>>()
        });
        if let Some(at) = (0..all.len()).find(|&at| wanted[at] != came[at]) {
            return (&all[at], Some(Witness { expected: wanted[at], found: came[at] }));
        }
    }
    (&all[0], None)
}
