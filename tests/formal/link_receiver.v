// Frames: from any state, a whole frame after a flag is found good and kept; one with a damaged byte never is good.
module proof (input clock);
    (* anyconst *) reg [7:0] first, second;
    (* anyconst *) reg [7:0] damage;         // flipped in one of the bytes
    (* anyconst *) reg [1:0] damaged;

    function [15:0] sum(input [15:0] from, input [7:0] octet);
        integer k;
        begin
            sum = from ^ {octet, 8'd0};
            for (k = 0; k < 8; k = k + 1) sum = {sum[14:0], 1'b0} ^ (sum[15] ? 16'h1021 : 16'd0);
        end
    endfunction
    wire [15:0] check = sum(sum(16'hffff, first), second);

    // FLAG first ESCAPE second^0x20 check check FLAG: the second byte is sent escaped, which is always allowed. Flags have time to take effect,
    // which a serial line always gives them.
    reg [4:0] place = 0;
    always @(posedge clock) if (place != 31) place <= place + 1;
    reg [7:0] data;
    wire [7:0] flip0 = damaged == 0 ? damage : 8'd0, flip1 = damaged == 1 ? damage : 8'd0;
    wire [7:0] flip2 = damaged == 2 ? damage : 8'd0, flip3 = damaged == 3 ? damage : 8'd0;
    always @(*)
        case (place)
            9: data = first ^ flip0;
            10: data = 8'h7d;
            11: data = second ^ 8'h20 ^ flip1;
            12: data = check[15:8] ^ flip2;
            13: data = check[7:0] ^ flip3;
            default: data = 8'h7e;
        endcase
    wire plain_first = data != 8'h7e && data != 8'h7d;
    always @(*) if (place == 9 || place >= 11 && place <= 13) assume (plain_first);

    // A ring of 16 bytes, in which nothing waits; the frame is read from it.
    (* anyconst *) reg [1:0] offset;
    wire [3:0] whole;
    reg [3:0] base;
    always @(posedge clock) if (place == 9) base <= whole;
    wire [7:0] octet;
    link_receiver #(.SIZE(3)) receiver (
        .clock(clock), .reset(1'b0), .data(data), .valid(place == 4 || place >= 9 && place <= 14), .error(1'b0),
        .first(whole), .at(place == 18 ? base + offset : whole), .octet(octet)
    );
    always @(*) if (place == 18) assert (whole == base + 4'd4);
    always @(*) if (place == 19) begin
        if (offset == 0) assert (octet == 4);
        if (offset == 1) assert (octet == (damage == 0 ? 8'h00 : 8'h40));
        if (offset == 2 && damage == 0) assert (octet == first);
        if (offset == 3 && damage == 0) assert (octet == second);
    end
endmodule
