//! `report.json` of nextpnr: clocks and cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What place and route made of a netlist.
#[derive(Debug, Clone, PartialEq)]
pub struct Routed {
    /// Its clocks.
    pub clocks: Vec<Clock>,
    /// Its cells.
    pub used: Vec<Use>,
}

/// One clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// Name of its net.
    #[serde(rename = "clock")]
    pub name: String,
    /// What it reaches, MHz.
    pub achieved_mhz: f64,
    /// What it has to reach, MHz.
    pub constraint_mhz: f64,
}

impl Clock {
    /// Whether it is fast enough.
    pub fn is_met(&self) -> bool {
        self.achieved_mhz >= self.constraint_mhz
    }
}

/// Cells of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Use {
    /// As nextpnr names them.
    #[serde(rename = "cell")]
    pub name: String,
    /// That many are taken.
    pub used: u64,
    /// That many there are.
    pub available: u64,
}

impl Routed {
    /// Read a report; `None` if it is none.
    pub fn parse(text: &str) -> Option<Routed> {
        let value: Value = serde_json::from_str(text).ok()?;
        let clocks = value.get("fmax")?.as_object()?.iter().map(|(name, clock)| {
            let figure = |key: &str| clock.get(key).and_then(Value::as_f64);
            Some(Clock { name: name.clone(), achieved_mhz: figure("achieved")?, constraint_mhz: figure("constraint")? })
        });
        let used = value.get("utilization")?.as_object()?.iter().map(|(name, cells)| {
            let figure = |key: &str| cells.get(key).and_then(Value::as_u64);
            Some(Use { name: name.clone(), used: figure("used")?, available: figure("available")? })
        });
        let (mut clocks, mut used): (Vec<Clock>, Vec<Use>) =
            (clocks.collect::<Option<_>>()?, used.collect::<Option<_>>()?);
        clocks.sort_by(|a, b| a.name.cmp(&b.name));
        used.sort_by(|a, b| a.name.cmp(&b.name));
        used.retain(|cell| cell.used > 0);
        Some(Routed { clocks, used })
    }

    /// Whether all clocks are met.
    pub fn is_in_time(&self) -> bool {
        self.clocks.iter().all(Clock::is_met)
    }

    /// The slowest clock relative to what it has to reach.
    pub fn critical(&self) -> Option<&Clock> {
        let slack = |clock: &Clock| clock.achieved_mhz / clock.constraint_mhz;
        self.clocks.iter().min_by(|a, b| slack(a).total_cmp(&slack(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_cells() {
        let text = r#"{"fmax":{"b":{"achieved":90.5,"constraint":100.0},"a":{"achieved":30.0,"constraint":25.0}},
            "utilization":{"X":{"available":8,"used":0},"LUT":{"available":10,"used":3}},"critical_paths":[]}"#;
        let routed = Routed::parse(text).unwrap();
        assert_eq!(routed.clocks.iter().map(Clock::is_met).collect::<Vec<_>>(), [true, false]);
        assert_eq!(routed.critical().unwrap().name, "b");
        assert_eq!(routed.used, [Use { name: "LUT".to_owned(), used: 3, available: 10 }]);
        // A clock is met or it is missed: 4 % too slow, too.
        for (achieved, met) in [(96.0, false), (99.9, false), (100.0, true)] {
            let clock = Clock { name: "c".to_owned(), achieved_mhz: achieved, constraint_mhz: 100.0 };
            assert_eq!(clock.is_met(), met, "{achieved} MHz");
        }
        assert_eq!(Routed::parse("{}"), None);
        assert_eq!(Routed::parse("no report"), None);
    }
}
