// The AXI4-Lite port: one answer per request, none without one, and what is offered stays until it is taken. The rules of
// axi_control are proved with them: a run ends in a bounded number of cycles once that is asked for, whatever grid and streams do.
module proof (
    input clock, input reset,
    input [22:0] awaddr, input awvalid, input [31:0] wdata, input [3:0] wstrb, input wvalid, input bready,
    input [22:0] araddr, input arvalid, input rready, input [31:0] control_read,
    input narrow, input ragged, input stray, input starves, input blocked, input moved, input output_waits
);
    wire awready, wready, arready, bvalid, rvalid, grid_reset, control_write, started, active, stopping, run_done;
    wire [1:0] bresp, rresp;
    wire [31:0] rdata, control_data, output_words;
    wire [19:0] control_address;
    axi_control control (
        .clock(clock), .reset(reset), .awaddr(awaddr), .awvalid(awvalid), .awready(awready), .wdata(wdata), .wstrb(wstrb),
        .wvalid(wvalid), .wready(wready), .bresp(bresp), .bvalid(bvalid), .bready(bready), .araddr(araddr), .arvalid(arvalid),
        .arready(arready), .rdata(rdata), .rresp(rresp), .rvalid(rvalid), .rready(rready), .grid_reset(grid_reset),
        .control_write(control_write), .control_address(control_address), .control_data(control_data), .control_read(control_read),
        .narrow(narrow), .ragged(ragged), .stray(stray), .starves(starves), .blocked(blocked), .moved(moved),
        .output_waits(output_waits), .output_words(output_words), .started(started), .active(active), .stopping(stopping),
        .run_done(run_done)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) if (!begun) assume (reset);

    // Requests that were taken and not answered yet.
    reg [1:0] addresses, words, reads;
    wire aw = awvalid && awready, w = wvalid && wready, ar = arvalid && arready;
    wire b = bvalid && bready, r = rvalid && rready;
    reg was_b, was_r, was_reset;
    reg [1:0] old_bresp, old_rresp;
    reg [31:0] old_rdata;
    reg [2:0] quiet_write, quiet_read;
    // Answers wait until a stop is over.
    wire aborts = control_write && control_address == 0 && control_data == 8;
    wire stops = stopping || grid_reset || aborts;
    always @(posedge clock) begin
        addresses <= addresses + aw - b;
        words <= words + w - b;
        reads <= reads + ar - r;
        {was_b, was_r, was_reset} <= {bvalid && !bready, rvalid && !rready, reset};
        {old_bresp, old_rresp, old_rdata} <= {bresp, rresp, rdata};
        quiet_write <= addresses != 0 && words != 0 && !bvalid && !stops ? quiet_write + 1 : 0;
        quiet_read <= reads != 0 && !rvalid && !stops ? quiet_read + 1 : 0;
        if (reset) begin
            {addresses, words, reads} <= 0;
            {was_b, was_r} <= 0;
            {quiet_write, quiet_read} <= 0;
        end
    end
    always @(*) if (begun && !reset) begin
        assert (addresses == !awready + bvalid && words == !wready + bvalid && reads == !arready + rvalid);
        if (was_b) assert (bvalid && bresp == old_bresp);
        if (was_r) assert (rvalid && rresp == old_rresp && rdata == old_rdata);
        if (was_reset) assert (!bvalid && !rvalid && !run_done);
        assert (bresp[0] == 0 || !bvalid);
        if (control_write && !aborts) assert (addresses != 0 && words != 0);
        if (started) assert (!active && !stopping && !output_waits);
        if (stopping) assert (!active && !started);
`ifdef SOON
        assert (quiet_write < 7 && quiet_read < 7);
`endif
    end
endmodule
