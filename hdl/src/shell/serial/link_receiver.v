// link_receiver: bytes from the line to frames, unescaped and checked; keeps the payload of one request.
module link_receiver (
    input  wire       clock,
    input  wire       reset,
    input  wire [7:0] data,
    input  wire       valid,
    input  wire       error,         // what came was no byte
    input  wire       busy,          // a request is being carried out: skip to the next flag
    output reg        good,          // for one cycle: a frame ended, and it was whole
    output reg        corrupt,       // or it was damaged
    output reg        too_long,      // or too long
    output reg  [7:0] serial,
    output reg  [7:0] command,
    output reg  [8:0] length,        // bytes of the payload; valid with `good`
    input  wire [8:0] at,            // byte of the payload to read
    output reg  [7:0] octet          // the byte at `at` of the cycle before
);
//CONSTANTS
    localparam [2:0] HUNTING = 3'd0, INSIDE = 3'd1, ESCAPED = 3'd2, BROKEN = 3'd3, OVERLONG = 3'd4;

    reg [2:0] state;
    reg [8:0] bytes;                 // of the frame so far
    reg [15:0] crc;
    wire content = valid && !busy && data != FLAG
        && (state == INSIDE && data != ESCAPE || state == ESCAPED && data != ESCAPE);
    wire [7:0] value = state == ESCAPED ? data ^ ESCAPE_FLIP : data;
    wire store = content && bytes != REQUEST_LIMIT;
//CHECKSUM

    (* no_rw_check *)
    reg [7:0] payload [0:511];
    wire [8:0] place = bytes - 9'd2;
    always @(posedge clock) begin
        if (store) payload[place] <= value;
        octet <= payload[at];
    end

    always @(posedge clock) begin
        good <= 1'b0;
        corrupt <= 1'b0;
        too_long <= 1'b0;
        if (valid && data == FLAG) begin
            state <= INSIDE;
            bytes <= 9'd0;
            crc <= CRC_START;
            length <= bytes - REQUEST_FRAME;
            if (state != HUNTING && bytes != 9'd0 && !busy) begin
                if (state == OVERLONG) too_long <= 1'b1;
                else if (state == INSIDE && crc == 16'd0 && bytes >= REQUEST_FRAME) good <= 1'b1;
                else corrupt <= 1'b1;
            end
        end else if (content && !store) begin
            state <= OVERLONG;
        end else if (store) begin
            state <= INSIDE;
            bytes <= bytes + 9'd1;
            crc <= checksum(crc, value);
            if (bytes == 9'd0) serial <= value;
            if (bytes == 9'd1) command <= value;
        end else if (valid && state == INSIDE) begin
            state <= ESCAPED;
        end else if (valid && state == ESCAPED || error && (state == INSIDE || state == ESCAPED)) begin
            state <= BROKEN;
        end
        if (busy) state <= HUNTING;
        if (reset) begin
            state <= HUNTING;
            bytes <= 9'd0;
            good <= 1'b0;
            corrupt <= 1'b0;
            too_long <= 1'b0;
        end
    end
endmodule
