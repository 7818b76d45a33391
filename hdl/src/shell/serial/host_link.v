// host_link: carries out the requests of a host, one after the other, while more of them arrive (docs/link.md).
//
//   line ──▶ link_receiver ──▶ request ─┬─▶ control port
//            (a ring of them)           ├─▶ link_input ──▶ input stream
//   line ◀── link_transmitter ◀── reply ┴── link_buffer ◀── output stream
module host_link #(
    parameter WORD = 16,             // bits of a word
    parameter LANES = 1,             // words of a beat
    parameter SIZE = 8               // 2^SIZE bytes of a payload, and words of a buffer
) (
    input  wire                  clock,
    input  wire                  reset,
    // bytes of the serial line
    input  wire [7:0]            received,
    input  wire                  received_valid,
    input  wire                  received_error,
    output wire [7:0]            transmit,
    output wire                  transmit_valid,
    input  wire                  transmit_ready,
    // the grid
    output reg                   grid_reset,
    output reg                   control_write,
    output reg  [19:0]           control_address,
    output reg  [31:0]           control_data,
    input  wire [31:0]           control_read,
    output wire [LANES*WORD-1:0] in_data,
    output wire                  in_valid,
    input  wire                  in_ready,
    input  wire [WORD-1:0]       out_data,
    input  wire                  out_valid,
    output wire                  out_ready,
    // for people
    output reg                   session,
    output wire                  active,
    output reg                   failed
);
//CONSTANTS
    localparam BYTES = WORD <= 8 ? 1 : WORD <= 16 ? 2 : 4;
    localparam LOG2_BYTES = WORD <= 8 ? 0 : WORD <= 16 ? 1 : 2;
    localparam [3:0] WORD_BYTES = BYTES[3:0];
    localparam [SIZE:0] WORDS_PER_FRAME = (1 << SIZE) / BYTES;
    // Bytes of a request without payload, and of one with a number; lengths are counted with these.
    localparam [SIZE:0] EMPTY = REQUEST_FRAME;
    localparam [SIZE:0] NUMBER = REQUEST_FRAME + 2;
    localparam [4:0] IDLE = 5'd0, HEADER = 5'd1, CHECK = 5'd2, JUDGE = 5'd3, DECIDE = 5'd4, SETTLE = 5'd5, FETCH = 5'd6, FETCHED = 5'd7,
        UNIT = 5'd8, GATHER = 5'd9, ITEM = 5'd10, COUNT = 5'd11, ADDRESSED = 5'd12, READ_REGISTER = 5'd13, PAUSE = 5'd14, REPLY = 5'd15,
        PAYLOAD = 5'd16, POPPED = 5'd17, ARRIVED = 5'd18, EMIT = 5'd19, CLOSE = 5'd20, FINISH = 5'd21;

    reg [4:0] state, after;          // `after`: when all bytes are fetched or sent
    reg [7:0] serial, command, status, last_serial, distance;
    reg [1:0] verdict;
    reg is_hello, is_write, is_read, is_input, is_output, whole, fits, repeated;
    reg crowded;                     // words were refused: so are those that follow, until the host has heard of it and asks for something
    reg [SIZE:0] bytes, at, frame_end;
    reg [47:0] value;                // bytes fetched enter at the top, bytes to send leave at the bottom
    reg [3:0] left;                  // bytes to fetch or to send
    reg [SIZE:0] count, given;
    reg [3:0] settling;
    // Of an item of a WRITE: what is done with it, which of its bytes are there; above them a 1, which is left when all have been looked at.
    reg [1:0] item;
    reg [4:0] mask;
    reg [19:0] address;

    wire [SIZE:0] first;
    wire [7:0] octet;
    assign active = state != IDLE;
    link_receiver #(.SIZE(SIZE)) receiver (
        .clock(clock), .reset(reset), .data(received), .valid(received_valid), .error(received_error),
        .first(first), .at(at), .octet(octet)
    );

    wire sent;
    wire [15:0] crc;
    link_transmitter transmitter (
        .clock(clock), .reset(reset), .octet(value[7:0]), .send(state == EMIT), .flag(state == REPLY || state == FINISH),
        .sent(sent), .crc(crc), .data(transmit), .valid(transmit_valid), .ready(transmit_ready)
    );

    wire [SIZE:0] free, ready;
    wire push = state == UNIT && is_input;
    // A host that aborts a run means the words on their way, too. The grid halts in the two cycles after the write.
    wire aborts = control_write && control_address == CONTROL && control_data[ABORT_BIT];
    reg aborted, flush;
    always @(posedge clock) begin
        aborted <= aborts;
        flush <= grid_reset || aborts || aborted;
    end
    link_input #(.WORD(WORD), .LANES(LANES), .ADDRESS(SIZE)) to_grid (
        .clock(clock), .reset(flush), .push(push), .push_data(value[48-8*BYTES +: WORD]), .free(free),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready)
    );

    wire output_full;
    wire [WORD-1:0] output_word;
    wire decided = state == DECIDE && status == OK;
    wire pop = state == PAYLOAD && status == OK && is_output && given != count;
    assign out_ready = !output_full && !flush;
    link_buffer #(.WORD(WORD), .ADDRESS(SIZE)) from_grid (
        .clock(clock), .reset(flush), .push(out_valid && out_ready), .push_data(out_data), .full(output_full),
        .free(), .pop(pop), .pop_data(output_word), .ready(ready),
        .commit(decided && !repeated), .rewind(decided && repeated)
    );

    // The top of `value` is what was fetched last. The grid may be far away: two registers on the way.
    wire [31:0] top = value[47:16];
    reg sent_write;
    reg [19:0] sent_address;
    reg [31:0] sent_data;
    always @(posedge clock) begin
        grid_reset <= reset || state == SETTLE;
        sent_write <= state == ITEM && item != ITEM_ADDRESS && !reset;
        sent_address <= is_write ? address : top[19:0];
        sent_data <= top;
        control_write <= sent_write && !reset;
        control_address <= sent_address;
        control_data <= sent_data;
    end
    wire [19:0] last_of_group = address | (item == ITEM_NEXT_ENTRY ? 20'd3 : item == ITEM_NEXT_INSTRUCTION ? 20'd31 : 20'd0);

    // Block memories are slow, and `value` has many sources.
    reg [WORD-1:0] popped;
    always @(posedge clock) popped <= output_word;

    // What a frame could take, of the cycle before: a word that has just come waits for the next request. Comparing takes a cycle of its own,
    // in which this stays.
    wire [15:0] wanted = value[47:32];
    reg [SIZE:0] most;
    reg fewer;
    always @(posedge clock) begin
        if (state != UNIT) most <= ready < WORDS_PER_FRAME ? ready : WORDS_PER_FRAME;
        fewer <= wanted < {{(15 - SIZE){1'b0}}, most};
    end

    // What changes nothing may leave numbers out; what changes something may not.
    wire known = is_hello || is_write || is_read || is_input || is_output;
    wire ordered = is_hello || distance[7:1] == 7'd0 || (is_read || is_output) && !distance[7];
    wire last_unit = at == frame_end;

    always @(posedge clock) begin
        case (state)
            IDLE: begin
                frame_end <= at;
                left <= 4'd4;
                after <= HEADER;
                if (at != first) state <= FETCH;
            end
            HEADER: begin
                {command, serial, verdict} <= top[31:14];
                bytes <= top[SIZE:0];
                frame_end <= frame_end + top[SIZE:0];
                state <= CHECK;
            end
            CHECK: begin
                is_hello <= command == HELLO;
                is_write <= command == WRITE;
                is_read <= command == READ;
                is_input <= command == INPUT;
                is_output <= command == OUTPUT;
                whole <= command == HELLO ? bytes == EMPTY
                    : command == READ ? bytes[1:0] == 2'd0
                    : command == INPUT ? (BYTES == 1 || BYTES == 2 && !bytes[0] || bytes[1:0] == 2'd0)
                    : command == OUTPUT ? bytes == NUMBER : 1'b1;
                fits <= (bytes - EMPTY) >> LOG2_BYTES <= free;
                distance <= serial - last_serial;
                state <= JUDGE;
            end
            JUDGE: begin
                repeated <= !is_hello && distance == 8'd0;
                status <= OK;
                if (verdict == CORRUPT[1:0]) status <= CORRUPT;
                else if (verdict == TOO_LONG[1:0]) status <= TOO_LONG;
                else if (!session && !is_hello) status <= NO_SESSION;
                else if (!known) status <= UNKNOWN_COMMAND;
                else if (!whole) status <= BAD_LENGTH;
                else if (!ordered) status <= OUT_OF_ORDER;
                else if (is_input && distance[0] && (crowded || !fits)) status <= FULL;
                state <= DECIDE;
            end
            DECIDE: begin
                failed <= status != OK;
                given <= {(SIZE + 1){1'b0}};
                left <= is_write ? 4'd1 : is_read ? 4'd4 : is_input ? WORD_BYTES : 4'd2;
                after <= UNIT;
                address <= 20'd0;
                settling <= 4'd15;
                if (status == FULL) crowded <= 1'b1;
                if (decided && !repeated) begin
                    if (!is_write && !is_input) crowded <= 1'b0;
                    last_serial <= serial;
                    count <= {(SIZE + 1){1'b0}};
                end
                state <= PAUSE;
                if (decided && is_hello) state <= SETTLE;
                else if (decided && !repeated && !is_read && !last_unit) state <= FETCH;
            end
            SETTLE: begin
                session <= 1'b1;
                settling <= settling - 4'd1;
                if (settling == 4'd0) state <= REPLY;
            end
            // Words that were pushed find their places before `free` is told.
            PAUSE: begin
                settling <= settling - 4'd1;
                if (settling == 4'd0) state <= REPLY;
            end
            FETCH: state <= FETCHED;
            FETCHED: begin
                value <= {octet, value[47:8]};
                at <= at + 1'b1;
                left <= left - 4'd1;
                state <= left == 4'd1 ? after : FETCH;
            end
            UNIT: begin
                state <= last_unit ? PAUSE : FETCH;
                left <= WORD_BYTES;
                item <= value[45:44];
                mask <= {1'b1, value[43:40]};
                settling <= is_read ? READ_CYCLES : 4'd15;
                if (is_write) state <= GATHER;
                if (is_read) state <= ADDRESSED;
                if (is_output) state <= COUNT;
            end
            GATHER: begin
                after <= mask[4:1] == 4'd0 ? UNIT : GATHER;
                left <= 4'd1;
                mask <= {1'b0, mask[4:1]};
                if (mask[4:1] == 4'd0) state <= ITEM;
                else if (!mask[0]) value <= {8'd0, value[47:8]};
                else state <= last_unit ? PAUSE : FETCH;
            end
            ITEM: begin
                address <= item == ITEM_ADDRESS ? top[19:0] : last_of_group + 20'd1;
                state <= last_unit ? PAUSE : FETCH;
            end
            COUNT: begin
                count <= fewer ? wanted[SIZE:0] : most;
                state <= PAUSE;
            end
            ADDRESSED: begin
                settling <= settling - 4'd1;
                if (settling == 4'd0) state <= READ_REGISTER;
            end
            READ_REGISTER: begin
                value <= {16'd0, control_read};
                left <= 4'd4;
                after <= PAYLOAD;
                state <= EMIT;
            end
            REPLY: begin
                value <= {{(15 - SIZE){1'b0}}, ready, {(15 - SIZE){1'b0}}, free, status, serial};
                left <= 4'd6;
                after <= PAYLOAD;
                if (sent) state <= EMIT;
            end
            PAYLOAD: begin
                state <= CLOSE;
                // What is not sent does no harm here.
                value <= {16'd0, SIZE[7:0], LANES[7:0], WORD[7:0], VERSION};
                left <= 4'd4;
                if (status == OUT_OF_ORDER) begin
                    value[7:0] <= last_serial;
                    left <= 4'd1;
                    after <= CLOSE;
                    state <= EMIT;
                end
                if (status == OK) begin
                    if (is_hello) begin
                        after <= CLOSE;
                        state <= EMIT;
                    end
                    if (is_read && !last_unit) begin
                        after <= UNIT;
                        state <= FETCH;
                    end
                    if (pop) begin
                        given <= given + 1'b1;
                        state <= POPPED;
                    end
                end
            end
            POPPED: state <= ARRIVED;
            ARRIVED: begin
                value <= 48'd0;
                value[WORD-1:0] <= popped;
                left <= WORD_BYTES;
                after <= PAYLOAD;
                state <= EMIT;
            end
            EMIT: if (sent) begin
                value <= {8'd0, value[47:8]};
                left <= left - 4'd1;
                if (left == 4'd1) state <= after;
            end
            CLOSE: begin
                value <= {32'd0, crc[7:0], crc[15:8]};
                left <= 4'd2;
                after <= FINISH;
                state <= EMIT;
            end
            default: begin                       // FINISH
                at <= frame_end;
                if (sent) state <= IDLE;
            end
        endcase
        if (reset) begin
            state <= IDLE;
            at <= {(SIZE + 1){1'b0}};
            session <= 1'b0;
            failed <= 1'b0;
        end
    end
endmodule
