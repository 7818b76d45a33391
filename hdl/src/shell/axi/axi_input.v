// axi_input: transfers of an AXI4-Stream to beats of the input stream, lane 0 first.
//
//   s_axis ──▶ axi_slice ──▶ words of a beat ──▶ in_data          without a run everything that comes is thrown away
module axi_input #(
    parameter LANE = 16,             // bits of a word on the stream
    parameter WORD = 16,             // bits of a word
    parameter WORDS = 8,             // words of a transfer
    parameter TRANSFERS = 2          // transfers of a beat
) (
    input  wire                            clock,
    input  wire                            reset,
    input  wire                            active,       // a run goes on
    input  wire [LANE*WORDS-1:0]           tdata,
    input  wire [LANE*WORDS/8-1:0]         tkeep,
    input  wire                            tlast,
    input  wire                            tvalid,
    output wire                            tready,
    output wire [WORD*WORDS*TRANSFERS-1:0] in_data,
    output reg                             in_valid,
    input  wire                            in_ready,
    output reg                             narrow,       // a transfer had unused bytes
    output reg                             ragged,       // a packet ended inside a beat
    output reg                             stray         // something was thrown away
);
    localparam CHUNK = WORD * WORDS;

    // Unused bytes count as 0 before they are held.
    wire [LANE*WORDS-1:0] kept;
    wire [CHUNK-1:0] offered;
    genvar n;
    generate
        for (n = 0; n < LANE * WORDS / 8; n = n + 1) begin : octets
            assign kept[8*n +: 8] = tdata[8*n +: 8] & {8{tkeep[n]}};
        end
        for (n = 0; n < WORDS; n = n + 1) begin : lanes
            assign offered[WORD*n +: WORD] = kept[LANE*n +: WORD];
        end
    endgenerate

    wire [CHUNK-1:0] chunk;
    wire gaps, ends, held, free, slice_ready;
    axi_slice #(.WIDTH(CHUNK + 2)) slice (
        .clock(clock), .clear(!active),
        .in_data({tkeep != {(LANE * WORDS / 8){1'b1}}, tlast, offered}), .in_valid(tvalid), .in_ready(slice_ready),
        .out_data({gaps, ends, chunk}), .out_valid(held), .out_ready(free)
    );
    assign tready = slice_ready && !reset;

    reg [CHUNK*TRANSFERS-1:0] beat;
    reg [6:0] filled;                // transfers in the beat
    wire last = filled == TRANSFERS[6:0] - 7'd1;
    wire take = held && free;
    assign free = !in_valid || in_ready;
    assign in_data = beat;

    integer k;
    always @(posedge clock) begin
        if (in_valid && in_ready) in_valid <= 1'b0;
        narrow <= take && gaps;
        ragged <= take && ends && !last;
        stray <= !active && (tvalid && tready || held || in_valid || filled != 7'd0);
        if (take) begin
            for (k = 0; k < TRANSFERS; k = k + 1) begin
                if (filled == k[6:0]) beat[CHUNK*k +: CHUNK] <= chunk;
                else if (filled == 7'd0) beat[CHUNK*k +: CHUNK] <= {CHUNK{1'b0}};
            end
            filled <= last || ends ? 7'd0 : filled + 7'd1;
            in_valid <= last || ends;
        end
        if (!active) begin
            filled <= 7'd0;
            in_valid <= 1'b0;
            narrow <= 1'b0;
            ragged <= 1'b0;
        end
        if (reset) stray <= 1'b0;
    end
endmodule
