//! Trees.
//!
//!     0 ─┐
//!        ├─ ∘ ─┐
//!     1 ─┘     ├─ ∘ ──▶ sum          one register per level; a lone input of a level is added to zero
//!     2 ── ∘ ──┘
//!
//! A row's tree has at least one level, and that level is 0 in cycles in which the accumulators hold no finished sum. On machines
//! with extremes each level is told what to do with its inputs, one cycle after the level before it. Families with blocks that add have trees
//! of these instead ([`crate::reduction::adders`]).

use crate::datapath::multiply_add::COMBINE_BITS;
use crate::reduction::adders::{self, BlockTree};
use crate::reduction::node::Node;
use arch::device::Leaves;
use blocks::block;
use rust_hdl_core::prelude::*;

/// What a row's accumulators make together, one register per level; 0 while they hold nothing.
///
/// `max(1, ceil(log2(terms)))` levels of registers.
#[block(clock, wires)]
pub(crate) fn RowTree(terms: u32, width: u32, extremes: bool, leaves: Leaves) {
    let in_blocks = adders::block(leaves, terms, width, extremes).is_some();
    let pairs = if in_blocks { 0 } else { terms.div_ceil(2) };
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
    let above = [AdderTree(clock, pairs, width, extremes, leaves); !in_blocks];
    /// Partner of a lone accumulator.
    let zero: [Const<width>; !in_blocks && terms % 2 == 1] = 0;
    let blocks = [BlockTree(clock, terms, width, true, leaves); in_blocks];

    for n in 0..blocks.len() {
        blocks[n].give[0] = give;
        for t in 0..terms.len() {
            blocks[n].terms[t] = terms[t];
        }
        sum = blocks[n].sum;
    }
    for a in 0..above.len() {
        sum = above[a].sum;
        for n in 0..combine.len() {
            combine_after[n] = combine[n];
            above[a].combine[n] = combine_after[n];
            combined[n] = above[a].combined[n];
        }
    }
    for pair in 0..pairs.len() {
        let (left, right) = (2 * pair, 2 * pair + 1);
        pairs[pair].give[0] = give;
        pairs[pair].a = terms[left];
        above[0].terms[pair] = pairs[pair].sum;
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

/// A level of a tree: it reads `width` inputs, nodes from number `from` on or the terms, and its own nodes begin at `next`.
#[derive(Clone, Copy)]
struct Level {
    from: usize,
    next: usize,
    width: usize,
}

/// The levels from `terms` inputs to one sum.
fn levels(terms: usize) -> Vec<Level> {
    let first = Level { from: 0, next: 0, width: terms };
    let after = |level: &Level| {
        let width = level.width.div_ceil(2);
        Some(Level { from: level.next, next: level.next + width, width })
    };
    std::iter::successors(Some(first), after).take_while(|level| level.width > 1).collect()
}

/// What all its terms make together, one register per level.
///
/// `ceil(log2(terms))` levels of registers.
#[block(clock, wires, long = "wires only: nodes of look-up tables, or blocks that add")]
pub(crate) fn AdderTree(terms: u32, width: u32, extremes: bool, leaves: Leaves) {
    let in_blocks = adders::block(leaves, terms, width, extremes).is_some();
    let levels = if in_blocks { Vec::new() } else { levels(terms as usize) };
    let pairs = levels.iter().flat_map(|level| (0..level.width.div_ceil(2)).map(|n| 2 * n + 1 < level.width));
    let pairs = pairs.collect::<Vec<bool>>();
    /// How the terms are combined. One on machines with extremes.
    let combine: [In<COMBINE_BITS>; extremes];
    let terms: [In<width>; terms];
    let sum: Out<width>;
    /// How `sum` was combined.
    let combined: [Out<COMBINE_BITS>; extremes];
    /// The last one of a level may have one input.
    let nodes = [Node(clock, width, false, extremes && pairs[n as usize]); pairs.len()];
    /// `combine` after each level.
    let combine_after: [Register<COMBINE_BITS>; if extremes { levels.len() } else { 0 }];
    /// Partner of a lone input.
    let zero: [Const<width>; pairs.contains(&false)] = 0;
    let blocks = [BlockTree(clock, terms, width, false, leaves); in_blocks];
    let _levels: Vec<Level> = levels;

    for level in 0.._levels.len() {
        let Level { from, next, width } = _levels[level];
        for n in 0..width.div_ceil(2) {
            let (left, right, node) = (2 * n, 2 * n + 1, next + n);
            if level == 0 {
                nodes[node].a = terms[left];
            } else {
                nodes[node].a = nodes[from + left].sum;
            }
            if right == width {
                nodes[node].b = zero[0];
            } else if level == 0 {
                nodes[node].b = terms[right];
            } else {
                nodes[node].b = nodes[from + right].sum;
            }
            for k in 0..nodes[node].combine.len() {
                if level == 0 {
                    nodes[node].combine[k] = combine[k];
                } else {
                    nodes[node].combine[k] = combine_after[level - 1];
                }
            }
        }
    }
    for level in 0..combine_after.len() {
        if level == 0 {
            combine_after[level] = combine[0];
        } else {
            combine_after[level] = combine_after[level - 1];
        }
    }
    for n in 0..blocks.len() {
        for t in 0..terms.len() {
            blocks[n].terms[t] = terms[t];
        }
        sum = blocks[n].sum;
    }
    if !blocks.is_empty() {
        // Nothing compares.
    } else if nodes.is_empty() {
        sum = terms[0];
        combined = combine;
    } else {
        sum = nodes[nodes.len() - 1].sum;
        for n in 0..combined.len() {
            combined[n] = combine_after[combine_after.len() - 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn terms_meet_level_by_level() {
        let mut block = RowTree::new(5, 16, false, Leaves::GENERIC);
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
        let mut block = AdderTree::new(1, 16, false, Leaves::GENERIC);
        block.connect_all();
        block.terms[0].next = 9;
        clocked(&mut block, |b| &mut b.clock);
        assert_eq!(block.sum.val(), 9);
    }
}
