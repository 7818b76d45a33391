//! A trained model on new rows, on any rung of the ladder.
//!
//! ```text
//! rows ──▶ steps ──▶ golden, fixed, array or rtl ──▶ predictions, how far they are from golden's
//! ```

use crate::engines::{EngineMaker, Rung, Which, prediction_program, ranges_of, reals};
use crate::failure::Failure;
use crate::images::{Images, Lowered};
use crate::model_file::ModelFile;
use crate::progress::Progress;
use crate::project::Project;
use compiler::tensor::Program;
use sim::distance::{Accuracy, Pair};
use sim::train::engine::{Signature, Step};
use sim::train::predict;

/// What a model says about rows.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// What the program computed, row by row.
    pub values: Vec<Vec<f64>>,
    /// How far they are from golden's, below golden.
    pub accuracy: Option<Accuracy>,
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
        let program = prediction_program(project, program, signature)?;
        if rung == Rung::Golden {
            let values = predict(reals(&program, signature).as_mut(), &file.model, steps)?;
            return Ok(Prediction { values, accuracy: None });
        }
        let lowered = Lowered::prediction(project, &program, &file.ranges, progress)?;
        let images = match rung {
            Rung::Golden | Rung::Fixed => None,
            Rung::Array | Rung::Rtl | Rung::Board => Some(Images::compile(project, &lowered)?),
        };
        let mut engine = EngineMaker::new(rung, &lowered, images.as_ref(), progress)?.engine(Which::Predict, signature);
        let values = predict(engine.as_mut(), &file.model, steps)?;
        let ranges = ranges_of(&program, &file.ranges);
        let pair = Pair { program: &program, ranges: &ranges, lowered: &lowered.predict, numbers: &lowered.numbers };
        let accuracy = pair.accuracy(&file.model, &signature.values(steps));
        let accuracy = accuracy.map_err(|error| Failure::about(&project.source, vec![*error]))?;
        Ok(Prediction { values, accuracy: Some(accuracy) })
    }
}
