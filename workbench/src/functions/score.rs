//! A function, such as an imported model, scored on the rows of a table, on any rung.
//!
//! ```text
//! table ──▶ a result per row (`rows`) ───────────────────────────────┐
//!      └──▶ targets, by the names of the model's classes ────────────┴─▶ accuracy, confusion, or R²
//! ```
//!
//! | result | target | score |
//! |---|---|---|
//! | several numbers per row | one column | classes: the largest one is the class |
//! | an integer per row | one column | classes: the integer is the label |
//! | one number per row, all between 0 and 1 on golden | two values, 0 and 1 or texts | classes: the chance of the second |
//! | any other | as many columns as numbers | numbers |

use super::expected::Expected;
pub use super::expected::Score;
pub use super::rows::Rows;
use super::rows::{Computed, Parts};
use crate::engines::Rung;
use crate::failure::Failure;
use crate::imported::Imported;
use crate::progress::Progress;
use crate::project::Project;
use arch::Diagnostic;
use schemars::JsonSchema;
use serde::Serialize;
use sim::data::table::Table;
use sim::distance::{Accuracy, Verdict};

/// What a table says about a function.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Scored {
    /// The engine.
    pub engine: &'static str,
    /// The result that is scored.
    pub result: String,
    /// Rows.
    pub rows: usize,
    /// Names of the classes, in the order of their scores; empty where results are numbers.
    pub classes: Vec<String>,
    /// The score.
    pub score: Score,
    /// That of the golden model.
    pub golden: Score,
    /// Whether the words suffice; of a rung below golden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What is told of the words.
    #[serde(skip)]
    pub warnings: Vec<Diagnostic>,
}

impl Scored {
    /// Score the function of `project`.
    ///
    /// # Errors
    /// The table does not suit the program; what the rung cannot compute; rungs that should agree differ.
    pub fn new(project: &Project, rows: &Rows<'_>, rung: Rung, progress: &dyn Progress) -> Result<Scored, Failure> {
        let all = |table: &Table, _: &[usize]| Ok((None, (0..table.rows.len()).collect()));
        let Tabled { computed, expected } = Tabled::new(project, rows, &all, progress)?;
        let (values, accuracy) = computed.on(project, rung, progress)?;
        Ok(Scored {
            engine: rung.as_str(),
            rows: computed.rows,
            classes: expected.names(),
            score: expected.score(&values),
            golden: expected.score(&computed.golden()),
            warnings: accuracy.iter().flat_map(Accuracy::warnings).collect(),
            verdict: accuracy.map(|accuracy| accuracy.verdict),
            result: computed.name,
        })
    }
}

/// What a function makes of rows without targets.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// The values of the result, row by row.
    pub values: Vec<Vec<f64>>,
    /// Whether it is a label for each row.
    pub is_label: bool,
    /// Names of the classes in the order of their scores; empty where the model names none.
    pub classes: Vec<String>,
    /// How far they are from golden, below it.
    pub accuracy: Option<Accuracy>,
}

impl Predicted {
    /// Compute `result`, or the one that would be scored; all columns of `rows` are features.
    ///
    /// # Errors
    /// As [`Scored::new`]; there is no such result.
    pub fn new(
        project: &Project,
        rows: &Rows<'_>,
        result: Option<&str>,
        rung: Rung,
        progress: &dyn Progress,
    ) -> Result<Predicted, Failure> {
        let features = (0..rows.table.columns.len()).collect();
        let parts = (None, (0..rows.table.rows.len()).collect());
        let computed = Computed::new(project, rows, features, &parts, result, progress)?;
        let (values, accuracy) = computed.on(project, rung, progress)?;
        let classes = project.imported().map_or_else(Vec::new, Imported::classes);
        Ok(Predicted { values, is_label: computed.is_label, classes, accuracy })
    }
}

/// Divides the rows of a table, whose targets are in some columns.
pub(super) type Divides<'a> = &'a dyn Fn(&Table, &[usize]) -> Result<Parts, Diagnostic>;

/// A function beside a table.
pub(super) struct Tabled {
    /// What it makes of the rows that are scored.
    pub(super) computed: Computed,
    /// What they should give.
    pub(super) expected: Expected,
}

impl Tabled {
    /// Read both; `parts` divides the rows, whose targets are in some columns.
    ///
    /// # Errors
    /// The table does not suit the program; golden has no value for a record.
    pub(super) fn new(
        project: &Project,
        rows: &Rows<'_>,
        parts: Divides<'_>,
        progress: &dyn Progress,
    ) -> Result<Tabled, Failure> {
        let [features, targets] = rows.columns()?;
        let parts = parts(&rows.table, &targets).map_err(|wrong| rows.about(vec![wrong]))?;
        let computed = Computed::new(project, rows, features, &parts, None, progress)?;
        let expected = Expected::new(project, &rows.table, &targets, &computed.golden(), computed.is_label);
        let expected = expected.map_err(|wrong| rows.about(wrong))?.of_rows(&parts.1);
        Ok(Tabled { computed, expected })
    }
}
