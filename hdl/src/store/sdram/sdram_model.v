// sdram_model: an SDR SDRAM at its pins, for simulation: banks, rows, latency and refresh, with the rules of its data sheet. When a rule is broken it
// gives wrong words from then on; without refresh it does until its mode is set again.
module sdram_model #(
    parameter BANK_BITS = 2,
    parameter ROW_BITS = 13,
    parameter COLUMN_BITS = 9,
    parameter DATA = 16,
    parameter DELAY = 0,             // cycles that words need on their way over the board
    parameter STUCK = -1,            // the word in which a bit is stuck
    // Cycles: open to access, close to open, open to close, open to open of a bank and of others, refresh, written to close
    parameter RCD = 2,
    parameter RP = 2,
    parameter RAS = 5,
    parameter RC = 7,
    parameter RRD = 2,
    parameter RFC = 7,
    parameter WR = 2,
    parameter REFI = 780             // from one refresh to the next; eight may be late
) (
    input wire                 clock,
    input wire                 cke,
    input wire                 cs_n,
    input wire                 ras_n,
    input wire                 cas_n,
    input wire                 we_n,
    input wire [BANK_BITS-1:0] ba,
    input wire [ROW_BITS-1:0]  a,
    input wire [DATA/8-1:0]    dm,
    inout wire [DATA-1:0]      dq
);
    localparam BANKS = 1 << BANK_BITS;
    localparam ADDRESS = BANK_BITS + ROW_BITS + COLUMN_BITS;
    localparam MODE_CYCLES = 2;
    localparam POWER_ON = 10_000;    // cycles with a clock before the first command

    reg [DATA-1:0] cells [0:(1<<ADDRESS)-1];
    reg [31:0] now;
    reg [ROW_BITS-1:0] open_row [0:BANKS-1];
    reg [BANKS-1:0] is_open;
    reg [31:0] opened [0:BANKS-1];
    reg [31:0] closed [0:BANKS-1];   // may lie ahead
    reg [31:0] written [0:BANKS-1];
    reg [31:0] opened_any, refreshed, mode_set;
    reg [3:0] refreshes;             // before the mode was set; counts to 2
    reg ready, broken, lost, precharged;
    reg [1:0] latency;
    integer b;
    initial begin
        now = 32'd0;
        is_open = {BANKS{1'b0}};
        ready = 1'b0;
        broken = 1'b0;
        lost = 1'b0;
        precharged = 1'b0;
        refreshes = 4'd0;
        latency = 2'd0;
        opened_any = 32'd0;
        refreshed = 32'd0;
        mode_set = 32'd0;
        for (b = 0; b < BANKS; b = b + 1) begin
            opened[b] = 32'd0;
            closed[b] = 32'd0;
            written[b] = 32'd0;
        end
    end

    function early(input [31:0] time_then, input [31:0] cycles);
        early = $signed(now - time_then) < $signed(cycles);
    endfunction

    // Words on their way to the pins.
    reg [DATA-1:0] leaving [0:3+DELAY];
    reg [3+DELAY:0] leaves;
    integer n;
    wire [ADDRESS-1:0] place = {open_row[ba], ba, a[COLUMN_BITS-1:0]};
    wire [DATA-1:0] found = cells[place] & ~(STUCK >= 0 && place == STUCK[ADDRESS-1:0] ? {{(DATA - 4){1'b0}}, 4'h8} : {DATA{1'b0}});
    wire open_command = !ras_n && cas_n && we_n;
    wire read_command = ras_n && !cas_n && we_n;
    wire write_command = ras_n && !cas_n && !we_n;
    wire close_command = !ras_n && cas_n && !we_n;
    wire refresh_command = !ras_n && !cas_n && we_n;
    wire mode_command = !ras_n && !cas_n && !we_n;
    wire drives = leaves[0];
    assign dq = drives ? leaving[0] : {DATA{1'bz}};

    always @(posedge clock) begin
        now <= now + 32'd1;
        leaves <= leaves >> 1;
        for (n = 0; n < 3 + DELAY; n = n + 1) leaving[n] <= leaving[n+1];
        if (ready && !early(refreshed, 9 * REFI)) lost <= 1'b1;
        if (cke && !cs_n && !(ras_n && cas_n && we_n)) begin
            if (early(refreshed, RFC) && refreshes != 4'd0 || early(mode_set, MODE_CYCLES) && ready) broken <= 1'b1;
            if (open_command) begin
                if (!ready || is_open[ba] || early(closed[ba], RP) || early(opened[ba], RC) || early(opened_any, RRD)) broken <= 1'b1;
                is_open[ba] <= 1'b1;
                open_row[ba] <= a;
                opened[ba] <= now;
                opened_any <= now;
            end
            if (read_command || write_command) begin
                if (!is_open[ba] || early(opened[ba], RCD)) broken <= 1'b1;
                if (a[10]) begin
                    is_open[ba] <= 1'b0;
                    closed[ba] <= write_command ? now + WR : early(opened[ba], RAS) ? opened[ba] + RAS : now + 1;
                end
            end
            if (read_command) begin
                leaves[latency+DELAY-1] <= 1'b1;
                leaving[latency+DELAY-1] <= broken || lost ? ~found : found;
            end
            if (write_command) begin
                // Nobody else drives the pins.
                if (drives || leaves[1]) broken <= 1'b1;
                for (n = 0; n < DATA / 8; n = n + 1) if (!dm[n]) cells[place][8*n +: 8] <= dq[8*n +: 8];
                written[ba] <= now;
            end
            if (close_command) begin
                if (now < POWER_ON) broken <= 1'b1;
                for (b = 0; b < BANKS; b = b + 1)
                    if ((a[10] || b == {30'd0, ba}) && is_open[b]) begin
                        if (early(opened[b], RAS) || early(written[b], WR)) broken <= 1'b1;
                        closed[b] <= now;
                        is_open[b] <= 1'b0;
                    end
                if (a[10]) precharged <= 1'b1;
            end
            if (refresh_command || mode_command) begin
                if (is_open != {BANKS{1'b0}} || !precharged) broken <= 1'b1;
                for (b = 0; b < BANKS; b = b + 1) if (early(closed[b], RP)) broken <= 1'b1;
            end
            if (refresh_command) begin
                refreshed <= now;
                if (!refreshes[1]) refreshes <= refreshes + 4'd1;
            end
            if (mode_command) begin
                mode_set <= now;
                lost <= 1'b0;
                latency <= a[5:4];
                // One word per access, one after the other, after two or three cycles.
                if (a[3:0] != 4'd0 || a[6] || !a[5]) broken <= 1'b1;
                ready <= refreshes[1];
            end
        end
    end
endmodule
