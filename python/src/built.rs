//! Hardware: what was made of a program for a board, where it is written, how it scores, what it takes of the device.

use crate::failures::raised;
use crate::function::Given;
use crate::model::{Model, scored};
use crate::work;
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workbench::build::hardware::Hardware;
use workbench::functions::deploy::Judge;
use workbench::writing::folder::Earlier;
use workbench::writing::guard::Guard;
use workbench::{Design, Failure, Function, Subject};

/// What was built.
#[derive(Clone)]
pub(crate) enum Kept {
    Function(Box<Function>),
    /// A function in segments, of which nothing is verified again.
    Segments,
    Training(Arc<Design>),
}

impl Kept {
    pub(crate) fn of(subject: Subject) -> Kept {
        match subject {
            Subject::Function(function) => Kept::Function(function),
            Subject::Training(design) => Kept::Training(Arc::from(design)),
        }
    }
}

/// Everything for a board; nothing is written before it is asked for.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Built {
    inner: Arc<workbench::build::Built>,
    kept: Kept,
    project: workbench::Project,
    /// Where the command line would write it.
    folder: PathBuf,
}

impl Built {
    pub(crate) fn new(project: &workbench::Project, inner: workbench::build::Built, kept: Kept) -> Built {
        Built::written(project, inner, kept, project.out_folder(None))
    }

    pub(crate) fn written(
        project: &workbench::Project,
        inner: workbench::build::Built,
        kept: Kept,
        folder: PathBuf,
    ) -> Built {
        Built { inner: Arc::new(inner), kept, project: project.clone(), folder }
    }
}

#[pymethods]
impl Built {
    /// Write all files, in place of what an earlier build has written there; the folder. Nothing interrupts it. Files that are not as an earlier
    /// build wrote them are only replaced with `force`.
    #[pyo3(signature = (out=None, force=false))]
    fn publish(&self, py: Python<'_>, out: Option<PathBuf>, force: bool) -> PyResult<PathBuf> {
        let folder = out.unwrap_or_else(|| self.folder.clone());
        let written = py.detach(|| self.inner.files.publish(&folder, Earlier::Removed, &Guard::new(force)));
        written.map_err(|failure| raised(py, &failure))?;
        Ok(folder)
    }

    /// Where it would be written.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Names of the files.
    fn files(&self) -> Vec<String> {
        self.inner.files.names().map(|path: &Path| path.display().to_string()).collect()
    }

    /// `report.json`.
    fn report(&self) -> String {
        serde_json::to_string(&self.inner.report.document()).expect("documents are names, numbers and lists of them")
    }

    /// `report.txt`.
    fn text(&self) -> String {
        self.inner.report.text()
    }

    /// Run the Verilog in `folder` on rows of a function with targets: scores and words, as JSON.
    fn verify_function(&self, py: Python<'_>, folder: PathBuf, rows: Given) -> PyResult<String> {
        let function = match &self.kept {
            Kept::Function(function) => function,
            Kept::Segments => {
                let message =
                    "segments are compared with fixed point as they are built: `verify` takes a function as a whole";
                return Err(raised(py, &Failure::Usage(message.to_owned())));
            }
            Kept::Training(_) => return Err(no_weights(py)),
        };
        let (project, function) = (self.project.clone(), function.clone());
        work::run(py, None, move |progress| {
            let judge = Judge::of_built(&project, &function, &rows.rows()?, f64::INFINITY, progress)?;
            let found = judge.judge(&project, &folder, progress)?;
            found.refusal.clone().map_or(Ok(json!(found).to_string()), Err)
        })
    }

    /// The same of a training, with the weights of `model`.
    fn verify_training(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        rows: crate::project::Rows,
        model: &Model,
    ) -> PyResult<String> {
        let Kept::Training(design) = &self.kept else { return Err(no_weights(py)) };
        let (project, design, model) = (self.project.clone(), Arc::clone(design), model.shared());
        work::run(py, None, move |progress| {
            let samples = model.labelled(rows, progress)?;
            let found = workbench::training::written::Verified::new(
                &project,
                &design,
                model.file(),
                &samples,
                &folder,
                progress,
            )?;
            if let Some(first) = found.first_difference {
                return Err(Failure::Mismatch(format!("the written Verilog differs from fixed: {first}")));
            }
            Ok(json!({
                "rows": samples.train.len(),
                "classes": samples.class_names(),
                "golden": scored(&samples, &found.golden),
                "hardware": scored(&samples, &found.hardware),
                "words_compared": found.words_compared,
            })
            .to_string())
        })
    }

    /// Synthesise what is in `folder`, and with `routes` make a bitstream of it; the document of the command line, as JSON.
    fn made(&self, py: Python<'_>, folder: PathBuf, routes: bool) -> PyResult<(String, String)> {
        let (project, built) = (self.project.clone(), Arc::clone(&self.inner));
        work::run(py, None, move |progress| {
            let guard = Guard::new(false);
            let mut hardware = Hardware::new(&project, &folder, &guard)?;
            hardware.needs = built.needs;
            if routes {
                let made = hardware.bitstream(&built, &folder, &guard, progress)?;
                return Ok((json!(made).to_string(), made.text));
            }
            let (_, text, document) = hardware.synthesised(&built, &guard, progress)?;
            Ok((json!(document).to_string(), text))
        })
    }
}

fn no_weights(py: Python<'_>) -> PyErr {
    let message = "this hardware has no weights to predict with: build a trained model, or a function";
    raised(py, &Failure::Usage(message.to_owned()))
}
