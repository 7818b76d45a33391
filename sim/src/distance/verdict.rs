//! The verdict in one line: do the words suffice?
//!
//! ```text
//! 16 bits suffice: results are within 0.012 % of golden; 0 of 150 rows change their class
//! 16 bits do not suffice: results are up to 4.1 % from golden; 3 of 150 rows change their class; 19 bits suffice
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Widest word of a machine.
pub const WIDEST: u32 = 32;

/// Results in words beside those of the unchanged golden model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Bits of a word.
    pub bits: u32,
    /// No result is further from golden than 1 % of its largest value, and no row has another class. Of a training: its loss is not, and its
    /// score is no more than 0.01 lower. Golden has no infinite or NaN results.
    pub suffices: bool,
    /// Results of which golden gives an element that no word holds: infinite, NaN, or 2^90 or more.
    #[serde(default, skip_serializing_if = "is_none")]
    pub beyond: u64,
    /// Largest error of a result as a share of its largest value. Of a training: error of its loss as a share of the largest loss.
    pub error: f64,
    /// Rows compared.
    pub rows: u64,
    /// Rows whose class is another one than golden's; missing where results are no classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flips: Option<u64>,
    /// The tensor that loses the bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_by: Option<String>,
    /// The narrowest wider word that suffices for the same values; missing where none does or none was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_needed: Option<u32>,
}

impl Verdict {
    /// The bits it takes, as the end of a sentence.
    pub(super) fn needed(&self) -> String {
        self.bits_needed.map_or_else(String::new, |bits| format!("; {bits} bits suffice"))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A share as per cent, with two digits that count.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent == 0.0 || (0.001..100.0).contains(&percent) {
        let digits = if percent >= 10.0 { 1 } else { 3 };
        format!("{percent:.digits$} %")
    } else {
        format!("{percent:.1e} %")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, error) = (self.bits, percent(self.error));
        match self.suffices {
            true if self.error == 0.0 => write!(f, "{bits} bits suffice: results are golden's")?,
            true => write!(f, "{bits} bits suffice: results are within {error} of golden")?,
            false if self.beyond > 0 => write!(f, "{bits} bits do not suffice: golden has results that no word holds")?,
            false => write!(f, "{bits} bits do not suffice: results are up to {error} from golden")?,
        }
        if let Some(flips) = self.flips {
            let change = if flips == 1 { "changes its class" } else { "change their class" };
            write!(f, "; {flips} of {} rows {change}", self.rows)?;
        }
        write!(f, "{}", self.needed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_one_line() {
        let good =
            Verdict { bits: 16, suffices: true, error: 0.000_123, rows: 150, flips: Some(0), ..Verdict::default() };
        assert_eq!(
            good.to_string(),
            "16 bits suffice: results are within 0.012 % of golden; 0 of 150 rows change their class"
        );
        let bad = Verdict { suffices: false, error: 0.25, flips: Some(1), bits_needed: Some(19), ..good.clone() };
        assert_eq!(
            bad.to_string(),
            "16 bits do not suffice: results are up to 25.0 % from golden; 1 of 150 rows changes its class; 19 bits suffice"
        );
        assert_eq!(Verdict { error: 0.0, flips: None, ..good }.to_string(), "16 bits suffice: results are golden's");
    }
}
