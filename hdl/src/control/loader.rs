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
use crate::rtl::register::{Flag, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, structural, wires};
use arch::registers::Region;
use blocks::block;
use rust_hdl::prelude::*;

/// Bits of the number of steps.
const STEPS_BITS: u32 = 32;
const STATE_BITS: u32 = 3;

/// The state machine of the loader, and which banks of the data pads are full.
#[block(clock, reset)]
fn LoadControl(widths: &Widths) {
    let _state = |value| Number::new(value, STATE_BITS);
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

/// The load stream.
#[derive(LogicBlock)]
pub(crate) struct Loader {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    pub(crate) program_write: Signal<In, Bit>,
    pub(crate) program_index: Wide<In>,
    pub(crate) program_chunk: Wide<In>,
    pub(crate) program_data: Wide<In>,
    pub(crate) started: Signal<In, Bit>,
    pub(crate) start_load_model: Signal<In, Bit>,
    pub(crate) steps: Wide<In>,
    pub(crate) model_enabled: Signal<In, Bit>,
    pub(crate) step_enabled: Signal<In, Bit>,
    pub(crate) model_entry: Wide<In>,
    pub(crate) step_entry: Wide<In>,
    /// The bank `freed` is empty from now on.
    pub(crate) bank_free: Signal<In, Bit>,
    pub(crate) freed: Signal<In, Bit>,
    pub(crate) in_valid: Signal<In, Bit>,
    pub(crate) in_ready: Signal<Out, Bit>,
    pub(crate) full0: Signal<Out, Bit>,
    pub(crate) full1: Signal<Out, Bit>,
    pub(crate) model_done: Signal<Out, Bit>,
    pub(crate) beat: LoadBeat<Out>,
    pub(crate) mask_beat: MaskBeat<Out>,
    pub(crate) scatter: Signal<Out, Bit>,
    pub(crate) pick_group: Signal<Out, Bit>,
    pub(crate) picked_group: Wide<Out>,
    /// One if there is a scalar unit.
    pub(crate) for_scalar: Vec<ForScalar<Out>>,
    /// One if there is a way for sums.
    pub(crate) parts: Vec<PartBeat<Out>>,
    microcode: ProgramMemory<LoadPacing<Out>, LoadFields<Out>, PartField<Out>>,
    control: LoadControl,
    loops: LoopNest,
    work: Stage<LoadFields<In>, LoadFields<Out>>,
    scalar_work: Vec<Stage<ForScalar<In>, ForScalar<Out>>>,
    part_work: Vec<Stage<PartField<In>, PartField<Out>>>,
    part_decode: Vec<PartDecode>,
    ends: Stage<LoopEnds<In>, LoopEnds<Out>>,
    places: Places,
    counters: Stage<LoopCounters<In>, LoopCounters<Out>>,
    advance: Stage<Advance<In>, Advance<Out>>,
    bank: Flag,
    decode: LoadDecode,
    destination: AddressGenerator,
    data_bank: BankAddress,
    mask_unit: MaskUnit,
    group: LevelPick,
    _wiring: Wiring,
}

impl Loader {
    pub(crate) fn new(widths: &Widths) -> Self {
        let field = |name: &str| widths.load.field(name).bits;
        let beat = |name: &str| widths.beat(name);
        let place = |_: &str| widths.place();
        let (scalars, exchanges) = (0..widths.scalars, 0..widths.exchanges);
        Loader {
            clock: Signal::default(),
            reset: Signal::default(),
            program_write: Signal::default(),
            program_index: Wide::new(widths.index),
            program_chunk: Wide::new(INSTRUCTION_CHUNK_BITS),
            program_data: Wide::new(CHUNK_BITS),
            started: Signal::default(),
            start_load_model: Signal::default(),
            steps: Wide::new(STEPS_BITS),
            model_enabled: Signal::default(),
            step_enabled: Signal::default(),
            model_entry: Wide::new(widths.index),
            step_entry: Wide::new(widths.index),
            bank_free: Signal::default(),
            freed: Signal::default(),
            in_valid: Signal::default(),
            in_ready: Signal::default(),
            full0: Signal::default(),
            full1: Signal::default(),
            model_done: Signal::default(),
            beat: LoadBeat::new(&|name| widths.beat(name)),
            mask_beat: MaskBeat::new(&|name| widths.beat(name)),
            scatter: Signal::default(),
            pick_group: Signal::default(),
            picked_group: Wide::new(widths.place()),
            for_scalar: scalars.clone().map(|_| ForScalar::new(&beat)).collect(),
            parts: exchanges.clone().map(|_| PartBeat::new(&|_| widths.gradient)).collect(),
            microcode: ProgramMemory::new(
                "load",
                Region::Load,
                widths,
                &widths.load,
                [LoadPacing::new(&field), LoadPacing::new(&field)],
                LoadFields::new(&field),
                (widths.exchanges > 0).then(|| PartField::new(&field)),
            ),
            control: LoadControl::new(widths),
            loops: LoopNest::new(widths),
            work: Stage::new(LoadFields::new(&field), LoadFields::new(&field)),
            scalar_work: scalars.map(|_| Stage::new(ForScalar::new(&beat), ForScalar::new(&beat))).collect(),
            part_work: exchanges.clone().map(|_| Stage::new(PartField::new(&field), PartField::new(&field))).collect(),
            part_decode: exchanges.map(|_| PartDecode::new()).collect(),
            ends: Stage::new(LoopEnds::new(&beat), LoopEnds::new(&beat)),
            places: Places::new(widths),
            counters: Stage::new(LoopCounters::new(&place), LoopCounters::new(&place)),
            advance: Stage::new(Advance::new(&beat), Advance::new(&beat)),
            bank: Flag::new(),
            decode: LoadDecode::new(),
            destination: AddressGenerator::new(widths.load.field("destination_base").bits),
            data_bank: BankAddress::new(widths.data),
            mask_unit: MaskUnit::new(widths),
            group: LevelPick::new(widths),
            _wiring: Wiring::default(),
        }
    }

    fn wire(&mut self, wiring: &mut Wiring) {
        wire_program!(self, wiring);
        wire_loops!(self, wiring, control);
        wire_destination!(self, wiring);
        wire_mask!(self, wiring);
        wires!(self, wiring;
            microcode.read = control.read;
            microcode.read_index = control.read_index;
            control.clock = clock;
            control.reset = reset;
            control.started = started;
            control.start_load_model = start_load_model;
            control.steps = steps;
            control.model_enabled = model_enabled;
            control.step_enabled = step_enabled;
            control.model_entry = model_entry;
            control.step_entry = step_entry;
            control.bank_free = bank_free;
            control.freed = freed;
            control.in_valid = in_valid;
            control.is_end = microcode.pacing.end;
            microcode.load = control.load;
            control.wrap = loops.wrap;
            in_ready = control.in_ready;
            full0 = control.full0;
            full1 = control.full1;
            model_done = control.model_done;
            loops.reset = reset;
            loops.step = control.transfer;
            loops.fresh = control.fresh;
            bank.clock = clock;
            bank.reset = reset;
            bank.d = control.bank;
            data_bank.bank = bank.q;
            data_bank.offset = destination.address;
            group.loops = counters.q;
            group.level = work.q.pick_group;
            scatter = work.q.scatter;
            pick_group = group.picked;
            picked_group = group.counter;
            decode.transfer = advance.q.step;
            decode.data = work.q.data;
        );
        if self.part_decode.is_empty() {
            wires!(self, wiring;
                beat.write_model = decode.write_model;
                beat.write_data = decode.write_data;
            );
        }
        for x in 0..self.part_decode.len() {
            wires!(self, wiring;
                part_work[x].clock = clock;
                part_work[x].reset = reset;
                part_work[x].d = microcode.tiles[x];
                part_decode[x].transfer = advance.q.step;
                part_decode[x].gradient = part_work[x].q.gradient;
                part_decode[x].last = ends.q.last3;
                part_decode[x].write_model = decode.write_model;
                part_decode[x].write_data = decode.write_data;
                beat.write_model = part_decode[x].give_model;
                beat.write_data = part_decode[x].give_data;
                parts[x].part = part_decode[x].part;
                parts[x].whole = part_decode[x].whole;
                parts[x].address = destination.address;
            );
        }
        wires!(self, wiring;
            beat.model_address = destination.address;
            beat.data_address = data_bank.address;
        );
        for n in 0..self.for_scalar.len() {
            wires!(self, wiring;
                scalar_work[n].clock = clock;
                scalar_work[n].reset = reset;
                scalar_work[n].d = microcode.for_scalar[n];
                for_scalar[n] = scalar_work[n].q;
            );
        }
    }
}
structural!(Loader, "loader: writes transfers of the input stream into the pads.");
