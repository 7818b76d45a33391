// A counter at the lights, stepped by the serial line: small, but all of it is used.
module board_top (
    input  wire clock_pin,
    input  wire button,
    input  wire uart_rx,
    output reg  uart_tx,
    output wire [1:0] led
);
    reg [15:0] count;
    reg [15:0] product;
    always @(posedge clock_pin) begin
        count <= button ? 16'd0 : count + {15'd0, uart_rx};
        product <= count[7:0] * count[15:8];
        uart_tx <= ^product;
    end
    assign led = count[15:14];
endmodule
