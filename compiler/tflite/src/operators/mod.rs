//! Operators, by what they have in common. Each file translates some of them and leaves the others to the next.

mod elementwise;
mod equivalents;
mod index;
mod layout;
mod linear;
mod recurrent;
mod reduction;
mod window;

use crate::flat::Table;
use crate::graph::{Graph, Refusal, Translated, refuse};
use crate::names;

/// An operator at work.
pub(crate) struct Op<'o, 'f, 'a> {
    /// Its name.
    pub(crate) name: &'o str,
    /// Its operands; `None`: left out.
    pub(crate) inputs: Vec<Option<usize>>,
    /// Its results.
    pub(crate) outputs: &'o [usize],
    options: Option<Table<'f, 'a>>,
}

impl Op<'_, '_, '_> {
    /// An operand that has to be there.
    pub(crate) fn input(&self, number: usize) -> Translated<usize> {
        self.optional(number).ok_or_else(|| damaged(format!("operand {} is missing", number + 1)))
    }

    /// An operand that may be left out.
    pub(crate) fn optional(&self, number: usize) -> Option<usize> {
        self.inputs.get(number).copied().flatten()
    }

    /// The first result.
    pub(crate) fn output(&self) -> Translated<usize> {
        self.outputs.first().copied().ok_or_else(|| damaged("it has no result".into()))
    }

    /// A setting of four bytes.
    pub(crate) fn int(&self, field: usize, default: i64) -> Translated<i64> {
        Ok(self.options.map_or(Ok(default), |table| table.int(field, default))?)
    }

    /// A setting of one byte.
    pub(crate) fn byte(&self, field: usize) -> Translated<i64> {
        Ok(self.options.map_or(Ok(0), |table| table.byte(field))?)
    }

    /// A setting that is a truth value.
    pub(crate) fn flag(&self, field: usize) -> Translated<bool> {
        Ok(self.byte(field)? != 0)
    }

    /// A setting that is a number.
    pub(crate) fn float(&self, field: usize) -> Translated<f64> {
        Ok(self.options.map_or(Ok(0.0), |table| table.float(field)).map(f64::from)?)
    }
}

fn damaged(message: String) -> Refusal {
    Refusal { message, help: "export the model again".into() }
}

/// An axis counted from the front.
pub(crate) fn axis(axis: i64, rank: usize) -> Translated<usize> {
    let counted = if axis < 0 { axis + rank as i64 } else { axis };
    let inside = usize::try_from(counted).ok().filter(|&axis| axis < rank);
    inside.ok_or_else(|| damaged(format!("there is no axis {axis} in a tensor of {rank} dimensions")))
}

/// Translates an operator, or leaves it to others.
type File = fn(&mut Graph<'_, '_, '_>, &Op<'_, '_, '_>) -> Translated<bool>;

const FILES: &[File] = &[
    linear::translate,
    window::translate,
    elementwise::translate,
    layout::translate,
    index::translate,
    reduction::translate,
    recurrent::translate,
];

/// Every operator of a graph, between its inputs and its outputs.
///
/// # Errors
/// An input or output is not a tensor of numbers.
pub(crate) fn translate(g: &mut Graph<'_, '_, '_>) -> Translated<()> {
    let model = g.model;
    model.inputs.iter().try_for_each(|&t| g.input(t))?;
    let mut outputs: Vec<usize> = Vec::new();
    model.outputs.iter().for_each(|t| outputs.extend((!outputs.contains(t)).then_some(t)));
    let names: Vec<String> = outputs.iter().map(|&t| g.fresh(g.tensor(t).name)).collect();
    for (number, operator) in model.operators.iter().enumerate() {
        let known = names::name(operator.code).filter(|_| operator.code != CUSTOM);
        let name = known.map_or_else(|| operator.custom.to_uppercase(), str::to_owned);
        let name = if name.is_empty() { format!("OPERATOR_{}", operator.code) } else { name };
        let first = operator.outputs.first().map_or("", |&t| g.tensor(t).name);
        g.place = (format!("{name} {number}"), first.to_owned());
        let op = Op {
            name: &name,
            inputs: operator.inputs.iter().map(|&t| usize::try_from(t).ok()).collect(),
            outputs: &operator.outputs,
            options: operator.options,
        };
        if let Err(refusal) = one(g, &op) {
            refused(g, &op, &refusal);
        }
    }
    g.place = Default::default();
    outputs.iter().zip(&names).try_for_each(|(&t, name)| g.output(t, name))
}

/// The number of operators that have a name of their own.
const CUSTOM: i64 = 32;

fn one(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>) -> Translated<()> {
    for file in FILES {
        if file(g, op)? {
            return Ok(());
        }
    }
    refuse(format!("the operator {} is not supported", op.name), equivalents::of(op.name))
}

/// Leave an operator in the graph by its name, with why it is refused where a result needs it.
fn refused(g: &mut Graph<'_, '_, '_>, op: &Op<'_, '_, '_>, refusal: &Refusal) {
    // Operands that are there, so that everything they need is asked for, too.
    let operands: Vec<String> = op.inputs.iter().flatten().filter_map(|&t| g.value(t).ok()).collect();
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    let results: Vec<String> = op.outputs.iter().map(|&t| g.fresh(g.tensor(t).name)).collect();
    let names: Vec<&str> = results.iter().map(String::as_str).collect();
    g.refused(op.name, &operands, &names, refusal);
    op.outputs.iter().zip(results).for_each(|(&t, name)| g.set(t, name));
}
