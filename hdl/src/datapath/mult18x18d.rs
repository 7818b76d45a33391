//! The multiplier block of ECP5, with its own registers: synthesisers of our choice never use these by themselves.
//!
//!     a, b (t) ──▶ registers (t+1) ──▶ product (t+2)

use crate::Leaves;

/// Name of the block in its module.
pub(crate) const NAME: &str = "block";

/// Bits of a factor, signed.
pub(crate) const BITS: u32 = 18;

/// Whether a product of factors of so many bits, signed, is a block by name.
pub(crate) fn takes(leaves: Leaves, a: u32, b: u32) -> bool {
    leaves == Leaves::Ecp5 && a <= BITS && b <= BITS
}

/// Text that declares `block_product`, of which `used` bits are read: the product of two expressions of [`BITS`] bits, two cycles
/// later. `clear` makes both zero.
pub(crate) fn text(used: u32, a: &str, b: &str, clear: &str) -> String {
    let all = 2 * BITS;
    // Nine pins a line.
    let port = |port: &str, name: &str, bits: u32| -> String {
        let pins: Vec<String> = (0..bits).map(|n| format!(".{port}{n}({name}[{n}])")).collect();
        let lines: Vec<String> = pins.chunks(9).map(|line| line.join(", ")).collect();
        format!("    {},\n", lines.join(",\n    "))
    };
    let unused =
        if used < all { format!("wire unused_product = &block_product[{}:{used}];\n", all - 1) } else { String::new() };
    format!(
        "wire [{factor}:0] factor_a = {a};
wire [{factor}:0] factor_b = {b};
wire [{product}:0] block_product;
{unused}MULT18X18D #(
    .REG_INPUTA_CLK(\"CLK0\"), .REG_INPUTA_CE(\"CE0\"), .REG_INPUTA_RST(\"RST0\"),
    .REG_INPUTB_CLK(\"CLK0\"), .REG_INPUTB_CE(\"CE0\"), .REG_INPUTB_RST(\"RST0\"),
    .REG_OUTPUT_CLK(\"CLK0\"), .REG_OUTPUT_CE(\"CE0\"), .REG_OUTPUT_RST(\"RST1\"),
    .REG_INPUTC_CLK(\"NONE\"), .REG_PIPELINE_CLK(\"NONE\"), .RESETMODE(\"SYNC\"), .GSR(\"DISABLED\")
) {NAME} (
{ports_a}{ports_b}{ports_p}    .CLK0(clock), .CE0(1'b1), .RST0({clear}), .RST1(1'b0),
    .SIGNEDA(1'b1), .SIGNEDB(1'b1), .SOURCEA(1'b0), .SOURCEB(1'b0)
);
",
        factor = BITS - 1,
        product = all - 1,
        ports_a = port("A", "factor_a", BITS),
        ports_b = port("B", "factor_b", BITS),
        ports_p = port("P", "block_product", all),
    )
}
