//! The report page: one HTML file that needs nothing else, and the same figures as JSON and text.
//!
//! The template escapes what it inserts; drawings escape the names in them.

pub mod charts;
pub mod die;
pub mod names;
pub mod placement_map;
pub mod table;
pub mod timeline;
mod watched;
pub mod waveform;
mod weights;

use crate::documents::Document;
use crate::report::page::charts::{Scale, Series, Stroke};
use crate::report::page::names::Names;
use crate::report::page::placement_map::Map;
use crate::report::page::timeline::Timeline;
use crate::report::page::waveform::Waveform;
use crate::report::page::weights::Picture;
use crate::report::trained;
use crate::report::{Report, ReportDocument};
use crate::simulated::Bound;
use crate::training::{Outcome, Point};
use crate::widths::{InWords, Parts};
use crate::{Design, Failure, Project, samples, system};
use minijinja::value::ViaDeserialize;
use minijinja::{AutoEscape, Environment, Value as Inserted, context};
use serde_json::{Value, json};
use sim::train::metrics::Metrics;

/// What a curve runs over.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Epochs,
    /// Of the whole training.
    Seconds(f64),
    /// Of the whole training.
    Joules(f64),
}

/// Everything the page shows.
pub struct Page<'a> {
    /// Config and program.
    pub project: &'a Project,
    /// Data, fixed point, images.
    pub design: &'a Design,
    /// What the image costs.
    pub report: &'a Report,
    /// What the training gave.
    pub outcome: &'a Outcome,
    /// Two steps on the array.
    pub timeline: &'a Timeline,
    /// Some of its cycles, with the words in them.
    pub waveform: &'a Waveform,
    /// The training in words of other widths.
    pub words: &'a [InWords],
    /// What repeats the run.
    pub command: &'a str,
    /// The picture of the routed design, an SVG.
    pub die: Option<&'a str>,
}

impl Page<'_> {
    /// For programs.
    pub fn document(&self) -> ReportDocument<'_> {
        let training = trained::document(self.outcome, self.project, &self.design.samples, None);
        ReportDocument {
            training: Some(Document::new(training)),
            timeline: Some(self.timeline),
            placement: Some(self.maps()),
            words: (!self.words.is_empty()).then_some(self.words),
            waveform: Some(self.waveform),
            ..self.report.document()
        }
    }

    /// For terminals.
    pub fn text(&self) -> String {
        let training = trained::table(self.outcome, self.project, &self.design.samples);
        let mut text = format!("{training}\n{}\n{}", self.report.text(), self.timeline.text());
        text.push_str("\nplacement\n");
        for map in self.maps() {
            text.push_str(&format!("  {:16} {}, at most {} words per PE\n", map.name, map.axes, map.most()));
        }
        text
    }

    fn maps(&self) -> Vec<Map> {
        let compiled = self.design.images.full.as_ref().expect("a design can train");
        let program = self.design.lowered.full.as_ref().expect("a design can train");
        let machine = &self.design.images.machine;
        let image = &compiled.image;
        let names = Names::new(program, &self.project.source.text);
        let map = |(name, axes): &(String, Vec<_>)| {
            let shown = names.value(name);
            let loaded = image.tensors.iter().position(|tensor| tensor.name == *name);
            if let Some(map) = loaded.and_then(|tensor| Map::loaded(image, tensor, axes)) {
                return Some(Map { name: shown, ..map });
            }
            let tensor = program.tensors.iter().find(|tensor| tensor.name == *name)?;
            let right = tensor.shape.len() == axes.len();
            right.then(|| Map::new(&shown, &tensor.shape, axes, machine.pus(), machine.pes_per_pu()))
        };
        compiled.placement.iter().filter_map(map).collect()
    }

    /// A figure of the parts after each epoch, by engine; or over what the lowest engine has spent by then.
    fn curves(&self, part: &str, over: Over, of: impl Fn(&Metrics) -> Option<f64>) -> String {
        let (last, epochs) = (self.outcome.last(), self.design.schedule.epochs.max(1) as f64);
        let spent = |all: f64, name: &str| {
            let (factor, unit) = charts::unit(all, name);
            (unit, all / epochs * factor)
        };
        let (x, per_epoch) = match over {
            Over::Epochs => ("epoch".to_owned(), 1.0),
            Over::Seconds(seconds) => spent(seconds, "seconds"),
            Over::Joules(joules) => spent(joules, "joules"),
        };
        let mut series = Vec::new();
        for result in &self.outcome.results {
            if over != Over::Epochs && result.name != last.name {
                continue;
            }
            let line = |name: &str, metrics: &dyn Fn(&Point) -> Option<Metrics>, dashed: bool| {
                let point = |point: &Point| Some((point.epoch as f64 * per_epoch, of(&metrics(point)?)?));
                let points: Vec<(f64, f64)> = result.curve.iter().filter_map(point).collect();
                (!points.is_empty()).then(|| Series {
                    name: format!("{} {name}", result.name),
                    points,
                    stroke: Stroke::dashed(dashed),
                })
            };
            series.extend(line("train", &|point| Some(point.train), false));
            series.extend(line("test", &|point| point.test, true));
        }
        charts::lines(&format!("{part} by {x}"), [(&x, Scale::Linear), (part, Scale::Linear)], &series)
    }

    /// The loss in words of several widths, beside that of real numbers; `None` where nothing else was tried.
    fn widths(&self) -> Option<String> {
        let judged = |parts: &Parts| parts.test.unwrap_or(parts.train).loss;
        let line = |name: &str, of: &dyn Fn(&InWords) -> Option<Parts>, dashed: bool| {
            let point = |row: &InWords| Some((f64::from(row.word), judged(&of(row)?)));
            Series {
                name: name.to_owned(),
                points: self.words.iter().filter_map(point).collect(),
                stroke: Stroke::dashed(dashed),
            }
        };
        let (first, last) = (self.words.first()?.word, self.words.last()?.word);
        let golden = &self.outcome.results[0];
        let loss = golden.test.unwrap_or(golden.train).loss;
        let flat = [first, last].map(|word| (f64::from(word), loss)).to_vec();
        let series = [
            line("trained in words", &|row| row.fixed, false),
            line("rounded afterwards", &|row| row.rounded, true),
            Series { name: "real numbers".to_owned(), points: flat, stroke: Stroke::Dashed },
        ];
        let axes = [("bits of a word", Scale::Linear), ("loss", Scale::Logarithmic)];
        Some(charts::lines("loss by word width", axes, &series))
    }

    /// How far the loss of the lowest engine is from golden's; `None` where there is one engine.
    fn differences(&self) -> Option<String> {
        let [golden, .., last] = self.outcome.results.as_slice() else { return None };
        let line = |name: &str, of: &dyn Fn(&Point) -> Option<Metrics>, dashed: bool| {
            let between = |(a, b): (&Point, &Point)| Some((a.epoch as f64, (of(a)?.loss - of(b)?.loss).abs()));
            let points =
                golden.curve.iter().zip(&last.curve).filter_map(between).filter(|point| point.1 > 0.0).collect();
            Series { name: format!("{} {name}", last.name), points, stroke: Stroke::dashed(dashed) }
        };
        let series = [line("train", &|point| Some(point.train), false), line("test", &|point| point.test, true)];
        let shown: Vec<Series> = series.into_iter().filter(|series| !series.points.is_empty()).collect();
        let axes = [("epoch", Scale::Linear), ("difference of the loss from golden", Scale::Logarithmic)];
        (!shown.is_empty()).then(|| charts::lines("difference from golden by epoch", axes, &shown))
    }

    /// What was in force: the plan, the `[train]` table with its defaults, and constants that are not the program's own.
    fn settings(&self, document: &Value) -> Vec<Value> {
        let samples = &self.design.samples;
        let train = serde_json::to_value(&samples.settings).unwrap_or_default();
        let plan = document["settings"].as_object().into_iter().flatten();
        let of_train = train.as_object().into_iter().flatten();
        let named = plan.chain(of_train.filter(|(name, _)| document["settings"].get(name.as_str()).is_none()));
        let mut constants = self.project.constants(&samples::defaults(&samples.settings, &samples.encoding));
        constants.retain(|(name, _)| train.get(name.as_str()).is_none());
        let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        named
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| json!({ "name": name, "value": shown(value) }))
            .chain(constants.iter().map(|(name, value)| json!({ "name": name, "value": charts::short(*value) })))
            .collect()
    }

    /// Weights over inputs that are a picture.
    fn pictures(&self) -> Vec<Picture> {
        let samples = &self.design.samples;
        let (features, bias) = (samples.encoding.features.len(), samples.encoding.bias);
        let shapes = samples.shapes_of_weights();
        let model = &self.outcome.last().trained.model;
        let pictures = |(name, shape): (&String, &Vec<u32>)| {
            let values = model.get(name).map_or(&[][..], Vec::as_slice);
            Picture::of(name, shape, values, features, bias)
        };
        shapes.iter().flat_map(pictures).collect()
    }

    /// The head figures: what a user gets first, then how good it is, then how the grid is used.
    fn tiles(&self, document: &Value) -> Result<Vec<Value>, Failure> {
        let (speed, bound_by) = system::expected(self.project, self.design)?;
        let last = self.outcome.last();
        let (part, judged) = last.test.as_ref().map_or(("training", &last.train), |test| ("test", test));
        let golden = &self.outcome.results[0];
        let of_golden = golden.test.as_ref().map_or(golden.train.loss, |test| test.loss);
        let (score, value) = trained::score(judged);
        let cycles = &document["cycles"];
        let bound = match bound_by {
            Bound::Grid => "the grid",
            Bound::Store => "the SDRAM",
            Bound::Link => "the link",
            Bound::Output => "the output",
        };
        let mut tiles = vec![(large(speed), format!("samples per second of the whole board, limited by {bound}"))];
        if let Some(seconds) = document["training"]["seconds"].as_f64() {
            let samples = document["training"]["samples"].as_f64().unwrap_or(0.0);
            tiles.push((trained::time(seconds), format!("of computing for {} samples", large(samples))));
        }
        tiles.push((value, format!("{score} on the {part} part")));
        if self.outcome.results.len() > 1 {
            let far = 100.0 * (judged.loss - of_golden).abs() / of_golden.abs().max(f64::MIN_POSITIVE);
            tiles.push((
                format!("{} %", charts::short(far)),
                format!("between the {part} losses of real numbers and of words"),
            ));
        }
        tiles
            .push((charts::short(cycles["cycles_per_sample"].as_f64().unwrap_or(0.0)), "cycles per sample".to_owned()));
        if let Some(distance) = cycles["distance"].as_f64() {
            let by = cycles["bound_by"].as_str().unwrap_or("").replace('_', " ");
            tiles.push((charts::short(distance), format!("times the fewest cycles possible, by {by}")));
        }
        Ok(tiles.into_iter().map(|(value, name)| json!({ "value": value, "name": name })).collect())
    }

    fn roofline(&self, document: &Value) -> String {
        let figure = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        let (pes, words) = (figure("/machine/pes"), figure("/machine/stream_words"));
        let adds = figure("/cycles/work/multiply_adds");
        let intensity = adds / figure("/cycles/work/input_words").max(1.0);
        let reached = adds / figure("/cycles/cycles_per_sample").max(1.0);
        let ridge = pes / words;
        // The roof begins below the dot.
        let low = intensity.min(ridge).min(reached / words) / 2.0;
        let (low, high) = (low.max(1e-3), intensity.max(ridge) * 8.0);
        let roof = vec![(low, low * words), (ridge, pes), (high, pes)];
        let dot = vec![(intensity.max(1e-3), reached.max(1e-3))];
        let series = [
            Series { name: format!("{pes} PEs, {words} words per cycle"), points: roof, stroke: Stroke::Line },
            Series { name: self.project.name(), points: dot, stroke: Stroke::Line },
        ];
        let axes =
            [("multiply-adds per input word", Scale::Logarithmic), ("multiply-adds per cycle", Scale::Logarithmic)];
        charts::lines("roofline", axes, &series)
    }

    /// For browsers.
    ///
    /// # Errors
    /// The template is wrong: a bug of ours.
    #[expect(clippy::too_many_lines, reason = "one table: the values of the template")]
    pub fn html(&self) -> Result<String, Failure> {
        let mut document = serde_json::to_value(self.document()).expect("a report is names and numbers");
        self.name(&mut document);
        let (score_name, _) = trained::score(&self.outcome.results[0].train);
        let number = |value: f64| format!("{value:.5}");
        let score = |metrics: Option<&Metrics>| metrics.map_or("-".to_owned(), |metrics| trained::score(metrics).1);
        let results: Vec<Value> = self
            .outcome
            .results
            .iter()
            .map(|result| {
                json!({
                    "engine": result.name,
                    "train_loss": number(result.train.loss),
                    "test_loss": result.test.map_or("-".to_owned(), |test| number(test.loss)),
                    "train_score": score(Some(&result.train)),
                    "test_score": score(result.test.as_ref()),
                })
            })
            .collect();
        let compared = self.outcome.comparison.as_ref().map_or(String::new(), |c| {
            format!(
                "{} words compared with {}, {} differ; {} cycle counts differ.",
                c.words, c.with, c.differing, c.cycle_counts_differing
            )
        });
        let drawn = |svg: String| Inserted::from_safe_string(svg);
        let loss = |metrics: &Metrics| Some(metrics.loss);
        let spent = |what: &str| document["training"][what].as_f64();
        let maps: Vec<Inserted> = self
            .maps()
            .iter()
            .map(|map| {
                context! { name => map.name, axes => map.axes, most => map.most(), svg => drawn(map.svg()) }
            })
            .collect();
        let pictures: Vec<Inserted> = self
            .pictures()
            .iter()
            .map(|picture| context! { name => picture.name, svg => drawn(picture.svg()) })
            .collect();
        let figures = context! {
            score => score_name,
            results, compared, maps,
            tiles => self.tiles(&document)?,
            command => self.command,
            settings => self.settings(&document),
            confusion => document["training"]["confusion"],
            lowest => self.outcome.last().name,
            loss_curve => drawn(self.curves("loss", Over::Epochs, loss)),
            score_curve => drawn(self.curves(score_name, Over::Epochs, |metrics| metrics.accuracy.or(metrics.r2))),
            time_curve => spent("seconds").map(|seconds| drawn(self.curves("loss", Over::Seconds(seconds), loss))),
            energy_curve => spent("joules").map(|joules| drawn(self.curves("loss", Over::Joules(joules), loss))),
            watts => self.project.board.watts,
            width_curve => self.widths().map(drawn),
            widths => self.words.iter().filter_map(|row| Some(json!({ "word": row.word, "refused": row.refused.as_ref()? }))).collect::<Vec<Value>>(),
            waveform_svg => drawn(self.waveform.svg()),
            die => self.die.map(charts::as_image),
            difference_curve => self.differences().map(drawn),
            pictures => pictures,
            roofline => drawn(self.roofline(&document)),
            timeline_svg => drawn(self.timeline.svg()),
            source => self.source(&document),
            bars => bars(&document),
            saturated => self.saturated(&document),
        };
        rendered(include_str!("page.html"), context! { ..figures, ..Inserted::from_serialize(&document) })
    }

    /// Give the tensors that the page lists the user's names.
    fn name(&self, document: &mut Value) {
        let program = self.design.lowered.full.as_ref().expect("a design can train");
        let names = Names::new(program, &self.project.source.text);
        for list in ["/numbers", "/training/saturations"] {
            let rows = document.pointer_mut(list).and_then(Value::as_array_mut);
            for tensor in rows.into_iter().flatten().filter_map(|row| row.get_mut("tensor")) {
                *tensor = names.value(tensor.as_str().unwrap_or_default()).into();
            }
        }
    }

    fn source(&self, document: &Value) -> Vec<Value> {
        let step = document["cycles"]["step_length"].as_f64().unwrap_or(0.0).max(1.0);
        let of_line = |number: usize| {
            document["lines"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|line| line["line"] == number)
                .cloned()
                .unwrap_or_default()
        };
        let shown = |number: usize, text: &str| {
            let line = of_line(number);
            let cycles = line["cycles"].as_f64().unwrap_or(0.0);
            json!({
                "number": if number == 0 { String::new() } else { number.to_string() },
                "text": text,
                "cycles": line["cycles"].as_u64().map_or(String::new(), |n| n.to_string()),
                "multiply_adds": line["multiply_adds"].as_u64().map_or(String::new(), |n| n.to_string()),
                "percent": (cycles > 0.0).then(|| (1000.0 * cycles / step).round() / 10.0),
            })
        };
        let own = (1..).zip(self.project.source.text.lines()).map(|(number, text)| shown(number, text));
        let tool = (!of_line(0).is_null()).then(|| shown(0, "(the tool)"));
        own.chain(tool).collect()
    }

    fn saturated(&self, document: &Value) -> Vec<Value> {
        let line = |row: &Value| {
            let number = row["line"].as_u64().unwrap_or(0) as usize;
            let text = number.checked_sub(1).and_then(|n| self.project.source.text.lines().nth(n)).unwrap_or("");
            json!({ "line": number, "tensor": row["tensor"], "text": text.trim(), "results": row["results"] })
        };
        document["training"]["saturations"].as_array().into_iter().flatten().map(line).collect()
    }
}

/// A template with its figures; all pages have one style.
fn rendered(template: &str, figures: Inserted) -> Result<String, Failure> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_filter("number", |value: f64| charts::short(value));
    environment.add_filter("large", |value: f64| large(value));
    environment.add_filter("maybe", |ViaDeserialize(value): ViaDeserialize<Option<f64>>| {
        value.map_or("-".to_owned(), |value| format!("{value:.5}"))
    });
    let bug = |error: minijinja::Error| Failure::Bug(format!("the page: {error:#}"));
    environment.add_template("style", include_str!("style.css")).map_err(bug)?;
    environment.add_template("page", template).map_err(bug)?;
    environment.get_template("page").and_then(|page| page.render(figures)).map_err(bug)
}

fn bars(document: &Value) -> Vec<Value> {
    let parts = [("memories", "used"), ("resources", "estimated")];
    let rows = parts
        .into_iter()
        .flat_map(|(part, used)| document[part].as_array().into_iter().flatten().map(move |row| (row, used)));
    let bar = |(row, key): (&Value, &str)| {
        let (used, available) = (row[key].as_f64().unwrap_or(0.0), row["available"].as_f64());
        json!({
            "name": row["name"],
            "used": row[key],
            "available": available.map_or("-".to_owned(), |available| available.to_string()),
            "percent": available.filter(|&n| n > 0.0).map(|available| (1000.0 * used / available).round() / 10.0),
        })
    };
    rows.map(bar).collect()
}

/// A large number with a letter for thousands, millions and so on.
fn large(value: f64) -> String {
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    match scales.into_iter().find(|(scale, _)| value >= *scale) {
        Some((scale, letter)) => format!("{:.2} {letter}", value / scale),
        None => charts::short(value),
    }
}
