//! A tree of blocks that add, where the family has them.
//!
//!     a, b ──▶ block ──┐                  up to four terms in two cycles: the second block holds its own for one cycle,
//!     c, d ──▶ register, block ──▶ sum    and takes the sum of the first by the wire between neighbours
//!
//! As many cycles as nodes of look-up tables take, and two blocks in place of three nodes. The text of a block is the family's ([`Adder`]).

use crate::rtl::signal::Wide;
use arch::device::{Adder, Leaves, filled};
use arch::number::ceil_log2;
use blocks::block;
use rust_hdl_core::prelude::*;
use std::collections::VecDeque;

/// The block of which a tree is made: one of sums that are no wider than the block's, where nothing is compared.
pub(crate) fn block(leaves: Leaves, terms: u32, width: u32, extremes: bool) -> Option<&'static Adder> {
    leaves.adder.filter(|adder| terms > 1 && width <= adder.sum && !extremes)
}

/// Terms that meet in each group of each level, and the cycles of the level.
fn levels(terms: u32) -> impl Iterator<Item = (Vec<u32>, u32)> {
    let mut left = terms;
    std::iter::from_fn(move || {
        let cycles = ceil_log2(left.into()).min(2);
        let group = 1 << cycles;
        let groups = (0..left.div_ceil(group)).map(|n| group.min(left - n * group)).collect();
        left = left.div_ceil(group);
        (cycles > 0).then_some((groups, cycles))
    })
}

/// Blocks of a tree, and registers as wide as a sum where a term has no partner.
pub(crate) fn count(terms: u32) -> (u32, u32) {
    let groups = levels(terms).flat_map(|(groups, cycles)| groups.into_iter().map(move |terms| (terms, cycles)));
    groups.fold((0, 0), |(blocks, registers), (terms, cycles)| match terms {
        1 => (blocks, registers + cycles),
        _ => (blocks + terms / 2 + terms % 2, registers),
    })
}

/// The sum of all terms, `ceil(log2(terms))` cycles later; `give`: 0 where they hold none.
#[block(clock, leaf)]
pub(crate) fn BlockTree(terms: u32, width: u32, gated: bool, leaves: Leaves) {
    let give: [In; gated];
    let terms: [In<width>; terms];
    let sum: Out<width>;
    let _adder: &'static Adder = leaves.adder.expect("a family with adders");
    /// Sums on their way, the latest last.
    let _under_way: VecDeque<i128> = vec![0; ceil_log2(terms.into()) as usize - 1].into();
}

impl BlockTree {
    /// `name` of one group of a level as text; `clear` makes its terms zero.
    fn group(&self, name: &str, terms: &[String], cycles: u32, clear: &str) -> String {
        let (last, zero) = (self._adder.sum - 1, format!("{}'d0", self._adder.sum));
        if let [term] = terms {
            let first = format!("reg [{last}:0] {name};\nalways @(posedge clock) ");
            return match cycles {
                1 => format!("{first}{name} <= {clear} ? {zero} : {term};\n"),
                _ => format!(
                    "reg [{last}:0] {name}_held;\n{first}begin\n    {name}_held <= {clear} ? {zero} : {term};\n    {name} <= {name}_held;\nend\n"
                ),
            };
        }
        let up = format!("{name}_up");
        let pairs = terms.chunks(2).enumerate();
        let blocks = pairs.map(|(n, pair)| {
            let (is_first, is_last) = (n == 0, 2 * n + 2 >= terms.len());
            let held = if cycles == 2 && is_last { "1" } else { "0" };
            let instance = format!("{name}_{n}");
            let values = [
                ("name", instance.as_str()),
                ("a", &pair[0]),
                ("b", pair.get(1).unwrap_or(&zero)),
                ("held", held),
                ("z", if is_first { "0" } else { "1" }),
                ("below", if is_first { &zero } else { &up }),
                ("sum", if is_last { name } else { "" }),
                ("up", if is_last { "" } else { &up }),
                ("clear", clear),
            ];
            filled(&self._adder.text, &values)
        });
        let wire = if terms.len() > 2 { format!(", {up}") } else { String::new() };
        format!("wire [{last}:0] {name}{wire};\n{}", blocks.collect::<String>())
    }
}

impl crate::rtl::Leaf for BlockTree {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let given = self.give.iter().all(Signal::<In, Bit>::val);
            self._under_way.push_back(if given { self.terms.iter().map(Wide::val).sum() } else { 0 });
            self.sum.next = self._under_way.pop_front().expect("one was just put there");
        }
    }
    fn text(&self) -> String {
        let (bits, width) = (self._adder.sum, self.sum.width());
        let term = |n| if bits > width { format!("{{{}'d0, terms${n}}}", bits - width) } else { format!("terms${n}") };
        let mut terms: Vec<String> = (0..self.terms.len()).map(term).collect();
        let mut text = "// block_tree: the sum of all terms, in blocks of the device that add.\n".to_owned();
        let mut clear = if self.give.is_empty() { "1'b0" } else { "~give$0" };
        for (level, (groups, cycles)) in levels(terms.len() as u32).enumerate() {
            let mut left = terms.as_slice();
            let mut sums = Vec::new();
            for (n, &size) in groups.iter().enumerate() {
                let (group, rest) = left.split_at(size as usize);
                let name = format!("sum_{level}_{n}");
                text += &self.group(&name, group, cycles, clear);
                sums.push(name);
                left = rest;
            }
            (terms, clear) = (sums, "1'b0");
        }
        if bits > width {
            text += &format!("wire unused_top = &{}[{}:{width}];\n", terms[0], bits - 1);
        }
        text + &format!("assign sum = {}[{}:0];", terms[0], width - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 32 terms are eight groups of four, two, and a pair; of five terms the last has no partner for two cycles.
    #[test]
    fn two_blocks_add_four_terms() {
        let groups = |terms| levels(terms).collect::<Vec<_>>();
        assert_eq!(groups(32), [(vec![4; 8], 2), (vec![4; 2], 2), (vec![2], 1)]);
        assert_eq!(groups(5), [(vec![4, 1], 2), (vec![2], 1)]);
        assert_eq!([2, 3, 4, 5, 8, 32].map(count), [(1, 0), (2, 0), (2, 0), (3, 2), (5, 0), (21, 0)]);
    }
}
