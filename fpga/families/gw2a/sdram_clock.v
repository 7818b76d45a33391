    // A register beside the pin gives its first input while the clock is high.
    ODDR sdram_clock_cell (.CLK(clock), .TX(1'b0), .D0(1'b0), .D1(1'b1), .Q0(sdram_clock), .Q1());
