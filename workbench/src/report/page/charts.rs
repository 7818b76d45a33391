//! Drawings for the report page, as SVG text: lines over epochs, a roofline, bars in time.
//!
//! Sizes are in units of the drawing; the page scales it. Names that come from the user are escaped here.

use std::fmt::Write;

/// Text as SVG and HTML show it.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // What XML does not allow.
            letter if letter.is_control() && !matches!(letter, '\n' | '\t') => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A number as short as its size allows.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e6).contains(&size) {
        format!("{value:.0e}")
    } else if size >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// Points that belong together.
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Where they are; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
    /// Whether the line is drawn with gaps.
    pub dashed: bool,
}

/// How an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Logarithmic,
}

/// One axis: from where to where, and how a value becomes a place between 0 and 1.
struct Axis {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, scale: Scale) -> Axis {
        let possible = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let (mut low, mut high) = values
            .filter(possible)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            (low, high) = if scale == Scale::Linear { (0.0, 1.0) } else { (1.0, 10.0) };
        }
        if low == high {
            (low, high) = if scale == Scale::Linear { (low - 0.5, high + 0.5) } else { (low / 2.0, high * 2.0) };
        }
        Axis { low, high, scale }
    }

    fn at(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => libm::log(value / self.low) / libm::log(self.high / self.low),
        }
    }

    /// Values at which the axis is labelled.
    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = libm::pow(10.0, libm::floor(libm::log10(rough)));
                let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|&s| s >= rough).unwrap_or(rough);
                let first = libm::ceil(self.low / step) as i64;
                (first..)
                    .map(|n| n as f64 * step)
                    .take_while(|&tick| tick <= self.high * (1.0 + 1e-9))
                    .take(12)
                    .collect()
            }
            Scale::Logarithmic => {
                let first = libm::ceil(libm::log10(self.low) - 1e-9) as i32;
                let last = libm::floor(libm::log10(self.high) + 1e-9) as i32;
                (first..=last).map(|n| libm::pow(10.0, f64::from(n))).collect()
            }
        }
    }
}

/// Size of a chart, and the space around its field.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 64.0;

/// A chart of lines; a series of one point is a dot.
pub fn lines(title: &str, axes: [(&str, Scale); 2], series: &[Series]) -> String {
    let [(x_name, x_scale), (y_name, y_scale)] = axes;
    let all = || series.iter().flat_map(|series| series.points.iter().copied());
    let (x, y) = (Axis::over(all().map(|p| p.0), x_scale), Axis::over(all().map(|p| p.1), y_scale));
    let place = |(a, b): (f64, f64)| {
        (LEFT + x.at(a) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y.at(b) * (HEIGHT - TOP - BOTTOM))
    };
    let mut svg = opening(title, WIDTH, HEIGHT);
    let (floor, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in y.ticks() {
        let (_, at) = place((x.low, tick));
        let _ = write!(svg, "<line class=\"rule\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>");
        let _ = write!(svg, "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>", LEFT - 6.0, at + 4.0, short(tick));
    }
    for tick in x.ticks() {
        let (at, _) = place((tick, y.low));
        let _ = write!(svg, "<line class=\"rule\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{floor}\"/>");
        let _ = write!(svg, "<text class=\"middle\" x=\"{at:.1}\" y=\"{}\">{}</text>", floor + 16.0, short(tick));
    }
    let _ = write!(
        svg,
        "<text class=\"middle\" x=\"{}\" y=\"{}\">{}</text>",
        f64::midpoint(LEFT, right),
        floor + 32.0,
        escape(x_name)
    );
    let _ = write!(svg, "<text x=\"4\" y=\"{}\">{}</text>", TOP - 4.0, escape(y_name));
    let mut legend = LEFT;
    for (number, series) in series.iter().enumerate() {
        let colour = number % 6;
        let possible = |&&(a, b): &&(f64, f64)| x.at(a).is_finite() && y.at(b).is_finite();
        let points: Vec<String> = series
            .points
            .iter()
            .filter(possible)
            .map(|&point| {
                let (a, b) = place(point);
                format!("{a:.1},{b:.1}")
            })
            .collect();
        let dashes = if series.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        match points.as_slice() {
            [] => {}
            [dot] => {
                let (a, b) = dot.split_once(',').unwrap_or(("0", "0"));
                let _ = write!(svg, "<circle class=\"fill{colour}\" cx=\"{a}\" cy=\"{b}\" r=\"5\"/>");
            }
            points => {
                let _ = write!(svg, "<polyline class=\"line{colour}\"{dashes} points=\"{}\"/>", points.join(" "));
            }
        }
        let under = HEIGHT - 12.0;
        let _ = write!(
            svg,
            "<line class=\"line{colour}\"{dashes} x1=\"{legend}\" x2=\"{}\" y1=\"{under}\" y2=\"{under}\"/>",
            legend + 22.0
        );
        let _ = write!(svg, "<text x=\"{}\" y=\"{}\">{}</text>", legend + 27.0, under + 4.0, escape(&series.name));
        legend += 44.0 + 7.0 * series.name.chars().count() as f64;
    }
    svg + "</svg>"
}

/// The beginning of a drawing, with its name for those who cannot see it.
pub fn opening(title: &str, width: f64, height: f64) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>"
    )
}

/// The style of a drawing that stands alone; a page has its own.
pub const STYLE: &str = "<style>text{font:12px sans-serif;fill:#222}.middle{text-anchor:middle}.end{text-anchor:end}\
.rule{stroke:#ddd}.line0{stroke:#1565c0}.line1{stroke:#c62828}.line2{stroke:#2e7d32}.line3{stroke:#6a1b9a}.line4{stroke:#ef6c00}\
.line5{stroke:#546e7a}[class^=line]{fill:none;stroke-width:2}.fill0{fill:#1565c0}.fill1{fill:#c62828}.fill2{fill:#2e7d32}\
.fill3{fill:#6a1b9a}.fill4{fill:#ef6c00}.fill5{fill:#546e7a}</style>";

/// A drawing as a file of its own.
pub fn alone(svg: &str) -> String {
    svg.replacen("</title>", &format!("</title>{STYLE}"), 1) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_user_is_markup() {
        let series = Series { name: "</svg><script>".into(), points: vec![(1.0, 1.0), (2.0, f64::NAN)], dashed: false };
        let svg = lines("a\"b", [("<x>", Scale::Linear), ("'y'", Scale::Linear)], &[series]);
        assert!(!svg.contains("<script") && !svg.contains("<x>") && svg.contains("&lt;/svg&gt;"));
        assert_eq!(svg.matches("</svg>").count(), 1);
        assert_eq!(escape("a\u{1}b"), "a\u{fffd}b");
    }

    #[test]
    fn axes_are_labelled_at_round_numbers() {
        let ticks = |low, high, scale| Axis { low, high, scale }.ticks();
        assert_eq!(ticks(0.0, 10.0, Scale::Linear), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.5, 200.0, Scale::Logarithmic), [1.0, 10.0, 100.0]);
        assert_eq!([0.25, 1e-5, 12345.0, 3.0, 1.5e7].map(short), ["0.25", "1e-5", "12345", "3", "2e7"]);
    }

    #[test]
    fn values_without_extent_are_drawn_too() {
        for points in [vec![], vec![(1.0, 1.0)], vec![(1.0, 2.0), (1.0, 2.0)]] {
            let series = Series { name: "a".into(), points, dashed: true };
            let svg = lines("t", [("x", Scale::Logarithmic), ("y", Scale::Linear)], &[series]);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
