//! Rows of a table to the tensors of a program.
//!
//!     row ──▶ features ──standardise──▶ (1,) features ──▶ inputs, in the order of declaration, row-major
//!         └─▶ targets ──code, standardise, one-hot──▶ labels, likewise

use crate::data::labels::Coding;
use crate::data::missing::{Missing, fill, replacements};
use crate::data::standardise::Standardiser;
use crate::data::table::Table;
use crate::train::engine::{Field, Signature, Step};
use crate::train::settings::{self, Counted, Settings, Size};
use arch::{Code, Diagnostic};
use compiler::derived::optimisers::RATE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything that turns a row into numbers; fixed by the training part, saved with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Names of the feature columns.
    pub features: Vec<String>,
    /// Names of the target columns.
    pub targets: Vec<String>,
    /// What stands in for missing features, by column; without it they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacements: Option<Vec<f64>>,
    /// Scale of the features.
    pub standardise: Standardiser,
    /// Scale of the targets.
    pub standardise_targets: Standardiser,
    /// Whether a 1 stands before the features.
    pub bias: bool,
    /// How target cells become numbers.
    pub coding: Coding,
    /// For one-hot labels: the element of the first class.
    pub one_hot: Option<usize>,
    /// The scalar that takes the weight of a sample, and the column that holds the weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_weight: Option<String>,
}

/// Columns of some data and what stands in its targets, before anything is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// Names of the features.
    pub features: Vec<String>,
    /// Names of the targets.
    pub targets: Vec<String>,
    /// How targets become numbers.
    pub coding: Coding,
}

impl Encoding {
    /// Decide columns and coding; the scales are still the identity (see [`Encoding::measure`]).
    ///
    /// `labels` is how many target values a sample needs; used if no target is named.
    ///
    /// # Errors
    /// `E-DATA`: a column that does not exist, or no feature left.
    pub fn choose(
        table: &Table,
        settings: &Settings,
        target: Option<&[String]>,
        labels: usize,
    ) -> Result<Encoding, Diagnostic> {
        let wanted = if settings.one_hot() && labels > 0 { 1 } else { labels };
        let targets = if let Some(names) = target.or(settings.target.as_ref().map(settings::Columns::names)) {
            names.iter().flat_map(|name| columns_of(table, name)).collect()
        } else if wanted < table.columns.len() {
            table.columns[table.columns.len() - wanted..].to_vec()
        } else {
            let columns = table.columns.len();
            let message = format!("the program takes {wanted} label values per sample, the data has {columns} columns");
            return Err(Diagnostic::global(Code::Data, message));
        };
        for name in &targets {
            table.column(name)?;
        }
        let is_feature = |name: &&String| !targets.contains(name) && settings.sample_weight.as_ref() != Some(*name);
        let features: Vec<String> = table.columns.iter().filter(is_feature).cloned().collect();
        if features.is_empty() {
            return Err(Diagnostic::global(Code::Data, "the data has no feature column beside the target"));
        }
        let coding = match (&settings.labels, settings.one_hot()) {
            (Some(names), _) => Coding::Names(names.iter().map(|(name, &value)| (name.clone(), value)).collect()),
            (None, true) => Coding::classes(table, table.column(&targets[0])?),
            (None, false) => Coding::Number,
        };
        Ok(Encoding::of(Columns { features, targets, coding }, settings))
    }

    /// The encoding of some columns; the scales are still the identity.
    pub fn of(columns: Columns, settings: &Settings) -> Encoding {
        let Columns { features, targets, coding } = columns;
        Encoding {
            standardise: Standardiser::identity(features.len()),
            standardise_targets: Standardiser::identity(targets.len()),
            replacements: None,
            features,
            targets,
            bias: settings.bias,
            coding,
            one_hot: settings.one_hot().then_some(settings.first_class),
            sample_weight: settings.sample_weight.clone(),
        }
    }

    /// The value of a size of the `[train.sizes]` table.
    pub fn size(&self, size: Size) -> u32 {
        let counted = match size.of {
            Counted::Features => self.features.len(),
            Counted::Inputs => self.inputs(),
            Counted::Classes => self.classes(),
        };
        counted as u32 + size.plus
    }

    /// Number of classes; 0 if the target is a number.
    pub fn classes(&self) -> usize {
        match &self.coding {
            Coding::Number => 0,
            Coding::Names(names) => names.len(),
            Coding::Classes(names) => names.len(),
        }
    }

    /// Values per sample that go to the inputs.
    pub fn inputs(&self) -> usize {
        self.features.len() + usize::from(self.bias)
    }

    /// Raw features and coded targets of every row.
    ///
    /// # Errors
    /// `E-DATA` for missing columns, for cells that are not numbers and for unknown labels; `with_targets = false` reads the features only.
    /// A missing feature is NaN if `gaps` says that it may be missing.
    pub fn read(&self, table: &Table, with_targets: bool, gaps: bool) -> Result<Rows, Vec<Diagnostic>> {
        let features = table.columns_of(&self.features)?;
        let features = if gaps { table.numbers_with_gaps(&features)? } else { table.numbers(&features)? };
        let targets =
            if with_targets { self.coding.codes(table, &table.columns_of(&self.targets)?)? } else { Vec::new() };
        let weights = self.sample_weight.iter().filter(|name| with_targets && table.columns.contains(name));
        let weights =
            weights.map(|name| table.column(name)).collect::<Result<Vec<_>, _>>().map_err(|wrong| vec![wrong])?;
        let weights = if weights.is_empty() { Vec::new() } else { table.numbers(&weights)?.concat() };
        Ok(Rows { features, targets, weights })
    }

    /// Take from some rows what stands in for missing features, put it in everywhere, then take the scales.
    pub fn measure(&mut self, rows: &mut Rows, training: &[usize], settings: &Settings, missing: Missing) {
        if missing != Missing::Refuse {
            self.replacements = Some(replacements(&rows.features, training, missing));
        }
        self.fill(rows);
        if settings.standardise {
            self.standardise = Standardiser::measure(&rows.features, training);
        }
        if settings.scales_target() {
            self.standardise_targets = Standardiser::measure(&rows.targets, training);
        }
    }

    /// Put in what stands for missing features.
    pub fn fill(&self, rows: &mut Rows) {
        if let Some(replacements) = &self.replacements {
            fill(&mut rows.features, replacements);
        }
    }

    /// Check that the data fills the program's inputs and labels exactly.
    ///
    /// # Errors
    /// `E-DATA` with both counts.
    pub fn check(&self, signature: &Signature) -> Result<(), Diagnostic> {
        let describe = |range: std::ops::Range<usize>| {
            let shape = |shape: &[u32]| shape.iter().fold(String::new(), |text, n| text + &format!("[{n}]"));
            let fields = signature.fields[range].iter().map(|field| format!("{}{}", field.name, shape(&field.shape)));
            fields.collect::<Vec<_>>().join(", ")
        };
        let elements =
            |range: std::ops::Range<usize>| -> usize { signature.fields[range].iter().map(Field::elements).sum() };
        let (inputs, all) = (signature.inputs, self.labels_end(signature));
        let (want, have) = (elements(0..inputs), self.inputs());
        if want != have {
            let bias = if self.bias { " and a bias" } else { "" };
            let features = self.features.len();
            let message = format!(
                "the program takes {want} input values per sample ({}), the data gives {have}: {features} feature columns{bias}",
                describe(0..inputs)
            );
            return Err(Diagnostic::global(Code::Data, message)
                .with_help("set the size constant with --set, or let [train.sizes] take it from the data"));
        }
        let want = elements(inputs..all);
        match self.one_hot {
            Some(first) if want < first + self.classes() => {
                let message = format!(
                    "{} classes from element {first} on do not fit the {want} label values ({})",
                    self.classes(),
                    describe(inputs..all)
                );
                Err(Diagnostic::global(Code::Data, message).with_help("set the size constant with --set"))
            }
            None if want != self.targets.len() => {
                let message = format!(
                    "the program takes {want} label values per sample ({}), the data gives {} target columns",
                    describe(inputs..all),
                    self.targets.len()
                );
                Err(Diagnostic::global(Code::Data, message).with_help("name the target columns with --target a,b,c"))
            }
            _ => Ok(()),
        }
    }

    /// Where the labels end among the fields: behind them stand the weight of a sample and the rate of a step, if the program has them.
    fn labels_end(&self, signature: &Signature) -> usize {
        let is_label = |field: &&Field| field.name != RATE && self.sample_weight.as_ref() != Some(&field.name);
        signature.fields.iter().filter(is_label).count()
    }

    /// The tensors of one row; labels are zeros when the row has no targets.
    pub fn step(&self, rows: &Rows, row: usize, signature: &Signature) -> Step {
        let mut inputs = if self.bias { vec![1.0] } else { Vec::new() };
        inputs.extend(self.standardise.apply(&rows.features[row]));
        let labels = &signature.fields[signature.inputs..self.labels_end(signature)];
        let label_elements: usize = labels.iter().map(Field::elements).sum();
        let labels = match (rows.targets.get(row), self.one_hot) {
            (None, _) => vec![0.0; label_elements],
            (Some(target), None) => self.standardise_targets.apply(target),
            (Some(target), Some(first)) => {
                let mut labels = vec![0.0; label_elements];
                labels[first + target[0] as usize] = 1.0;
                labels
            }
        };
        // A rate is 1 until the schedule says more.
        let weight = self.sample_weight.as_ref().map(|_| rows.weights.get(row).copied().unwrap_or(1.0));
        let mut values = inputs.into_iter().chain(labels).chain(weight).chain(std::iter::repeat(1.0));
        signature.fields.iter().map(|field| values.by_ref().take(field.elements()).collect()).collect()
    }
}

/// The columns that a name means: the one called so, or all of an array's (`y[0]`, `y[1]`, ...).
fn columns_of(table: &Table, name: &str) -> Vec<String> {
    let part = |column: &&String| column.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
    if table.columns.iter().any(|column| column == name) || !table.columns.iter().any(|column| part(&column)) {
        return vec![name.to_owned()];
    }
    table.columns.iter().filter(part).cloned().collect()
}

/// Numbers of all rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rows {
    /// Raw features.
    pub features: Vec<Vec<f64>>,
    /// Coded targets; empty if they were not read.
    pub targets: Vec<Vec<f64>>,
    /// Weights of the samples; empty if all are 1.
    pub weights: Vec<f64>,
}
