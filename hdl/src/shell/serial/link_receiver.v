// link_receiver: bytes from the line to requests, unescaped and checked; a ring of bytes keeps them until they are carried out.
//
//   at                        first                place
//   ┌──── a whole request ────┬──── the next one ──▶      {length, length + verdict, sequence, command, payload}
module link_receiver #(
    parameter SIZE = 8               // 2^SIZE bytes of a payload, twice as many in the ring
) (
    input  wire          clock,
    input  wire          reset,
    input  wire [7:0]    data,
    input  wire          valid,
    input  wire          error,      // what came was no byte
    output reg  [SIZE:0] first,      // where the requests end that are whole
    input  wire [SIZE:0] at,         // byte to read; those before it are not needed any more
    output reg  [7:0]    octet       // the byte at `at` of the cycle before
);
//CONSTANTS
    localparam [2:0] HUNTING = 3'd0, INSIDE = 3'd1, ESCAPED = 3'd2, BROKEN = 3'd3, OVERLONG = 3'd4, LENGTH = 3'd5, VERDICT = 3'd6,
        AFRESH = 3'd7;
    localparam [SIZE:0] LIMIT = (1 << SIZE) + REQUEST_FRAME;
    localparam [SIZE:0] ALMOST = (2 << SIZE) - 4;      // a frame takes four bytes at least
    localparam [SIZE:0] EMPTY = REQUEST_FRAME;
    localparam [SIZE:0] PREFIX = 2;      // bytes before the frame's own: length and verdict

    reg [2:0] state;
    reg [SIZE:0] place;              // of the next byte
    reg [SIZE:0] bytes;              // of the frame so far, checksum included; the length of one that is damaged is that of an empty one
    reg [1:0] verdict;
    reg [15:0] crc;
    reg full;                        // the ring is; bytes come far apart
    wire [SIZE:0] used = place - at;
    wire content = valid && data != FLAG && (state == INSIDE && data != ESCAPE || state == ESCAPED && data != ESCAPE);
    wire [7:0] value = state == ESCAPED ? data ^ ESCAPE_FLIP : data;
    wire store = content && bytes != LIMIT && !full;
    wire [13:0] length = {{(13 - SIZE){1'b0}}, bytes};
//CHECKSUM

    (* no_rw_check *)
    reg [7:0] ring [0:(2 << SIZE) - 1];
    always @(posedge clock) begin
        full <= used >= ALMOST;
        if (store || state == LENGTH || state == VERDICT)
            ring[place] <= state == LENGTH ? length[7:0] : state == VERDICT ? {verdict, length[13:8]} : value;
        octet <= ring[at];
    end

    always @(posedge clock) begin
        if (store || state == LENGTH) place <= place + 1'b1;
        if (state == AFRESH) place <= first + PREFIX;
        if (state == LENGTH) begin
            state <= VERDICT;
        end else if (state == VERDICT) begin
            first <= first + bytes;
            state <= AFRESH;
        end else if (state == AFRESH) begin
            bytes <= {(SIZE + 1){1'b0}};
            crc <= CRC_START;
            state <= INSIDE;
        end else if (valid && data == FLAG) begin
            state <= AFRESH;
            if (state != HUNTING && bytes != {(SIZE + 1){1'b0}}) begin
                place <= first;
                state <= LENGTH;
                verdict <= OK[1:0];
                if (state != INSIDE || crc != 16'd0 || bytes < EMPTY) begin
                    verdict <= state == OVERLONG ? TOO_LONG[1:0] : CORRUPT[1:0];
                    bytes <= EMPTY;
                end
            end
        end else if (content && full) begin
            state <= HUNTING;        // the host sends it again
        end else if (content && !store) begin
            state <= OVERLONG;
        end else if (store) begin
            state <= INSIDE;
            bytes <= bytes + 1'b1;
            crc <= checksum(crc, value);
        end else if (valid && state == INSIDE) begin
            state <= ESCAPED;
        end else if (valid && state == ESCAPED || error && (state == INSIDE || state == ESCAPED)) begin
            state <= BROKEN;
        end
        if (reset) begin
            state <= HUNTING;
            bytes <= {(SIZE + 1){1'b0}};
            first <= {(SIZE + 1){1'b0}};
        end
    end
endmodule
