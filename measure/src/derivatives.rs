//! `gradients` and `losses`: derivatives by `PyTorch` and JAX, which share nothing with this project.
//!
//! Needs scripts/setup --peers, or another Python with `PyTorch` or JAX: `PYTHON=/usr/bin/python3 cargo measure gradients`.

use crate::project::none;
use crate::{Outcome, Project};

/// Derived gradients of every program in programs/ and of random ones (100, or as many as the argument says); writes docs/gradients.md.
pub(crate) fn gradients(project: &Project, arguments: &[String]) -> Outcome {
    let (count, rest) = arguments.split_first().map_or(("100", arguments), |(count, rest)| (count.as_str(), rest));
    none(rest)?;
    let count: usize = count.parse().map_err(|_| format!("`{count}` is not a number of programs"))?;
    project.interpreter(Some("peers"))?;
    let tool = project.tool(false)?.display().to_string();
    project.python(Some("peers"), "gradients.py", &[tool, count.to_string(), "docs/gradients.md".to_owned()])
}

/// Losses with their gradients: the values with which sim/tests/random/losses.rs compares the golden engine.
pub(crate) fn losses(project: &Project, arguments: &[String]) -> Outcome {
    none(arguments)?;
    project.python(Some("peers"), "losses.py", &["sim/tests/random/losses.json".to_owned()])
}
