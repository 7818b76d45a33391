// The same through AXI: the generated grid in its shell on the first samples, word by word; for any Verilog simulator. In the output folder:
//
//   iverilog -g2005 -s axi_testbench -I testbench -o testbench/axi.vvp -f rtl/@AXI@.f testbench/axi.v
//   vvp testbench/axi.vvp [+folder=DIR] [+stalls=SEED] [+abort=CYCLE]
//
// DIR (default: testbench) has control.hex, input.hex and expected.hex. With +stalls both streams wait at random, which must change no word.
// With +abort the run is aborted CYCLE cycles after its start, and begins again. Before the first reset every register is unknown, and so are the bits of a transfer that carry nothing.
`timescale 1ns / 1ps
`include "grid.vh"

module axi_testbench;
    localparam WORD = `GRID_WORD;
    localparam LANE = `GRID_LANE;
    localparam CHUNK = `GRID_TRANSFER_WORDS;
    localparam TRANSFERS = `GRID_BEATS * (`GRID_LANES / CHUNK);
    localparam OUTPUTS = `GRID_OUTPUT_LANES;

    reg clock, resetn;
    initial clock = 1'b0;
    always #5 clock = !clock;

    // AXI4-Lite, one access at a time; answers are taken at once.
    reg [22:0] awaddr, araddr;
    reg [31:0] wdata;
    reg awvalid, wvalid, arvalid;
    wire awready, wready, arready, bvalid, rvalid;
    wire [1:0] bresp, rresp;
    wire [31:0] rdata;
    // The streams.
    reg [LANE*CHUNK-1:0] s_tdata;
    reg s_tvalid, m_tready;
    wire s_tready, m_tvalid, m_tlast;
    wire [LANE*OUTPUTS-1:0] m_tdata;

    @AXI@ shell (
        .s_axi_aclk(clock), .s_axi_aresetn(resetn),
        .s_axi_awaddr(awaddr), .s_axi_awprot(3'd0), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
        .s_axi_wdata(wdata), .s_axi_wstrb(4'hf), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
        .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(1'b1),
        .s_axi_araddr(araddr), .s_axi_arprot(3'd0), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
        .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rvalid(rvalid), .s_axi_rready(1'b1),
        .s_axis_tdata(s_tdata), .s_axis_tkeep({(LANE * CHUNK / 8){1'b1}}), .s_axis_tlast(1'b0),
        .s_axis_tvalid(s_tvalid), .s_axis_tready(s_tready),
        .m_axis_tdata(m_tdata), .m_axis_tkeep(), .m_axis_tlast(m_tlast), .m_axis_tvalid(m_tvalid), .m_axis_tready(m_tready),
        .run_done()
    );

    // Numbers of a line: address and data of a write; the words of a beat of input; those of a beat of output, and its cycle.
    reg [31:0] control [0:2 * `GRID_WRITES - 1];
    reg [WORD-1:0] words [0:`GRID_LANES * `GRID_BEATS];
    reg [63:0] expected [0:(OUTPUTS + 1) * `GRID_RESULTS - 1];

    reg [8 * 256 - 1:0] folder;
    reg [31:0] stalls, abort_at, random;
    integer offered, seen, wrong, idle, lane, output_lane, n;
    reg running;

    // Whether to wait in this cycle: one time in four, never without +stalls.
    task stall(output now);
        begin
            random = random ^ (random << 13);
            random = random ^ (random >> 17);
            random = random ^ (random << 5);
            now = stalls != 0 && random[1:0] == 2'd0;
        end
    endtask

    task fail;
        begin
            $display("FAIL: %0d of %0d transfers were offered, %0d of %0d beats came out", offered, TRANSFERS, seen, `GRID_RESULTS);
            $finish;
        end
    endtask

    // Inputs change while the clock is low; these are what the last rising edge took.
    reg took_address, took_data, took_read, took_input;
    always @(posedge clock) begin
        took_address <= awvalid && awready;
        took_data <= wvalid && wready;
        took_read <= arvalid && arready;
        took_input <= s_tvalid && s_tready;
    end

    // Accesses begin and end while the clock is low.
    task write(input [31:0] address, input [31:0] data);
        begin
            awaddr = address[22:0];
            wdata = data;
            awvalid = 1'b1;
            wvalid = 1'b1;
            while (awvalid || wvalid) begin
                @(negedge clock);
                if (took_address) awvalid = 1'b0;
                if (took_data) wvalid = 1'b0;
            end
            while (bvalid !== 1'b1) @(negedge clock);
            if (bresp !== 2'b00) begin
                $display("FAIL: the write to %h is refused", address);
                $finish;
            end
        end
    endtask

    // The register is in `rdata` afterwards.
    task read(input [31:0] address);
        begin
            araddr = address[22:0];
            arvalid = 1'b1;
            while (arvalid) begin
                @(negedge clock);
                if (took_read) arvalid = 1'b0;
            end
            while (rvalid !== 1'b1) @(negedge clock);
        end
    endtask

    // The streams: what was offered stays until it is taken.
    reg wait_input, wait_output;
    always @(negedge clock)
        if (resetn) begin
            stall(wait_input);
            stall(wait_output);
            m_tready = !wait_output;
            if (took_input) s_tvalid = 1'b0;
            if (running && !s_tvalid && offered < TRANSFERS && !wait_input) begin
                s_tvalid = 1'b1;
                s_tdata = {(LANE * CHUNK){1'bx}};
                for (lane = 0; lane < CHUNK; lane = lane + 1) s_tdata[lane * LANE +: WORD] = words[offered * CHUNK + lane];
                offered = offered + 1;
            end
        end

    // The words of the run; what an aborted one leaves is taken, too.
    always @(posedge clock)
        if (resetn) begin
            idle = running ? idle + 1 : 0;
            if (s_tvalid && s_tready) idle = 0;
            if (running && m_tvalid && m_tready) begin
                idle = 0;
                if (seen >= `GRID_RESULTS) begin
                    $display("FAIL: more than %0d beats came out", `GRID_RESULTS);
                    $finish;
                end
                if (m_tlast !== (seen == `GRID_RESULTS - 1)) wrong = wrong + 1;
                for (output_lane = 0; output_lane < OUTPUTS; output_lane = output_lane + 1)
                    if (m_tdata[output_lane * LANE +: WORD] !== expected[(OUTPUTS + 1) * seen + output_lane][WORD-1:0]) begin
                        wrong = wrong + 1;
                        if (wrong <= 10)
                            $display("word %0d of beat %0d is %h, expected %h", output_lane, seen, m_tdata[output_lane * LANE +: LANE],
                                     expected[(OUTPUTS + 1) * seen + output_lane][WORD-1:0]);
                    end
                seen = seen + 1;
            end
            if (idle > `GRID_PATIENCE) fail;
        end

    // Everything but the start.
    task load;
        for (n = 0; n < `GRID_WRITES; n = n + 1)
            if (control[2 * n] != `GRID_CONTROL) write(`GRID_AXI_WINDOW + 4 * control[2 * n], control[2 * n + 1]);
    endtask

    // Input that comes before the start would be thrown away.
    task start;
        begin
            for (n = 0; n < `GRID_WRITES; n = n + 1)
                if (control[2 * n] == `GRID_CONTROL) write(`GRID_AXI_RUN_FLAGS, control[2 * n + 1] >> 1);
            write(`GRID_AXI_OUTPUT_WORDS, OUTPUTS * `GRID_RESULTS);
            write(`GRID_AXI_CTRL, `GRID_AXI_START);
            {offered, seen, wrong} = {3{32'd0}};
            running = 1'b1;
        end
    endtask

    // In whatever state the run is; afterwards nothing of it is left.
    task abort;
        begin
            for (n = 0; n < abort_at; n = n + 1) @(negedge clock);
            running = 1'b0;
            write(`GRID_AXI_STOP, `GRID_AXI_ABORT);
            read(`GRID_AXI_STOP);
            while (rdata !== 32'd0) read(`GRID_AXI_STOP);
            while (s_tvalid) @(negedge clock);
            read(`GRID_AXI_STATUS);
            while ((rdata & `GRID_AXI_OUTPUT_WAITS) !== 32'd0) read(`GRID_AXI_STATUS);
            read(`GRID_AXI_CAUSE);
            // A run that has given all its words may have ended before.
            if (rdata !== `GRID_AXI_ABORTED && seen < `GRID_RESULTS) begin
                $display("FAIL: cause is %0d after an abort", rdata);
                $finish;
            end
            write(`GRID_AXI_CAUSE, 32'd0);
            // What the last transfers left there.
            read(`GRID_AXI_STATUS);
        end
    endtask

    initial begin
        if (!$value$plusargs("folder=%s", folder)) folder = "testbench";
        if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
        if (!$value$plusargs("abort=%d", abort_at)) abort_at = 0;
        random = 2 * stalls + 1;
        $readmemh({folder, "/control.hex"}, control);
        if (`GRID_BEATS > 0) $readmemh({folder, "/input.hex"}, words, 0, `GRID_LANES * `GRID_BEATS - 1);
        $readmemh({folder, "/expected.hex"}, expected);
        running = 1'b0;
        repeat (2) @(negedge clock);
        resetn = 1'b0;
        {awvalid, wvalid, arvalid, s_tvalid, m_tready} = 5'd0;
        repeat (4) @(negedge clock);
        resetn = 1'b1;
        load;
        start;
        if (abort_at != 0) begin
            abort;
            start;
        end
        while (seen < `GRID_RESULTS) @(negedge clock);
        read(`GRID_AXI_CTRL);
        while ((rdata & `GRID_AXI_DONE) == 0) read(`GRID_AXI_CTRL);
        running = 1'b0;
        read(`GRID_AXI_STATUS);
        if ((rdata & ~32'd1) !== 32'd0) begin
            $display("FAIL: status is %h", rdata);
            $finish;
        end
        read(`GRID_AXI_CAUSE);
        if (rdata !== 32'd0) $display("FAIL: cause is %0d", rdata);
        else if (wrong != 0) $display("FAIL: %0d of %0d words are wrong", wrong, OUTPUTS * seen);
        else $display("PASS: %0d words as expected", OUTPUTS * seen);
        $finish;
    end
endmodule
