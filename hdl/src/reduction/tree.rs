//! Trees.
//!
//!     0 ─┐
//!        ├─ ∘ ─┐
//!     1 ─┘     ├─ ∘ ──▶ sum          one register per level; a lone input of a level is added to zero
//!     2 ── ∘ ──┘
//!
//! A row's tree has at least one level, and that level is 0 in cycles in which the accumulators hold no finished sum. On machines
//! with extremes each level is told what to do with its inputs, one cycle after the level before it.

use crate::datapath::multiply_add::COMBINE_BITS;
use crate::reduction::node::Node;
use crate::rtl::register::Register;
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use blocks::block;
use rust_hdl::prelude::*;

/// What a row's accumulators make together, one register per level; 0 while they hold nothing.
///
/// `max(1, ceil(log2(terms)))` levels of registers.
#[block(clock, wires)]
pub(crate) fn RowTree(terms: u32, width: u32, extremes: bool) {
    let pairs = terms.div_ceil(2);
    /// The accumulators hold sums.
    let give: In;
    /// How they are combined. One on machines with extremes.
    let combine: [In<COMBINE_BITS>; extremes];
    let terms: [In<width>; terms];
    let sum: Out<width>;
    /// How `sum` was combined.
    let combined: [Out<COMBINE_BITS>; extremes];
    let pairs = [Node(clock, width, true, extremes && 2 * n + 1 < terms); pairs];
    let combine_after: [Register<COMBINE_BITS>; extremes];
    let above = AdderTree(clock, pairs, width, extremes);
    /// Partner of a lone accumulator.
    let zero: [Const<width>; terms % 2] = 0;

    sum = above.sum;
    for n in 0..combine.len() {
        combine_after[n] = combine[n];
        above.combine[n] = combine_after[n];
        combined[n] = above.combined[n];
    }
    for pair in 0..pairs.len() {
        let (left, right) = (2 * pair, 2 * pair + 1);
        pairs[pair].give[0] = give;
        pairs[pair].a = terms[left];
        above.terms[pair] = pairs[pair].sum;
        for n in 0..pairs[pair].combine.len() {
            pairs[pair].combine[n] = combine[n];
        }
        if right < terms.len() {
            pairs[pair].b = terms[right];
        } else {
            pairs[pair].b = zero[0];
        }
    }
}

/// The `combine` inputs of a tree.
fn codes<D: Direction>(extremes: bool) -> Vec<Wide<D>> {
    (0..u32::from(extremes)).map(|_| Wide::new(COMBINE_BITS)).collect()
}

#[derive(LogicBlock)]
pub(crate) struct AdderTree {
    pub(crate) clock: Signal<In, Clock>,
    /// How the terms are combined. One on machines with extremes.
    pub(crate) combine: Vec<Wide<In>>,
    pub(crate) terms: Vec<Wide<In>>,
    pub(crate) sum: Wide<Out>,
    /// How `sum` was combined.
    pub(crate) combined: Vec<Wide<Out>>,
    nodes: Vec<Node>,
    /// `combine` after each level.
    combine_after: Vec<Register>,
    /// Partner of a lone input.
    zero: Vec<Number>,
    _wiring: Wiring,
}

impl AdderTree {
    /// `ceil(log2(terms))` levels of registers.
    pub(crate) fn new(terms: u32, width: u32, extremes: bool) -> Self {
        let mut nodes = Vec::new();
        let (mut lone, mut levels) = (false, 0);
        let mut left = terms;
        while left > 1 {
            lone |= left % 2 == 1;
            // The last one may be alone.
            nodes.extend((0..left.div_ceil(2)).map(|n| Node::new(width, false, extremes && 2 * n + 1 < left)));
            left = left.div_ceil(2);
            levels += 1;
        }
        AdderTree {
            clock: Signal::default(),
            combine: codes(extremes),
            terms: (0..terms).map(|_| Wide::new(width)).collect(),
            sum: Wide::new(width),
            combined: codes(extremes),
            nodes,
            combine_after: (0..if extremes { levels } else { 0 }).map(|_| Register::new(COMBINE_BITS)).collect(),
            zero: (0..u32::from(lone)).map(|_| Number::new(0, width)).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        let terms = self.terms.len();
        let (mut from, mut next) = (0, 0);
        // The level that is read: `terms[0..]`, then `nodes[from..next]`.
        let mut width = terms;
        let mut level = 0;
        while width > 1 {
            let above = width.div_ceil(2);
            for n in 0..above {
                let (left, right, node) = (2 * n, 2 * n + 1, next + n);
                wires!(self, wiring; nodes[node].clock = clock;);
                match (level == 0, right < width) {
                    (true, true) => wires!(self, wiring; nodes[node].a = terms[left]; nodes[node].b = terms[right];),
                    (true, false) => wires!(self, wiring; nodes[node].a = terms[left]; nodes[node].b = zero[0];),
                    (false, true) => {
                        wires!(self, wiring;
                            nodes[node].a = nodes[from + left].sum;
                            nodes[node].b = nodes[from + right].sum;
                        );
                    }
                    (false, false) => {
                        wires!(self, wiring; nodes[node].a = nodes[from + left].sum; nodes[node].b = zero[0];);
                    }
                }
                for k in 0..self.nodes[node].combine.len() {
                    if level == 0 {
                        wires!(self, wiring; nodes[node].combine[k] = combine[k];);
                    } else {
                        wires!(self, wiring; nodes[node].combine[k] = combine_after[level - 1].q;);
                    }
                }
            }
            if level < self.combine_after.len() {
                wires!(self, wiring; combine_after[level].clock = clock;);
                if level == 0 {
                    wires!(self, wiring; combine_after[level].d = combine[0];);
                } else {
                    wires!(self, wiring; combine_after[level].d = combine_after[level - 1].q;);
                }
            }
            (from, next, width, level) = (next, next + above, above, level + 1);
        }
        if level == 0 {
            wires!(self, wiring; sum = terms[0];);
        } else {
            wires!(self, wiring; sum = nodes[from].sum;);
        }
        for n in 0..self.combined.len() {
            if level == 0 {
                wires!(self, wiring; combined[n] = combine[n];);
            } else {
                wires!(self, wiring; combined[n] = combine_after[level - 1].q;);
            }
        }
    }
}
structural!(AdderTree, "adder_tree: what all its terms make together, one register per level.");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn terms_meet_level_by_level() {
        let mut block = RowTree::new(5, 16, false);
        block.connect_all();
        for (n, term) in block.terms.iter_mut().enumerate() {
            term.next = 1 << n;
        }
        let mut shown = Vec::new();
        for t in 0..5 {
            block.give.next = t == 0;
            clocked(&mut block, |b| &mut b.clock);
            shown.push(block.sum.val());
        }
        // Three levels; the first one takes 0 where there is no finished sum.
        assert_eq!(shown, [0, 0, 31, 0, 0]);
    }

    #[test]
    fn a_single_term_passes_at_once() {
        let mut block = AdderTree::new(1, 16, false);
        block.connect_all();
        block.terms[0].next = 9;
        clocked(&mut block, |b| &mut b.clock);
        assert_eq!(block.sum.val(), 9);
    }
}
