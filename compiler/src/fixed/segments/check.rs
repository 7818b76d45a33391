//! Whether segments are a program: their laws, from what they are.

use super::{Part, Region, Segment};
use crate::fixed::{Kind, Operand, Operation, Program, Role, for_each_access};
use crate::tensor::{Affine, TensorId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Check that these segments, one after the other, are the program.
///
/// # Errors
/// The law that is broken, and where.
pub fn check(whole: &Program, segments: &[Segment]) -> Result<(), String> {
    check_points(whole, segments)?;
    check_order(whole, segments)?;
    for (number, segment) in segments.iter().enumerate() {
        let at = |why: String| format!("segment {number}: {why}");
        check_tensors(whole, segment).map_err(at)?;
        if segment.parts.len() != segment.program.operations.len() {
            return Err(at("law 2: it has other operations than parts".to_owned()));
        }
        for (part, operation) in segment.parts.iter().zip(&segment.program.operations) {
            check_operation(whole, segment, part, operation)
                .map_err(|why| at(format!("operation {}: {why}", part.operation)))?;
        }
        check_streams(whole, segments, number).map_err(at)?;
    }
    Ok(())
}

/// All parts, in the order in which they run.
fn parts(segments: &[Segment]) -> impl Iterator<Item = &Part> {
    segments.iter().flat_map(|segment| &segment.parts)
}

/// Law 1, points.
fn check_points(whole: &Program, segments: &[Segment]) -> Result<(), String> {
    for (number, operation) in whole.operations.iter().enumerate() {
        let own: Vec<&Part> = parts(segments).filter(|part| part.operation == number).collect();
        let loops = Part::whole(whole, number).loops;
        let points = |part: &Part| part.loops.iter().map(|range| range.end - range.start).product::<i64>();
        let inside = |part: &&Part| {
            let levels = part.loops.iter().zip(&loops).enumerate();
            let within = |(level, (own, all)): (usize, (&Range<i64>, &Range<i64>))| {
                own == all || level < operation.free && own.start >= all.start && own.end <= all.end && !own.is_empty()
            };
            levels.into_iter().all(within)
        };
        let meet = |a: &Part, b: &Part| a.loops.iter().zip(&b.loops).all(|(a, b)| a.start < b.end && b.start < a.end);
        let apart = own.iter().enumerate().all(|(n, part)| own[..n].iter().all(|other| !meet(part, other)));
        // Whole sums, each point of free loops in one part.
        let total = Part { operation: number, loops: loops.clone() };
        let right =
            own.iter().all(inside) && apart && own.iter().map(|part| points(part)).sum::<i64>() == points(&total);
        if !right {
            return Err(format!("law 1: not every point of operation {number} runs once"));
        }
    }
    Ok(())
}

/// Law 1, order: where two operations touch the same tensor and one writes it, their parts run in the order of the program, unless they touch other elements.
fn check_order(whole: &Program, segments: &[Segment]) -> Result<(), String> {
    let all: Vec<&Part> = parts(segments).collect();
    let touched: Vec<Vec<(TensorId, Region, bool)>> = all.iter().map(|part| touched(whole, part)).collect();
    let mut writers: BTreeMap<TensorId, Vec<usize>> = BTreeMap::new();
    for (at, part) in all.iter().enumerate() {
        writers.entry(whole.operations[part.operation].out).or_default().push(at);
    }
    for (at, part) in all.iter().enumerate() {
        for (tensor, region, _) in &touched[at] {
            for &writer in writers.get(tensor).into_iter().flatten() {
                let turned = (all[writer].operation < part.operation) != (writer < at);
                let (_, written, _) = touched[writer].last().expect("an operation writes something");
                if all[writer].operation != part.operation && turned && region.meets(written) {
                    let (a, b) = (all[writer].operation, part.operation);
                    return Err(format!("law 1: operations {a} and {b} touch the same elements in another order"));
                }
            }
        }
    }
    Ok(())
}

/// What a part touches: the box of each access, and whether it is written; the last one is.
fn touched(whole: &Program, part: &Part) -> Vec<(TensorId, Region, bool)> {
    let mut all = Vec::new();
    for_each_access(&whole.operations[part.operation], |tensor, index, writes| {
        all.push((tensor, Region::of(index, &part.loops), writes));
    });
    all
}

/// Law 2, tensors.
fn check_tensors(whole: &Program, segment: &Segment) -> Result<(), String> {
    for (tensor, (id, place)) in segment.program.tensors.iter().zip(&segment.places) {
        let of = &whole.tensors[id.0];
        let inside = place.high.iter().zip(&of.shape).all(|(high, extent)| high <= extent);
        if !inside || tensor.shape != place.shape() || tensor.name != of.name || tensor.fraction != of.fraction {
            return Err(format!("law 2: `{}` is no box of the program's", tensor.name));
        }
        // Element by element, by index.
        let mut index = place.low.clone();
        for element in 0..tensor.shape.iter().product::<u32>() as usize {
            let at = index.iter().zip(&of.shape).fold(0, |at, (&n, &extent)| at * extent as usize + n as usize);
            let same = match (&tensor.role, &of.role) {
                (Role::Parameter(words), Role::Parameter(all)) => words[element] == all[at],
                (Role::Parameter(_), _) | (_, Role::Parameter(_)) => false,
                _ if tensor.columns.is_none() && of.columns.is_none() => break,
                _ => tensor.fraction_of(element) == of.fraction_of(at),
            };
            if !same {
                return Err(format!("law 2: element {element} of `{}` is not the program's", tensor.name));
            }
            for level in (0..index.len()).rev() {
                index[level] += 1;
                if index[level] < place.high[level] {
                    break;
                }
                index[level] = place.low[level];
            }
        }
    }
    Ok(())
}

/// Law 2, an operation.
fn check_operation(whole: &Program, segment: &Segment, part: &Part, operation: &Operation) -> Result<(), String> {
    let of = &whole.operations[part.operation];
    let extents = operation.iterators.iter().map(|iterator| (iterator.low, iterator.high));
    let meant = part.loops.iter().map(|range| (0, range.end - range.start));
    if !extents.eq(meant) || operation.free != of.free {
        return Err("law 2: its loops are not those of its part".to_owned());
    }
    let blank = |kind: &Kind| {
        kind.map(|operand| match operand {
            Operand::Read { .. } => None,
            Operand::Constant { word, fraction } => Some((*word, *fraction)),
        })
    };
    let table = |program: &Program, kind: &Kind| match kind {
        Kind::Function { table, .. } => {
            let mut table = program.tables[*table].clone();
            // Wherever it lies.
            table.usage.base = 0;
            Some(table)
        }
        _ => None,
    };
    let as_first = |kind: Kind<_>| match kind {
        Kind::Function { input, .. } => Kind::Function { table: 0, input },
        other => other,
    };
    if as_first(blank(&operation.kind)) != as_first(blank(&of.kind))
        || table(&segment.program, &operation.kind) != table(whole, &of.kind)
    {
        return Err("law 2: it computes something else".to_owned());
    }
    let (ours, theirs) = (accesses(operation), accesses(of));
    let same = |(ours, theirs): (&Access, &Access)| {
        let (whole_id, place) = &segment.places[ours.tensor.0];
        let forms = ours.index.iter().zip(&theirs.index).zip(&place.low);
        *whole_id == theirs.tensor
            && ours.writes == theirs.writes
            && ours.index.len() == theirs.index.len()
            // At the first point of the part, and with the same steps from there.
            && forms.into_iter().all(|((form, of), &low)| {
                let first: i64 = of.terms.iter().map(|(iterator, factor)| factor * part.loops[iterator.0].start).sum();
                form.terms == of.terms && form.offset + i64::from(low) == of.offset + first
            })
    };
    if ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same) {
        Ok(())
    } else {
        Err("law 2: it reads or writes other elements".to_owned())
    }
}

/// An access of an operation.
struct Access {
    tensor: TensorId,
    index: Vec<Affine>,
    writes: bool,
}

fn accesses(operation: &Operation) -> Vec<Access> {
    let mut all = Vec::new();
    for_each_access(operation, |tensor, index, writes| all.push(Access { tensor, index: index.to_vec(), writes }));
    all
}

/// Law 3.
fn check_streams(whole: &Program, segments: &[Segment], number: usize) -> Result<(), String> {
    let segment = &segments[number];
    let writes =
        |segment: &Segment, id: TensorId| segment.parts.iter().any(|part| whole.operations[part.operation].out == id);
    let reads = |segment: &Segment, id: TensorId, place: &Region| {
        let mut accesses = segment.parts.iter().flat_map(|part| touched(whole, part));
        accesses.any(|(tensor, region, writes)| !writes && tensor == id && region.meets(place))
    };
    for (tensor, &(id, ref place)) in segment.program.tensors.iter().zip(&segment.places) {
        let (of, here) = (&whole.tensors[id.0].role, writes(segment, id));
        let right = match &tensor.role {
            Role::Input => !here && (*of == Role::Input || segments[..number].iter().any(|other| writes(other, id))),
            Role::Output => here && matches!(of, Role::Output | Role::Temporary),
            Role::Temporary => {
                here && *of == Role::Temporary && !segments[number + 1..].iter().any(|other| reads(other, id, place))
            }
            Role::State => !here && *of == Role::State,
            Role::Parameter(_) => !here,
        };
        if !right {
            return Err(format!("law 3: `{}` is not there where it is read", tensor.name));
        }
    }
    Ok(())
}
