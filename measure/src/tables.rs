//! Tables of pages, of the JSON documents that `tabla-gen` prints.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::error::Error;
use workbench::kernels::{self, OUTPUTS};
use workbench::report::figures::figure;
use workbench::report::trained;
use workbench::widths::{self, InWords, Parts};
use workbench::{networks, system};

/// A table, or what is wrong with the document.
pub type Table = Result<String, Box<dyn Error>>;

/// A list of a document.
fn rows<T: DeserializeOwned>(document: &Value, name: &str) -> Result<Vec<T>, Box<dyn Error>> {
    Ok(Vec::deserialize(&document[name])?)
}

/// The head of a Markdown table.
fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

/// One run of `bench`, as far as its table shows it.
#[derive(Deserialize)]
struct Benchmark {
    name: String,
    batch: u32,
    pus: u32,
    pes_per_pu: u32,
    stream_words: u32,
    cycles_per_sample: Option<f64>,
    bound: Option<f64>,
    bound_by: Option<String>,
    utilisation: Option<f64>,
    target: Option<f64>,
    reached: Option<bool>,
    peer_rtl: Option<u64>,
    peer_simulator: Option<u64>,
    refused: Option<String>,
}

/// docs/tables/performance.txt: the document of `bench`.
///
/// # Errors
/// It is another document.
pub fn benchmarks(document: &Value) -> Table {
    let columns = ["benchmark", "batch", "grid", "words in", "cycles per sample", "bound", "multiply-add slots used"];
    let mut text = head(&[&columns[..], &["target", "reached", "peer RTL", "peer simulator"]].concat());
    let cell = |value: Option<f64>| value.map_or("-".to_owned(), figure);
    for row in rows::<Benchmark>(document, "benchmarks")? {
        let cycles = if row.refused.is_some() { "does not fit".to_owned() } else { cell(row.cycles_per_sample) };
        let bound =
            row.bound.zip(row.bound_by).map_or("-".to_owned(), |(bound, by)| format!("{} ({by})", figure(bound)));
        let used = row.utilisation.map_or("-".to_owned(), |part| format!("{:.1} %", 100.0 * part));
        let reached = row.reached.map_or("-", |reached| if reached { "yes" } else { "no" });
        // The peers were measured one sample per update.
        let peer = |value: Option<u64>| match value {
            _ if row.batch != 1 => String::new(),
            None => "-".to_owned(),
            Some(cycles) => cycles.to_string(),
        };
        text += &format!(
            "| {} | {} | {} x {} | {} | {cycles} | {bound} | {used} | {} | {reached} | {} | {} |\n",
            row.name,
            row.batch,
            row.pus,
            row.pes_per_pu,
            row.stream_words,
            cell(row.target),
            peer(row.peer_rtl),
            peer(row.peer_simulator),
        );
    }
    Ok(text)
}

/// docs/tables/kernels.txt: the documents of `bench --kernels` for each of `workbench::kernels::OUTPUTS`.
///
/// # Errors
/// They are other documents.
pub fn kernels(documents: &[Value]) -> Table {
    let measured = documents.iter().map(|document| rows(document, "kernels"));
    let [one, several, at_once]: [Vec<kernels::Row>; 3] =
        measured.collect::<Result<Vec<_>, _>>()?.try_into().map_err(|_| "three documents are needed")?;
    let (lanes, emit) = (OUTPUTS[1].output_words, OUTPUTS[2].emit_words);
    let columns = ["kernel", "kind", "cycles", "bound", "by", "distance"];
    let (second, third) = (format!("{lanes} words out: cycles"), format!("{emit} at once: cycles"));
    let mut text = head(&[&columns[..], &[&second, "bound", "by", "distance", &third, "distance"]].concat());
    let figures = |row: &kernels::Row| {
        let (cycles, bound) = (figure(row.cycles_per_sample), figure(row.bound));
        format!("{cycles} | {bound} | {} | {:.2}", row.bound_by, row.distance)
    };
    for ((one, several), at_once) in one.iter().zip(&several).zip(&at_once) {
        let (cycles, distance) = (figure(at_once.cycles_per_sample), at_once.distance);
        let (first, second) = (figures(one), figures(several));
        text += &format!("| {} | {} | {first} | {second} | {cycles} | {distance:.2} |\n", one.name, one.kind);
    }
    let median = |rows: &[kernels::Row]| kernels::median(rows).map_or("-".to_owned(), |median| format!("{median:.2}"));
    let [one, several, at_once] = [one, several, at_once].map(|rows| median(&rows));
    Ok(text + &format!("| median | | | | | {one} | | | | {several} | | {at_once} |\n"))
}

/// docs/tables/networks.txt: the document of `bench --networks`.
///
/// # Errors
/// It is another document.
pub fn networks(document: &Value) -> Table {
    let mut text = head(&[
        "network",
        "grid",
        "records",
        "cycles",
        "bound",
        "by",
        "distance",
        "latency",
        "per second",
        "words per PE",
    ]);
    for row in rows::<networks::Row>(document, "networks")? {
        let measured = match &row.measured {
            Some(measured) => format!(
                "{} | {} | {} | {:.2} | {} | {} | {}",
                figure(measured.cycles),
                figure(measured.bound),
                measured.bound_by,
                measured.distance,
                measured.latency_cycles,
                figure(measured.per_second),
                measured.words_per_pe
            ),
            None => format!("refused: {} | | | | | |", row.refused.as_deref().unwrap_or_default()),
        };
        text += &format!("| {} | {} x {} | {} | {measured} |\n", row.name, row.grid[0], row.grid[1], row.records);
    }
    Ok(text)
}

/// The first table of docs/tables/system.txt: the document of `bench --system`.
///
/// # Errors
/// It is another document.
pub fn systems(document: &Value) -> Table {
    let columns = ["case", "batch", "epochs", "board", "grid", "clock", "samples per second", "bound by"];
    let mut text = head(&[&columns[..], &["upload", "all", "to the target", "energy per sample", "goal"]].concat());
    for row in rows::<system::Row>(document, "systems")? {
        let refused = || format!("does not fit: {} | | | | |", row.refused.as_deref().unwrap_or_default());
        let found = row.cells().map_or_else(refused, |cells| cells.join(" | "));
        let (clock, goals) = (row.clock(), row.goals());
        let system::Row { case, batch, epochs, board, grid, .. } = &row;
        text += &format!("| {case} | {batch} | {epochs} | {board} | {grid} | {clock} | {found} | {goals} |\n");
    }
    Ok(text)
}

/// A section of docs/tables/accuracy.txt: the document of `accuracy`.
///
/// # Errors
/// It is another document.
pub fn accuracy(document: &Value) -> Table {
    let golden = Parts::deserialize(&document["golden"])?;
    let (name, _) = trained::score(&golden.train);
    let named = |key: &str| document[key].as_str().ok_or_else(|| format!("{key} is missing"));
    let mut text = format!("## {} on {}\n\n", named("program")?, named("data")?);
    text += &format!("| | train loss | test loss | train {name} | test {name} | |\n|---|---|---|---|---|---|\n");
    for (cells, remark) in widths::lines(golden, &rows::<InWords>(document, "words")?) {
        text += &format!("| {} | {remark} |\n", cells.join(" | "));
    }
    Ok(text + "\n")
}
