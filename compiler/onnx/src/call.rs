//! One node at work: its operands and settings, as operators ask for them.

use crate::build::{Refusal, Translated, Val, misfit, unsupported};
use crate::model::{Attribute, Node};
use arch::Code;

/// What a name of the graph stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Slot {
    /// A tensor.
    Tensor(Val),
    /// A list of tensors, known when the file is read.
    Sequence(Vec<Val>),
    /// An optional value that is not there.
    Nothing,
}

/// A node and its operands.
pub(crate) struct Call<'c, 'm> {
    /// The node.
    pub(crate) node: &'c Node<'m>,
    /// Version of its domain.
    pub(crate) version: i64,
    /// What its operands stand for; `None`: left out.
    pub(crate) operands: Vec<Option<Slot>>,
}

impl<'m> Call<'_, 'm> {
    /// Operand that has to be there.
    pub(crate) fn input(&self, number: usize) -> Translated<Val> {
        self.optional(number)?.ok_or_else(|| Refusal::new(Code::Arity, format!("operand {} is missing", number + 1)))
    }

    /// Operand that may be left out.
    pub(crate) fn optional(&self, number: usize) -> Translated<Option<Val>> {
        match self.operands.get(number) {
            Some(Some(Slot::Tensor(value))) => Ok(Some(*value)),
            Some(Some(Slot::Sequence(_))) => {
                Err(Refusal::new(Code::Type, format!("operand {} is a sequence, not a tensor", number + 1)))
            }
            _ => Ok(None),
        }
    }

    /// All operands, each of which has to be there.
    pub(crate) fn inputs(&self) -> Translated<Vec<Val>> {
        (0..self.operands.len()).map(|number| self.input(number)).collect()
    }

    /// A list of tensors.
    pub(crate) fn sequence(&self, number: usize) -> Translated<Vec<Val>> {
        match self.operands.get(number) {
            Some(Some(Slot::Sequence(values))) => Ok(values.clone()),
            _ => Err(Refusal::new(Code::Type, format!("operand {} is not a sequence", number + 1))),
        }
    }

    /// Whether somebody wants a result.
    pub(crate) fn wants(&self, number: usize) -> bool {
        self.node.outputs.get(number).is_some_and(|name| !name.is_empty())
    }

    /// A setting.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute<'m>> {
        self.node.attribute(name)
    }

    /// A whole number.
    pub(crate) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).and_then(|attribute| attribute.integer).unwrap_or(default)
    }

    /// A number.
    pub(crate) fn float(&self, name: &str, default: f64) -> f64 {
        self.attribute(name).and_then(|attribute| attribute.float).map_or(default, f64::from)
    }

    /// Whole numbers, if they are given.
    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|attribute| attribute.integers.clone())
    }

    /// Numbers, if they are given.
    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f64>> {
        self.attribute(name).map(|attribute| attribute.floats.iter().map(|&value| f64::from(value)).collect())
    }

    /// A word.
    pub(crate) fn text(&self, name: &str, default: &str) -> String {
        let text = self.attribute(name).and_then(|attribute| attribute.text);
        text.map_or_else(|| default.to_owned(), |text| String::from_utf8_lossy(text).into_owned())
    }

    /// An axis setting, counted from the front.
    pub(crate) fn axis(&self, name: &str, default: i64, rank: usize) -> Translated<usize> {
        axis(self.int(name, default), rank)
    }

    /// Refuse a setting that this translation does not know.
    pub(crate) fn refuse<T>(&self, name: &str) -> Translated<T> {
        let shown = self.attribute(name).map_or(String::new(), |attribute| match (attribute.integer, attribute.text) {
            (Some(value), _) => format!(" = {value}"),
            (_, Some(text)) => format!(" = {}", String::from_utf8_lossy(text)),
            _ => String::new(),
        });
        unsupported(
            format!("{name}{shown} of {} is not supported", self.node.operator),
            "export the model without this setting, or compute this node on the host",
        )
    }
}

/// An axis counted from the front.
pub(crate) fn axis(axis: i64, rank: usize) -> Translated<usize> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    if (0..rank as i64).contains(&counted) {
        Ok(counted as usize)
    } else {
        misfit(format!("there is no axis {axis} in a tensor of {rank} dimensions"))
    }
}
