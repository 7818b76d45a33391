    rPLL #(
        .FCLKIN("@pin_mhz@"), .DEVICE("GW1NR-9C"), .IDIV_SEL(@reference_less_one@), .FBDIV_SEL(@feedback_less_one@), .ODIV_SEL(@output@),
        .DYN_IDIV_SEL("false"), .DYN_FBDIV_SEL("false"), .DYN_ODIV_SEL("false"), .CLKFB_SEL("internal")
    ) pll (
        .CLKIN(clock_pin), .CLKOUT(clock), .LOCK(locked), .CLKOUTP(), .CLKOUTD(), .CLKOUTD3(), .RESET(1'b0), .RESET_P(1'b0),
        .CLKFB(1'b0), .FBDSEL(6'b0), .IDSEL(6'b0), .ODSEL(6'b0), .PSDA(4'b0), .DUTYDA(4'b0), .FDLY(4'b0)
    );
