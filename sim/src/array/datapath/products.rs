//! The products of one beat, lane by lane.

use super::Lanes;
use super::deferred::Admitted;
use crate::array::stream::Beat;
use crate::array::values::Values;
use arch::isa::{AluInstruction, Combine, Factor, Pad};

/// What a factor of a beat's products is: a word per lane, or one for all.
enum Operand<'a, W> {
    Words(&'a [W]),
    Word(W),
}

/// `step(sum, taken, a, b)` in every lane.
fn each<V: Values>(
    values: &mut V,
    sums: &mut [V::Sum],
    taken: &[bool],
    (a, b): (&[V::Word], &Operand<'_, V::Word>),
    step: impl Fn(&mut V, &mut V::Sum, bool, V::Word, V::Word),
) {
    let lanes = sums.iter_mut().zip(a).zip(taken);
    match b {
        Operand::Word(b) => lanes.for_each(|((sum, &a), &taken)| step(values, sum, taken, a, *b)),
        Operand::Words(b) => lanes.zip(*b).for_each(|(((sum, &a), &taken), &b)| step(values, sum, taken, a, b)),
    }
}

impl<V: Values> Lanes<V> {
    /// Join the products of a beat to its sums.
    pub(super) fn multiply(&mut self, beat: &Beat<AluInstruction>, places: &[usize; Pad::COUNT]) {
        self.settle();
        let (i, pes) = (&beat.instruction, self.pes);
        let Lanes { values, pads, accumulators, admitted: Admitted { lanes: taken, .. }, .. } = self;
        let words = |pad: Pad| &pads[pad as usize][places[pad as usize]..][..pes];
        let b = match i.b {
            Factor::Immediate => Operand::Word(values.constant(i.immediate_b)),
            Factor::Pad(pad) => Operand::Words(words(pad)),
        };
        let factors = (words(i.a), &b);
        // Outside the mask a product is 0, which is nothing to a sum.
        let masked = |a: V::Word, taken: bool| if taken { a } else { V::Word::default() };
        match i.combine {
            combine if i.square => each(values, accumulators, taken, factors, |values, sum, taken, a, b| {
                if taken {
                    values.square(combine, sum, a, b);
                }
            }),
            Combine::Add => each(values, accumulators, taken, factors, |values, sum, taken, a, b| {
                values.add(sum, masked(a, taken), b);
            }),
            Combine::Subtract => each(values, accumulators, taken, factors, |values, sum, taken, a, b| {
                values.subtract(sum, masked(a, taken), b);
            }),
            extreme => each(values, accumulators, taken, factors, |values, sum, taken, a, b| {
                if taken {
                    values.compare(extreme, sum, a, b);
                }
            }),
        }
    }
}
