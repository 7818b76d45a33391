// The queue of the link: it never overflows, says truly what it holds, and gives every word back unchanged, also after going back.
module proof (
    input clock, input reset, input push, input push_data, input pop, input commit, input rewind
);
    wire full;
    wire [1:0] free, ready;
    wire pop_data;
    link_buffer #(.WORD(1), .ADDRESS(1)) queue (
        .clock(clock), .reset(reset), .push(push), .push_data(push_data), .full(full), .free(free),
        .pop(pop), .pop_data(pop_data), .ready(ready), .commit(commit), .rewind(rewind)
    );

    // What the surroundings promise.
    always @(*) begin
        if (full) assume (!push);
        if (ready == 0) assume (!pop);
        assume (!(rewind && (commit || pop)));
    end
    reg started = 0;
    always @(posedge clock) started <= 1;
    always @(*) if (!started) assume (reset);

    // Words are numbered; one of them, any one, is watched.
    reg [3:0] pushed, popped, kept;
    (* anyconst *) reg [3:0] watched;
    reg word;
    reg due;
    always @(posedge clock) begin
        if (push) pushed <= pushed + 1;
        if (pop) popped <= popped + 1;
        if (commit) kept <= popped;
        if (rewind) popped <= kept;
        if (push && pushed == watched) word <= push_data;
        due <= pop && popped == watched;
        if (reset) begin
            {pushed, popped, kept} <= 0;
            due <= 0;
        end
    end
    wire [3:0] used = pushed - kept, waiting = pushed - popped;

    always @(*) if (started) begin
        assert (free <= 2 && ready <= 2 - free);
        assert (full == (free == 0));
`ifdef CONTENTS
        assert (free == 2 - used && ready == waiting);
        if (due) assert (pop_data == word);
`endif
    end
endmodule
