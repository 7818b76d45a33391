//! PLLs: the numbers that make the grid's clock from the board's, and the instance of the family's primitive.
//!
//!     pin ──÷ reference──▶ phase detector ──▶ oscillator ──÷ output──▶ clock
//!                              ▲                  │
//!                              └──── ÷ feedback ──┘
//!
//! The clock is `pin * feedback / (reference * output)`, or `pin * feedback / reference` where the loop divides the clock. Limits and
//! instances are the families' ([`arch::device::Pll`]).
//!
//! Of all settings the closest one is taken; among those, the one whose detector runs fastest (it jitters least), then the one whose
//! oscillator is nearest to the middle of its range.

use super::ShellError;
use arch::device::{Pll, filled};

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

/// Every setting, with its oscillator's frequency.
fn settings(pll: &Pll, pin: u64) -> Vec<(Setting, u64)> {
    let within = |value: u64, (low, high): (u64, u64)| (low * MHZ..=high * MHZ).contains(&value);
    let outputs = pll.outputs.all();
    let mut found = Vec::new();
    for reference in 1..=pll.reference {
        let detector = pin / reference;
        if !within(detector, pll.detector_mhz) {
            continue;
        }
        for feedback in 1..=pll.feedback {
            let product = pin * feedback / reference;
            for &output in &outputs {
                let (hz, oscillator) =
                    if pll.feedback_of_oscillator { (product / output, product) } else { (product, product * output) };
                if within(oscillator, pll.oscillator_mhz) {
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
pub(super) fn setting(pll: Option<&Pll>, pin: u64, wanted: u64) -> Result<Setting, ShellError> {
    let setting = match pll {
        None => Setting { reference: 1, feedback: 1, output: 1, hz: pin, detector: pin },
        Some(pll) => {
            let middle = u64::midpoint(pll.oscillator_mhz.0, pll.oscillator_mhz.1) * MHZ;
            let best = settings(pll, pin).into_iter().min_by_key(|(setting, oscillator)| {
                (setting.hz.abs_diff(wanted), setting.reference, oscillator.abs_diff(middle), setting.output)
            });
            best.ok_or(ShellError::NoClock { pin_hz: pin })?.0
        }
    };
    let error = setting.hz.abs_diff(wanted) as f64 / wanted.max(1) as f64;
    if error > MOST_ERROR {
        return Err(ShellError::Clock { pin_hz: pin, wanted_hz: wanted, nearest_hz: setting.hz });
    }
    Ok(setting)
}

/// The instance: from `clock_pin` to `clock`, with `locked`.
pub(super) fn instance(pll: Option<&Pll>, pin: u64, setting: Setting) -> String {
    let Some(pll) = pll else {
        return "    assign clock = clock_pin;\n    assign locked = 1'b1;\n".to_owned();
    };
    let Setting { reference, feedback, output, hz, detector } = setting;
    let filter = pll.filter_mhz.iter().filter(|&&limit| detector >= limit * MHZ).count() + 1;
    let mhz = |hz: u64| (hz as f64 / MHZ as f64).to_string();
    let values = [
        ("reference", reference.to_string()),
        ("feedback", feedback.to_string()),
        ("output", output.to_string()),
        ("reference_less_one", (reference - 1).to_string()),
        ("feedback_less_one", (feedback - 1).to_string()),
        ("output_less_one", (output - 1).to_string()),
        ("output_log2", output.ilog2().to_string()),
        ("filter", filter.to_string()),
        ("pin_mhz", mhz(pin)),
        ("clock_mhz", mhz(hz)),
    ];
    filled(&pll.instance, &values.each_ref().map(|(name, value)| (*name, value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpga::family::Family;

    fn pll(name: &str) -> &'static Pll {
        Family::named(name).expect("a family").pll().expect("it has a PLL")
    }

    fn numbers(name: &str, pin: u64, wanted: u64) -> (u64, u64, u64, u64) {
        let setting = setting(Some(pll(name)), pin * MHZ, wanted * MHZ).unwrap();
        (setting.reference, setting.feedback, setting.output, setting.hz / MHZ)
    }

    /// As the calculators give them: icepll (12 to 24 and to 30 MHz), `gowin_pll` (27 to 60 MHz, up to the choice of the
    /// oscillator); for ECP5 by hand: 25 * 24 / 6 = 100, 25 * 22 / 5 = 110.
    #[test]
    fn settings_are_those_of_the_calculators() {
        assert_eq!(numbers("ice40", 12, 24), (1, 64, 32, 24));
        assert_eq!(numbers("ice40", 12, 30), (1, 80, 32, 30));
        assert_eq!(numbers("ecp5", 25, 100), (1, 24, 6, 100));
        assert_eq!(numbers("ecp5", 25, 110), (1, 22, 5, 110));
        assert_eq!(numbers("gw1n", 27, 60), (9, 20, 16, 60));
        assert_eq!(numbers("gw2a", 27, 60), (9, 20, 16, 60));
        assert_eq!(setting(None, 25 * MHZ, 25 * MHZ).unwrap().hz, 25 * MHZ);
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_the_nearest() {
        let error = setting(Some(pll("ecp5")), 25 * MHZ, 900 * MHZ).unwrap_err();
        assert_eq!(error.to_string(), "no PLL setting makes 900 MHz of 25 MHz; the nearest clock is 800 MHz");
        assert!(setting(None, 25 * MHZ, 50 * MHZ).is_err());
        assert!(setting(Some(pll("gw1n")), 2 * MHZ, 60 * MHZ).is_err());
    }

    #[test]
    fn every_setting_keeps_the_limits() {
        for pll in Family::all().iter().filter_map(|facts| facts.pll.as_ref()) {
            let (low, high) = pll.oscillator_mhz;
            for (setting, oscillator) in settings(pll, 25 * MHZ) {
                let made = if pll.feedback_of_oscillator {
                    setting.hz * setting.output
                } else {
                    setting.detector * setting.feedback
                };
                assert!(oscillator >= low * MHZ && oscillator <= high * MHZ);
                // Divisions round down: a divider's number of hertz is the most that is lost.
                let lost = setting.output.max(setting.feedback);
                assert!(made.abs_diff(if pll.feedback_of_oscillator { oscillator } else { setting.hz }) <= lost);
            }
        }
    }

    /// Every place of every family's instance has a value.
    #[test]
    fn instances_are_whole() {
        for facts in Family::all().iter().filter(|facts| facts.pll.is_some()) {
            let pll = facts.pll.as_ref();
            let setting = setting(pll, 10 * MHZ, 50 * MHZ).or_else(|_| setting(pll, 27 * MHZ, 60 * MHZ)).unwrap();
            let text = instance(pll, 10 * MHZ, setting);
            assert!(
                text.contains("clock_pin") && text.contains("locked") && !text.contains('@'),
                "{}: {text}",
                facts.name
            );
        }
    }
}
