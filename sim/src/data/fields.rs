//! Rows of a table to the tensors of a program.
//!
//!     row ──▶ features ──standardise──▶ (1,) features ──▶ inputs, in the order of declaration, row-major
//!         └─▶ targets ──code, standardise, one-hot──▶ labels, likewise

use crate::data::kinds::{self, Kind, Reader};
use crate::data::labels::Coding;
use crate::data::missing::{Missing, fill, replacements};
use crate::data::standardise::Standardiser;
use crate::data::strange;
use crate::data::table::Table;
use crate::train::engine::{Field, Signature, Step};
use crate::train::settings::{self, Counted, Selection, Settings, Size};
use arch::{Code, Diagnostic};
use compiler::derived::optimisers::RATE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that turns a row into numbers; fixed by the training part, saved with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Names of the features: of their columns, or of a column and a category, `column=category`.
    pub features: Vec<String>,
    /// Names of the target columns.
    pub targets: Vec<String>,
    /// How feature columns of texts become numbers, by column; others hold numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, Kind>,
    /// What stands in for missing features, by feature; without it they are refused.
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
    /// Names of the feature columns.
    pub features: Vec<String>,
    /// How those of texts become numbers.
    pub kinds: BTreeMap<String, Kind>,
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
    /// `E-DATA`: a column that does not exist, or no feature left; texts that are no categories; a target that holds no classes.
    pub fn choose(
        table: &Table,
        settings: &Settings,
        selection: &Selection,
        labels: usize,
    ) -> Result<Encoding, Vec<Diagnostic>> {
        let one = |wrong| vec![wrong];
        let (features, targets) = Encoding::sources(table, settings, selection, labels).map_err(one)?;
        let kinds = kinds::of_columns(table, &features, selection)?;
        let coding = match (&settings.labels, settings.one_hot()) {
            (Some(names), _) => Coding::Names(names.iter().map(|(name, &value)| (name.clone(), value)).collect()),
            (None, true) => {
                let Some(target) = targets.first() else {
                    let message = "classes are what stands in a target column, and there is none";
                    return Err(vec![Diagnostic::global(Code::Data, message).with_help(
                        "the program needs a label, a `model_output` that it never assigns, and the data a column for it",
                    )]);
                };
                table.column(target).and_then(|target| Coding::of_target(table, target)).map_err(one)?
            }
            (None, false) => Coding::Number,
        };
        Ok(Encoding::of(Columns { features, kinds, targets, coding }, settings))
    }

    /// Names of the columns of features, and of the targets.
    ///
    /// # Errors
    /// `E-DATA`: a column that does not exist, or no feature left.
    pub fn sources(
        table: &Table,
        settings: &Settings,
        selection: &Selection,
        labels: usize,
    ) -> Result<(Vec<String>, Vec<String>), Diagnostic> {
        let named = |columns: &Option<settings::Columns>| -> Option<Vec<String>> {
            columns.as_ref().map(|columns| columns.names().iter().flat_map(|name| columns_of(table, name)).collect())
        };
        let dropped = named(&selection.drop).unwrap_or_default();
        let chosen = named(&selection.features);
        for name in dropped.iter().chain(chosen.iter().flatten()) {
            table.column(name)?;
        }
        let wanted = if settings.one_hot() && labels > 0 { 1 } else { labels };
        let left: Vec<String> = table.columns.iter().filter(|name| !dropped.contains(name)).cloned().collect();
        let targets = if let Some(names) = named(&selection.target) {
            names
        } else if wanted < left.len() {
            left[left.len() - wanted..].to_vec()
        } else {
            let columns = table.columns.len();
            let message = format!("the program takes {wanted} label values per sample, the data has {columns} columns");
            return Err(Diagnostic::global(Code::Data, message));
        };
        for name in &targets {
            table.column(name)?;
        }
        let is_feature = |name: &&String| !targets.contains(name) && settings.sample_weight.as_ref() != Some(*name);
        let features: Vec<String> = chosen.unwrap_or(left).iter().filter(is_feature).cloned().collect();
        if features.is_empty() {
            return Err(Diagnostic::global(Code::Data, "the data has no feature column beside the target"));
        }
        Ok((features, targets))
    }

    /// The encoding of some columns; the scales are still the identity.
    pub fn of(columns: Columns, settings: &Settings) -> Encoding {
        let Columns { features, kinds, targets, coding } = columns;
        let own = |name: &String| kinds.get(name).map_or_else(|| vec![name.clone()], |kind| kind.features(name));
        let features: Vec<String> = features.iter().flat_map(own).collect();
        Encoding {
            kinds,
            standardise: Standardiser::identity(features.len()),
            standardise_targets: Standardiser::identity(targets.len()),
            replacements: None,
            features,
            targets,
            bias: settings.bias,
            coding,
            one_hot: settings.one_hot().then(|| settings.first_class.unwrap_or(0)),
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
        let features = table.read(&self.readers(table)?, gaps)?;
        let targets =
            if with_targets { self.coding.codes(table, &table.columns_of(&self.targets)?)? } else { Vec::new() };
        let weights = self.sample_weight.iter().filter(|name| with_targets && table.columns.contains(name));
        let weights =
            weights.map(|name| table.column(name)).collect::<Result<Vec<_>, _>>().map_err(|wrong| vec![wrong])?;
        let weights = if weights.is_empty() { Vec::new() } else { table.numbers(&weights)?.concat() };
        Ok(Rows { features, targets, weights })
    }

    /// Names of the columns from which features are read, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut columns: Vec<&str> = self.features.iter().map(|feature| self.source(feature).0).collect();
        columns.dedup();
        columns
    }

    /// The column of a feature, and how it is read.
    fn source<'a>(&'a self, feature: &'a str) -> (&'a str, Reader<'a>) {
        let is = |(column, kind): (&'a String, &'a Kind)| match kind {
            Kind::Boolean if column == feature => Some((column.as_str(), Reader::Boolean)),
            Kind::Date if column == feature => Some((column.as_str(), Reader::Date)),
            Kind::Category(names) => {
                let name = feature.strip_prefix(column.as_str())?.strip_prefix('=')?;
                let index = names.iter().position(|known| known == name)?;
                Some((column.as_str(), Reader::Is(names, index)))
            }
            Kind::Boolean | Kind::Date => None,
        };
        self.kinds.iter().find_map(is).unwrap_or((feature, Reader::Number))
    }

    /// The column of each feature in a table, and how it is read.
    fn readers(&self, table: &Table) -> Result<Vec<(usize, Reader<'_>)>, Vec<Diagnostic>> {
        let (names, readers): (Vec<String>, Vec<Reader<'_>>) = self
            .features
            .iter()
            .map(|feature| self.source(feature))
            .map(|(name, reader)| (name.to_owned(), reader))
            .unzip();
        Ok(table.columns_of(&names)?.into_iter().zip(readers).collect())
    }

    /// Features that a training can hardly use.
    pub fn strange(&self, table: &Table, rows: &Rows) -> Vec<Diagnostic> {
        let Ok(readers) = self.readers(table) else { return Vec::new() };
        let place = |row: usize, feature: usize| table.place(row, readers[feature].0);
        strange::columns(&self.features, &rows.features, &place)
    }

    /// Take from some rows what stands in for missing features, put it in everywhere, then take the scales. What fills integers is not
    /// scaled, and gets integers for gaps.
    pub fn measure(
        &mut self,
        rows: &mut Rows,
        training: &[usize],
        (settings, signature): (&Settings, &Signature),
        missing: Missing,
    ) {
        let integers: Vec<usize> = (0..).zip(self.integers(signature)).filter_map(|(n, is)| is.then_some(n)).collect();
        if missing != Missing::Refuse {
            let mut found = replacements(&rows.features, training, missing);
            for &feature in &integers {
                found[feature] = libm::rint(found[feature]);
            }
            self.replacements = Some(found);
        }
        self.fill(rows);
        if settings.standardise {
            self.standardise = Standardiser::measure(&rows.features, training);
            for &feature in &integers {
                (self.standardise.mean[feature], self.standardise.deviation[feature]) = (0.0, 1.0);
            }
        }
        if settings.scales_target() {
            self.standardise_targets = Standardiser::measure(&rows.targets, training);
        }
    }

    /// Per feature whether it fills an integer.
    fn integers(&self, signature: &Signature) -> Vec<bool> {
        let inputs = signature.fields[..signature.inputs].iter();
        let each = inputs.flat_map(|field| std::iter::repeat_n(field.integer, field.elements()));
        each.skip(usize::from(self.bias)).take(self.features.len()).collect()
    }

    /// Refuse fractions where the program takes integers.
    ///
    /// # Errors
    /// `E-DATA`: the first such cell of each column.
    pub fn check_integers(&self, table: &Table, rows: &Rows, signature: &Signature) -> Result<(), Vec<Diagnostic>> {
        let columns = self.readers(table)?;
        let integers = self.integers(signature);
        let fraction = |(feature, &(column, _)): (usize, &(usize, Reader<'_>))| {
            let cell = |row: &Vec<f64>| row[feature].is_finite() && libm::trunc(row[feature]) != row[feature];
            let row = integers.get(feature)?.then(|| rows.features.iter().position(cell)).flatten()?;
            Some(table.wrong(row, column, "a fraction, and the program takes integers here"))
        };
        let wrong: Vec<Diagnostic> = columns.iter().enumerate().filter_map(fraction).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::data) fn settings(more: &str) -> Settings {
        toml::from_str(&format!("prediction = \"p\"\n{more}")).unwrap()
    }

    pub(in crate::data) fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    pub(in crate::data) fn table(text: &str) -> Table {
        Table::from_csv(text.as_bytes()).unwrap()
    }

    /// Fields and how many of them are inputs.
    fn signature(fields: &[(&str, &[u32])], inputs: usize) -> Signature {
        let field =
            |&(name, shape): &(&str, &[u32])| Field { name: name.to_owned(), shape: shape.to_vec(), integer: false };
        Signature {
            fields: fields.iter().map(field).collect(),
            inputs,
            prediction: ("p".to_owned(), 1),
            model: Vec::new(),
            sequence: Vec::new(),
        }
    }

    const SQUARED: &str = "loss = \"squared\"\n";
    const CLASSES: &str = "loss = \"cross_entropy\"\nfirst_class = 1\n";

    #[test]
    fn columns_are_the_last_ones_or_those_that_are_named() {
        let data = table("a,y[0],b,y[1],c\n1,2,3,4,5\n");
        let choose = |settings: &Settings, target: Option<&[String]>, labels| {
            let target = target.map(|names| settings::Columns::Several(names.to_vec()));
            let selection = Selection { target, ..Selection::default() }.or(settings.selection.clone());
            let chosen = Encoding::choose(&data, settings, &selection, labels);
            chosen.map(|encoding| (encoding.features, encoding.targets)).map_err(|errors| errors[0].message.clone())
        };
        let plain = settings(SQUARED);
        let (all, two) = (names(&["a", "y[0]", "b", "y[1]"]), names(&["a", "y[0]", "b"]));
        assert_eq!(choose(&plain, None, 1), Ok((all, names(&["c"]))));
        assert_eq!(choose(&plain, None, 2), Ok((two.clone(), names(&["y[1]", "c"]))));
        assert_eq!(choose(&plain, None, 4), Ok((names(&["a"]), names(&["y[0]", "b", "y[1]", "c"]))));
        let short = "the program takes 5 label values per sample, the data has 5 columns".to_owned();
        assert_eq!(choose(&plain, None, 5), Err(short));
        // One column of classes, however many labels they make; none, if there are no labels.
        let classes = settings(CLASSES);
        assert_eq!(choose(&classes, None, 9).unwrap().1, names(&["c"]));
        assert_eq!(choose(&plain, None, 0).unwrap().1, names(&[]));
        // An array is all of its columns, and the weight of a sample is no feature.
        let weighted = settings(&format!("{SQUARED}target = \"y\"\nsample_weight = \"b\""));
        assert_eq!(choose(&weighted, None, 2), Ok((names(&["a", "c"]), names(&["y[0]", "y[1]"]))));
        assert_eq!(choose(&weighted, Some(&names(&["a"])), 1).unwrap().1, names(&["a"]));
        assert!(choose(&plain, Some(&names(&["z"])), 1).unwrap_err().contains('z'));
        let everything = names(&["a", "y", "b", "c"]);
        let nothing_left = "the data has no feature column beside the target".to_owned();
        assert_eq!(choose(&plain, Some(&everything), 5), Err(nothing_left));
        // A column that is called like an array is itself.
        assert_eq!(columns_of(&table("y,y[0]\n1,2\n"), "y"), names(&["y"]));
        assert_eq!(columns_of(&table("yy,y[0]\n1,2\n"), "y"), names(&["y[0]"]));
    }

    #[test]
    fn sizes_follow_from_columns_and_labels() {
        let data = table("a,b,y\n1,2,u\n3,4,v\n5,6,u\n7,8,w\n");
        let encoding =
            Encoding::choose(&data, &settings(&format!("{CLASSES}bias = true")), &Selection::default(), 3).unwrap();
        let size = |text: &str| encoding.size(Size::try_from(text.to_owned()).unwrap());
        assert_eq!((size("features"), size("inputs"), size("classes"), size("classes + 4")), (2, 3, 3, 7));
        assert_eq!((encoding.inputs(), encoding.classes(), encoding.one_hot), (3, 3, Some(1)));
        let named = settings(&format!("{SQUARED}labels = {{ u = 1.0, v = -1.0, w = 0.5 }}"));
        let named = Encoding::choose(&data, &named, &Selection::default(), 1).unwrap();
        assert_eq!((named.inputs(), named.classes(), named.one_hot), (2, 3, None));
        assert_eq!(named.read(&data, true, false).unwrap().targets.concat(), [1.0, -1.0, 1.0, 0.5]);
        let number = Encoding::choose(&table("a,y\n1,2\n"), &settings(SQUARED), &Selection::default(), 1).unwrap();
        assert_eq!(number.classes(), 0);
    }

    /// By hand: columns 1, 3, 5 and 2, gap, 4 of which rows 0 and 1 train; targets 10, 20, 60.
    #[test]
    fn rows_become_steps() {
        let data = table("a,b,k,y\n1,2,0.5,10\n3,,2,20\n5,4,1,60\n");
        let settings = settings(&format!("{SQUARED}sample_weight = \"k\"\nbias = true"));
        let mut encoding = Encoding::choose(&data, &settings, &Selection::default(), 1).unwrap();
        assert!(encoding.read(&data, true, false).is_err(), "a gap");
        let mut rows = encoding.read(&data, true, true).unwrap();
        assert_eq!((rows.weights.clone(), rows.targets.concat()), (vec![0.5, 2.0, 1.0], vec![10.0, 20.0, 60.0]));
        let fields: &[(&str, &[u32])] = &[("x", &[3]), ("t", &[]), ("k", &[]), (RATE, &[])];
        let signature = signature(fields, 1);
        encoding.measure(&mut rows, &[0, 1], (&settings, &signature), Missing::Mean);
        assert_eq!(encoding.replacements, Some(vec![2.0, 2.0]));
        assert_eq!(rows.features, [[1.0, 2.0], [3.0, 2.0], [5.0, 4.0]]);
        // Means 2 and 2, deviations 1 and 0; the target has mean 15 and deviation 5.
        let step = |row| encoding.step(&rows, row, &signature);
        assert_eq!(step(0), [vec![1.0, -1.0, 0.0], vec![-1.0], vec![0.5], vec![1.0]]);
        assert_eq!(step(2), [vec![1.0, 3.0, 0.0], vec![9.0], vec![1.0], vec![1.0]]);
        assert_eq!(encoding.check(&signature), Ok(()));
        // Without targets labels are 0 and weights 1.
        let mut read = encoding.read(&data, false, true).unwrap();
        assert!(read.targets.is_empty() && read.weights.is_empty());
        encoding.fill(&mut read);
        assert_eq!(encoding.step(&read, 1, &signature), [vec![1.0, 1.0, 0.0], vec![0.0], vec![1.0], vec![1.0]]);
        // Nothing is measured where nothing is asked for.
        let plain = super::tests::settings(&format!("{SQUARED}standardise = false\nstandardise_target = false"));
        let mut encoding = Encoding::choose(&data, &plain, &Selection::default(), 1).unwrap();
        let mut rows = encoding.read(&data, true, true).unwrap();
        encoding.measure(&mut rows, &[0, 1], (&plain, &signature), Missing::Refuse);
        assert_eq!((encoding.replacements, rows.features[1][1].is_nan()), (None, true));
        assert_eq!(encoding.standardise, Standardiser::identity(3));
        assert_eq!(encoding.standardise_targets, Standardiser::identity(1));
    }

    /// What fills integers is not scaled, gaps become integers, and fractions are refused at their cell.
    #[test]
    fn integers_stay_integers() {
        let data = table("a,b,y\n1,2,10\n4,,20\n5,4.5,60\n");
        let settings = settings(SQUARED);
        let mut encoding = Encoding::choose(&data, &settings, &Selection::default(), 1).unwrap();
        let mut rows = encoding.read(&data, true, true).unwrap();
        let mut signature = signature(&[("x", &[2]), ("t", &[])], 1);
        assert_eq!(encoding.check_integers(&data, &rows, &signature), Ok(()));
        signature.fields[0].integer = true;
        let wrong = encoding.check_integers(&data, &rows, &signature).expect_err("4.5");
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].message.contains("row 3") && wrong[0].message.contains("`b`"), "{}", wrong[0].message);
        encoding.measure(&mut rows, &[0, 1, 2], (&settings, &signature), Missing::Mean);
        assert_eq!(encoding.replacements, Some(vec![3.0, 3.0]));
        assert_eq!(encoding.step(&rows, 1, &signature)[0], [4.0, 3.0]);
    }

    #[test]
    fn classes_stand_behind_the_first_one() {
        let data = table("a,y\n1,u\n2,w\n3,v\n");
        let encoding =
            Encoding::choose(&data, &settings(&format!("{CLASSES}standardise = false")), &Selection::default(), 4)
                .unwrap();
        let rows = encoding.read(&data, true, false).unwrap();
        let fits = signature(&[("x", &[1]), ("t", &[2, 2])], 1);
        assert_eq!(encoding.check(&fits), Ok(()));
        let labels = |row| encoding.step(&rows, row, &fits)[1].clone();
        // In alphabetical order u, v, w are elements 1, 2, 3.
        assert_eq!((labels(0), labels(1)), (vec![0.0, 1.0, 0.0, 0.0], vec![0.0, 0.0, 0.0, 1.0]));
        let error = encoding.check(&signature(&[("x", &[1]), ("t", &[3])], 1)).unwrap_err();
        assert_eq!(error.message, "3 classes from element 1 on do not fit the 3 label values (t[3])");
    }

    #[test]
    fn data_that_does_not_fit_is_told_with_both_counts() {
        let encoding = |bias: &str| {
            Encoding::choose(&table("a,b,y\n1,2,3\n"), &settings(&format!("{SQUARED}{bias}")), &Selection::default(), 1)
                .unwrap()
        };
        let said =
            |encoding: &Encoding, fields, inputs| encoding.check(&signature(fields, inputs)).unwrap_err().message;
        let expected = "the program takes 7 input values per sample (x[2][3], u), the data gives 2: 2 feature columns";
        assert_eq!(said(&encoding(""), &[("x", &[2, 3]), ("u", &[]), ("t", &[])], 2), expected);
        let expected =
            "the program takes 2 input values per sample (x[2]), the data gives 3: 2 feature columns and a bias";
        assert_eq!(said(&encoding("bias = true"), &[("x", &[2]), ("t", &[])], 1), expected);
        let expected = "the program takes 4 label values per sample (t[4]), the data gives 1 target columns";
        assert_eq!(said(&encoding(""), &[("x", &[2]), ("t", &[4])], 1), expected);
    }

    /// Found by a mutant: with the loss `one_hot` a program without labels ended with a panic.
    #[test]
    fn a_program_without_labels_has_no_classes() {
        let table = table("a,b\n1,2\n");
        let chosen = |loss: &str, labels| {
            Encoding::choose(&table, &settings(&format!("loss = '{loss}'")), &Selection::default(), labels)
                .map(|encoding| encoding.targets)
        };
        assert_eq!((chosen("squared", 0), chosen("one_hot", 3)), (Ok(vec![]), Ok(names(&["b"]))));
        let error = chosen("one_hot", 0).unwrap_err();
        assert_eq!(error[0].message, "classes are what stands in a target column, and there is none");
        assert!({
            let settings = settings("loss = 'one_hot'\ntarget = []");
            Encoding::choose(&table, &settings, &settings.selection, 3).is_err()
        });
    }
}
