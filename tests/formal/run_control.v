// Runs, as docs/machine.md section 6 says: a step begins only when its bank is full and lasts step_length cycles, or until its tile ends; a run has as many steps
// as it was started with, and ends when they are over and all words have left.
module proof (
    input clock, input reset, input start, input start_load_model, input start_emit_model, input emit_step_enabled,
    input emit_model_enabled, input tile_ends_next, input model_done, input full0, input full1, input alu_busy, input all_credits, input saturation
);
    (* anyconst *) reg [31:0] steps, step_length;
    (* anyconst *) reg emits_steps, emits_model;
    wire started, start_alu, start_root, start_move, may_start, bank, bank_free, busy, done, saturated, in_step, no_time_left;
    wire [31:0] time_left;
    reg tile_ends = 0;
    wire [1:0] alu_entry;
    wire [31:0] cycles_low, cycles_high;
    // Step, emission after a step, emission of the model.
    localparam [1:0] STEP = 2'd1, AFTER = 2'd2, MODEL = 2'd3;
    run_control control (
        .clock(clock), .reset(reset), .start(start), .start_load_model(start_load_model), .start_emit_model(start_emit_model),
        .steps(steps), .step_length(step_length), .step_alu_enabled(1'b1), .step_root_enabled(1'b1), .step_move_enabled(1'b1),
        .emit_step_enabled(emits_steps), .emit_model_enabled(emits_model), .step_alu_entry(STEP), .emit_step_entry(AFTER),
        .emit_model_entry(MODEL), .tile_ends_next(tile_ends_next), .tile_ends(tile_ends), .stepping(in_step), .time_left(time_left),
        .no_time_left(no_time_left), .model_done(model_done), .full0(full0), .full1(full1), .alu_busy(alu_busy),
        .all_credits(all_credits), .saturation(saturation), .started(started), .start_alu(start_alu), .start_root(start_root),
        .start_move(start_move), .may_start(may_start), .alu_entry(alu_entry), .bank(bank), .bank_free(bank_free), .busy(busy),
        .done(done), .saturated(saturated), .cycles_low(cycles_low), .cycles_high(cycles_high)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) begin
        if (!begun) assume (reset);
        if (busy || reset) assume (!start);
        // A tile ends early only while it is computed, and before the end of the step.
        if (!in_step || bank_free) assume (!tile_ends_next);
        assume (steps < 4 && step_length >= 2 && step_length < 4);
    end

    reg [31:0] begins, ends, age;
    reg stepping, wants_model, waits_model, had_credits, was_done, emitted;
    wire [31:0] ends_now = ends + bank_free;
    always @(posedge clock) begin
        {had_credits, was_done} <= {all_credits, done};
        tile_ends <= tile_ends_next && !reset;
        age <= start_root ? 1 : age + 1;
        stepping <= start_root || stepping && !bank_free;
        begins <= begins + start_root;
        ends <= ends_now;
        if (start_alu && alu_entry == MODEL) emitted <= 1;
        if (model_done) waits_model <= 0;
        if (start) {begins, ends, stepping, emitted} <= 0;
        if (started) {waits_model, wants_model} <= {start_load_model, start_emit_model};
        if (reset) {begins, ends, stepping, emitted, was_done, had_credits, waits_model, wants_model} <= 0;
    end
    always @(*) if (begun && !reset) begin
        assert (bank_free == (stepping && (age == step_length || tile_ends)));
        assert (in_step == stepping);
        assert (start_root == start_move);
        if (start_root) begin
            assert (busy && may_start && begins < steps && !waits_model && start_alu && alu_entry == STEP);
            assert (!stepping || bank_free);
            // At the end of a step the next one takes the other bank.
            assert ((bank ^ bank_free) ? full1 : full0);
        end
        if (start_alu && !start_root) begin
            assert (busy && may_start && alu_entry == (bank_free ? AFTER : MODEL));
            if (alu_entry == AFTER) assert (emits_steps);
            else assert (emits_model && wants_model && ends == steps && !stepping && !emitted);
        end
        if (bank_free && emits_steps) assert (start_alu && alu_entry == AFTER);
        if (done && !was_done) assert (ends == steps && begins == steps && had_credits && (emitted || !(emits_model && wants_model)));
        if (done) assert (!busy);
    end
endmodule
