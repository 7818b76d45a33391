//! Shifters: of the start of a sum to the left, of a sum to the right.
//!
//!     any amount:      sum ──▶ CoarseShift ──▶ FineShift ──▶ floor, half, what was lost        (a barrel)
//!     a few amounts:   sum ──▶ ListedShift ──▶ Settle                                          (constants, see `listed`)
//!
//! Which amounts there are is a property of the machine. Instructions name amounts; where there are few, [`AmountCode`] turns
//! them into their numbers in the list, once for all PEs of a PU.

use crate::datapath::arithmetic::Shifted;
use crate::datapath::listed::{ListedShift, Settle};
use crate::datapath::multiply_add::extended;
use crate::rtl::bundle::bundle;
use arch::amounts::Amounts;
use arch::isa::SHIFT_BITS;
use arch::number::wrap;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Bits by which a shifter is told its amount.
pub(crate) fn code_bits(amounts: Amounts) -> u32 {
    if amounts.listed().is_some() { amounts.index_bits() } else { SHIFT_BITS }
}

/// The amount of a code.
fn decoded(amounts: Amounts, code: i128) -> i128 {
    match amounts.listed() {
        Some(list) => list[(code as usize).min(list.len() - 1)].into(),
        None => code,
    }
}

/// One of `choices` by number, as text; numbers beyond the last mean the last.
pub(crate) fn chosen(number: &str, choices: &[String]) -> String {
    fn among(number: &str, choices: &[String], bit: u32) -> String {
        let half = 1usize << bit;
        match choices {
            [only] => only.clone(),
            _ if choices.len() <= half => among(number, choices, bit - 1),
            _ => {
                let (low, high) = choices.split_at(half);
                let below = bit.saturating_sub(1);
                format!(
                    "{number}[{bit}] ? {} : {}",
                    braced(&among(number, high, below)),
                    braced(&among(number, low, below))
                )
            }
        }
    }
    fn braced(text: &str) -> String {
        if text.contains(" ? ") { format!("({text})") } else { text.to_owned() }
    }
    among(number, choices, arch::number::ceil_log2(choices.len() as u64).saturating_sub(1))
}

/// Where there is one amount its number says nothing; the name says so to linters.
pub(crate) fn unused_code(code: &str, amounts: &[u32]) -> String {
    if amounts.len() == 1 { format!("wire unused_{code} = &{code};\n") } else { String::new() }
}

/// From the amount of an instruction to what a shifter is told: the same, or its number in the list. Amounts that are not in the
/// list have any number: the compiler sees to it that their results are not used.
///
/// Of a field of so many bits, which may say more above the amount.
#[block(leaf)]
pub(crate) fn AmountCode(amounts: Amounts, bits: u32) {
    let amount: In<bits>;
    let code: Out<{ code_bits(amounts) }>;
    let _amounts: Amounts = amounts;
}

impl crate::rtl::Leaf for AmountCode {
    fn model(&mut self) {
        let amount = self.amount.val() & ((1 << SHIFT_BITS) - 1);
        self.code.next = match self._amounts.listed() {
            Some(list) => list.iter().position(|&listed| i128::from(listed) == amount).unwrap_or(0) as i128,
            None => amount,
        };
    }
    fn text(&self) -> String {
        let bits = self.code.width();
        let head = "// amount_code: what shifters are told for the amount of an instruction.\n";
        let wide = self.amount.width() > SHIFT_BITS;
        let range = if wide { format!("[{}:0]", SHIFT_BITS - 1) } else { String::new() };
        let unused = if wide {
            format!("wire unused_above = &amount[{}:{SHIFT_BITS}];\n", self.amount.width() - 1)
        } else {
            String::new()
        };
        let text = match self._amounts.listed() {
            None => format!("{unused}assign code = amount{range};"),
            Some(list) if list.len() == 1 => format!("wire unused_amount = &amount;\nassign code = {bits}'d0;"),
            Some(list) => {
                let case = |(number, amount)| format!("        {SHIFT_BITS}'d{amount}: code = {bits}'d{number};\n");
                let cases: String = list.iter().enumerate().skip(1).map(case).collect();
                format!(
                    "{unused}always @(*)\n    case (amount{range})\n{cases}        default: code = {bits}'d0;\n    endcase"
                )
            }
        };
        head.to_owned() + &text
    }
}

/// What a field says above the amount of a shift, on machines with rectifiers: bit 0 that negative results become 0; above it, on machines with
/// limits, what others are at most.
#[block(leaf)]
pub(crate) fn AboveAmount(bits: u32) {
    let amount: In<bits>;
    let positive: Out<{ bits - SHIFT_BITS }>;
}

impl crate::rtl::Leaf for AboveAmount {
    fn model(&mut self) {
        self.positive.next = self.amount.val() >> SHIFT_BITS;
    }
    fn text(&self) -> String {
        format!(
            "// above_amount: whether negative results become 0, and what others are at most.
wire unused_amount = &amount[{}:0];
assign positive = amount[{}:{SHIFT_BITS}];",
            SHIFT_BITS - 1,
            self.amount.width() - 1
        )
    }
}

/// `c << align` as an accumulator, wrapping.
#[block(leaf)]
pub(crate) fn Align(word: u32, accumulator: u32, amounts: Amounts) {
    let c: In<word, signed>;
    /// As [`AmountCode`] says it.
    let places: In<{ code_bits(amounts) }>;
    let aligned: Out<accumulator, signed>;
    let _amounts: Amounts = amounts;
}

impl Align {
    /// One of a few constant shifts.
    fn listed_text(&self, amounts: &[u32]) -> String {
        let (word, width) = (self.c.width(), self.aligned.width());
        let shifted = |&by: &u32| {
            let zeros = by.min(width);
            let kept = word.min(width - zeros);
            let fill = width - zeros - kept;
            let parts = [
                (fill > 0).then(|| format!("{{{fill}{{c[{}]}}}}", word - 1)),
                (kept > 0).then(|| format!("c[{}:0]", kept - 1)),
                (zeros > 0).then(|| format!("{zeros}'d0")),
            ];
            format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        };
        let choices: Vec<String> = amounts.iter().map(shifted).collect();
        let mut unused = unused_code("places", amounts);
        if amounts.iter().all(|by| by + word > width) {
            unused += "wire unused_c = &c;\n";
        }
        format!(
            "// align: operand c at accumulator width, shifted left by one of a few amounts.
{unused}assign aligned = {};",
            chosen("places", &choices)
        )
    }
}

impl crate::rtl::Leaf for Align {
    fn model(&mut self) {
        let places = decoded(self._amounts, self.places.val());
        self.aligned.next = wrap(self.c.val() << places, self.aligned.width());
    }
    fn text(&self) -> String {
        if let Some(amounts) = self._amounts.listed() {
            return self.listed_text(&amounts);
        }
        // Short shifts first: the word is still narrow when they are done.
        let (mut width, widest) = (self.c.width(), self.aligned.width());
        let mut text =
            "// align: operand c at accumulator width, shifted left; small steps first, while it is narrow.\n"
                .to_owned();
        let mut from = "c".to_owned();
        for stage in 0..self.places.width() {
            let step = 1 << stage;
            let next = (width + step).min(widest);
            let shifted = if step >= next {
                format!("{{{next}{{1'b0}}}}")
            } else {
                format!("{{{from}[{}:0], {{{step}{{1'b0}}}}}}", (next - step).min(width) - 1)
            };
            // Only the first stages have room for all bits of the word.
            assert!(step >= next || (next - step).min(width) + step == next, "a stage of the shifter has a gap");
            let kept = extended(&from, width, next);
            text += &format!("wire [{}:0] by{step} = places[{stage}] ? {shifted} : {kept};\n", next - 1);
            (from, width) = (format!("by{step}"), next);
        }
        text += &format!("assign aligned = {};", extended(&from, width, widest));
        text
    }
}

/// Bits of a shift amount that the second stage of a shifter does.
pub(crate) const FINE_BITS: u32 = 3;

bundle! {
    /// A value between the stages of a shifter: the bits that the word can still come from, with one below for rounding;
    /// whether a bit was lost below, whether one above differs from the sign, and the sign.
    PartlyShifted {
        bits: lost, over, sign;
        words: window;
    }
}

/// Bits between the stages, for a value of `width` bits and a word.
fn window_bits(width: u32, word: u32) -> u32 {
    (word + 1 + (1 << FINE_BITS)).min(width + 1)
}

/// Some stages of a right shifter as text. Every stage halves the places the word can still come from.
///
/// Dropped low bits and differing high bits are detected with one mask of the amount, not stage by stage: that is shorter, and a
/// simulator has one instruction for each part of it.
struct ShifterText {
    /// The declarations.
    text: String,
    /// Name and bits of what is left.
    from: String,
    bits: u32,
    /// Whether a bit was lost below, and whether one above what is kept differs from `sign`.
    lost: String,
    over: String,
}

impl ShifterText {
    /// `stages` of a shift of `value`, of `width` bits, towards a floor of `floor` bits; `sign`, `shift` and the amount of these stages,
    /// `by`, are in scope. Shifted bits from `kept` on have to be the sign.
    fn new(value: &str, width: u32, floor: u32, stages: std::ops::Range<u32>, by: &str, kept: u32) -> ShifterText {
        let (mut from, mut bits, mut text) = (value.to_owned(), width, String::new());
        let places = width.min((1 << stages.end) - 1);
        for stage in stages.rev() {
            let step = 1 << stage;
            // Floor and half, wherever the smaller shifts will find them.
            let kept = (floor + step).min(bits);
            let top = (step + kept).min(bits);
            let fill = step + kept - top;
            let shifted = match (fill.min(kept), top > step) {
                (0, _) => format!("{from}[{}:{step}]", top - 1),
                (fill, true) => format!("{{{{{fill}{{sign}}}}, {from}[{}:{step}]}}", top - 1),
                (fill, false) => format!("{{{fill}{{sign}}}}"),
            };
            text += &format!("wire [{}:0] by{step} = shift[{stage}] ? {shifted} : {from}[{}:0];\n", kept - 1, kept - 1);
            (from, bits) = (format!("by{step}"), kept);
        }
        let above = width - kept;
        let mask = places.max(above);
        text += &format!("wire [{}:0] stays = {{{mask}{{1'b1}}}} << {by};\n", mask - 1);
        let lost = format!("|({value}[{}:0] & ~stays[{}:0])", places - 1, places - 1);
        let over = match above {
            0 => "1'b0".to_owned(),
            _ => format!("|(({value}[{}:{kept}] ^ {{{above}{{sign}}}}) & stays[{}:0])", width - 1, above - 1),
        };
        ShifterText { text, from, bits, lost, over }
    }
}

/// First stage of a right shift that keeps what rounding to a word needs, and no more: the large steps.
#[block(clock, leaf)]
pub(crate) fn CoarseShift(width: u32, shift: u32, word: u32) {
    assert!(shift > FINE_BITS, "a shift amount of {shift} bits");
    let value: In<width, signed>;
    /// The whole amount.
    let shift: In<shift>;
    let part: Out<PartlyShifted> = |_| window_bits(width, word);
    let _floor: u32 = word + 1;
}

impl crate::rtl::Leaf for CoarseShift {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (value, by) = (self.value.val() << 1, self.shift.val() >> FINE_BITS << FINE_BITS);
            let shifted = value >> by;
            let part = &mut self.part;
            part.window.next = shifted;
            part.lost.next = value & ((1 << by) - 1) != 0;
            part.over.next = shifted >> part.window.width() != i128::from(value < 0).wrapping_neg();
            part.sign.next = value < 0;
        }
    }
    fn text(&self) -> String {
        let (width, window) = (self.value.width(), self.part.window.width());
        let amount = self.shift.width();
        let shifter = ShifterText::new("by_all", width + 1, self._floor, FINE_BITS..amount, "steps", window);
        assert_eq!(shifter.bits, window, "the first stage ends with the window");
        format!(
            "// coarse_shift: right shift by multiples of {}; keeps the bits a word can come from, and what rounding and saturation need.
wire sign = value[{}];
wire [{width}:0] by_all = {{value, 1'b0}};
wire [{}:0] steps = {{shift[{}:{FINE_BITS}], {FINE_BITS}'d0}};
{}always @(posedge clock) begin
    part$window <= {};
    part$lost <= {};
    part$over <= {};
    part$sign <= sign;
end",
            1 << FINE_BITS,
            width - 1,
            amount - 1,
            amount - 1,
            shifter.text,
            shifter.from,
            shifter.lost,
            shifter.over,
        )
    }
}

/// Second stage: the small steps.
#[block(clock, leaf)]
pub(crate) fn FineShift(width: u32, word: u32) {
    let part: In<PartlyShifted> = |_| window_bits(width, word);
    /// The low bits of the amount.
    let shift: In<FINE_BITS>;
    let shifted: Out<Shifted> = |_| word + 1;
}

impl crate::rtl::Leaf for FineShift {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (part, by) = (&self.part, self.shift.val());
            let above = if part.sign.val() { -1 << part.window.width() } else { 0 };
            let value = part.window.val() | above;
            let floor = value >> by >> 1;
            let out = &mut self.shifted;
            out.floor.next = floor;
            out.half.next = value >> by & 1 == 1;
            out.sticky.next = part.lost.val() || value & ((1 << by) - 1) != 0;
            out.over.next = part.over.val() || wrap(floor, out.floor.width()) != floor;
            out.sign.next = part.sign.val();
        }
    }
    fn text(&self) -> String {
        let floor = self.shifted.floor.width();
        let window = self.part.window.width();
        let shifter = ShifterText::new("part$window", window, floor, 0..FINE_BITS, "shift", floor);
        assert_eq!(shifter.bits, floor + 1, "the shifter ends with floor and half");
        let from = shifter.from;
        format!(
            "// fine_shift: the last steps of a right shift, down to the bits of a word and the first one lost.
wire sign = part$sign;
{}always @(posedge clock) begin
    shifted$floor <= {from}[{floor}:1];
    shifted$half <= {from}[0];
    shifted$sticky <= part$lost | {};
    shifted$over <= part$over | {};
    shifted$sign <= sign;
end",
            shifter.text, shifter.lost, shifter.over,
        )
    }
}

/// Right shift of a sum to the bits of a word, and what rounding and saturation need.
#[block(clock, wires)]
pub(crate) fn Shifter(width: u32, word: u32, amounts: Amounts) {
    let (listed, barrel) = if amounts.listed().is_some() { (1, 0) } else { (0, 1) };
    let value: In<width>;
    /// What [`AmountCode`] says, with the value and a cycle later.
    let (code, code_later): In<{ code_bits(amounts) }>;
    let shifted: Out<Shifted> = |_| word + 1;
    // One of each, or none: a barrel, or constants.
    let coarse = [CoarseShift(clock, width, SHIFT_BITS, word); barrel];
    let fine = [FineShift(clock, width, word); barrel];
    let listed = [ListedShift(clock, width, word, word + 1, amounts); listed];
    let settle = [Settle(clock, word + 1, amounts); listed];

    if listed.is_empty() {
        coarse[0].value = value;
        coarse[0].shift = code;
        fine[0].part = coarse[0].part;
        fine[0].shift = code_later;
        shifted = fine[0].shifted;
    } else {
        listed[0].value = value;
        listed[0].number = code;
        settle[0].part = listed[0].part;
        settle[0].number = code_later;
        shifted = settle[0].shifted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_by_number() {
        let choices: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        assert_eq!(chosen("n", &choices[..1]), "a");
        assert_eq!(chosen("n", &choices[..2]), "n[0] ? b : a");
        assert_eq!(chosen("n", &choices[..3]), "n[1] ? c : (n[0] ? b : a)");
        assert_eq!(chosen("n", &choices), "n[2] ? e : (n[1] ? (n[0] ? d : c) : (n[0] ? b : a))");
    }
}
