//! Figures of a machine, the ranking, and the table of all machines: as text, as CSV and as a page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workbench::Failure;
use workbench::report::page::charts::{self, Scale, Series, Stroke};
use workbench::report::page::table::{Cell, Table};

/// One machine, as asked for and as measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Rows of the grid.
    pub pus: u32,
    /// Columns of the grid.
    pub pes_per_pu: u32,
    /// Words of input per cycle.
    pub stream_words: u32,
    /// Samples per update.
    pub batch: u32,
    /// Bits of a word.
    pub word: u32,
    /// Place among the machines that the board holds, the fastest first; equally fast ones by their look-up tables.
    pub rank: Option<usize>,
    /// Measured on the array.
    pub cycles_per_sample: Option<f64>,
    /// Of the whole board at its clock, once its samples are there: the grid's, or what the stream or the serial line brings. Where place and route
    /// misses the clock, at the median of what it reaches.
    pub samples_per_second: Option<f64>,
    /// Energy of a sample, where the configuration says what the board takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_sample: Option<f64>,
    /// What keeps it from being faster: `link`, or what the bound of the grid is by, such as `multiply-adds`.
    pub limited_by: Option<String>,
    /// Multipliers: of the netlist, or estimated.
    pub dsp: Option<u64>,
    /// Block memories, likewise.
    pub bram: Option<u64>,
    /// Look-up tables, likewise.
    pub lut: Option<u64>,
    /// What place and route reaches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What the board has least left of; nothing where the board is not known.
    pub fullest: Option<Share>,
    /// Whether the board has what it takes; nothing where the board is not known.
    pub fits: Option<bool>,
    /// No other machine is as fast with as few look-up tables.
    pub best: bool,
    /// Why it cannot run the program.
    pub refused: Option<String>,
    /// Results of a sweep that are not there yet.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How much of something on a board is taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// `DSP`, `BRAM` or `LUT`; of a netlist also `FF`.
    pub resource: String,
    /// Part of what the board has; above 1 it does not fit.
    pub share: f64,
}

impl Share {
    /// What is fullest of these: name, taken, available.
    pub fn fullest<'a>(kinds: impl IntoIterator<Item = (&'a str, u64, u64)>) -> Option<Share> {
        let share = |(resource, taken, has): (&str, u64, u64)| Share {
            resource: resource.to_owned(),
            share: taken as f64 / has.max(1) as f64,
        };
        kinds.into_iter().map(share).max_by(|a, b| a.share.total_cmp(&b.share))
    }
}

/// The slowest clock of a design, relative to what it has to reach, over several seeds of place and route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// What is asked for, MHz.
    pub asked_mhz: f64,
    /// The median of the seeds, of two in the middle the slower.
    pub median_mhz: f64,
    /// The slowest seed.
    pub least_mhz: f64,
    /// The fastest seed.
    pub most_mhz: f64,
    /// Seeds with a place.
    pub seeds: usize,
    /// Seeds without one.
    pub lost: usize,
}

impl Clock {
    /// Of what each seed reaches, MHz; nothing where none has a place.
    pub fn of(asked_mhz: f64, mut reached: Vec<f64>, lost: usize) -> Option<Clock> {
        reached.sort_by(f64::total_cmp);
        let (&least_mhz, &most_mhz) = (reached.first()?, reached.last()?);
        let median_mhz = reached[(reached.len() - 1) / 2];
        Some(Clock { asked_mhz, median_mhz, least_mhz, most_mhz, seeds: reached.len(), lost })
    }
}

/// The best first, with their ranks, and those on the Pareto front marked.
pub fn ranked(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| {
        let class = |point: &Point| (point.refused.is_some(), point.fits == Some(false));
        let speed = |point: &Point| point.samples_per_second.unwrap_or(0.0);
        class(a).cmp(&class(b)).then(speed(b).total_cmp(&speed(a))).then(a.lut.cmp(&b.lut))
    });
    let runs = |point: &Point| point.refused.is_none() && point.fits != Some(false);
    let costs: Vec<Option<(f64, u64)>> =
        points.iter().map(|p| p.samples_per_second.zip(p.lut).filter(|_| runs(p))).collect();
    for (number, (point, cost)) in points.iter_mut().zip(&costs).enumerate() {
        let Some((speed, lut)) = *cost else { continue };
        let beats = |&(s, l): &(f64, u64)| s >= speed && l <= lut && (s > speed || l < lut);
        point.best = !costs.iter().flatten().any(beats);
        point.rank = Some(number + 1);
    }
    points
}

/// A column of the table: its name, whether it is of numbers, and its cells.
struct Column {
    name: &'static str,
    numbers: bool,
    text: fn(&Point) -> String,
}

/// What is always in the table, and what is there where some machine has it.
fn columns(points: &[Point]) -> Vec<Column> {
    let column = |name, numbers, text| Column { name, numbers, text };
    let mut columns = vec![
        column("rank", true, |point| point.rank.map_or(String::new(), |rank| rank.to_string())),
        column("grid", true, |point| format!("{} x {}", point.pus, point.pes_per_pu)),
        column("words", true, |point| point.stream_words.to_string()),
        column("batch", true, |point| point.batch.to_string()),
        column("bits", true, |point| point.word.to_string()),
        column("cycles per sample", true, |point| decimals(point.cycles_per_sample, 2)),
        column("samples per s", true, |point| decimals(point.samples_per_second, 0)),
        column("limited by", false, |point| point.limited_by.clone().unwrap_or("-".to_owned())),
        column("DSP", true, |point| whole(point.dsp)),
        column("BRAM", true, |point| whole(point.bram)),
        column("LUT", true, |point| whole(point.lut)),
    ];
    if points.iter().any(|point| point.clock.is_some()) {
        columns.push(column("MHz: median (seeds)", true, |point| {
            point.clock.as_ref().map_or("-".to_owned(), |clock| {
                let lost = if clock.lost > 0 { format!(", {} lost", clock.lost) } else { String::new() };
                format!("{:.2} ({:.2} to {:.2}{lost})", clock.median_mhz, clock.least_mhz, clock.most_mhz)
            })
        }));
    }
    if points.iter().any(|point| point.joules_per_sample.is_some()) {
        columns.push(column("uJ per sample", true, |point| decimals(point.joules_per_sample.map(|j| 1e6 * j), 3)));
    }
    columns.push(column("fullest", false, |point| {
        point
            .fullest
            .as_ref()
            .map_or(String::new(), |fullest| format!("{} {:.0} %", fullest.resource, 100.0 * fullest.share))
    }));
    columns.push(column("", false, remark));
    columns
}

fn whole(value: Option<u64>) -> String {
    value.map_or("-".to_owned(), |value| value.to_string())
}

fn decimals(value: Option<f64>, places: usize) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.places$}"))
}

fn remark(point: &Point) -> String {
    let missed = point.clock.as_ref().is_some_and(|clock| clock.median_mhz < clock.asked_mhz);
    match (&point.refused, point.fits) {
        (Some(reason), _) => reason.replace('\n', " "),
        (None, _) if point.open > 0 => format!("{} results to come", point.open),
        (None, Some(false)) => "too large for the board".to_owned(),
        (None, _) => match (point.best, missed) {
            (true, true) => "best, misses the clock".to_owned(),
            (true, false) => "best".to_owned(),
            (false, true) => "misses the clock".to_owned(),
            (false, false) => String::new(),
        },
    }
}

/// What `best` means, and where figures are from.
fn legend(points: &[Point]) -> &'static str {
    if points.iter().any(|point| point.clock.is_some()) {
        "best: on the Pareto front of speed and look-up tables; resources are those of netlists, speeds those of the whole board, \
         at the clock asked for or at the median of the seeds where that is slower"
    } else {
        "best: on the Pareto front of speed and look-up tables; resources are estimates, speeds those of the whole board"
    }
}

/// For terminals.
pub fn text(points: &[Point]) -> String {
    let columns = columns(points);
    let rows: Vec<Vec<String>> = points.iter().map(|point| columns.iter().map(|c| (c.text)(point)).collect()).collect();
    let width = |number: usize, column: &Column| {
        rows.iter().map(|row| row[number].chars().count()).chain([column.name.len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(number, column)| width(number, column)).collect();
    let mut text = String::new();
    let mut line = |cells: Vec<&str>| {
        let cell = |((cell, &width), column): ((&str, &usize), &Column)| match (column.name, column.numbers) {
            // Nothing stands behind the last one.
            ("", _) => cell.to_owned(),
            (_, true) => format!("{cell:>width$}"),
            (_, false) => format!("{cell:width$}"),
        };
        let cells: Vec<String> = cells.into_iter().zip(&widths).zip(&columns).map(cell).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    };
    line(columns.iter().map(|column| column.name).collect());
    for row in &rows {
        line(row.iter().map(String::as_str).collect());
    }
    text + legend(points) + "\n" + &picture(points)
}

/// What a spreadsheet gets: places in a point's JSON, whose last names are the columns'.
const EXACT: [&str; 22] = [
    "/rank",
    "/pus",
    "/pes_per_pu",
    "/stream_words",
    "/batch",
    "/word",
    "/cycles_per_sample",
    "/samples_per_second",
    "/joules_per_sample",
    "/limited_by",
    "/dsp",
    "/bram",
    "/lut",
    "/clock/asked_mhz",
    "/clock/median_mhz",
    "/clock/least_mhz",
    "/clock/most_mhz",
    "/clock/seeds",
    "/clock/lost",
    "/fits",
    "/best",
    "/refused",
];

/// For spreadsheets: nothing is rounded, and what is not known is empty.
pub fn csv(points: &[Point]) -> String {
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let heads = EXACT.iter().map(|place| place.rsplit('/').next().unwrap_or_default().to_owned());
    let rows = points.iter().map(|point| {
        let exact = serde_json::to_value(point).expect("a point is names and numbers");
        let cell = |place: &&str| match exact.pointer(place) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => format!("\"{}\"", text.replace('"', "\"\"")),
            Some(other) => other.to_string(),
        };
        line(EXACT.iter().map(cell).collect())
    });
    [line(heads.collect())].into_iter().chain(rows).collect()
}

/// For browsers.
///
/// # Errors
/// The template is wrong: a bug of ours.
pub fn page(title: &str, about: &str, points: &[Point]) -> Result<String, Failure> {
    let columns = columns(points);
    let row = |point: &Point| {
        columns.iter().map(|column| Cell { text: (column.text)(point), number: column.numbers }).collect::<Vec<_>>()
    };
    let heads = columns.iter().map(|column| Cell { text: column.name.to_owned(), number: column.numbers }).collect();
    let pictures = [front(points), clocks(points)].into_iter().flatten().collect();
    Table { title, about, notes: legend(points), heads, rows: points.iter().map(row).collect(), pictures }.html()
}

/// Speed over look-up tables, and what it is called below; nothing where no machine runs.
fn front(points: &[Point]) -> Option<(String, &'static str)> {
    let of = |best: bool| -> Vec<(f64, f64)> {
        let chosen = points.iter().filter(|point| point.rank.is_some() && point.best == best);
        let mut places: Vec<(f64, f64)> =
            chosen.filter_map(|point| Some((point.lut? as f64, point.samples_per_second?))).collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        places
    };
    let series = [
        Series { name: "best".to_owned(), points: of(true), stroke: Stroke::Marked },
        Series { name: "others".to_owned(), points: of(false), stroke: Stroke::Dots },
    ];
    let shown: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
    let axes = [("look-up tables", Scale::Linear), ("samples per second", Scale::Logarithmic)];
    let below = "The Pareto front: machines that no other beats in both, and the others.";
    (!shown.is_empty()).then(|| (charts::lines("samples per second by look-up tables", axes, &shown), below))
}

/// What the seeds reach, over look-up tables; nothing where nothing was placed.
fn clocks(points: &[Point]) -> Option<(String, &'static str)> {
    let of = |name: &str, mhz: fn(&Clock) -> f64| {
        let place = |point: &Point| Some((point.lut? as f64, mhz(point.clock.as_ref()?)));
        Series { name: name.to_owned(), points: points.iter().filter_map(place).collect(), stroke: Stroke::Dots }
    };
    let series = [
        of("median", |clock| clock.median_mhz),
        of("slowest seed", |clock| clock.least_mhz),
        of("fastest seed", |clock| clock.most_mhz),
    ];
    let axes = [("look-up tables", Scale::Linear), ("MHz", Scale::Linear)];
    let below = "The clock that place and route reaches: median and spread of the seeds.";
    (!series[0].points.is_empty()).then(|| (charts::lines("clock by look-up tables", axes, &series), below))
}

/// Lines and columns of the picture.
const LINES: usize = 12;
const COLUMNS: usize = 60;

/// Speed over look-up tables, both on logarithmic axes: ranks of the machines of the Pareto front, dots for the others that run.
fn picture(points: &[Point]) -> String {
    let placed: Vec<(&Point, f64, f64)> = points
        .iter()
        .filter(|point| point.rank.is_some())
        .filter_map(|point| Some((point, (point.lut? as f64).max(1.0).ln(), point.samples_per_second?.ln())))
        .collect();
    let ends = |value: fn(&(&Point, f64, f64)) -> f64| {
        let (low, high) = placed.iter().map(value).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        (low, high.max(low + 1e-9))
    };
    // One point, or several at one place, is no picture.
    if placed.len() < 2 {
        return String::new();
    }
    let ((left, right), (bottom, top)) = (ends(|p| p.1), ends(|p| p.2));
    let mut cells = vec![vec![' '; COLUMNS + 4]; LINES];
    // The first of a place stays.
    for (point, lut, speed) in placed.iter().rev() {
        let column = ((lut - left) / (right - left) * (COLUMNS - 1) as f64).round() as usize;
        let line = ((top - speed) / (top - bottom) * (LINES - 1) as f64).round() as usize;
        let mark = if point.best { point.rank.unwrap_or(0).to_string() } else { ".".to_owned() };
        for (cell, letter) in cells[line][column..].iter_mut().zip(mark.chars()) {
            *cell = letter;
        }
    }
    let mut text =
        "\nsamples per second over look-up tables, logarithmic; numbers are ranks of the best, dots the others\n"
            .to_owned();
    for (number, line) in cells.iter().enumerate() {
        let label = match number {
            0 => format!("{:.0}", top.exp()),
            n if n + 1 == LINES => format!("{:.0}", bottom.exp()),
            _ => String::new(),
        };
        text.push_str(format!("{label:>12} |{}", line.iter().collect::<String>()).trim_end());
        text.push('\n');
    }
    let (from, to) = (format!("{:.0}", left.exp()), format!("{:.0} LUT", right.exp()));
    text.push_str(&format!("{:>12} +{}\n", "", "-".repeat(COLUMNS)));
    text.push_str(&format!("{:>12}  {from}{to:>width$}\n", "", width = COLUMNS - from.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(speed: Option<f64>, lut: u64, fits: Option<bool>) -> Point {
        let refused = speed.is_none().then(|| "it has no multiplier".to_owned());
        Point { samples_per_second: speed, lut: Some(lut), fits, refused, ..Point::default() }
    }

    #[test]
    fn the_fastest_that_fits_comes_first() {
        let points = vec![
            point(Some(10.0), 100, Some(true)),
            point(None, 1, None),
            point(Some(50.0), 900, Some(false)),
            point(Some(20.0), 100, Some(true)),
            point(Some(20.0), 150, Some(true)),
            point(Some(5.0), 50, Some(true)),
        ];
        let found: Vec<_> = ranked(points).iter().map(|p| (p.rank, p.samples_per_second, p.lut, p.best)).collect();
        assert_eq!(
            found,
            [
                (Some(1), Some(20.0), Some(100), true),
                (Some(2), Some(20.0), Some(150), false),
                (Some(3), Some(10.0), Some(100), false),
                (Some(4), Some(5.0), Some(50), true),
                (None, Some(50.0), Some(900), false),
                (None, None, Some(1), false),
            ]
        );
    }

    #[test]
    fn ranks_stand_where_their_figures_are() {
        let points = vec![
            point(Some(1000.0), 1000, Some(true)),
            point(Some(10.0), 10, Some(true)),
            point(Some(100.0), 1000, Some(true)),
            point(Some(1e6), 9000, Some(false)),
        ];
        let text = picture(&ranked(points));
        let lines: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(lines[0], format!("        1000 |{:>COLUMNS$}", "1"));
        assert!(lines[5].ends_with('.') || lines[6].ends_with('.'), "half way in logarithms: {text}");
        assert_eq!(lines[LINES - 1], "          10 |3");
        assert!(lines[LINES + 1].ends_with("1000 LUT"), "{text}");
        assert_eq!(picture(&ranked(vec![point(Some(1.0), 1, None)])), "");
    }
}
