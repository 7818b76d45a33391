// axi_control: the AXI4-Lite port: registers of the shell, and the grid's control port behind them (docs/registers.md).
//
//   one write or read at a time; between them it looks at the grid's status
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
    output wire        control_write,
    output wire [19:0] control_address,
    output wire [31:0] control_data,
    input  wire [31:0] control_read,
    // the streams
    input  wire        narrow,       // an input transfer had unused bytes
    input  wire        ragged,       // an input packet ended inside a beat
    output reg  [31:0] output_words,
    output wire        started,      // in this cycle a run is asked for
    output wire        run_done
);
//AXI
    localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10;

    // Requests wait here.
    reg aw_held, w_held, ar_held, fetching;
    reg [22:0] aw, ar;
    reg [31:0] w;
    reg [3:0] strobe;
    assign awready = !aw_held && !reset;
    assign wready = !w_held && !reset;
    assign arready = !ar_held && !reset;
    wire do_write = aw_held && w_held && !bvalid && !fetching;
    wire do_read = ar_held && !rvalid && !fetching && !do_write;

    // What an address means.
    wire [22:0] address = do_write ? aw : ar;
    wire aligned = address[1:0] == 2'b00;
    wire window = address[22];
    wire [19:0] place = address[21:2];
    wire shell = aligned && !window && place < REGISTER_COUNT;
    wire [3:0] number = place[3:0];
    wire [5:0] grid_register = alias_of(number);
    wire aliased = shell && grid_register[5];
    wire in_registers = aligned && window && place[19:16] == 4'd0;
    wire in_memories = aligned && window && place[19:16] != 4'd0 && place[19:16] <= LAST_REGION;
    wire readable = shell || in_registers && known(place[15:0]);
    wire writable = shell && shell_writable(number) || in_registers && control_writable(place[15:0]) || in_memories;

    reg running, done, saturated, narrow_seen, ragged_seen, gie;
    reg [1:0] ier, isr, run_flags;
    reg [2:0] grace;
    reg polled;                      // `control_read` is the status

    wire accept = do_write && writable && strobe == 4'b1111;
    wire start = accept && shell && number == CTRL && w[0] && !running;
    assign control_write = start || accept && (window || aliased);
    assign control_address = !(do_write || do_read) || start ? CONTROL : window ? place : aliased ? {15'd0, grid_register[4:0]} : CONTROL;
    assign control_data = start ? {29'd0, run_flags, 1'b1} : w;
    assign started = control_write && control_address == CONTROL && control_data[0];
    wire ended = running && grace == 3'd0 && polled && !control_read[0];
    assign run_done = gie && isr != 2'b00;

    reg fetch_grid, fetch_known;
    reg [3:0] fetch_number;
    reg [31:0] shell_value;
    always @(*)
        case (fetch_number)
            CTRL: shell_value = {28'd0, done, !running, done, running};
            GIE: shell_value = {31'd0, gie};
            IER: shell_value = {30'd0, ier};
            ISR: shell_value = {30'd0, isr};
            VERSION: shell_value = AXI_VERSION;
            RUN_FLAGS: shell_value = {30'd0, run_flags};
            STATUS: shell_value = {29'd0, ragged_seen, narrow_seen, saturated};
            OUTPUT_WORDS: shell_value = output_words;
            default: shell_value = 32'd0;
        endcase

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
        polled <= control_address == CONTROL && !control_write;
        if (grace != 3'd0) grace <= grace - 3'd1;

        if (do_write) begin
            aw_held <= 1'b0;
            w_held <= 1'b0;
            bvalid <= 1'b1;
            bresp <= accept || strobe == 4'b0000 ? OKAY : SLVERR;
        end
        if (accept && shell) begin
            if (number == GIE) gie <= w[0];
            if (number == IER) ier <= w[1:0];
            if (number == ISR) isr <= isr & ~w[1:0];
            if (number == RUN_FLAGS) run_flags <= w[1:0];
            if (number == OUTPUT_WORDS) output_words <= w;
        end

        fetching <= do_read;
        if (do_read) begin
            fetch_grid <= window || aliased;
            fetch_known <= readable;
            fetch_number <= number;
        end
        if (fetching) begin
            ar_held <= 1'b0;
            rvalid <= 1'b1;
            rdata <= !fetch_known ? 32'd0 : fetch_grid ? control_read : shell_value;
            rresp <= fetch_known ? OKAY : SLVERR;
            if (fetch_known && !fetch_grid && fetch_number == CTRL) done <= 1'b0;
            if (fetch_known && !fetch_grid && fetch_number == STATUS) {ragged_seen, narrow_seen} <= 2'b00;
        end

        if (narrow) narrow_seen <= 1'b1;
        if (ragged) ragged_seen <= 1'b1;
        if (started) begin
            running <= 1'b1;
            grace <= 3'd4;
        end else if (ended) begin
            running <= 1'b0;
            done <= 1'b1;
            saturated <= control_read[2];
            isr <= isr | ier;
        end

        if (reset) begin
            {aw_held, w_held, ar_held, fetching, bvalid, rvalid} <= 6'd0;
            {running, done, saturated, narrow_seen, ragged_seen, gie, polled} <= 7'd0;
            {ier, isr, run_flags} <= 6'd0;
            grace <= 3'd0;
            output_words <= 32'd0;
        end
    end
endmodule
