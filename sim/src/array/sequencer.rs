//! Run states and loader states: which beats are issued in which cycle (docs/machine.md sections 1, 5, 6).

use super::stream::{Beat, Position, Stream};
use super::watch::Observation;
use arch::isa::{AluInstruction, LoadInstruction, MoveInstruction, RootInstruction, ScalarInstruction};
use arch::machine::Machine;
use arch::registers::{self, Region};

/// What the sequencer issues in one cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct Beats {
    pub(super) alu: Option<Beat<AluInstruction>>,
    pub(super) root: Option<Beat<RootInstruction>>,
    pub(super) moves: Option<Beat<MoveInstruction>>,
    pub(super) load: Option<Beat<LoadInstruction>>,
    pub(super) scalar: Option<Beat<ScalarInstruction>>,
    /// Bank the alu reads.
    pub(super) compute_bank: u32,
    /// Bank the loader fills.
    pub(super) load_bank: u32,
    /// The step is the first tile of a batch.
    pub(super) first_tile: bool,
    /// It is the last one.
    pub(super) last_tile: bool,
}

impl Beats {
    /// Whether no stream issues.
    pub(super) fn is_empty(&self) -> bool {
        let Beats { alu, root, moves, load, scalar, .. } = self;
        alu.is_none() && root.is_none() && moves.is_none() && load.is_none() && scalar.is_none()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunState {
    Idle,
    Prime,
    WaitModel,
    Ready,
    Step,
    EmitStep,
    EmitModel,
    Flush,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadState {
    Idle,
    Prime,
    Decide,
    Model,
    Step,
}

/// What the registers of a cycle say, at which all of its decisions look.
struct Seen {
    credits: u32,
    alu_idle: bool,
    model_done: bool,
    full: [bool; 2],
    tile_ends: bool,
}

/// A step only asks whether it is the last one of a run or batch, and the loader brings at most two meanwhile: more further steps make no difference.
const FURTHER: u32 = 3;

/// What decides the cycles of a step and of what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    now: Now,
    /// Steps that are left, and those of the loader, up to [`FURTHER`].
    left: [u32; 2],
    streams: [Position; 5],
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "they are the flip-flops of docs/machine.md")]
struct Now {
    state: RunState,
    timer: u32,
    bank: usize,
    /// Tiles left of the batch, this one included; 0 counts as 1.
    tiles_left: u32,
    first_tile: bool,
    /// The tile, which is not the last one, ends in two cycles, in one, in this one.
    tile_ends: [bool; 3],
    credits: u32,
    load_state: LoadState,
    pending_model: bool,
    model_done: bool,
    load_bank: usize,
    full: [bool; 2],
}

/// Everything that decides what happens when.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are the flip-flops of docs/machine.md")]
pub(super) struct Sequencer {
    machine: Machine,
    registers: [u32; 0x20],
    alu: Stream<AluInstruction>,
    root: Stream<RootInstruction>,
    moves: Stream<MoveInstruction>,
    load: Stream<LoadInstruction>,
    /// Never starts where there is no scalar unit: its entry cannot be written.
    scalar: Stream<ScalarInstruction>,
    now: Now,
    /// What was written with a start; the run begins in the next cycle.
    asked: Option<u32>,
    load_model: bool,
    emit_model: bool,
    steps_left: u32,
    /// The next run goes on with a batch.
    goes_on: bool,
    cycles: u64,
    done: bool,
    /// Steps whose samples the loader has not brought.
    remaining: u32,
}

impl Sequencer {
    pub(super) fn new(machine: &Machine) -> Sequencer {
        Sequencer {
            machine: machine.clone(),
            registers: [0; 0x20],
            alu: Stream::new(machine),
            root: Stream::new(machine),
            moves: Stream::new(machine),
            load: Stream::new(machine),
            scalar: Stream::new(machine),
            now: Now {
                state: RunState::Idle,
                timer: 0,
                bank: 0,
                tiles_left: 0,
                first_tile: true,
                tile_ends: [false; 3],
                credits: machine.output_fifo(),
                load_state: LoadState::Idle,
                pending_model: false,
                model_done: false,
                load_bank: 0,
                full: [false; 2],
            },
            asked: None,
            load_model: false,
            emit_model: false,
            steps_left: 0,
            goes_on: false,
            cycles: 0,
            done: false,
            remaining: 0,
        }
    }

    pub(super) fn reset(&mut self) {
        self.registers = [0; 0x20];
        self.halt();
    }

    /// As a reset, but registers stay.
    pub(super) fn halt(&mut self) {
        self.stop_streams();
        self.load.current = None;
        self.now.state = RunState::Idle;
        self.asked = None;
        self.goes_on = false;
        self.now.tile_ends = [false; 3];
        self.now.load_state = LoadState::Idle;
        self.now.credits = self.machine.output_fifo();
        self.cycles = 0;
        self.done = false;
        self.now.full = [false; 2];
    }

    fn stop_streams(&mut self) {
        self.alu.current = None;
        self.root.current = None;
        self.moves.current = None;
        self.scalar.current = None;
    }

    pub(super) fn idle(&self) -> bool {
        self.now.state == RunState::Idle && self.asked.is_none()
    }

    /// Whether a step begins in this cycle.
    pub(super) fn step_begins(&self) -> bool {
        self.steps() && self.now.timer == self.register(registers::STEP_LENGTH).wrapping_sub(1)
    }

    /// Where everything is.
    pub(super) fn moment(&self) -> Moment {
        let streams = [
            self.alu.position(),
            self.root.position(),
            self.moves.position(),
            self.load.position(),
            self.scalar.position(),
        ];
        let now = Now { tiles_left: self.now.tiles_left.min(FURTHER), ..self.now.clone() };
        Moment { now, left: self.left().map(|left| left.min(FURTHER)), streams }
    }

    /// Be where everything was when another step like this one had ended, so many cycles, steps, and steps of the loader later than now.
    pub(super) fn go_to(&mut self, moment: &Moment, cycles: u64, [steps, loaded]: [u32; 2]) {
        let [alu, root, moves, load, scalar] = &moment.streams;
        self.alu.go_to(alu);
        self.root.go_to(root);
        self.moves.go_to(moves);
        self.load.go_to(load);
        self.scalar.go_to(scalar);
        let tiles_left = if moment.now.first_tile { self.register(registers::TILES) } else { self.now.tiles_left - 1 };
        self.now = Now { tiles_left, ..moment.now.clone() };
        self.cycles += cycles;
        self.steps_left -= steps;
        self.remaining -= loaded;
    }

    /// Steps that are not computed, and those that are not loaded.
    pub(super) fn left(&self) -> [u32; 2] {
        [self.steps_left, self.remaining]
    }

    /// Whether steps are computed: their weights are there.
    pub(super) fn steps(&self) -> bool {
        self.now.state == RunState::Step
    }

    /// The registers of this cycle.
    pub(super) fn observe(&self, seen: &mut Observation) {
        seen.run_state = match self.now.state {
            RunState::Idle => "idle",
            RunState::Prime => "prime",
            RunState::WaitModel => "wait_model",
            RunState::Ready => "ready",
            RunState::Step => "step",
            RunState::EmitStep => "emit_step",
            RunState::EmitModel => "emit_model",
            RunState::Flush => "flush",
        };
        seen.load_state = match self.now.load_state {
            LoadState::Idle => "idle",
            LoadState::Prime => "prime",
            LoadState::Decide => "decide",
            LoadState::Model => "model",
            LoadState::Step => "step",
        };
        seen.step = self.register(registers::STEPS).wrapping_sub(self.steps_left);
        seen.steps_left = self.steps_left;
        seen.timer = self.now.timer;
        seen.bank = self.now.bank as u32;
        seen.tile = [self.now.first_tile, self.is_last_tile()];
        seen.load_bank = self.now.load_bank as u32;
        seen.full = self.now.full;
        seen.credits = self.now.credits;
        seen.input_ready = self.input_ready();
        seen.streams =
            [self.alu.observe(), self.root.observe(), self.moves.observe(), self.load.observe(), self.scalar.observe()];
    }

    pub(super) fn write_register(&mut self, number: u32, data: u32) {
        if registers::is_held(&self.machine, number) {
            self.registers[number as usize] = data;
        }
    }

    pub(super) fn read_register(&self, address: u32) -> u32 {
        match address {
            registers::CONTROL => {
                let busy = if self.idle() { 0 } else { registers::BUSY };
                busy | if self.done { registers::DONE } else { 0 }
            }
            registers::CYCLES_LOW => self.cycles as u32,
            registers::CYCLES_HIGH => (self.cycles >> 32) as u32,
            number if number < 0x10 => self.registers[number as usize],
            number => {
                let description = registers::description(&self.machine);
                description.iter().find(|(at, _)| *at == number).map_or(0, |(_, value)| *value)
            }
        }
    }

    pub(super) fn write_program(&mut self, region: Region, place: [u32; 2], data: u32) {
        match region {
            Region::Alu => self.alu.write(place, data),
            Region::Root => self.root.write(place, data),
            Region::Move => self.moves.write(place, data),
            Region::Load => self.load.write(place, data),
            Region::Scalar => self.scalar.write(place, data),
            Region::Registers | Region::Tables => {}
        }
    }

    fn register(&self, number: u32) -> u32 {
        self.registers[number as usize]
    }

    fn enabled(&self, number: u32) -> bool {
        self.register(number) & registers::ENTRY_ENABLE != 0
    }

    /// A run is to begin; the caller has seen the machine idle.
    pub(super) fn ask(&mut self, flags: u32) {
        self.asked = Some(flags);
        self.done = false;
    }

    /// The next run goes on with the batch whose sums are in the gradient pads.
    pub(super) fn go_on(&mut self) {
        self.goes_on = true;
    }

    /// Begin a run.
    fn start(&mut self, flags: u32) {
        self.alu.decode(&self.machine);
        self.root.decode(&self.machine);
        self.moves.decode(&self.machine);
        self.load.decode(&self.machine);
        self.scalar.decode(&self.machine);
        let load_model = flags & registers::START_LOAD_MODEL != 0;
        self.load_model = load_model;
        self.emit_model = flags & registers::START_EMIT_MODEL != 0;
        self.steps_left = self.register(registers::STEPS);
        self.now.bank = 0;
        self.begin_batch();
        let asked = self.machine.hands_out_sums() && flags & registers::START_GO_ON != 0;
        self.now.first_tile = !std::mem::take(&mut self.goes_on) && !asked;
        self.cycles = 0;
        self.now.state = RunState::Prime;
        self.now.pending_model = load_model && self.enabled(registers::ENTRY_LOAD_MODEL);
        self.now.model_done = false;
        self.remaining = self.steps_left;
        self.now.load_bank = 0;
        self.now.full = [false; 2];
        self.now.load_state = LoadState::Prime;
    }

    pub(super) fn input_ready(&self) -> bool {
        !self.load.idle()
    }

    /// The next step is the first tile of a batch.
    fn begin_batch(&mut self) {
        (self.now.tiles_left, self.now.first_tile) = (self.register(registers::TILES), true);
    }

    fn is_last_tile(&self) -> bool {
        self.now.tiles_left <= 1
    }

    fn bank_full(&self, bank: usize) -> bool {
        self.now.full[bank] || !self.enabled(registers::ENTRY_STEP_LOAD)
    }

    fn start_step(&mut self) {
        self.alu.start(self.register(registers::ENTRY_STEP_ALU));
        self.root.start(self.register(registers::ENTRY_STEP_ROOT));
        self.moves.start(self.register(registers::ENTRY_STEP_MOVE));
        self.scalar.start(self.register(registers::ENTRY_STEP_SCALAR));
        self.now.timer = self.register(registers::STEP_LENGTH).wrapping_sub(1);
        self.now.state = RunState::Step;
    }

    /// One cycle: what is issued in it, and the state of the next one.
    pub(super) fn cycle(&mut self, input_taken: bool, popped: bool, beats: &mut Beats) {
        (beats.compute_bank, beats.load_bank) = (self.now.bank as u32, self.now.load_bank as u32);
        (beats.first_tile, beats.last_tile) = (self.now.first_tile, self.is_last_tile());
        if self.now.state != RunState::Idle {
            self.cycles += 1;
        }
        // All decisions look at the registers of this cycle.
        let asked = self.asked.take();
        let credits = self.now.credits;
        let alu_idle = self.alu.idle();
        let model_done = self.now.model_done || !self.enabled(registers::ENTRY_LOAD_MODEL);
        let full = [self.bank_full(0), self.bank_full(1)];
        let loader_full = self.now.full;
        let [stops, next, tile_ends] = self.now.tile_ends;
        let left_out = self.now.state == RunState::Step && !self.is_last_tile() && self.now.timer != 0;
        self.now.tile_ends = [left_out && self.now.timer == self.register(registers::TILE_END), stops, next];

        self.alu.cycle(&mut beats.alu, |i| !i.emit || credits > 0);
        self.root.cycle(&mut beats.root, |_| true);
        self.moves.cycle(&mut beats.moves, |_| true);
        self.scalar.cycle(&mut beats.scalar, |_| true);
        if beats.alu.as_ref().is_some_and(|b| b.instruction.emit) {
            self.now.credits -= 1;
        }
        if popped {
            self.now.credits += 1;
        }

        if stops {
            self.stop_streams();
        }

        let seen = Seen { credits, alu_idle, model_done, full, tile_ends };
        let freed = self.run_state(&seen);
        self.load_state(&mut beats.load, input_taken, loader_full);
        if let Some(bank) = freed {
            self.now.full[bank] = false;
        }
        if let Some(flags) = asked {
            self.start(flags);
        }
    }

    /// The state of the run in the next cycle; the bank whose step ends, if one does.
    fn run_state(&mut self, seen: &Seen) -> Option<usize> {
        match self.now.state {
            RunState::Prime => {
                self.now.state = if self.load_model { RunState::WaitModel } else { RunState::Ready };
            }
            RunState::WaitModel if seen.model_done => self.now.state = RunState::Ready,
            RunState::Ready if self.steps_left != 0 => {
                if seen.full[self.now.bank] {
                    self.start_step();
                }
            }
            RunState::Ready if self.emit_model && self.enabled(registers::ENTRY_EMIT_MODEL) => {
                self.alu.start(self.register(registers::ENTRY_EMIT_MODEL));
                self.now.state = RunState::EmitModel;
            }
            RunState::Ready => self.now.state = RunState::Flush,
            RunState::Step if self.now.timer == 0 || seen.tile_ends => return Some(self.end_step(seen)),
            RunState::Step => self.now.timer -= 1,
            RunState::EmitStep if seen.alu_idle => self.now.state = RunState::Prime,
            RunState::EmitModel if seen.alu_idle => self.now.state = RunState::Flush,
            RunState::Flush if seen.credits == self.machine.output_fifo() => {
                self.now.state = RunState::Idle;
                self.done = true;
            }
            RunState::Idle | RunState::WaitModel | RunState::EmitStep | RunState::EmitModel | RunState::Flush => {}
        }
        None
    }

    /// The end of a step, and the bank that it frees.
    fn end_step(&mut self, seen: &Seen) -> usize {
        let (freed, last) = (self.now.bank, self.steps_left == 1);
        self.now.bank = 1 - self.now.bank;
        if self.is_last_tile() {
            self.begin_batch();
        } else {
            (self.now.tiles_left, self.now.first_tile) = (self.now.tiles_left - 1, false);
        }
        self.steps_left -= 1;
        if self.enabled(registers::ENTRY_EMIT_STEP) {
            self.alu.start(self.register(registers::ENTRY_EMIT_STEP));
            self.now.state = RunState::EmitStep;
        } else if !last && seen.full[self.now.bank] {
            self.start_step();
        } else {
            self.now.state = RunState::Prime;
        }
        freed
    }

    /// What the loader issues, and its state in the next cycle.
    fn load_state(&mut self, place: &mut Option<Beat<LoadInstruction>>, input_taken: bool, full: [bool; 2]) {
        let takes = matches!(self.now.load_state, LoadState::Model | LoadState::Step) && input_taken;
        if !takes {
            *place = None;
        }
        match self.now.load_state {
            LoadState::Prime => self.now.load_state = LoadState::Decide,
            LoadState::Decide if self.now.pending_model => {
                self.load.start(self.register(registers::ENTRY_LOAD_MODEL));
                self.now.load_state = LoadState::Model;
            }
            LoadState::Decide if self.remaining == 0 || !self.enabled(registers::ENTRY_STEP_LOAD) => {
                self.now.load_state = LoadState::Idle;
            }
            LoadState::Decide => {
                if !full[self.now.load_bank] {
                    self.load.start(self.register(registers::ENTRY_STEP_LOAD));
                    self.now.load_state = LoadState::Step;
                }
            }
            // Without a current instruction, as when a host changes entries in mid-run, nothing is taken, and the loader waits.
            LoadState::Model | LoadState::Step if input_taken => {
                self.load.cycle(place, |_| true);
                if self.load.idle() {
                    if self.now.load_state == LoadState::Model {
                        self.now.model_done = true;
                        self.now.pending_model = false;
                    } else {
                        self.now.full[self.now.load_bank] = true;
                        self.now.load_bank = 1 - self.now.load_bank;
                        self.remaining -= 1;
                    }
                    self.now.load_state = LoadState::Prime;
                }
            }
            LoadState::Idle | LoadState::Model | LoadState::Step => {}
        }
    }
}
