//! Runs: the state machine of docs/machine.md, section 6.
//!
//!     idle ─▶ prime ─▶ [wait_model] ─▶ ready ─▶ step ─┬─▶ step ...            ready ─▶ emit_model ─▶ flush ─▶ idle
//!               ▲                                     ├─▶ emit_step ─┐
//!               └─────────────────────────────────────┴──────────────┘

use crate::beats::Widths;
use crate::rtl::register::{Flag, Register};
use crate::rtl::signal::{Number, Wide};
use crate::rtl::wiring::comment;
use rust_hdl::prelude::*;

/// Bits of a control register.
const REGISTER_BITS: u32 = 32;
const STATE_BITS: u32 = 3;

#[derive(LogicBlock)]
pub(crate) struct RunControl {
    pub(crate) clock: Signal<In, Clock>,
    pub(crate) reset: Signal<In, Bit>,
    /// Start is written.
    pub(crate) start: Signal<In, Bit>,
    /// What was written with a start, a cycle later.
    pub(crate) start_load_model: Signal<In, Bit>,
    pub(crate) start_emit_model: Signal<In, Bit>,
    pub(crate) steps: Wide<In>,
    pub(crate) step_length: Wide<In>,
    pub(crate) step_alu_enabled: Signal<In, Bit>,
    pub(crate) step_root_enabled: Signal<In, Bit>,
    pub(crate) step_move_enabled: Signal<In, Bit>,
    /// A tile ends in the next cycle, before the timer says so; and in this one.
    pub(crate) tile_ends_next: Signal<In, Bit>,
    pub(crate) tile_ends: Signal<In, Bit>,
    /// One if there is a scalar unit.
    pub(crate) step_scalar_enabled: Vec<Signal<In, Bit>>,
    pub(crate) emit_step_enabled: Signal<In, Bit>,
    pub(crate) emit_model_enabled: Signal<In, Bit>,
    pub(crate) step_alu_entry: Wide<In>,
    pub(crate) emit_step_entry: Wide<In>,
    pub(crate) emit_model_entry: Wide<In>,
    pub(crate) model_done: Signal<In, Bit>,
    pub(crate) full0: Signal<In, Bit>,
    pub(crate) full1: Signal<In, Bit>,
    pub(crate) alu_busy: Signal<In, Bit>,
    pub(crate) all_credits: Signal<In, Bit>,
    /// A saturated result was written.
    pub(crate) saturation: Signal<In, Bit>,
    /// A run begins: start was written in the cycle before, while idle.
    pub(crate) started: Signal<Out, Bit>,
    pub(crate) start_alu: Signal<Out, Bit>,
    pub(crate) start_root: Signal<Out, Bit>,
    pub(crate) start_move: Signal<Out, Bit>,
    pub(crate) start_scalar: Vec<Signal<Out, Bit>>,
    /// A stream may be started in this cycle: state ready, or the end of a step.
    pub(crate) may_start: Signal<Out, Bit>,
    pub(crate) alu_entry: Wide<Out>,
    /// Bank of the data pads that the streams read.
    pub(crate) bank: Signal<Out, Bit>,
    /// That bank is empty from now on.
    pub(crate) bank_free: Signal<Out, Bit>,
    /// A step is computed, for so many cycles more, and whether those are none.
    pub(crate) stepping: Signal<Out, Bit>,
    pub(crate) time_left: Wide<Out>,
    pub(crate) no_time_left: Signal<Out, Bit>,
    pub(crate) busy: Signal<Out, Bit>,
    pub(crate) done: Signal<Out, Bit>,
    pub(crate) saturated: Signal<Out, Bit>,
    pub(crate) cycles_low: Wide<Out>,
    pub(crate) cycles_high: Wide<Out>,
    asked: Flag,
    step_now: Signal<Local, Bit>,
    emit_now: Signal<Local, Bit>,
    bank_full: Signal<Local, Bit>,
    state: Register,
    steps_left: Register,
    /// `steps_left` is 0, and 1.
    none_left: Flag,
    one_left: Flag,
    timer: Register,
    /// `timer` is 0.
    time_is_up: Flag,
    /// `timer` is going to be 0: it is less than 2.
    time_runs_out: Flag,
    /// The state is `ready`, or `step` with `timer` 0.
    starts: Flag,
    /// A step starts if bank 0 is full, or bank 1.
    wants0: Flag,
    wants1: Flag,
    /// The same, and it starts the stream.
    alu0: Flag,
    alu1: Flag,
    root0: Flag,
    root1: Flag,
    move0: Flag,
    move1: Flag,
    /// One of them.
    wants: Signal<Local, Bit>,
    /// The bank that it needs.
    wanted: Signal<Local, Bit>,
    /// Words are emitted from this cycle on.
    emits: Flag,
    enters_ready: Signal<Local, Bit>,
    stays_ready: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    ends_next: Signal<Local, Bit>,
    low: Register,
    /// All bits of `low` are set.
    low_is_full: Flag,
    high: Register,
    data_bank: Flag,
    wants_load: Flag,
    wants_emit: Flag,
    finished: Flag,
    clipped: Flag,
    idle: Number,
    prime: Number,
    wait_model: Number,
    ready: Number,
    step: Number,
    emit_step: Number,
    emit_model: Number,
    flush: Number,
    zero: Number,
    one: Number,
    two: Number,
    three: Number,
    next_to_most: Number,
}

impl RunControl {
    pub(crate) fn new(widths: &Widths) -> Self {
        let state = |value| Number::new(value, STATE_BITS);
        RunControl {
            clock: Signal::default(),
            reset: Signal::default(),
            start: Signal::default(),
            start_load_model: Signal::default(),
            start_emit_model: Signal::default(),
            steps: Wide::new(REGISTER_BITS),
            step_length: Wide::new(REGISTER_BITS),
            step_alu_enabled: Signal::default(),
            step_root_enabled: Signal::default(),
            step_move_enabled: Signal::default(),
            tile_ends_next: Signal::default(),
            tile_ends: Signal::default(),
            step_scalar_enabled: (0..widths.scalars).map(|_| Signal::default()).collect(),
            emit_step_enabled: Signal::default(),
            emit_model_enabled: Signal::default(),
            step_alu_entry: Wide::new(widths.index),
            emit_step_entry: Wide::new(widths.index),
            emit_model_entry: Wide::new(widths.index),
            model_done: Signal::default(),
            full0: Signal::default(),
            full1: Signal::default(),
            alu_busy: Signal::default(),
            all_credits: Signal::default(),
            saturation: Signal::default(),
            started: Signal::default(),
            start_alu: Signal::default(),
            start_root: Signal::default(),
            start_move: Signal::default(),
            start_scalar: (0..widths.scalars).map(|_| Signal::default()).collect(),
            may_start: Signal::default(),
            alu_entry: Wide::new(widths.index),
            bank: Signal::default(),
            bank_free: Signal::default(),
            stepping: Signal::default(),
            time_left: Wide::new(REGISTER_BITS),
            no_time_left: Signal::default(),
            busy: Signal::default(),
            done: Signal::default(),
            saturated: Signal::default(),
            cycles_low: Wide::new(REGISTER_BITS),
            cycles_high: Wide::new(REGISTER_BITS),
            asked: Flag::new(),
            step_now: Signal::default(),
            emit_now: Signal::default(),
            bank_full: Signal::default(),
            state: Register::new(STATE_BITS),
            steps_left: Register::new(REGISTER_BITS),
            none_left: Flag::new(),
            one_left: Flag::new(),
            timer: Register::new(REGISTER_BITS),
            time_is_up: Flag::new(),
            time_runs_out: Flag::new(),
            starts: Flag::new(),
            wants0: Flag::new(),
            wants1: Flag::new(),
            alu0: Flag::new(),
            alu1: Flag::new(),
            root0: Flag::new(),
            root1: Flag::new(),
            move0: Flag::new(),
            move1: Flag::new(),
            wants: Signal::default(),
            wanted: Signal::default(),
            emits: Flag::new(),
            enters_ready: Signal::default(),
            stays_ready: Signal::default(),
            ends: Signal::default(),
            ends_next: Signal::default(),
            low: Register::new(REGISTER_BITS),
            low_is_full: Flag::new(),
            high: Register::new(REGISTER_BITS),
            data_bank: Flag::new(),
            wants_load: Flag::new(),
            wants_emit: Flag::new(),
            finished: Flag::new(),
            clipped: Flag::new(),
            idle: state(0),
            prime: state(1),
            wait_model: state(2),
            ready: state(3),
            step: state(4),
            emit_step: state(5),
            emit_model: state(6),
            flush: state(7),
            zero: Number::new(0, REGISTER_BITS),
            one: Number::new(1, REGISTER_BITS),
            two: Number::new(2, REGISTER_BITS),
            three: Number::new(3, REGISTER_BITS),
            next_to_most: Number::new(u32::MAX - 1, REGISTER_BITS),
        }
    }
}

impl Logic for RunControl {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("run_control: the state machine of a run: steps, emissions, status, cycle counter.");
        clock!(self, clock, state, steps_left, timer, low, high, data_bank, wants_load, wants_emit, finished, clipped);
        clock!(self, clock, asked, none_left, one_left, time_is_up, starts, wants0, wants1, emits, low_is_full);
        clock!(self, clock, time_runs_out, alu0, alu1, root0, root1, move0, move1);
        self.asked.reset.next = self.reset.val();
        self.none_left.reset.next = self.reset.val();
        self.one_left.reset.next = self.reset.val();
        self.time_is_up.reset.next = self.reset.val();
        self.time_runs_out.reset.next = self.reset.val();
        self.alu0.reset.next = self.reset.val();
        self.alu1.reset.next = self.reset.val();
        self.root0.reset.next = self.reset.val();
        self.root1.reset.next = self.reset.val();
        self.move0.reset.next = self.reset.val();
        self.move1.reset.next = self.reset.val();
        self.starts.reset.next = self.reset.val();
        self.wants0.reset.next = self.reset.val();
        self.wants1.reset.next = self.reset.val();
        self.emits.reset.next = self.reset.val();
        self.low_is_full.reset.next = self.reset.val();
        self.data_bank.reset.next = self.reset.val();
        self.wants_load.reset.next = self.reset.val();
        self.wants_emit.reset.next = self.reset.val();
        self.finished.reset.next = self.reset.val();
        self.clipped.reset.next = self.reset.val();

        self.bank.next = self.data_bank.q.val();
        self.stepping.next = self.state.q.val() == self.step.val();
        self.time_left.next = self.timer.q.val();
        self.no_time_left.next = self.time_is_up.q.val();
        self.ends.next = self.time_is_up.q.val() || self.tile_ends.val();
        self.done.next = self.finished.q.val() && !self.asked.q.val();
        self.saturated.next = self.clipped.q.val() && !self.asked.q.val();
        self.cycles_low.next = self.low.q.val();
        self.cycles_high.next = self.high.q.val();
        self.asked.d.next = self.start.val() && self.state.q.val() == self.idle.val() && !self.asked.q.val();
        self.started.next = self.asked.q.val();
        self.busy.next = self.state.q.val() != self.idle.val() || self.asked.q.val();
        self.bank_full.next = self.full0.val();
        if self.data_bank.q.val() {
            self.bank_full.next = self.full1.val();
        }

        self.state.d.next = self.state.q.val();
        self.steps_left.d.next = self.steps_left.q.val();
        self.none_left.d.next = self.none_left.q.val();
        self.one_left.d.next = self.one_left.q.val();
        self.timer.d.next = self.timer.q.val();
        self.time_runs_out.d.next = self.timer.q.val() < self.three.val();
        self.time_is_up.d.next = self.time_runs_out.q.val();
        self.low_is_full.d.next = self.low_is_full.q.val();
        self.data_bank.d.next = self.data_bank.q.val();
        self.wants_load.d.next = self.wants_load.q.val();
        self.wants_emit.d.next = self.wants_emit.q.val();
        self.finished.d.next = self.finished.q.val();
        self.clipped.d.next = self.clipped.q.val() || self.saturation.val();
        self.low.d.next = self.low.q.val();
        self.high.d.next = self.high.q.val();
        if self.busy.val() {
            self.low.d.next = self.low.q.val() + self.one.val();
            self.low_is_full.d.next = self.low.q.val() == self.next_to_most.val();
            if self.low_is_full.q.val() {
                self.high.d.next = self.high.q.val() + self.one.val();
            }
        }

        self.step_now.next = (self.wants0.q.val() && self.full0.val()) || (self.wants1.q.val() && self.full1.val());
        self.emit_now.next = self.emits.q.val();
        self.bank_free.next = false;
        if self.started.val() {
            self.state.d.next = self.prime.val();
            self.steps_left.d.next = self.steps.val();
            self.none_left.d.next = self.steps.val() == self.zero.val();
            self.one_left.d.next = self.steps.val() == self.one.val();
            self.data_bank.d.next = false;
            self.wants_load.d.next = self.start_load_model.val();
            self.wants_emit.d.next = self.start_emit_model.val();
            self.finished.d.next = false;
            self.clipped.d.next = false;
            self.low.d.next = self.zero.val();
            self.low_is_full.d.next = false;
            self.high.d.next = self.zero.val();
        }
        if self.state.q.val() == self.prime.val() {
            self.state.d.next = self.ready.val();
            if self.wants_load.q.val() {
                self.state.d.next = self.wait_model.val();
            }
        }
        if self.state.q.val() == self.wait_model.val() && self.model_done.val() {
            self.state.d.next = self.ready.val();
        }
        if self.state.q.val() == self.ready.val() {
            if self.emits.q.val() {
                self.state.d.next = self.emit_model.val();
            } else if self.none_left.q.val() {
                self.state.d.next = self.flush.val();
            }
        }
        if self.state.q.val() == self.step.val() {
            self.timer.d.next = self.timer.q.val() - self.one.val();
            if self.ends.val() {
                self.bank_free.next = true;
                self.data_bank.d.next = !self.data_bank.q.val();
                self.steps_left.d.next = self.steps_left.q.val() - self.one.val();
                self.none_left.d.next = self.one_left.q.val();
                self.one_left.d.next = self.steps_left.q.val() == self.two.val();
                self.state.d.next = self.prime.val();
                if self.emits.q.val() {
                    self.state.d.next = self.emit_step.val();
                }
            }
        }
        if self.state.q.val() == self.emit_step.val() && !self.alu_busy.val() {
            self.state.d.next = self.prime.val();
        }
        if self.state.q.val() == self.emit_model.val() && !self.alu_busy.val() {
            self.state.d.next = self.flush.val();
        }
        if self.state.q.val() == self.flush.val() && self.all_credits.val() {
            self.state.d.next = self.idle.val();
            self.finished.d.next = true;
        }
        if self.step_now.val() {
            self.state.d.next = self.step.val();
            self.timer.d.next = self.step_length.val() - self.one.val();
            self.time_is_up.d.next = self.step_length.val() == self.one.val();
            self.time_runs_out.d.next = self.step_length.val() < self.three.val();
        }
        // What the state is going to be, without what only a start decides; a step has at least two cycles. So a start has only to
        // wait for what fills a bank in the cycle before.
        self.may_start.next = self.starts.q.val();
        self.enters_ready.next = (self.state.q.val() == self.prime.val() && !self.wants_load.q.val())
            || (self.state.q.val() == self.wait_model.val() && self.model_done.val());
        self.stays_ready.next =
            self.state.q.val() == self.ready.val() && !self.none_left.q.val() && !self.bank_full.val();
        self.ends_next.next = self.state.q.val() == self.step.val()
            && !self.ends.val()
            && (self.time_runs_out.q.val() || self.tile_ends_next.val());
        self.starts.d.next = self.enters_ready.val() || self.stays_ready.val() || self.ends_next.val();
        self.wants.next = (self.enters_ready.val() && !self.none_left.q.val())
            || self.stays_ready.val()
            || (self.ends_next.val() && !self.emit_step_enabled.val() && !self.one_left.q.val());
        self.wanted.next = self.data_bank.q.val() != self.ends_next.val();
        self.wants0.d.next = self.wants.val() && !self.wanted.val();
        self.wants1.d.next = self.wants.val() && self.wanted.val();
        self.alu0.d.next = self.wants.val() && !self.wanted.val() && self.step_alu_enabled.val();
        self.alu1.d.next = self.wants.val() && self.wanted.val() && self.step_alu_enabled.val();
        self.root0.d.next = self.wants.val() && !self.wanted.val() && self.step_root_enabled.val();
        self.root1.d.next = self.wants.val() && self.wanted.val() && self.step_root_enabled.val();
        self.move0.d.next = self.wants.val() && !self.wanted.val() && self.step_move_enabled.val();
        self.move1.d.next = self.wants.val() && self.wanted.val() && self.step_move_enabled.val();
        self.emits.d.next = (self.enters_ready.val()
            && self.none_left.q.val()
            && self.wants_emit.q.val()
            && self.emit_model_enabled.val())
            || (self.ends_next.val() && self.emit_step_enabled.val());
        self.start_alu.next =
            (self.alu0.q.val() && self.full0.val()) || (self.alu1.q.val() && self.full1.val()) || self.emit_now.val();
        self.start_root.next = (self.root0.q.val() && self.full0.val()) || (self.root1.q.val() && self.full1.val());
        self.start_move.next = (self.move0.q.val() && self.full0.val()) || (self.move1.q.val() && self.full1.val());
        for i in 0..self.start_scalar.len() {
            self.start_scalar[i].next = self.step_now.val() && self.step_scalar_enabled[i].val();
        }

        self.alu_entry.next = self.step_alu_entry.val();
        if self.state.q.val() == self.step.val() {
            if self.emit_step_enabled.val() {
                self.alu_entry.next = self.emit_step_entry.val();
            } else if self.one_left.q.val() {
                self.alu_entry.next = self.emit_model_entry.val();
            }
        } else if self.none_left.q.val() {
            self.alu_entry.next = self.emit_model_entry.val();
        }

        if self.reset.val() {
            self.state.d.next = self.idle.val();
            self.steps_left.d.next = self.zero.val();
            self.low.d.next = self.zero.val();
            self.high.d.next = self.zero.val();
        }
    }
}
