//! Loader: the load stream, paced by its input (docs/machine.md, section 5).
//!
//!     in_valid & in_ready ──▶ loops ──▶ register ──▶ beat ──▶ write after two more registers

use crate::beats::{
    Advance, CHUNK_BITS, ForScalar, INSTRUCTION_CHUNK_BITS, LoadBeat, LoadFields, LoadPacing, LoopCounters, LoopEnds,
    MaskBeat, PartBeat, PartField, Widths,
};
use crate::control::loops::{LoopNest, Places};
use crate::control::microcode::ProgramMemory;
use crate::control::stream::{AddressGenerator, BankAddress, wire_destination, wire_loops, wire_program};
use crate::datapath::exchange::PartDecode;
use crate::datapath::mask::{LevelPick, MaskUnit, wire_mask};
use arch::registers::Region;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Bits of the number of steps.
const STEPS_BITS: u32 = 32;
const STATE_BITS: u32 = 3;

/// The state machine of the loader, and which banks of the data pads are full.
#[block(clock, reset, long = "one state machine, and the banks that it fills")]
fn LoadControl(widths: &Widths) {
    let (started, start_load_model): In;
    let steps: In<STEPS_BITS>;
    let (model_enabled, step_enabled): In;
    let (model_entry, step_entry): In<{ widths.index }>;
    let (bank_free, freed, in_valid, is_end, wrap): In;
    let in_ready: Out;
    /// The instruction `read_index` is fetched; it is ahead from the next cycle on.
    let read: Out;
    let read_index: Out<{ widths.index }>;
    /// The instruction that was read becomes current.
    let load: Out;
    /// A transfer is taken.
    let transfer: Out;
    /// It is the first one of its instruction.
    let fresh: Out;
    let (bank, full0, full1, model_done): Out;
    let finishes: Local;
    /// The last transfer of a phase.
    let completes: Local;
    let (begins, bank_full, waits): Local;
    let state: Register<STATE_BITS>;
    let remaining: Register<STEPS_BITS>;
    /// `remaining` is 0.
    let none_remaining: Flag;
    /// Number of the instruction after the one ahead.
    let after: Register<{ widths.index }>;
    let (pending_model, filling, bank0, bank1): Flag;
    /// Banks that stay full, and the one that is full if the phase completes, which is known late.
    let keeps0: Local;
    let (keeps1, fills0, fills1): Local;
    /// The same or, without input of steps, always: which streams start depends on these late.
    let ready0: Flag;
    let ready1: Flag;
    /// A step's input was complete in the cycle before.
    let filled: Flag;
    let (model_there, first_beat): Flag;
    let (idle, prime, decide, model, step): Const<STATE_BITS> = (0, 1, 2, 3, 4);
    let (zero, one): Const<STEPS_BITS> = (0, 1);
    let next_one: Const<{ widths.index }> = 1;

    bank = filling;
    full0 = ready0;
    full1 = ready1;
    model_done = model_there || !model_enabled;
    bank_full = bank0;
    if filling {
        bank_full = bank1;
    }
    in_ready = state == model || state == step;
    transfer = in_valid && in_ready;
    fresh = first_beat;
    finishes = transfer && wrap;
    completes = finishes && is_end;

    keep!(state, remaining, none_remaining, pending_model, filling);
    keeps0 = bank0 && !started;
    keeps1 = bank1 && !started;
    fills0 = state == step && !filling && !started;
    fills1 = state == step && filling && !started;
    keep!(model_there);
    if bank_free {
        if freed {
            keeps1 = false;
        } else {
            keeps0 = false;
        }
    }
    if state == prime {
        state = decide;
    }
    filled = completes && state == step;
    if filled {
        remaining = remaining - one;
        none_remaining = remaining == one;
    }
    begins = false;
    if state == decide {
        if pending_model {
            begins = true;
            state = model;
        } else if none_remaining || !step_enabled {
            state = idle;
        } else if !bank_full {
            begins = true;
            state = step;
        }
    }
    if completes {
        state = prime;
        if state == model {
            model_there = true;
            pending_model = false;
        } else {
            filling = !filling;
        }
    }
    if started {
        state = prime;
        pending_model = start_load_model && model_enabled;
        remaining = steps;
        none_remaining = steps == zero;
        filling = false;
        model_there = false;
    }
    bank0 = keeps0 || (completes && fills0);
    bank1 = keeps1 || (completes && fills1);
    ready0 = (keeps0 || !step_enabled) || (completes && fills0);
    ready1 = (keeps1 || !step_enabled) || (completes && fills1);
    if reset {
        state = idle;
    }

    keep!(first_beat);
    load = begins || (finishes && !is_end);
    // While nothing is taken, before a phase is decided on, the entry of the next one is read again and again.
    waits = !in_ready && state != decide;
    read = load || waits;
    read_index = after;
    if in_ready {
        if transfer {
            first_beat = wrap;
        }
    } else {
        first_beat = true;
    }
    if waits {
        read_index = step_entry;
        if pending_model {
            read_index = model_entry;
        }
    }
    if read {
        after = read_index + next_one;
    }
}

/// Which pad a transfer is for.
#[block]
fn LoadDecode() {
    let (transfer, data): In;
    let (write_model, write_data): Out;

    write_model = transfer && !data;
    write_data = transfer && data;
}

/// Writes transfers of the input stream into the pads.
#[block(clock, reset, wires, long = "wires only, of one stream")]
pub(crate) fn Loader(widths: &Widths) {
    let field = |name: &str| widths.load.field(name).bits;
    let beat = |name: &str| widths.beat(name);
    let place = |_: &str| widths.place();
    let (scalars, exchanges) = (widths.scalars, widths.exchanges);
    let program_write: In;
    let program_index: In<{ widths.index }>;
    let program_chunk: In<INSTRUCTION_CHUNK_BITS>;
    let program_data: In<CHUNK_BITS>;
    let (started, start_load_model): In;
    let steps: In<STEPS_BITS>;
    let (model_enabled, step_enabled): In;
    let (model_entry, step_entry): In<{ widths.index }>;
    /// The bank `freed` is empty from now on.
    let bank_free: In;
    let (freed, in_valid): In;
    let (in_ready, full0, full1, model_done): Out;
    let beat: Out<LoadBeat> = |name| widths.beat(name);
    let mask_beat: Out<MaskBeat> = |name| widths.beat(name);
    let (scatter, pick_group): Out;
    let picked_group: Out<{ widths.place() }>;
    /// One if there is a scalar unit.
    let for_scalar: [Out<ForScalar>; scalars] = beat;
    /// Present if the grid exports partial sums.
    let parts: [Out<PartBeat>; exchanges] = |_| widths.gradient;
    #[clocked]
    let microcode: ProgramMemory<LoadPacing<Out>, LoadFields<Out>, PartField<Out>> = ProgramMemory::new(
        "load",
        Region::Load,
        widths,
        &widths.load,
        [LoadPacing::new(&field), LoadPacing::new(&field)],
        LoadFields::new(&field),
        (widths.exchanges > 0).then(|| PartField::new(&field)),
    );
    let control = LoadControl(clock, reset, widths);
    let loops = LoopNest(clock, reset, widths);
    let work: Stage<LoadFields> = field;
    let scalar_work: [Stage<ForScalar>; scalars] = beat;
    let part_work: [Stage<PartField>; exchanges] = field;
    let part_decode = [PartDecode(); exchanges];
    let ends: Stage<LoopEnds> = beat;
    let places = Places(widths);
    let counters: Stage<LoopCounters> = place;
    let advance: Stage<Advance> = beat;
    let bank: Flag;
    let decode = LoadDecode();
    let destination = AddressGenerator(clock, widths.load.field("destination_base").bits);
    let data_bank = BankAddress(widths.data);
    let mask_unit = MaskUnit(widths);
    let group = LevelPick(widths);

    wire_program!();
    wire_loops!(control);
    wire_destination!();
    wire_mask!();
    microcode.read = control.read;
    microcode.read_index = control.read_index;
    control.started = started;
    control.start_load_model = start_load_model;
    for NAME in names![steps model_enabled step_enabled model_entry step_entry bank_free freed in_valid] {
        control.NAME = NAME;
    }
    control.is_end = microcode.pacing.end;
    microcode.load = control.load;
    control.wrap = loops.wrap;
    for NAME in [in_ready, full0, full1, model_done] {
        NAME = control.NAME;
    }
    loops.step = control.transfer;
    loops.fresh = control.fresh;
    bank = control.bank;
    data_bank.bank = bank;
    data_bank.offset = destination.address;
    group.loops = counters;
    group.level = work.pick_group;
    scatter = work.scatter;
    pick_group = group.picked;
    picked_group = group.counter;
    decode.transfer = advance.step;
    decode.data = work.data;
    if part_decode.is_empty() {
        beat.write_model = decode.write_model;
        beat.write_data = decode.write_data;
    }
    for x in 0..part_decode.len() {
        part_work[x] = microcode.tiles[x];
        part_decode[x].transfer = advance.step;
        part_decode[x].gradient = part_work[x].gradient;
        part_decode[x].last = ends.last5;
        part_decode[x].write_model = decode.write_model;
        part_decode[x].write_data = decode.write_data;
        beat.write_model = part_decode[x].give_model;
        beat.write_data = part_decode[x].give_data;
        parts[x].part = part_decode[x].part;
        parts[x].whole = part_decode[x].whole;
        parts[x].address = destination.address;
    }
    beat.model_address = destination.address;
    beat.data_address = data_bank.address;
    for n in 0..for_scalar.len() {
        scalar_work[n] = microcode.for_scalar[n];
        for_scalar[n] = scalar_work[n];
    }
}
