//! Multiply and add: the sum of a PE.
//!
//!     a, b (t+1) ──▶ registers (t+2) ──▶ product (t+3) ──▶ sum (t+4)
//!                     start (t+2) ──▶ register (t+3) ──────┘
//!
//! All its registers are those of a multiplier block, which is why operands come unregistered. Where synthesisers do not find
//! that out by themselves, the block is named: [`Leaves`] says for which family.

use crate::Leaves;
use crate::signal::Wide;
use arch::number::wrap;
use rust_hdl::prelude::*;

/// `sum = (first ? start : sum) ± a * b`, modulo the sum's width; only in valid beats. Outside the mask `a` is 0.
#[derive(LogicBlock)]
pub(crate) struct MultiplyAdd {
    pub(crate) clock: Signal<In, Clock>,
    /// Factors, t+1.
    pub(crate) a: Wide<In>,
    pub(crate) b: Wide<In>,
    /// The mask admits this PE, t+1.
    pub(crate) admitted: Signal<In, Bit>,
    /// Where the sum starts, t+2.
    pub(crate) start: Wide<In>,
    /// The rest: t+3.
    pub(crate) valid: Signal<In, Bit>,
    pub(crate) first: Signal<In, Bit>,
    pub(crate) subtract: Signal<In, Bit>,
    pub(crate) sum: Wide<Out>,
    _leaves: Leaves,
    _held: Held,
}

/// The registers before the sum.
#[derive(Default)]
struct Held {
    a: i128,
    b: i128,
    product: i128,
    start: i128,
}

/// Operand and sum bits of a DSP48E2.
const DSP48E2: (u32, u32) = (18, 48);

impl MultiplyAdd {
    pub(crate) fn new(word: u32, accumulator: u32, leaves: Leaves) -> Self {
        MultiplyAdd {
            clock: Signal::default(),
            a: Wide::signed(word),
            b: Wide::signed(word),
            admitted: Signal::default(),
            start: Wide::signed(accumulator),
            valid: Signal::default(),
            first: Signal::default(),
            subtract: Signal::default(),
            sum: Wide::signed(accumulator),
            _leaves: leaves,
            _held: Held::default(),
        }
    }
}

/// `name`, sign-extended from `from` to `to` bits.
pub(crate) fn extended(name: &str, from: u32, to: u32) -> String {
    if from == to { name.to_owned() } else { format!("{{{{{}{{{name}[{}]}}}}, {name}}}", to - from, from - 1) }
}

impl Logic for MultiplyAdd {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let Held { a, b, product, start } = self._held;
            if self.valid.val() {
                let from = if self.first.val() { start } else { self.sum.val() };
                let total = if self.subtract.val() { from - product } else { from + product };
                self.sum.next = wrap(total, self.sum.width());
            }
            self._held = Held {
                a: if self.admitted.val() { self.a.val() } else { 0 },
                b: self.b.val(),
                product: a * b,
                start: self.start.val(),
            };
        }
    }
    fn connect(&mut self) {
        self.sum.connect();
    }
    fn hdl(&self) -> Verilog {
        let (word, width) = (self.a.width(), self.sum.width());
        let fits = |(factor, sum): (u32, u32)| word <= factor && width <= sum;
        Verilog::Custom(match self._leaves {
            Leaves::UltraScalePlus if fits(DSP48E2) => dsp48e2(word, width),
            Leaves::Generic | Leaves::UltraScalePlus => generic(word, width),
        })
    }
}

fn generic(word: u32, width: u32) -> String {
    format!(
        "// multiply_add: adds or subtracts a product; -p is ~p + 1, and the 1 comes in below, so that one carry chain does both.
reg signed [{word_last}:0] held_a;
reg signed [{word_last}:0] held_b;
reg signed [{product_last}:0] product;
reg signed [{last}:0] held_start;
wire [{last}:0] wide = {extended};
wire [{last}:0] from = first ? held_start : sum;
wire [{last}:0] addend = wide ^ {{{width}{{subtract}}}};
wire [{width}:0] total = {{addend, subtract}} + {{from, 1'b1}};
always @(posedge clock) begin
    held_a <= a;
    if (!admitted) held_a <= {word}'d0;
    held_b <= b;
    product <= held_a * held_b;
    held_start <= start;
    if (valid) sum <= total[{width}:1];
end",
        word_last = word - 1,
        product_last = 2 * word - 1,
        last = width - 1,
        extended = extended("product", 2 * word, width),
    )
}

/// One block: its A, B, C, M and P registers are those of the page.
fn dsp48e2(word: u32, width: u32) -> String {
    let unused = if width < DSP48E2.1 {
        format!("wire unused_total = &total[{}:{width}];\n", DSP48E2.1 - 1)
    } else {
        String::new()
    };
    format!(
        "// multiply_add: one DSP48E2, which multiplies, adds or subtracts, and accumulates.
wire [47:0] total;
{unused}assign sum = total[{last}:0];
DSP48E2 #(
    .USE_MULT(\"MULTIPLY\"), .AMULTSEL(\"A\"), .BMULTSEL(\"B\"), .A_INPUT(\"DIRECT\"), .B_INPUT(\"DIRECT\"), .USE_SIMD(\"ONE48\"),
    .AREG(1), .ACASCREG(1), .BREG(1), .BCASCREG(1), .CREG(1), .MREG(1), .PREG(1), .ADREG(0), .DREG(0),
    .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINREG(0), .CARRYINSELREG(0)
) block (
    .CLK(clock), .A({a}), .B({b}), .C({c}), .D(27'd0),
    // Z is C or P; X and Y are the product.
    .OPMODE({{2'b00, 2'b01, first, 4'b0101}}), .ALUMODE({{2'b00, subtract, subtract}}), .INMODE(5'd0),
    .CARRYIN(1'b0), .CARRYINSEL(3'd0), .ACIN(30'd0), .BCIN(18'd0), .PCIN(48'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
    .CEA1(1'b0), .CEA2(1'b1), .CEB1(1'b0), .CEB2(1'b1), .CEC(1'b1), .CEM(1'b1), .CEP(valid), .CED(1'b0), .CEAD(1'b0),
    .CEINMODE(1'b0), .CECTRL(1'b0), .CEALUMODE(1'b0), .CECARRYIN(1'b0),
    .RSTA(~admitted), .RSTB(1'b0), .RSTC(1'b0), .RSTM(1'b0), .RSTP(1'b0), .RSTD(1'b0),
    .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
    .P(total), .ACOUT(), .BCOUT(), .PCOUT(), .CARRYOUT(), .CARRYCASCOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
    .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
);",
        last = width - 1,
        a = extended("a", word, 30),
        b = extended("b", word, 18),
        c = extended("start", width, 48),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::clocked;

    #[test]
    fn sums_wrap() {
        let mut block = MultiplyAdd::new(8, 20, Leaves::Generic);
        block.connect_all();
        let mut beat = |start: i128, a: i128, admitted: bool, first: bool, subtract: bool, valid: bool| {
            (block.a.next, block.b.next, block.admitted.next, block.start.next) = (a, 1, admitted, start);
            (block.valid.next, block.first.next, block.subtract.next) = (false, false, false);
            clocked(&mut block, |b| &mut b.clock);
            clocked(&mut block, |b| &mut b.clock);
            (block.valid.next, block.first.next, block.subtract.next) = (valid, first, subtract);
            clocked(&mut block, |b| &mut b.clock);
            block.sum.val()
        };
        assert_eq!(beat(-(1 << 19), 1, true, true, true, true), (1 << 19) - 1);
        assert_eq!(beat(0, 1, true, false, false, true), -(1 << 19));
        assert_eq!(beat(0, 1, true, false, false, false), -(1 << 19), "only valid beats count");
        assert_eq!(beat(0, 1, false, false, false, true), -(1 << 19), "outside the mask nothing is added");
    }
}
