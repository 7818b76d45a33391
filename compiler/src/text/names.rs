//! Elements of tensors and loops over them, as text: `w[i][2*j + 1]`, `for i in 0..3`. Tensor and fixed-point programs write them alike.

use super::write;
use crate::tensor::{Affine, IterId, Iterator, TensorId};
use std::collections::BTreeMap;

/// The tensors of a program, by the names that stand for them.
pub struct Names<'a> {
    tensors: Vec<&'a str>,
    /// How many tensors have a name.
    count: BTreeMap<&'a str, usize>,
    reserved: fn(&str) -> bool,
}

impl<'a> Names<'a> {
    /// Of tensors in their order; `reserved` tells the words of the form.
    pub fn new(tensors: impl IntoIterator<Item = &'a str>, reserved: fn(&str) -> bool) -> Names<'a> {
        let tensors: Vec<&str> = tensors.into_iter().collect();
        let mut count = BTreeMap::new();
        for &name in &tensors {
            *count.entry(name).or_insert(0) += 1;
        }
        Names { tensors, count, reserved }
    }

    /// The name of a tensor; its number where that names none or several.
    pub fn tensor(&self, id: TensorId) -> String {
        match self.tensors.get(id.0) {
            Some(name) if self.count[name] == 1 => write::name(name, self.reserved),
            _ => id.to_string(),
        }
    }

    /// The loops of a statement.
    pub fn loops<'s>(&'s self, iterators: &'s [Iterator]) -> Loops<'s> {
        let shared = |number: usize, name: &str| {
            let others = iterators.iter().enumerate();
            self.count.contains_key(name) || others.into_iter().any(|(other, i)| other != number && i.name == name)
        };
        let written = |(number, iterator): (usize, &Iterator)| {
            let plain = write::name(&iterator.name, self.reserved);
            if shared(number, &iterator.name) { format!("{plain}#{number}") } else { plain }
        };
        Loops { names: self, iterators, written: iterators.iter().enumerate().map(written).collect() }
    }
}

/// The iterators of a statement, by the names that stand for them: with their number where a name alone would be another one's, too.
pub struct Loops<'a> {
    names: &'a Names<'a>,
    iterators: &'a [Iterator],
    written: Vec<String>,
}

impl Loops<'_> {
    /// `w[i][2*j + 1]`
    pub fn element(&self, tensor: TensorId, index: &[Affine]) -> String {
        self.names.tensor(tensor) + &write::list(index, "", |index| format!("[{}]", self.affine(index)))
    }

    /// `i`, or `i#1` where another one has the name, too.
    pub fn iterator(&self, iterator: IterId) -> String {
        self.written.get(iterator.0).cloned().unwrap_or_else(|| format!("#{}", iterator.0))
    }

    /// `2*j - i + 1`
    pub fn affine(&self, value: &Affine) -> String {
        let mut text = String::new();
        let mut add = |negative: bool, size: String| {
            text += match (text.is_empty(), negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text += &size;
        };
        for &(iterator, coefficient) in &value.terms {
            let name = self.iterator(iterator);
            let size = coefficient.unsigned_abs();
            add(coefficient < 0, if size == 1 { name } else { format!("{size}*{name}") });
        }
        if value.offset != 0 || value.terms.is_empty() {
            add(value.offset < 0, value.offset.unsigned_abs().to_string());
        }
        text
    }

    /// `  for i in 0..3  over j in 0..4`, where the first `free` iterators are free.
    pub fn clauses(&self, free: usize) -> String {
        let free = free.min(self.iterators.len());
        let clause = |(word, range): (&str, std::ops::Range<usize>)| {
            let loops = write::list(range, ", ", |number| {
                let Iterator { low, high, .. } = self.iterators[number];
                format!("{} in {low}..{high}", self.written[number])
            });
            if loops.is_empty() { loops } else { format!("  {word} {loops}") }
        };
        write::list([("for", 0..free), ("over", free..self.iterators.len())], "", clause)
    }
}
