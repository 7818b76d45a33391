//! Pads of a row whose words lie side by side (`pads_in_rows`).
//!
//!     PE 0   ──▶ write, word ──┐  ┌────────────────────┐  ┌──▶ its word
//!     ..                       ├─▶│ words side by side │──┤
//!     PE C-1 ──▶ write, word ──┘  └────────────────────┘  └──▶ its word
//!
//! All PEs of a PU read and write the same addresses; only whether they write is their own, and for gradient pads not even that. So one memory
//! holds a pad of all of them, each word with a write enable: a block memory that is twice as wide as a word takes two pads where its depth is enough
//! for one, and sums that are a little wider than a block memory fill several of them.

use crate::beats::Widths;
use crate::datapath::memory::{Scratchpad, unknown_at_collision};
use crate::datapath::pe::{PadWords, PadWrites, ReadAddresses, WriteAddresses, address_width};
use arch::number::ceil_log2;
use blocks::block;
use rust_hdl_core::prelude::*;

/// One pad of each PE of a row.
///
/// So many words of `bits` for each PE, at the first addresses, with so many write enables; what lies beyond them is not there.
#[block(clock, leaf)]
fn RowPad(depth: u32, bits: u32, enables: u32, widths: &Widths) {
    let (address_bits, none) = (ceil_log2(u64::from(depth)).max(1), vec![0; widths.columns as usize]);
    /// One for each PE, or one for all.
    let write: [In; enables];
    let write_address: In<address_bits>;
    let write_data: [In<bits, signed>; widths.columns];
    let read_address: In<address_bits>;
    let read_data: [Out<bits, signed>; widths.columns];
    /// By address and PE.
    let _words: Vec<Vec<i128>> = vec![none.clone(); depth as usize];
    /// What was read, and what the output register holds.
    let _found: [Vec<i128>; 2] = [none.clone(), none];
    /// Attribute that says what it is made of.
    let _style: &'static str = Scratchpad::style(depth as usize, widths.block_depth);
    let _registered: bool = widths.pad_register;
}

impl RowPad {
    /// The bits of a PE's word.
    fn slice(&self, pe: usize) -> String {
        let bits = self.read_data[pe].width() as usize;
        format!("[{}:{}]", (pe + 1) * bits - 1, pe * bits)
    }
}

impl crate::rtl::Leaf for RowPad {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let none = || vec![0; self.read_data.len()];
            let read = self._words.get(self.read_address.val() as usize).cloned().unwrap_or_else(none);
            let before = std::mem::replace(&mut self._found[0], read);
            self._found[1] = before;
            let words = self._words.get_mut(self.write_address.val() as usize);
            for (pe, word) in words.into_iter().flatten().enumerate() {
                if self.write[pe % self.write.len()].val() {
                    *word = self.write_data[pe].val();
                }
            }
        }
        let shown = &self._found[usize::from(self._registered)];
        for (word, shown) in self.read_data.iter_mut().zip(shown) {
            word.next = *shown;
        }
    }
    fn text(&self) -> String {
        let (pes, enables) = (0..self.read_data.len(), self.write.len());
        let bits = self.read_data[0].width() * self.read_data.len() as u32;
        let (last, last_word, style) = (bits - 1, self._words.len() - 1, self._style);
        let (shown, declared, register) = if self._registered {
            ("shown", format!("reg [{last}:0] shown;\n"), "    shown <= found;\n")
        } else {
            ("found", String::new(), "")
        };
        let write = |pe: usize| {
            let (enable, slice) = (pe % enables, self.slice(pe));
            format!("    if (write${enable}) words[write_address]{slice} <= write_data${pe};\n")
        };
        let writes: String = pes.clone().map(write).collect();
        let any = (0..enables).map(|n| format!("write${n}")).collect::<Vec<_>>().join(" || ");
        // Of all words: what a block memory shows of those that are not written is nowhere promised.
        let collision = unknown_at_collision(&format!("({any}) && write_address == read_address"), "found", bits);
        let words: Vec<String> = pes.map(|pe| format!("assign read_data${pe} = {shown}{};", self.slice(pe))).collect();
        format!(
            "// row_pad: one of the memories of all PEs of a row, their words side by side.
(* no_rw_check{style} *)
reg [{last}:0] words [0:{last_word}];
reg [{last}:0] found;
{declared}always @(posedge clock) begin
{writes}    found <= words[read_address];
{collision}{register}end
{}",
            words.join("\n")
        )
    }
}

/// The pads of all PEs of a row, which take the same addresses.
#[block(clock, wires)]
pub(crate) fn RowPads(widths: &Widths) {
    let address = |name: &str| address_width(widths, name);
    let gradients = widths.gradients_in_rows();
    let sums = gradients * widths.columns;
    let reads: In<ReadAddresses> = address;
    let addresses: In<WriteAddresses> = address;
    /// What each PE writes.
    let writes: [In<PadWrites>; widths.columns] = |_| widths.word;
    /// What each reads.
    let words: [Out<PadWords>; widths.columns] = |_| widths.word;
    /// Of the gradient pads, one each if there are some; and then what each PE parks and has parked.
    let sums_write: [In; gradients];
    let (sums_write_address, sums_read_address): [In<{ widths.gradient }>; gradients];
    let sums: [In<{ widths.accumulator }>; sums];
    let parked: [Out<{ widths.accumulator }, signed>; sums];
    let model = RowPad(clock, widths.model_words, widths.word, widths.columns, widths);
    let data = RowPad(clock, 1 << widths.data, widths.word, widths.columns, widths);
    for PAD in TEMPORARIES {
        let PAD = RowPad(clock, widths.temporary_words, widths.word, widths.columns, widths);
    }
    let gradient = [RowPad(clock, 1 << widths.gradient, widths.accumulator, 1, widths); gradients];

    for PAD in PADS {
        PAD.read_address = reads.PAD;
        PAD.write_address = addresses.PAD;
    }
    for pe in 0..words.len() {
        for PAD in PADS {
            PAD.write[pe] = writes[pe].write_PAD;
            PAD.write_data[pe] = writes[pe].PAD;
        }
        for PAD in PADS {
            words[pe].PAD = PAD.read_data[pe];
        }
    }
    for g in 0..gradient.len() {
        gradient[g].read_address = sums_read_address[g];
        gradient[g].write[0] = sums_write[g];
        gradient[g].write_address = sums_write_address[g];
        for pe in 0..sums.len() {
            gradient[g].write_data[pe] = sums[pe];
            parked[pe] = gradient[g].read_data[pe];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    /// Each PE writes its own word or leaves it; all read what they have written, a cycle after the address or two.
    #[test]
    fn the_words_of_a_row_are_apart() {
        for registered in [false, true] {
            let widths = Widths { pad_register: registered, ..Widths::of_grid(1, 3) };
            let mut block = RowPad::new(8, 16, 3, &widths);
            block.connect_all();
            let mut write = |address: i128, words: [Option<i128>; 3]| {
                block.write_address.next = address;
                for (pe, word) in words.into_iter().enumerate() {
                    block.write[pe].next = word.is_some();
                    block.write_data[pe].next = word.unwrap_or(99);
                }
                block.read_address.next = 5;
                for _ in 0..2 {
                    clocked(&mut block, |b| &mut b.clock);
                }
                [0, 1, 2].map(|pe: usize| block.read_data[pe].val())
            };
            write(5, [Some(-7), Some(8), Some(1)]);
            assert_eq!(write(5, [None, None, None]), [-7, 8, 1]);
            write(5, [None, Some(-1), None]);
            assert_eq!(write(4, [Some(3), Some(4), Some(5)]), [-7, -1, 1]);
            write(5, [Some(2), None, Some(-3)]);
            assert_eq!(write(5, [None, None, None]), [2, -1, -3]);
        }
    }

    /// One enable writes all.
    #[test]
    fn sums_of_a_row_are_written_together() {
        let mut block = RowPad::new(4, 40, 1, &Widths::of_grid(1, 2));
        block.connect_all();
        let mut write = |enable: bool, sums: [i128; 2]| {
            (block.write[0].next, block.write_address.next, block.read_address.next) = (enable, 1, 1);
            (block.write_data[0].next, block.write_data[1].next) = (sums[0], sums[1]);
            for _ in 0..2 {
                clocked(&mut block, |b| &mut b.clock);
            }
            [block.read_data[0].val(), block.read_data[1].val()]
        };
        write(true, [-1 << 38, 12]);
        assert_eq!(write(false, [0, 0]), [-1 << 38, 12]);
    }

    /// The low bits of a word are the first PE's, and a register stands behind all.
    #[test]
    fn the_text_has_a_write_enable_for_each_word() {
        let text = |registered: bool, block_depth: u32, enables: u32| {
            let widths = Widths { pad_register: registered, block_depth, ..Widths::of_grid(1, 2) };
            match RowPad::new(512, 16, enables, &widths).hdl() {
                Verilog::Custom(text) => text,
                _ => String::new(),
            }
        };
        let plain = text(false, 0, 2);
        for part in [
            "(* no_rw_check *)\nreg [31:0] words [0:511];",
            "if (write$0) words[write_address][15:0] <= write_data$0;",
            "if (write$1) words[write_address][31:16] <= write_data$1;",
            "if ((write$0 || write$1) && write_address == read_address) found <= {32{1'bx}};",
            "assign read_data$0 = found[15:0];\nassign read_data$1 = found[31:16];",
        ] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        assert!(text(false, 0, 1).contains("if (write$0) words[write_address][31:16] <= write_data$1;"));
        let registered = text(true, 512, 2);
        assert!(registered.contains("ram_style = \"block\"") && registered.contains("shown <= found;"), "{registered}");
        assert!(registered.contains("assign read_data$1 = shown[31:16];"), "{registered}");
    }
}
