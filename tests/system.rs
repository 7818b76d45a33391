//! The tables of docs/system.md: its smallest board is measured again, and every run has a row.

mod tool;

use std::fs;
use tool::{done, fails};

fn page() -> String {
    fs::read_to_string("docs/system.md").unwrap()
}

#[test]
fn the_smallest_board_takes_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().to_str().unwrap();
    let arguments = ["bench", "--system", "logistic_30", "--board", "tangnano20k", "--page", "--samples", samples];
    let measured = done(&arguments).stdout;
    assert_eq!(measured.lines().count(), 3);
    for line in measured.lines() {
        assert!(page().lines().any(|known| known == line), "run scripts/system; docs/system.md lacks\n{line}");
    }
    // 31 weights, then 31 inputs and a label of each of the 455 samples.
    let bytes = fs::metadata(folder.path().join("logistic_30.f32")).unwrap().len();
    assert_eq!(bytes, 4 * (31 + 455 * 32));
    let rows: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("rows.json")).unwrap()).unwrap();
    tool::schema::holds(&rows, "bench_system");
    let system = &rows["systems"][0]["system"];
    assert_eq!(system["words_differing"], 0, "{rows}");
    assert!(system["words_compared"].as_u64().unwrap() >= 31, "{rows}");
    assert_eq!(system["bound_by"], "grid", "{rows}");
}

/// What takes too long for a test is at least there.
#[test]
fn every_run_has_a_row() {
    let table: toml::Table = fs::read_to_string("programs/system.toml").unwrap().parse().unwrap();
    for case in table["case"].as_array().unwrap() {
        for run in case["runs"].as_array().unwrap() {
            let number = |key: &str, default: i64| run.get(key).map_or(default, |value| value.as_integer().unwrap());
            let (name, board) = (case["name"].as_str().unwrap(), run["board"].as_str().unwrap());
            let row = format!("| {name} | {} | {} | {board} |", number("batch", 1), number("epochs", 20));
            assert!(page().contains(&row), "run scripts/system; docs/system.md lacks {row}");
        }
    }
}

#[test]
fn unknown_names_are_refused() {
    fails(&["bench", "--system", "logistic"], 2, &["there is no case `logistic`", "logistic_30"]);
    fails(&["bench", "--system", "--board", "ulx"], 2, &["there is no board `ulx`", "tangnano20k, ulx3s"]);
}
