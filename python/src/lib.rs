//! The native half of the Python package `tabla_gen`: `workbench` for Python, without policy of its own.
//!
//! ```text
//! tabla_gen.Program, Model, estimators (Python: names, defaults, documentation)
//!        │ NumPy arrays, text
//!        ▼
//! _native.Project, _native.Training, _native.Model ──▶ workbench, in a thread of its own, without the interpreter's lock
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `failures` | failures and diagnostics as Python has them |
//! | `work` | work in a thread: signals, progress, cancelling |
//! | `values` | arrays to values of a program, and back |
//! | `project` | programs |
//! | `function` | functions on rows |
//! | `training`, `model` | trainings and what they give |
//! | `built` | what was made for a board |

#![allow(clippy::needless_pass_by_value, reason = "arguments of Python are extracted for the call, and end with it")]

mod built;
mod failures;
mod function;
mod model;
mod project;
mod training;
mod values;
mod work;

/// What `tabla_gen` is made of; its classes are no interface.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::built::Built;
    #[pymodule_export]
    use crate::function::Function;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::project::Project;
    #[pymodule_export]
    use crate::training::Training;

    /// Version of tabla-gen.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
