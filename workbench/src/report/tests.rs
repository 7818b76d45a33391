//! A report beside what it is made of, and beside figures by hand.

use super::page::timeline::{Bar, Lane};
use super::*;
use crate::report::explanation::{Explained, Explanation};
use crate::report::fates::Fates;
use crate::samples::Choice;
use crate::simulated::Spent;
use crate::subject::Subject;
use crate::training::Outcome;
use crate::{Choices, RunOptions, Rung, Samples, Training};
use serde_json::{Value, json};
use sim::distance::Distance;
use sim::train::metrics::Metrics;

const LINE: &str = "mu = 0.1; model_input x[2]; model_output y; model w[2]; gradient g[2] -> w; iterator i[0:2];
h = sum[i](w[i] * x[i]);
d = h - y;
g[i] = d * x[i];
loss = d * d;";
const NUMBERS: &str =
    "[train]\nprediction = 'h'\nloss = 'squared'\nepochs = 3\nstandardise = false\nstandardise_target = false";
const GRID: &str = "[machine]\npus = 2\npes_per_pu = 2\n[board]\nclock_mhz = 50.0\nwatts = 2.0";

/// 35 rows with this target.
fn rows<T: std::fmt::Display>(target: impl Fn(i64, i64) -> T) -> String {
    let row = |n: i64| format!("{},{},{}\n", n % 5, n % 7, target(n % 5, n % 7));
    "a,b,target\n".to_owned() + &(0..35).map(row).collect::<Vec<_>>().concat()
}

/// `2 a - b`.
fn numbers() -> String {
    rows(|a, b| 2 * a - b)
}

fn training_of(program: &str, settings: &str, grid: &str, rows: &str, asked: &Choices) -> Training {
    let project = Project::in_memory("line.t", program, Some(settings), Some(grid)).unwrap();
    let table = Choice::of_text("rows.csv", rows).unwrap();
    let samples = Samples::read(&project, asked, table, &()).unwrap();
    Training::new(project, samples).unwrap()
}

fn line(grid: &str, asked: &Choices) -> Training {
    training_of(LINE, NUMBERS, grid, &numbers(), asked)
}

fn run(training: &Training, curves: bool) -> Outcome {
    training.run(&RunOptions { curves, ..RunOptions::on(Rung::Array) }, None, &()).unwrap()
}

/// The report of a training, its text, and the report as JSON.
fn report(training: &Training) -> (Report, String, Value) {
    let ranges = training.ranges(&()).unwrap();
    let report = Report::of_training(&training.project, &training.design(&ranges, &()).unwrap()).unwrap();
    let (text, json) = (report.text(), serde_json::to_value(report.document()).unwrap());
    (report, text, json)
}

/// The names in a list of objects, with another field of each.
fn listed(json: &Value, list: &str, field: &str) -> Vec<(String, Value)> {
    let entries = json[list].as_array().unwrap().iter();
    entries.map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry[field].clone())).collect()
}

/// By hand: two products for h, two of the rate with x, two for w. A step is as long as its lines.
#[test]
fn lines_have_their_cycles_and_products() {
    let (_, text, json) = report(&line(GRID, &Choices::default()));
    let lines = json["lines"].as_array().unwrap();
    let of = |field: &str| lines.iter().map(|line| line[field].clone()).collect::<Vec<Value>>();
    assert_eq!(of("line"), [1, 2, 3, 4, 5]);
    let tensors: Vec<&Value> = json["numbers"].as_array().unwrap().iter().map(|number| &number["tensor"]).collect();
    assert_eq!(tensors, ["x", "y", "w", "w.4", "w.5"]);
    assert_eq!(of("multiply_adds"), [0, 2, 0, 4, 0]);
    let left_out = "not computed: nothing asks for it";
    let fused = "fused into line 4";
    assert_eq!(of("note"), [json!(fused), Value::Null, json!(fused), Value::Null, json!(left_out)]);
    let cycles: u64 = of("cycles").iter().filter_map(Value::as_u64).sum();
    assert_eq!(Some(cycles), json["cycles"]["step_length"].as_u64());
    assert!(text.contains(&format!("0   {:>4}  loss = d * d;  ({left_out})\n", 5)), "{text}");
    assert!(text.starts_with("line on 2 x 2 PEs of 16 bits, batch 1\nboard none, 50 MHz; measured on rows.csv\n"));
    // 6 products in 17 cycles of 4 PEs.
    assert_eq!(json["cycles"]["cycles_per_sample"], 17.0);
    assert!(text.contains("MAC utilisation            8.8 %\n") && !text.contains("tiles of a batch"), "{text}");
    assert!(text.contains("samples per second     2.941 M\n"), "{text}");
}

#[test]
fn memories_and_cells_are_listed() {
    let (_, text, json) = report(&line(GRID, &Choices::default()));
    let common = ["model pad", "data pad (per bank)", "temporary pads", "alu program", "root program", "move program"];
    let names = [&common[..], &["load program", "function tables", "scalar program"]].concat();
    let used = listed(&json, "memories", "used");
    assert_eq!(used.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    // Two weights on two columns; x on the columns and y, of a sample; the alu stream has three instructions of a step and one that sends w.
    assert_eq!(used.iter().map(|(_, used)| used.as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 2, 4, 1, 2, 3, 0, 1]);
    let cells = listed(&json, "resources", "available");
    assert_eq!(cells, ["DSP", "BRAM", "LUT", "FF"].map(|name| (name.to_owned(), Value::Null)));
    assert!(text.contains("no board: cells of ") && text.contains("no result saturated"), "{text}");
    // A board has cells, a batch in tiles a gradient pad.
    let grid = "[machine]\npus = 1\npes_per_pu = 2\ndata_depth = 16\nscalar = false\n[board]\nname = 'ulx3s-85f'";
    let (report, text, json) = report(&line(grid, &Choices { batch: Some(14), ..Choices::default() }));
    let names: Vec<String> = listed(&json, "memories", "used").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&common[..], &["load program", "function tables", "gradient pad"]].concat());
    let lut = listed(&json, "resources", "available").into_iter().find(|(name, _)| name == "LUT");
    assert_eq!(lut, Some(("LUT".to_owned(), json!(83_640))));
    assert!(report.cycles.tiles > 1 && text.contains(&format!("tiles of a batch    {:10}\n", report.cycles.tiles)));
    assert!(text.contains("resources           estimated  available\n"), "{text}");
}

#[test]
fn names_and_places_are_explained() {
    let training = line(GRID, &Choices::default());
    let design = training.design(&training.ranges(&()).unwrap(), &()).unwrap();
    let subject = Subject::Training(Box::new(design));
    let explained = Explained::new(&training.project, &subject).unwrap();
    let json = serde_json::to_value(explained.document()).unwrap();
    let names = json!({"h": "computed as w.4", "d": "fused into w", "g": "computed as w", "loss": "not computed: nothing asks for it"});
    assert_eq!(json["names"], names);
    let placement = json!({"x": ["column"], "y": [], "w": ["column"], "w.4": ["local"], "w.5": ["column"]});
    assert_eq!((&json["placement"], &json["alternatives"][0]["placement"]), (&placement, &placement));
    let of_numbers = Explanation::of_numbers(numbers_of(&[("h", Some((0.25, 1.0))), ("k", None)]));
    let json = serde_json::to_value(Document::new(of_numbers)).unwrap();
    assert_eq!(listed_tensors(&json), ["h", "k"]);
}

fn listed_tensors(json: &Value) -> Vec<&str> {
    json["numbers"].as_array().unwrap().iter().filter_map(|number| number["tensor"].as_str()).collect()
}

fn numbers_of(tensors: &[(&str, Option<(f64, f64)>)]) -> Vec<Number> {
    let number = |&(tensor, range): &(&str, Option<(f64, f64)>)| Number {
        tensor: tensor.to_owned(),
        shown: tensor.to_owned(),
        low: range.map(|range| range.0),
        high: range.map(|range| range.1),
        fraction: 8,
        decided: "its range".to_owned(),
    };
    tensors.iter().map(number).collect()
}

#[test]
fn ranges_are_written_where_they_are_known() {
    let text = numbers_text(&numbers_of(&[("h", Some((0.25, 1.0))), ("k", None)]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[1..],
        [
            format!("{:20} {:8}        0.25000 .. 1.00000  (its range)", "h", 8),
            format!("{:20} {:8}        unknown  (its range)", "k", 8),
        ]
    );
}

#[test]
fn a_function_has_fates_too() {
    let text = "def f(float(4) x) -> (o) {\n  t(i) = x(i) * x(i)\n  o(i) = t(i) + 1\n  u(i) = x(i)\n}";
    let project = Project::in_memory("f.tc", text, None, Some(GRID)).unwrap();
    let Subject::Function(function) = Subject::function(&project, None, &()).unwrap() else {
        panic!("it trains nothing")
    };
    let fates = Fates::of_function(&project, &function);
    assert_eq!(fates.lines.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(fates.lines[&3], None);
    assert_eq!(fates.lines[&4].as_deref(), Some("not computed: nothing asks for it"));
    let report = Report::of_function(&project, &function).unwrap();
    // Results can be read before the next record may begin: what is left belongs to the last line.
    let cycles: u64 = report.lines.iter().map(|line| line.cycles).sum();
    assert_eq!(cycles, u64::from(report.cycles.step_length));
    assert_eq!((report.measured_on.as_str(), report.batch, report.settings.is_none()), ("made-up records", 1, true));
}

/// 84 samples in `cycles` cycles at 50 MHz and 2 W.
#[test]
fn a_training_has_its_seconds_and_joules() {
    let training = line(GRID, &Choices::default());
    let mut outcome = run(&training, false);
    let document = |outcome: &Outcome, numbers| {
        serde_json::to_value(trained::document(outcome, &training.project, &training.samples, numbers)).unwrap()
    };
    let near = |found: &Value, expected: f64| {
        let found = found.as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}, not {expected}");
    };
    let cycles = outcome.last().trained.cycles.unwrap() as f64;
    let json = document(&outcome, None);
    assert_eq!(
        (&json["samples"], &json["clock_mhz"], &json["cycles"]),
        (&json!(84), &json!(50.0), &json!(cycles as u64))
    );
    near(&json["mean_cycles_per_sample"], cycles / 84.0);
    near(&json["seconds"], cycles / 5e7);
    near(&json["joules"], 2.0 * cycles / 5e7);
    near(&json["joules_per_sample"], 2.0 * cycles / 5e7 / 84.0);
    assert!(["system", "curves", "numbers", "confusion"].iter().all(|field| json.get(field).is_none()));
    assert_eq!(json["train"].as_object().unwrap().keys().collect::<Vec<_>>(), ["golden", "array"]);
    assert_eq!((&json["words_differing"], &json["compared_with"]), (&json!(0), &json!("fixed")));
    let table = trained::table(&outcome, &training.project, &training.samples);
    let per_sample = format!(
        "{cycles} cycles in all, {:.2} per sample on average, {:.2} us at 50 MHz\n",
        cycles / 84.0,
        cycles / 50.0
    );
    let energy = format!("{:.3e} J in all, {:.3e} J per sample at 2 W\n", cycles / 2.5e7, cycles / 2.5e7 / 84.0);
    assert!(table.contains(&(per_sample + &energy)), "{table}");
    assert!(table.contains("   train loss    test loss     train R2      test R2\n"), "{table}");
    let mae = outcome.last().test.unwrap().mae.unwrap();
    assert!(table.contains(&format!("\narray, test part: mean absolute error {mae:.3}\n")), "{table}");
    // A simulated board: 100,000 cycles of 50 MHz are 2 ms.
    outcome.results.last_mut().unwrap().spent = Some(Spent { all: 100_000, ..Spent::default() });
    let json = document(&outcome, Some(numbers_of(&[("h", None)])));
    near(&json["system"]["seconds"], 0.002);
    assert_eq!(
        (&json["system"]["samples"], &json["system"]["epochs"], listed_tensors(&json)),
        (&json!(84), &json!(3), vec!["h"])
    );
    assert!(
        trained::table(&outcome, &training.project, &training.samples)
            .contains("simulated board: 84 samples in 0.0020 s")
    );
    let curves = document(&run(&training, true), None)["curves"].clone();
    assert_eq!(["golden", "array"].map(|engine| curves[engine].as_array().unwrap().len()), [3, 3]);
}

/// Whether `a` is larger than `b`: what is predicted is counted class by class.
#[test]
fn classes_are_told_apart() {
    let program = LINE.replace("d = h - y;", "h = sigmoid(h); d = h - y;");
    let rows = rows(|a, b| if a > b { "more" } else { "less" });
    let settings = "[train]\nprediction = 'h'\nloss = 'logistic'\nepochs = 9\nlabels = { less = 0, more = 1 }";
    let training = training_of(&program, settings, GRID, &rows, &Choices::default());
    let outcome = run(&training, false);
    let json = serde_json::to_value(trained::document(&outcome, &training.project, &training.samples, None)).unwrap();
    let confusion = &json["confusion"];
    assert_eq!((&confusion["classes"], &confusion["part"]), (&json!(["less", "more"]), &json!("test")));
    let counts: Vec<u64> = (0..4).map(|n| confusion["engines"]["array"][n / 2][n % 2].as_u64().unwrap()).collect();
    let right = (counts[0] + counts[3]) as f64 / 7.0;
    assert_eq!((counts.iter().sum::<u64>(), &json["test"]["array"]["accuracy"]), (7, &json!(right)));
    let table = trained::table(&outcome, &training.project, &training.samples);
    let rows = format!(
        "\narray, test part: rows are classes, columns what they were taken for\n{:5}   less  more\n less  {:5} {:5}\n more  {:5} {:5}\n",
        "", counts[0], counts[1], counts[2], counts[3]
    );
    assert!(table.contains(&rows), "{table}{rows}");
    assert!(
        table.contains("train accuracy test accuracy\n") && table.contains(&format!("{:.2} %\n", 100.0 * right)),
        "{table}"
    );
    assert!(table.contains("\narray, test part: F1 ") && table.contains(", AUC "), "{table}");
}

#[test]
fn figures_are_short() {
    assert_eq!([2.0, 2.5, 0.126].map(figures::figure), ["2", "2.50", "0.13"]);
    let distance = figures::distance(Distance { absolute: 0.0125, relative: 0.5 });
    assert_eq!(distance, "distance from golden: 1.250e-2, 50.000 % of the largest value");
    let times = [1.0, 0.9999, 1e-3, 0.000_999, 2e-8].map(trained::time);
    assert_eq!(times, ["1.00 s", "999.90 ms", "1.00 ms", "999.00 us", "0.02 us"]);
    let score = |accuracy, r2| trained::score(&Metrics { accuracy, r2, ..Metrics::default() });
    assert_eq!(score(Some(0.125), None), ("accuracy", "12.50 %".to_owned()));
    assert_eq!((score(None, Some(0.5)), score(None, None)), (("R2", "0.5000".to_owned()), ("R2", "-".to_owned())));
}

/// The resources that a sample uses, and no others: it comes in, and is multiplied.
#[test]
fn bounds_name_what_is_used() {
    let training = line(GRID, &Choices::default());
    let design = training.design(&training.ranges(&()).unwrap(), &()).unwrap();
    let text = figures::pace(&design.pace().unwrap());
    let expected = "cycles per sample        17.00
bound                     1.50   (by multiply-adds)
  input words             0.75   (3 of a sample)
  multiply-adds           1.50   (6 of a sample)
distance to bound        11.33
";
    assert_eq!(text, expected);
}

#[test]
fn bars_that_overlap_lie_on_threads_of_their_own() {
    let bar = |start, end| Bar { start, end, step: 0, what: "add".to_owned(), line: 1, fused: Vec::new() };
    let bars = vec![bar(0, 4), bar(2, 6), bar(4, 5)];
    let timeline = Timeline { cycles: 6, steps: vec![0], lanes: vec![Lane { unit: "trees", busy: 6, bars }] };
    let trace = timeline.trace();
    let slices =
        trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X" && event["pid"] == 1);
    let threads: Vec<_> = slices.map(|slice| (slice["ts"].as_u64(), slice["tid"].as_u64())).collect();
    assert_eq!(threads, [(Some(0), Some(0)), (Some(2), Some(1)), (Some(4), Some(0))]);
}
