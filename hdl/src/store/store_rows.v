// store_rows: the rows of the sample store, a memory with one port.
//
//   row ──▶ bank of 8192 rows: slices of 2 bits, each a block memory ──▶ held ──┐
//       └─▶ bank of 2048 rows: slices of 8 bits ────────────────────────▶ held ──┴──▶ value
//
// Block memories take most of a cycle to give a word, so nothing but registers stands behind them: each bit set in ROWS is a bank of so many rows, and
// a bank is cut into slices that one block memory holds.
module store_rows #(
    parameter BITS = 16,             // bits of a row
    parameter ROWS = 256,
    parameter ADDRESS = 8            // bits of a row's number
) (
    input  wire               clock,
    input  wire               write,
    input  wire [ADDRESS-1:0] row,
    input  wire [BITS-1:0]    data,
    output reg  [BITS-1:0]    value  // the row of two cycles before, unless a row was written then
);
//CONSTANTS
    localparam [ADDRESS:0] ALL = ROWS[ADDRESS:0];

    wire [BITS*(ADDRESS+1)-1:0] values;      // of each bank
    genvar b, s;
    generate
        for (b = 0; b <= ADDRESS; b = b + 1) begin : banks
            if (ALL[b]) begin : bank
                localparam WIDTH = b >= LOG2_DEEPEST ? LEAST : 1 << (LOG2_BLOCK - b);
                localparam AT = b == 0 ? 1 : b;
                // Its rows begin where those of larger banks end.
                localparam [ADDRESS:0] FIRST = (ALL >> (b + 1)) << 1;
                wire here = ({1'b0, row} >> b) == FIRST;
                wire [AT-1:0] at = b == 0 ? {AT{1'b0}} : row[AT-1:0];
                wire [BITS-1:0] read;
                reg [1:0] chosen;
                reg [BITS-1:0] held;
                for (s = 0; s < BITS; s = s + WIDTH) begin : slices
                    localparam SLICE = s + WIDTH <= BITS ? WIDTH : BITS - s;
                    (* ram_style = "block" *)
                    reg [SLICE-1:0] rows [0:(1<<b)-1];
                    reg [SLICE-1:0] slice;
                    always @(posedge clock)
                        if (write && here) rows[at] <= data[s +: SLICE];
                        else slice <= rows[at];
                    assign read[s +: SLICE] = slice;
                end
                always @(posedge clock) begin
                    chosen <= {chosen[0], here};
                    held <= read;
                end
                assign values[BITS*b +: BITS] = chosen[1] ? held : {BITS{1'b0}};
            end else begin : none
                assign values[BITS*b +: BITS] = {BITS{1'b0}};
            end
        end
    endgenerate

    integer n;
    always @(*) begin
        value = {BITS{1'b0}};
        for (n = 0; n <= ADDRESS; n = n + 1) value = value | values[BITS*n +: BITS];
    end
endmodule
