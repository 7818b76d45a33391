//! How the sums of a batch leave a grid and come back (docs/machine.md, section 10): two routines that belong to no program, behind those of an
//! image.
//!
//! ```text
//! gradient pads ──alu stream, entry_emit_model──▶ parts, low ones first ──▶ sums ──added over all grids──▶ totals
//! gradient pads ◀──load stream, entry_load_model── parts, low ones first ◀─────────────────────────────────┘
//! ```
//!
//! A part has the bits of a word. Sums stand address by address, all PEs side by side.

use super::{Image, program_writes};
use crate::isa::{
    Address, AluInstruction, Instruction, LEVELS, LoadInstruction, Mask, NO_LEVEL, Start, Tiles, innermost,
};
use crate::machine::Machine;
use crate::number::wrap;
use crate::registers::{ENTRY_ENABLE, Region, STEP_LENGTH};

/// Cycles before the first sum leaves: the last of a run has reached its pad by then.
const LANDED: u32 = 16;

/// Both routines for one image.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    machine: Machine,
    /// Words of a gradient pad that sums have.
    words: u32,
    alu: Vec<AluInstruction>,
    load: LoadInstruction,
    /// Where they begin: behind the instructions of the image.
    begin: [usize; 2],
    loaded: (u32, u32),
}

/// The write that ends those into programs: behind AXI a program that was changed counts as loaded with it.
fn loaded(image: &Image) -> (u32, u32) {
    (STEP_LENGTH, image.step_length)
}

/// Instructions that the routines take in the alu program and in the load program.
pub fn instructions(machine: &Machine) -> [u32; 2] {
    if !machine.hands_out_sums() {
        return [0, 0];
    }
    let lanes = machine.output_words();
    [if lanes == 1 { 1 } else { machine.pus() / lanes }, 1]
}

impl Exchange {
    /// The routines of an image, if its machine hands out sums and its batches have tiles.
    pub fn of(image: &Image) -> Option<Exchange> {
        let machine = &image.machine;
        let words = words_in_use(image);
        if !machine.hands_out_sums() || image.tiles < 2 {
            return None;
        }
        let parts = machine.parts_of_sum();
        let address = Address { base: 0, strides: innermost(0, [0, 0, 1, 0]) };
        let everywhere = Mask::all(machine.pus(), machine.pes_per_pu());
        let out = |rows: u32, mask: Mask| AluInstruction {
            counts: innermost(1, [rows, machine.pes_per_pu(), words, parts]),
            tree: true,
            emit: true,
            mask: Mask { pick_column: NO_LEVEL - 3, ..mask },
            tiles: Tiles::Park(address),
            ..AluInstruction::plain(machine)
        };
        let lanes = machine.output_words();
        // Of several lanes each has a row of its own, and a loop over rows picks one of all.
        let mut alu: Vec<AluInstruction> = match lanes {
            1 => vec![out(machine.pus(), Mask { pick_row: NO_LEVEL - 4, ..everywhere })],
            _ => (0..machine.pus() / lanes)
                .map(|group| out(1, Mask { row_low: group * lanes, row_high: (group + 1) * lanes, ..everywhere }))
                .collect(),
        };
        alu[0].delay = LANDED;
        alu.last_mut()?.end = true;
        let load = LoadInstruction {
            counts: innermost(1, [machine.pes() / machine.stream_words(), 1, words, parts]),
            gradient: true,
            destination: address,
            scatter: true,
            pick_group: NO_LEVEL - 4,
            end: true,
            ..LoadInstruction::plain(machine)
        };
        let begin = [image.alu.len(), image.load.len()];
        Some(Exchange { machine: machine.clone(), words, alu, load, begin, loaded: loaded(image) })
    }

    /// The control writes that load both.
    pub fn control_writes(&self) -> Vec<(u32, u32)> {
        let mut writes = program_writes(&self.machine, Region::Alu, self.begin[0], self.alu.iter());
        writes.extend(program_writes(&self.machine, Region::Load, self.begin[1], [&self.load]));
        writes.push(self.loaded);
        writes
    }

    /// What `entry_emit_model` holds when sums leave at the end of a run.
    pub fn out_entry(&self) -> u32 {
        ENTRY_ENABLE | self.begin[0] as u32
    }

    /// What `entry_load_model` holds when totals come before a run.
    pub fn back_entry(&self) -> u32 {
        ENTRY_ENABLE | self.begin[1] as u32
    }

    /// How many sums there are.
    pub fn sums(&self) -> usize {
        (self.words * self.machine.pes()) as usize
    }

    /// Words that leave.
    pub fn words_out(&self) -> usize {
        self.sums() * self.machine.parts_of_sum() as usize
    }

    /// Beats that come back.
    pub fn beats_back(&self) -> usize {
        self.words_out() / self.machine.stream_words() as usize
    }

    /// The sums that left as these words.
    pub fn read(&self, words: &[i64]) -> Vec<i128> {
        let (lanes, columns) = (self.machine.output_words() as usize, self.machine.pes_per_pu() as usize);
        let (parts, word) = (self.machine.parts_of_sum() as usize, self.machine.word());
        let mut sums = vec![0u128; self.sums()];
        let low = (1u128 << word) - 1;
        for (place, &part) in words.iter().enumerate() {
            let (beat, lane) = (place / lanes, place % lanes);
            let (sum, k) = (beat / parts, beat % parts);
            let (pe, address) = (sum / self.words as usize, sum % self.words as usize);
            let row = pe / columns * lanes + lane;
            let at = address * self.machine.pes() as usize + row * columns + pe % columns;
            sums[at] |= (part as u128 & low) << (k as u32 * word);
        }
        sums.into_iter().map(|sum| wrap(sum as i128, self.machine.accumulator())).collect()
    }

    /// The beat with this number of those that bring the totals.
    pub fn beat(&self, totals: &[i128], number: usize) -> Vec<i64> {
        let (lanes, word) = (self.machine.stream_words() as usize, self.machine.word());
        let (parts, words) = (self.machine.parts_of_sum() as usize, self.words as usize);
        let (sum, part) = (number / parts, number % parts);
        let (group, address) = (sum / words, sum % words);
        let from = address * self.machine.pes() as usize + group * lanes;
        totals[from..from + lanes].iter().map(|total| wrap(total >> (part as u32 * word), word) as i64).collect()
    }
}

/// Words of each gradient pad up to the last one that holds a sum. Where no sum waits, one word of nothing: all grids do the same.
pub fn words_in_use(image: &Image) -> u32 {
    image.alu.iter().filter_map(|alu| beyond(alu)).max().unwrap_or(1).min(image.machine.gradient_depth())
}

/// One more than the last word that an instruction parks a sum in.
fn beyond(alu: &AluInstruction) -> Option<u32> {
    let Tiles::Park(address) = alu.tiles else { return None };
    let most: i64 = (0..LEVELS).map(|k| (i64::from(address.strides[k]) * i64::from(alu.counts[k] - 1)).max(0)).sum();
    u32::try_from(i64::from(address.base) + most + 1).ok()
}

/// The control writes that give the sums of a batch their starts, or take them away: a grid that does not have the first tile adds nothing to
/// those of the grid that does. In other tiles no start counts, so such a grid ends batches as the others do.
pub fn starts(image: &Image, with: bool) -> Vec<(u32, u32)> {
    let parks = image.alu.iter().enumerate().filter(|(_, alu)| matches!(alu.tiles, Tiles::Park(_)));
    let writes = parks.flat_map(|(number, alu)| {
        let c = if with { alu.c } else { Start::Zero };
        program_writes(&image.machine, Region::Alu, number, [&AluInstruction { c, ..alu.instruction }])
    });
    writes.chain([loaded(image)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{Annotated, Entries};
    use crate::machine::MachineSpec;
    use crate::origin::Origin;

    fn image(lanes: u32, accumulator: u32) -> Image {
        let spec = MachineSpec {
            pus: Some(4),
            pes_per_pu: Some(3),
            stream_words: Some(6),
            output_words: Some(lanes),
            accumulator: Some(accumulator),
            gradient_depth: Some(16),
            partial_sums: Some(true),
            ..MachineSpec::default()
        };
        let machine = Machine::try_from(spec).unwrap();
        let parked = Address { base: 1, strides: innermost(0, [0, 0, -1, 2]) };
        let instruction = AluInstruction {
            counts: innermost(1, [1, 1, 2, 3]),
            tiles: Tiles::Park(parked),
            c: Start::Immediate,
            ..AluInstruction::plain(&machine)
        };
        let alu = vec![Annotated { instruction, what: String::new(), origin: Origin::default() }];
        Image {
            machine,
            alu,
            root: Vec::new(),
            moves: Vec::new(),
            load: Vec::new(),
            scalar: Vec::new(),
            follows: Vec::new(),
            tables: Vec::new(),
            entries: Entries::default(),
            step_length: 2,
            tile_length: 2,
            model_in: Vec::new(),
            tiles: 3,
            step_in: Vec::new(),
            step_out: Vec::new(),
            model_out: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// By the loops of the instructions, one by one: what leaves is where it was, and comes back there.
    #[test]
    fn words_are_those_of_the_instructions() {
        for (lanes, accumulator) in [(1, 48), (2, 40), (4, 96)] {
            let image = image(lanes, accumulator);
            let exchange = Exchange::of(&image).unwrap();
            // 1 + 2 * 2 is the last address.
            assert_eq!((exchange.words, exchange.sums()), (6, 72));
            assert_eq!(u32::try_from(exchange.alu.len()), Ok(instructions(&image.machine)[0]));
            let sums: Vec<i128> =
                (0..72i128).map(|n| wrap(0x1234_5678_9abc_def0_1357 * (n - 30), accumulator)).collect();
            let part = |sum: i128, k: u32| wrap(sum >> (16 * k), 16) as i64;
            let mut out = Vec::new();
            for alu in &exchange.alu {
                for (row, column) in (0..alu.counts[2]).flat_map(|row| (0..3).map(move |column| (row, column))) {
                    for (address, k) in (0..alu.counts[4]).flat_map(|at| (0..alu.counts[5]).map(move |k| (at, k))) {
                        let counters = innermost(0, [row, column, address, k]);
                        let sends = |row| alu.mask.admits(4, 3, &alu.counts, &counters, row, column);
                        let rows: Vec<u32> = (0..4).filter(|&row| sends(row)).collect();
                        assert_eq!(rows.len() as u32, lanes);
                        out.extend(rows.iter().map(|row| part(sums[(12 * address + 3 * row + column) as usize], k)));
                    }
                }
            }
            assert_eq!(out.len(), exchange.words_out());
            assert_eq!(exchange.read(&out), sums);
            let mut number = 0;
            for (group, address) in (0..2).flat_map(|group| (0..6).map(move |address| (group, address))) {
                for k in 0..accumulator.div_ceil(16) {
                    let beat: Vec<i64> = (0..6).map(|lane| part(sums[12 * address + 6 * group + lane], k)).collect();
                    assert_eq!(exchange.beat(&sums, number), beat);
                    number += 1;
                }
            }
            assert_eq!(number, exchange.beats_back());
        }
    }

    #[test]
    fn starts_go_and_come_back() {
        let image = image(1, 48);
        let (with, without) = (starts(&image, true), starts(&image, false));
        let (last, programs) = with.split_last().unwrap();
        assert_eq!(image.control_writes()[..programs.len()], *programs);
        assert_eq!(*last, (STEP_LENGTH, 2), "behind AXI the program counts as loaded again");
        assert_eq!(with.iter().zip(&without).filter(|(one, other)| one != other).count(), 1, "the field c alone");
    }

    #[test]
    fn only_batches_of_several_tiles_are_divided() {
        let mut image = image(1, 48);
        image.tiles = 1;
        assert_eq!(Exchange::of(&image), None);
        image.tiles = 2;
        image.machine = Machine::grid(4, 3, 16).unwrap();
        assert_eq!(Exchange::of(&image), None);
        assert_eq!(instructions(&image.machine), [0, 0]);
    }
}
