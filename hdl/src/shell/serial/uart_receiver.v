// uart_receiver: bytes from a serial line, 8 data bits, no parity, one stop bit.
//
//   line ───┐ start ├─ bit 0 ─┼─ bit 1 ─ ... ─┼─ bit 7 ─┼─ stop ──      sampled in the middle of each bit
module uart_receiver #(
    parameter DIVISOR = 16           // clock cycles of one bit, 4 to 65535
) (
    input  wire       clock,
    input  wire       reset,
    input  wire       line,
    output reg  [7:0] data,
    output reg        valid,         // for one cycle: `data` is a byte
    output reg        error          // for one cycle: there was no stop bit
);
    localparam [15:0] WHOLE = DIVISOR - 1;
    localparam [15:0] HALF = DIVISOR / 2 - 1;

    // The line has a clock of its own.
    reg [1:0] synchronous;
    wire level = synchronous[1];
    reg [15:0] wait_for;
    reg [3:0] bits_left;             // 10: start bit; 9..2: data; 1: stop bit; 0: idle
    reg broken;                      // no stop bit: wait until the line is idle
    wire sample = wait_for == 16'd0;

    always @(posedge clock) begin
        synchronous <= {synchronous[0], line};
        valid <= 1'b0;
        error <= 1'b0;
        wait_for <= sample ? WHOLE : wait_for - 16'd1;
        if (bits_left == 4'd0) begin
            wait_for <= HALF;
            if (level) broken <= 1'b0;
            else if (!broken) bits_left <= 4'd10;
        end else if (sample) begin
            bits_left <= bits_left - 4'd1;
            if (bits_left == 4'd10) begin
                if (level) bits_left <= 4'd0;         // a disturbance, no start bit
            end else if (bits_left == 4'd1) begin
                valid <= level;
                error <= !level;
                broken <= !level;
            end else begin
                data <= {level, data[7:1]};
            end
        end
        if (reset) begin
            synchronous <= 2'b11;
            bits_left <= 4'd0;
            broken <= 1'b1;
            valid <= 1'b0;
            error <= 1'b0;
        end
    end
endmodule
