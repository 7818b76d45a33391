//! Hardware: what was made of a program for a board, and where it is written.

use crate::failures::raised;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use workbench::writing::folder::Earlier;
use workbench::writing::guard::Guard;

/// Everything for a board; nothing is written before it is asked for.
#[pyclass(frozen, module = "tabla_gen._native")]
pub(crate) struct Built {
    inner: workbench::build::Built,
    /// Where the command line would write it.
    folder: PathBuf,
}

impl Built {
    pub(crate) fn new(project: &workbench::Project, inner: workbench::build::Built) -> Built {
        Built { inner, folder: project.out_folder(None) }
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
}
