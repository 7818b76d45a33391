//! Microcode of a stream: a program memory that shows two instructions, the current one and the one ahead.
//!
//!                ┌────────┐ ahead ┌─────────┐ pacing, fields
//!     read_index ▶ chunks ├──┬────▶ current ├───────────────▶ stream
//!     read ──────▶        │  │    └────▲────┘
//!                └───▲────┘  └─────────┼─────▶ ahead: what decides when its beats are issued
//!     write ─────────┘          load ──┘
//!
//!     t             t+1                         t+2
//!     read       ─▶ `ahead` is the new one
//!     load       ─▶ `pacing` is what was ahead; `fields` follow combinationally a cycle after the load
//!
//! A program that is part of the hardware has no memory: every bit of a field is a function of the instruction's number.

use crate::beats::{CHUNK_BITS, ForColumns, ForScalar, INSTRUCTION_CHUNK_BITS, Widths};
use crate::datapath::memory::{ReadPort, chunked_slice, chunked_text, filled};
use crate::rtl::bundle::Bundle;
use crate::rtl::signal::{Wide, fit};
use crate::rtl::wiring::Lines;
use arch::isa::Layout;
use arch::registers::Region;
use rust_hdl_core::prelude::*;

/// Deepest program whose first chunks are worth look-up tables, and deepest one all of whose chunks are.
const EARLY_DEPTH: usize = 64;
const SHALLOW_DEPTH: usize = 16;

/// A program, and the two instructions that matter of it: the one that is current, and the one that comes after it.
///
/// A program that is part of the hardware has no memory: every bit of a field is a function of the instruction's number.
#[derive(LogicBlock)]
pub(crate) struct ProgramMemory<P: Bundle, F: Bundle, T: Bundle> {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) write: Signal<In, Bit>,
    pub(crate) write_index: Wide<In>,
    pub(crate) write_chunk: Wide<In>,
    pub(crate) write_data: Wide<In>,
    /// Fetch the instruction `read_index`; it is ahead from the next cycle on.
    pub(crate) read: Signal<In, Bit>,
    pub(crate) read_index: Wide<In>,
    /// The instruction ahead becomes current.
    pub(crate) load: Signal<In, Bit>,
    /// Of the instruction ahead: what decides when its beats are issued.
    pub(crate) ahead: P,
    /// The same of the current instruction.
    pub(crate) pacing: P,
    /// Of the current instruction: what its beats are made of.
    pub(crate) fields: F,
    /// What they do in the tiles of a batch: one, or none.
    pub(crate) tiles: Vec<T>,
    /// Whether the scalar unit takes words, too: one if the instruction says it.
    pub(crate) for_scalar: Vec<ForScalar<Out>>,
    /// Whether the results of rows go to the columns: one if the instruction says it.
    pub(crate) for_columns: Vec<ForColumns<Out>>,
    _layout: Layout,
    _name: &'static str,
    _chunks: Vec<Vec<u32>>,
    /// What is ahead.
    _shown: Vec<u32>,
    _fixed: bool,
    /// What each instruction is for, where that is known.
    _notes: Vec<Option<String>>,
}

impl<P: Bundle, F: Bundle, T: Bundle> ProgramMemory<P, F, T> {
    /// A program of `2^index_bits` instructions; the kinds of bundles hold every field of the layout under its name.
    pub(crate) fn new(
        name: &'static str,
        region: Region,
        widths: &Widths,
        layout: &Layout,
        pacing: [P; 2],
        fields: F,
        tiles: Option<T>,
    ) -> Self {
        let tiles = Vec::from_iter(tiles);
        let in_tiles = tiles.len() * (T::BITS.len() + T::WORDS.len());
        let is_for_scalar = |name: &str| ForScalar::<Out>::BITS.contains(&name);
        let for_scalar = layout.fields.iter().filter(|field| is_for_scalar(&field.name));
        let for_scalar: Vec<ForScalar<Out>> = for_scalar.map(|_| ForScalar::new(&|_| 1)).collect();
        let is_for_columns = |name: &str| ForColumns::<Out>::BITS.contains(&name);
        let for_columns = layout.fields.iter().filter(|field| is_for_columns(&field.name));
        let for_columns: Vec<ForColumns<Out>> = for_columns.map(|_| ForColumns::new(&|_| 1)).collect();
        let extra = for_scalar.len() + for_columns.len();
        let named = P::BITS.len() + P::WORDS.len() + F::BITS.len() + F::WORDS.len() + in_tiles + extra;
        assert_eq!(layout.fields.len(), named, "fields of the {name} stream");
        let (depth, chunks) = (1 << widths.index, layout.chunks() as usize);
        let contents = widths.fixed.as_ref().map(|fixed| fixed.words(region, chunks));
        let note = |n| widths.fixed.as_ref().and_then(|fixed| fixed.note(region, n)).map(str::to_owned);
        let notes = (0..contents.as_ref().map_or(0, Vec::len)).map(note).collect();
        let [ahead, pacing] = pacing;
        ProgramMemory {
            clock: Signal::default(),
            write: Signal::default(),
            write_index: Wide::new(widths.index),
            write_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            write_data: Wide::new(CHUNK_BITS),
            read: Signal::default(),
            read_index: Wide::new(widths.index),
            load: Signal::default(),
            ahead,
            pacing,
            fields,
            tiles,
            for_scalar,
            for_columns,
            _fixed: contents.is_some(),
            _notes: notes,
            _chunks: filled(contents.unwrap_or_default(), depth, chunks),
            _shown: vec![0; chunks],
            _layout: layout.clone(),
            _name: name,
        }
    }

    fn value(&self, name: &str) -> i128 {
        let bit = |n: u32| {
            let chunk = self._shown.get((n / CHUNK_BITS) as usize).copied().unwrap_or(0);
            i128::from(chunk >> (n % CHUNK_BITS) & 1)
        };
        let field = self._layout.field(name);
        fit((0..field.bits).fold(0, |value, b| value | bit(field.lsb + b) << b), field.bits, false)
    }

    fn values<B: Bundle>(&self) -> Vec<i128> {
        B::BITS.iter().chain(B::WORDS).map(|name| self.value(name)).collect()
    }

    /// A field of the instruction with number `index`: constants, and bits that depend on the number.
    fn fixed_field(&self, name: &str, index: &str, columns: &mut Columns) -> String {
        let field = self._layout.field(name);
        if self.lies_beyond(name) {
            return format!("{}'d0", field.bits);
        }
        let bit = |n: u32| columns.bit(&self._chunks, n, index);
        let bits: Vec<String> = (field.lsb..field.lsb + field.bits).rev().map(bit).collect();
        if bits.len() == 1 { bits[0].clone() } else { format!("{{{}}}", bits.join(", ")) }
    }

    /// When fields follow, and with `reads` which chunks are read for them.
    fn following_text(&self, reads: bool) -> String {
        let text = "// Whether an instruction is read and taken is known late, and many fields need not pace: they follow a cycle later.
reg later_load;
always @(posedge clock) later_load <= load;
";
        let last = self.read_index.width() - 1;
        let later = format!(
            "reg later_read;
reg [{last}:0] later_index;
always @(posedge clock) begin
    later_read <= read;
    later_index <= read_index;
end
"
        );
        if reads { text.to_owned() + &later } else { text.to_owned() }
    }

    /// A line for each instruction whose origin is known.
    fn notes_text(&self) -> String {
        let line = |(n, note): (usize, &Option<String>)| Some(format!("// {n}: {}\n", note.as_ref()?));
        self._notes.iter().enumerate().filter_map(line).collect()
    }

    /// Whether an instruction of this machine does not have the field: it is 0.
    fn lies_beyond(&self, name: &str) -> bool {
        self._layout.field(name).lsb >= self._layout.bits
    }

    fn slice(&self, word: &str, name: &str) -> String {
        let field = self._layout.field(name);
        if self.lies_beyond(name) {
            return format!("{}'d0", field.bits);
        }
        chunked_slice(word, field.lsb, field.bits)
    }

    /// The fields, as they are read and while they are held.
    fn held_text(&self) -> String {
        let (mut text, mut held) = (String::new(), Vec::new());
        let fields = F::BITS.iter().chain(F::WORDS).map(|name| ("fields", *name));
        let tiles = self.tiles.iter().flat_map(|_| T::BITS.iter().chain(T::WORDS)).map(|name| ("tiles$0", *name));
        let for_scalar = self.for_scalar.iter().flat_map(|_| ForScalar::<Out>::BITS);
        let for_columns = self.for_columns.iter().flat_map(|_| ForColumns::<Out>::BITS);
        let for_scalar = for_scalar.map(|name| ("for_scalar$0", *name));
        let for_columns = for_columns.map(|name| ("for_columns$0", *name));
        for (bundle, name) in fields.chain(tiles).chain(for_scalar).chain(for_columns) {
            if self.lies_beyond(name) {
                text += &format!("assign {bundle}${name} = {};\n", self.slice("", name));
                continue;
            }
            let bits = self._layout.field(name).bits;
            let range = if bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
            text += &format!("reg {range}held_{name};\n");
            text += &format!("assign {bundle}${name} = later_load ? {} : held_{name};\n", self.slice("later", name));
            held.push(format!("    held_{name} <= {bundle}${name};\n"));
        }
        text += &format!("always @(posedge clock) begin\n{}end", held.concat());
        text
    }

    fn fixed_text(&self) -> String {
        let last = self.read_index.width() - 1;
        let mut columns = Columns::default();
        let mut assigns = String::new();
        let mut bundles: Vec<(&str, &str, [&[&str]; 2])> = vec![
            ("ahead", "ahead_index", [P::BITS, P::WORDS]),
            ("pacing", "current_index", [P::BITS, P::WORDS]),
            ("fields", "current_index", [F::BITS, F::WORDS]),
        ];
        bundles.extend(self.tiles.iter().map(|_| ("tiles$0", "current_index", [T::BITS, T::WORDS])));
        let for_scalar = [ForScalar::<Out>::BITS, ForScalar::<Out>::WORDS];
        bundles.extend(self.for_scalar.iter().map(|_| ("for_scalar$0", "current_index", for_scalar)));
        let for_columns = [ForColumns::<Out>::BITS, ForColumns::<Out>::WORDS];
        bundles.extend(self.for_columns.iter().map(|_| ("for_columns$0", "current_index", for_columns)));
        for (bundle, index, names) in bundles {
            for name in names.into_iter().flatten() {
                assigns += &format!("assign {bundle}${name} = {};\n", self.fixed_field(name, index, &mut columns));
            }
        }
        format!(
            "// {0}_program: microcode of the {0} stream, fixed; a column is one bit of all its instructions.
reg [{last}:0] ahead_index;
reg [{last}:0] current_index;
always @(posedge clock) begin
    if (load) current_index <= ahead_index;
    if (read) ahead_index <= read_index;
end
{1}{2}{assigns}",
            self._name,
            self.notes_text(),
            columns.text()
        )
    }
}

impl<P: Bundle, F: Bundle, T: Bundle> Logic for ProgramMemory<P, F, T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            if self.load.val() {
                let (pacing, fields) = (self.values::<P>(), self.values::<F>());
                self.pacing.drive(&mut pacing.into_iter());
                self.fields.drive(&mut fields.into_iter());
                let tiles = self.tiles.first().map_or(Vec::new(), |_| self.values::<T>());
                self.tiles.iter_mut().for_each(|bundle| bundle.drive(&mut tiles.iter().copied()));
                let for_scalar = self.for_scalar.first().map_or(Vec::new(), |_| self.values::<ForScalar<Out>>());
                self.for_scalar.iter_mut().for_each(|bundle| Lines::drive(bundle, &mut for_scalar.iter().copied()));
                let for_columns = self.for_columns.first().map_or(Vec::new(), |_| self.values::<ForColumns<Out>>());
                self.for_columns.iter_mut().for_each(|bundle| Lines::drive(bundle, &mut for_columns.iter().copied()));
            }
            if self.read.val() {
                self._shown = self._chunks[self.read_index.val() as usize].clone();
                let ahead = self.values::<P>();
                self.ahead.drive(&mut ahead.into_iter());
            }
            if self.write.val() && !self._fixed {
                let index = self.write_index.val() as usize;
                if let Some(chunk) = self._chunks[index].get_mut(self.write_chunk.val() as usize) {
                    *chunk = self.write_data.val() as u32;
                }
            }
        }
    }
    fn connect(&mut self) {
        self.ahead.claim();
        self.pacing.claim();
        self.fields.claim();
        self.tiles.iter_mut().for_each(Lines::claim);
        self.for_scalar.iter_mut().for_each(Lines::claim);
        self.for_columns.iter_mut().for_each(Lines::claim);
    }
    fn hdl(&self) -> Verilog {
        if self._fixed {
            return Verilog::Custom(self.fixed_text());
        }
        let mut text = format!(
            "// {0}_program: microcode of the {0} stream; one instruction is current, one ahead.\n",
            self._name
        );
        // The fields that pace lie in front, but for `emit`, of which only the current instruction's counts. Deep programs
        // take what memory there is; of shallow ones a block memory would be nearly empty, and far from where it is read.
        let end = |name: &&str| self._layout.field(name).lsb + self._layout.field(name).bits;
        let paced = P::BITS
            .iter()
            .chain(P::WORDS)
            .filter(|name| **name != "emit" && !self.lies_beyond(name))
            .map(end)
            .max()
            .unwrap_or(0);
        let depth = self._chunks.len();
        let early = if depth <= SHALLOW_DEPTH {
            self._layout.chunks()
        } else if depth <= EARLY_DEPTH {
            paced.div_ceil(CHUNK_BITS)
        } else {
            0
        };
        let paces = |name: &str| P::BITS.contains(&name) || P::WORDS.contains(&name);
        let in_chunk = |k: u32, paced: bool| {
            let touches = |lsb: u32, bits: u32| lsb / CHUNK_BITS <= k && k <= (lsb + bits - 1) / CHUNK_BITS;
            self._layout.fields.iter().any(|field| paces(&field.name) == paced && touches(field.lsb, field.bits))
        };
        let chunks = self._layout.chunks();
        text += &self.following_text(!(0..chunks).all(|k| in_chunk(k, true)));
        text += &chunked_text(self._layout.bits, depth, INSTRUCTION_CHUNK_BITS, early, |k| {
            if in_chunk(k, true) {
                ReadPort { enable: "read", index: "read_index", word: "read" }
            } else {
                ReadPort { enable: "later_read", index: "later_index", word: "later" }
            }
        });
        for name in P::BITS.iter().chain(P::WORDS) {
            text += &format!("assign ahead${name} = {};\n", self.slice("read", name));
        }
        text += "always @(posedge clock) if (load) begin\n";
        for name in P::BITS.iter().chain(P::WORDS) {
            text += &format!("    pacing${name} <= {};\n", self.slice("read", name));
        }
        text += "end\n";
        for k in (0..chunks).filter(|&k| in_chunk(k, true) && in_chunk(k, false)) {
            let last = (self._layout.bits - k * CHUNK_BITS).min(CHUNK_BITS) - 1;
            text += &format!("reg [{last}:0] later{k};\nalways @(posedge clock) later{k} <= read{k};\n");
        }
        let words = (0..chunks).flat_map(|k| {
            let now = in_chunk(k, true).then(|| format!("read{k}"));
            let later = in_chunk(k, false).then(|| format!("later{k}"));
            now.into_iter().chain(later)
        });
        text += &format!("wire unused_bits = &{{1'b0, {}}};\n", words.collect::<Vec<_>>().join(", "));
        text += &self.held_text();
        Verilog::Custom(text)
    }
}

/// Bits of a fixed program: equal columns are one.
#[derive(Default)]
struct Columns {
    known: Vec<Vec<bool>>,
}

impl Columns {
    /// Bit `n` of the instruction with number `index`.
    fn bit(&mut self, words: &[Vec<u32>], n: u32, index: &str) -> String {
        let column: Vec<bool> =
            words.iter().map(|word| word[(n / CHUNK_BITS) as usize] >> (n % CHUNK_BITS) & 1 == 1).collect();
        if column.iter().all(|&bit| bit == column[0]) {
            return format!("1'b{}", u8::from(column[0]));
        }
        let number = self.known.iter().position(|known| *known == column).unwrap_or_else(|| {
            self.known.push(column);
            self.known.len() - 1
        });
        format!("column{number}[{index}]")
    }

    fn text(&self) -> String {
        let digits =
            |column: &Vec<bool>| column.iter().rev().map(|&bit| if bit { '1' } else { '0' }).collect::<String>();
        let line = |(n, column): (usize, &Vec<bool>)| {
            format!("wire [{}:0] column{n} = {}'b{};\n", column.len() - 1, column.len(), digits(column))
        };
        self.known.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beats::{MovePacing, ScalarFields, TileFields};
    use crate::rtl::signal::clocked;
    use arch::machine::MachineSpec;

    #[test]
    fn one_instruction_is_current_and_one_ahead() {
        let spec = MachineSpec { pus: Some(1), pes_per_pu: Some(1), scalar: Some(true), ..MachineSpec::default() };
        let machine = arch::Machine::try_from(spec).expect("a valid grid");
        let widths = Widths::new(crate::Design::Loadable(&machine), crate::Leaves::GENERIC);
        let field = |name: &str| widths.scalar.field(name).bits;
        let pacing = || MovePacing::new(&field);
        let mut block: ProgramMemory<MovePacing<Out>, ScalarFields<Out>, TileFields<Out>> = ProgramMemory::new(
            "scalar",
            Region::Scalar,
            &widths,
            &widths.scalar,
            [pacing(), pacing()],
            ScalarFields::new(&field),
            None,
        );
        block.connect_all();
        let delay = widths.scalar.field("delay").clone();
        assert_eq!(delay.lsb / CHUNK_BITS, 0, "the delay lies in the first chunk");
        for (number, value) in [(0, 1), (1, 2)] {
            (block.write.next, block.write_index.next, block.write_data.next) = (true, number, value << delay.lsb);
            clocked(&mut block, |b| &mut b.clock);
        }
        block.write.next = false;
        let mut cycle = |read: Option<i128>, load: bool| {
            (block.read.next, block.read_index.next, block.load.next) = (read.is_some(), read.unwrap_or(0), load);
            clocked(&mut block, |b| &mut b.clock);
            (block.ahead.delay.val(), block.pacing.delay.val())
        };
        cycle(Some(0), false);
        assert_eq!(cycle(Some(1), true), (2, 1));
        assert_eq!(cycle(None, true), (2, 2));
    }
}
