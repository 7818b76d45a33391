wire [17:0] factor_a = @a@;
wire [17:0] factor_b = @b@;
wire [35:0] block_product;
@unused@MULT18X18D #(
    .REG_INPUTA_CLK("CLK0"), .REG_INPUTA_CE("CE0"), .REG_INPUTA_RST("RST0"),
    .REG_INPUTB_CLK("CLK0"), .REG_INPUTB_CE("CE0"), .REG_INPUTB_RST("RST0"),
    .REG_OUTPUT_CLK("CLK0"), .REG_OUTPUT_CE("CE0"), .REG_OUTPUT_RST("RST1"),
    .REG_INPUTC_CLK("NONE"), .REG_PIPELINE_CLK("NONE"), .RESETMODE("SYNC"), .GSR("DISABLED")
) block (
    .A0(factor_a[0]), .A1(factor_a[1]), .A2(factor_a[2]), .A3(factor_a[3]), .A4(factor_a[4]), .A5(factor_a[5]), .A6(factor_a[6]), .A7(factor_a[7]), .A8(factor_a[8]),
    .A9(factor_a[9]), .A10(factor_a[10]), .A11(factor_a[11]), .A12(factor_a[12]), .A13(factor_a[13]), .A14(factor_a[14]), .A15(factor_a[15]), .A16(factor_a[16]), .A17(factor_a[17]),
    .B0(factor_b[0]), .B1(factor_b[1]), .B2(factor_b[2]), .B3(factor_b[3]), .B4(factor_b[4]), .B5(factor_b[5]), .B6(factor_b[6]), .B7(factor_b[7]), .B8(factor_b[8]),
    .B9(factor_b[9]), .B10(factor_b[10]), .B11(factor_b[11]), .B12(factor_b[12]), .B13(factor_b[13]), .B14(factor_b[14]), .B15(factor_b[15]), .B16(factor_b[16]), .B17(factor_b[17]),
    .P0(block_product[0]), .P1(block_product[1]), .P2(block_product[2]), .P3(block_product[3]), .P4(block_product[4]), .P5(block_product[5]), .P6(block_product[6]), .P7(block_product[7]), .P8(block_product[8]),
    .P9(block_product[9]), .P10(block_product[10]), .P11(block_product[11]), .P12(block_product[12]), .P13(block_product[13]), .P14(block_product[14]), .P15(block_product[15]), .P16(block_product[16]), .P17(block_product[17]),
    .P18(block_product[18]), .P19(block_product[19]), .P20(block_product[20]), .P21(block_product[21]), .P22(block_product[22]), .P23(block_product[23]), .P24(block_product[24]), .P25(block_product[25]), .P26(block_product[26]),
    .P27(block_product[27]), .P28(block_product[28]), .P29(block_product[29]), .P30(block_product[30]), .P31(block_product[31]), .P32(block_product[32]), .P33(block_product[33]), .P34(block_product[34]), .P35(block_product[35]),
    .CLK0(clock), .CE0(1'b1), .RST0(@clear@), .RST1(1'b0),
    .SIGNEDA(1'b1), .SIGNEDB(1'b1), .SOURCEA(1'b0), .SOURCEB(1'b0)
);
