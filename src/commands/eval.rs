//! `eval`: one evaluation, JSON in, JSON out, on any rung of the ladder.

use crate::arguments::{Eval, Format, Global};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use arch::{Code, Diagnostic};
use compiler::language::Language;
use compiler::language::preprocessor::preprocess;
use compiler::tensor::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sim::distance::{Distance, Verdict};
use sim::eval::{definitions, unknown_inputs, with_shapes_of};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use workbench::documents::Document;
use workbench::evaluation::Evaluation;
use workbench::records::calibration::Origin;
use workbench::records::places::Place;
use workbench::report::figures;
use workbench::saturation::{self, Saturation, Unit};
use workbench::{Failure, Records, Rung, documents, images};

/// What an evaluation gave.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Evaluated {
    /// Everything that the program computes, by name.
    #[schemars(with = "BTreeMap<String, Elements>")]
    values: Map<String, Value>,
    /// Extents of the values.
    #[schemars(with = "BTreeMap<String, Vec<u32>>")]
    shapes: Map<String, Value>,
    /// States after the step, if it updates any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<String, Elements>")]
    next: Option<Map<String, Value>>,
    /// How far the results are from those of the golden model; of a rung below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance_from_golden: Option<Distance>,
    /// Whether the words suffice; of a rung below golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Values that were clipped to the word; of a rung below golden.
    #[serde(default)]
    saturations: Vec<Saturation>,
}

/// Nested lists of elements; null is undefined, and numbers that JSON does not have are text.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "says what the lists are made of")]
pub enum Elements {
    /// Undefined.
    Undefined(()),
    /// A truth value.
    Truth(bool),
    /// A number.
    Number(f64),
    /// `nan`, `inf` or `-inf`.
    Text(String),
    /// One dimension.
    List(Vec<Elements>),
}

/// Evaluate.
pub fn run(global: &Global, options: &Eval, talk: &Talk) -> Result<(), Failure> {
    let mut project = subject::project(global, Some(&options.program), &options.entry)?;
    project.calibrate = options.calibrate.clone().map(Origin::File);
    if options.calibrate.is_some() && options.engine == Rung::Golden {
        let message = "--calibrate has no effect: golden computes in real numbers (--engine fixed, array or rtl)";
        return Err(Failure::Usage(message.to_owned()));
    }
    let records = subject::records(options.inputs.as_deref())?.unwrap_or_default();
    let inputs = records.one()?;
    let about = |diagnostics| Failure::about(&project.source, diagnostics);
    let reading = with_shapes_of(inputs, project.options(&[]));
    if project.language == Language::Preprocessor {
        let file = preprocess(&project.source.text, &reading).map_err(about)?;
        return output::either(global.format, || file.text.clone(), || definitions(&file));
    }
    let (program, mut warnings) = project.read(&reading, Some(inputs))?;
    let program = project.with_stays(program)?;
    images::check_fractions(&project, &program)?;
    check_names(&program, inputs, &records)?;
    let evaluation = Evaluation::new(&project, &program, inputs, options.engine, talk)?;
    let (result, distance, verdict) = (evaluation.values, evaluation.distance, evaluation.verdict);
    let mismatch = evaluation.mismatch.map(Failure::Mismatch);
    warnings.extend(evaluation.warnings);
    warnings.extend(saturation::warnings(&evaluation.clipped, Unit::Record));
    let saturations = Saturation::all(&project, &evaluation.clipped, Unit::Record);
    let denied = Some(&saturations).filter(|_| options.deny_saturation).and_then(|all| Saturation::denied(all));
    let inaccurate = verdict.as_ref().filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    let failed = mismatch.or(denied).or(inaccurate);
    match global.format {
        Format::Json => {
            let evaluated: Evaluated = serde_json::from_value(result).expect("an evaluation has values and shapes");
            let evaluated = Evaluated { distance_from_golden: distance, verdict, saturations, ..evaluated };
            let warnings = documents::messages(&project.source, &warnings);
            output::json(&Document::with(evaluated, warnings).failed(failed.as_ref()))?;
        }
        Format::Text => {
            render::warnings(&project.source, &warnings, talk);
            let distance = distance.map_or_else(String::new, |distance| figures::distance(distance) + "\n");
            let verdict = verdict.map_or_else(String::new, |verdict| format!("{verdict}\n"));
            output::result(&(text(&result) + &distance + &verdict))?;
        }
    }
    failed.map_or(Ok(()), Err)
}

fn text(result: &Value) -> String {
    let updated =
        result["next"].as_object().into_iter().flatten().map(|(name, value)| (format!("next {name}"), value.clone()));
    lines(result["values"].as_object().unwrap_or(&Map::new())) + &lines(&updated.collect())
}

/// Values by name, a line each.
pub fn lines(values: &Map<String, Value>) -> String {
    values.iter().fold(String::new(), |text, (name, value)| text + &format!("{name} = {value}\n"))
}

/// Most names that are said to be wrong.
const MOST_WRONG: usize = 20;

/// Refuse names that are not inputs of the program, and names that come twice, at their places.
fn check_names(program: &Program, inputs: &Value, records: &Records) -> Result<(), Failure> {
    let (source, places) = (&records.source, records.places());
    let (mut first, mut twice) = (BTreeMap::new(), Vec::new());
    for Place { name, span, .. } in &places {
        match first.entry(name.as_str()) {
            Entry::Vacant(free) => drop(free.insert(*span)),
            Entry::Occupied(_) if twice.len() == MOST_WRONG => {}
            Entry::Occupied(taken) => {
                let again = Diagnostic::new(Code::Redef, *span, format!("the inputs give `{name}` twice"));
                twice.push(again.with_note(*taken.get(), "first here"));
            }
        }
    }
    let unknown = unknown_inputs(program, inputs).into_iter();
    let unknown =
        unknown.map(|(name, diagnostic)| Diagnostic { span: first.get(name.as_str()).copied(), ..diagnostic });
    let wrong: Vec<Diagnostic> = unknown.chain(twice).take(MOST_WRONG).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::about(source, wrong)) }
}
