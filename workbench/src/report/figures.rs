//! Figures as lines of a text.

use crate::saturation::Saturation;
use sim::distance::Distance;
use sim::pace::Pace;

/// A number with two digits after the point, if it has any there.
pub fn figure(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
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
