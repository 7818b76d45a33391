// sdram_memory: an SDRAM behind LiteDRAM's controller, which is started and tested before it keeps rows.
//
//   sdram_start ──control port──▶ ┌────────────┐
//   sdram_test ──┐                │ sdram_core │◀──▶ pins
//   sdram_rows ──┴─────port─────▶ └────────────┘
module sdram_memory #(
    parameter BITS = 256,            // of a row
    parameter ROW = 20               // bits of a row's number
) (
//PINS
    input  wire            clock,
    input  wire            power_on,     // reset of the memory, which loses what it holds
    input  wire            flush,
    input  wire [ROW-1:0]  row,
    input  wire            write,
    output wire            may_write,
    input  wire [BITS-1:0] data,
    input  wire            ask,
    output wire            may_ask,
    output wire            available,
    input  wire            take,
    output wire [BITS-1:0] value,
    output wire [1:0]      status,
    output wire [31:0]     wrong
);
//CONSTANTS
    wire control_request, control_done, started, tested, failed;
    wire [29:0] control_address;
    wire [31:0] control_data;
    sdram_start start (
        .clock(clock), .reset(power_on), .address(control_address), .data(control_data), .request(control_request), .done(control_done),
        .started(started)
    );

    wire accepted, word_taken, read_there;
    wire [DATA-1:0] read;
    wire test_command, test_writes, test_word_there, rows_command, rows_writes, rows_word_there, may_write_row, may_ask_row;
    wire [PLACE-1:0] test_address, rows_address, wrong_address;
    wire [DATA-1:0] test_word, rows_word;
    sdram_test #(.ADDRESS(PLACE), .DATA(DATA), .TESTED(TESTED)) test (
        .clock(clock), .reset(power_on), .begins(started), .done(tested), .failed(failed), .wrong(wrong_address),
        .command(test_command), .writes(test_writes), .address(test_address), .accepted(accepted && !tested),
        .word(test_word), .word_there(test_word_there), .word_taken(word_taken && !tested),
        .read(read), .read_there(read_there && !tested)
    );
    // A memory that fails keeps nothing.
    wire ready = tested && !failed;
    sdram_rows #(.BITS(BITS), .ROW(ROW), .DATA(DATA), .ADDRESS(PLACE), .WORDS(WORDS), .LOG2_WORDS(LOG2_WORDS)) keeper (
        .clock(clock), .reset(power_on), .flush(flush), .row(row), .write(write), .may_write(may_write_row), .data(data),
        .ask(ask), .may_ask(may_ask_row), .available(available), .take(take), .value(value),
        .command(rows_command), .writes(rows_writes), .address(rows_address), .accepted(accepted && tested),
        .word(rows_word), .word_there(rows_word_there), .word_taken(word_taken && tested),
        .read(read), .read_there(read_there && tested)
    );
    assign may_write = may_write_row && ready;
    assign may_ask = may_ask_row && ready;
    assign status = ready ? READY : tested ? FAILED : STARTING;
    assign wrong = {{(32 - PLACE){1'b0}}, wrong_address};

    sdram_core core (
        .clk(clock), .rst(power_on), .init_done(), .init_error(), .user_clk(), .user_rst(),
//CONNECTED
        .wb_ctrl_adr(control_address), .wb_ctrl_dat_w(control_data), .wb_ctrl_dat_r(), .wb_ctrl_sel(4'hf), .wb_ctrl_we(1'b1),
        .wb_ctrl_cyc(control_request), .wb_ctrl_stb(control_request), .wb_ctrl_ack(control_done), .wb_ctrl_err(),
        .wb_ctrl_cti(3'd0), .wb_ctrl_bte(2'd0),
        .user_port_0_cmd_valid(tested ? rows_command : test_command), .user_port_0_cmd_we(tested ? rows_writes : test_writes),
        .user_port_0_cmd_addr(tested ? rows_address : test_address), .user_port_0_cmd_ready(accepted),
        .user_port_0_wdata_valid(tested ? rows_word_there : test_word_there), .user_port_0_wdata_data(tested ? rows_word : test_word),
        .user_port_0_wdata_we({(DATA / 8){1'b1}}), .user_port_0_wdata_ready(word_taken),
        .user_port_0_rdata_valid(read_there), .user_port_0_rdata_data(read), .user_port_0_rdata_ready(1'b1)
    );
//CLOCK
endmodule
