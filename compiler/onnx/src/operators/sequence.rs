//! Sequences of tensors and optional values, which are known when the file is read.

use crate::build::{Refusal, Translated, misfit};
use crate::call::{Call, Slot};
use crate::elements::Kind;
use crate::graph::Lowering;
use arch::Code;

/// Translate an operator of this kind.
#[expect(clippy::too_many_lines, reason = "one arm per operator")]
pub(crate) fn translate(l: &mut Lowering<'_, '_>, c: &Call<'_, '_>) -> Translated<Option<Vec<Slot>>> {
    let place = |l: &Lowering<'_, '_>, operand: usize, count: usize, default: i64| -> Translated<usize> {
        let given = match c.optional(operand)? {
            Some(at) => *l.static_ints(at, "position")?.first().unwrap_or(&0),
            None => default,
        };
        let at = if given < 0 { given + count as i64 } else { given };
        usize::try_from(at).map_err(|_| Refusal::new(Code::Bounds, format!("there is no element {given}")))
    };
    Ok(Some(vec![match c.node.operator {
        "SequenceEmpty" => Slot::Sequence(Vec::new()),
        "SequenceConstruct" => Slot::Sequence(c.inputs()?),
        "SequenceLength" => Slot::Tensor(l.builder.scalar(Kind::INT64, c.sequence(0)?.len() as f64)?),
        "SequenceAt" => {
            let values = c.sequence(0)?;
            let at = place(l, 1, values.len(), -1)?;
            let value = values.get(at).copied();
            Slot::Tensor(value.ok_or_else(|| Refusal::new(Code::Bounds, format!("there is no element {at}")))?)
        }
        "SequenceInsert" => {
            let mut values = c.sequence(0)?;
            let at = place(l, 2, values.len(), values.len() as i64)?;
            if at > values.len() {
                return Err(Refusal::new(Code::Bounds, format!("there is no place {at}")));
            }
            values.insert(at, c.input(1)?);
            Slot::Sequence(values)
        }
        "SequenceErase" => {
            let mut values = c.sequence(0)?;
            let at = place(l, 1, values.len(), -1)?;
            if at >= values.len() {
                return Err(Refusal::new(Code::Bounds, format!("there is no element {at}")));
            }
            values.remove(at);
            Slot::Sequence(values)
        }
        "ConcatFromSequence" => {
            let values = c.sequence(0)?;
            let Some(&first) = values.first() else { return misfit("the sequence is empty") };
            let stacks = c.int("new_axis", 0) != 0;
            let rank = l.builder.rank(first) + usize::from(stacks);
            let axis = c.axis("axis", 0, rank)?;
            Slot::Tensor(if stacks { l.stacked(&values, axis)? } else { l.builder.concat(&values, axis)? })
        }
        "SplitToSequence" => {
            let x = c.input(0)?;
            let shape = l.builder.shape(x);
            let axis = c.axis("axis", 0, shape.len())?;
            let (sizes, single) = match c.optional(1)? {
                Some(split) if l.builder.rank(split) == 0 => {
                    let each = (*l.static_ints(split, "split")?.first().unwrap_or(&1)).max(1);
                    ((0..shape[axis]).step_by(each as usize).map(|at| each.min(shape[axis] - at)).collect(), false)
                }
                Some(split) => (l.static_ints(split, "split")?, false),
                None => (vec![1; shape[axis] as usize], c.int("keepdims", 1) == 0),
            };
            let (mut at, mut values) = (0, Vec::new());
            for size in sizes {
                if size < 0 || at + size > shape[axis] {
                    return misfit(format!("the parts do not make {}", shape[axis]));
                }
                values.push(if single { l.without(x, axis, at)? } else { l.builder.part(x, axis, at, size, 1)? });
                at += size;
            }
            Slot::Sequence(values)
        }
        "Optional" => c.operands.first().cloned().flatten().unwrap_or(Slot::Nothing),
        "OptionalHasElement" => {
            let there = !matches!(c.operands.first(), None | Some(None | Some(Slot::Nothing)));
            Slot::Tensor(l.builder.scalar(Kind::Bool, f64::from(u8::from(there)))?)
        }
        "OptionalGetElement" => match c.operands.first().cloned().flatten() {
            None | Some(Slot::Nothing) => return misfit("there is no element"),
            Some(slot) => slot,
        },
        _ => return Ok(None),
    }]))
}
