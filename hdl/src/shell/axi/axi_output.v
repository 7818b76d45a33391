// axi_output: words of the output stream to an AXI4-Stream, one per transfer, in packets.
//
//   out_data ──▶ word and TLAST ──▶ axi_slice ──▶ m_axis          what is offered there stays until it is taken, whatever happens here
//
// A packet that a run leaves open when it is aborted gets one more word, 0, that ends it.
module axi_output #(
    parameter LANE = 16,
    parameter WORD = 16
) (
    input  wire              clock,
    input  wire              reset,
    input  wire              started,      // a run begins
    input  wire              active,       // a run goes on
    input  wire              stopping,     // a run is aborted
    input  wire [31:0]       words,        // of a packet of the next run; 0 = without end
    input  wire [WORD-1:0]   out_data,
    input  wire              out_valid,
    output wire              out_ready,
    output wire [LANE-1:0]   tdata,
    output wire [LANE/8-1:0] tkeep,
    output wire              tlast,
    output wire              tvalid,
    input  wire              tready,
    output wire              waits         // something is still to be taken
);
    reg [31:0] length, sent;
    reg closing;
    wire [31:0] next = sent + 32'd1;
    wire last = closing || next == length;
    wire offers = closing || out_valid && active;
    wire room;
    wire [WORD-1:0] word;
    axi_slice #(.WIDTH(WORD + 1)) slice (
        .clock(clock), .clear(reset),
        .in_data({last, closing ? {WORD{1'b0}} : out_data}), .in_valid(offers), .in_ready(room),
        .out_data({tlast, word}), .out_valid(tvalid), .out_ready(tready)
    );
    assign out_ready = room && active;
    assign waits = tvalid || closing;
    assign tkeep = {(LANE / 8){1'b1}};
    genvar n;
    generate
        for (n = 0; n < LANE; n = n + 1) begin : bits
            assign tdata[n] = word[n < WORD ? n : WORD - 1];
        end
    endgenerate

    always @(posedge clock) begin
        if (stopping && sent != 32'd0 && length != 32'd0) closing <= 1'b1;
        if (offers && room) begin
            sent <= last ? 32'd0 : next;
            closing <= 1'b0;
        end
        if (started) begin
            length <= words;
            sent <= 32'd0;
        end
        if (reset) begin
            length <= 32'd0;
            sent <= 32'd0;
            closing <= 1'b0;
        end
    end
endmodule
