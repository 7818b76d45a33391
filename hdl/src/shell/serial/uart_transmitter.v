// uart_transmitter: bytes to a serial line, 8 data bits, no parity, one stop bit.
module uart_transmitter #(
    parameter DIVISOR = 16           // clock cycles of one bit, 4 to 65535
) (
    input  wire       clock,
    input  wire       reset,
    input  wire [7:0] data,
    input  wire       valid,
    output wire       ready,         // `data` is taken
    output wire       line
);
    localparam [15:0] WHOLE = DIVISOR - 1;

    reg [15:0] wait_for;
    reg [3:0] bits_left;
    reg [9:0] frame;                 // the bit on the line lowest
    assign ready = bits_left == 4'd0;
    assign line = frame[0];

    always @(posedge clock) begin
        if (ready) begin
            wait_for <= WHOLE;
            if (valid) begin
                frame <= {1'b1, data, 1'b0};
                bits_left <= 4'd10;
            end
        end else if (wait_for == 16'd0) begin
            wait_for <= WHOLE;
            frame <= {1'b1, frame[9:1]};
            bits_left <= bits_left - 4'd1;
        end else begin
            wait_for <= wait_for - 16'd1;
        end
        if (reset) begin
            bits_left <= 4'd0;
            frame <= 10'h3ff;
        end
    end
endmodule
