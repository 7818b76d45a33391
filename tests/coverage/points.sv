// What has to be seen at work in simulations: `measure coverage` binds this to generated grids. Names are those of docs/machine.md; a point is
// counted in the cycle in which a beat leaves its stream, or a state changes.
`define POINT(NAME, CONDITION) NAME: cover property (@(posedge clock) CONDITION);
// Counts from 0: numbers of an encoding.
`define LEVELS(NAME, FIELD) \
    `POINT(NAME``_0, valid && FIELD == 0) `POINT(NAME``_1, valid && FIELD == 1) \
    `POINT(NAME``_2, valid && FIELD == 2) `POINT(NAME``_3, valid && FIELD == 3)

// Forms of a mask, section 2.
module mask_points (
    input wire clock, valid, flat,
    input wire [2:0] row_level, column_level, pick_row, pick_column,
    input wire first0, first1, first2, first3, last0, last1, last2, last3
);
    wire [7:0] first = {4'hf, first3, first2, first1, first0}, last = {4'hf, last3, last2, last1, last0};
    `POINT(box, valid && !flat)
    `POINT(flat_form, valid && flat)
    `POINT(bounds_always, valid && row_level >= 4)
    `POINT(row_bounds_at_the_first, valid && row_level < 4 && first[row_level] && !last[row_level])
    `POINT(row_bounds_at_the_last, valid && row_level < 4 && !first[row_level] && last[row_level])
    `POINT(row_bounds_in_between, valid && row_level < 4 && !first[row_level] && !last[row_level])
    `POINT(column_bounds_at_the_first, valid && !flat && column_level < 4 && first[column_level] && !last[column_level])
    `POINT(column_bounds_at_the_last, valid && !flat && column_level < 4 && !first[column_level] && last[column_level])
    `POINT(column_bounds_in_between, valid && !flat && column_level < 4 && !first[column_level] && !last[column_level])
    `POINT(flat_at_the_last, valid && flat && row_level < 4 && last[row_level])
    `POINT(picks_a_row, valid && pick_row < 4)
    `POINT(picks_a_column, valid && pick_column < 4)
    `POINT(picks_both, valid && pick_row < 4 && pick_column < 4)
endmodule

// An instruction of the alu stream, section 3.
module alu_points (
    input wire clock, valid, negative, tree, model, t0, t1, first, last, emitted,
    input wire [1:0] combine, a,
    input wire [2:0] b, c, reduce,
    input wire [5:0] align, shift
);
    wire writes = valid && last && (model || t0 || t1);
    `POINT(combine_add, valid && combine == 0)
    `POINT(combine_subtract, valid && combine == 1)
    `POINT(combine_maximum, valid && combine == 2)
    `POINT(combine_minimum, valid && combine == 3)
    `POINT(finish_round, writes && !negative)
    `POINT(finish_negative, writes && negative)
    `LEVELS(a_is_pad, a)
    `LEVELS(b_is_pad, b)
    `POINT(b_is_immediate, valid && b >= 4)
    `LEVELS(c_is_pad, c)
    `POINT(c_is_immediate, valid && c == 4)
    `POINT(c_is_zero, valid && c > 4)
    `LEVELS(reduces, reduce)
    `POINT(reduces_4, valid && reduce == 4)
    `POINT(writes_model, valid && last && model)
    `POINT(writes_t0, valid && last && t0)
    `POINT(writes_t1, valid && last && t1)
    `POINT(gives_to_the_tree, valid && last && tree)
    `POINT(tree_of_extremes, valid && last && tree && combine >= 2)
    `POINT(emits, valid && emitted)
    `POINT(aligns, valid && first && align != 0)
    `POINT(shifts, writes && shift != 0)
endmodule

// An instruction of the scalar stream, section 9: it has no mask, no tree and no model pad.
module scalar_points (
    input wire clock, valid, negative, t0, t1, first, last, send,
    input wire [1:0] combine, a,
    input wire [2:0] b, c, reduce,
    input wire [5:0] align, shift
);
    wire writes = valid && last && (t0 || t1);
    `POINT(combine_add, valid && combine == 0)
    `POINT(combine_subtract, valid && combine == 1)
    `POINT(combine_maximum, valid && combine == 2)
    `POINT(combine_minimum, valid && combine == 3)
    `POINT(finish_round, writes && !negative)
    `POINT(finish_negative, writes && negative)
    `POINT(a_is_pad_1, valid && a == 1)
    `POINT(a_is_pad_2, valid && a == 2)
    `POINT(a_is_pad_3, valid && a == 3)
    `POINT(b_is_pad_1, valid && b == 1)
    `POINT(b_is_pad_2, valid && b == 2)
    `POINT(b_is_pad_3, valid && b == 3)
    `POINT(b_is_immediate, valid && b >= 4)
    `POINT(c_is_pad_1, valid && c == 1)
    `POINT(c_is_pad_2, valid && c == 2)
    `POINT(c_is_pad_3, valid && c == 3)
    `POINT(c_is_immediate, valid && c == 4)
    `POINT(c_is_zero, valid && c > 4)
    `POINT(sums_over_a_loop, valid && reduce != 0)
    `POINT(writes_t0, valid && last && t0)
    `POINT(writes_t1, valid && last && t1)
    `POINT(sends_to_the_global_bus, valid && last && send)
    `POINT(aligns, valid && first && align != 0)
    `POINT(shifts, writes && shift != 0)
endmodule

// Sums over a batch in tiles, section 8.
module tile_points (input wire clock, valid, last, resume, keep);
    `POINT(begins_in_the_first_tile, valid && last && !resume && keep)
    `POINT(goes_on_and_waits, valid && last && resume && keep)
    `POINT(ends_in_the_last_tile, valid && last && resume && !keep)
    `POINT(is_of_one_tile, valid && last && !resume && !keep)
endmodule

// An instruction of the root stream, section 4.
module root_points (
    input wire clock, row, global_root, used, divide,
    input wire [1:0] segments
);
    wire valid = row || global_root;
    `POINT(row_roots, row)
    `POINT(global_root_alone, global_root)
    `POINT(rounds, valid && !used)
    `POINT(table_uniform, valid && used && !divide && segments == 0)
    `POINT(table_octaves_lowest, valid && used && !divide && segments == 1)
    `POINT(table_octaves_zero, valid && used && !divide && segments == 2)
    `POINT(table_octaves_highest, valid && used && !divide && segments == 3)
    `POINT(divides_to_nearest, valid && used && divide && segments == 0)
    `POINT(divides_down, valid && used && divide && segments == 1)
endmodule

// The run's state machine, section 6; an abort is a reset of it: 0 idle, 1 prime, 2 wait_model, 3 ready, 4 step, 5 emit_step, 6 emit_model, 7 flush.
module run_points (input wire clock, reset, input wire [2:0] state);
    reg [2:0] was;
    reg known, aborted;
    initial {known, aborted} = 2'b00;
    always @(posedge clock) begin
        was <= state;
        known <= !reset;
        aborted <= reset && known;
    end
    `POINT(idle_to_prime, known && was == 0 && state == 1)
    `POINT(prime_to_wait_model, known && was == 1 && state == 2)
    `POINT(prime_to_ready, known && was == 1 && state == 3)
    `POINT(wait_model_to_ready, known && was == 2 && state == 3)
    `POINT(ready_to_step, known && was == 3 && state == 4)
    `POINT(ready_to_emit_model, known && was == 3 && state == 6)
    `POINT(ready_to_flush, known && was == 3 && state == 7)
    `POINT(step_to_prime, known && was == 4 && state == 1)
    `POINT(step_to_emit_step, known && was == 4 && state == 5)
    `POINT(emit_step_to_prime, known && was == 5 && state == 1)
    `POINT(emit_model_to_flush, known && was == 6 && state == 7)
    `POINT(flush_to_idle, known && was == 7 && state == 0)
    `POINT(abort_in_prime, aborted && was == 1 && state == 0)
    `POINT(abort_in_wait_model, aborted && was == 2 && state == 0)
    `POINT(abort_in_ready, aborted && was == 3 && state == 0)
    `POINT(abort_in_step, aborted && was == 4 && state == 0)
    `POINT(abort_in_emit_step, aborted && was == 5 && state == 0)
    `POINT(abort_in_emit_model, aborted && was == 6 && state == 0)
endmodule

// The loader's state machine, section 5: 0 idle, 1 prime, 2 decide, 3 model, 4 step.
module load_points (input wire clock, reset, input wire [2:0] state);
    reg [2:0] was;
    reg known, aborted;
    initial {known, aborted} = 2'b00;
    always @(posedge clock) begin
        was <= state;
        known <= !reset;
        aborted <= reset && known;
    end
    `POINT(idle_to_prime, known && was == 0 && state == 1)
    `POINT(prime_to_decide, known && was == 1 && state == 2)
    `POINT(decide_to_model, known && was == 2 && state == 3)
    `POINT(decide_to_step, known && was == 2 && state == 4)
    `POINT(decide_to_idle, known && was == 2 && state == 0)
    `POINT(model_to_prime, known && was == 3 && state == 1)
    `POINT(step_to_prime, known && was == 4 && state == 1)
    `POINT(abort_in_prime, aborted && was == 1 && state == 0)
    `POINT(abort_in_model, aborted && was == 3 && state == 0)
    `POINT(abort_in_step, aborted && was == 4 && state == 0)
endmodule

bind alu_stream alu_points alu_points_of (
    .clock(clock), .valid(beat_valid), .negative(work_negative), .tree(work_tree), .model(beat_write_model), .t0(beat_write_t0),
    .t1(beat_write_t1), .first(beat_first), .last(beat_last), .emitted(emitted), .combine(2'(work_combine)), .a(work_a), .b(work_b),
    .c(work_c), .reduce(work_reduce), .align(work_align), .shift(work_shift)
);
bind alu_stream mask_points mask_points_of (
    .clock(clock), .valid(beat_valid), .flat(work_flat), .row_level(work_row_level), .column_level(work_column_level),
    .pick_row(work_pick_row), .pick_column(work_pick_column), .first0(ends_first0), .first1(ends_first1), .first2(ends_first2),
    .first3(ends_first3), .last0(ends_last0), .last1(ends_last1), .last2(ends_last2), .last3(ends_last3)
);
bind move_stream mask_points mask_points_of (
    .clock(clock), .valid(beat_write_t0 || beat_write_t1), .flat(work_flat), .row_level(work_row_level),
    .column_level(work_column_level), .pick_row(work_pick_row), .pick_column(work_pick_column), .first0(ends_first0),
    .first1(ends_first1), .first2(ends_first2), .first3(ends_first3), .last0(ends_last0), .last1(ends_last1), .last2(ends_last2),
    .last3(ends_last3)
);
bind root_stream root_points root_points_of (
    .clock(clock), .row(row_beat_valid), .global_root(global_beat_valid), .used(work_function), .divide(work_divide), .segments(work_segments)
);
bind run_control run_points run_points_of (.clock(clock), .reset(reset), .state(state));
bind load_control load_points load_points_of (.clock(clock), .reset(reset), .state(state));
`ifdef SCALAR
bind scalar_stream scalar_points scalar_points_of (
    .clock(clock), .valid(beat_valid), .negative(beat_negative), .t0(beat_write_t0), .t1(beat_write_t1), .first(beat_first),
    .last(beat_last), .send(send), .combine(2'(beat_combine)), .a(beat_a), .b(beat_b), .c(beat_c), .reduce(work_reduce),
    .align(beat_align), .shift(beat_shift)
);
`endif
`ifdef TILES
bind park_pipeline tile_points tile_points_of (
    .clock(clock), .valid(valid), .last(last), .resume(beat_resume), .keep(beat_keep)
);
`endif
