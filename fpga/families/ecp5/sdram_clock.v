    // A register beside the pin gives its first input while the clock is high.
    ODDRX1F sdram_clock_cell (.SCLK(clock), .RST(1'b0), .D0(1'b0), .D1(1'b1), .Q(sdram_clock));
