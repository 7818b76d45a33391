//! `predict`: a trained model on new rows.

use crate::arguments::{Format, Global, Predict};
use crate::output::{self, Talk};
use crate::render;
use crate::subject;
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sim::distance::{Accuracy, Distance, Verdict};
use workbench::documents::Document;
use workbench::images;
use workbench::model_file::{self, ModelFile};
use workbench::prediction::Prediction;
use workbench::report::figures;
use workbench::samples::{self, Samples, read_table};
use workbench::saturation::{self, Saturation, Unit};
use workbench::{Failure, documents};

/// Predicted, row by row.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Predicted {
    /// What predicted.
    engine: &'static str,
    /// A class, a number in the units of the data, or a list of these.
    predictions: Vec<Value>,
    /// What the program computed.
    #[schemars(with = "Vec<Vec<Option<f64>>>")]
    raw: Vec<Vec<f64>>,
    /// How far the predictions are from those of the golden model; of a rung below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance_from_golden: Option<Distance>,
    /// Whether the words suffice; of a rung below golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    /// Values that were clipped to the word, and in which rows.
    saturations: Vec<Saturation>,
}

/// Predict every row of the data.
pub fn run(global: &Global, options: &Predict, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &options.limits.clone().into())?;
    let file = ModelFile::load(&options.model)?;
    let project = match &file.recipe {
        Some(recipe) => project.as_trained(recipe, &global.machine)?,
        None => project,
    };
    let settings = project.settings()?;
    let set: Vec<(String, f64)> = file.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let program = project.parse(&set, talk)?;
    images::check_fractions(&project, &program)?;
    let (signature, _) = samples::signature(&project, &program, &settings)?;
    file.check(&options.model, &model_file::program_hash(&project.source.text, &file.set), &signature.model)?;
    let mut table = read_table(&options.data, &options.file.reading(&options.limits))?;
    table.complete(&file.encoding.features);
    let table = table;
    let about = |diagnostics| samples::about_table(&options.data, &table, diagnostics);
    file.encoding.check(&signature).map_err(|error| about(vec![error]))?;
    let steps = samples::unlabelled(&file.encoding, &table, &signature).map_err(about)?;
    let rung = options.engine;
    let Prediction { values, accuracy, clipped, outside } =
        Prediction::new(&project, (&program, &signature), &file, &steps, rung, talk)?;
    let distance = accuracy.as_ref().map(|accuracy| accuracy.distance);
    let verdict = accuracy.as_ref().map(|accuracy| accuracy.verdict.clone());
    let mut warnings: Vec<Diagnostic> = accuracy.iter().flat_map(Accuracy::warnings).collect();
    warnings.extend(outside);
    warnings.extend(saturation::warnings(&clipped, Unit::Row));
    let saturations = Saturation::all(&project, &clipped, Unit::Row);
    let denied = Some(&saturations).filter(|_| options.deny_saturation).and_then(|all| Saturation::denied(all));
    let inaccurate = verdict.as_ref().filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
    let denied = denied.or(inaccurate);
    let read: Vec<Value> =
        values.iter().map(|prediction| Samples::read_prediction(&file.encoding, &file.loss, prediction)).collect();
    match global.format {
        Format::Json => {
            let engine = rung.as_str();
            let predicted = Predicted {
                engine,
                predictions: read,
                raw: values,
                distance_from_golden: distance,
                verdict,
                saturations,
            };
            let document = Document::with(predicted, documents::messages(&project.source, &warnings));
            output::json(&document.failed(denied.as_ref()))?;
        }
        Format::Text => {
            render::warnings(&project.source, &warnings, talk);
            if let Some(distance) = distance {
                talk.say(figures::distance(distance));
            }
            if let Some(verdict) = verdict {
                talk.say(verdict.to_string());
            }
            let line = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned) + "\n";
            output::result(&read.iter().map(line).collect::<String>())?;
        }
    }
    denied.map_or(Ok(()), Err)
}
