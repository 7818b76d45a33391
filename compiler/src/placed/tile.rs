//! Tiles: a batch that does not fit the data pads, as several steps of one program.
//!
//!     h[b] = sum[i](w[i] * x[b,i])             b in 0..T       in every tile
//!     s[i] = sum[b](d[b] * x[b,i])             b in 0..T       over all tiles: waits in the gradient pad at full width
//!     w[i] = w[i] - 0.3 * s[i]                                 in the last tile
//!
//! The samples of a batch are the first dimension of its inputs. What has such a dimension is a tile's own; sums over it are parked
//! ([`When::Over`]); what follows from them, and every weight, is written in the last tile ([`When::Last`]). Sums over a batch
//! start, end and are rounded as if it were one step, so no bit changes. What needs such a sum and gives one value per sample would
//! have to see the batch twice: that cannot be done.

use super::Piece;
use super::classes::Classes;
use crate::fixed::{Kind, Operation, Program, Role, for_each_access};
use crate::tensor::{Affine, TensorId};
use arch::Span;
use std::collections::BTreeSet;

/// When the results of an operation count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// In every tile.
    Every,
    /// In the last tile of a batch.
    Last,
    /// In the last tile, as a sum over all of them.
    Over,
}

/// Why a batch cannot be cut into tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Whole {
    /// In words that follow "the batch cannot be cut into tiles: ".
    pub(crate) why: String,
    /// Where.
    pub(crate) span: Span,
}

/// The classes of the samples' indices.
pub(crate) fn samples(program: &Program, classes: &Classes) -> BTreeSet<usize> {
    let inputs = program.tensors.iter().zip(&classes.tensors).filter(|(tensor, _)| tensor.role == Role::Input);
    inputs.filter_map(|(_, own)| own.first().copied()).collect()
}

/// Whether the results of each operation belong to a sample.
pub(crate) fn of_samples(program: &Program) -> Vec<bool> {
    let classes = Classes::of(program);
    let samples = samples(program, &classes);
    let operations = program.operations.iter().zip(&classes.iterators);
    operations.map(|(operation, own)| own[..operation.free].iter().any(|class| samples.contains(class))).collect()
}

/// Samples of a batch: the extent of the first dimension of all inputs.
pub(crate) fn batch(program: &Program) -> Option<u32> {
    let mut extents =
        program.tensors.iter().filter(|tensor| tensor.role == Role::Input).map(|tensor| tensor.shape.first().copied());
    let first = extents.next()??;
    (first > 1 && extents.all(|extent| extent == Some(first))).then_some(first)
}

/// When the results of each operation count, if steps are tiles.
///
/// # Errors
/// What needs all samples of a batch at once.
pub(crate) fn tiles(program: &Program) -> Result<Vec<When>, Whole> {
    let classes = Classes::of(program);
    let samples = samples(program, &classes);
    // Tensors that have their values in the last tile only.
    let mut late = vec![false; program.tensors.len()];
    let mut tiles = Vec::new();
    // What has been written, of weights in the last tile.
    let mut updated: Vec<(TensorId, Elements)> = Vec::new();
    for (operation, own) in program.operations.iter().zip(&classes.iterators) {
        let whole = |what: &str| {
            let why = format!("`{}` {what}", program.tensors[operation.out.0].name);
            Whole { why, span: operation.origin.span() }
        };
        let (free, summed) = own.split_at(operation.free);
        let of_samples = |classes: &[usize]| classes.iter().filter(|class| samples.contains(class)).count();
        let (free, summed) = (of_samples(free), of_samples(summed));
        let (mut reads_late, mut computed) = (false, false);
        for_each_access(operation, |tensor, index, written| {
            // A weight that has been changed elsewhere is still the one that it was.
            let changed = || {
                let read = elements(operation, index);
                updated.iter().any(|(changed, other)| *changed == tensor && meets(other, &read))
            };
            let state = program.tensors[tensor.0].role == Role::State;
            reads_late |= !written && if state { changed() } else { late[tensor.0] };
            // In a tile, samples count from 0.
            let of_sample = |form: &Affine| form.terms.iter().any(|term| samples.contains(&own[term.0.0]));
            computed |= index.iter().any(|form| form.as_iterator().is_none() && of_sample(form));
        });
        if computed {
            return Err(whole("computes an index from the number of a sample"));
        }
        if free + summed > 1 {
            return Err(whole("combines samples with each other"));
        }
        let sums = matches!(operation.kind, Kind::MultiplyAdd { .. });
        tiles.push(match (free, summed) {
            (1, _) if reads_late => return Err(whole("needs a result of the whole batch for each of its samples")),
            (1, _) => When::Every,
            (_, 1) if !sums => return Err(whole("is a product over the batch, which is rounded at every step")),
            (_, 1) if reads_late => return Err(whole("sums up what needs a result of the whole batch")),
            (_, 1) => When::Over,
            _ if reads_late || program.tensors[operation.out.0].role == Role::State => When::Last,
            _ => When::Every,
        });
        late[operation.out.0] |= tiles.last() != Some(&When::Every);
        updated.push((operation.out, elements(operation, &operation.out_index)));
    }
    Ok(tiles)
}

/// Ranges of indices, one for each dimension.
type Elements = Vec<(i64, i64)>;

/// The elements of an access, or more.
fn elements(operation: &Operation, index: &[Affine]) -> Elements {
    let range = |form: &Affine| match (form.as_iterator(), form.as_constant()) {
        (Some(iterator), _) => (operation.iterators[iterator.0].low, operation.iterators[iterator.0].high),
        (None, Some(at)) => (at, at + 1),
        (None, None) => (i64::MIN, i64::MAX),
    };
    index.iter().map(range).collect()
}

fn meets(one: &Elements, other: &Elements) -> bool {
    one.iter().zip(other).all(|(one, other)| one.0 < other.1 && other.0 < one.1)
}

/// Make the tiles of a program's batch, each with `size` samples.
///
/// # Errors
/// What needs all samples of a batch at once.
pub(crate) fn cut(program: &Program, size: u32) -> Result<super::Program, Whole> {
    tiles(program)?;
    let whole = batch(program).unwrap_or(size);
    let classes = Classes::of(program);
    let samples = samples(program, &classes);
    let mut result = program.clone();
    let mut pieces: Vec<Option<Piece>> = program.tensors.iter().map(Piece::whole).collect();
    for ((tensor, piece), own) in result.tensors.iter_mut().zip(&mut pieces).zip(&classes.tensors) {
        let dimension = own.iter().position(|class| samples.contains(class));
        if let Some(dimension) = dimension {
            let kept = matches!(tensor.role, Role::State | Role::Parameter(_));
            let once = own.iter().filter(|class| samples.contains(class)).count() == 1;
            if kept || !once || tensor.shape[dimension] != whole {
                let why = format!("`{}` has an index that runs over the samples and over something else", tensor.name);
                return Err(Whole { why, span: tensor.span });
            }
            tensor.shape[dimension] = size;
        }
        if let Some(piece) = piece {
            piece.samples = dimension;
        }
    }
    for (operation, own) in result.operations.iter_mut().zip(&classes.iterators) {
        for (iterator, _) in operation.iterators.iter_mut().zip(own).filter(|(_, class)| samples.contains(class)) {
            if (iterator.low, iterator.high) != (0, i64::from(whole)) {
                let why = format!("`{}` picks samples by their number", program.tensors[operation.out.0].name);
                return Err(Whole { why, span: operation.origin.span() });
            }
            iterator.high = i64::from(size);
        }
        numbered(program, &classes, &samples, operation)?;
    }
    crate::fixed::verify(&result);
    Ok(super::Program::local(result, pieces, Some(super::Tile { samples: size, count: whole / size })))
}

/// Refuse an operation that reads or writes a sample by its number.
fn numbered(
    program: &Program,
    classes: &Classes,
    samples: &BTreeSet<usize>,
    operation: &Operation,
) -> Result<(), Whole> {
    let mut found: Option<TensorId> = None;
    for_each_access(operation, |tensor, index, _| {
        let mut forms = index.iter().zip(&classes.tensors[tensor.0]);
        if forms.any(|(form, class)| samples.contains(class) && form.as_iterator().is_none()) {
            found = Some(tensor);
        }
    });
    found.map_or(Ok(()), |tensor| {
        let why = format!("a sample of `{}` is picked by its number", program.tensors[tensor.0].name);
        Err(Whole { why, span: operation.origin.span() })
    })
}

/// The sizes that tiles of a batch can have, largest first.
pub(crate) fn sizes(batch: u32) -> Vec<u32> {
    (1..batch).rev().filter(|&size| batch.is_multiple_of(size)).collect()
}

/// Words that the inputs take in each bank of a PE at least, however they lie: it is useless to try so many samples.
pub(crate) fn least_data(program: &Program, pes: u32) -> u64 {
    let inputs = program.tensors.iter().filter(|tensor| tensor.role == Role::Input);
    inputs.map(|tensor| tensor.shape.iter().map(|&n| u64::from(n)).product::<u64>().div_ceil(u64::from(pes))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed::{Finish, Operand, SumBound, Tensor};
    use crate::tensor::{Affine, IterId, Iterator};
    use arch::isa::Combine;

    fn tensor(name: &str, shape: &[u32], role: Role) -> Tensor {
        Tensor { name: name.to_owned(), shape: shape.to_vec(), role, fraction: 8, columns: None, span: Span::default() }
    }

    fn read(tensor: usize, index: &[usize]) -> Operand {
        let index = index.iter().map(|&i| Affine::iterator(IterId(i))).collect();
        Operand::Read { tensor: TensorId(tensor), index }
    }

    fn operation(extents: &[i64], free: usize, out: usize, index: &[usize], factors: [Operand; 2]) -> Operation {
        let iterator = |&high: &i64| Iterator { name: String::new(), low: 0, high };
        let [a, b] = factors;
        let product = Some((a, b));
        Operation {
            iterators: extents.iter().map(iterator).collect(),
            free,
            out: TensorId(out),
            out_index: index.iter().map(|&i| Affine::iterator(IterId(i))).collect(),
            kind: Kind::MultiplyAdd {
                start: None,
                align: 0,
                product,
                scale: 0,
                square: false,
                combine: Combine::Add,
                shift: 8,
                finish: Finish::Round,
                bound: SumBound::Formats,
            },
            origin: arch::Origin::default(),
        }
    }

    /// `h[b] = sum[i](w[i] * x[b,i]); s[i] = sum[b](h[b] * x[b,i]); w[i] = s[i] * c`, in batches of 6.
    fn program() -> Program {
        let tensors = vec![
            tensor("x", &[6, 3], Role::Input),
            tensor("w", &[3], Role::State),
            tensor("h", &[6], Role::Temporary),
            tensor("s", &[3], Role::Temporary),
            tensor("c", &[], Role::Parameter([1].into())),
        ];
        let operations = vec![
            operation(&[6, 3], 1, 2, &[0], [read(1, &[1]), read(0, &[0, 1])]),
            operation(&[3, 6], 1, 3, &[0], [read(2, &[1]), read(0, &[1, 0])]),
            operation(&[3], 1, 1, &[0], [read(3, &[0]), read(4, &[])]),
        ];
        Program { word: 16, accumulator: 48, tensors, operations, tables: Vec::new(), names: Vec::new() }
    }

    #[test]
    fn sums_over_the_samples_wait() {
        assert_eq!(batch(&program()), Some(6));
        assert_eq!(tiles(&program()), Ok(vec![When::Every, When::Over, When::Last]));
        let cut = cut(&program(), 2).expect("it can be cut");
        assert_eq!(cut.tile, Some(super::super::Tile { samples: 2, count: 3 }));
        let samples = |piece: &Option<Piece>| piece.as_ref().map(|piece| piece.samples);
        assert_eq!(
            cut.pieces.iter().map(samples).collect::<Vec<_>>(),
            [Some(Some(0)), Some(None), None, None, Some(None)]
        );
        assert_eq!(
            cut.fixed.tensors.iter().map(|t| t.shape.clone()).collect::<Vec<_>>(),
            [vec![2, 3], vec![3], vec![2], vec![3], vec![]]
        );
        assert_eq!(sizes(6), [3, 2, 1]);
    }

    /// `w[i] = w[i] + sum[b](h[b] * x[b,i])`, for the first two of three elements and for the last one.
    #[test]
    fn an_update_in_parts_can_be_cut_where_none_sees_another() {
        let in_parts = |low: i64| {
            let mut program = program();
            let mut sum = operation(&[3, 6], 1, 1, &[0], [read(2, &[1]), read(0, &[1, 0])]);
            if let Kind::MultiplyAdd { start, .. } = &mut sum.kind {
                *start = Some(read(1, &[0]));
            }
            let mut last = sum.clone();
            (sum.iterators[0].high, last.iterators[0].low) = (2, low);
            program.operations.splice(1.., [sum, last]);
            tiles(&program)
        };
        assert_eq!(in_parts(2), Ok(vec![When::Every, When::Over, When::Over]));
        let whole = in_parts(1).expect_err("element 1 would be changed twice");
        assert!(whole.why.contains("`w` sums up what needs a result of the whole batch"), "{}", whole.why);
    }

    #[test]
    fn what_would_see_the_batch_twice_is_refused() {
        let mut program = program();
        // Every sample is compared with the sum over all.
        program.tensors.push(tensor("d", &[6, 3], Role::Output));
        program.operations.push(operation(&[6, 3], 2, 5, &[0, 1], [read(0, &[0, 1]), read(3, &[1])]));
        let whole = tiles(&program).expect_err("it needs all samples");
        assert!(whole.why.contains("`d` needs a result of the whole batch"), "{}", whole.why);
    }
}
