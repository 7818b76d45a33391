//! Runs: the state machine of docs/machine.md, section 6.
//!
//!     idle ─▶ prime ─▶ [wait_model] ─▶ ready ─▶ step ─┬─▶ step ...            ready ─▶ emit_model ─▶ flush ─▶ idle
//!               ▲                                     ├─▶ emit_step ─┐
//!               └─────────────────────────────────────┴──────────────┘

use crate::beats::Widths;
use blocks::block;
use rust_hdl_core::prelude::*;

/// Bits of a control register.
const REGISTER_BITS: u32 = 32;
const STATE_BITS: u32 = 3;

/// The state machine of a run: steps, emissions, status, cycle counter.
#[block(clock, reset, long = "one state machine: what follows it in a cycle is decided together")]
pub(crate) fn RunControl(widths: &Widths) {
    /// Start is written.
    let start: In;
    /// What was written with a start, a cycle later.
    let start_load_model: In;
    let start_emit_model: In;
    let (steps, step_length): In<REGISTER_BITS>;
    let (step_alu_enabled, step_root_enabled, step_move_enabled): In;
    /// A tile ends in the next cycle, before the timer says so; and in this one.
    let (tile_ends_next, tile_ends): In;
    /// One if there is a scalar unit.
    let step_scalar_enabled: [In; widths.scalars];
    let (emit_step_enabled, emit_model_enabled): In;
    let (step_alu_entry, emit_step_entry, emit_model_entry): In<{ widths.index }>;
    let (model_done, full0, full1, alu_busy, all_credits): In;
    /// A saturated result was written.
    let saturation: In;
    /// A run begins: start was written in the cycle before, while idle.
    let started: Out;
    let (start_alu, start_root, start_move): Out;
    let start_scalar: [Out; widths.scalars];
    /// A stream may be started in this cycle: state ready, or the end of a step.
    let may_start: Out;
    let alu_entry: Out<{ widths.index }>;
    /// Bank of the data pads that the streams read.
    let bank: Out;
    /// That bank is empty from now on.
    let bank_free: Out;
    /// A step is computed, for so many cycles more, and whether those are none.
    let stepping: Out;
    let time_left: Out<REGISTER_BITS>;
    let (no_time_left, busy, done, saturated): Out;
    let (cycles_low, cycles_high): Out<REGISTER_BITS>;
    let asked: Flag;
    let (step_now, emit_now, bank_full): Local;
    let state: Register<STATE_BITS>;
    let steps_left: Register<REGISTER_BITS>;
    /// `steps_left` is 0, and 1.
    let (none_left, one_left): Flag;
    let timer: Register<REGISTER_BITS>;
    /// `timer` is 0.
    let time_is_up: Flag;
    /// `timer` is going to be 0: it is less than 2.
    let time_runs_out: Flag;
    /// The state is `ready`, or `step` with `timer` 0.
    let starts: Flag;
    /// A step starts if bank 0 is full, or bank 1.
    let wants0: Flag;
    let wants1: Flag;
    /// The same, and it starts the stream.
    let alu0: Flag;
    let (alu1, root0, root1, move0, move1): Flag;
    /// One of them.
    let wants: Local;
    /// The bank that it needs.
    let wanted: Local;
    /// Words are emitted from this cycle on.
    let emits: Flag;
    let (enters_ready, stays_ready, ends, ends_next): Local;
    let low: Register<REGISTER_BITS>;
    /// All bits of `low` are set.
    let low_is_full: Flag;
    let high: Register<REGISTER_BITS>;
    let (data_bank, wants_load, wants_emit, finished, clipped): Flag;
    let (idle, prime, wait_model, ready, step, emit_step, emit_model): Const<STATE_BITS> = (0, 1, 2, 3, 4, 5, 6);
    let flush: Const<STATE_BITS> = 7;
    let (zero, one, two, three, next_to_most): Const<REGISTER_BITS> = (0, 1, 2, 3, u32::MAX - 1);

    bank = data_bank;
    stepping = state == step;
    time_left = timer;
    no_time_left = time_is_up;
    ends = time_is_up || tile_ends;
    done = finished && !asked;
    saturated = clipped && !asked;
    cycles_low = low;
    cycles_high = high;
    asked = start && state == idle && !asked;
    started = asked;
    busy = state != idle || asked;
    bank_full = full0;
    if data_bank {
        bank_full = full1;
    }

    keep!(state, steps_left, none_left, one_left, timer);
    time_runs_out = timer < three;
    time_is_up = time_runs_out;
    keep!(low_is_full, data_bank, wants_load, wants_emit, finished);
    clipped = clipped || saturation;
    if busy {
        low = low + one;
        low_is_full = low == next_to_most;
        if low_is_full {
            high = high + one;
        }
    }

    step_now = (wants0 && full0) || (wants1 && full1);
    emit_now = emits;
    bank_free = false;
    if started {
        state = prime;
        steps_left = steps;
        none_left = steps == zero;
        one_left = steps == one;
        data_bank = false;
        wants_load = start_load_model;
        wants_emit = start_emit_model;
        finished = false;
        clipped = false;
        low = zero;
        low_is_full = false;
        high = zero;
    }
    if state == prime {
        state = ready;
        if wants_load {
            state = wait_model;
        }
    }
    if state == wait_model && model_done {
        state = ready;
    }
    if state == ready {
        if emits {
            state = emit_model;
        } else if none_left {
            state = flush;
        }
    }
    if state == step {
        timer = timer - one;
        if ends {
            bank_free = true;
            data_bank = !data_bank;
            steps_left = steps_left - one;
            none_left = one_left;
            one_left = steps_left == two;
            state = prime;
            if emits {
                state = emit_step;
            }
        }
    }
    if state == emit_step && !alu_busy {
        state = prime;
    }
    if state == emit_model && !alu_busy {
        state = flush;
    }
    if state == flush && all_credits {
        state = idle;
        finished = true;
    }
    if step_now {
        state = step;
        timer = step_length - one;
        time_is_up = step_length == one;
        time_runs_out = step_length < three;
    }
    // What the state is going to be, without what only a start decides; a step has at least two cycles. So a start has only to
    // wait for what fills a bank in the cycle before.
    may_start = starts;
    enters_ready = (state == prime && !wants_load) || (state == wait_model && model_done);
    stays_ready = state == ready && !none_left && !bank_full;
    ends_next = state == step && !ends && (time_runs_out || tile_ends_next);
    starts = enters_ready || stays_ready || ends_next;
    wants = (enters_ready && !none_left) || stays_ready || (ends_next && !emit_step_enabled && !one_left);
    wanted = data_bank != ends_next;
    wants0 = wants && !wanted;
    wants1 = wants && wanted;
    alu0 = wants && !wanted && step_alu_enabled;
    alu1 = wants && wanted && step_alu_enabled;
    root0 = wants && !wanted && step_root_enabled;
    root1 = wants && wanted && step_root_enabled;
    move0 = wants && !wanted && step_move_enabled;
    move1 = wants && wanted && step_move_enabled;
    emits = (enters_ready && none_left && wants_emit && emit_model_enabled) || (ends_next && emit_step_enabled);
    start_alu = (alu0 && full0) || (alu1 && full1) || emit_now;
    start_root = (root0 && full0) || (root1 && full1);
    start_move = (move0 && full0) || (move1 && full1);
    for i in 0..start_scalar.len() {
        start_scalar[i] = step_now && step_scalar_enabled[i];
    }

    alu_entry = step_alu_entry;
    if state == step {
        if emit_step_enabled {
            alu_entry = emit_step_entry;
        } else if one_left {
            alu_entry = emit_model_entry;
        }
    } else if none_left {
        alu_entry = emit_model_entry;
    }

    if reset {
        state = idle;
        steps_left = zero;
        low = zero;
        high = zero;
    }
}
