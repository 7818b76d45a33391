// The output stream: TVALID, TDATA and TLAST stay until they are taken, whatever control port, grid and run do; packets have the length
// that was asked for at the start; one that is open when a run is aborted is ended.
module proof (
    input clock, input reset, input started, input active, input stopping, input [31:0] words,
    input [7:0] out_data, input out_valid, input tready
);
    wire out_ready, tlast, tvalid, waits;
    wire [7:0] tdata;
    wire tkeep;
    axi_output #(.LANE(8), .WORD(8)) from_grid (
        .clock(clock), .reset(reset), .started(started), .active(active), .stopping(stopping), .words(words),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready), .tdata(tdata), .tkeep(tkeep), .tlast(tlast),
        .tvalid(tvalid), .tready(tready), .waits(waits)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    // As axi_control sees to it: no run before a start, none after a stop, no start while something waits.
    reg running;
    always @(*) begin
        if (!begun) assume (reset);
        if (started) assume (!running && !stopping && !waits);
        if (active) assume (running && !stopping);
`ifdef PACKETS
        assume (words < 4);
`endif
    end

    reg was_offered, aborted;
    reg [8:0] old;
    reg [31:0] length, open;         // of a packet; words of it that were taken
    always @(posedge clock) begin
        was_offered <= tvalid && !tready && !reset;
        old <= {tlast, tdata};
        if (tvalid && tready) open <= tlast ? 0 : open + 1;
        if (stopping) {running, aborted} <= 2'b01;
        if (started) begin
            {running, aborted} <= 2'b10;
            length <= words;
            open <= 0;
        end
        if (reset) begin
            {running, aborted} <= 0;
            open <= 0;
        end
    end
    always @(*) if (begun) begin
        if (was_offered) assert (tvalid && {tlast, tdata} == old);
`ifdef PACKETS
        if (tvalid && !aborted && length != 0) assert (tlast == (open + 1 == length));
        if (aborted && !stopping && !waits && length != 0) assert (open == 0);
`endif
    end
endmodule
