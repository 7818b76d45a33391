// axi_input: transfers of an AXI4-Stream to beats of the input stream, lane 0 first.
module axi_input #(
    parameter LANE = 16,             // bits of a word on the stream
    parameter WORD = 16,             // bits of a word
    parameter WORDS = 8,             // words of a transfer
    parameter TRANSFERS = 2          // transfers of a beat
) (
    input  wire                            clock,
    input  wire                            reset,
    input  wire [LANE*WORDS-1:0]           tdata,
    input  wire [LANE*WORDS/8-1:0]         tkeep,
    input  wire                            tlast,
    input  wire                            tvalid,
    output wire                            tready,
    output wire [WORD*WORDS*TRANSFERS-1:0] in_data,
    output reg                             in_valid,
    input  wire                            in_ready,
    output reg                             narrow,
    output reg                             ragged
);
    localparam CHUNK = WORD * WORDS;

    wire [LANE*WORDS-1:0] kept;
    wire [CHUNK-1:0] chunk;
    genvar n;
    generate
        for (n = 0; n < LANE * WORDS / 8; n = n + 1) begin : octets
            assign kept[8*n +: 8] = tdata[8*n +: 8] & {8{tkeep[n]}};
        end
        for (n = 0; n < WORDS; n = n + 1) begin : lanes
            assign chunk[WORD*n +: WORD] = kept[LANE*n +: WORD];
        end
    endgenerate

    reg [CHUNK*TRANSFERS-1:0] beat;
    reg [6:0] filled;                // transfers in the beat
    wire last = filled == TRANSFERS[6:0] - 7'd1;
    wire take = tvalid && tready;
    assign tready = (!in_valid || in_ready) && !reset;
    assign in_data = beat;

    integer k;
    always @(posedge clock) begin
        if (in_valid && in_ready) in_valid <= 1'b0;
        narrow <= take && tkeep != {(LANE * WORDS / 8){1'b1}};
        ragged <= take && tlast && !last;
        if (take) begin
            for (k = 0; k < TRANSFERS; k = k + 1) begin
                if (filled == k[6:0]) beat[CHUNK*k +: CHUNK] <= chunk;
                else if (filled == 7'd0) beat[CHUNK*k +: CHUNK] <= {CHUNK{1'b0}};
            end
            filled <= last || tlast ? 7'd0 : filled + 7'd1;
            in_valid <= last || tlast;
        end
        if (reset) begin
            filled <= 7'd0;
            in_valid <= 1'b0;
            narrow <= 1'b0;
            ragged <= 1'b0;
        end
    end
endmodule
