// link_input: single words to the beats of the input stream, lane 0 first.
module link_input #(
    parameter WORD = 16,
    parameter LANES = 1,
    parameter ADDRESS = 8
) (
    input  wire                  clock,
    input  wire                  reset,
    input  wire                  push,     // not while `free` is 0
    input  wire [WORD-1:0]       push_data,
    output wire [ADDRESS:0]      free,
    output wire [LANES*WORD-1:0] in_data,
    output reg                   in_valid,
    input  wire                  in_ready
);
    wire [ADDRESS:0] ready;
    wire [WORD-1:0] fetched_word;
    reg [WORD-1:0] word;             // block memories are slow
    reg popped, fetched;             // `fetched_word` is there; `word` is to be put into the beat
    reg [6:0] lanes;                 // words in the beat
    wire [6:0] sum = lanes + {6'd0, fetched};
    wire pop = !in_valid && !popped && sum != LANES[6:0] && ready != {(ADDRESS + 1){1'b0}};

    link_buffer #(.WORD(WORD), .ADDRESS(ADDRESS)) buffer (
        .clock(clock), .reset(reset), .push(push), .push_data(push_data), .full(), .free(free),
        .pop(pop), .pop_data(fetched_word), .ready(ready), .commit(1'b1), .rewind(1'b0)
    );

    reg [LANES*WORD-1:0] beat;
    assign in_data = beat;

    integer k;
    always @(posedge clock) begin
        popped <= pop;
        word <= fetched_word;
        fetched <= popped;
        if (fetched) begin
            for (k = 0; k < LANES; k = k + 1)
                if (lanes == k[6:0]) beat[WORD*k +: WORD] <= word;
            lanes <= sum;
            in_valid <= sum == LANES[6:0];
        end
        if (in_valid && in_ready) begin
            in_valid <= 1'b0;
            lanes <= 7'd0;
        end
        if (reset) begin
            popped <= 1'b0;
            fetched <= 1'b0;
            lanes <= 7'd0;
            in_valid <= 1'b0;
        end
    end
endmodule
