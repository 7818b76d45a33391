//! Functions on rows in memory: predictions, scores, profiles, deployments.

use crate::built::{Built, Kept};
use crate::failures::{objects, raised};
use crate::project::{Project, explained, rung};
use crate::values::{Array, Shaped};
use crate::{values, work};
use pyo3::prelude::*;
use serde_json::{Value, json};
use sim::data::file::Limits;
use sim::data::table::Table;
use sim::distance::Accuracy;
use sim::train::settings::{Columns, Selection};
use std::path::Path;
use std::sync::Arc;
use workbench::functions::deploy::{Deployment, Terms};
use workbench::functions::score::{Predicted, Rows, Scored};
use workbench::records::calibration::Origin;
use workbench::report::profile;
use workbench::{Failure, Subject};

/// Rows of features, and of targets as text.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given {
    columns: Vec<String>,
    features: Array,
    target_columns: Vec<String>,
    targets: Vec<Vec<String>>,
}

impl Given {
    fn table(self) -> Result<Table, Failure> {
        let Given { mut columns, features, target_columns, targets } = self;
        columns.extend(target_columns);
        let rows = features.rows().into_iter().enumerate().map(|(number, row)| {
            let numbers = row.iter().map(ToString::to_string);
            numbers.chain(targets.get(number).into_iter().flatten().cloned()).collect()
        });
        let table = Table::from_cells(columns, rows.collect(), Limits::default());
        table.map_err(|wrong| Failure::data("X", vec![wrong]))
    }

    /// As a table, whose targets have names.
    pub(crate) fn rows(self) -> Result<Rows<'static>, Failure> {
        let target = (!self.target_columns.is_empty()).then(|| Columns::Several(self.target_columns.clone()));
        let selection = Selection { target, ..Selection::default() };
        Ok(Rows { name: Path::new("X"), table: self.table()?, selection })
    }
}

/// A function, with the rows that its binary points are chosen from.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Function {
    inner: workbench::Project,
}

/// Values row by row, whether they are labels, names of the classes, warnings.
type Predictions<'py> = (Shaped<'py>, bool, Vec<String>, Vec<Py<PyAny>>);

#[pymethods]
impl Function {
    /// The function of a project; `calibration` has rows of features.
    #[new]
    #[pyo3(signature = (project, calibration))]
    fn new(py: Python<'_>, project: &Project, calibration: Option<Given>) -> PyResult<Function> {
        let mut inner = project.inner.clone();
        let table = calibration.map(Given::table).transpose().map_err(|failure| raised(py, &failure))?;
        inner.calibrate = table.map(|table| Origin::Table(Arc::new(table)));
        Ok(Function { inner })
    }

    /// The values of a result.
    #[pyo3(signature = (rows, engine, result))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: Given,
        engine: &str,
        result: Option<String>,
    ) -> PyResult<Predictions<'py>> {
        let (project, rung) = (self.inner.clone(), rung(py, engine)?);
        let found = work::run(py, None, move |progress| {
            Predicted::new(&project, &rows.rows()?, result.as_deref(), rung, progress)
        })?;
        let Predicted { values, is_label, classes, accuracy } = found;
        let warnings: Vec<_> = accuracy.iter().flat_map(Accuracy::warnings).collect();
        let width = values.first().map_or(0, Vec::len);
        let warnings = objects(py, &self.inner.source, &warnings)?;
        Ok((values::matrix(py, &values, width), is_label, classes, warnings))
    }

    /// The score of rows with targets, as JSON, and warnings.
    fn score(&self, py: Python<'_>, rows: Given, engine: &str) -> PyResult<(String, Vec<Py<PyAny>>)> {
        let (project, rung) = (self.inner.clone(), rung(py, engine)?);
        let scored = work::run(py, None, move |progress| Scored::new(&project, &rows.rows()?, rung, progress))?;
        let warnings = objects(py, &self.inner.source, &scored.warnings)?;
        Ok((json!(scored).to_string(), warnings))
    }

    /// Values beside formats, layer by layer, as JSON.
    fn profile(&self, py: Python<'_>, rows: Given) -> PyResult<String> {
        let project = self.inner.clone();
        let layers = work::run(py, None, move |progress| profile::layers(&project, &rows.rows()?, progress))?;
        Ok(json!(layers).to_string())
    }

    /// Everything for a board, on the machine of `on` if it is given; nothing is written.
    #[pyo3(signature = (on))]
    fn build(&self, py: Python<'_>, on: Option<&Project>) -> PyResult<Built> {
        let project = self.on(on);
        let inner = work::run(py, None, {
            let project = project.clone();
            move |progress| {
                let subject = Subject::function(&project, None, progress)?;
                let built = workbench::build::Built::new(&project, &subject, progress)?;
                Ok((built, subject))
            }
        })?;
        Ok(Built::new(&project, inner.0, Kept::of(inner.1)))
    }

    /// The same with a part of the rows for the calibration, and the score of the other part on the written Verilog, as JSON. It is only written
    /// where that score is within so many points of golden's.
    #[pyo3(signature = (on, rows, terms, out, force))]
    fn deploy(
        &self,
        py: Python<'_>,
        on: Option<&Project>,
        rows: Given,
        terms: (f64, f64, u64),
        out: Option<std::path::PathBuf>,
        force: bool,
    ) -> PyResult<(Built, String)> {
        let project = self.on(on);
        let (within, share, seed) = terms;
        let folder = project.out_folder(out.as_deref());
        let (built, deployed) = work::run(py, None, {
            let (project, folder) = (project.clone(), folder.clone());
            move |progress| {
                let terms = Terms { within, share, seed };
                let deployment = Deployment::new(&project, &rows.rows()?, terms, progress)?;
                progress.warnings(&project.source, deployment.built.report.warnings());
                let mut deployed = Value::Null;
                let guard = workbench::writing::guard::Guard::new(force);
                let earlier = workbench::writing::folder::Earlier::Removed;
                deployment.built.files.publish_checked(&folder, earlier, &guard, |written| {
                    let found = deployment.judge.judge(&deployment.project, written, progress)?;
                    deployed = json!(found);
                    found.refusal.map_or(Ok(()), Err)
                })?;
                let kept = Kept::Function(Box::new(deployment.function().clone()));
                Ok(((deployment.project, deployment.built, kept), deployed))
            }
        })?;
        Ok((Built::written(&built.0, built.1, built.2, folder), deployed.to_string()))
    }

    /// How fast it is, where everything lies and what runs when, as JSON.
    fn explain(&self, py: Python<'_>) -> PyResult<String> {
        let project = self.inner.clone();
        work::run(py, None, move |progress| explained(&project, &Subject::function(&project, None, progress)?))
    }
}

impl Function {
    /// The project, on another machine if there is one.
    fn on(&self, other: Option<&Project>) -> workbench::Project {
        let mut project = other.map_or(&self.inner, |other| &other.inner).clone();
        project.calibrate.clone_from(&self.inner.calibrate);
        project
    }
}
