//! `predict`: a trained model on new rows.

use crate::arguments::{EngineName, Entry, Format, Global, Predict};
use crate::output::{self, Talk};
use crate::subject;
use serde_json::{Value, json};
use sim::distance::{self, Distance};
use sim::eval::Elements;
use sim::train::predict;
use workbench::Failure;
use workbench::images;
use workbench::model_file::{self, ModelFile};
use workbench::samples::{self, Samples, read_table};
use workbench::{Rung, engines};

/// Predict every row of the data.
pub fn run(global: &Global, options: &Predict, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.program.as_deref(), &Entry::default())?;
    let settings = project.settings()?;
    let file = ModelFile::load(&options.model)?;
    let set: Vec<(String, f64)> = file.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
    let program = project.parse(&set, talk)?;
    images::check_fractions(&project, &program)?;
    let (signature, _) = samples::signature(&project, &program, &settings)?;
    file.check(&options.model, &model_file::program_hash(&project.source.text, &file.set), &signature.model)?;
    let mut table = read_table(&options.data, &options.file.reading())?;
    table.complete(&file.encoding.features);
    let table = table;
    let about = |diagnostics| samples::about_table(&options.data, &table, diagnostics);
    file.encoding.check(&signature).map_err(|error| about(vec![error]))?;
    let steps = samples::unlabelled(&file.encoding, &table, &signature).map_err(about)?;
    let prediction = engines::prediction_program(&project, &program, &signature)?;
    let mut engine = match options.engine {
        EngineName::Golden => engines::reals(&prediction, &signature),
        name => engines::predictor(name.into(), &project, &prediction, &signature, &file.ranges, talk)?,
    };
    let predictions = predict(engine.as_mut(), &file.model, &steps)?;
    let distance = if options.engine == EngineName::Golden {
        None
    } else {
        let golden = predict(engines::reals(&prediction, &signature).as_mut(), &file.model, &steps)?;
        let known = |rows: &[Vec<f64>]| -> Vec<Elements> {
            rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
        };
        let (found, golden) = (known(&predictions), known(&golden));
        Some(distance::distance(found.iter().zip(&golden).map(|(found, golden)| (found.as_slice(), golden.as_slice()))))
    };
    let read: Vec<Value> =
        predictions.iter().map(|prediction| Samples::read_prediction(&file.encoding, &file.loss, prediction)).collect();
    match global.format {
        Format::Json => {
            let mut document = json!({
                "schema_version": 1,
                "engine": Rung::from(options.engine).as_str(),
                "predictions": read,
                "raw": predictions,
            });
            if let Some(Distance { absolute, relative }) = distance {
                document["distance_from_golden"] = json!({ "absolute": absolute, "relative": relative });
            }
            output::json(&document)
        }
        Format::Text => {
            if let Some(Distance { absolute, relative }) = distance {
                let share = 100.0 * relative;
                talk.say(format!("distance from golden: {absolute:.3e}, {share:.3} % of the largest value"));
            }
            let line = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned) + "\n";
            output::result(&read.iter().map(line).collect::<String>())
        }
    }
}
