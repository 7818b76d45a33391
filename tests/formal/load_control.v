// The loader of step inputs: a bank is filled only while it is empty, and only as many times as the run has steps; what is ready stays ready.
module proof (
    input clock, input reset, input started, input [31:0] steps, input bank_free, input freed, input in_valid, input is_end, input wrap,
    input [1:0] model_entry, input [1:0] step_entry
);
    wire in_ready, transfer, fresh, load, bank, full0, full1, model_done;
    wire [1:0] read_index;
    load_control control (
        .clock(clock), .reset(reset), .started(started), .start_load_model(1'b0), .steps(steps), .model_enabled(1'b0),
        .step_enabled(1'b1), .model_entry(model_entry), .step_entry(step_entry), .bank_free(bank_free), .freed(freed),
        .in_valid(in_valid), .is_end(is_end), .wrap(wrap), .in_ready(in_ready), .read_index(read_index),
        .transfer(transfer), .fresh(fresh), .load(load), .bank(bank),
        .full0(full0), .full1(full1), .model_done(model_done)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    // A run is started once, when nothing goes on; only full banks are given back.
    reg running;
    reg [31:0] filled, asked;
    reg was_ready, was_valid;
    always @(posedge clock) begin
        if (started) {running, filled, asked} <= {1'b1, 32'd0, steps};
        else if (transfer && wrap && is_end) filled <= filled + 1;
        {was_ready, was_valid} <= {in_ready, in_valid};
        if (reset) {running, filled, asked, was_ready} <= 0;
    end
    always @(*) begin
        assume (reset == !begun);
        if (!begun || running) assume (!started);
        if (bank_free) assume (freed ? full1 : full0);
    end
    always @(*) if (begun) begin
        assert (transfer == (in_valid && in_ready));
        // The next instruction becomes current where a phase begins, or after the last transfer of one that is not the last.
        if (load && in_ready) assert (transfer && wrap && !is_end);
        if (in_ready) assert (running && filled < asked);
        if (in_ready) assert (bank ? !full1 : !full0);
        if (was_ready && !was_valid) assert (in_ready);
        assert (bank == filled[0]);
        if (!running) assert (!full0 && !full1);
    end
endmodule
