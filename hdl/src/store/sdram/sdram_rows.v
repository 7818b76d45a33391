// sdram_rows: rows of the sample store as words of an SDRAM. They come in the order in which they were asked for, many on their way at a time.
//
//   row ──write──▶ words ──▶ LiteDRAM's port
//   asks ─▶ queue ─▶ commands ─▶ port ─▶ words ─▶ rows that wait ──take──▶ value
module sdram_rows #(
    parameter BITS = 256,            // of a row
    parameter ROW = 20,              // bits of a row's number
    parameter DATA = 16,             // bits of a word of the memory
    parameter ADDRESS = 24,          // bits of its address
    parameter WORDS = 16,            // of a row
    parameter LOG2_WORDS = 4         // a row begins every 2^LOG2_WORDS words
) (
    input  wire               clock,
    input  wire               reset,         // with the memory
    input  wire               flush,         // forget what was asked for
    // rows that are written
    input  wire               write,
    output wire               may_write,
    input  wire [BITS-1:0]    data,
    // rows that are read
    input  wire [ROW-1:0]     row,           // of a write and of an ask
    input  wire               ask,
    output wire               may_ask,
    output wire               available,     // the next row is there
    input  wire               take,
    output reg  [BITS-1:0]    value,         // two cycles after it was taken, and until the next one is
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
    localparam PADDED = WORDS * DATA;
    localparam COUNT = LOG2_WORDS + 1;
    localparam [COUNT-1:0] ALL = WORDS[COUNT-1:0];
    localparam [COUNT-1:0] FINAL = ALL - 1'b1;

    // What was on its way when it was forgotten has to arrive before anything else is asked for.
    reg arriving;
    reg [11:0] pending;              // words that were asked for and have not come
    reg reading;
    always @(posedge clock) begin
        pending <= pending + {11'd0, reading && !writes && accepted} - {11'd0, read_there};
        if (!reading && pending == 12'd0) arriving <= 1'b0;
        if (flush) arriving <= 1'b1;
        if (reset) begin
            pending <= 12'd0;
            arriving <= 1'b0;
        end
    end

    wire [PADDED+BITS-1:0] padded = {{PADDED{1'b0}}, data};
    reg [PADDED-1:0] leaving;
    reg [ROW-1:0] write_row;
    reg [COUNT-1:0] commands_left, words_left;
    reg [COUNT-1:0] write_at;
    reg [4:0] asks_first, asks_behind;
    wire asked = asks_first != asks_behind;
    assign writes = commands_left != {COUNT{1'b0}};
    assign may_write = !writes && words_left == {COUNT{1'b0}} && !reading && !asked && !arriving;
    assign word = leaving[DATA-1:0];
    assign word_there = words_left != {COUNT{1'b0}};
    always @(posedge clock) begin
        if (writes && accepted) begin
            commands_left <= commands_left - 1'b1;
            write_at <= write_at + 1'b1;
        end
        if (word_taken) begin
            words_left <= words_left - 1'b1;
            leaving <= leaving >> DATA;
        end
        if (write) begin
            leaving <= padded[PADDED-1:0];
            write_row <= row;
            write_at <= {COUNT{1'b0}};
            commands_left <= ALL;
            words_left <= ALL;
        end
        if (reset) begin
            commands_left <= {COUNT{1'b0}};
            words_left <= {COUNT{1'b0}};
        end
    end

    reg [ROW-1:0] asks [0:15];
    reg [ROW-1:0] read_row;
    reg [COUNT-1:0] read_at;
    wire gone = reading && !writes && accepted;
    wire begins = asked && !arriving && (!reading || gone && read_at == FINAL);
    assign command = writes || reading;
    wire [ADDRESS+ROW-1:0] wide_row = {{ADDRESS{1'b0}}, writes ? write_row : read_row};
    assign address = (wide_row[ADDRESS-1:0] << LOG2_WORDS) | {{(ADDRESS - COUNT){1'b0}}, writes ? write_at : read_at};
    always @(posedge clock) begin
        if (ask) begin
            asks[asks_behind[3:0]] <= row;
            asks_behind <= asks_behind + 5'd1;
        end
        if (gone) begin
            read_at <= read_at + 1'b1;
            if (read_at == FINAL || arriving) reading <= 1'b0;
        end
        if (begins) begin
            read_row <= asks[asks_first[3:0]];
            asks_first <= asks_first + 5'd1;
            read_at <= {COUNT{1'b0}};
            reading <= 1'b1;
        end
        if (flush || reset) begin
            asks_first <= 5'd0;
            asks_behind <= 5'd0;
            // A command that is offered stays until it is accepted.
            reading <= reading && !gone && !reset;
        end
    end

    reg [PADDED-1:0] rows [0:15];
    reg [PADDED-1:0] gathered;
    reg [COUNT-1:0] gathered_words;
    reg [3:0] first, behind, current;
    reg [4:0] waiting, credits;
    wire comes = read_there && !arriving && !flush;
    wire whole = comes && gathered_words == FINAL;
    wire [PADDED+DATA-1:0] more = {read, gathered};
    assign available = waiting != 5'd0;
    assign may_ask = credits != 5'd0 && !arriving;
    always @(posedge clock) begin
        if (comes) begin
            gathered <= more[PADDED+DATA-1:DATA];
            gathered_words <= whole ? {COUNT{1'b0}} : gathered_words + 1'b1;
        end
        if (whole) begin
            rows[behind] <= more[PADDED+DATA-1:DATA];
            behind <= behind + 4'd1;
        end
        if (take) begin
            current <= first;
            first <= first + 4'd1;
        end
        waiting <= waiting + {4'd0, whole} - {4'd0, take};
        credits <= credits + {4'd0, take} - {4'd0, ask};
        value <= rows[current][BITS-1:0];
        if (flush || reset) begin
            gathered_words <= {COUNT{1'b0}};
            first <= 4'd0;
            behind <= 4'd0;
            waiting <= 5'd0;
            // One row more is the one that is being played.
            credits <= 5'd15;
        end
    end
endmodule
