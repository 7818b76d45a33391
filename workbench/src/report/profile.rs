//! Values of a function beside the formats of their words, layer by layer.
//!
//! ```text
//! records ──golden──▶ values by name ──▶ smallest, quartiles, largest magnitude ──┐
//! calibration ──▶ binary points ──▶ smallest and largest of the format ───────────┴─▶ Layer: how many are clipped, how many lost
//! ```

use crate::evaluation;
use crate::failure::Failure;
use crate::functions::rows::{Recorded, Rows, records};
use crate::progress::Progress;
use crate::project::Project;
use arch::diagnostic::line_column;
use arch::number::{to_f64, word_max};
use compiler::fixed::Tensor;
use compiler::tensor::{Role, TensorId};
use schemars::JsonSchema;
use serde::Serialize;
use sim::ladder::{NamedValues, Upper};

/// Most records that are looked at.
const MOST_RECORDS: usize = 1000;

/// Values of a name beside their format. Magnitudes are those of values other than 0.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// `input`, `weight` or `value`.
    pub kind: &'static str,
    /// Line of the source on which it is computed; 0 of what is not.
    pub line: usize,
    /// Values, of all records.
    pub values: usize,
    /// Of these, zeros.
    pub zeros: usize,
    /// Magnitudes: the smallest, the quartiles, the largest; 0 where all are.
    pub magnitudes: [f64; 5],
    /// Bits of a word.
    pub word: u32,
    /// Bits after the binary point; of an input with columns of their own the least of them.
    pub fraction: i32,
    /// Smallest magnitude of the format.
    pub step: f64,
    /// Largest magnitude of the format.
    pub largest: f64,
    /// Values that exceed it.
    pub clipped: usize,
    /// Values other than 0 that become 0.
    pub lost: usize,
}

/// Profile the function of `project` with rows of a table.
///
/// # Errors
/// The table does not suit the program; a record has no value; the program has no words.
pub fn layers(project: &Project, rows: &Rows<'_>, progress: &dyn Progress) -> Result<Vec<Layer>, Failure> {
    let Recorded { program, records, calibration } = records(project, rows, MOST_RECORDS, progress)?;
    let options = evaluation::Lowered::OPTIONS;
    let steps = (records.as_slice(), calibration.as_deref());
    let upper = Upper::calibrated(&program, &options, &NamedValues::new(), steps, &project.numbers());
    let upper = upper.map_err(|wrong| Failure::about(&project.source, wrong))?;
    let mut layers = Vec::new();
    for tensor in &upper.program.tensors {
        let name = &tensor.name;
        let of_record = |record: &NamedValues| record.get(name).cloned().unwrap_or_default();
        let (kind, values): (_, Vec<Vec<f64>>) = match &tensor.role {
            Role::Parameter(values) => ("weight", vec![values.to_vec()]),
            Role::Input | Role::Label | Role::InOut => ("input", records.iter().map(of_record).collect()),
            _ => {
                let defined = |step: &[Option<f64>]| step.iter().map(|value| value.unwrap_or(0.0)).collect();
                ("value", upper.computed(name).into_iter().flatten().map(defined).collect())
            }
        };
        // Only names of the user's; passes have their own.
        let shown = match kind {
            "value" => upper.program.names.iter().rev().find(|(_, id)| upper.program.tensors[id.0].name == *name),
            _ => None,
        };
        let found = upper.fixed.tensors.iter().position(|fixed| fixed.name == *name);
        let (Some(id), true) = (found, kind != "value" || shown.is_some()) else { continue };
        let called = shown.map_or(name, |(called, _)| called);
        let line = if kind == "value" { line_of(project, &upper, TensorId(id)) } else { 0 };
        layers.extend(layer((called, kind, line), &values, &upper.fixed.tensors[id], upper.fixed.word));
    }
    Ok(layers)
}

/// Line of the operation that writes a tensor.
fn line_of(project: &Project, upper: &Upper, id: TensorId) -> usize {
    let origin = upper.fixed.operations.iter().find(|operation| operation.out == id).map(|operation| &operation.origin);
    origin.map_or(0, |origin| line_column(&project.source.text, origin.span().start).0)
}

/// Values beside the format of a tensor; nothing without values.
fn layer(
    (name, kind, line): (&str, &'static str, usize),
    all: &[Vec<f64>],
    tensor: &Tensor,
    word: u32,
) -> Option<Layer> {
    let (mut clipped, mut lost, mut count, mut magnitudes) = (0, 0, 0, Vec::new());
    for values in all {
        for (element, value) in values.iter().enumerate() {
            let (step, largest) = format(tensor.fraction_of(element), word);
            let size = value.abs();
            count += 1;
            clipped += usize::from(size > largest + step / 2.0);
            lost += usize::from(size > 0.0 && size < step / 2.0);
            if size > 0.0 {
                magnitudes.push(size);
            }
        }
    }
    magnitudes.sort_by(f64::total_cmp);
    let quantile = |quarter: usize| magnitudes.get(magnitudes.len().saturating_sub(1) * quarter / 4);
    let elements = all.first()?.len();
    let fraction = (0..elements).map(|element| tensor.fraction_of(element)).min()?;
    let (step, largest) = format(fraction, word);
    Some(Layer {
        name: name.to_owned(),
        kind,
        line,
        values: count,
        zeros: count - magnitudes.len(),
        magnitudes: std::array::from_fn(|quarter| quantile(quarter).copied().unwrap_or(0.0)),
        word,
        fraction,
        step,
        largest,
        clipped,
        lost,
    })
}

/// Smallest and largest magnitude of a format.
fn format(fraction: i32, word: u32) -> (f64, f64) {
    (to_f64(1, fraction), to_f64(word_max(word) as i64, fraction))
}
