// Models of the two ECP5 blocks that yosys knows as black boxes only, as far as its mapping uses them: what lattice/brams_16kd.txt
// and lattice/dsp_map_18x18.v of yosys promise, and the optional registers. Only for the simulation of netlists.

// Block RAM: 2048 units of 9 bits, two ports.
module DP16KD (
    input DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9,
    input DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
    input ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9,
    input ADA10, ADA11, ADA12, ADA13,
    input CEA, OCEA, CLKA, WEA, RSTA, CSA0, CSA1, CSA2,
    output DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8, DOA9,
    output DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
    input DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9,
    input DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
    input ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9,
    input ADB10, ADB11, ADB12, ADB13,
    input CEB, OCEB, CLKB, WEB, RSTB, CSB0, CSB1, CSB2,
    output DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9,
    output DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);
    parameter DATA_WIDTH_A = 18;
    parameter DATA_WIDTH_B = 18;
    parameter REGMODE_A = "NOREG";
    parameter REGMODE_B = "NOREG";
    parameter WRITEMODE_A = "NORMAL";
    parameter WRITEMODE_B = "NORMAL";
    parameter RESETMODE = "SYNC";
    parameter ASYNC_RESET_RELEASE = "SYNC";
    parameter CSDECODE_A = "0b000";
    parameter CSDECODE_B = "0b000";
    parameter CLKAMUX = "CLKA";
    parameter CLKBMUX = "CLKB";
    parameter GSR = "DISABLED";
    parameter INIT_DATA = "STATIC";
    parameter [319:0] INITVAL_00 = 320'd0;
    parameter [319:0] INITVAL_01 = 320'd0;
    parameter [319:0] INITVAL_02 = 320'd0;
    parameter [319:0] INITVAL_03 = 320'd0;
    parameter [319:0] INITVAL_04 = 320'd0;
    parameter [319:0] INITVAL_05 = 320'd0;
    parameter [319:0] INITVAL_06 = 320'd0;
    parameter [319:0] INITVAL_07 = 320'd0;
    parameter [319:0] INITVAL_08 = 320'd0;
    parameter [319:0] INITVAL_09 = 320'd0;
    parameter [319:0] INITVAL_0A = 320'd0;
    parameter [319:0] INITVAL_0B = 320'd0;
    parameter [319:0] INITVAL_0C = 320'd0;
    parameter [319:0] INITVAL_0D = 320'd0;
    parameter [319:0] INITVAL_0E = 320'd0;
    parameter [319:0] INITVAL_0F = 320'd0;
    parameter [319:0] INITVAL_10 = 320'd0;
    parameter [319:0] INITVAL_11 = 320'd0;
    parameter [319:0] INITVAL_12 = 320'd0;
    parameter [319:0] INITVAL_13 = 320'd0;
    parameter [319:0] INITVAL_14 = 320'd0;
    parameter [319:0] INITVAL_15 = 320'd0;
    parameter [319:0] INITVAL_16 = 320'd0;
    parameter [319:0] INITVAL_17 = 320'd0;
    parameter [319:0] INITVAL_18 = 320'd0;
    parameter [319:0] INITVAL_19 = 320'd0;
    parameter [319:0] INITVAL_1A = 320'd0;
    parameter [319:0] INITVAL_1B = 320'd0;
    parameter [319:0] INITVAL_1C = 320'd0;
    parameter [319:0] INITVAL_1D = 320'd0;
    parameter [319:0] INITVAL_1E = 320'd0;
    parameter [319:0] INITVAL_1F = 320'd0;
    parameter [319:0] INITVAL_20 = 320'd0;
    parameter [319:0] INITVAL_21 = 320'd0;
    parameter [319:0] INITVAL_22 = 320'd0;
    parameter [319:0] INITVAL_23 = 320'd0;
    parameter [319:0] INITVAL_24 = 320'd0;
    parameter [319:0] INITVAL_25 = 320'd0;
    parameter [319:0] INITVAL_26 = 320'd0;
    parameter [319:0] INITVAL_27 = 320'd0;
    parameter [319:0] INITVAL_28 = 320'd0;
    parameter [319:0] INITVAL_29 = 320'd0;
    parameter [319:0] INITVAL_2A = 320'd0;
    parameter [319:0] INITVAL_2B = 320'd0;
    parameter [319:0] INITVAL_2C = 320'd0;
    parameter [319:0] INITVAL_2D = 320'd0;
    parameter [319:0] INITVAL_2E = 320'd0;
    parameter [319:0] INITVAL_2F = 320'd0;
    parameter [319:0] INITVAL_30 = 320'd0;
    parameter [319:0] INITVAL_31 = 320'd0;
    parameter [319:0] INITVAL_32 = 320'd0;
    parameter [319:0] INITVAL_33 = 320'd0;
    parameter [319:0] INITVAL_34 = 320'd0;
    parameter [319:0] INITVAL_35 = 320'd0;
    parameter [319:0] INITVAL_36 = 320'd0;
    parameter [319:0] INITVAL_37 = 320'd0;
    parameter [319:0] INITVAL_38 = 320'd0;
    parameter [319:0] INITVAL_39 = 320'd0;
    parameter [319:0] INITVAL_3A = 320'd0;
    parameter [319:0] INITVAL_3B = 320'd0;
    parameter [319:0] INITVAL_3C = 320'd0;
    parameter [319:0] INITVAL_3D = 320'd0;
    parameter [319:0] INITVAL_3E = 320'd0;
    parameter [319:0] INITVAL_3F = 320'd0;
    localparam [20479:0] INITIAL = {INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
        INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
        INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
        INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
        INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
        INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
        INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
        INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00};

    reg [8:0] memory [0:2047];
    integer index;
    initial for (index = 0; index < 2048; index = index + 1)
        memory[index] = INITIAL[(index >> 1) * 20 + (index & 1) * 9 +: 9];

    wire [13:0] address_A = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
    wire [17:0] half_A = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
    wire [13:0] address_B = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
    wire [17:0] half_B = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
    // A port of 36 bits writes what is at both halves (port A), and is read at both halves (port B).
    wire [35:0] data_A = {half_B, half_A};
    wire [35:0] data_B = {18'd0, half_B};

    wire [8:0] unit_A = memory[address_A[13:3]];
    wire [35:0] word_A =
        DATA_WIDTH_A == 36 ? {memory[{address_A[13:5], 2'd3}], memory[{address_A[13:5], 2'd2}],
                             memory[{address_A[13:5], 2'd1}], memory[{address_A[13:5], 2'd0}]} :
        DATA_WIDTH_A == 18 ? {18'd0, memory[{address_A[13:4], 1'b1}], memory[{address_A[13:4], 1'b0}]} :
        DATA_WIDTH_A == 9 ? {27'd0, unit_A} :
        DATA_WIDTH_A == 4 ? {32'd0, unit_A[{address_A[2], 2'd0} +: 4]} :
        DATA_WIDTH_A == 2 ? {34'd0, unit_A[{address_A[2:1], 1'd0} +: 2]} : {35'd0, unit_A[address_A[2:0]]};
    reg [35:0] read_A = 36'd0;
    reg [35:0] delayed_A = 36'd0;
    wire clock_A = CLKAMUX == "INV" ? !CLKA : CLKA;
    integer part_A;
    always @(posedge clock_A) begin
        if (RSTA) read_A <= 36'd0;
        else if (CEA && !(WEA && WRITEMODE_A == "NORMAL")) read_A <= WEA && WRITEMODE_A == "WRITETHROUGH" ? data_A : word_A;
        if (RSTA) delayed_A <= 36'd0;
        else if (OCEA) delayed_A <= read_A;
        if (CEA && WEA)
            case (DATA_WIDTH_A)
                36: for (part_A = 0; part_A < 4; part_A = part_A + 1)
                    if (address_A[part_A]) memory[{address_A[13:5], part_A[1:0]}] <= data_A[part_A * 9 +: 9];
                18: for (part_A = 0; part_A < 2; part_A = part_A + 1)
                    if (address_A[part_A]) memory[{address_A[13:4], part_A[0]}] <= data_A[part_A * 9 +: 9];
                9: memory[address_A[13:3]] <= data_A[8:0];
                4: memory[address_A[13:3]][{1'b0, address_A[2], 2'd0} +: 4] <= data_A[3:0];
                2: memory[address_A[13:3]][{1'b0, address_A[2:1], 1'd0} +: 2] <= data_A[1:0];
                default: memory[address_A[13:3]][{1'b0, address_A[2:0]}] <= data_A[0];
            endcase
    end
    wire [35:0] out_A = REGMODE_A == "OUTREG" ? delayed_A : read_A;

    wire [8:0] unit_B = memory[address_B[13:3]];
    wire [35:0] word_B =
        DATA_WIDTH_B == 36 ? {memory[{address_B[13:5], 2'd3}], memory[{address_B[13:5], 2'd2}],
                             memory[{address_B[13:5], 2'd1}], memory[{address_B[13:5], 2'd0}]} :
        DATA_WIDTH_B == 18 ? {18'd0, memory[{address_B[13:4], 1'b1}], memory[{address_B[13:4], 1'b0}]} :
        DATA_WIDTH_B == 9 ? {27'd0, unit_B} :
        DATA_WIDTH_B == 4 ? {32'd0, unit_B[{address_B[2], 2'd0} +: 4]} :
        DATA_WIDTH_B == 2 ? {34'd0, unit_B[{address_B[2:1], 1'd0} +: 2]} : {35'd0, unit_B[address_B[2:0]]};
    reg [35:0] read_B = 36'd0;
    reg [35:0] delayed_B = 36'd0;
    wire clock_B = CLKBMUX == "INV" ? !CLKB : CLKB;
    integer part_B;
    always @(posedge clock_B) begin
        if (RSTB) read_B <= 36'd0;
        else if (CEB && !(WEB && WRITEMODE_B == "NORMAL")) read_B <= WEB && WRITEMODE_B == "WRITETHROUGH" ? data_B : word_B;
        if (RSTB) delayed_B <= 36'd0;
        else if (OCEB) delayed_B <= read_B;
        if (CEB && WEB)
            case (DATA_WIDTH_B)
                36: for (part_B = 0; part_B < 4; part_B = part_B + 1)
                    if (address_B[part_B]) memory[{address_B[13:5], part_B[1:0]}] <= data_B[part_B * 9 +: 9];
                18: for (part_B = 0; part_B < 2; part_B = part_B + 1)
                    if (address_B[part_B]) memory[{address_B[13:4], part_B[0]}] <= data_B[part_B * 9 +: 9];
                9: memory[address_B[13:3]] <= data_B[8:0];
                4: memory[address_B[13:3]][{1'b0, address_B[2], 2'd0} +: 4] <= data_B[3:0];
                2: memory[address_B[13:3]][{1'b0, address_B[2:1], 1'd0} +: 2] <= data_B[1:0];
                default: memory[address_B[13:3]][{1'b0, address_B[2:0]}] <= data_B[0];
            endcase
    end
    wire [35:0] out_B = REGMODE_B == "OUTREG" ? delayed_B : read_B;

    assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = DATA_WIDTH_B == 36 ? out_B[17:0] : out_A[17:0];
    assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = DATA_WIDTH_B == 36 ? out_B[35:18] : out_B[17:0];
endmodule

// Multiplier, 18 x 18 bits. Registers use CLK0 and CE0; each has a reset of its own choice.
module MULT18X18D (
    input A0, A1, A2, A3, A4, A5, A6, A7, A8, A9,
    input A10, A11, A12, A13, A14, A15, A16, A17,
    input B0, B1, B2, B3, B4, B5, B6, B7, B8, B9,
    input B10, B11, B12, B13, B14, B15, B16, B17,
    input C0, C1, C2, C3, C4, C5, C6, C7, C8, C9,
    input C10, C11, C12, C13, C14, C15, C16, C17,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
    input CLK0, CLK1, CLK2, CLK3, CE0, CE1, CE2, CE3, RST0, RST1, RST2, RST3,
    input SRIA0, SRIA1, SRIA2, SRIA3, SRIA4, SRIA5, SRIA6, SRIA7, SRIA8, SRIA9,
    input SRIA10, SRIA11, SRIA12, SRIA13, SRIA14, SRIA15, SRIA16, SRIA17,
    input SRIB0, SRIB1, SRIB2, SRIB3, SRIB4, SRIB5, SRIB6, SRIB7, SRIB8, SRIB9,
    input SRIB10, SRIB11, SRIB12, SRIB13, SRIB14, SRIB15, SRIB16, SRIB17,
    output SROA0, SROA1, SROA2, SROA3, SROA4, SROA5, SROA6, SROA7, SROA8, SROA9,
    output SROA10, SROA11, SROA12, SROA13, SROA14, SROA15, SROA16, SROA17,
    output SROB0, SROB1, SROB2, SROB3, SROB4, SROB5, SROB6, SROB7, SROB8, SROB9,
    output SROB10, SROB11, SROB12, SROB13, SROB14, SROB15, SROB16, SROB17,
    output ROA0, ROA1, ROA2, ROA3, ROA4, ROA5, ROA6, ROA7, ROA8, ROA9,
    output ROA10, ROA11, ROA12, ROA13, ROA14, ROA15, ROA16, ROA17,
    output ROB0, ROB1, ROB2, ROB3, ROB4, ROB5, ROB6, ROB7, ROB8, ROB9,
    output ROB10, ROB11, ROB12, ROB13, ROB14, ROB15, ROB16, ROB17,
    output ROC0, ROC1, ROC2, ROC3, ROC4, ROC5, ROC6, ROC7, ROC8, ROC9,
    output ROC10, ROC11, ROC12, ROC13, ROC14, ROC15, ROC16, ROC17,
    output P0, P1, P2, P3, P4, P5, P6, P7, P8, P9,
    output P10, P11, P12, P13, P14, P15, P16, P17, P18, P19,
    output P20, P21, P22, P23, P24, P25, P26, P27, P28, P29,
    output P30, P31, P32, P33, P34, P35,
    output SIGNEDP
);
    parameter REG_INPUTA_CLK = "NONE";
    parameter REG_INPUTB_CLK = "NONE";
    parameter REG_INPUTC_CLK = "NONE";
    parameter REG_PIPELINE_CLK = "NONE";
    parameter REG_OUTPUT_CLK = "NONE";
    parameter REG_INPUTA_CE = "CE0";
    parameter REG_INPUTA_RST = "RST0";
    parameter REG_INPUTB_CE = "CE0";
    parameter REG_INPUTB_RST = "RST0";
    parameter REG_INPUTC_CE = "CE0";
    parameter REG_INPUTC_RST = "RST0";
    parameter REG_PIPELINE_CE = "CE0";
    parameter REG_PIPELINE_RST = "RST0";
    parameter REG_OUTPUT_CE = "CE0";
    parameter REG_OUTPUT_RST = "RST0";
    parameter CLK0_DIV = "ENABLED";
    parameter CLK1_DIV = "ENABLED";
    parameter CLK2_DIV = "ENABLED";
    parameter CLK3_DIV = "ENABLED";
    parameter HIGHSPEED_CLK = "NONE";
    parameter GSR = "ENABLED";
    parameter CAS_MATCH_REG = "FALSE";
    parameter SOURCEB_MODE = "B_SHIFT";
    parameter MULT_BYPASS = "DISABLED";
    parameter RESETMODE = "SYNC";

    wire signed [18:0] a_in = {SIGNEDA & A17, A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
    wire signed [18:0] b_in = {SIGNEDB & B17, B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
    wire a_reset = REG_INPUTA_RST == "RST0" ? RST0 : REG_INPUTA_RST == "RST1" ? RST1 : REG_INPUTA_RST == "RST2" ? RST2 : RST3;
    wire b_reset = REG_INPUTB_RST == "RST0" ? RST0 : REG_INPUTB_RST == "RST1" ? RST1 : REG_INPUTB_RST == "RST2" ? RST2 : RST3;
    wire pipeline_reset = REG_PIPELINE_RST == "RST0" ? RST0 : REG_PIPELINE_RST == "RST1" ? RST1 : REG_PIPELINE_RST == "RST2" ? RST2 : RST3;
    wire out_reset = REG_OUTPUT_RST == "RST0" ? RST0 : REG_OUTPUT_RST == "RST1" ? RST1 : REG_OUTPUT_RST == "RST2" ? RST2 : RST3;
    reg signed [18:0] a_register = 19'd0;
    reg signed [18:0] b_register = 19'd0;
    wire signed [18:0] a = REG_INPUTA_CLK == "NONE" ? a_in : a_register;
    wire signed [18:0] b = REG_INPUTB_CLK == "NONE" ? b_in : b_register;
    wire signed [37:0] product = a * b;
    reg [35:0] pipeline_register = 36'd0;
    wire [35:0] pipeline = REG_PIPELINE_CLK == "NONE" ? product[35:0] : pipeline_register;
    reg [35:0] out_register = 36'd0;
    always @(posedge CLK0) begin
        if (a_reset) a_register <= 19'd0;
        else if (CE0) a_register <= a_in;
        if (b_reset) b_register <= 19'd0;
        else if (CE0) b_register <= b_in;
        if (pipeline_reset) pipeline_register <= 36'd0;
        else if (CE0) pipeline_register <= product[35:0];
        if (out_reset) out_register <= 36'd0;
        else if (CE0) out_register <= pipeline;
    end
    assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = REG_OUTPUT_CLK == "NONE" ? pipeline : out_register;
    assign SIGNEDP = SIGNEDA | SIGNEDB;
endmodule
