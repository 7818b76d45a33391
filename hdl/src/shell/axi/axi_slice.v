// axi_slice: a register slice: nothing on one side depends on the other in the same cycle, and every cycle can carry a transfer.
//
//   in ──▶ [spare] ──▶ [out_data] ──▶ out          `spare` holds what came in the cycle in which `out_ready` fell
module axi_slice #(
    parameter WIDTH = 16
) (
    input  wire             clock,
    input  wire             clear,       // what is held is forgotten, what comes now is not taken
    input  wire [WIDTH-1:0] in_data,
    input  wire             in_valid,
    output reg              in_ready,    // `spare` is empty
    output reg  [WIDTH-1:0] out_data,
    output reg              out_valid,
    input  wire             out_ready
);
    reg [WIDTH-1:0] spare;
    wire moves = !out_valid || out_ready;

    always @(posedge clock) begin
        if (in_ready) spare <= in_data;
        if (moves) out_data <= in_ready ? in_data : spare;
        out_valid <= (moves ? in_valid || !in_ready : 1'b1) && !clear;
        in_ready <= moves || in_ready && !in_valid || clear;
    end
endmodule
