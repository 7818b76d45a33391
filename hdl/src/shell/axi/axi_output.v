// axi_output: words of the output stream to an AXI4-Stream, one per transfer, in packets.
module axi_output #(
    parameter LANE = 16,
    parameter WORD = 16
) (
    input  wire              clock,
    input  wire              reset,
    input  wire              started,      // a run begins
    input  wire [31:0]       words,        // of a packet; 0 = without end
    input  wire [WORD-1:0]   out_data,
    input  wire              out_valid,
    output wire              out_ready,
    output wire [LANE-1:0]   tdata,
    output wire [LANE/8-1:0] tkeep,
    output wire              tlast,
    output wire              tvalid,
    input  wire              tready
);
    reg [31:0] sent;
    wire [31:0] next = sent + 32'd1;
    genvar n;
    generate
        for (n = 0; n < LANE; n = n + 1) begin : bits
            assign tdata[n] = out_data[n < WORD ? n : WORD - 1];
        end
    endgenerate
    assign tkeep = {(LANE / 8){1'b1}};
    assign tlast = next == words;
    assign tvalid = out_valid && !reset;
    assign out_ready = tready && !reset;

    always @(posedge clock) begin
        if (out_valid && out_ready) sent <= tlast ? 32'd0 : next;
        if (reset || started) sent <= 32'd0;
    end
endmodule
