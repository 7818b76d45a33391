//! `bench --kernels`: programs that nobody tuned, beside what no grid of this size can beat.

use crate::arguments::{Bench, Global};
use crate::output::{self, Talk};
use compiler::optimisations::Disabled;
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
    let outputs = Outputs { output_words: options.output_words, emit_words: options.emit_words };
    let measure = |number: usize| -> Result<Row, Failure> {
        let kernel = wanted[number];
        talk.detail(&kernel.name);
        kernels::measure(kernel, outputs, Disabled::NOTHING, options.rtl.contains(&kernel.name), &())
    };
    let rows: Result<Vec<Row>, Failure> = crate::jobs::each(wanted.len(), global.jobs, &measure).into_iter().collect();
    let rows = rows?;
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
