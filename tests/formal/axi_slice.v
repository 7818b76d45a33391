// A register slice: what comes in goes out once and in order, and what is offered stays until it is taken, for all lengths of stall.
module proof (input clock, input clear, input [3:0] in_data, input in_valid, input out_ready);
    wire in_ready, out_valid;
    wire [3:0] out_data;
    axi_slice #(.WIDTH(4)) slice (
        .clock(clock), .clear(clear), .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) if (!begun) assume (clear);

    // What it should hold, oldest lowest.
    reg [7:0] words;
    reg [1:0] held;
    reg [3:0] old_data;
    reg was_offered;
    wire in = in_valid && in_ready, out = out_valid && out_ready;
    wire [1:0] left = held - out;
    wire [7:0] rest = out ? words >> 4 : words;
    always @(posedge clock) begin
        words <= in ? rest & ~(8'h0f << 4 * left) | in_data << 4 * left : rest;
        held <= clear ? 0 : left + in;
        was_offered <= out_valid && !out_ready && !clear;
        old_data <= out_data;
    end
    always @(*) if (begun) begin
        assert (held <= 2);
        assert (out_valid == (held != 0) && in_ready == (held != 2));
`ifdef CONTENTS
        if (held != 0) assert (out_data == words[3:0]);
`endif
        if (was_offered) assert (out_valid && out_data == old_data);
    end
endmodule
