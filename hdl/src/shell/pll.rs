//! PLLs: the numbers that make the grid's clock from the board's, and the instance of the family's primitive.
//!
//!     pin ──÷ reference──▶ phase detector ──▶ oscillator ──÷ output──▶ clock
//!                              ▲                  │
//!                              └──── ÷ feedback ──┘
//!
//! | family | clock | detector (MHz) | oscillator (MHz) | source |
//! |---|---|---|---|---|
//! | ECP5 | pin * feedback / (reference * output) | 10..400 | 400..800 | Lattice FPGA-DS-02012, 3.20 |
//! | iCE40 UP | pin * feedback / (reference * output) | 10..133 | 533..1066 | Lattice FPGA-DS-02008, 4.14 |
//! | GW1N(R)-9C C6 | pin * feedback / reference | 3..400 | 400..1200 | Gowin DS117 |
//! | GW2A(R)-18C C8 | pin * feedback / reference | 3..500 | 500..1250 | Gowin DS226 |
//!
//! Of all settings the closest one is taken; among those, the one whose detector runs fastest (it jitters least), then the one whose
//! oscillator is nearest to the middle of its range.

use super::ShellError;

/// A family's PLL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pll {
    /// None: the grid runs at the clock of the pin.
    Bypass,
    /// Lattice ECP5, `EHXPLLL`.
    Ecp5,
    /// Lattice `iCE40` `UltraPlus`, `SB_PLL40_PAD`.
    Ice40,
    /// Gowin GW1NR-9C, `rPLL`.
    Gw1n,
    /// Gowin GW2AR-18C, `rPLL`.
    Gw2a,
}

/// Numbers of one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) reference: u64,
    pub(super) feedback: u64,
    pub(super) output: u64,
    /// The clock that comes out.
    pub(super) hz: u64,
    /// The detector's frequency.
    pub(super) detector: u64,
}

const MHZ: u64 = 1_000_000;
/// How far the clock may be off what was asked for.
const MOST_ERROR: f64 = 0.005;

/// What a PLL can do, in Hz where it is a frequency.
struct Limits {
    reference: u64,
    feedback: u64,
    outputs: Vec<u64>,
    detector: (u64, u64),
    oscillator: (u64, u64),
    /// Whether the oscillator is `detector * feedback` (else `clock * output`).
    feedback_of_oscillator: bool,
}

impl Pll {
    fn limits(self) -> Option<Limits> {
        let mhz = |low, high| (low * MHZ, high * MHZ);
        let gowin = || vec![2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128];
        Some(match self {
            Pll::Bypass => return None,
            Pll::Ecp5 => Limits {
                reference: 128,
                feedback: 128,
                outputs: (1..=128).collect(),
                detector: mhz(10, 400),
                oscillator: mhz(400, 800),
                feedback_of_oscillator: true,
            },
            Pll::Ice40 => Limits {
                reference: 16,
                feedback: 128,
                outputs: (1..=6).map(|shift| 1 << shift).collect(),
                detector: mhz(10, 133),
                oscillator: mhz(533, 1066),
                feedback_of_oscillator: true,
            },
            Pll::Gw1n => Limits {
                reference: 64,
                feedback: 64,
                outputs: gowin(),
                detector: mhz(3, 400),
                oscillator: mhz(400, 1200),
                feedback_of_oscillator: false,
            },
            Pll::Gw2a => Limits {
                reference: 64,
                feedback: 64,
                outputs: gowin(),
                detector: mhz(3, 500),
                oscillator: mhz(500, 1250),
                feedback_of_oscillator: false,
            },
        })
    }

    /// Every setting, with its oscillator's frequency.
    fn settings(self, pin: u64) -> Vec<(Setting, u64)> {
        let Some(limits) = self.limits() else {
            return vec![(Setting { reference: 1, feedback: 1, output: 1, hz: pin, detector: pin }, pin)];
        };
        let within = |value: u64, (low, high): (u64, u64)| (low..=high).contains(&value);
        let mut found = Vec::new();
        for reference in 1..=limits.reference {
            let detector = pin / reference;
            if !within(detector, limits.detector) {
                continue;
            }
            for feedback in 1..=limits.feedback {
                let product = pin * feedback / reference;
                for &output in &limits.outputs {
                    let (hz, oscillator) = if limits.feedback_of_oscillator {
                        (product / output, product)
                    } else {
                        (product, product * output)
                    };
                    if within(oscillator, limits.oscillator) {
                        found.push((Setting { reference, feedback, output, hz, detector }, oscillator));
                    }
                }
            }
        }
        found
    }

    /// The setting that comes closest.
    ///
    /// # Errors
    /// The closest one is too far off.
    pub(super) fn setting(self, pin: u64, wanted: u64) -> Result<Setting, ShellError> {
        let middle = self.limits().map_or(0, |limits| u64::midpoint(limits.oscillator.0, limits.oscillator.1));
        let best = self.settings(pin).into_iter().min_by_key(|(setting, oscillator)| {
            (setting.hz.abs_diff(wanted), setting.reference, oscillator.abs_diff(middle), setting.output)
        });
        let (setting, _) = best.ok_or(ShellError::NoClock { pin_hz: pin })?;
        let error = setting.hz.abs_diff(wanted) as f64 / wanted.max(1) as f64;
        if error > MOST_ERROR {
            return Err(ShellError::Clock { pin_hz: pin, wanted_hz: wanted, nearest_hz: setting.hz });
        }
        Ok(setting)
    }

    /// The instance: from `clock_pin` to `clock`, with `locked`.
    pub(super) fn instance(self, pin: u64, setting: Setting) -> String {
        let Setting { reference, feedback, output, detector, .. } = setting;
        match self {
            Pll::Bypass => "    assign clock = clock_pin;\n    assign locked = 1'b1;\n".to_owned(),
            // CLKOP closes the loop, CLKOS is the clock; CPHASE delays an output by a whole number of oscillator cycles, less one.
            Pll::Ecp5 => format!(
                "    wire feedback;
    (* ICP_CURRENT=\"12\", LPF_RESISTOR=\"8\", MFG_ENABLE_FILTEROPAMP=\"1\", MFG_GMCREF_SEL=\"2\" *)
    EHXPLLL #(
        .PLLRST_ENA(\"DISABLED\"), .INTFB_WAKE(\"DISABLED\"), .STDBY_ENABLE(\"DISABLED\"), .DPHASE_SOURCE(\"DISABLED\"),
        .OUTDIVIDER_MUXA(\"DIVA\"), .OUTDIVIDER_MUXB(\"DIVB\"), .OUTDIVIDER_MUXC(\"DIVC\"), .OUTDIVIDER_MUXD(\"DIVD\"),
        .CLKI_DIV({reference}), .FEEDBK_PATH(\"CLKOP\"), .CLKFB_DIV(1),
        .CLKOP_ENABLE(\"ENABLED\"), .CLKOP_DIV({feedback}), .CLKOP_CPHASE({}), .CLKOP_FPHASE(0),
        .CLKOS_ENABLE(\"ENABLED\"), .CLKOS_DIV({output}), .CLKOS_CPHASE({}), .CLKOS_FPHASE(0)
    ) pll (
        .CLKI(clock_pin), .CLKOP(feedback), .CLKOS(clock), .CLKFB(feedback), .LOCK(locked), .RST(1'b0), .STDBY(1'b0),
        .CLKINTFB(), .PHASESEL0(1'b0), .PHASESEL1(1'b0), .PHASEDIR(1'b1), .PHASESTEP(1'b1), .PHASELOADREG(1'b1),
        .PLLWAKESYNC(1'b0), .ENCLKOP(1'b0), .ENCLKOS(1'b0)
    );\n",
                feedback - 1,
                output - 1
            ),
            Pll::Ice40 => {
                let filter = [17, 26, 44, 66, 101].iter().filter(|&&limit| detector >= limit * MHZ).count() + 1;
                format!(
                    "    SB_PLL40_PAD #(
        .FEEDBACK_PATH(\"SIMPLE\"), .PLLOUT_SELECT(\"GENCLK\"), .DIVR(4'd{}), .DIVF(7'd{}), .DIVQ(3'd{}), .FILTER_RANGE(3'd{filter})
    ) pll (
        .PACKAGEPIN(clock_pin), .PLLOUTGLOBAL(clock), .LOCK(locked), .RESETB(1'b1), .BYPASS(1'b0)
    );\n",
                    reference - 1,
                    feedback - 1,
                    output.ilog2()
                )
            }
            Pll::Gw1n | Pll::Gw2a => format!(
                "    rPLL #(
        .FCLKIN(\"{}\"), .DEVICE(\"{}\"), .IDIV_SEL({}), .FBDIV_SEL({}), .ODIV_SEL({output}),
        .DYN_IDIV_SEL(\"false\"), .DYN_FBDIV_SEL(\"false\"), .DYN_ODIV_SEL(\"false\"), .CLKFB_SEL(\"internal\")
    ) pll (
        .CLKIN(clock_pin), .CLKOUT(clock), .LOCK(locked), .CLKOUTP(), .CLKOUTD(), .CLKOUTD3(), .RESET(1'b0), .RESET_P(1'b0),
        .CLKFB(1'b0), .FBDSEL(6'b0), .IDSEL(6'b0), .ODSEL(6'b0), .PSDA(4'b0), .DUTYDA(4'b0), .FDLY(4'b0)
    );\n",
                pin as f64 / MHZ as f64,
                if self == Pll::Gw1n { "GW1NR-9C" } else { "GW2AR-18C" },
                reference - 1,
                feedback - 1,
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(pll: Pll, pin: u64, wanted: u64) -> (u64, u64, u64, u64) {
        let setting = pll.setting(pin * MHZ, wanted * MHZ).unwrap();
        (setting.reference, setting.feedback, setting.output, setting.hz / MHZ)
    }

    /// As the calculators give them: icepll (12 to 24 and to 30 MHz), `gowin_pll` (27 to 60 MHz, up to the choice of the
    /// oscillator); for ECP5 by hand: 25 * 24 / 6 = 100, 25 * 22 / 5 = 110.
    #[test]
    fn settings_are_those_of_the_calculators() {
        assert_eq!(numbers(Pll::Ice40, 12, 24), (1, 64, 32, 24));
        assert_eq!(numbers(Pll::Ice40, 12, 30), (1, 80, 32, 30));
        assert_eq!(numbers(Pll::Ecp5, 25, 100), (1, 24, 6, 100));
        assert_eq!(numbers(Pll::Ecp5, 25, 110), (1, 22, 5, 110));
        assert_eq!(numbers(Pll::Gw1n, 27, 60), (9, 20, 16, 60));
        assert_eq!(numbers(Pll::Gw2a, 27, 60), (9, 20, 16, 60));
        assert_eq!(numbers(Pll::Bypass, 25, 25), (1, 1, 1, 25));
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_the_nearest() {
        let error = Pll::Ecp5.setting(25 * MHZ, 900 * MHZ).unwrap_err();
        assert_eq!(error.to_string(), "no PLL setting makes 900 MHz of 25 MHz; the nearest clock is 800 MHz");
        assert!(Pll::Bypass.setting(25 * MHZ, 50 * MHZ).is_err());
        assert!(Pll::Gw1n.setting(2 * MHZ, 60 * MHZ).is_err());
    }

    #[test]
    fn every_setting_keeps_the_limits() {
        for pll in [Pll::Ecp5, Pll::Ice40, Pll::Gw1n, Pll::Gw2a] {
            let limits = pll.limits().unwrap();
            for (setting, oscillator) in pll.settings(25 * MHZ) {
                let made = if limits.feedback_of_oscillator {
                    setting.hz * setting.output
                } else {
                    setting.detector * setting.feedback
                };
                assert!(oscillator >= limits.oscillator.0 && oscillator <= limits.oscillator.1);
                assert!(made.abs_diff(if limits.feedback_of_oscillator { oscillator } else { setting.hz }) < 200);
            }
        }
    }
}
