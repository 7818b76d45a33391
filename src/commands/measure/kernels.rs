//! `bench --kernels`: programs that nobody tuned, beside what no grid of this size can beat.

use crate::arguments::{Bench, Global};
use crate::output::{self, Talk};
use schemars::JsonSchema;
use serde::Serialize;
use workbench::Failure;
use workbench::documents::Document;
use workbench::kernels::{self, Kernel, Outputs, Row};
use workbench::report::figures::figure;

/// Kernels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Kernels {
    /// One entry per kernel.
    kernels: Vec<Row>,
    /// The middle one of all distances from the bound.
    median_distance: Option<f64>,
}

/// Measure, check, print.
pub fn run(global: &Global, options: &Bench, talk: &Talk) -> Result<(), Failure> {
    let all = kernels::read()?;
    let known = |name: &String| all.iter().any(|kernel| kernel.name == *name);
    if let Some(unknown) = options.names.iter().chain(&options.rtl).find(|name| !known(name)) {
        let names = all.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("there is no kernel `{unknown}`; there are {names}")));
    }
    let wanted: Vec<&Kernel> =
        all.iter().filter(|kernel| options.names.is_empty() || options.names.contains(&kernel.name)).collect();
    let without = options.without.iter().copied().collect();
    let measured = |outputs: Outputs| -> Result<Vec<Row>, Failure> {
        let measure = |number: usize| -> Result<Row, Failure> {
            let kernel = wanted[number];
            talk.detail(&kernel.name);
            kernels::measure(kernel, outputs, without, options.rtl.contains(&kernel.name), &())
        };
        crate::jobs::each(wanted.len(), global.jobs, &measure).into_iter().collect()
    };
    if options.page {
        let [one, several, at_once] = kernels::OUTPUTS.map(measured);
        return output::result(&page(&one?, &several?, &at_once?));
    }
    let rows = measured(Outputs { output_words: options.output_words, emit_words: options.emit_words })?;
    let differs = rows.iter().find(|row| row.rtl_cycles_per_sample.is_some_and(|rtl| rtl != row.cycles_per_sample));
    let differs = differs.map(|row| {
        let rtl = row.rtl_cycles_per_sample.unwrap_or_default();
        Failure::Mismatch(format!(
            "{} takes {rtl} cycles per sample on rtl, {} on array",
            row.name, row.cycles_per_sample
        ))
    });
    let document = || Kernels { kernels: rows.clone(), median_distance: kernels::median(&rows) };
    output::either(global.format, || text(&rows), || Document::new(document()).failed(differs.as_ref()))?;
    differs.map_or(Ok(()), Err)
}

fn text(rows: &[Row]) -> String {
    let mut text = format!("{:20} {:>9} {:>9} {:>9}  {:14} {:>8}\n", "", "cycles", "rtl", "bound", "by", "distance");
    for row in rows {
        text.push_str(&format!(
            "{:20} {:>9} {:>9} {:>9}  {:14} {:>8.2}\n",
            row.name,
            figure(row.cycles_per_sample),
            row.rtl_cycles_per_sample.map_or("-".to_owned(), figure),
            figure(row.bound),
            row.bound_by.to_string(),
            row.distance
        ));
    }
    let median = kernels::median(rows).map_or("-".to_owned(), |median| format!("{median:.2}"));
    format!(
        "{text}cycles per sample or record, from the start of one to the start of the next; median distance {median}\n"
    )
}

/// The table of docs/kernels.md: with one word of output per cycle, with several, and with more that leave the grid at once.
fn page(one: &[Row], several: &[Row], at_once: &[Row]) -> String {
    let [_, Outputs { output_words: lanes, .. }, Outputs { emit_words, .. }] = kernels::OUTPUTS;
    let mut text = format!(
        "| kernel | kind | cycles | bound | by | distance | {lanes} words out: cycles | bound | by | distance | {emit_words} at once: cycles | distance |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    let figures = |row: &Row| {
        let (cycles, bound) = (figure(row.cycles_per_sample), figure(row.bound));
        format!("{cycles} | {bound} | {} | {:.2}", row.bound_by, row.distance)
    };
    for ((one, several), at_once) in one.iter().zip(several).zip(at_once) {
        let (cycles, distance) = (figure(at_once.cycles_per_sample), at_once.distance);
        let (first, second) = (figures(one), figures(several));
        text.push_str(&format!("| {} | {} | {first} | {second} | {cycles} | {distance:.2} |\n", one.name, one.kind));
    }
    let median = |rows: &[Row]| kernels::median(rows).map_or("-".to_owned(), |median| format!("{median:.2}"));
    let [one, several, at_once] = [one, several, at_once].map(median);
    text + &format!("| median | | | | | {one} | | | | {several} | | {at_once} |\n")
}
