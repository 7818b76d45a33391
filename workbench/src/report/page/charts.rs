//! Drawings for the report page, as SVG text: charts of lines, and the head of every other drawing.
//!
//! `plotters` decides ticks, log axes, dashes and legend: it has been kept for years, draws SVG without fonts, C or a browser, and its
//! colours can be replaced by those of the page. Names that come from the user are escaped there and here.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::{
    ChartBuilder, Circle, Color, DashedLineSeries, DrawingArea, IntoDrawingArea, IntoFont, IntoLogRange, LineSeries,
    PathElement, RGBColor, SVGBackend, SeriesLabelPosition, ShapeStyle,
};
use std::ops::Range;

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
    /// How they are drawn.
    pub stroke: Stroke,
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// A line; of one point, a dot.
    Line,
    /// A line with gaps; of one point, a dot.
    Dashed,
    /// Dots with a line through them.
    Marked,
    /// Dots.
    Dots,
}

impl Stroke {
    /// A line, with gaps or without.
    pub fn dashed(dashed: bool) -> Stroke {
        if dashed { Stroke::Dashed } else { Stroke::Line }
    }
}

/// How an axis counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear,
    /// Equal steps are equal ratios.
    Logarithmic,
}

/// The values of an axis that are drawn: of a logarithmic one whole powers of ten, which are what is labelled.
fn extent(values: impl Iterator<Item = f64>, scale: Scale) -> Range<f64> {
    let ordered = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let (low, high) = values.filter(|&value| scale.has(value)).fold((f64::INFINITY, f64::NEG_INFINITY), ordered);
    match scale {
        Scale::Linear if low > high => 0.0..1.0,
        Scale::Linear if low == high => low - 0.5..high + 0.5,
        Scale::Linear => low..high,
        Scale::Logarithmic if low > high => 1.0 / BEYOND..10.0 * BEYOND,
        Scale::Logarithmic => {
            let (first, last) = (libm::floor(libm::log10(low)), libm::ceil(libm::log10(high)));
            libm::pow(10.0, first) / BEYOND..libm::pow(10.0, last.max(first + 1.0)) * BEYOND
        }
    }
}

/// How far an axis reaches beyond its last power of ten, so that no rounding leaves that out.
const BEYOND: f64 = 1.001;

impl Scale {
    /// Whether an axis has a place for a value.
    fn has(self, value: f64) -> bool {
        value.is_finite() && (self == Scale::Linear || value > 0.0)
    }
}

/// Size of a chart, in the pixels that it has on a desk; on a phone it is three quarters of that, and its text still 11 pixels.
const WIDTH: u32 = 480;
const HEIGHT: u32 = 300;
/// Height of letters.
const TEXT: u32 = 15;
/// Units of a drawing per pixel: plotters counts in whole ones.
const FINE: u32 = 4;
/// What plotters divides the size of letters by in an SVG.
const LETTERS: f64 = 1.24;
/// Series that have a colour of their own.
const COLOURS: usize = 6;
/// Colours that stand for the page's: of a series, of text, of the lines behind, of paper.
const INK: RGBColor = RGBColor(1, 2, 100);
const RULE: RGBColor = RGBColor(1, 2, 101);
const PAPER: RGBColor = RGBColor(1, 2, 102);

fn colour(series: usize) -> RGBColor {
    RGBColor(1, 2, (series % COLOURS) as u8)
}

/// The colours that the page decides, so that they follow its light or dark.
fn themed(svg: &str) -> String {
    let hex = |RGBColor(r, g, b): RGBColor| format!("\"#{r:02X}{g:02X}{b:02X}\"");
    let named = [(INK, "soft".to_owned()), (RULE, "rule".to_owned()), (PAPER, "paper".to_owned())];
    let of_series = (0..COLOURS).map(|n| (colour(n), format!("colour{n}")));
    let replace = |svg: String, (colour, name)| svg.replace(&hex(colour), &format!("\"var(--{name})\""));
    named.into_iter().chain(of_series).fold(svg.to_owned(), replace)
}

/// A chart of lines and dots.
pub fn lines(title: &str, axes: [(&str, Scale); 2], series: &[Series]) -> String {
    let [(x_name, x_scale), (y_name, y_scale)] = axes;
    let drawn = |&(x, y): &(f64, f64)| x_scale.has(x) && y_scale.has(y);
    let shown: Vec<Series> = series
        .iter()
        .map(|series| Series {
            name: printable(&series.name),
            points: series.points.iter().copied().filter(drawn).collect(),
            stroke: series.stroke,
        })
        .collect();
    let all = || shown.iter().flat_map(|series| &series.points);
    let (x, y) = (extent(all().map(|point| point.0), x_scale), extent(all().map(|point| point.1), y_scale));
    let mut text = String::new();
    let (width, height) = (WIDTH * FINE, HEIGHT * FINE);
    let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
    let names = [printable(x_name), printable(y_name)];
    match (x_scale, y_scale) {
        (Scale::Linear, Scale::Linear) => plot(&area, x, y, names, &shown),
        (Scale::Linear, Scale::Logarithmic) => plot(&area, x, y.log_scale(), names, &shown),
        (Scale::Logarithmic, Scale::Linear) => plot(&area, x.log_scale(), y, names, &shown),
        (Scale::Logarithmic, Scale::Logarithmic) => plot(&area, x.log_scale(), y.log_scale(), names, &shown),
    }
    drop(area);
    let (_, body) = text.split_once(">\n").expect("a drawing has a head");
    started("chart", title, f64::from(width), f64::from(height)) + &themed(body)
}

/// Draw axes, series and legend.
#[expect(clippy::too_many_lines, reason = "one drawing; its parts share a type of plotters with four parameters")]
fn plot<X, Y>(area: &DrawingArea<SVGBackend<'_>, Shift>, x: X, y: Y, names: [String; 2], series: &[Series])
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let drawn = "a drawing in memory cannot fail";
    let font = ("system-ui, sans-serif", f64::from(TEXT * FINE) * LETTERS).into_font().color(&INK);
    let mut builder = ChartBuilder::on(area);
    builder.margin(8 * FINE).x_label_area_size(44 * FINE).y_label_area_size(72 * FINE);
    let mut chart = builder.build_cartesian_2d(x, y).expect(drawn);
    let [x_name, y_name] = names;
    chart
        .configure_mesh()
        .x_labels(6)
        .y_labels(6)
        .max_light_lines(0)
        .light_line_style(RULE.mix(0.0))
        .bold_line_style(RULE.stroke_width(FINE))
        .axis_style(RULE.stroke_width(FINE))
        .label_style(font.clone())
        .axis_desc_style(font.clone())
        .x_label_formatter(&|&value| short(value))
        .y_label_formatter(&|&value| short(value))
        .x_desc(x_name)
        .y_desc(y_name)
        .draw()
        .expect(drawn);
    let (dash, gap, sample) = (5 * FINE, 4 * FINE, (20 * FINE) as i32);
    for (number, Series { name, points, stroke }) in series.iter().enumerate() {
        let style = ShapeStyle::from(&colour(number)).stroke_width(2 * FINE);
        let points = || points.iter().copied();
        let dot = move |point| Circle::new(point, 5 * FINE, style.filled());
        let drawing = match (points().len(), stroke) {
            (1, _) | (_, Stroke::Dots) => chart.draw_series(points().map(dot)),
            (_, Stroke::Dashed) => chart.draw_series(DashedLineSeries::new(points(), dash, gap, style)),
            (_, Stroke::Line) => chart.draw_series(LineSeries::new(points(), style)),
            (_, Stroke::Marked) => {
                chart.draw_series(points().map(dot)).expect(drawn);
                chart.draw_series(LineSeries::new(points(), style))
            }
        };
        let legend = drawing.expect(drawn).label(name);
        match stroke {
            Stroke::Dashed => {
                legend.legend(move |(x, y)| DashedPathElement::new([(x, y), (x + sample, y)], dash, gap, style))
            }
            Stroke::Dots => legend.legend(move |(x, y)| Circle::new((x + sample / 2, y), 5 * FINE, style.filled())),
            Stroke::Line | Stroke::Marked => {
                legend.legend(move |(x, y)| PathElement::new([(x, y), (x + sample, y)], style))
            }
        };
    }
    let place = |&(x, y): &(f64, f64)| {
        let (area, (x, y)) = (chart.plotting_area().get_pixel_range(), chart.plotting_area().map_coordinate(&(x, y)));
        let part = |at: i32, range: Range<i32>| f64::from(at - range.start) / f64::from(range.end - range.start);
        (part(x, area.0), part(y, area.1))
    };
    let lines: Vec<Vec<(f64, f64)>> = series.iter().map(|series| series.points.iter().map(place).collect()).collect();
    chart
        .configure_series_labels()
        .position(emptiest(&lines))
        .legend_area_size(26 * FINE)
        .label_font(font)
        .background_style(PAPER.mix(0.85))
        .border_style(RULE.stroke_width(FINE))
        .draw()
        .expect(drawn);
    area.present().expect(drawn);
}

/// The corner through which the fewest lines go. Places are parts of the width and the height, from the upper left on.
fn emptiest(lines: &[Vec<(f64, f64)>]) -> SeriesLabelPosition {
    const STEPS: usize = 32;
    // About what a legend takes.
    let (wide, high) = (0.55, 0.1 * lines.len() as f64 + 0.05);
    let between = |pair: &[(f64, f64)]| {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[pair.len() - 1]);
        let at = |from: f64, to: f64, n: usize| from + (to - from) * n as f64 / STEPS as f64;
        (0..=STEPS).map(|n| (at(x0, x1, n), at(y0, y1, n))).collect::<Vec<_>>()
    };
    let places: Vec<(f64, f64)> = lines
        .iter()
        .flat_map(|line| if line.len() > 1 { line.windows(2).flat_map(between).collect() } else { line.clone() })
        .collect();
    let corners = [
        (SeriesLabelPosition::UpperRight, true, false),
        (SeriesLabelPosition::LowerRight, true, true),
        (SeriesLabelPosition::UpperLeft, false, false),
        (SeriesLabelPosition::LowerLeft, false, true),
    ];
    let crossed = |&(_, right, low): &(SeriesLabelPosition, bool, bool)| {
        let inside =
            |(x, y): &&(f64, f64)| (if right { 1.0 - x } else { *x }) < wide && (if low { 1.0 - y } else { *y }) < high;
        places.iter().filter(inside).count()
    };
    corners.into_iter().min_by_key(crossed).map_or(SeriesLabelPosition::UpperRight, |corner| corner.0)
}

/// A quantity of seconds or joules in the unit that suits the largest of them: what to multiply by, and the unit's name.
pub fn unit(largest: f64, name: &str) -> (f64, String) {
    match largest {
        size if size >= 1.0 => (1.0, name.to_owned()),
        size if size >= 1e-3 => (1e3, format!("milli{name}")),
        _ => (1e6, format!("micro{name}")),
    }
}

/// Text without what XML does not allow.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// The beginning of a drawing, with its name for those who cannot see it.
pub fn opening(title: &str, width: f64, height: f64) -> String {
    started("drawing", title, width, height)
}

fn started(class: &str, title: &str, width: f64, height: f64) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>"
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

/// A drawing that stands alone as the address of an image: what is in it cannot touch the page.
pub fn as_image(svg: &str) -> String {
    let mut address = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        if byte.is_ascii_alphanumeric() || b" -_.:;,/=()".contains(&byte) {
            address.push(char::from(byte));
        } else {
            address.push_str(&format!("%{byte:02X}"));
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_user_is_markup() {
        let series =
            Series { name: "</svg><script>".into(), points: vec![(1.0, 1.0), (2.0, f64::NAN)], stroke: Stroke::Line };
        let svg = lines("a\"b", [("<x>", Scale::Linear), ("'y'", Scale::Linear)], &[series]);
        assert!(!svg.contains("<script") && !svg.contains("<x>") && svg.contains("&lt;/svg&gt;"));
        assert_eq!(svg.matches("</svg>").count(), 1);
        assert_eq!(escape("a\u{1}b"), "a\u{fffd}b");
    }

    #[test]
    fn axes_are_labelled_at_round_numbers() {
        let points = vec![(0.0, 0.5), (10.0, 200.0)];
        let series = [Series { name: "a".into(), points, stroke: Stroke::Line }];
        let svg = lines("t", [("x", Scale::Linear), ("y", Scale::Logarithmic)], &series);
        for label in ["0", "2", "4", "6", "8", "10", "0.1", "1", "100", "1000"] {
            assert!(svg.contains(&format!(">\n{label}\n</text>")), "{label} is missing in {svg}");
        }
        assert_eq!([0.25, 1e-5, 12345.0, 3.0, 1.5e7].map(short), ["0.25", "1e-5", "12345", "3", "2e7"]);
    }

    /// A falling line leaves the upper right free, one that goes through all other corners the lower left.
    #[test]
    fn legends_stand_where_no_line_is() {
        let of = |lines: &[Vec<(f64, f64)>]| format!("{:?}", emptiest(lines));
        assert_eq!(of(&[vec![(0.0, 0.0), (1.0, 1.0)]]), "UpperRight");
        assert_eq!(of(&[vec![(0.0, 1.0), (1.0, 0.0)]]), "LowerRight");
        assert_eq!(of(&[vec![(0.0, 0.05), (0.95, 0.05), (0.95, 0.95)]]), "LowerLeft");
        assert_eq!(of(&[vec![(0.9, 0.1)], vec![(0.9, 0.9)]]), "UpperLeft");
        assert_eq!(unit(4e-4, "seconds"), (1e6, "microseconds".to_owned()));
    }

    /// Circles: none of a line, one per point of dots and of a line with dots, and the one of the legend.
    #[test]
    fn dots_stand_at_their_points() {
        for (stroke, circles) in [(Stroke::Line, 0), (Stroke::Dashed, 0), (Stroke::Marked, 3), (Stroke::Dots, 4)] {
            let points = vec![(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)];
            let series = [Series { name: "a".into(), points, stroke }];
            let svg = lines("t", [("x", Scale::Linear), ("y", Scale::Linear)], &series);
            assert_eq!(svg.matches("<circle").count(), circles, "{stroke:?}");
        }
    }

    #[test]
    fn values_without_extent_are_drawn_too() {
        for points in [vec![], vec![(1.0, 1.0)], vec![(1.0, 2.0), (1.0, 2.0)]] {
            let series = Series { name: "a".into(), points, stroke: Stroke::Dashed };
            let svg = lines("t", [("x", Scale::Logarithmic), ("y", Scale::Linear)], &[series]);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(!svg.contains("\"#"), "a colour that the page does not decide: {svg}");
        }
    }
}
