//! Values that the lanes of a grid compute with.
//!
//!     values            a word                a sum
//!     Numbers           an integer            an integer modulo a power of two     what the hardware holds
//!     prove's Symbols   the number of a term  a multiset of products               what it holds for all inputs at once
//!
//! Which beat reads, joins and writes what, and in which cycle, is written once, in `datapath`: the array and the prover cannot drift apart.

use super::bulk::{Factors, Second};
use arch::isa::{Combine, Finish, RootInstruction};

/// The instruction that computes or writes a word, by its number in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Maker {
    /// Of the alu stream.
    Alu(usize),
    /// Of the scalar stream.
    Scalar(usize),
    /// Of the root stream, and the alu instruction whose sums the trees brought; `None`: nothing arrived.
    Root(usize, Option<usize>),
    /// Of the move stream.
    Move(usize),
    /// Of the load stream.
    Load(usize),
}

/// Words and sums, and all that is done with them. Clones share what they know.
pub(crate) trait Values: Clone + std::fmt::Debug + 'static {
    /// A word; the default is 0.
    type Word: Copy + Default + std::fmt::Debug + 'static;
    /// What an accumulator or a node of a tree holds.
    type Sum: Clone + std::fmt::Debug + 'static;
    /// Whether there are any: what only stores words can be left out otherwise.
    const EXIST: bool = true;

    /// What a memory of so many words holds before anything is written.
    fn unwritten_words(&mut self, count: usize) -> Vec<Self::Word>;
    /// The same of accumulators and gradient pads.
    fn unwritten_sums(&mut self, count: usize) -> Vec<Self::Sum>;
    /// A word that stands in an instruction.
    fn constant(&mut self, word: i64) -> Self::Word;
    /// What the host sends.
    fn received(&mut self, word: i64) -> Self::Word;
    /// What the host gets, or a watcher sees.
    fn shown(&self, word: Self::Word) -> i64;
    /// What a watcher sees of a sum.
    fn shown_sum(&self, sum: &Self::Sum) -> i128;
    /// A sum that the host puts back.
    fn given_sum(&mut self, _: i128) -> Self::Sum {
        unreachable!("only numbers are put back")
    }

    /// What changes no result where sums are joined in this way.
    fn nothing(&mut self, combine: Combine) -> Self::Sum;
    /// `word << align`: where a sum starts.
    fn start(&mut self, word: Self::Word, align: u32) -> Self::Sum;
    /// [`Values::start`] in all lanes.
    fn start_all(&mut self, sums: &mut [Self::Sum], words: &[Self::Word], align: u32) {
        sums.iter_mut().zip(words).for_each(|(sum, &word)| *sum = self.start(word, align));
    }
    /// `sum + a * b`
    fn add(&mut self, sum: &mut Self::Sum, a: Self::Word, b: Self::Word);
    /// `sum - a * b`
    fn subtract(&mut self, sum: &mut Self::Sum, a: Self::Word, b: Self::Word);
    /// The larger or smaller one of `sum` and `a * b`.
    fn compare(&mut self, combine: Combine, sum: &mut Self::Sum, a: Self::Word, b: Self::Word);
    /// What [`Values::add`], [`Values::subtract`] or [`Values::compare`] does, with `(a - b) * (a - b)` in place of `a * b`.
    fn square(&mut self, combine: Combine, sum: &mut Self::Sum, a: Self::Word, b: Self::Word);
    /// What a node of a tree makes of two sums.
    fn join(&mut self, combine: Combine, sum: &mut Self::Sum, other: &Self::Sum);

    /// Whether products of several beats can be added at once, by [`Values::add_rows`].
    fn in_bulk(&self) -> bool {
        false
    }

    /// What [`Values::add`] or [`Values::subtract`] does, in the lanes that are taken, with row after row of factors.
    fn add_rows(&mut self, _: &mut [Self::Sum], _taken: &[bool], _: &Factors<'_, Self::Word>) {
        unreachable!("only numbers are added in bulk")
    }

    /// The words of sums that begin so, shifted, and to which one product is joined: row after row, for each what [`Values::start_all`],
    /// [`Values::add_rows`] and [`Values::finish`] do.
    fn update_rows(
        &mut self,
        _start: (Second<'_, Self::Word>, u32),
        _: &Factors<'_, Self::Word>,
        _taken: &[bool],
        _: Finish,
        _shift: u32,
        _words: &mut Vec<Self::Word>,
    ) -> bool {
        unreachable!("only numbers are added in bulk")
    }

    /// A word for each sum, appended to `words`; what it is for lanes that are not `taken` does not matter. Whether a word of a lane
    /// that is taken is saturated.
    fn finish(
        &mut self,
        sums: &[Self::Sum],
        taken: &[bool],
        finish: Finish,
        shift: u32,
        words: &mut Vec<Self::Word>,
    ) -> bool;
    /// The word a root makes of a sum, and whether it is saturated. `tables` is the whole table memory.
    fn root(&mut self, sum: &Self::Sum, root: &RootInstruction, tables: &[(i64, i64)]) -> (Self::Word, bool);
    /// The low bits of a sum: what leaves the grid.
    fn low(&mut self, sum: &Self::Sum) -> Self::Word;
    /// The bits of a sum from `lsb` on, as many as a word has: what leaves the grid of a sum of a batch.
    fn part(&mut self, _: &Self::Sum, _lsb: u32) -> Self::Word {
        unreachable!("only numbers leave in parts")
    }
    /// What a register holds that two words reach in one cycle.
    fn either(&mut self, one: Self::Word, other: Self::Word) -> Self::Word;

    /// The words that are computed next are the results of this instruction.
    fn computing(&mut self, _: Maker) {}
    /// This instruction wrote a word that it did not compute.
    fn wrote(&mut self, _: Self::Word, _: Maker) {}
    /// The table memory changes.
    fn tables_change(&mut self) {}
}
