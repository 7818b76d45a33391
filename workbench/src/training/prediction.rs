//! A trained model on new rows, on any rung of the ladder.
//!
//! ```text
//! rows ──▶ steps ──▶ golden, fixed, array or rtl ──▶ predictions, how far they are from golden's
//! ```

use crate::engines::{EngineMaker, Rung, Which, prediction_options, prediction_program, predictions, ranges_of};
use crate::failure::Failure;
use crate::images::{Images, Lowered};
use crate::model_file::ModelFile;
use crate::progress::Progress;
use crate::project::Project;
use crate::saturation;
use arch::Diagnostic;
use compiler::fixed;
use compiler::tensor::Program;
use sim::clipped::Clipped;
use sim::distance::{Accuracy, Pair, narrowest};
use sim::train::engine::{Signature, Step};
use sim::train::predict;

/// What a model says about rows.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// What the program computed, row by row.
    pub values: Vec<Vec<f64>>,
    /// How far they are from golden's, below golden.
    pub accuracy: Option<Accuracy>,
    /// What was clipped to the word, and in which rows.
    pub clipped: Vec<Clipped>,
    /// Inputs and weights that the model is not made for.
    pub outside: Vec<Diagnostic>,
}

impl Prediction {
    /// Run the prediction of `program` for each of the steps.
    ///
    /// # Errors
    /// The program needs what canonical form does not have; below golden, no binary points or no image exist, or a tool is missing.
    pub fn new(
        project: &Project,
        (program, signature): (&Program, &Signature),
        file: &ModelFile,
        steps: &[Step],
        rung: Rung,
        progress: &dyn Progress,
    ) -> Result<Prediction, Failure> {
        let source = program;
        let program = prediction_program(project, source, signature)?;
        let mut outside = saturation::outside(&file.valid, signature, steps);
        outside.extend(saturation::weights_outside(&file.valid, &file.model));
        if rung == Rung::Golden {
            let values = predict(&mut predictions(source, signature), &file.model, steps);
            let values = values.map_err(|error| Failure::of_engine(&project.source, error))?;
            let outside = outside.into_iter().map(|(_, warning)| warning).collect();
            return Ok(Prediction { values, accuracy: None, clipped: Vec::new(), outside });
        }
        let lowered = Lowered::prediction(project, &program, &file.ranges, progress)?;
        let images = match rung {
            Rung::Golden | Rung::Fixed => None,
            Rung::Array | Rung::Rtl | Rung::Board => Some(Images::compile(project, &lowered, None, None)?),
        };
        let mut engine = EngineMaker::new(rung, &lowered, images.as_ref(), progress)?.engine(Which::Predict, signature);
        let values = predict(engine.as_mut(), &file.model, steps)?;
        let options = prediction_options(signature);
        let (lower, numbers) = (&lowered.predict, &lowered.numbers);
        let pair = Pair { source, options: &options, program: &program, lowered: lower, numbers };
        let given = project.numbers();
        let ranges = ranges_of(&program, &file.ranges);
        let wider = |word: u32| fixed::lower(&program, &ranges, &given.of_word(word)).ok();
        let accuracy = pair.accuracy(&file.model, &signature.values(steps), &wider);
        let mut accuracy = accuracy.map_err(|error| Failure::about(&project.source, vec![*error]))?;
        let golden = predict(&mut predictions(source, signature), &file.model, steps);
        let golden = golden.map_err(|error| Failure::of_engine(&project.source, error))?;
        let flips = |values: &[Vec<f64>]| file.flips(&golden, values);
        if let Some(count) = flips(&values) {
            let sufficed = accuracy.verdict.suffices;
            accuracy.flipped(values.len() as u64, count);
            if sufficed && !accuracy.verdict.suffices {
                accuracy.need(narrowest(lower.word, |word| {
                    let Some((predict_in, numbers)) = wider(word) else { return false };
                    let lowered = Lowered { full: None, rest: None, predict: predict_in, numbers };
                    let maker = EngineMaker::new(Rung::Fixed, &lowered, None, progress);
                    let values = maker.ok().and_then(|maker| {
                        predict(maker.engine(Which::Predict, signature).as_mut(), &file.model, steps).ok()
                    });
                    values.is_some_and(|values| flips(&values) == Some(0))
                }));
            }
        }
        let clipped = engine.clipped();
        // What is clipped is said once.
        let is_clipped = |name: &String| clipped.iter().any(|c| c.computed.is_none() && c.tensor == *name);
        let outside = outside.into_iter().filter(|(name, _)| !is_clipped(name)).map(|(_, warning)| warning).collect();
        Ok(Prediction { values, accuracy: Some(accuracy), clipped, outside })
    }
}
