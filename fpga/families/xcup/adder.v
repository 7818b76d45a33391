wire [47:0] @name@_a = @a@;
DSP48E2 #(
    .USE_MULT("NONE"), .AMULTSEL("A"), .BMULTSEL("B"), .A_INPUT("DIRECT"), .B_INPUT("DIRECT"), .USE_SIMD("ONE48"),
    .AREG(@held@), .ACASCREG(@held@), .BREG(@held@), .BCASCREG(@held@), .CREG(@held@), .MREG(0), .PREG(1), .ADREG(0), .DREG(0),
    .INMODEREG(0), .OPMODEREG(0), .ALUMODEREG(0), .CARRYINREG(0), .CARRYINSELREG(0)
) @name@ (
    .CLK(clock), .A(@name@_a[47:18]), .B(@name@_a[17:0]), .C(@b@), .D(27'd0),
    // X is A and B side by side, Y is C, Z is the neighbour's sum or 0.
    .OPMODE({2'b00, 3'd@z@, 4'b1111}), .ALUMODE(4'd0), .INMODE(5'd0),
    .CARRYIN(1'b0), .CARRYINSEL(3'd0), .ACIN(30'd0), .BCIN(18'd0), .PCIN(@below@), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
    .CEA1(1'b0), .CEA2(1'b1), .CEB1(1'b0), .CEB2(1'b1), .CEC(1'b1), .CEM(1'b0), .CEP(1'b1), .CED(1'b0), .CEAD(1'b0),
    .CEINMODE(1'b0), .CECTRL(1'b0), .CEALUMODE(1'b0), .CECARRYIN(1'b0),
    .RSTA(@clear@), .RSTB(@clear@), .RSTC(@clear@), .RSTM(1'b0), .RSTP(@held@ == 0 && @clear@), .RSTD(1'b0),
    .RSTINMODE(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTALLCARRYIN(1'b0),
    .P(@sum@), .ACOUT(), .BCOUT(), .PCOUT(@up@), .CARRYOUT(), .CARRYCASCOUT(), .MULTSIGNOUT(), .OVERFLOW(), .UNDERFLOW(),
    .PATTERNDETECT(), .PATTERNBDETECT(), .XOROUT()
);
