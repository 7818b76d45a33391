    wire feedback;
    (* ICP_CURRENT="12", LPF_RESISTOR="8", MFG_ENABLE_FILTEROPAMP="1", MFG_GMCREF_SEL="2" *)
    EHXPLLL #(
        .PLLRST_ENA("DISABLED"), .INTFB_WAKE("DISABLED"), .STDBY_ENABLE("DISABLED"), .DPHASE_SOURCE("DISABLED"),
        .OUTDIVIDER_MUXA("DIVA"), .OUTDIVIDER_MUXB("DIVB"), .OUTDIVIDER_MUXC("DIVC"), .OUTDIVIDER_MUXD("DIVD"),
        .CLKI_DIV(@reference@), .FEEDBK_PATH("CLKOP"), .CLKFB_DIV(1),
        .CLKOP_ENABLE("ENABLED"), .CLKOP_DIV(@feedback@), .CLKOP_CPHASE(@feedback_less_one@), .CLKOP_FPHASE(0),
        .CLKOS_ENABLE("ENABLED"), .CLKOS_DIV(@output@), .CLKOS_CPHASE(@output_less_one@), .CLKOS_FPHASE(0)
    ) pll (
        .CLKI(clock_pin), .CLKOP(feedback), .CLKOS(clock), .CLKFB(feedback), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .CLKINTFB(), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0), .ENCLKOS(1'b0)
    );
