//! Memories: one write port, one read port, read synchronously, never reset.
//!
//! | leaf | holds | width |
//! |---|---|---|
//! | [`Scratchpad`] | a scratchpad of a PE | a word |
//! | [`TableMemory`] | function tables | {delta, base} |
//! | [`ProgramMemory`] | instructions of a stream | a microcode word, read as fields |
//! | [`QueueMemory`] | the output FIFO | a word; read asynchronously |
//!
//! The text is the template that synthesisers recognise as block RAM, or as LUT RAM where it is small. `no_rw_check`
//! says that a word is never read in the cycle in which it is written, which docs/machine.md forbids; without it ECP5
//! surrounds each block RAM with a ring of logic.

use crate::bundle::Bundle;
use crate::signal::{Wide, fit};
use arch::isa::Layout;
use rust_hdl::prelude::*;

/// Bits of one write into programs and tables.
pub(crate) const CHUNK_BITS: u32 = 32;

#[derive(LogicBlock)]
pub(crate) struct Scratchpad {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) write_address: Wide<In>,
    pub(crate) write_data: Wide<In>,
    pub(crate) read_address: Wide<In>,
    pub(crate) read_data: Wide<Out>,
    _words: Vec<i128>,
}

impl Scratchpad {
    /// `2^address_bits` words.
    pub(crate) fn new(address_bits: u32, word: u32) -> Self {
        Scratchpad {
            clock: Signal::default(),
            write: Signal::default(),
            write_address: Wide::new(address_bits),
            write_data: Wide::signed(word),
            read_address: Wide::new(address_bits),
            read_data: Wide::signed(word),
            _words: vec![0; 1 << address_bits],
        }
    }
}

impl Logic for Scratchpad {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.read_data.next = self._words[self.read_address.val() as usize];
            if self.write.val() {
                self._words[self.write_address.val() as usize] = self.write_data.val();
            }
        }
    }
    fn connect(&mut self) {
        self.read_data.connect();
    }
    fn hdl(&self) -> Verilog {
        let (last_bit, last_word) = (self.write_data.width() - 1, self._words.len() - 1);
        Verilog::Custom(format!(
            "// scratchpad: one of the memories of a PE.
(* no_rw_check *)
reg signed [{last_bit}:0] words [0:{last_word}];
always @(posedge clock) begin
    if (write) words[write_address] <= write_data;
    read_data <= words[read_address];
end"
        ))
    }
}

/// Where a chunk goes, from the control port.
macro_rules! chunk_port {
    ($index_bits:expr, $chunk_bits:expr) => {
        (Signal::default(), Wide::new($index_bits), Wide::new($chunk_bits), Wide::new(CHUNK_BITS))
    };
}

/// One `reg` array per 32-bit chunk, so that each can be written alone.
fn chunked_text(bits: u32, depth: usize, chunk_bits: u32) -> String {
    let mut text = String::new();
    let chunks = bits.div_ceil(CHUNK_BITS);
    for k in 0..chunks {
        let last = (bits - k * CHUNK_BITS).min(CHUNK_BITS) - 1;
        text += &format!("(* no_rw_check *)\nreg [{last}:0] chunk{k} [0:{}];\nreg [{last}:0] read{k};\n", depth - 1);
    }
    text += "always @(posedge clock) begin\n";
    for k in 0..chunks {
        let last = (bits - k * CHUNK_BITS).min(CHUNK_BITS) - 1;
        text += &format!(
            "    if (write && write_chunk == {chunk_bits}'d{k}) chunk{k}[write_index] <= write_data[{last}:0];\n"
        );
        text += &format!("    read{k} <= chunk{k}[read_index];\n");
    }
    text += "end\n";
    text
}

/// `{read3, read2, ...}` of the bits `lsb .. lsb + bits`.
fn chunked_slice(lsb: u32, bits: u32) -> String {
    let (first, last) = (lsb / CHUNK_BITS, (lsb + bits - 1) / CHUNK_BITS);
    let parts: Vec<String> = (first..=last)
        .rev()
        .map(|k| {
            let low = lsb.max(k * CHUNK_BITS) - k * CHUNK_BITS;
            let high = (lsb + bits - 1).min(k * CHUNK_BITS + CHUNK_BITS - 1) - k * CHUNK_BITS;
            format!("read{k}[{high}:{low}]")
        })
        .collect();
    if parts.len() == 1 { parts[0].clone() } else { format!("{{{}}}", parts.join(", ")) }
}

#[derive(LogicBlock)]
pub(crate) struct TableMemory {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) write_index: Wide<In>,
    pub(crate) write_chunk: Wide<In>,
    pub(crate) write_data: Wide<In>,
    pub(crate) read_index: Wide<In>,
    /// W+2 bits.
    pub(crate) base: Wide<Out>,
    /// W+2 bits.
    pub(crate) delta: Wide<Out>,
    _entries: Vec<[u32; 3]>,
}

/// Bits that number the chunks of a table entry.
pub(crate) const ENTRY_CHUNK_BITS: u32 = arch::registers::ENTRY_CHUNKS.ilog2();
/// Bits that number the chunks of an instruction.
pub(crate) const INSTRUCTION_CHUNK_BITS: u32 = arch::registers::INSTRUCTION_CHUNKS.ilog2();

impl TableMemory {
    /// `2^index_bits` entries for words of `word` bits.
    pub(crate) fn new(index_bits: u32, word: u32) -> Self {
        let (write, write_index, write_chunk, write_data) = chunk_port!(index_bits, ENTRY_CHUNK_BITS);
        TableMemory {
            clock: Signal::default(),
            write,
            write_index,
            write_chunk,
            write_data,
            read_index: Wide::new(index_bits),
            base: Wide::signed(word + 2),
            delta: Wide::signed(word + 2),
            _entries: vec![[0; 3]; 1 << index_bits],
        }
    }
}

impl Logic for TableMemory {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let entry = self._entries[self.read_index.val() as usize];
            let bits = entry.iter().rev().fold(0i128, |bits, &chunk| bits << CHUNK_BITS | i128::from(chunk));
            self.base.next = bits;
            self.delta.next = bits >> self.base.width();
            let chunk = self.write_chunk.val() as usize;
            if self.write.val() && chunk < 3 {
                self._entries[self.write_index.val() as usize][chunk] = self.write_data.val() as u32;
            }
        }
    }
    fn connect(&mut self) {
        self.base.connect();
        self.delta.connect();
    }
    fn hdl(&self) -> Verilog {
        let half = self.base.width();
        let mut text = "// table_memory: entries {delta, base} of the function tables.\n".to_owned();
        text += &chunked_text(2 * half, self._entries.len(), ENTRY_CHUNK_BITS);
        text += &format!("assign base = {};\nassign delta = {};", chunked_slice(0, half), chunked_slice(half, half));
        Verilog::Custom(text)
    }
}

#[derive(LogicBlock)]
pub(crate) struct ProgramMemory<P: Bundle, F: Bundle> {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) write_index: Wide<In>,
    pub(crate) write_chunk: Wide<In>,
    pub(crate) write_data: Wide<In>,
    pub(crate) read_index: Wide<In>,
    /// Of the instruction read: what decides when its beats are issued.
    pub(crate) pacing: P,
    /// Of the instruction read: what its beats are made of.
    pub(crate) fields: F,
    _layout: Layout,
    _name: &'static str,
    _chunks: Vec<Vec<u32>>,
}

impl<P: Bundle, F: Bundle> ProgramMemory<P, F> {
    /// A program of `2^index_bits` instructions; the two bundles hold every field of the layout under its name.
    pub(crate) fn new(name: &'static str, index_bits: u32, layout: Layout, pacing: P, fields: F) -> Self {
        assert_eq!(layout.fields.len(), Self::names().count(), "fields of the {name} stream");
        let (write, write_index, write_chunk, write_data) = chunk_port!(index_bits, INSTRUCTION_CHUNK_BITS);
        ProgramMemory {
            clock: Signal::default(),
            write,
            write_index,
            write_chunk,
            write_data,
            read_index: Wide::new(index_bits),
            pacing,
            fields,
            _chunks: vec![vec![0; layout.chunks() as usize]; 1 << index_bits],
            _layout: layout,
            _name: name,
        }
    }

    /// Names of all fields with the bundle they are in.
    fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        let of = |bundle: &'static str, bits: &'static [&str], words: &'static [&str]| {
            bits.iter().chain(words).map(move |&name| (bundle, name))
        };
        of("pacing", P::BITS, P::WORDS).chain(of("fields", F::BITS, F::WORDS))
    }
}

impl<P: Bundle, F: Bundle> Logic for ProgramMemory<P, F> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            let chunks = &self._chunks[self.read_index.val() as usize];
            let bit = |n: u32| i128::from(chunks[(n / CHUNK_BITS) as usize] >> (n % CHUNK_BITS) & 1);
            let value = |name: &str| {
                let field = self._layout.field(name);
                fit((0..field.bits).fold(0, |value, b| value | bit(field.lsb + b) << b), field.bits, false)
            };
            let values: Vec<i128> = Self::names().map(|(_, name)| value(name)).collect();
            let mut values = values.into_iter();
            self.pacing.drive(&mut values);
            self.fields.drive(&mut values);
            if self.write.val() {
                let index = self.write_index.val() as usize;
                if let Some(chunk) = self._chunks[index].get_mut(self.write_chunk.val() as usize) {
                    *chunk = self.write_data.val() as u32;
                }
            }
        }
    }
    fn connect(&mut self) {
        self.pacing.claim();
        self.fields.claim();
    }
    fn hdl(&self) -> Verilog {
        let mut text = format!("// {0}_program: microcode of the {0} stream.\n", self._name);
        text += &chunked_text(self._layout.bits, self._chunks.len(), INSTRUCTION_CHUNK_BITS);
        for (bundle, name) in Self::names() {
            let field = self._layout.field(name);
            text += &format!("assign {bundle}${name} = {};\n", chunked_slice(field.lsb, field.bits));
        }
        Verilog::Custom(text)
    }
}

#[derive(LogicBlock)]
pub(crate) struct QueueMemory {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) write_address: Wide<In>,
    pub(crate) write_data: Wide<In>,
    pub(crate) read_address: Wide<In>,
    pub(crate) read_data: Wide<Out>,
    _words: Vec<i128>,
}

impl QueueMemory {
    /// `2^address_bits` words.
    pub(crate) fn new(address_bits: u32, word: u32) -> Self {
        QueueMemory {
            clock: Signal::default(),
            write: Signal::default(),
            write_address: Wide::new(address_bits),
            write_data: Wide::new(word),
            read_address: Wide::new(address_bits),
            read_data: Wide::new(word),
            _words: vec![0; 1 << address_bits],
        }
    }
}

impl Logic for QueueMemory {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.write.val() {
            self._words[self.write_address.val() as usize] = self.write_data.val();
        }
        self.read_data.next = self._words[self.read_address.val() as usize];
    }
    fn connect(&mut self) {
        self.read_data.connect();
    }
    fn hdl(&self) -> Verilog {
        let (last_bit, last_word) = (self.write_data.width() - 1, self._words.len() - 1);
        Verilog::Custom(format!(
            "// queue_memory: words of the output FIFO; what was pushed is visible in the next cycle.
reg [{last_bit}:0] words [0:{last_word}];
always @(posedge clock) if (write) words[write_address] <= write_data;
assign read_data = words[read_address];"
        ))
    }
}
