//! A trained model.

use crate::failures::{objects, raised};
use crate::project::{Project, Rows, rung};
use crate::values::{Array, Shaped};
use crate::{values, work};
use compiler::tensor::Program;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use sim::data::missing::Missing;
use sim::distance::Accuracy;
use sim::train::engine::{Engine, NamedValues as Weights, Signature};
use sim::train::predict;
use sim::train::reals::Reals;
use std::path::Path;
use std::sync::Arc;
use workbench::Rung;
use workbench::engines::prediction_program;
use workbench::prediction::Prediction;
use workbench::samples::numbers::{Numbers, unlabelled_numbers};
use workbench::samples::{self, Samples};
use workbench::saturation::{self, Unit};
use workbench::{Choices, Failure, ModelFile, Progress, images, model_file};

/// Weights with everything that predicting needs.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Model {
    inner: Arc<Inner>,
}

struct Inner {
    project: workbench::Project,
    file: ModelFile,
    program: Program,
    signature: Signature,
}

impl Model {
    pub(crate) fn new(project: workbench::Project, file: ModelFile, program: Program, signature: Signature) -> Model {
        Model { inner: Arc::new(Inner { project, file, program, signature }) }
    }

    /// The same once more.
    pub(crate) fn shared(&self) -> Model {
        Model { inner: Arc::clone(&self.inner) }
    }

    /// Rows with targets as samples of the training part.
    pub(crate) fn labelled(&self, rows: Rows, progress: &dyn Progress) -> Result<Samples, Failure> {
        let Inner { project, file, .. } = &*self.inner;
        let numbers = Numbers { saved: Some(&file.encoding), ..rows.numbers(Missing::default())? };
        let choices = Choices { split: Some(1.0), ..Choices::default() };
        Samples::of_numbers(project, &choices, numbers, progress)
    }

    pub(crate) fn file(&self) -> &ModelFile {
        &self.inner.file
    }
}

/// How good predictions for the training part are, with what is taken for what.
pub(crate) fn scored(samples: &Samples, values: &[Vec<f64>]) -> serde_json::Value {
    let mut score = json!(samples.judge(values, &samples.train));
    score["confusion"] = json!(samples.confusion(values, &samples.train));
    score
}

/// Predictions, a row each; how far they are from golden's; warnings.
type Predicted<'py> = (Shaped<'py>, Option<(f64, f64)>, Vec<Py<PyAny>>);

#[pymethods]
impl Model {
    /// A model that was saved, with its program.
    #[staticmethod]
    fn of_text(py: Python<'_>, project: &Project, name: String, text: String) -> PyResult<Model> {
        let project = project.inner.clone();
        work::run(py, None, move |progress| {
            let file = ModelFile::from_text(&name, &text)?;
            let project = match &file.recipe {
                Some(recipe) => project.as_trained(recipe, &[])?,
                None => project,
            };
            let set: Vec<(String, f64)> = file.set.iter().map(|(name, &value)| (name.clone(), value)).collect();
            let program = project.parse(&set, progress)?;
            images::check_fractions(&project, &program)?;
            let (signature, _) = samples::signature(&project, &program, &project.settings()?)?;
            let hash = model_file::program_hash(&project.source.text, &file.set);
            file.check(Path::new(&name), &hash, &signature.model)?;
            Ok(Model::new(project, file, program, signature))
        })
    }

    /// As the text of a file.
    fn to_text(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.inner.file.to_text(name).map_err(|failure| raised(py, &failure))
    }

    /// Write it whole.
    fn save(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.inner.file.save(Path::new(path)).map_err(|failure| raised(py, &failure))
    }

    /// The weights by name.
    fn weights(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let arrays = PyDict::new(py);
        for tensor in self.inner.file.weights() {
            let shape: Vec<usize> = tensor.shape.iter().map(|&extent| extent as usize).collect();
            arrays.set_item(tensor.name, values::shaped(py, &tensor.values, shape))?;
        }
        Ok(arrays.unbind())
    }

    /// Weights as they are given to another training.
    fn start(&self) -> Weights {
        self.inner.file.model.clone()
    }

    /// Names of the features.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.inner.file.encoding.features.clone()
    }

    /// Mean and deviation of each feature, as they are taken out before the program sees it.
    #[getter]
    fn scales(&self) -> (Vec<f64>, Vec<f64>) {
        let scale = &self.inner.file.encoding.standardise;
        (scale.mean.clone(), scale.deviation.clone())
    }

    /// Mean and deviation of each target.
    #[getter]
    fn target_scales(&self) -> (Vec<f64>, Vec<f64>) {
        let scale = &self.inner.file.encoding.standardise_targets;
        (scale.mean.clone(), scale.deviation.clone())
    }

    /// What the program computes for rows; `output` names another value of the program than the prediction.
    #[pyo3(signature = (features, engine, output))]
    fn raw<'py>(
        &self,
        py: Python<'py>,
        features: Array,
        engine: &str,
        output: Option<String>,
    ) -> PyResult<Predicted<'py>> {
        let (inner, rung, features) = (Arc::clone(&self.inner), rung(py, engine)?, features.rows());
        let (prediction, width) = work::run(py, None, move |progress| {
            let Inner { project, file, program, signature } = &*inner;
            let mut signature = signature.clone();
            if let Some(output) = output {
                let Some((_, id)) = program.names.iter().rev().find(|(name, _)| *name == output) else {
                    return Err(Failure::Usage(format!("the program has no `{output}`")));
                };
                let elements = program.tensors[id.0].shape.iter().map(|&extent| extent as usize).product();
                signature.prediction = (output, elements);
            }
            let steps = unlabelled_numbers("X", &file.encoding, features, &signature)?;
            let prediction = Prediction::new(project, (program, &signature), file, &steps, rung, progress)?;
            Ok((prediction, signature.prediction.1))
        })?;
        let mut warnings = prediction.outside;
        warnings.extend(saturation::warnings(&prediction.clipped, Unit::Row));
        let distance = prediction.accuracy.map(|accuracy| {
            warnings.extend(accuracy.warnings());
            (accuracy.distance.absolute, accuracy.distance.relative)
        });
        let warnings = objects(py, &self.inner.project.source, &warnings)?;
        Ok((values::matrix(py, &prediction.values, width), distance, warnings))
    }

    /// The same with words that also hold what the program computes for these rows.
    fn calibrated(&self, py: Python<'_>, features: Array) -> PyResult<Model> {
        let (inner, features) = (Arc::clone(&self.inner), features.rows());
        let file = work::run(py, None, move |_| {
            let Inner { project, file, program, signature } = &*inner;
            let canonical = prediction_program(project, program, signature)?;
            let steps = unlabelled_numbers("X", &file.encoding, features, signature)?;
            let mut reals = Reals::new(&canonical, signature);
            predict(&mut reals, &file.model, &steps).map_err(|error| Failure::of_engine(&project.source, error))?;
            let mut file = file.clone();
            for (tensor, range) in canonical.tensors.iter().zip(reals.ranges().into_iter().flat_map(|all| &all.tensors))
            {
                if let Some((low, high)) = *range {
                    let known = file.ranges.entry(tensor.name.clone()).or_insert((low, high));
                    *known = (known.0.min(low), known.1.max(high));
                }
            }
            Ok(file)
        })?;
        let Inner { project, program, signature, .. } = &*self.inner;
        Ok(Model::new(project.clone(), file, program.clone(), signature.clone()))
    }

    /// How good predictions for rows with targets are, as JSON, and warnings.
    fn score(&self, py: Python<'_>, rows: Rows, engine: &str) -> PyResult<(String, Vec<Py<PyAny>>)> {
        let (model, rung) = (self.shared(), rung(py, engine)?);
        let (score, warnings) = work::run(py, None, move |progress| {
            let samples = model.labelled(rows, progress)?;
            let Inner { project, file, program, signature } = &*model.inner;
            let on = |rung| Prediction::new(project, (program, signature), file, &samples.train, rung, progress);
            let Prediction { values: found, accuracy, .. } = on(rung)?;
            let golden = if rung == Rung::Golden { found.clone() } else { on(Rung::Golden)?.values };
            let score = json!({
                "engine": rung.as_str(),
                "rows": samples.train.len(),
                "classes": samples.class_names(),
                "score": scored(&samples, &found),
                "golden": scored(&samples, &golden),
            });
            Ok((score.to_string(), accuracy.iter().flat_map(Accuracy::warnings).collect::<Vec<_>>()))
        })?;
        Ok((score, objects(py, &self.inner.project.source, &warnings)?))
    }

    /// What rows of raw predictions mean: classes, or numbers in the units of the data; as JSON.
    fn read(&self, raw: Array) -> String {
        let file = &self.inner.file;
        let read = raw.rows().into_iter();
        let read = read.map(|row| Samples::read_prediction(&file.encoding, &file.loss, &row));
        serde_json::Value::Array(read.collect()).to_string()
    }
}
