// A grid of nothing: the ports of a grid of 1 x 2 PEs with words of 12 bits. A beat (lanes 1 and 0) is kept until the
// difference lane 1 - lane 0 has left. Registers at addresses 0 to 3, which are read in three cycles.
module echo (
    input clock,
    input reset,
    input control_write,
    input [19:0] control_address,
    input [31:0] control_data,
    output reg [31:0] control_read,
    input [23:0] in_data,
    input in_valid,
    output in_ready,
    output [11:0] out_data,
    output out_valid,
    input out_ready
);
    reg [31:0] registers [0:3];
    reg [23:0] beat;
    reg full;
    reg [1:0] asked;
    reg [31:0] found;
    assign in_ready = !full;
    assign out_valid = full;
    assign out_data = beat[23:12] - beat[11:0];
    always @(posedge clock) begin
        asked <= control_address[1:0];
        found <= registers[asked];
        control_read <= found;
        if (control_write) registers[control_address[1:0]] <= control_data;
        if (reset) full <= 1'b0;
        else if (in_valid && in_ready) begin
            beat <= in_data;
            full <= 1'b1;
        end else if (out_valid && out_ready) full <= 1'b0;
    end
endmodule
