// host_link: carries out the requests of a host, one after the other (docs/link.md).
//
//   line ──▶ link_receiver ──▶ request ─┬─▶ control port
//                                       ├─▶ link_input ──▶ input stream
//   line ◀── link_transmitter ◀── reply ┴── link_buffer ◀── output stream
module host_link #(
    parameter WORD = 16,             // bits of a word
    parameter LANES = 1              // words of a beat
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
    localparam [3:0] WORD_BYTES = BYTES[3:0];
    localparam [15:0] WORDS_PER_FRAME = PAYLOAD_LIMIT / BYTES;
    localparam [3:0] IDLE = 4'd0, DECIDE = 4'd1, SETTLE = 4'd2, FETCH = 4'd3, FETCHED = 4'd4, UNIT = 4'd5, READ_REGISTER = 4'd6,
        REPLY = 4'd7, PAYLOAD = 4'd8, POPPED = 4'd9, EMIT = 4'd10, CLOSE = 4'd11, FINISH = 4'd12, PAUSE = 4'd13, ADDRESSED = 4'd14,
        ARRIVED = 4'd15;

    reg [3:0] state, after_emit;
    reg [7:0] status, last_serial;
    reg [63:0] value;                // bytes fetched enter at the top, bytes to send leave at the bottom
    reg [3:0] left;                  // bytes to fetch or to send
    reg [8:0] at;
    reg [15:0] taken, count, given;
    reg [3:0] settling;

    wire good, corrupt, too_long;
    wire [7:0] serial, command, octet;
    wire [8:0] length;
    assign active = state != IDLE;
    link_receiver receiver (
        .clock(clock), .reset(reset), .data(received), .valid(received_valid), .error(received_error), .busy(active),
        .good(good), .corrupt(corrupt), .too_long(too_long), .serial(serial), .command(command), .length(length),
        .at(at), .octet(octet)
    );

    wire sent;
    wire [15:0] crc;
    link_transmitter transmitter (
        .clock(clock), .reset(reset), .octet(value[7:0]), .send(state == EMIT), .flag(state == REPLY || state == FINISH),
        .sent(sent), .crc(crc), .data(transmit), .valid(transmit_valid), .ready(transmit_ready)
    );


    wire input_full;
    wire [BUFFER_LOG2:0] free, ready;
    wire push = state == UNIT && command == INPUT && !input_full;
    // A host that aborts a run means the words on their way, too. The grid halts in the two cycles after the write.
    wire aborts = control_write && control_address == CONTROL && control_data[ABORT_BIT];
    reg aborted, flush;
    always @(posedge clock) begin
        aborted <= aborts;
        flush <= grid_reset || aborts || aborted;
    end
    link_input #(.WORD(WORD), .LANES(LANES), .ADDRESS(BUFFER_LOG2)) to_grid (
        .clock(clock), .reset(flush), .push(push), .push_data(value[64-8*BYTES +: WORD]), .full(input_full), .free(free),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready)
    );

    wire output_full;
    wire [WORD-1:0] output_word;
    wire decided = state == DECIDE && status == OK;
    wire repeated = command != HELLO && serial == last_serial;
    wire pop = state == PAYLOAD && status == OK && command == OUTPUT && given != count;
    assign out_ready = !output_full && !flush;
    link_buffer #(.WORD(WORD), .ADDRESS(BUFFER_LOG2)) from_grid (
        .clock(clock), .reset(flush), .push(out_valid && out_ready), .push_data(out_data), .full(output_full),
        .free(), .pop(pop), .pop_data(output_word), .ready(ready),
        .commit(decided && !repeated), .rewind(decided && repeated)
    );

    // In UNIT the top of `value` is what was fetched last: {data, address}, or an address. The grid may be far away: two registers on the way.
    reg sent_write;
    reg [19:0] sent_address;
    reg [31:0] sent_data;
    always @(posedge clock) begin
        grid_reset <= reset || state == SETTLE;
        sent_write <= state == UNIT && command == WRITE && !reset;
        sent_address <= command == WRITE ? value[19:0] : value[51:32];
        sent_data <= value[63:32];
        control_write <= sent_write && !reset;
        control_address <= sent_address;
        control_data <= sent_data;
    end

    // Block memories are slow, and `value` has many sources.
    reg [WORD-1:0] popped;
    always @(posedge clock) popped <= output_word;

    wire [15:0] wanted = value[63:48];
    wire [15:0] waiting = {{(15 - BUFFER_LOG2){1'b0}}, ready};
    // What a frame could take, of the cycle before: a word that has just come waits for the next request. Counting takes a cycle of its own
    // after UNIT, in which this stays.
    reg [15:0] most;
    reg counting, fewer;
    always @(posedge clock) begin
        if (state != UNIT) most <= waiting < WORDS_PER_FRAME ? waiting : WORDS_PER_FRAME;
        counting <= state == UNIT && command == OUTPUT;
        fewer <= wanted < most;
    end
    wire known = command == HELLO || command == WRITE || command == READ || command == INPUT || command == OUTPUT;
    wire whole = command == HELLO ? length == 9'd0
        : command == WRITE ? length[2:0] == 3'd0
        : command == READ ? length[1:0] == 2'd0
        : command == INPUT ? (BYTES == 1 || BYTES == 2 && !length[0] || length[1:0] == 2'd0)
        : length == 9'd2;
    wire last_unit = at == length;

    always @(posedge clock) begin
        case (state)
            IDLE: if (good || corrupt || too_long) begin
                status <= corrupt ? CORRUPT : too_long ? TOO_LONG : !session && command != HELLO ? NO_SESSION
                    : !known ? UNKNOWN_COMMAND : !whole ? BAD_LENGTH : OK;
                state <= DECIDE;
            end
            DECIDE: begin
                failed <= status != OK;
                at <= 9'd0;
                given <= 16'd0;
                left <= command == WRITE ? 4'd8 : command == READ ? 4'd4 : command == INPUT ? WORD_BYTES : 4'd2;
                settling <= 4'd15;
                if (decided && !repeated) begin
                    last_serial <= serial;
                    taken <= 16'd0;
                    count <= 16'd0;
                end
                state <= PAUSE;
                if (decided && command == HELLO) state <= SETTLE;
                else if (decided && !repeated && command != READ && length != 9'd0) state <= FETCH;
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
                value <= {octet, value[63:8]};
                at <= at + 9'd1;
                left <= left - 4'd1;
                state <= left == 4'd1 ? UNIT : FETCH;
            end
            UNIT: begin
                state <= last_unit ? PAUSE : FETCH;
                if (command == WRITE) left <= 4'd8;
                if (command == READ) begin
                    settling <= READ_CYCLES;
                    state <= ADDRESSED;
                end
                if (command == INPUT) begin
                    left <= WORD_BYTES;
                    if (input_full) state <= PAUSE;
                    else taken <= taken + 16'd1;
                end
            end
            ADDRESSED: begin
                settling <= settling - 4'd1;
                if (settling == 4'd0) state <= READ_REGISTER;
            end
            READ_REGISTER: begin
                value <= {32'd0, control_read};
                left <= 4'd4;
                after_emit <= PAYLOAD;
                state <= EMIT;
            end
            REPLY: begin
                value <= {16'd0, waiting, {(15 - BUFFER_LOG2){1'b0}}, free, status, serial};
                left <= 4'd6;
                after_emit <= PAYLOAD;
                if (sent) state <= EMIT;
            end
            PAYLOAD: begin
                state <= CLOSE;
                // What is not sent does no harm here.
                value <= command == HELLO ? {32'd0, BUFFER_LOG2[7:0], LANES[7:0], WORD[7:0], VERSION} : {48'd0, taken};
                if (status == OK) begin
                    if (command == HELLO) begin
                        left <= 4'd4;
                        after_emit <= CLOSE;
                        state <= EMIT;
                    end
                    if (command == INPUT) begin
                        left <= 4'd2;
                        after_emit <= CLOSE;
                        state <= EMIT;
                    end
                    if (command == READ && !last_unit) begin
                        left <= 4'd4;
                        state <= FETCH;
                    end
                    if (pop) begin
                        given <= given + 16'd1;
                        state <= POPPED;
                    end
                end
            end
            POPPED: state <= ARRIVED;
            ARRIVED: begin
                value <= 64'd0;
                value[WORD-1:0] <= popped;
                left <= WORD_BYTES;
                after_emit <= PAYLOAD;
                state <= EMIT;
            end
            EMIT: if (sent) begin
                value <= {8'd0, value[63:8]};
                left <= left - 4'd1;
                if (left == 4'd1) state <= after_emit;
            end
            CLOSE: begin
                value <= {48'd0, crc[7:0], crc[15:8]};
                left <= 4'd2;
                after_emit <= FINISH;
                state <= EMIT;
            end
            default: if (sent) state <= IDLE;    // FINISH
        endcase
        if (counting) count <= fewer ? wanted : most;
        if (reset) begin
            state <= IDLE;
            session <= 1'b0;
            failed <= 1'b0;
        end
    end
endmodule
