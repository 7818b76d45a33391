//! Adder trees.
//!
//!     0 ─┐
//!        ├─ + ─┐
//!     1 ─┘     ├─ + ──▶ sum          one register per level; a lone input of a level is added to zero
//!     2 ── + ──┘
//!
//! A row's tree has at least one level, and that level is 0 in cycles in which the accumulators hold no finished sum.

use crate::arithmetic::{Add, GatedAdd};
use crate::signal::{Number, Wide};
use crate::wiring::{Wiring, structural, wires};
use rust_hdl::prelude::*;

/// Sum of a row's accumulators.
#[derive(LogicBlock)]
pub(crate) struct RowTree {
    pub(crate) clock: Signal<In, Clock>,
    /// The accumulators hold sums.
    pub(crate) give: Signal<In, Bit>,
    pub(crate) terms: Vec<Wide<In>>,
    pub(crate) sum: Wide<Out>,
    pairs: Vec<GatedAdd>,
    above: AdderTree,
    /// Partner of a lone accumulator.
    zero: Vec<Number>,
    _wiring: Wiring,
}

impl RowTree {
    /// `max(1, ceil(log2(terms)))` levels of registers.
    pub(crate) fn new(terms: u32, width: u32) -> Self {
        let pairs = terms.div_ceil(2);
        RowTree {
            clock: Signal::default(),
            give: Signal::default(),
            terms: (0..terms).map(|_| Wide::new(width)).collect(),
            sum: Wide::new(width),
            pairs: (0..pairs).map(|_| GatedAdd::new(width)).collect(),
            above: AdderTree::new(pairs, width),
            zero: (0..terms % 2).map(|_| Number::new(0, width)).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wires!(self, wiring;
            above.clock = clock;
            sum = above.sum;
        );
        for pair in 0..self.pairs.len() {
            let (left, right) = (2 * pair, 2 * pair + 1);
            wires!(self, wiring;
                pairs[pair].clock = clock;
                pairs[pair].give = give;
                pairs[pair].a = terms[left];
                above.terms[pair] = pairs[pair].sum;
            );
            if right < self.terms.len() {
                wires!(self, wiring; pairs[pair].b = terms[right];);
            } else {
                wires!(self, wiring; pairs[pair].b = zero[0];);
            }
        }
    }
}
structural!(RowTree, "row_tree: sum of a row's accumulators, one register per level; 0 while they hold none.");

#[derive(LogicBlock)]
pub(crate) struct AdderTree {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) terms: Vec<Wide<In>>,
    pub(crate) sum: Wide<Out>,
    nodes: Vec<Add>,
    /// Partner of a lone input.
    zero: Vec<Number>,
    _wiring: Wiring,
}

impl AdderTree {
    /// `ceil(log2(terms))` levels of registers.
    pub(crate) fn new(terms: u32, width: u32) -> Self {
        let mut nodes = 0;
        let mut lone = false;
        let mut left = terms;
        while left > 1 {
            lone |= left % 2 == 1;
            left = left.div_ceil(2);
            nodes += left;
        }
        AdderTree {
            clock: Signal::default(),
            terms: (0..terms).map(|_| Wide::new(width)).collect(),
            sum: Wide::new(width),
            nodes: (0..nodes).map(|_| Add::new(width)).collect(),
            zero: (0..u32::from(lone)).map(|_| Number::new(0, width)).collect(),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        let terms = self.terms.len();
        let (mut from, mut next) = (0, 0);
        // The level that is read: `terms[0..]`, then `nodes[from..next]`.
        let mut width = terms;
        let mut leaves = true;
        while width > 1 {
            let above = width.div_ceil(2);
            for n in 0..above {
                let (left, right, node) = (2 * n, 2 * n + 1, next + n);
                wires!(self, wiring; nodes[node].clock = clock;);
                match (leaves, right < width) {
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
            }
            (from, next, width, leaves) = (next, next + above, above, false);
        }
        if leaves {
            wires!(self, wiring; sum = terms[0];);
        } else {
            wires!(self, wiring; sum = nodes[from].sum;);
        }
    }
}
structural!(AdderTree, "adder_tree: sum of all its terms, one register per level.");
