//! Right shifts by one of a few amounts: a multiplexer of constant shifts, and rounding that comes out cheap behind it.
//!
//!     sum (t) ──▶ ListedShift (t+1) ──┬──▶ Settle (t+2): as a barrel gives it, for roots
//!                                     └──▶ Clamp (t+2) ──▶ Step (t+3): the word of a PE
//!
//! A PE saturates before it rounds: the floor is clamped while it is found out whether it is rounded up, so that the last stage
//! is an increment.

use crate::datapath::arithmetic::{Rectifier, Shifted};
use crate::datapath::pair;
use crate::datapath::shift::{chosen, unused_code};
use crate::rtl::bundle::bundle;
use arch::amounts::Amounts;
use arch::device::Leaves;
use arch::number::{word_max, word_min, wrap};
use blocks::block;
use rust_hdl_core::prelude::*;

bundle! {
    /// A value between the stages of a shifter with a few amounts: floor and half of the chosen one; per amount whether a bit
    /// between its place and that of the amount before was lost, and whether a bit between the place above its word and that of
    /// the next one's differs from the sign.
    Chosen {
        bits: sign;
        words: window, lost, over;
    }
}

/// Right shift by one of a few amounts, to a floor of `floor` bits that a word is made of.
#[block(clock, leaf)]
pub(crate) fn ListedShift(width: u32, word: u32, floor: u32, amounts: Amounts) {
    let value: In<width, signed>;
    /// Number of the amount.
    let number: In<{ amounts.index_bits() }>;
    let part: Out<Chosen> = |name| chosen_width(name, floor, amounts);
    let _amounts: Vec<u32> = amounts.listed().expect("a short list");
    let _word: u32 = word;
}

/// Widths of [`Chosen`].
fn chosen_width(name: &str, floor: u32, amounts: Amounts) -> u32 {
    if name == "window" { floor + 1 } else { amounts.bits().count_ones() }
}

impl ListedShift {
    /// First and one past the last bit of the value that only count as lost from amount `n` on. The last bit that is
    /// lost, the half, counts by itself.
    fn lost(&self, n: usize) -> (u32, u32) {
        let until = |amount: u32| amount.saturating_sub(1).min(self.value.width());
        (if n == 0 { 0 } else { until(self._amounts[n - 1]) }, until(self._amounts[n]))
    }

    /// The same for bits that must be like the sign up to amount `n`: a floor may have one bit more than a word, for it may be
    /// rounded up to the smallest one.
    fn over(&self, n: usize) -> (u32, u32) {
        let (top, word) = (self.value.width() - 1, self._word);
        let from = |amount: u32| (amount + word).min(top);
        (from(self._amounts[n]), self._amounts.get(n + 1).map_or(top, |&next| from(next)))
    }
}

impl crate::rtl::Leaf for ListedShift {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let value = self.value.val();
            let number = (self.number.val() as usize).min(self._amounts.len() - 1);
            let bits = |(from, until): (u32, u32)| value >> from & ((1 << (until - from)) - 1);
            let mut lost = 0;
            let mut over = 0;
            for n in 0..self._amounts.len() {
                let (from, until) = self.over(n);
                let same = if value < 0 { (1 << (until - from)) - 1 } else { 0 };
                lost |= i128::from(bits(self.lost(n)) != 0) << n;
                over |= i128::from(bits((from, until)) != same) << n;
            }
            self.part.window.next = value << 1 >> self._amounts[number];
            self.part.lost.next = lost;
            self.part.over.next = over;
            self.part.sign.next = value < 0;
        }
    }
    fn text(&self) -> String {
        let (width, floor) = (self.value.width(), self.part.window.width() - 1);
        let shifted = |&amount: &u32| {
            // From the half to the top of the floor; above the value its sign. Nothing is lost where nothing is shifted.
            let (from, bits) = if amount == 0 { (0, floor) } else { (amount - 1, floor + 1) };
            let kept = width.saturating_sub(from).min(bits);
            let parts = [
                (kept < bits).then(|| format!("{{{}{{value[{}]}}}}", bits - kept, width - 1)),
                (kept > 0).then(|| format!("value[{}:{from}]", from + kept - 1)),
                (amount == 0).then(|| "1'b0".to_owned()),
            ];
            format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        };
        let choices: Vec<String> = self._amounts.iter().map(shifted).collect();
        let numbers = || (0..self._amounts.len()).rev();
        let lost = numbers().map(|n| match self.lost(n) {
            (from, until) if from == until => "1'b0".to_owned(),
            (from, until) => format!("|value[{}:{from}]", until - 1),
        });
        let over = numbers().map(|n| match self.over(n) {
            (from, until) if from == until => "1'b0".to_owned(),
            (from, until) => format!("value[{}:{from}] != {{{}{{value[{}]}}}}", until - 1, until - from, width - 1),
        });
        format!(
            "// listed_shift: right shift by one of a few amounts: floor and half, and what rounding and saturation need.
{}always @(posedge clock) begin
    part$window <= {};
    part$lost <= {{{}}};
    part$over <= {{{}}};
    part$sign <= value[{}];
end",
            unused_code("number", &self._amounts),
            chosen("number", &choices),
            lost.collect::<Vec<_>>().join(", "),
            over.collect::<Vec<_>>().join(", "),
            width - 1,
        )
    }
}

/// Whether something was lost below, and whether the floor is too small, for the amount of a number.
fn losses(part: &Chosen<In>, number: i128) -> (bool, bool) {
    let last = part.lost.width() - 1;
    let number = (number as u32).min(last);
    (part.lost.val() & ((2 << number) - 1) != 0, part.over.val() >> number != 0)
}

/// The same as text: `sticky` and `over`.
fn losses_text(amounts: u32) -> String {
    let lost: Vec<String> = (1..=amounts).map(|n| format!("|part$lost[{}:0]", n - 1)).collect();
    let over: Vec<String> = (0..amounts).map(|n| format!("|part$over[{}:{n}]", amounts - 1)).collect();
    let listed: Vec<u32> = (0..amounts).collect();
    format!(
        "{}wire sticky = {};\nwire over = {};\n",
        unused_code("number", &listed),
        chosen("number", &lost),
        chosen("number", &over)
    )
}

/// Second stage for roots: what [`crate::datapath::shift::FineShift`] gives.
#[block(clock, leaf)]
pub(crate) fn Settle(floor: u32, amounts: Amounts) {
    let part: In<Chosen> = |name| chosen_width(name, floor, amounts);
    /// Number of the amount, a cycle after [`ListedShift`]'s.
    let number: In<{ amounts.index_bits() }>;
    let shifted: Out<Shifted> = |_| floor;
}

impl crate::rtl::Leaf for Settle {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let (sticky, over) = losses(&self.part, self.number.val());
            let (part, out) = (&self.part, &mut self.shifted);
            out.floor.next = part.window.val() >> 1;
            out.half.next = part.window.val() & 1 == 1;
            out.sticky.next = sticky;
            out.over.next = over;
            out.sign.next = part.sign.val();
        }
    }
    fn text(&self) -> String {
        format!(
            "// settle: the second stage of a shift by one of a few amounts.
{}always @(posedge clock) begin
    shifted$floor <= part$window[{}:1];
    shifted$half <= part$window[0];
    shifted$sticky <= sticky;
    shifted$over <= over;
    shifted$sign <= part$sign;
end",
            losses_text(self.part.lost.width()),
            self.shifted.floor.width()
        )
    }
}

bundle! {
    /// A word that is one too small or right, and whether that saturated.
    Clamped {
        bits: up, saturated;
        words: word;
    }
}

/// Second stage for PEs: saturates before it rounds, so that the last stage only adds the bit by which it rounds up. Where the floor
/// is one below the smallest word, rounding up saves it; where it is the largest word, rounding up is one too much.
#[block(clock, leaf)]
pub(crate) fn Clamp(word: u32, amounts: Amounts, positive: u32, leaves: Leaves) {
    let rectifiers = positive.min(1) as usize;
    let part: In<Chosen> = |name| chosen_width(name, word, amounts);
    /// Number of the amount, a cycle after [`ListedShift`]'s.
    let number: In<{ amounts.index_bits() }>;
    /// The word is 1 if the value is negative, else 0.
    let negative: In;
    /// As [`Rectifier`] says. One on machines with rectifiers.
    let positive: [In<positive>; rectifiers];
    let clamped: Out<Clamped> = |_| word;
    let _leaves: Leaves = leaves;
}

impl crate::rtl::Leaf for Clamp {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let word = self.clamped.word.width();
            let (sticky, over) = losses(&self.part, self.number.val());
            let (window, sign) = (self.part.window.val(), self.part.sign.val());
            let (floor, half) = (wrap(window >> 1, word), window & 1 == 1);
            let up = half && (sticky || floor & 1 == 1);
            let full = floor == word_max(word);
            let outside = over || sign != (floor < 0);
            let out = &mut self.clamped;
            let limit = if sign { word_min(word) } else { word_max(word) };
            let negative = self.negative.val();
            let instead = Rectifier(&self.positive).instead(sign, floor, outside);
            out.word.next = match instead {
                _ if negative => 0,
                Some(word) => word,
                None if outside => limit,
                None => floor,
            };
            out.up.next = if negative { sign } else { up && !outside && !full && instead.is_none() };
            out.saturated.next = !negative && (over || (sign != (floor < 0)) != (up && full));
        }
    }
    fn text(&self) -> String {
        let word = self.clamped.word.width();
        let rectifier = Rectifier(&self.positive);
        let fitting = pair::text(self._leaves, "fitting", word, ["outside", "limit", "floor"]);
        format!(
            "// clamp: saturates the floor, and says whether it is rounded up: to nearest, ties to even; or 1 if negative, else 0.
{}wire up = part$window[0] & (sticky | part$window[1]);
wire full = ~part$window[{word}] & (&part$window[{top}:1]);
wire differs = part$sign ^ part$window[{word}];
wire outside = over | differs;
wire [{top}:0] limit = {{part$sign, {{{top}{{~part$sign}}}}}};
wire [{top}:0] floor = part$window[{word}:1];
{fitting}{rectified}always @(posedge clock) begin
    clamped$word <= negative ? {word}'d0 : {choice}fitting;
    clamped$up <= negative ? part$sign : {otherwise}up & ~over & ~differs & ~full;
    clamped$saturated <= ~negative & (over | (differs ^ (up & full)));
end",
            losses_text(self.part.lost.width()),
            top = word - 1,
            rectified = rectifier.wires("part$sign", &format!("floor[{}:0]", word - 2), "outside"),
            choice = rectifier.choice(word),
            otherwise = rectifier.otherwise(),
        )
    }
}

/// Third stage for PEs.
#[block(clock, leaf)]
pub(crate) fn Step(word: u32) {
    let clamped: In<Clamped> = |_| word;
    let word: Out<word, signed>;
    let saturated: Out;
}

impl crate::rtl::Leaf for Step {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            self.word.next = self.clamped.word.val() + i128::from(self.clamped.up.val());
            self.saturated.next = self.clamped.saturated.val();
        }
    }
    fn text(&self) -> String {
        let top = self.word.width() - 1;
        format!(
            "// step: rounds up where that is nearer.
always @(posedge clock) begin
    word <= clamped$word + {{{top}'d0, clamped$up}};
    saturated <= clamped$saturated;
end"
        )
    }
}
