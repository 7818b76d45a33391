//! A multiplier block of the device by its name, with its own registers, for families whose synthesis never uses these by itself.
//!
//!     a, b (t) ──▶ registers (t+1) ──▶ product (t+2)
//!
//! The text of the instance is the family's ([`arch::device::Multiplier`]).

use crate::datapath::multiply_add::extended;
use arch::device::{Leaves, Multiplier, filled};

/// Name of the block in its module.
pub(crate) const NAME: &str = "block";

/// The block that makes a product of factors of so many bits, signed, if the family has one.
pub(crate) fn block(leaves: Leaves, a: u32, b: u32) -> Option<&'static Multiplier> {
    leaves.multiplier.filter(|block| a <= block.bits && b <= block.bits)
}

/// Text that declares `block_product`, of which `used` bits are read: the product of two expressions of the block's width, two cycles
/// later. `clear` makes both zero.
pub(crate) fn text(block: &Multiplier, used: u32, a: &str, b: &str, clear: &str) -> String {
    let last = 2 * block.bits - 1;
    let unused =
        if used <= last { format!("wire unused_product = &block_product[{last}:{used}];\n") } else { String::new() };
    filled(&block.text, &[("a", a), ("b", b), ("clear", clear), ("unused", &unused)])
}

/// The factor called `name`, of `bits` bits, as wide as the block takes it.
pub(crate) fn factor(block: &Multiplier, name: &str, bits: u32) -> String {
    extended(name, bits, block.bits)
}
