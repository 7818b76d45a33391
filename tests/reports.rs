//! Reports beside each other, and the timeline of one in the form that Perfetto reads.

mod tool;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tool::{done, run};

fn report(out: &Path, options: &[&str]) -> Value {
    let arguments =
        ["report", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--config", "tiny", "--words", "8"];
    done(&[&arguments[..], options, &["--quiet", "--out", &out.display().to_string()]].concat());
    serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap()
}

#[test]
fn two_reports_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let reports = [report(&first, &["--epochs", "2"]), report(&second, &["--epochs", "3", "--machine", "pus=1"])];
    let names = [&first, &second].map(|path| path.display().to_string());
    let text = done(&["report", &names[0], &names[1]]).stdout;
    let json = done(&["report", &names[0], &names[1], "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let values = |table: &str, name: &str| {
        let row = json[table].as_array().unwrap().iter().find(|row| row["name"] == name);
        row.unwrap_or_else(|| panic!("no {name}"))["values"].clone()
    };
    // Each figure is that of its report.
    for (name, place) in [
        ("cycles.cycles_per_sample", "/cycles/cycles_per_sample"),
        ("training.test.array.accuracy", "/training/test/array/accuracy"),
        ("resources.LUT", "/resources/2/estimated"),
    ] {
        assert_eq!(
            values("figures", name),
            Value::from(reports.each_ref().map(|report| report.pointer(place).unwrap().clone()).to_vec())
        );
    }
    // Settings are those that differ, and no others.
    assert_eq!(values("settings", "settings.epochs"), serde_json::json!([2, 3]));
    assert!(!text.contains("settings.seed"), "{text}");
    // Two steps of three epochs more by hand: (3 - 2) / 2.
    let line = text.lines().find(|line| line.starts_with("settings.epochs")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["settings.epochs", "2", "3", "+50.0", "%"]);

    let none = run(&["report", &names[0], "nowhere"]);
    assert_eq!(none.code, 6, "{}", none.stderr);
    fs::write(first.join("report.json"), "{}").unwrap();
    let wrong = run(&["report", &names[0], &names[1]]);
    assert!(wrong.code != 0 && wrong.stderr.contains("this is no report"), "{}", wrong.stderr);
    assert_eq!(run(&["report", &names[0]]).code, 2, "one folder is no comparison");
}

#[test]
fn the_timeline_opens_in_perfetto() {
    let folder = tempfile::tempdir().unwrap();
    let document = report(folder.path(), &["--epochs", "1"]);
    let trace: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("timeline.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
    let slices = events.iter().filter(|event| event["ph"] == "X");
    let mut threads: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for slice in slices {
        let (from, long) = (number(slice, "ts"), number(slice, "dur"));
        threads.entry((number(slice, "pid"), number(slice, "tid"))).or_default().push((from, from + long));
    }
    // The format wants slices of a thread to be nested or apart.
    for bars in threads.values() {
        assert!(bars.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{bars:?}");
    }
    // Cycles in which a unit is busy, counted one by one.
    for (process, lane) in (1..).zip(document["timeline"]["lanes"].as_array().unwrap()) {
        let of_unit =
            |event: &&Value| event["ph"] == "M" && number(event, "pid") == process && event["name"] == "process_name";
        assert_eq!(events.iter().find(of_unit).unwrap()["args"]["name"], lane["unit"]);
        let bars = || threads.iter().filter(|((of, _), _)| *of == process).flat_map(|(_, bars)| bars);
        let busy = (0..number(&document["timeline"], "cycles"))
            .filter(|cycle| bars().any(|bar| (bar.0..bar.1).contains(cycle)));
        assert_eq!(busy.count() as u64, number(lane, "busy"), "{}", lane["unit"]);
    }
}
