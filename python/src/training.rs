//! A training that was done.

use crate::built::{Built, Kept};
use crate::model::Model;
use crate::project::{Project, clipped, explained};
use crate::work;
use pyo3::prelude::*;
use serde_json::json;
use std::sync::Arc;
use workbench::report::Measured;
use workbench::{Design, Outcome, Subject};

/// What a training was, and what it gave.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Training {
    pub(crate) training: Arc<workbench::Training>,
    pub(crate) outcome: Arc<Outcome>,
}

impl Training {
    pub(crate) fn new(training: workbench::Training, outcome: Outcome) -> Training {
        Training { training: Arc::new(training), outcome: Arc::new(outcome) }
    }
}

#[pymethods]
impl Training {
    /// What predicts.
    fn model(&self) -> Model {
        let Training { training, outcome } = self;
        let (program, signature) = (training.samples.program.clone(), training.samples.signature.clone());
        Model::new(training.project.clone(), training.model_file(outcome), program, signature)
    }

    /// How fast the update is, where everything lies and what runs when, as JSON.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let (training, outcome) = (Arc::clone(&self.training), Arc::clone(&self.outcome));
        work::run(py, None, move |progress| {
            let design = training.design(&outcome.ranges, progress)?;
            explained(&training.project, &Subject::Training(Box::new(design)))
        })
    }

    /// Everything for a board, not written yet: the machine of `project`, or that of the training.
    #[pyo3(signature = (project))]
    fn build(&self, py: Python<'_>, project: Option<&Project>) -> PyResult<Built> {
        let (training, outcome) = (Arc::clone(&self.training), Arc::clone(&self.outcome));
        let project = project.map_or(&training.project, |project| &project.inner).clone();
        let made_for = project.clone();
        let inner = work::run(py, None, move |progress| {
            let design = Design::of(&project, &training, &outcome.ranges, progress)?;
            let subject = Subject::Training(Box::new(design));
            let built = workbench::build::Built::new(&project, &subject, progress)?;
            Ok((built, Kept::of(subject)))
        })?;
        Ok(Built::new(&made_for, inner.0, inner.1))
    }

    /// The report page: HTML that needs nothing else.
    fn page(&self, py: Python<'_>, command: String, widths: Vec<u32>) -> PyResult<String> {
        let (training, outcome) = (Arc::clone(&self.training), Arc::clone(&self.outcome));
        work::run(py, None, move |progress| Measured::new(training, outcome, command, &widths, progress)?.page().html())
    }

    /// What was reached, as JSON.
    fn results(&self) -> String {
        let Training { training, outcome } = self;
        let (last, project) = (outcome.last(), &training.project);
        let by_engine = |of: &dyn Fn(&workbench::training::EngineResult) -> serde_json::Value| {
            outcome.results.iter().map(|result| (result.name.to_owned(), of(result))).collect::<serde_json::Map<_, _>>()
        };
        let clock = project.board.clock_mhz;
        json!({
            "engine": last.name,
            "train": by_engine(&|result| json!(result.train)),
            "test": by_engine(&|result| json!(result.test)),
            "curves": by_engine(&|result| json!(result.curve)),
            "epochs": training.schedule.epochs,
            "batch": training.schedule.batch,
            "train_samples": training.samples.train.len(),
            "test_samples": training.samples.test.len(),
            "samples": last.trained.samples,
            "cycles": last.trained.cycles,
            "clock_mhz": clock,
            "seconds": last.trained.cycles.map(|cycles| cycles as f64 / (clock * 1e6)),
            "saturated": last.trained.saturated,
            "saturations": clipped(&outcome.saturations),
            "words_compared": outcome.comparison.as_ref().map(|comparison| comparison.words),
        })
        .to_string()
    }
}
