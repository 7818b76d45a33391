// Runs the generated grid on the first samples and compares every word that comes out, and the cycle in which it does; for any
// Verilog simulator. In the output folder:
//
//   iverilog -g2005 -s testbench -I testbench -o testbench/run.vvp -f rtl/@TOP@.f testbench/testbench.v
//   vvp testbench/run.vvp [+folder=DIR] [+stalls=SEED] [+reset=CYCLE]
//
// DIR (default: testbench) has control.hex, input.hex and expected.hex, as for main.cpp. With +stalls the streams wait at random,
// which must change no word. With +reset everything is reset CYCLE cycles after the start of the run, and begins again. Before the first reset
// every register is unknown, and what a port need not say is unknown: a word that depends on any of that is noticed.
`timescale 1ns / 1ps
`include "grid.vh"

module testbench;
    localparam WORD = `GRID_WORD;
    localparam LANES = `GRID_LANES;
    localparam BITS = WORD * LANES;
    localparam OUTPUTS = `GRID_OUTPUT_LANES;

    reg clock, reset, control_write, in_valid, out_ready;
    reg [19:0] control_address;
    reg [31:0] control_data;
    reg [BITS-1:0] in_data;
    wire [31:0] control_read;
    wire in_ready, out_valid;
    wire [WORD*OUTPUTS-1:0] out_data;

    @TOP@ grid (
        .clock(clock), .reset(reset),
        .control_write(control_write), .control_address(control_address), .control_data(control_data), .control_read(control_read),
        .in_data(in_data), .in_valid(in_valid), .in_ready(in_ready),
        .out_data(out_data), .out_valid(out_valid), .out_ready(out_ready)
    );

    // Numbers of a line: address and data of a write; the words of a beat of input; those of a beat of output, and its cycle.
    reg [31:0] control [0:2 * `GRID_WRITES - 1];
    reg [WORD-1:0] beats [0:`GRID_LANES * `GRID_BEATS];
    reg [63:0] expected [0:(OUTPUTS + 1) * `GRID_RESULTS - 1];

    reg [8 * 256 - 1:0] folder;
    reg [31:0] stalls, reset_at, random;
    integer sent, seen, wrong, cycles, idle, lane, n;
    reg offering, taken, came, stopped;
    reg [63:0] run_cycles;

    // The end of a cycle; inputs change while the clock is low.
    task rise;
        begin
            #1 clock = 1'b1;
            #5 clock = 1'b0;
        end
    endtask

    task quiet;
        begin
            control_write = 1'b0;
            control_address = 20'd0;
            control_data = {32{1'bx}};
            in_valid = 1'b0;
            in_data = {BITS{1'bx}};
            out_ready = 1'b0;
        end
    endtask

    task write(input [31:0] address, input [31:0] data);
        begin
            quiet;
            control_write = 1'b1;
            control_address = address[19:0];
            control_data = data;
            #4 rise;
            quiet;
        end
    endtask

    // The register is in `control_read` afterwards.
    task read(input [31:0] address);
        begin
            quiet;
            control_address = address[19:0];
            for (n = 0; n < `GRID_READ_CYCLES; n = n + 1) #4 rise;
            #1;
        end
    endtask

    // Whether to wait in this cycle: one time in four, never without +stalls.
    task stall(output now);
        begin
            random = random ^ (random << 13);
            random = random ^ (random >> 17);
            random = random ^ (random << 5);
            now = stalls != 0 && random[1:0] == 2'd0;
        end
    endtask

    // One cycle of the streams; a beat that was offered stays offered until it is taken.
    task stream(input more);
        reg now;
        begin
            quiet;
            stall(now);
            offering = more && (offering || !now);
            in_valid = offering;
            if (offering)
                for (lane = 0; lane < LANES; lane = lane + 1) in_data[lane * WORD +: WORD] = beats[sent * LANES + lane];
            stall(now);
            out_ready = !now;
            #4;
            if ((in_ready !== 1'b0 && in_ready !== 1'b1) || (out_valid !== 1'b0 && out_valid !== 1'b1)) begin
                $display("FAIL: a handshake is unknown, %0d cycles after the start", cycles);
                $finish;
            end
            taken = offering && in_ready;
            came = out_ready && out_valid;
            if (came) begin
                if (seen >= `GRID_RESULTS) begin
                    $display("FAIL: more than %0d beats came out", `GRID_RESULTS);
                    $finish;
                end
                check;
                seen = seen + 1;
            end
            if (taken) begin
                sent = sent + 1;
                offering = 1'b0;
            end
            idle = taken || came ? 0 : idle + 1;
            cycles = cycles + 1;
            rise;
        end
    endtask

    task check;
        integer first;
        reg late;
        begin
            first = (OUTPUTS + 1) * seen;
            late = stalls == 0 && cycles !== expected[first + OUTPUTS][31:0];
            for (lane = 0; lane < OUTPUTS; lane = lane + 1)
                if (out_data[lane * WORD +: WORD] !== expected[first + lane][WORD-1:0] || late) begin
                    wrong = wrong + 1;
                    if (wrong <= 10)
                        $display("word %0d of beat %0d is %h in cycle %0d, expected %h in cycle %0d", lane, seen,
                                 out_data[lane * WORD +: WORD], cycles, expected[first + lane][WORD-1:0], expected[first + OUTPUTS]);
                end
        end
    endtask

    // Load the program, start the run, and go on to the end, or for `limit` cycles if that is not 0.
    task session(input [31:0] limit);
        begin
            reset = 1'b1;
            quiet;
            for (n = 0; n < 2; n = n + 1) #4 rise;
            reset = 1'b0;
            for (n = 0; n < `GRID_WRITES; n = n + 1) write(control[2 * n], control[2 * n + 1]);
            sent = 0;
            seen = 0;
            wrong = 0;
            cycles = 0;
            idle = 0;
            offering = 1'b0;
            stopped = 1'b0;
            while (!stopped && (sent < `GRID_BEATS || seen < `GRID_RESULTS)) begin
                stream(sent < `GRID_BEATS);
                stopped = idle > `GRID_PATIENCE || (limit != 0 && cycles >= limit);
            end
        end
    endtask

    // The run is over when the grid says so.
    task finish;
        begin
            idle = 0;
            read(`GRID_CONTROL);
            while ((control_read & (`GRID_BUSY | `GRID_DONE)) !== `GRID_DONE && idle <= `GRID_PATIENCE) begin
                stream(1'b0);
                read(`GRID_CONTROL);
            end
            stopped = idle > `GRID_PATIENCE;
            read(`GRID_CYCLES_HIGH);
            run_cycles[63:32] = control_read;
            read(`GRID_CYCLES_LOW);
            run_cycles[31:0] = control_read;
        end
    endtask

    initial begin
        if (!$value$plusargs("folder=%s", folder)) folder = "testbench";
        if (!$value$plusargs("stalls=%d", stalls)) stalls = 0;
        if (!$value$plusargs("reset=%d", reset_at)) reset_at = 0;
        random = 2 * stalls + 1;
        $readmemh({folder, "/control.hex"}, control);
        if (`GRID_BEATS > 0) $readmemh({folder, "/input.hex"}, beats, 0, `GRID_LANES * `GRID_BEATS - 1);
        $readmemh({folder, "/expected.hex"}, expected);
        clock = 1'b0;
        reset = 1'bx;
        quiet;
        #10;
        if (reset_at != 0) session(reset_at);
        session(0);
        if (stopped) begin
            $display("FAIL: %0d of %0d beats were taken, %0d of %0d came out", sent, `GRID_BEATS, seen, `GRID_RESULTS);
            $finish;
        end
        finish;
        if (stopped)
            $display("FAIL: the run does not end");
        else if (wrong != 0 || (stalls == 0 && run_cycles !== `GRID_EXPECTED_CYCLES))
            $display("FAIL: %0d of %0d words are wrong; %0d cycles, expected %0d", wrong, OUTPUTS * seen, run_cycles, `GRID_EXPECTED_CYCLES);
        else
            $display("PASS: %0d words as expected, %0d cycles", OUTPUTS * seen, run_cycles);
        $finish;
    end
endmodule
