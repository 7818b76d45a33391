// Frames: from any state, a whole frame after a flag is found good and understood; one with a damaged byte never is.
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

    // FLAG first ESCAPE second^0x20 check check FLAG: the second byte is sent escaped, which is always allowed.
    reg [3:0] place = 0;
    always @(posedge clock) if (place != 15) place <= place + 1;
    reg [7:0] data;
    wire [7:0] flip0 = damaged == 0 ? damage : 8'd0, flip1 = damaged == 1 ? damage : 8'd0;
    wire [7:0] flip2 = damaged == 2 ? damage : 8'd0, flip3 = damaged == 3 ? damage : 8'd0;
    always @(*)
        case (place)
            2: data = 8'h7e;
            3: data = first ^ flip0;
            4: data = 8'h7d;
            5: data = second ^ 8'h20 ^ flip1;
            6: data = check[15:8] ^ flip2;
            7: data = check[7:0] ^ flip3;
            default: data = 8'h7e;
        endcase
    wire plain_first = data != 8'h7e && data != 8'h7d;
    always @(*) if (place == 3 || place == 5 || place == 6 || place == 7) assume (plain_first);

    wire good, corrupt, too_long;
    wire [7:0] serial, command, octet;
    wire [8:0] length;
    link_receiver receiver (
        .clock(clock), .reset(1'b0), .data(data), .valid(place >= 2 && place <= 8), .error(1'b0), .busy(1'b0),
        .good(good), .corrupt(corrupt), .too_long(too_long), .serial(serial), .command(command), .length(length),
        .at(9'd0), .octet(octet)
    );
    always @(*) if (place == 9) begin
        assert (good == (damage == 0));
        assert (corrupt == (damage != 0) && !too_long);
        if (good) assert (serial == first && command == second && length == 0);
    end
endmodule
