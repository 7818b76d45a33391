//! Memories: one write port, one read port, read synchronously, never reset.
//!
//! | leaf | holds | width |
//! |---|---|---|
//! | [`Scratchpad`] | a scratchpad of a PE | a word |
//! | [`TableMemory`] | function tables | {delta, base} |
//!
//! The memories of the streams (`control::microcode`) share the text of chunks.
//!
//! The text is the template that synthesisers recognise as block RAM, or as LUT RAM where it is small. `no_rw_check`
//! says that a word is never read in the cycle in which it is written, which docs/machine.md forbids; without it ECP5
//! surrounds each block RAM with a ring of logic.

use crate::beats::{CHUNK_BITS, ENTRY_CHUNK_BITS, Widths};
use crate::rtl::signal::Wide;
use arch::device::{Leaves, filled as with_values};
use arch::number::ceil_log2;
use arch::registers::{ENTRY_CHUNKS, Region};
use blocks::block;
use rust_hdl_core::prelude::*;
use std::collections::BTreeMap;

/// So many words, at the first addresses; what lies beyond them is not there.
#[block(clock, leaf)]
pub(crate) fn Scratchpad(depth: u32, word: u32) {
    let address_bits = ceil_log2(u64::from(depth)).max(1);
    let write: In;
    let write_address: In<address_bits>;
    let write_data: In<word, signed>;
    let read_address: In<address_bits>;
    let read_data: Out<word, signed>;
    /// Empty: there is no such pad.
    let _words: Vec<i128> = vec![0; depth as usize];
    /// Attribute that says what it is made of.
    let _style: &'static str = "";
    /// What the output register is going to hold, if there is one.
    let registered: [Local<word, signed>; 0u32];
    let _leaves: Leaves = Leaves::GENERIC;
}

impl Scratchpad {
    /// The ports of a pad that is not there: it reads 0.
    pub(crate) fn none(depth: u32, word: u32) -> Self {
        Scratchpad { _words: Vec::new(), ..Scratchpad::new(depth, word) }
    }

    /// With an output register, if `registered`: adds one cycle of read latency.
    pub(crate) fn with_register(self, registered: bool) -> Self {
        let word = self.read_data.width();
        Scratchpad { registered: (0..u32::from(registered)).map(|_| Wide::signed(word)).collect(), ..self }
    }

    /// It may name cells of the device.
    pub(crate) fn named(self, leaves: Leaves) -> Self {
        Scratchpad { _leaves: leaves, ..self }
    }

    /// Bits of the word that memory cells with a name hold, if any, and the text of these.
    fn narrow_text(&self) -> Option<(u32, String)> {
        let (word, address) = (self.write_data.width(), self.read_address.width());
        let cell = self._leaves.narrow_memory?;
        let rest = word % cell.group;
        let fits = self._words.len() <= cell.words as usize && (1..=cell.bits).contains(&rest) && word > rest;
        if !fits || self._style.contains("block") {
            return None;
        }
        let zeros = |bits: u32, name: &str| if bits > 0 { format!("{{{bits}'d0, {name}}}") } else { name.to_owned() };
        let upper = zeros(cell.bits - rest, &format!("write_data[{}:{}]", word - 1, word - rest));
        let address = |name| zeros(ceil_log2(cell.words.into()) - address, name);
        let data = format!("wire [{}:0] rest_data = {upper};\n", cell.bits - 1);
        let values =
            [("read", address("read_address")), ("write", address("write_address")), ("data", "rest_data".to_owned())];
        let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
        let unused = if rest < cell.bits {
            format!("wire unused_rest = &rest[{}:{rest}];\n", cell.bits - 1)
        } else {
            String::new()
        };
        Some((rest, data + &with_values(&cell.text, &values) + &unused))
    }

    /// Ask for block memories if it has so many words, for look-up tables if it has fewer; 0 asks for nothing.
    pub(crate) fn in_blocks_from(self, depth: u32) -> Self {
        Scratchpad { _style: Scratchpad::style(self._words.len(), depth), ..self }
    }

    /// The attribute of a pad of so many words.
    pub(crate) fn style(words: usize, blocks_from: u32) -> &'static str {
        match blocks_from as usize {
            0 => "",
            depth if words >= depth => ", ram_style = \"block\"",
            _ => ", ram_style = \"distributed\"",
        }
    }
}

impl crate::rtl::Leaf for Scratchpad {
    fn model(&mut self) {
        if self.clock.pos_edge() && !self._words.is_empty() {
            let word = self._words.get(self.read_address.val() as usize).copied().unwrap_or(0);
            match self.registered.first_mut() {
                None => self.read_data.next = word,
                Some(registered) => {
                    self.read_data.next = registered.val();
                    registered.next = word;
                }
            }
            let written = self._words.get_mut(self.write_address.val() as usize).filter(|_| self.write.val());
            if let Some(written) = written {
                *written = self.write_data.val();
            }
        }
    }
    fn text(&self) -> String {
        if self._words.is_empty() {
            let word = self.read_data.width();
            return format!(
                "// no_scratchpad: a pad that is not there reads 0.
assign read_data = {word}'d0;
wire unused = &{{1'b0, clock, write, write_address, write_data, read_address, 1'b0}};"
            );
        }
        let (last_bit, last_word, style) = (self.write_data.width() - 1, self._words.len() - 1, self._style);
        let (rest, narrow) = self.narrow_text().unwrap_or_default();
        let (held, kept, found_rest) = if rest == 0 {
            (last_bit, "write_data".to_owned(), String::new())
        } else {
            let held = last_bit - rest;
            (held, format!("write_data[{held}:0]"), format!("rest[{}:0], ", rest - 1))
        };
        let whole =
            if rest == 0 { "words[read_address]".to_owned() } else { format!("{{{found_rest}words[read_address]}}") };
        // The word that is read, and its register.
        let (read, declared, register) = if self.registered.is_empty() {
            ("read_data", String::new(), "")
        } else {
            ("found", format!("reg signed [{last_bit}:0] found;\n"), "    read_data <= found;\n")
        };
        format!(
            "// scratchpad: one of the memories of a PE.
(* no_rw_check{style} *)
reg signed [{held}:0] words [0:{last_word}];
{narrow}{declared}always @(posedge clock) begin
    if (write) words[write_address] <= {kept};
    {read} <= {whole};
{}{register}end",
            unknown_at_collision("write && write_address == read_address", read, last_bit + 1)
        )
    }
}

/// For simulators with unknown values, where the text is asked for: a word that is read while it is written is unknown, as it may be
/// in a block RAM. The grid must never use one.
pub(crate) fn unknown_at_collision(collides: &str, word: &str, bits: u32) -> String {
    format!("`ifdef TABLA_COLLISIONS\n    if ({collides}) {word} <= {{{bits}{{1'bx}}}};\n`endif\n")
}

/// How a chunk is read: when `enable` is set, or always without one; the words read are called `word` and the chunk's number.
#[derive(Clone, Copy)]
pub(crate) struct ReadPort {
    pub(crate) enable: &'static str,
    pub(crate) index: &'static str,
    pub(crate) word: &'static str,
}

/// One `reg` array per 32-bit chunk, so that each can be written alone.
///
/// What is read of the first `early` chunks goes through logic before the next register, which the attribute says: block RAM of some
/// families is too slow for that.
pub(crate) fn chunked_text(
    bits: u32,
    depth: usize,
    chunk_bits: u32,
    early: u32,
    port: impl Fn(u32) -> ReadPort,
) -> String {
    let mut text = String::new();
    let chunks = bits.div_ceil(CHUNK_BITS);
    for k in 0..chunks {
        let last = (bits - k * CHUNK_BITS).min(CHUNK_BITS) - 1;
        let early = if k < early { ", early" } else { "" };
        let word = port(k).word;
        text += &format!(
            "(* no_rw_check{early} *)\nreg [{last}:0] chunk{k} [0:{}];\nreg [{last}:0] {word}{k};\n",
            depth - 1
        );
    }
    text += "always @(posedge clock) begin\n";
    for k in 0..chunks {
        let last = (bits - k * CHUNK_BITS).min(CHUNK_BITS) - 1;
        text += &format!(
            "    if (write && write_chunk == {chunk_bits}'d{k}) chunk{k}[write_index] <= write_data[{last}:0];\n"
        );
        let ReadPort { enable, index, word } = port(k);
        let gate = if enable.is_empty() { String::new() } else { format!("if ({enable}) ") };
        text += &format!("    {gate}{word}{k} <= chunk{k}[{index}];\n");
        let collides = format!("write && write_chunk == {chunk_bits}'d{k} && write_index == {index}");
        let collides = if enable.is_empty() { collides } else { format!("{enable} && {collides}") };
        text += &unknown_at_collision(&collides, &format!("{word}{k}"), last + 1);
    }
    text += "end\n";
    text
}

/// `{read3, read2, ...}` of the bits `lsb .. lsb + bits`, where `word` is `read`.
pub(crate) fn chunked_slice(word: &str, lsb: u32, bits: u32) -> String {
    let (first, last) = (lsb / CHUNK_BITS, (lsb + bits - 1) / CHUNK_BITS);
    let parts: Vec<String> = (first..=last)
        .rev()
        .map(|k| {
            let low = lsb.max(k * CHUNK_BITS) - k * CHUNK_BITS;
            let high = (lsb + bits - 1).min(k * CHUNK_BITS + CHUNK_BITS - 1) - k * CHUNK_BITS;
            format!("{word}{k}[{high}:{low}]")
        })
        .collect();
    if parts.len() == 1 { parts[0].clone() } else { format!("{{{}}}", parts.join(", ")) }
}

/// `2^table_index` entries for words of `word` bits.
#[block(clock, leaf)]
pub(crate) fn TableMemory(widths: &Widths) {
    let (index_bits, word) = (widths.table_index, widths.word);
    let chunks = ENTRY_CHUNKS as usize;
    let contents = widths.fixed.as_ref().map(|fixed| fixed.words(Region::Tables, chunks));
    let note = |n| Some((n, widths.fixed.as_ref()?.note(Region::Tables, n)?.to_owned()));
    let notes = (0..1 << index_bits).filter_map(note).collect();
    let write: In;
    let write_index: In<index_bits>;
    let write_chunk: In<ENTRY_CHUNK_BITS>;
    let write_data: In<CHUNK_BITS>;
    let read_index: In<index_bits>;
    /// W+2 bits.
    let base: Out<{ word + 2 }, signed>;
    /// W+2 bits.
    let delta: Out<{ word + 2 }, signed>;
    let _entries: Vec<Vec<u32>> = filled(contents.unwrap_or_default(), 1 << index_bits, chunks);
    /// Chunks of an entry before its last one.
    let _held: Vec<u32> = vec![0; chunks];
    let _fixed: bool = widths.fixed.is_some();
    /// Where the table of a function begins.
    let _notes: BTreeMap<usize, String> = notes;
}

impl TableMemory {
    /// The chunk that completes an entry. Those before it wait for it: written alone, they would lie in memories of their own.
    fn last_chunk(&self) -> u32 {
        (2 * self.base.width()).div_ceil(CHUNK_BITS) - 1
    }

    /// A memory with contents: block RAM of all families can have some.
    fn fixed_text(&self) -> String {
        let half = self.base.width();
        let (top, last) = (2 * half - 1, self._entries.len() - 1);
        let mut text = format!(
            "// table_memory: entries {{delta, base}} of the function tables, fixed.\nreg [{top}:0] entries [0:{last}];\nreg [{top}:0] entry;\ninitial begin\n"
        );
        for (n, entry) in self._entries.iter().enumerate() {
            let bits = entry[..3].iter().rev().fold(0u128, |bits, &chunk| bits << CHUNK_BITS | u128::from(chunk));
            if let Some(note) = self._notes.get(&n) {
                text += &format!("    // {note}\n");
            }
            text += &format!("    entries[{n}] = {}'h{bits:x};\n", 2 * half);
        }
        text += "end\nalways @(posedge clock) entry <= entries[read_index];\n";
        text + &format!("assign base = entry[{}:0];\nassign delta = entry[{top}:{half}];", half - 1)
    }
}

impl crate::rtl::Leaf for TableMemory {
    fn model(&mut self) {
        if self.clock.pos_edge() {
            let entry = &self._entries[self.read_index.val() as usize];
            let bits = entry[..3].iter().rev().fold(0i128, |bits, &chunk| bits << CHUNK_BITS | i128::from(chunk));
            self.base.next = bits;
            self.delta.next = bits >> self.base.width();
            let (chunk, last) = (self.write_chunk.val() as usize, self.last_chunk() as usize);
            if self.write.val() && chunk <= last && !self._fixed {
                self._held[chunk] = self.write_data.val() as u32;
                if chunk == last {
                    self._entries[self.write_index.val() as usize] = self._held.clone();
                }
            }
        }
    }
    fn text(&self) -> String {
        let half = self.base.width();
        if self._fixed {
            return self.fixed_text();
        }
        let (top, last, deepest) = (2 * half - 1, self.last_chunk(), self._entries.len() - 1);
        let mut text = "// table_memory: entries {delta, base} of the function tables.\n".to_owned();
        let chunk = |k: u32| format!("write && write_chunk == {ENTRY_CHUNK_BITS}'d{k}");
        let mut parts = vec![format!("write_data[{}:0]", top - CHUNK_BITS * last)];
        let mut holds = String::new();
        for k in (0..last).rev() {
            text += &format!("reg [{}:0] held{k};\n", CHUNK_BITS - 1);
            holds += &format!("    if ({}) held{k} <= write_data;\n", chunk(k));
            parts.push(format!("held{k}"));
        }
        text += &format!("(* no_rw_check *)\nreg [{top}:0] words [0:{deepest}];\nreg [{top}:0] entry;\n");
        let (writes, entry) = (chunk(last), parts.join(", "));
        text +=
            &format!("always @(posedge clock) begin\n{holds}    if ({writes}) words[write_index] <= {{{entry}}};\n");
        text += "    entry <= words[read_index];\n";
        text += &unknown_at_collision(&format!("{writes} && write_index == read_index"), "entry", top + 1);
        text + &format!("end\nassign base = entry[{}:0];\nassign delta = entry[{top}:{half}];", half - 1)
    }
}

/// Words of a memory up to its depth. Those that nobody reads repeat the last one, so that bits that are always equal stay so.
pub(crate) fn filled(mut words: Vec<Vec<u32>>, depth: usize, chunks: usize) -> Vec<Vec<u32>> {
    let last = words.last().cloned().unwrap_or_else(|| vec![0; chunks]);
    words.resize(depth, last);
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtl::signal::clocked;

    #[test]
    fn a_word_is_there_in_the_cycle_after_its_address() {
        let mut block = Scratchpad::new(4, 8);
        block.connect_all();
        let mut cycle = |write: Option<(i128, i128)>, address: i128| {
            block.write.next = write.is_some();
            (block.write_address.next, block.write_data.next) = write.unwrap_or((0, 0));
            block.read_address.next = address;
            clocked(&mut block, |b| &mut b.clock);
            block.read_data.val()
        };
        cycle(Some((1, -7)), 0);
        cycle(Some((3, 9)), 0);
        assert_eq!(cycle(None, 1), -7);
        assert_eq!(cycle(Some((3, 5)), 1), -7);
        assert_eq!(cycle(None, 3), 5);
    }

    /// Words of 16 bits have entries of 36: the first 32 wait for the others, so that all lie in one memory.
    #[test]
    fn an_entry_is_complete_with_its_last_chunk() {
        let machine = arch::Machine::try_from(arch::machine::MachineSpec::default()).unwrap();
        let mut block = TableMemory::new(&Widths::new(crate::Design::Loadable(&machine), Leaves::GENERIC));
        block.connect_all();
        let mut cycle = |write: Option<(u64, u64)>| {
            block.write.next = write.is_some();
            let (chunk, data) = write.unwrap_or((0, 0));
            block.write_index.next = 5;
            (block.write_chunk.next, block.write_data.next) = (chunk.into(), data.into());
            block.read_index.next = 5;
            clocked(&mut block, |b| &mut b.clock);
            (block.base.val(), block.delta.val())
        };
        cycle(Some((0, 0x4_0003)));
        assert_eq!((cycle(None), cycle(None)), ((0, 0), (0, 0)));
        cycle(Some((1, 0)));
        assert_eq!((cycle(None), cycle(None)), ((3, 1), (3, 1)));
    }

    #[test]
    fn deep_pads_are_asked_to_be_blocks() {
        let asked = |depth: u32| match Scratchpad::new(64, 8).in_blocks_from(depth).hdl() {
            Verilog::Custom(text) => text.lines().nth(1).map(str::to_owned),
            _ => None,
        };
        assert_eq!(asked(0).as_deref(), Some("(* no_rw_check *)"));
        assert_eq!(asked(64).as_deref(), Some("(* no_rw_check, ram_style = \"block\" *)"));
        assert_eq!(asked(65).as_deref(), Some("(* no_rw_check, ram_style = \"distributed\" *)"));
    }

    #[test]
    fn a_pad_that_is_not_there_reads_nothing() {
        let mut block = Scratchpad::none(4, 8);
        block.connect_all();
        (block.write.next, block.write_data.next) = (true, 3);
        clocked(&mut block, |b| &mut b.clock);
        clocked(&mut block, |b| &mut b.clock);
        assert_eq!(block.read_data.val(), 0);
    }
}
