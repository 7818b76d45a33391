// multiply_add: one DSP48E2, which multiplies, adds or subtracts, and accumulates.
wire [47:0] total;
@unused@assign sum = total[@last@:0];
DSP48E2 #(
    .USE_MULT("MULTIPLY"), .AMULTSEL("A"), .BMULTSEL("AD"), .PREADDINSEL("B"), .A_INPUT("DIRECT"), .B_INPUT("DIRECT"), .USE_SIMD("ONE48"),
    .AREG(1), .ACASCREG(1), .BREG(1), .BCASCREG(1), .CREG(1), .MREG(1), .PREG(1), .ADREG(0), .DREG(1),
    .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINREG(0), .CARRYINSELREG(0)
) block (
    .CLK(clock), .A(@a@), .B(@b@), .C(@c@), .D(@added@),
    // Z is C or P; X and Y are the product of A and B + D.
    .OPMODE({2'b00, 2'b01, first, 4'b0101}), .ALUMODE({2'b00, {2{combine[0]}}}), .INMODE(5'b00100),
    .CARRYIN(1'b0), .CARRYINSEL(3'd0), .ACIN(30'd0), .BCIN(18'd0), .PCIN(48'd0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
    .CEA1(1'b0), .CEA2(1'b1), .CEB1(1'b0), .CEB2(1'b1), .CEC(1'b1), .CEM(1'b1), .CEP(valid), .CED(1'b1), .CEAD(1'b0),
    .CEINMODE(1'b0), .CECTRL(1'b0), .CEALUMODE(1'b0), .CECARRYIN(1'b0),
    .RSTA(~admitted), .RSTB(@without_b@), .RSTC(1'b0), .RSTM(1'b0), .RSTP(1'b0), .RSTD(~admitted),
    .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
    .P(total), .ACOUT(), .BCOUT(), .PCOUT(), .CARRYOUT(), .CARRYCASCOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
    .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
);
