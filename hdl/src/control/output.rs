//! Emission: sums of the trees to the output stream, with credits for the space in the FIFO.
//!
//!     emitting beat (takes a credit) ──▶ ... trees ... ──▶ push ──▶ FIFO ──▶ pop (returns the credit)
//!
//! A beat has a word in each lane, and each lane a memory of its own; pointers and credits are those of all. Where a beat has more lanes than a
//! transfer of the stream has words, it leaves in several transfers, as many as its instruction says.

use crate::beats::Widths;
use crate::datapath::exchange::{PartCounter, PartSelect};
use blocks::block;
use rust_hdl_core::prelude::*;

/// The words: written synchronously, read asynchronously.
#[block(clock, leaf)]
fn QueueMemory(address_bits: u32, word: u32) {
    let write: In;
    let write_address: In<address_bits>;
    let write_data: In<word>;
    let read_address: In<address_bits>;
    let read_data: Out<word>;
    let _words: Vec<i128> = vec![0; 1 << address_bits];
}

impl crate::rtl::Leaf for QueueMemory {
    fn model(&mut self) {
        if self.clock.pos_edge() && self.write.val() {
            self._words[self.write_address.val() as usize] = self.write_data.val();
        }
        self.read_data.next = self._words[self.read_address.val() as usize];
    }
    fn text(&self) -> String {
        let (last_bit, last_word) = (self.write_data.width() - 1, self._words.len() - 1);
        format!(
            "// queue_memory: words of the output FIFO; what was pushed is visible in the next cycle.
reg [{last_bit}:0] words [0:{last_word}];
always @(posedge clock) if (write) words[write_address] <= write_data;
assign read_data = words[read_address];"
        )
    }
}

/// Pointers of the output FIFO, and credits for its space.
#[block(clock, reset)]
fn QueueControl(address: u32) {
    let pointer = address + 1;
    let (emitted, push, out_ready): In;
    let (out_valid, credit, all_credits): Out;
    let (write_address, read_address): Out<pointer>;
    let pop: Local;
    /// One bit more than an address: equal pointers mean empty.
    let pushed: Register<pointer>;
    let (popped, credits): Register<pointer>;
    /// `credits` is 1.
    let scarce: Local;
    /// `credits` is 0.
    let exhausted: Flag;
    let (none, all, one): Const<pointer> = (0, 1 << address, 1);

    write_address = pushed;
    read_address = popped;
    out_valid = pushed != popped;
    pop = out_valid && out_ready;
    credit = !exhausted;
    all_credits = credits == all;
    if push {
        pushed = pushed + one;
    }
    if pop {
        popped = popped + one;
    }
    if emitted && !pop {
        credits = credits - one;
    }
    if pop && !emitted {
        credits = credits + one;
    }
    // Whether a beat emits is known late, and nothing emits without a credit.
    scarce = credits == one;
    exhausted = exhausted && !pop;
    if emitted {
        exhausted = scarce && !pop;
    }
    if reset {
        pushed = none;
        popped = none;
        credits = all;
    }
}

/// Which transfer of its beat is at the output.
///
/// Which transfer of its beat is at the output: a beat leaves the FIFO with its last one.
#[block(clock, reset)]
fn TransferCounter(bits: u32) {
    let (out_valid, out_ready): In;
    /// Number of the last transfer of the beat.
    let last_transfer: In<bits>;
    /// Number of the one that is shown.
    let transfer_number: Out<bits>;
    /// The beat goes if there is one.
    let beat_ends: Out;
    let shown: Register<bits>;
    let at_last: Local;
    let (none, one): Const<bits> = (0, 1);

    transfer_number = shown;
    at_last = shown == last_transfer;
    beat_ends = out_ready && at_last;
    if out_valid && out_ready {
        shown = shown + one;
        if at_last {
            shown = none;
        }
    }
    if reset {
        shown = none;
    }
}

/// The lane whose turn it is.
#[block]
fn TransferSelect(bits: u32, word: u32) {
    let transfer_number: In<bits>;
    let lanes: [In<word>; 1 << bits];
    let word: Out<word>;
    let numbers: [Const<bits>; 1 << bits] = n;

    word = lanes[0];
    for i in 0..lanes.len() {
        if transfer_number == numbers[i] {
            word = lanes[i];
        }
    }
}

/// Sums of the global tree to the output stream.
///
/// `2^address_bits` beats of so many lanes, for transfers of so many words; they arrive `cycles` after they were issued.
#[block(name = "output_queue", clock, reset, wires, long = "wires only, of queue and lanes")]
pub(crate) fn Output(address_bits: u32, widths: &Widths, [lanes, words]: [u32; 2], cycles: u32) {
    let (word, exchanges) = (widths.word, widths.exchanges);
    let bits = (lanes / words).ilog2();
    let several = bits > 0;
    let taken = if exchanges == 0 { word } else { widths.accumulator };
    /// An emitting beat is issued.
    let emitted: In;
    /// A beat that was issued two cycles ago sends a sum. Present if the grid exports partial sums: words are whole sums then.
    let leaves: [In; exchanges];
    let word: In<taken>;
    /// Of the lanes after the first.
    let further: [In<taken>; lanes - 1];
    /// Transfers, less one, of a beat that was issued two cycles ago. One if there may be several.
    let transfers: [In<bits>; several];
    let out_data: Out<word>;
    let out_further: [Out<word>; words - 1];
    let out_valid: Out;
    let out_ready: In;
    let (credit, all_credits): Out;
    let on_its_way: FlagDelay<cycles>;
    let sums_on_their_way: [FlagDelay<{ cycles - 2 }>; exchanges];
    let counters = [PartCounter(clock, reset, widths.parts); exchanges];
    /// One for each lane.
    let selects = [PartSelect(widths.parts, word, widths.accumulator); if exchanges > 0 { lanes } else { 0 }];
    let control = QueueControl(clock, reset, address_bits);
    let memory = QueueMemory(clock, address_bits, word);
    let memories = [QueueMemory(clock, address_bits, word); lanes - 1];
    let transfers_on_their_way: [Delay<bits, { cycles - 2 }>; several];
    let transfer_memories = [QueueMemory(clock, address_bits, bits); several];
    let transfer_counters = [TransferCounter(clock, reset, bits); several];
    /// One for each word of a transfer.
    let transfer_selects = [TransferSelect(bits, word); if bits > 0 { words } else { 0 }];

    on_its_way = emitted;
    control.emitted = emitted;
    control.push = on_its_way;
    memory.write = on_its_way;
    memory.write_address = control.write_address;
    if selects.is_empty() {
        memory.write_data = word;
    } else {
        selects[0].sum = word;
        memory.write_data = selects[0].word;
    }
    memory.read_address = control.read_address;
    out_valid = control.out_valid;
    credit = control.credit;
    all_credits = control.all_credits;
    for x in 0..leaves.len() {
        sums_on_their_way[x] = leaves[x];
        counters[x].shown = sums_on_their_way[x];
        selects.part = counters[x].part;
    }
    for l in 0..memories.len() {
        memories[l].write = on_its_way;
        memories[l].write_address = control.write_address;
        if selects.is_empty() {
            memories[l].write_data = further[l];
        } else {
            selects[l + 1].sum = further[l];
            memories[l].write_data = selects[l + 1].word;
        }
        memories[l].read_address = control.read_address;
    }
    // From the memories to the stream.
    if transfers.is_empty() {
        control.out_ready = out_ready;
        out_data = memory.read_data;
        out_further = memories.read_data;
    }
    for t in 0..transfers.len() {
        transfers_on_their_way[t] = transfers[t];
        transfer_memories[t].write = on_its_way;
        transfer_memories[t].write_address = control.write_address;
        transfer_memories[t].write_data = transfers_on_their_way[t];
        transfer_memories[t].read_address = control.read_address;
        transfer_counters[t].out_valid = control.out_valid;
        transfer_counters[t].out_ready = out_ready;
        transfer_counters[t].last_transfer = transfer_memories[t].read_data;
        control.out_ready = transfer_counters[t].beat_ends;
        out_data = transfer_selects[0].word;
        transfer_selects.transfer_number = transfer_counters[t].transfer_number;
        for w in 0..out_further.len() {
            out_further[w] = transfer_selects[w + 1].word;
        }
        let words = transfer_selects.len();
        for l in 0..=memories.len() {
            let (place, turn) = (l % words, l / words);
            if l == 0 {
                transfer_selects[place].lanes[turn] = memory.read_data;
            } else {
                transfer_selects[place].lanes[turn] = memories[l - 1].read_data;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::{clocked, settled};

    #[test]
    fn credits_are_the_places_that_are_left() {
        let mut block = QueueControl::new(1);
        block.connect_all();
        block.reset.next = true;
        clocked(&mut block, |b| &mut b.clock);
        block.reset.next = false;
        let mut cycle = |emitted: bool, push: bool, ready: bool| {
            (block.emitted.next, block.push.next, block.out_ready.next) = (emitted, push, ready);
            clocked(&mut block, |b| &mut b.clock);
            (block.emitted.next, block.push.next, block.out_ready.next) = (false, false, false);
            settled(&mut block);
            (block.credit.val(), block.out_valid.val(), block.all_credits.val())
        };
        assert_eq!(cycle(true, false, false), (true, false, false));
        assert_eq!(cycle(true, true, false), (false, true, false), "both places are taken");
        assert_eq!(cycle(false, true, true), (true, true, false), "a pop returns a credit");
        assert_eq!(cycle(false, false, true), (true, false, true));
    }
}
