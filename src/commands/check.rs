//! `check`: what is wrong with config, program and the tables beside it; and how ranges were inferred.

use crate::arguments::{Check, Format, Global};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use arch::diagnostic::line_column;
use compiler::language::tensor_comprehensions::{Explanation, explain_ranges};
use compiler::language::{Language, Options};
use sim::eval::with_shapes_of;
use workbench::Project;
use workbench::documents::{Because, Problems, Range};
use workbench::{Failure, documents};

/// Read config and program, and say what is wrong with them.
pub fn run(global: &Global, options: &Check, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &options.entry)?;
    let records = subject::records(options.inputs.as_deref())?.unwrap_or_default();
    let reading = with_shapes_of(records.first(), project.options(&[]));
    let (program, warnings) = project.read(&reading, Some(records.first()))?;
    project.check_settings()?;
    project.with_stays(program)?;
    let ranges = if options.explain_ranges { Some(ranges(&project, &reading)?) } else { None };
    if global.format == Format::Json {
        let ranges = ranges.map(|ranges| ranges.iter().map(|range| shown(&project, range)).collect());
        return output::json(&Problems::with_ranges(documents::messages(&project.source, &warnings), ranges));
    }
    render::warnings(&project.source, &warnings, talk);
    if let Some(ranges) = &ranges {
        output::result(&ranges.iter().map(|range| line(&project, range)).collect::<String>())?;
    }
    talk.say(format!("{}: no errors", project.source.name));
    Ok(())
}

fn ranges(project: &Project, reading: &Options) -> Result<Vec<Explanation>, Failure> {
    if project.language != Language::TensorComprehensions {
        let name = project.language.name();
        return Err(Failure::Usage(format!("--explain-ranges is for Tensor Comprehensions; this is {name}")));
    }
    explain_ranges(&project.source.text, reading).map_err(|diagnostics| Failure::about(&project.source, diagnostics))
}

/// `4: O: i in 0:3, inferred in round 2`, and below it the accesses that leave this range.
fn line(project: &Project, range: &Explanation) -> String {
    let text = &project.source.text;
    let at = |start: usize| line_column(text, start);
    let Explanation { variable, target, low, high, round, span, because } = range;
    let how = if *round == 0 { "stated".to_owned() } else { format!("inferred in round {round}") };
    let mut line = format!("{}: {target}: {variable} in {low}:{high}, {how}", at(span.start).0);
    for (place, low, high) in because.iter().filter(|_| *round > 0) {
        let (row, column) = at(place.start);
        line += &format!("\n    {low}:{high} from `{}` at {row}:{column}", &text[place.start..place.end]);
    }
    line + "\n"
}

fn shown(project: &Project, range: &Explanation) -> Range {
    let text = &project.source.text;
    let because = range.because.iter().map(|&(place, low, high)| {
        let (line, column) = line_column(text, place.start);
        Because { line, column, access: text[place.start..place.end].to_owned(), low, high }
    });
    Range {
        line: line_column(text, range.span.start).0,
        target: range.target.clone(),
        variable: range.variable.clone(),
        low: range.low,
        high: range.high,
        round: range.round,
        because: because.collect(),
    }
}
