// sdram_walk: the addresses of the start-up test: 2^TESTED words one after the other, then those with one bit set, so that every address line changes.
module sdram_walk #(
    parameter ADDRESS = 24,
    parameter TESTED = 24
) (
    input  wire               clock,
    input  wire               restart,
    input  wire               advance,
    output reg  [ADDRESS-1:0] address,
    output wire               last
);
    reg lines;
    assign last = lines && address[ADDRESS-1];
    always @(posedge clock)
        if (restart) begin
            address <= {ADDRESS{1'b0}};
            lines <= 1'b0;
        end else if (advance) begin
            if (lines) address <= address << 1;
            else if (&address[TESTED-1:0]) begin
                address <= {{(ADDRESS - 1){1'b0}}, 1'b1};
                lines <= 1'b1;
            end else address <= address + 1'b1;
        end
endmodule

// sdram_test: writes words that follow from their addresses and reads them back, then their complements: each bit is once 0 and once 1.
module sdram_test #(
    parameter ADDRESS = 24,
    parameter DATA = 16,
    parameter TESTED = 24
) (
    input  wire               clock,
    input  wire               reset,
    input  wire               begins,        // as long as it is 1, the test runs
    output reg                done,
    output reg                failed,
    output reg  [ADDRESS-1:0] wrong,         // the first word that was read otherwise than written
    // LiteDRAM's port
    output wire               command,
    output wire               writes,
    output wire [ADDRESS-1:0] address,
    input  wire               accepted,
    output wire [DATA-1:0]    word,
    output wire               word_there,
    input  wire               word_taken,
    input  wire [DATA-1:0]    read,
    input  wire               read_there
);
    reg [1:0] pass;                  // write, read, write the complement, read it
    reg running, asking, compare;
    wire reading = pass[0];
    wire [ADDRESS-1:0] place;        // of the word that is written or read
    wire last_command, last_word;
    wire moved = running && (reading ? read_there : word_taken);
    wire next = moved && last_word;
    sdram_walk #(.ADDRESS(ADDRESS), .TESTED(TESTED)) commands (
        .clock(clock), .restart(!running || next), .advance(command && accepted), .address(address), .last(last_command)
    );
    sdram_walk #(.ADDRESS(ADDRESS), .TESTED(TESTED)) words (
        .clock(clock), .restart(!running || next), .advance(moved), .address(place), .last(last_word)
    );
    assign command = running && asking;
    assign writes = !reading;
    assign word_there = running && !reading;
    // Neighbours differ, and so do words whose addresses differ in one line.
    wire [31:0] wide = {{(32 - ADDRESS){1'b0}}, place};
    wire [15:0] half = wide[15:0] ^ {2{wide[23:16]}} ^ {wide[31:24], 8'h3c} ^ {16{pass[1]}};
    wire [4*DATA-1:0] halves = {(DATA / 4){half}};
    assign word = halves[DATA-1:0];

    reg [DATA-1:0] difference;
    reg [ADDRESS-1:0] compared;
    reg ends;
    always @(posedge clock) begin
        compare <= moved && reading;
        difference <= read ^ word;
        compared <= place;
        if (compare && |difference && !failed) begin
            failed <= 1'b1;
            wrong <= compared;
        end
        if (command && accepted && last_command) asking <= 1'b0;
        if (next) begin
            pass <= pass + 2'd1;
            asking <= 1'b1;
            if (&pass) running <= 1'b0;
        end
        ends <= next && (&pass);
        if (ends) done <= 1'b1;
        if (begins && !running && !ends && !done && pass == 2'd0) begin
            running <= 1'b1;
            asking <= 1'b1;
        end
        if (reset) begin
            pass <= 2'd0;
            running <= 1'b0;
            done <= 1'b0;
            failed <= 1'b0;
            ends <= 1'b0;
            wrong <= {ADDRESS{1'b0}};
        end
    end
endmodule
