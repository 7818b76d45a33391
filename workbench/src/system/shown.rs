//! A run of a whole system as cells of a table.

use super::{Energy, Row, Way};
use crate::report::trained::time;

/// A count with its thousands.
fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

impl Row {
    /// Its clock, and whether place and route reached it.
    pub fn clock(&self) -> String {
        format!("{} MHz{}", self.clock_mhz, if self.placed { "" } else { ", not placed" })
    }

    /// What is aimed at, and whether it is reached; empty where nothing is.
    pub fn goals(&self) -> String {
        let fast = self.goal.samples_per_second.map(|goal| format!("{} per second", count(goal)));
        let short = self.goal.seconds.map(time);
        let goals: Vec<String> = [fast, short].into_iter().flatten().collect();
        let missed = if self.reached == Some(true) || goals.is_empty() { "" } else { ", MISSED" };
        goals.join(", ") + missed
    }

    /// Samples per second, bound, upload, all, time to the target, energy of a sample; nothing where it does not fit.
    pub fn cells(&self) -> Option<[String; 6]> {
        let system = self.system.as_ref()?;
        let how = match self.way {
            Some(Way::Extrapolated) => " (extrapolated)",
            Some(Way::Computed) => " (computed)",
            _ => "",
        };
        let target = self.epochs_to_target.zip(self.seconds_to_target);
        Some([
            count(system.samples_per_second),
            format!("{}{how}", system.bound_by.name()),
            time(system.upload_seconds),
            time(system.seconds),
            target.map_or("not reached".to_owned(), |(epochs, seconds)| format!("{} (epoch {epochs})", time(seconds))),
            self.energy.map_or("-".to_owned(), energy),
        ])
    }
}

/// Of a sample.
fn energy(of: Energy) -> String {
    let (scale, unit) = match of.joules_per_sample {
        many if many >= 1e-3 => (1e3, "mJ"),
        some if some >= 1e-6 => (1e6, "uJ"),
        _ => (1e9, "nJ"),
    };
    format!("{:.1} {unit}, {}", scale * of.joules_per_sample, if of.measured { "measured" } else { "estimate" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([7.0, 999.6, 1000.0, 1_234_567.0].map(count), ["7", "1,000", "1,000", "1,234,567"]);
    }
}
