// axi_control: the AXI4-Lite port: registers of the shell, and the grid's control port behind them (docs/registers.md).
//
//   one write or read at a time; between them it looks at the grid's status
//
//   idle ──start──▶ running ──the grid is idle, all output is taken──▶ idle
//                      └──abort, watchdog──▶ stopping ──16 cycles──▶ idle          accesses wait meanwhile
module axi_control (
    input  wire        clock,
    input  wire        reset,
    input  wire [22:0] awaddr,
    input  wire        awvalid,
    output wire        awready,
    input  wire [31:0] wdata,
    input  wire [3:0]  wstrb,
    input  wire        wvalid,
    output wire        wready,
    output reg  [1:0]  bresp,
    output reg         bvalid,
    input  wire        bready,
    input  wire [22:0] araddr,
    input  wire        arvalid,
    output wire        arready,
    output reg  [31:0] rdata,
    output reg  [1:0]  rresp,
    output reg         rvalid,
    input  wire        rready,
    // the grid
    output reg         grid_reset,
    output wire        control_write,
    output wire [19:0] control_address,
    output wire [31:0] control_data,
    input  wire [31:0] control_read,
    // the streams
    input  wire        narrow,       // an input transfer had unused bytes
    input  wire        ragged,       // an input packet ended inside a beat
    input  wire        stray,        // input was thrown away: there was no run
    input  wire        starves,      // the grid waits for input
    input  wire        blocked,      // the grid waits until its output is taken
    input  wire        moved,        // the grid takes input or gives output
    input  wire        output_waits, // words wait at the output stream
    output reg  [31:0] output_words,
    output wire        started,      // in this cycle a run is asked for
    output wire        active,       // a run goes on, and is not being aborted
    output wire        stopping,     // it is being aborted, or the shell is reset
    output wire        run_done
);
//AXI
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;
    localparam [3:0] STOP_CYCLES = 4'd15;

    // Requests wait here.
    reg aw_held, w_held, ar_held;
    reg [READ_CYCLES-1:0] fetch;     // one bit: how far a read is on its way
    wire fetching = fetch != {READ_CYCLES{1'b0}};
    wire fetched = fetch[READ_CYCLES-1];
    reg [22:0] aw, ar;
    reg [31:0] w;
    reg [3:0] strobe;
    reg [3:0] resetting;             // cycles left of a reset of the shell
    reg stop_asked;
    reg [3:0] stop_left;             // cycles left of an abort
    wire open = resetting == 4'd0 && !grid_reset && !stop_asked && stop_left == 4'd0;
    assign awready = !aw_held && !reset;
    assign wready = !w_held && !reset;
    assign arready = !ar_held && !reset;
    wire do_write = aw_held && w_held && !bvalid && !fetching && open;
    wire do_read = ar_held && !rvalid && !fetching && !do_write && open;

    // What an address means.
    wire [22:0] address = do_write ? aw : ar;
    wire aligned = address[1:0] == 2'b00;
    wire window = address[22];
    wire [19:0] place = address[21:2];
    wire shell = aligned && !window && place < REGISTER_COUNT;
    wire [4:0] number = place[4:0];
    wire [5:0] grid_register = alias_of(number);
    wire aliased = shell && grid_register[5];
    wire in_registers = aligned && window && place[19:16] == 4'd0;
    wire in_memories = aligned && window && is_memory(place[19:16]);
    wire in_control = in_registers && place == CONTROL;
    wire readable = shell || in_registers && known(place[15:0]);
    wire writable = shell && shell_writable(number) || in_registers && control_writable(place[15:0]) || in_memories;

    reg running, done, saturated, loaded, narrow_seen, ragged_seen, stray_seen, gie;
    reg [2:0] ier, isr;
    reg [3:0] run_flags;             // bits 4 to 1 of a start; bit 2 would be an abort and is never set
    reg [2:0] grace;
    reg [READ_CYCLES-1:0] polls;     // in which of the last cycles the status was asked for
    wire polled = polls[READ_CYCLES-1]; // `control_read` is the status
    reg [31:0] watchdog, quiet, cause_place;
    reg [3:0] cause;
    assign stopping = stop_left != 4'd0 || resetting != 4'd0;
    assign active = running && !stopping;

    // Programs and registers of the grid stay as they are while it works with them.
    wire whole = do_write && writable && strobe == 4'b1111;
    wire too_late = whole && running && window && !in_control;
    wire accept = whole && !too_late;

    // A run is started at the front of the shell or through the control port; in both cases only if it can work.
    wire start_here = accept && shell && number == CTRL && w[0];
    wire start_there = accept && in_control && w[0] && !w[3];
    wire start_asked = start_here || start_there;
    assign started = start_asked && loaded && !running && !output_waits;
    wire [3:0] flags = start_here ? run_flags : {w[4], 1'b0, w[2:1]};

    wire abort_asked = accept && (shell && number == STOP && w[0] || in_control && w[3]);
    wire reset_asked = accept && shell && number == STOP && w[1];
    wire expired = active && !stop_asked && watchdog != 32'd0 && quiet >= watchdog;

    assign control_write = started || stop_asked || accept && (window && !in_control || aliased);
    assign control_address = !(do_write || do_read) || started ? CONTROL : window ? place : aliased ? {15'd0, grid_register[4:0]} : CONTROL;
    assign control_data = started ? {27'd0, flags, 1'b1} : stop_asked ? ABORT : w;
    wire ended = running && !stopping && grace == 3'd0 && polled && !control_read[0] && !output_waits;
    assign run_done = gie && isr != 3'd0;

    // Why something did not happen, or ended: the first of all reasons since the register was cleared.
    reg [3:0] reason;
    reg [31:0] where;
    wire [31:0] waits = {30'd0, blocked, starves};
    always @(*) begin
        reason = 4'd0;
        where = {9'd0, address};
        if (expired) begin
            reason = CAUSE_WATCHDOG;
            where = waits;
        end else if (abort_asked && running) begin
            reason = CAUSE_ABORTED;
            where = waits;
        end else if (start_asked && running) reason = CAUSE_BUSY;
        else if (start_asked && !loaded) reason = CAUSE_NOT_LOADED;
        else if (start_asked && output_waits) reason = CAUSE_OUTPUT_WAITS;
        else if (too_late) reason = CAUSE_WRITE_WHILE_BUSY;
        else if (do_write && !accept && strobe != 4'b0000) reason = CAUSE_NO_ACCESS;
        else if (do_read && !readable) begin
            reason = CAUSE_NO_ACCESS;
            where = {9'h100, address};
        end
    end
    wire noted = reason != 4'd0 && cause == 4'd0;

    reg fetch_grid, fetch_known;
    reg [4:0] fetch_number;
    reg [31:0] shell_value;
    always @(*)
        case (fetch_number)
            CTRL: shell_value = {28'd0, done, !running, done, running};
            GIE: shell_value = {31'd0, gie};
            IER: shell_value = {29'd0, ier};
            ISR: shell_value = {29'd0, isr};
            VERSION: shell_value = AXI_VERSION;
            RUN_FLAGS: shell_value = {28'd0, run_flags};
            STATUS: shell_value = {27'd0, output_waits, stray_seen, ragged_seen, narrow_seen, saturated};
            OUTPUT_WORDS: shell_value = output_words;
            WATCHDOG: shell_value = watchdog;
            CAUSE: shell_value = {28'd0, cause};
            CAUSE_PLACE: shell_value = cause_place;
            default: shell_value = 32'd0;
        endcase

    // Requests and their answers: only a reset of the bus touches them.
    always @(posedge clock) begin
        if (awvalid && awready) begin
            aw_held <= 1'b1;
            aw <= awaddr;
        end
        if (wvalid && wready) begin
            w_held <= 1'b1;
            w <= wdata;
            strobe <= wstrb;
        end
        if (arvalid && arready) begin
            ar_held <= 1'b1;
            ar <= araddr;
        end
        if (bvalid && bready) bvalid <= 1'b0;
        if (rvalid && rready) rvalid <= 1'b0;
        if (do_write) begin
            aw_held <= 1'b0;
            w_held <= 1'b0;
            bvalid <= 1'b1;
            bresp <= accept || strobe == 4'b0000 ? OKAY : SLVERR;
        end
        fetch <= {fetch[READ_CYCLES-2:0], do_read};
        if (do_read) begin
            fetch_grid <= window || aliased;
            fetch_known <= readable;
            fetch_number <= number;
        end
        if (fetched) begin
            ar_held <= 1'b0;
            rvalid <= 1'b1;
            rdata <= !fetch_known ? 32'd0 : fetch_grid ? control_read : shell_value;
            rresp <= fetch_known ? OKAY : SLVERR;
        end
        resetting <= reset_asked ? STOP_CYCLES : resetting == 4'd0 ? 4'd0 : resetting - 4'd1;
        grid_reset <= reset || resetting != 4'd0;
        if (reset) begin
            {aw_held, w_held, ar_held, bvalid, rvalid} <= 5'd0;
            fetch <= {READ_CYCLES{1'b0}};
            resetting <= 4'd0;
        end
    end

    // Registers, and the run.
    always @(posedge clock) begin
        polls <= {polls[READ_CYCLES-2:0], control_address == CONTROL && !control_write};
        if (grace != 3'd0) grace <= grace - 3'd1;
        if (fetched && fetch_known && !fetch_grid && fetch_number == CTRL) done <= 1'b0;
        if (fetched && fetch_known && !fetch_grid && fetch_number == STATUS) {stray_seen, ragged_seen, narrow_seen} <= 3'd0;
        if (narrow) narrow_seen <= 1'b1;
        if (ragged) ragged_seen <= 1'b1;
        if (stray) stray_seen <= 1'b1;

        if (accept && shell) begin
            if (number == GIE) gie <= w[0];
            if (number == IER) ier <= w[2:0];
            if (number == RUN_FLAGS) run_flags <= {w[3], 1'b0, w[1:0]};
            if (number == OUTPUT_WORDS) output_words <= w;
            if (number == WATCHDOG) watchdog <= w;
            if (number == CAUSE) begin
                cause <= 4'd0;
                cause_place <= 32'd0;
            end
        end
        isr <= (accept && shell && number == ISR ? isr & ~w[2:0] : isr) | (ended ? ier & 3'd3 : 3'd0) | (noted ? ier & 3'd4 : 3'd0);
        if (noted) begin
            cause <= reason;
            cause_place <= where;
        end

        // The length of a step is written last; a program that is being changed cannot be started.
        if (accept && in_memories) loaded <= 1'b0;
        if (accept && in_registers && place == STEP_LENGTH) loaded <= w >= 32'd2;

        quiet <= active && !moved ? quiet + 32'd1 : 32'd0;
        stop_asked <= abort_asked || expired;
        if (stop_left != 4'd0) stop_left <= stop_left - 4'd1;
        if (started) begin
            running <= 1'b1;
            done <= 1'b0;
            saturated <= 1'b0;
            grace <= 3'd4;
        end else if (stop_asked) begin
            stop_left <= STOP_CYCLES;
        end else if (stop_left == 4'd1) begin
            running <= 1'b0;
        end else if (ended) begin
            running <= 1'b0;
            done <= 1'b1;
            saturated <= control_read[2];
        end

        if (reset || resetting != 4'd0) begin
            {running, done, saturated, loaded, narrow_seen, ragged_seen, stray_seen, gie, stop_asked} <= 9'd0;
            polls <= {READ_CYCLES{1'b0}};
            {ier, isr, grace} <= 9'd0;
            run_flags <= 4'd0;
            {stop_left, cause} <= 8'd0;
            output_words <= 32'd0;
            watchdog <= 32'd0;
            quiet <= 32'd0;
            cause_place <= 32'd0;
        end
    end

`ifdef TABLA_RULES
    // Cycles since a stop was asked for.
    reg [4:0] since;
    always @(posedge clock) since <= reset || resetting != 4'd0 || !(stop_asked || stop_left != 4'd0) ? 5'd0 : since + 5'd1;
    // A stop takes longer than it may.
    wire stops_late = !reset && (stop_asked && stop_left != 4'd0 || stop_left != 4'd0 && since + {1'b0, stop_left} > 5'd16);
    // A run is started that cannot work.
    wire starts_in_vain = !reset && started && (running || !loaded || output_waits || stopping);
    // The grid is written while it works.
    wire writes_during_run = !reset && control_write && running && window && !stop_asked;
`ifdef FORMAL
    always @(posedge clock) assert (!stops_late && !starts_in_vain && !writes_during_run);
`else
    always @(posedge clock)
        if (stops_late === 1'b1 || starts_in_vain === 1'b1 || writes_during_run === 1'b1) begin
            $display("%m breaks a rule: stops_late %b, starts_in_vain %b, writes_during_run %b",
                stops_late, starts_in_vain, writes_during_run);
            $stop;
        end
`endif
`endif
endmodule
