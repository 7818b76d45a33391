//! Delays the control of a beat once per PU, so that PEs hold only data.
//!
//!     beat (t) ──▶ addresses (t), selects (t+1), align (t+2), accumulate (t+3), shift (t+4, t+5), finish (t+5), write (t+7)

use crate::beats::{AluBeat, Widths};
use crate::datapath::operands::{IMMEDIATE, SELECTION_BITS, selection, selection_text};
use crate::datapath::pe::{PeControl, ReadAddresses, StartControl, address_width, pe_width};
use crate::datapath::shift::{AboveAmount, AmountCode, code_bits};
use blocks::block;
use rust_hdl_core::prelude::*;

/// Tree and pads take a result in the last beat of a sum only.
#[block]
fn Qualify() {
    let (valid, last, tree): In;
    for PAD in RESULTS {
        let write_PAD: In;
    }
    let give_tree: Out;
    for PAD in RESULTS {
        let give_PAD: Out;
    }

    give_tree = valid && last && tree;
    for PAD in RESULTS {
        give_PAD = valid && last && write_PAD;
    }
}

/// Which pads operands `b` and `c` are, as [`selection`] says it, and the immediates, 0 where they are not used.
#[block(clock, leaf)]
fn OperandDecode(widths: &Widths) {
    let word = widths.word;
    let b: In<{ widths.beat("b") }>;
    let c: In<{ widths.beat("c") }>;
    let (immediate_b, immediate_c): In<word>;
    let (pads_b, pads_c): Out<SELECTION_BITS>;
    let (held_b, held_c): Out<word>;
}

impl crate::rtl::Leaf for OperandDecode {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let immediate = i128::from(IMMEDIATE);
            self.pads_b.next = selection(self.b.val());
            self.pads_c.next = selection(self.c.val());
            self.held_b.next = if self.b.val() < immediate { 0 } else { self.immediate_b.val() };
            self.held_c.next = if self.c.val() == immediate { self.immediate_c.val() } else { 0 };
        }
    }
    fn text(&self) -> String {
        let (bits_b, bits_c, word) = (self.b.width(), self.c.width(), self.held_b.width());
        format!(
            "// operand_decode: which pads operands are: second of a half, first half, second half, no pad; immediates that are not used are 0.
always @(posedge clock) begin
    pads_b <= {{{}}};
    pads_c <= {{{}}};
    held_b <= b < {bits_b}'d{IMMEDIATE} ? {word}'d0 : immediate_b;
    held_c <= c == {bits_c}'d{IMMEDIATE} ? immediate_c : {word}'d0;
end",
            selection_text("b", bits_b),
            selection_text("c", bits_c)
        )
    }
}

/// Operand c is a pad or the immediate.
///
/// Whether an accumulator begins with anything; else it begins with what changes no result.
#[block]
fn StartDecode(widths: &Widths) {
    let bits = widths.beat("c");
    let c: In<bits>;
    let starts: Out;
    let immediate: Const<bits> = IMMEDIATE;

    starts = c <= immediate;
}

/// The addresses of the beat that is there: `reads` has those that count, which may be the next beat's.
#[block(leaf)]
fn AddressesOfBeat(widths: &Widths) {
    for PAD in PADS {
        let PAD: In<{ address_width(widths, stringify!(PAD)) }>;
    }
}

impl crate::rtl::Leaf for AddressesOfBeat {
    fn text(&self) -> String {
        let pads = arch::isa::Pad::NAMES.join(", ");
        format!("// addresses_of_beat: `reads` says what pads are read for.\nwire unused = &{{1'b0, {pads}, 1'b0}};")
    }
}

/// Control of a beat, delayed once for all PEs of a PU.
#[block(clock, reset, wires, long = "wires only: a delay for each field of a beat")]
pub(crate) fn ControlPipeline(widths: &Widths) {
    let write = arch::timing::ALU_WRITE as u32;
    let combine = widths.beat("combine");
    let extremes = u32::from(widths.extremes);
    let beat: In<AluBeat> = |name| widths.beat(name);
    /// What pads are read for: this beat, or the next one.
    let reads: In<ReadAddresses> = |name| address_width(widths, name);
    let control: Out<PeControl> = |name| pe_width(widths, name);
    /// One on machines with extremes.
    let starts: [Out<StartControl>; extremes] = |name| pe_width(widths, name);
    /// A negative result becomes 0, and the limit of others; t+5. One on machines with rectifiers.
    let positive_t5: [Out<{ widths.positive }>; widths.rectifiers];
    /// How the trees combine what the accumulators hold; t+4. One on machines with extremes.
    let combine_t4: [Out<combine>; extremes];
    /// The accumulators hold sums for the tree; t+4.
    let tree_t4: Out;
    /// Where the result is going to be written; t+6.
    let destination_t6: Out<{ widths.beat("destination") }>;
    let qualify = Qualify();
    let addresses = AddressesOfBeat(widths);
    let a: Delay<{ pe_width(widths, "a_t1") }, 1>;
    let operands = OperandDecode(clock, widths);
    let align_code = AmountCode(widths.alignments, widths.beat("align"));
    let shift_code = AmountCode(widths.shifts, widths.beat("shift"));
    let align: Delay<{ code_bits(widths.alignments) }, 2>;
    let (valid, first): FlagDelay<3>;
    let combine: Delay<combine, 2>;
    let combine_later: Delay<combine, 1>;
    let tree_combine: [Delay<combine, 1>; extremes];
    let start_decode = [StartDecode(widths); extremes];
    let started: [FlagDelay<2>; extremes];
    let shift: Delay<{ code_bits(widths.shifts) }, 4>;
    let shift_later: Delay<{ code_bits(widths.shifts) }, 1>;
    let tree: FlagDelay<4>;
    let negative: FlagDelay<5>;
    let above_shift = [AboveAmount(widths.beat("shift")); widths.rectifiers];
    let positive: [Delay<{ widths.positive }, 5>; widths.rectifiers];
    for PAD in RESULTS {
        let write_PAD: FlagDelay<write>;
    }
    let destination: Delay<{ widths.beat("destination") }, { write - 1 }>;

    for NAME in [valid, last, tree] {
        qualify.NAME = beat.NAME;
    }
    for PAD in RESULTS {
        qualify.write_PAD = beat.write_PAD;
    }
    for PAD in PADS {
        addresses.PAD = beat.PAD_address;
    }
    for PAD in PADS {
        control.PAD_address = reads.PAD;
    }
    a = beat.a;
    control.a_t1 = a;
    for NAME in names![b c immediate_b immediate_c] {
        operands.NAME = beat.NAME;
    }
    control.b_t1 = operands.pads_b;
    control.c_t1 = operands.pads_c;
    control.immediate_b_t1 = operands.held_b;
    control.immediate_c_t1 = operands.held_c;
    align_code.amount = beat.align;
    align = align_code.code;
    control.align_t2 = align;
    valid = beat.valid;
    control.valid_t3 = valid;
    first = beat.first;
    control.first_t3 = first;
    combine = beat.combine;
    combine_later = combine;
    control.combine_t3 = combine_later;
    shift_code.amount = beat.shift;
    shift = shift_code.code;
    control.shift_t4 = shift;
    shift_later = shift;
    control.shift_t5 = shift_later;
    tree = qualify.give_tree;
    tree_t4 = tree;
    negative = beat.negative;
    control.negative_t5 = negative;
    for n in 0..positive.len() {
        above_shift[n].amount = beat.shift;
        positive[n] = above_shift[n].positive;
        positive_t5[n] = positive[n];
    }
    for PAD in RESULTS {
        write_PAD = qualify.give_PAD;
        control.write_PAD_t7 = write_PAD;
    }
    destination = beat.destination;
    destination_t6 = destination;
    start_decode.c = beat.c;
    started = start_decode.starts;
    starts.starts_t2 = started;
    starts.combine_t2 = combine;
    tree_combine = combine_later;
    combine_t4 = tree_combine;
}

/// What pads are read for: the beat that is there, or where they have output registers the one that comes.
macro_rules! wire_read_addresses {
    ($self:ident, $wiring:ident, $coming:ident, $now:ident) => {
        if $self._pad_register {
            blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
                for PAD in PADS { pipeline.reads.PAD = $coming.PAD_address; }
            ); }
        } else {
            blocks::unroll! { crate::rtl::wiring::wires!($self, $wiring;
                for PAD in PADS { pipeline.reads.PAD = $now.q.PAD_address; }
            ); }
        }
    };
}
pub(crate) use wire_read_addresses;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn control_comes_when_a_pe_needs_it() {
        let mut block = ControlPipeline::new(&Widths::of_grid(1, 1));
        block.connect_all();
        let mut seen = Vec::new();
        for t in 0..9 {
            let beat = &mut block.beat;
            (beat.valid.next, beat.first.next, beat.last.next, beat.write_t0.next) = (t == 0, t == 0, t == 0, t == 0);
            (beat.align.next, beat.shift.next) = if t == 0 { (7, 9) } else { (0, 0) };
            clocked(&mut block, |b| &mut b.clock);
            let control = &block.control;
            seen.push([
                control.align_t2.val(),
                control.valid_t3.val().into(),
                control.shift_t4.val(),
                control.shift_t5.val(),
                control.write_t0_t7.val().into(),
            ]);
        }
        // After the first edge it is t+1.
        let at = |t: usize| seen[t - 1];
        assert_eq!(at(1), [0; 5]);
        assert_eq!(at(2), [7, 0, 0, 0, 0]);
        assert_eq!(at(3), [0, 1, 0, 0, 0]);
        assert_eq!(at(4), [0, 0, 9, 0, 0]);
        assert_eq!(at(5), [0, 0, 0, 9, 0]);
        assert_eq!(at(6), [0; 5]);
        assert_eq!(at(7), [0, 0, 0, 0, 1]);
    }
}
