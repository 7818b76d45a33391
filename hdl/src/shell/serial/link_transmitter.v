// link_transmitter: bytes of a reply to the line: escaped, summed up.
module link_transmitter (
    input  wire       clock,
    input  wire       reset,
    input  wire [7:0] octet,
    input  wire       send,          // send `octet`
    input  wire       flag,          // send a flag instead, and begin a new checksum
    output wire       sent,          // in this cycle it is taken
    output reg [15:0] crc,           // of the bytes since the last flag
    output wire [7:0] data,
    output wire       valid,
    input  wire       ready
);
//CONSTANTS
    reg escaped;
    wire special = (octet == FLAG || octet == ESCAPE) && !escaped && !flag;
    assign valid = send || flag;
    assign data = flag ? FLAG : special ? ESCAPE : escaped ? octet ^ ESCAPE_FLIP : octet;
    assign sent = valid && ready && !special;
//CHECKSUM

    always @(posedge clock) begin
        if (valid && ready) escaped <= special;
        if (sent) crc <= flag ? CRC_START : checksum(crc, octet);
        if (reset) begin
            escaped <= 1'b0;
            crc <= CRC_START;
        end
    end
endmodule
