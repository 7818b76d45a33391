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
use crate::rtl::register::{Flag, Register, Stage};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::{Wiring, comment, structural, wires};
use arch::registers::Region;
use rust_hdl::prelude::*;

/// Bits of the number of steps.
const STEPS_BITS: u32 = 32;
const STATE_BITS: u32 = 3;

/// The loader's state machine.
#[derive(LogicBlock)]
struct LoadControl {
    clock: Signal<In, Clock>,
    reset: Signal<In, Bit>,
    started: Signal<In, Bit>,
    start_load_model: Signal<In, Bit>,
    steps: Wide<In>,
    model_enabled: Signal<In, Bit>,
    step_enabled: Signal<In, Bit>,
    model_entry: Wide<In>,
    step_entry: Wide<In>,
    bank_free: Signal<In, Bit>,
    freed: Signal<In, Bit>,
    in_valid: Signal<In, Bit>,
    is_end: Signal<In, Bit>,
    wrap: Signal<In, Bit>,
    in_ready: Signal<Out, Bit>,
    /// The instruction `read_index` is fetched; it is ahead from the next cycle on.
    read: Signal<Out, Bit>,
    read_index: Wide<Out>,
    /// The instruction that was read becomes current.
    load: Signal<Out, Bit>,
    /// A transfer is taken.
    transfer: Signal<Out, Bit>,
    /// It is the first one of its instruction.
    fresh: Signal<Out, Bit>,
    bank: Signal<Out, Bit>,
    full0: Signal<Out, Bit>,
    full1: Signal<Out, Bit>,
    model_done: Signal<Out, Bit>,
    finishes: Signal<Local, Bit>,
    /// The last transfer of a phase.
    completes: Signal<Local, Bit>,
    begins: Signal<Local, Bit>,
    bank_full: Signal<Local, Bit>,
    waits: Signal<Local, Bit>,
    state: Register,
    remaining: Register,
    /// `remaining` is 0.
    none_remaining: Flag,
    /// Number of the instruction after the one ahead.
    after: Register,
    pending_model: Flag,
    filling: Flag,
    bank0: Flag,
    bank1: Flag,
    /// Banks that stay full, and the one that is full if the phase completes, which is known late.
    keeps0: Signal<Local, Bit>,
    keeps1: Signal<Local, Bit>,
    fills0: Signal<Local, Bit>,
    fills1: Signal<Local, Bit>,
    /// The same or, without input of steps, always: which streams start depends on these late.
    ready0: Flag,
    ready1: Flag,
    /// A step's input was complete in the cycle before.
    filled: Flag,
    model_there: Flag,
    first_beat: Flag,
    idle: Number,
    prime: Number,
    decide: Number,
    model: Number,
    step: Number,
    zero: Number,
    one: Number,
    next_one: Number,
}

impl LoadControl {
    fn new(widths: &Widths) -> Self {
        let state = |value| Number::new(value, STATE_BITS);
        LoadControl {
            clock: Signal::default(),
            reset: Signal::default(),
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
            is_end: Signal::default(),
            wrap: Signal::default(),
            in_ready: Signal::default(),
            read: Signal::default(),
            read_index: Wide::new(widths.index),
            load: Signal::default(),
            transfer: Signal::default(),
            fresh: Signal::default(),
            bank: Signal::default(),
            full0: Signal::default(),
            full1: Signal::default(),
            model_done: Signal::default(),
            finishes: Signal::default(),
            completes: Signal::default(),
            begins: Signal::default(),
            bank_full: Signal::default(),
            waits: Signal::default(),
            state: Register::new(STATE_BITS),
            remaining: Register::new(STEPS_BITS),
            none_remaining: Flag::new(),
            after: Register::new(widths.index),
            pending_model: Flag::new(),
            filling: Flag::new(),
            bank0: Flag::new(),
            bank1: Flag::new(),
            keeps0: Signal::default(),
            keeps1: Signal::default(),
            fills0: Signal::default(),
            fills1: Signal::default(),
            ready0: Flag::new(),
            ready1: Flag::new(),
            filled: Flag::new(),
            model_there: Flag::new(),
            first_beat: Flag::new(),
            idle: state(0),
            prime: state(1),
            decide: state(2),
            model: state(3),
            step: state(4),
            zero: Number::new(0, STEPS_BITS),
            one: Number::new(1, STEPS_BITS),
            next_one: Number::new(1, widths.index),
        }
    }
}

impl Logic for LoadControl {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("load_control: the state machine of the loader, and which banks of the data pads are full.");
        clock!(self, clock, state, remaining, after, pending_model, filling, bank0, bank1, model_there, first_beat);
        clock!(self, clock, none_remaining, ready0, ready1, filled);
        self.none_remaining.reset.next = self.reset.val();
        self.pending_model.reset.next = self.reset.val();
        self.filling.reset.next = self.reset.val();
        self.bank0.reset.next = self.reset.val();
        self.bank1.reset.next = self.reset.val();
        self.ready0.reset.next = self.reset.val();
        self.ready1.reset.next = self.reset.val();
        self.filled.reset.next = self.reset.val();
        self.model_there.reset.next = self.reset.val();
        self.first_beat.reset.next = self.reset.val();

        self.bank.next = self.filling.q.val();
        self.full0.next = self.ready0.q.val();
        self.full1.next = self.ready1.q.val();
        self.model_done.next = self.model_there.q.val() || !self.model_enabled.val();
        self.bank_full.next = self.bank0.q.val();
        if self.filling.q.val() {
            self.bank_full.next = self.bank1.q.val();
        }
        self.in_ready.next = self.state.q.val() == self.model.val() || self.state.q.val() == self.step.val();
        self.transfer.next = self.in_valid.val() && self.in_ready.val();
        self.fresh.next = self.first_beat.q.val();
        self.finishes.next = self.transfer.val() && self.wrap.val();
        self.completes.next = self.finishes.val() && self.is_end.val();

        self.state.d.next = self.state.q.val();
        self.remaining.d.next = self.remaining.q.val();
        self.none_remaining.d.next = self.none_remaining.q.val();
        self.pending_model.d.next = self.pending_model.q.val();
        self.filling.d.next = self.filling.q.val();
        self.keeps0.next = self.bank0.q.val() && !self.started.val();
        self.keeps1.next = self.bank1.q.val() && !self.started.val();
        self.fills0.next = self.state.q.val() == self.step.val() && !self.filling.q.val() && !self.started.val();
        self.fills1.next = self.state.q.val() == self.step.val() && self.filling.q.val() && !self.started.val();
        self.model_there.d.next = self.model_there.q.val();
        if self.bank_free.val() {
            if self.freed.val() {
                self.keeps1.next = false;
            } else {
                self.keeps0.next = false;
            }
        }
        if self.state.q.val() == self.prime.val() {
            self.state.d.next = self.decide.val();
        }
        self.filled.d.next = self.completes.val() && self.state.q.val() == self.step.val();
        if self.filled.q.val() {
            self.remaining.d.next = self.remaining.q.val() - self.one.val();
            self.none_remaining.d.next = self.remaining.q.val() == self.one.val();
        }
        self.begins.next = false;
        if self.state.q.val() == self.decide.val() {
            if self.pending_model.q.val() {
                self.begins.next = true;
                self.state.d.next = self.model.val();
            } else if self.none_remaining.q.val() || !self.step_enabled.val() {
                self.state.d.next = self.idle.val();
            } else if !self.bank_full.val() {
                self.begins.next = true;
                self.state.d.next = self.step.val();
            }
        }
        if self.completes.val() {
            self.state.d.next = self.prime.val();
            if self.state.q.val() == self.model.val() {
                self.model_there.d.next = true;
                self.pending_model.d.next = false;
            } else {
                self.filling.d.next = !self.filling.q.val();
            }
        }
        if self.started.val() {
            self.state.d.next = self.prime.val();
            self.pending_model.d.next = self.start_load_model.val() && self.model_enabled.val();
            self.remaining.d.next = self.steps.val();
            self.none_remaining.d.next = self.steps.val() == self.zero.val();
            self.filling.d.next = false;
            self.model_there.d.next = false;
        }
        self.bank0.d.next = self.keeps0.val() || (self.completes.val() && self.fills0.val());
        self.bank1.d.next = self.keeps1.val() || (self.completes.val() && self.fills1.val());
        self.ready0.d.next =
            (self.keeps0.val() || !self.step_enabled.val()) || (self.completes.val() && self.fills0.val());
        self.ready1.d.next =
            (self.keeps1.val() || !self.step_enabled.val()) || (self.completes.val() && self.fills1.val());
        if self.reset.val() {
            self.state.d.next = self.idle.val();
        }

        self.first_beat.d.next = self.first_beat.q.val();
        self.load.next = self.begins.val() || (self.finishes.val() && !self.is_end.val());
        // While nothing is taken, before a phase is decided on, the entry of the next one is read again and again.
        self.waits.next = !self.in_ready.val() && self.state.q.val() != self.decide.val();
        self.read.next = self.load.val() || self.waits.val();
        self.read_index.next = self.after.q.val();
        if self.in_ready.val() {
            if self.transfer.val() {
                self.first_beat.d.next = self.wrap.val();
            }
        } else {
            self.first_beat.d.next = true;
        }
        if self.waits.val() {
            self.read_index.next = self.step_entry.val();
            if self.pending_model.q.val() {
                self.read_index.next = self.model_entry.val();
            }
        }
        self.after.d.next = self.after.q.val();
        if self.read.val() {
            self.after.d.next = self.read_index.val() + self.next_one.val();
        }
    }
}

/// Which pad a transfer is for.
#[derive(LogicBlock)]
struct LoadDecode {
    transfer: Signal<In, Bit>,
    data: Signal<In, Bit>,
    write_model: Signal<Out, Bit>,
    write_data: Signal<Out, Bit>,
}

impl LoadDecode {
    fn new() -> Self {
        LoadDecode {
            transfer: Signal::default(),
            data: Signal::default(),
            write_model: Signal::default(),
            write_data: Signal::default(),
        }
    }
}

impl Logic for LoadDecode {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("load_decode: which pad a transfer is for.");
        self.write_model.next = self.transfer.val() && !self.data.val();
        self.write_data.next = self.transfer.val() && self.data.val();
    }
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
