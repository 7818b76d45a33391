    wire made;
    CC_PLL #(
        .REF_CLK("@pin_mhz@"), .OUT_CLK("@clock_mhz@"), .PERF_MD("ECONOMY"), .LOW_JITTER(1), .LOCK_REQ(1),
        .CI_FILTER_CONST(2), .CP_FILTER_CONST(4)
    ) pll (
        .CLK_REF(clock_pin), .USR_CLK_REF(1'b0), .CLK_FEEDBACK(1'b0), .USR_LOCKED_STDY_RST(1'b0),
        .USR_PLL_LOCKED_STDY(), .USR_PLL_LOCKED(locked), .CLK0(made), .CLK90(), .CLK180(), .CLK270(), .CLK_REF_OUT()
    );
    CC_BUFG buffer (.I(made), .O(clock));
