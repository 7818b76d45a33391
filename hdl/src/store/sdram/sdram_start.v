// sdram_start: writes LiteDRAM's control port in the order of its own start sequence, which its generator says.
module sdram_start (
    input  wire        clock,
    input  wire        reset,
    output reg  [29:0] address,
    output reg  [31:0] data,
    output reg         request,
    input  wire        done,
    output reg         started
);
    reg [7:0] step;
    reg [31:0] pause;
    reg [61:0] write;                // address, data
    reg [31:0] waits;                // cycles after it
    reg last;
    always @(*) begin
        last = 1'b0;
        case (step)
//WRITES
            default: {last, write, waits} = {1'b1, 62'd0, 32'd0};
        endcase
    end
    always @(posedge clock) begin
        if (request) begin
            if (done) begin
                request <= 1'b0;
                pause <= waits;
                step <= step + 8'd1;
            end
        end else if (pause != 32'd0) pause <= pause - 32'd1;
        else if (last) started <= 1'b1;
        else begin
            {address, data} <= write;
            request <= 1'b1;
        end
        if (reset) begin
            step <= 8'd0;
            pause <= 32'd0;
            request <= 1'b0;
            started <= 1'b0;
        end
    end
endmodule
