//! Watch: routers that come to no end.
//!
//! nextpnr's routers take wires away from each other and route again until no two nets share one. Where that is impossible they go on for ever. What is left
//! stands in what they say:
//!
//! ```text
//! Info:     iter=65 wires=336451 overused=4 overuse=4 resources=10807 overused=0 overuse=0 archfail=NA        router2, after each round
//! Info:     526000 |   100318     420909 |  120   779 |       884|       3.52    2157.75|                        router1, after each 1000 arcs
//! ```

/// Reports without less than ever before that a router may take. Designs that are routed have taken 65 rounds, and 530 reports that nearly all were the least.
const PATIENCE: u32 = 500;

/// What a router has reported.
#[derive(Debug, Default)]
pub(super) struct Watch {
    least: Option<u64>,
    /// Reports since then.
    since: u32,
}

impl Watch {
    /// Take note of a line. The least that has ever been left, once that was too long ago.
    pub(super) fn reads(&mut self, line: &str) -> Option<u64> {
        let left = left(line)?;
        match self.least {
            Some(least) if least <= left => self.since += 1,
            // After nothing another router may begin.
            _ => *self = Watch { least: Some(left).filter(|&left| left > 0), since: 0 },
        }
        self.least.filter(|_| self.since >= PATIENCE)
    }
}

/// Wires that are used twice, or arcs that are not routed.
fn left(line: &str) -> Option<u64> {
    let report = line.strip_prefix("Info:")?.trim();
    if report.starts_with("iter=") {
        let counts = report.split_whitespace().filter_map(|word| word.strip_prefix("overused="));
        return counts.map(|count| count.parse::<u64>().ok()).sum();
    }
    let columns: Vec<&str> = report.split('|').map(str::trim).collect();
    let [done, _, _, arcs, ..] = columns[..] else { return None };
    done.parse::<u64>().ok().and(arcs.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router2(first: u64, second: u64) -> String {
        format!(
            "Info:     iter=7 wires=27 overused={first} overuse=9 resources=8 overused={second} overuse=9 archfail=NA\n"
        )
    }

    fn router1(left: u64) -> String {
        format!("Info:     526000 |   100318     420909 |  120   779 | {left:>9}|       3.52    2157.75|\n")
    }

    #[test]
    fn reports_say_what_is_left() {
        assert_eq!(left(&router2(4, 3)), Some(7));
        assert_eq!(left(&router1(884)), Some(884));
        for other in [
            "",
            "Info:            |   (re-)routed arcs  |   delta    | remaining|       time spent     |",
            "Info:    IterCnt |  w/ripup   wo/ripup |  w/r  wo/r |      arcs| batch(sec) total(sec)|",
            "Info: Routing complete.",
            "Info: [ 12,  34) |******+",
            "Warning: iter=1 overused=2",
        ] {
            assert_eq!(left(other), None, "{other}");
        }
    }

    #[test]
    fn a_router_that_makes_no_progress_is_given_up() {
        let mut watch = Watch::default();
        // Less each time, with steps back between: that is progress.
        assert!(
            (1..2000)
                .rev()
                .all(|left| watch.reads(&router1(left)).is_none() && watch.reads(&router1(left + 30)).is_none())
        );
        // Done; what begins again has its own time.
        assert_eq!(watch.reads(&router1(0)), None);
        assert_eq!(watch.reads(&router2(5, 0)), None);
        let reports = (1..=2 * PATIENCE).find(|_| watch.reads(&router2(5, 2)) == Some(5));
        assert_eq!(reports, Some(PATIENCE));
    }
}
