//! Nodes of trees.
//!
//!     a ──┬──▶ a ± b ──┬──────────────────────▶ sum
//!     b ──┘            └─ its sign: a or b ──▶ the larger, the smaller        (machines with extremes)
//!
//! One carry chain adds and compares: `a - b` is negative where `a` is the smaller one.

use crate::datapath::multiply_add::COMBINE_BITS;
use crate::rtl::emit::IN_PLACE;
use crate::rtl::signal::Wide;
use arch::isa::Combine;
use arch::number::wrap;
use rust_hdl_core::prelude::*;

/// A node of a tree.
#[derive(LogicBlock)]
pub(crate) struct Node {
    pub(crate) clock: Signal<In, Clock>,
    /// Else 0 is passed on: only in the first level of a row's tree.
    pub(crate) give: Vec<Signal<In, Bit>>,
    /// What becomes of `a` and `b`, where it is not always their sum.
    pub(crate) combine: Vec<Wide<In>>,
    pub(crate) a: Wide<In>,
    pub(crate) b: Wide<In>,
    pub(crate) sum: Wide<Out>,
}

impl Node {
    /// `gated`: it has `give`; `extremes`: it has `combine`.
    pub(crate) fn new(width: u32, gated: bool, extremes: bool) -> Self {
        let word = || if extremes { Wide::signed(width) } else { Wide::new(width) };
        Node {
            clock: Signal::default(),
            give: (0..u32::from(gated)).map(|_| Signal::default()).collect(),
            combine: (0..u32::from(extremes)).map(|_| Wide::new(COMBINE_BITS)).collect(),
            a: word(),
            b: word(),
            sum: Wide::new(width),
        }
    }
}

impl Logic for Node {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let combine = self.combine.first().map_or(Combine::Add, |code| Combine::ALL[code.val() as usize]);
            let given = self.give.iter().all(Signal::<In, Bit>::val);
            let joined = combine.join(self.a.val(), self.b.val());
            self.sum.next = if given { wrap(joined, self.sum.width()) } else { 0 };
        }
    }
    fn connect(&mut self) {
        self.sum.connect();
    }
    fn hdl(&self) -> Verilog {
        let width = self.sum.width();
        let given = |value: &str| match self.give.len() {
            0 => value.to_owned(),
            _ => format!("give$0 ? {value} : {width}'d0"),
        };
        Verilog::Custom(if self.combine.is_empty() {
            format!("{IN_PLACE}\nalways @(posedge clock) sum <= {};", given("a + b"))
        } else {
            format!(
                "// node: the sum of two, or the larger or smaller one; one carry chain adds and compares.
wire compare = combine$0[1];
wire smaller = combine$0[0];
wire [{top}:0] total = {{a[{last}], a, 1'b1}} + {{{{b[{last}], b}} ^ {{{bits}{{compare}}}}, compare}};
wire [{last}:0] chosen = total[{top}] ^ smaller ? b : a;
wire [{last}:0] joined = compare ? chosen : total[{width}:1];
always @(posedge clock) sum <= {};",
                given("joined"),
                last = width - 1,
                bits = width + 1,
                top = width + 1,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn the_extremes_of_a_width_are_compared() {
        let mut node = Node::new(8, true, true);
        node.connect_all();
        let mut beat = |combine: Combine, a: i128, b: i128, give: bool| {
            (node.a.next, node.b.next, node.give[0].next) = (a, b, give);
            node.combine[0].next = combine as i128;
            clocked(&mut node, |n| &mut n.clock);
            wrap(node.sum.val(), 8)
        };
        assert_eq!(beat(Combine::Add, 127, 1, true), -128);
        assert_eq!(beat(Combine::Subtract, 3, 4, true), 7, "partial results are added");
        assert_eq!(beat(Combine::Maximum, -128, 127, true), 127);
        assert_eq!(beat(Combine::Minimum, 127, -128, true), -128);
        assert_eq!(beat(Combine::Maximum, -5, -3, true), -3);
        assert_eq!(beat(Combine::Minimum, -5, -3, true), -5);
        assert_eq!(beat(Combine::Maximum, -5, -3, false), 0);
    }
}
