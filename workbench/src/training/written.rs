//! Predictions of a training on its written Verilog.
//!
//! ```text
//! rows ──▶ steps ──▶ golden ──────────────────────────▶ predictions
//!              └───▶ rtl/*.v, read again ──words──▶ fixed? ──▶ predictions
//! ```

use crate::build::written;
use crate::design::Design;
use crate::engines::{EngineMaker, Rung, Which, predictions};
use crate::failure::Failure;
use crate::model_file::ModelFile;
use crate::progress::{Note, Progress};
use crate::project::Project;
use crate::samples::Samples;
use sim::train::compared::{Compare, Compared};
use sim::train::engine::Engine;
use sim::train::predict;
use sim::verilator::{GridDevice, Library, Options};
use std::path::Path;

/// What the written Verilog has shown.
#[derive(Debug, Clone)]
pub struct Verified {
    /// Predictions of golden, row by row.
    pub golden: Vec<Vec<f64>>,
    /// Those of the hardware.
    pub hardware: Vec<Vec<f64>>,
    /// Words that were compared with fixed point.
    pub words_compared: u64,
    /// The first of them that differs.
    pub first_difference: Option<String>,
}

impl Verified {
    /// Run the predictions of `model` for all rows of the training part of `samples` on the Verilog in `folder`, which was built of `design`.
    ///
    /// # Errors
    /// A file cannot be read, the files are those of another program, Verilator fails, the grid is stuck.
    pub fn new(
        project: &Project,
        design: &Design,
        model: &ModelFile,
        samples: &Samples,
        folder: &Path,
        progress: &dyn Progress,
    ) -> Result<Verified, Failure> {
        let (images, lowered, signature) = (&design.images, &design.lowered, &samples.signature);
        let image = &images.predict.image;
        written::check_microcode(folder, "predict", image)?;
        progress.note(&Note::Simulates(images.machine.clone()));
        let library = Library::build(&written::rtl(&project.core(), folder, image)?, &Options::default())?;
        let words = EngineMaker::new(Rung::Fixed, lowered, None, progress)?.engine(Which::Predict, signature);
        let maker = EngineMaker::new(Rung::Array, lowered, Some(images), progress)?;
        let device = maker.device(GridDevice::new(&library, &images.machine), Which::Predict, signature);
        let name = &signature.prediction.0;
        let mut engine = Compared::new(Box::new(device), words, "fixed", name, Compare::End).without_cycles();
        let found = predict(&mut engine, &model.model, &samples.train)?;
        let golden = predict(&mut predictions(&samples.program, signature), &model.model, &samples.train);
        let golden = golden.map_err(|error| Failure::of_engine(&project.source, error))?;
        let comparison = engine.comparison().unwrap_or_default();
        Ok(Verified { golden, hardware: found, words_compared: comparison.words, first_difference: comparison.first })
    }
}
