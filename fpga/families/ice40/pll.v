    SB_PLL40_PAD #(
        .FEEDBACK_PATH("SIMPLE"), .PLLOUT_SELECT("GENCLK"), .DIVR(4'd@reference_less_one@), .DIVF(7'd@feedback_less_one@), .DIVQ(3'd@output_log2@), .FILTER_RANGE(3'd@filter@)
    ) pll (
        .PACKAGEPIN(clock_pin), .PLLOUTGLOBAL(clock), .LOCK(locked), .RESETB(1'b1), .BYPASS(1'b0)
    );
