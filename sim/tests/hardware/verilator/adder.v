// A registered adder of wide words, the sum before its register, and a counter.
module adder (
    input clock,
    input reset,
    input [99:0] a,
    input [6:0] b,
    output [99:0] now,
    output reg [99:0] sum,
    output reg [39:0] count,
    output reg [10:0] b_before
);
    assign now = a + {93'd0, b};
    always @(posedge clock) begin
        sum <= now;
        b_before <= {4'd0, b};
        count <= reset ? 40'd0 : count + 40'd1;
    end
endmodule
