// store_rows: the rows of the sample store, a memory with one port.
module store_rows #(
    parameter BITS = 16,             // bits of a row
    parameter ROWS = 256,
    parameter ADDRESS = 8            // bits of a row's number
) (
    input  wire               clock,
    input  wire               write,
    input  wire [ADDRESS-1:0] row,
    input  wire [BITS-1:0]    data,
    output reg  [BITS-1:0]    value  // the row of the cycle before, unless that was written
);
    (* ram_style = "block" *)
    reg [BITS-1:0] rows [0:ROWS-1];
    always @(posedge clock)
        if (write) rows[row] <= data;
        else value <= rows[row];
endmodule
