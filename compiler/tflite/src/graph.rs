//! A graph of ONNX under construction: `TFLite`'s tensors as its values.
//!
//! | tensor | value |
//! |---|---|
//! | real numbers | the same |
//! | integers with a scale | `integer - zero` as a real number, which is exact; a constant, too |
//! | other integers, truth values | the same |
//!
//! A quantised result is `clamp(round(value * factor), low, high)`: one product for all scales of the operator, rounded once.

use crate::flat::Damage;
use crate::model::{Model, Quantisation, Tensor};
use crate::write::{Node, Setting, Writer};
use onnx::elements::{Kind, constants};
use onnx::model::TensorData;
use std::collections::{BTreeMap, BTreeSet};

/// Elements of a constant.
const ELEMENTS: u64 = 1 << 28;
/// A little more than 1: halves are rounded away from zero, where only a half is a half in single-precision scales.
const AWAY: f64 = 1.0 + 1.0 / (1u64 << 40) as f64;
/// A little more than 0: halves are rounded up.
const HALF: f64 = 1.0 / (1u64 << 20) as f64;
/// Element types of ONNX.
pub(crate) const FLOAT: i64 = 1;
pub(crate) const INT64: i64 = 7;
pub(crate) const BOOL: i64 = 9;
const DOUBLE: i64 = 11;

/// Why an operator is not translated.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

/// What a translation gives.
pub(crate) type Translated<T> = Result<T, Refusal>;

/// Refuse an operator.
pub(crate) fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Translated<T> {
    Err(Refusal { message: message.into(), help: help.into() })
}

impl From<Damage> for Refusal {
    fn from(damage: Damage) -> Refusal {
        Refusal { message: format!("its settings are damaged: {damage}"), help: "export the model again".into() }
    }
}

/// How the integers of a tensor stand for real numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scheme {
    /// Of one step.
    pub scale: f64,
    /// The integer of 0.
    pub zero: f64,
    /// Smallest and largest integer.
    pub limits: (f64, f64),
}

impl Scheme {
    /// The nearest integer of a real number.
    pub fn integer(self, real: f64) -> f64 {
        ((real / self.scale).round() + self.zero).clamp(self.limits.0, self.limits.1)
    }

    /// The real number of an integer.
    pub fn real(self, integer: f64) -> f64 {
        (integer - self.zero) * self.scale
    }
}

/// The number of an element type in ONNX.
pub(crate) fn element(number: i64) -> Option<i64> {
    Some(match number {
        0 => FLOAT,
        1 => 10,
        2 => 6,
        3 => 2,
        4 => INT64,
        6 => BOOL,
        7 => 5,
        9 => 3,
        10 => DOUBLE,
        12 => 13,
        15 => 12,
        16 => 4,
        17 => 22,
        18 => 16,
        _ => return None,
    })
}

/// A translation at work.
pub(crate) struct Graph<'m, 'f, 'a> {
    /// The file.
    pub(crate) model: &'m Model<'f, 'a>,
    writer: Writer,
    names: BTreeSet<String>,
    counts: BTreeMap<String, usize>,
    values: Vec<Option<String>>,
    reals: BTreeMap<usize, String>,
    /// The operator at work, and the stem of names of its results.
    pub(crate) place: (String, String),
}

impl<'m, 'f, 'a> Graph<'m, 'f, 'a> {
    /// An empty graph.
    pub(crate) fn new(model: &'m Model<'f, 'a>) -> Graph<'m, 'f, 'a> {
        Graph {
            model,
            writer: Writer::default(),
            names: BTreeSet::new(),
            counts: BTreeMap::new(),
            values: vec![None; model.tensors.len()],
            reals: BTreeMap::new(),
            place: Default::default(),
        }
    }

    /// A name that nothing has yet.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        let stem = if stem.is_empty() { "tensor" } else { stem };
        let mut name = stem.to_owned();
        while !self.names.insert(name.clone()) {
            let count = self.counts.entry(stem.to_owned()).or_insert(0);
            *count += 1;
            name = format!("{stem}.{count}");
        }
        name
    }

    /// A tensor of the file.
    pub(crate) fn tensor(&self, t: usize) -> &'m Tensor<'a> {
        &self.model.tensors[t]
    }

    /// Extents.
    pub(crate) fn shape(&self, t: usize) -> &'m [i64] {
        &self.model.tensors[t].shape
    }

    /// The element type of a tensor.
    pub(crate) fn kind(&self, t: usize) -> Translated<(i64, Kind)> {
        let number = element(self.tensor(t).element);
        let kind = number.and_then(|number| Some((number, Kind::of_number(number)?)));
        kind.ok_or_else(|| Refusal {
            message: format!("tensor `{}` is not made of numbers of one word", self.tensor(t).name),
            help: "texts, complex numbers and resources are not computed with: let the host do that".into(),
        })
    }

    /// Scales of the integers of a tensor, if it is quantised.
    pub(crate) fn scales(&self, t: usize) -> Translated<Option<&'m Quantisation>> {
        let quantisation = self.tensor(t).quantisation.as_ref();
        Ok(if self.kind(t)?.1.is_int() { quantisation } else { None })
    }

    /// The one scale of the integers of a tensor, if it has that.
    pub(crate) fn scheme(&self, t: usize) -> Translated<Option<Scheme>> {
        let Some(q) = self.scales(t)? else { return Ok(None) };
        let limits = self.kind(t)?.1.limits();
        Ok(match (&q.scales[..], limits) {
            ([scale], Some(limits)) => Some(Scheme { scale: f64::from(*scale), zero: q.zeros[0] as f64, limits }),
            _ => None,
        })
    }

    /// The elements of a constant.
    pub(crate) fn elements(&self, t: usize) -> Translated<Option<Vec<f64>>> {
        let tensor = self.tensor(t);
        let Some(data) = tensor.data else { return Ok(None) };
        if tensor.is_sparse {
            return refuse(
                format!("the constant `{}` is sparse", tensor.name),
                "convert the model without sparse weights: `DENSIFY` and sparse constants have no equivalent here",
            );
        }
        let (data_type, _) = self.kind(t)?;
        let data = TensorData { dimensions: tensor.shape.clone(), data_type, raw: Some(data), ..TensorData::default() };
        let read = constants(&data, ELEMENTS, &|_| Err("none".into()));
        match read {
            Ok(constants) => Ok(Some(constants.values)),
            Err(why) => refuse(format!("constant `{}`: {why}", tensor.name), "export the model again"),
        }
    }

    /// Whole numbers that have to be known when the file is read.
    pub(crate) fn known(&self, t: usize, what: &str) -> Translated<Vec<i64>> {
        match self.elements(t)? {
            // Indices of the format have 32 bits, whatever the type of the constant is.
            Some(values) => Ok(values.into_iter().map(|value| i64::from(value as i32)).collect()),
            None if self.shape(t).contains(&0) => Ok(Vec::new()),
            None => refuse(
                format!("its {what}, `{}`, is not a constant", self.tensor(t).name),
                "make it a constant of the model: all shapes are fixed here",
            ),
        }
    }

    /// A node with one result, whose name is returned.
    pub(crate) fn node(&mut self, operator: &str, inputs: &[&str], settings: &[(&str, Setting)]) -> String {
        let stem = if self.place.1.is_empty() { operator.to_owned() } else { self.place.1.clone() };
        let name = self.fresh(&stem);
        self.named(operator, inputs, &name, settings);
        name
    }

    /// A node with a result of this name.
    pub(crate) fn named(&mut self, operator: &str, inputs: &[&str], name: &str, settings: &[(&str, Setting)]) {
        self.append(operator, inputs, &[name], settings);
    }

    /// A node.
    pub(crate) fn append(&mut self, operator: &str, inputs: &[&str], outputs: &[&str], settings: &[(&str, Setting)]) {
        let is_own = matches!(operator, "Centred" | "Requantize" | "Stored");
        let name = &self.place.0;
        self.writer.node(&Node { name, operator, is_own, inputs, outputs, settings });
    }

    /// An operator that is not translated, with why.
    pub(crate) fn refused(&mut self, operator: &str, inputs: &[&str], outputs: &[&str], refusal: &Refusal) {
        let text = |text: &str| Setting::Text(text.to_owned());
        let settings = &[("refusal", text(&refusal.message)), ("help", text(&refusal.help))];
        let name = &self.place.0;
        self.writer.node(&Node { name, operator, is_own: true, inputs, outputs, settings });
    }

    /// A constant of numbers, in single precision where that is exact.
    pub(crate) fn numbers(&mut self, stem: &str, shape: &[i64], values: &[f64]) -> String {
        let name = self.fresh(stem);
        if values.iter().all(|&value| f64::from(value as f32) == value) {
            let raw: Vec<u8> = values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect();
            self.writer.constant(&name, shape, FLOAT, &raw);
        } else {
            let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.writer.constant(&name, shape, DOUBLE, &raw);
        }
        name
    }

    /// A constant of indices.
    pub(crate) fn indices(&mut self, shape: &[i64], values: &[i64]) -> String {
        let stem = format!("{}/indices", self.place.1);
        let name = self.fresh(&stem);
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.writer.constant(&name, shape, INT64, &raw);
        name
    }

    /// A constant number.
    pub(crate) fn number(&mut self, value: f64) -> String {
        let stem = format!("{}/constant", self.place.1);
        self.numbers(&stem, &[], &[value])
    }

    /// A value times a constant.
    pub(crate) fn times(&mut self, value: &str, factor: f64) -> String {
        if factor == 1.0 {
            return value.to_owned();
        }
        let factor = self.number(factor);
        self.node("Mul", &[value, &factor], &[])
    }

    /// What stands for a tensor.
    pub(crate) fn value(&mut self, t: usize) -> Translated<String> {
        if let Some(name) = &self.values[t] {
            return Ok(name.clone());
        }
        let tensor = self.tensor(t);
        let name = match (self.scales(t)?, self.elements(t)?) {
            (_, None) if tensor.is_variable => {
                return refuse(
                    format!("it reads the state `{}`, which is 0 in every record", tensor.name),
                    "make the state an input and an output of the model",
                );
            }
            (_, None) => {
                return refuse(
                    format!("its operand `{}` is not defined before it", tensor.name),
                    "the file is damaged, or its operators are not sorted",
                );
            }
            (Some(_), Some(values)) => {
                let centred = self.centred(t, values);
                self.numbers(tensor.name, &tensor.shape, &centred)
            }
            (None, Some(_)) => {
                let (data_type, _) = self.kind(t)?;
                let name = self.fresh(tensor.name);
                self.writer.constant(&name, &tensor.shape, data_type, tensor.data.unwrap_or_default());
                name
            }
        };
        self.values[t] = Some(name.clone());
        Ok(name)
    }

    /// One number for each element of a constant, as its place along the quantised dimension says.
    fn along(&self, t: usize, of: impl Fn(&Quantisation, usize) -> f64) -> impl Fn(usize) -> f64 {
        let q = self.tensor(t).quantisation.as_ref();
        let list: Vec<f64> = q.map_or_else(Vec::new, |q| (0..q.scales.len()).map(|n| of(q, n)).collect());
        let inner = q.map_or(1, |q| self.shape(t).iter().skip(q.axis + 1).product::<i64>().max(1) as usize);
        move |place| list.get(place / inner % list.len().max(1)).copied().unwrap_or(1.0)
    }

    fn centred(&self, t: usize, mut values: Vec<f64>) -> Vec<f64> {
        let zero = self.along(t, |q, n| q.zeros[n] as f64);
        values.iter_mut().enumerate().for_each(|(n, value)| *value -= zero(n));
        values
    }

    /// The elements of a constant as real numbers or, if `whole`, as integers less their zero points.
    pub(crate) fn constant_values(&self, t: usize, whole: bool) -> Translated<Option<Vec<f64>>> {
        let Some(values) = self.elements(t)? else { return Ok(None) };
        if self.scales(t)?.is_none() {
            return Ok(Some(values));
        }
        let mut values = self.centred(t, values);
        if !whole {
            let scale = self.along(t, |q, n| f64::from(q.scales[n]));
            // As the kernel dequantises: in single precision.
            values.iter_mut().enumerate().for_each(|(n, value)| *value = f64::from((*value * scale(n)) as f32));
        }
        Ok(Some(values))
    }

    /// A tensor as real numbers; integers without a scale stay what they are.
    pub(crate) fn real(&mut self, t: usize) -> Translated<String> {
        if self.scales(t)?.is_none() {
            return self.value(t);
        }
        if let Some(name) = self.reals.get(&t) {
            return Ok(name.clone());
        }
        let tensor = self.tensor(t);
        let stem = format!("{}/real", tensor.name);
        let name = if let Some(values) = self.constant_values(t, false)? {
            self.numbers(&stem, &tensor.shape, &values)
        } else if let Some(scheme) = self.scheme(t)? {
            let value = self.value(t)?;
            let (name, factor) = (self.fresh(&stem), self.number(scheme.scale));
            self.named("Mul", &[&value, &factor], &name, &[]);
            name
        } else {
            return refuse(
                format!("`{}` has a scale for each channel and is not a constant", tensor.name),
                "scales of results are one for all elements",
            );
        };
        self.reals.insert(t, name.clone());
        Ok(name)
    }

    /// An operand as the result `like` would stand for it: what moves elements, and computes none, works on that.
    pub(crate) fn operand_like(&mut self, t: usize, like: usize) -> Translated<String> {
        match (self.scheme(t)?, self.scheme(like)?) {
            (Some(own), Some(other)) if own == other => self.value(t),
            (Some(own), Some(other)) => {
                let value = self.value(t)?;
                Ok(self.requantised(&value, &[own.scale / other.scale], other, other.limits))
            }
            (_, Some(other)) => {
                let value = self.real(t)?;
                Ok(self.in_steps(&value, other, other.limits))
            }
            (_, None) => self.real(t),
        }
    }

    /// Integers in other steps: `clamp(round(value * factor) + zero, low, high) - zero`, the factor for all elements or along the last dimension.
    pub(crate) fn requantised(
        &mut self,
        value: &str,
        factors: &[f64],
        scheme: Scheme,
        (low, high): (f64, f64),
    ) -> String {
        let limits = (low - scheme.zero, high - scheme.zero);
        // Kernels round halves up where they do not shift to the right, and only a factor of few bits makes halves.
        let makes_halves = |&factor: &f64| factor >= 0.5 && (factor * 4096.0).fract() == 0.0;
        if factors.iter().all(makes_halves) {
            return self.scaled(value, factors, limits, ("above", HALF));
        }
        self.rounded(value, factors, limits, 0.0)
    }

    /// Real numbers in steps, or integers that are rounded as they are: `clamp(round((value + zero) * factor) - zero, low, high)`, halves away
    /// from zero.
    pub(crate) fn rounded(&mut self, value: &str, factors: &[f64], limits: (f64, f64), zero: f64) -> String {
        let factors: Vec<f64> = factors.iter().map(|factor| factor * AWAY).collect();
        self.scaled(value, &factors, limits, ("zero", zero))
    }

    fn scaled(&mut self, value: &str, factors: &[f64], limits: (f64, f64), offset: (&str, f64)) -> String {
        let shape: Vec<i64> = if factors.len() == 1 { vec![] } else { vec![factors.len() as i64] };
        let stem = format!("{}/factor", self.place.1);
        let factor = self.numbers(&stem, &shape, factors);
        let mut settings = vec![("low", Setting::Float(limits.0)), ("high", Setting::Float(limits.1))];
        if offset.1 != 0.0 {
            settings.push((offset.0, Setting::Float(offset.1)));
        }
        self.node("Requantize", &[value, &factor], &settings)
    }

    /// Real numbers as integers.
    fn in_steps(&mut self, value: &str, scheme: Scheme, (low, high): (f64, f64)) -> String {
        self.rounded(value, &[1.0 / scheme.scale], (low - scheme.zero, high - scheme.zero), 0.0)
    }

    /// What a result stands for: what is computed in the form of [`Graph::value`].
    pub(crate) fn set(&mut self, t: usize, value: String) {
        self.values[t] = Some(value);
        self.reals.remove(&t);
    }

    /// A result that is computed as real numbers, behind its activation.
    pub(crate) fn set_real(&mut self, t: usize, value: &str, activation: i64) -> Translated<()> {
        let value = match self.scheme(t)? {
            Some(scheme) => {
                let bounds = bounds(scheme, activation)?;
                self.in_steps(value, scheme, bounds)
            }
            None => self.activated(value, activation)?,
        };
        self.set(t, value);
        Ok(())
    }

    /// A fused activation.
    pub(crate) fn activated(&mut self, value: &str, activation: i64) -> Translated<String> {
        let (low, high) = match activation {
            0 => return Ok(value.to_owned()),
            1 => return Ok(self.node("Relu", &[value], &[])),
            4 => return Ok(self.node("Tanh", &[value], &[])),
            2 => (-1.0, 1.0),
            3 => (0.0, 6.0),
            _ => return unknown_activation(activation),
        };
        let (low, high) = (self.number(low), self.number(high));
        Ok(self.node("Clip", &[value, &low, &high], &[]))
    }

    /// Write a graph's input.
    pub(crate) fn input(&mut self, t: usize) -> Translated<()> {
        let tensor = self.tensor(t);
        if self.values[t].is_some() {
            return Ok(());
        }
        let (data_type, _) = self.kind(t)?;
        let name = self.fresh(tensor.name);
        self.writer.input(&name, data_type, &tensor.shape);
        let value = match (self.scales(t)?, self.scheme(t)?) {
            (None, _) => name,
            (Some(_), Some(scheme)) => {
                let centred = self.fresh(&format!("{name}/centred"));
                self.named("Centred", &[&name], &centred, &[("zero", Setting::Float(scheme.zero))]);
                centred
            }
            _ => return refuse(format!("input `{name}` has a scale for each channel"), "give it one scale"),
        };
        self.set(t, value);
        Ok(())
    }

    /// Write a graph's output: `value` under the name of the tensor.
    pub(crate) fn output(&mut self, t: usize, name: &str) -> Translated<()> {
        let (data_type, _) = self.kind(t)?;
        let value = self.value(t)?;
        self.writer.output(name, data_type, self.shape(t));
        match self.scheme(t)? {
            Some(scheme) => {
                let settings = [("zero", Setting::Float(scheme.zero)), ("to", Setting::Int(data_type))];
                self.named("Stored", &[&value], name, &settings);
            }
            None => self.named("Identity", &[&value], name, &[]),
        }
        Ok(())
    }

    /// The file.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }
}

fn unknown_activation<T>(activation: i64) -> Translated<T> {
    let help = "RELU, RELU6, RELU_N1_TO_1 and TANH are supported; TANH not of integers";
    refuse(format!("its fused activation {activation} is not supported"), help)
}

/// Smallest and largest integer behind a fused activation.
pub(crate) fn bounds(scheme: Scheme, activation: i64) -> Translated<(f64, f64)> {
    let of = |real: f64| scheme.zero + (real / scheme.scale).round();
    let (low, high) = scheme.limits;
    Ok(match activation {
        0 => (low, high),
        1 => (low.max(scheme.zero), high),
        2 => (low.max(of(-1.0)), high.min(of(1.0))),
        3 => (low.max(scheme.zero), high.min(of(6.0))),
        _ => return unknown_activation(activation),
    })
}
