// sample_store: keeps the training set before the grid and plays it, epoch after epoch (docs/store.md).
//
//   host's beats ──┬──────────────── PASS ──────────────────────┬──▶ grid's beats
//                  └─ FILL, STREAM ─▶ rows ─────▶ store_queue ───┘
//                                       ▲ row        PLAY, STREAM
//   control port ──▶ registers ─▶ store_player
module sample_store #(
    parameter WORD = 16,             // bits of a word
    parameter LANES = 1,             // words of a beat, and of a row
    parameter ROWS = 256,
    parameter ADDRESS = 8            // bits of a row's number
) (
//PORTS
    input  wire                  clock,
    input  wire                  reset,
    input  wire                  control_write,
    input  wire [19:0]           control_address,
    input  wire [31:0]           control_data,
    output wire [31:0]           control_read,
    input  wire [LANES*WORD-1:0] in_data,
    input  wire                  in_valid,
    output wire                  in_ready,
    // the grid
    input  wire [31:0]           grid_read,
    output wire [LANES*WORD-1:0] grid_data,
    output wire                  grid_valid,
    input  wire                  grid_ready
);
//CONSTANTS
    wire here = control_address[19:16] == REGION;
    // What is written arrives a cycle later: behind the port's decoder no way across the device is left of a cycle.
    reg write;
    reg [15:0] written;
    reg [31:0] data_written;
    always @(posedge clock) begin
        write <= control_write && here;
        written <= control_address[15:0];
        data_written <= control_data;
    end
    // A host that aborts a run means the beats on their way, too.
    wire halt = reset || control_write && control_address == CONTROL && control_data[ABORT_BIT];

    // Of the memory: whether a row may be written, which beat goes to the queue, whether contents are lost, how it is.
    wire may_write, may_go, go, queue_drained, lost;
    wire [6:0] go_lane;
    wire [3:0] go_shape;
    wire [1:0] status;
    wire [31:0] wrong;

    reg [1:0] mode;
    reg [23:0] records, epochs;
    reg [31:0] tag;
    initial tag = 32'd0;
    wire begins = write && written == MODE[15:0];
    wire stream_written = data_written[2:0] == STREAM;
    wire ended;
//ORDER
    always @(posedge clock) begin
        if (ended) mode <= PASS;
        if (begins) begin
            mode <= mode_written;
            if (mode_written == FILL || stream_written) tag <= 32'd0;
        end
        if (write && written == RECORDS[15:0]) records <= data_written[23:0];
        if (write && written == EPOCHS[15:0]) epochs <= data_written[23:0];
        if (write && written == TAG[15:0]) tag <= data_written;
        if (halt) mode <= PASS;
        if (lost) tag <= 32'd0;
    end

    wire [ADDRESS:0] row;            // one bit more than a row's number: a full store
    wire full = row == FULL_ROW;
    wire may_fill = mode == FILL && !full && may_write;
    wire fill = may_fill && in_valid;

    // The rows of a STREAM are a ring. The memory has one port: in one cycle a row may be filled, in the next one one may be read.
    reg streams, turn;
    reg [ADDRESS-1:0] row_behind;    // is filled next
    reg [ADDRESS:0] rows_waiting;    // to be played to their end
    reg some_row, no_room;
    wire may_stream = mode == PLAY && streams && turn && !no_room && may_write;
    wire stream = may_stream && in_valid;
    wire [ADDRESS-1:0] row_used = streams && turn ? row_behind : row[ADDRESS-1:0];
    wire may_issue = !streams || !turn && some_row;
    wire played;
    always @(posedge clock) begin
        turn <= !turn;
        some_row <= rows_waiting != {(ADDRESS + 1){1'b0}};
        no_room <= rows_waiting == FULL_ROW;
        if (stream) row_behind <= {1'b0, row_behind} == FULL_ROW - 1'b1 ? {ADDRESS{1'b0}} : row_behind + 1'b1;
        rows_waiting <= rows_waiting + {{ADDRESS{1'b0}}, stream} - {{ADDRESS{1'b0}}, played && streams};
        if (begins) begin
            streams <= stream_written;
            turn <= 1'b0;
            row_behind <= {ADDRESS{1'b0}};
            rows_waiting <= {(ADDRESS + 1){1'b0}};
            some_row <= 1'b0;
            no_room <= 1'b0;
        end
        if (halt) streams <= 1'b0;
    end

    wire issue, may, drained, valid;
    wire [6:0] lane;
    wire [3:0] shape;
    wire [23:0] records_left, epochs_left;
    store_player #(.LANES(LANES), .ROWS(ROWS), .ADDRESS(ADDRESS + 1)) player (
        .clock(clock), .restart(begins), .filled(fill), .playing(mode == PLAY), .may(may && may_issue), .circular(streams), .played(played),
        .stop(write && written == EPOCHS_LEFT[15:0]), .records(records), .epochs(epochs),
//PLACES
        .pattern_write(write && written[8]), .pattern_entry(written[5:0]), .pattern_data(data_written[20:0]),
        .issue(issue), .ended(ended), .row(row), .lane(lane), .shape(shape),
        .records_left(records_left), .epochs_left(epochs_left)
    );

    wire [LANES*WORD-1:0] row_value, data;
//MEMORY

    wire passing = mode == PASS && drained;
    store_queue #(.WORD(WORD), .LANES(LANES)) queue (
        .clock(clock), .flush(halt), .issue(go), .lane(go_lane), .shape(go_shape), .value(row_value), .may(may_go), .drained(queue_drained),
        .data(data), .valid(valid), .taken(valid && grid_ready)
    );
    assign in_ready = passing ? grid_ready : may_fill || may_stream;
    assign grid_valid = passing ? in_valid : valid;
    assign grid_data = passing ? in_data : data;

    wire [1:0] mode_now = drained ? mode : PLAY;
    // An answer comes as late as one of the grid, and is that of the cycle after the address, too.
    reg [19:0] held;
    reg [READ_CYCLES-1:0] asked;
    reg [31:0] value;
    reg [32*READ_CYCLES-33:0] answers;
    always @(*)
        case (held)
            SIZE: value = ROWS;
            MODE: value = {30'd0, mode_now};
            RECORDS: value = {8'd0, records};
            EPOCHS: value = {8'd0, epochs};
            RECORDS_LEFT: value = {8'd0, records_left};
            EPOCHS_LEFT: value = {8'd0, epochs_left};
            TAG: value = tag;
            ROW: value = {{(31 - ADDRESS){1'b0}}, row};
            STATUS: value = {30'd0, status};
            WRONG: value = wrong;
            STREAMS: value = 32'd1;
//ANSWERS
            default: value = 32'd0;
        endcase
    always @(posedge clock) begin
        held <= control_address;
        asked <= {asked[READ_CYCLES-2:0], here};
        answers <= {answers[32*READ_CYCLES-65:0], value};
    end
    assign control_read = asked[READ_CYCLES-1] ? answers[32*READ_CYCLES-33 -: 32] : grid_read;
endmodule
