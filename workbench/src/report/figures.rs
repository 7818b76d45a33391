//! Figures as lines of a text.

use crate::saturation::Saturation;
use sim::distance::Distance;
use sim::pace::Pace;

/// A number with two digits after the point, if it has any there.
pub fn figure(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

/// Four digits with a prefix of the unit: `0.9912`, `30.12`, `72018`, `3.333 M`; whole numbers below a million have all theirs.
pub fn four_digits(value: f64) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e6;
    if whole || !value.is_finite() {
        return value.to_string();
    }
    let prefixes = [(1e12, " T"), (1e9, " G"), (1e6, " M")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| value.abs() >= *scale).unwrap_or((1.0, ""));
    let scaled = value / scale;
    if scaled.abs() < 1e-3 {
        return format!("{scaled:.3e}");
    }
    let digits = (3 - scaled.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{scaled:.digits$}{prefix}")
}

/// Cycles of a sample, and what cannot be beaten, with the resources of which anything is used.
pub fn pace(pace: &Pace) -> String {
    let Pace { cycles_per_sample, samples_per_step, latency_cycles, bounds, distance } = pace;
    let mut text = format!("cycles per sample   {cycles_per_sample:10.2}\n");
    if *samples_per_step > 1 {
        text +=
            &format!("latency             {latency_cycles:10}      (a step of {samples_per_step} samples, alone)\n");
    }
    text += &format!("bound               {:10.2}   (by {})\n", bounds.bound, bounds.bound_by);
    let amounts = bounds.by_resource.named().into_iter().zip(bounds.work.named());
    for ((resource, cycles), (_, amount)) in amounts.filter(|(_, (_, amount))| *amount > 0.0) {
        text += &format!("  {resource:18}{cycles:10.2}   ({} of a sample)\n", figure(amount));
    }
    text + &distance.map_or_else(String::new, |distance| format!("distance to bound   {distance:10.2}\n"))
}

/// What was clipped, a line each.
pub fn saturations(all: &[Saturation]) -> String {
    let place = |line: Option<usize>| match line {
        None => "given".to_owned(),
        Some(0) => "of the tool".to_owned(),
        Some(line) => format!("line {line}"),
    };
    all.iter().fold(String::new(), |text, saturation| text + &format!("{}, {saturation}\n", place(saturation.line)))
}

/// How far results are from golden's, in one line.
pub fn distance(Distance { absolute, relative }: Distance) -> String {
    format!("distance from golden: {absolute:.3e}, {:.3} % of the largest value", 100.0 * relative)
}

#[cfg(test)]
mod tests {
    use super::four_digits;

    #[test]
    fn numbers_have_four_digits_and_a_prefix() {
        let shown = [
            (0.991_228, "0.9912"),
            (30.123_6, "30.12"),
            (72_018.0, "72018"),
            (3_333_333.3, "3.333 M"),
            (2e9, "2.000 G"),
            (-0.056_479, "-0.05648"),
            (9.645e-5, "9.645e-5"),
            (0.0, "0"),
        ];
        for (value, text) in shown {
            assert_eq!(four_digits(value), text, "{value}");
        }
    }
}
