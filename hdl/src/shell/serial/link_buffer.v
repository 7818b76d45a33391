// link_buffer: a queue whose reader may go back to the word after the last one it gave up.
//
//   oldest kept            next to read           next to write
//   committed ─────────────── read ───────────────── written          each one bit wider than an address
module link_buffer #(
    parameter WORD = 16,
    parameter ADDRESS = 8            // 2^ADDRESS words
) (
    input  wire             clock,
    input  wire             reset,
    input  wire             push,    // not while `full`
    input  wire [WORD-1:0]  push_data,
    output wire             full,
    output wire [ADDRESS:0] free,
    input  wire             pop,     // not while `ready` is 0; the word is in `pop_data` in the next cycle
    output reg  [WORD-1:0]  pop_data,
    output wire [ADDRESS:0] ready,
    input  wire             commit,  // give up what was read
    input  wire             rewind   // read again what was not given up
);
    reg [ADDRESS:0] committed, read, written;
    wire [ADDRESS:0] used = written - committed;
    assign free = {1'b1, {ADDRESS{1'b0}}} - used;
    assign full = used[ADDRESS];
    assign ready = written - read;

    // A word is read one cycle after it was written at the earliest.
    (* no_rw_check *)
    reg [WORD-1:0] words [0:(1 << ADDRESS) - 1];
    always @(posedge clock) begin
        if (push) words[written[ADDRESS-1:0]] <= push_data;
        pop_data <= words[read[ADDRESS-1:0]];
    end

    always @(posedge clock) begin
        if (push) written <= written + 1'b1;
        if (pop) read <= read + 1'b1;
        if (commit) committed <= read;
        if (rewind) read <= committed;
        if (reset) begin
            committed <= {(ADDRESS + 1){1'b0}};
            read <= {(ADDRESS + 1){1'b0}};
            written <= {(ADDRESS + 1){1'b0}};
        end
    end
endmodule
