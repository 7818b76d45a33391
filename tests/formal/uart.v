// The serial line: what is sent is received, whatever it is; and after noise, which may begin a byte, idle time puts the receiver in step again.
module proof (input clock, input reset, input noise, input [7:0] data, input valid);
`ifndef RECEIVER_BITS
`define RECEIVER_BITS 4
`endif
    reg started = 0;
    always @(posedge clock) started <= 1;

`ifdef NOISE
    // Noise for a while, then the line is idle for the time of a byte, then a byte is sent.
    localparam [6:0] QUIET = 12, SEND = 58, END = 102;
    reg [6:0] time_now = 0;
    always @(posedge clock) if (!(&time_now)) time_now <= time_now + 1;
    (* anyconst *) reg [7:0] byte_sent;
    wire [9:0] levels = {1'b1, byte_sent, 1'b0};
    wire [6:0] since = time_now - SEND;
    wire line = time_now < QUIET ? noise : time_now < SEND || since >= 40 ? 1'b1 : levels[since[5:2]];
    wire [7:0] received;
    wire received_valid, received_error;
    uart_receiver #(.DIVISOR(`RECEIVER_BITS)) receiver (
        .clock(clock), .reset(!started), .line(line), .data(received), .valid(received_valid), .error(received_error)
    );
    reg seen = 0;
    always @(posedge clock) if (time_now >= SEND && received_valid) seen <= 1;
    always @(*) begin
        if (time_now >= SEND) assert (!received_error);
        if (time_now >= SEND && received_valid) assert (received == byte_sent && !seen);
        if (time_now == END) assert (seen);
    end
`else
    always @(*) assume (reset == !started);
    wire ready, line, received_valid, received_error;
    wire [7:0] received;
    uart_transmitter #(.DIVISOR(4)) transmitter (
        .clock(clock), .reset(reset), .data(data), .valid(valid), .ready(ready), .line(line)
    );
    uart_receiver #(.DIVISOR(`RECEIVER_BITS)) receiver (
        .clock(clock), .reset(reset), .line(line), .data(received), .valid(received_valid), .error(received_error)
    );
    reg on_its_way = 0;
    reg [7:0] byte_sent;
    reg [5:0] age;
    always @(posedge clock) begin
        age <= age + 1;
        if (received_valid) on_its_way <= 0;
        if (valid && ready && !reset) begin
            on_its_way <= 1;
            byte_sent <= data;
            age <= 0;
        end
    end
    // A receiver begins to listen once the line was idle; the next byte begins when the one before was received.
    always @(*) if (!started) assume (!valid);
    reg [2:0] settle = 0;
    always @(posedge clock) if (settle != 5) settle <= settle + 1;
    always @(*) if (settle != 5 || on_its_way) assume (!valid);
    always @(*) if (started) begin
        assert (!received_error);
        if (received_valid) assert (on_its_way && received == byte_sent);
        if (on_its_way) assert (age < 44);
    end
`endif
endmodule
