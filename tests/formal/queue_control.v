// The output FIFO of the grid: credits, words on their way and words inside are together as many as it has places, so none is lost.
module proof (input clock, input reset, input emitted, input push, input out_ready);
    wire out_valid, credit, all_credits;
    wire [2:0] write_address, read_address;
    queue_control control (
        .clock(clock), .reset(reset), .emitted(emitted), .push(push), .out_ready(out_ready), .out_valid(out_valid),
        .credit(credit), .all_credits(all_credits), .write_address(write_address), .read_address(read_address)
    );
    localparam [3:0] PLACES = 4;

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    // What is pushed was emitted some cycles before; it is emitted only where there is a credit.
    reg [3:0] flying, inside;
    wire pop = out_valid && out_ready;
    always @(posedge clock) begin
        flying <= flying + emitted - push;
        inside <= inside + push - pop;
        if (reset) {flying, inside} <= 0;
    end
    wire [3:0] credits = PLACES - flying - inside;
    always @(*) begin
        assume (reset == !begun);
        if (!credit) assume (!emitted);
        if (flying == 0) assume (!push);
        if (reset) assume (!emitted && !push);
    end
    wire [2:0] distance = write_address - read_address;
    always @(*) if (begun) begin
        assert (flying + inside <= PLACES);
        assert (distance == inside);
        assert (out_valid == (inside != 0));
        assert (credit == (credits != 0));
        assert (all_credits == (credits == PLACES));
    end
endmodule
