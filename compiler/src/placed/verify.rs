//! The laws of a placed program, checked.

use super::axis::Axis;
use super::legal::starts;
use super::reshard::{self, Reshard};
use super::{Program, padding, tile};
use crate::fixed::{self, Operation, Role, for_each_access};
use crate::laws::{Check, Entity, Fault, Laws, Report, Stage, ensure, law, stop_at};
use crate::tensor::{Affine, IterId};
use arch::machine::Machine;

/// Check the laws of the module head.
///
/// # Panics
/// When a law is broken: that is a bug of ours, never the user's.
pub fn verify(program: &Program, machine: &Machine) {
    stop_at(laws(program, machine), || program.to_string());
}

/// The laws that are broken.
///
/// # Errors
/// If there are any.
pub fn laws(program: &Program, machine: &Machine) -> Laws {
    let Program { fixed, tensors, iterators, .. } = program;
    let mut report = Report::including(Stage::Placed, fixed::laws(fixed));
    report.of_program(verify_counts(program));
    if !report.is_clean() {
        return report.laws();
    }
    for (number, (tensor, axes)) in fixed.tensors.iter().zip(tensors).enumerate() {
        let ranks = ensure(axes.len() == tensor.shape.len(), 1, || "each dimension has an axis".into());
        report.of(Entity::Tensor(number), || tensor.name.clone(), ranks.and_then(|()| agree(axes)));
    }
    for (number, (operation, axes)) in fixed.operations.iter().zip(iterators).enumerate() {
        let ranks = ensure(axes.len() == operation.iterators.len(), 1, || "each iterator has an axis".into());
        let check = ranks.and_then(|()| agree(axes)).and_then(|()| verify_operation(program, operation, axes, machine));
        report.of(Entity::Operation(number), || fixed.line(operation), check);
    }
    if report.is_clean() {
        report.of_program(ensure(padding::is_harmless(fixed, tensors, iterators, machine), 5, || {
            "the padding of a tall index is computed with, and holds more than zeros".into()
        }));
    }
    for (number, tensor) in fixed.tensors.iter().enumerate() {
        report.of(Entity::Tensor(number), || tensor.name.clone(), verify_piece(program, number));
    }
    report.of_program(verify_tiles(program));
    report.laws()
}

/// Law 1.
fn verify_counts(program: &Program) -> Check {
    let Program { fixed, tensors, iterators, pieces, .. } = program;
    let counts = (tensors.len(), iterators.len(), pieces.len());
    law!(1, counts == (fixed.tensors.len(), fixed.operations.len(), fixed.tensors.len()), "everything has a place");
    Ok(())
}

/// Law 2.
fn agree(axes: &[Axis]) -> Check {
    for (n, one) in axes.iter().enumerate() {
        for other in &axes[n + 1..] {
            law!(2, one.agrees_with(*other), "one index on {one}, another on {other}");
        }
    }
    Ok(())
}

/// Laws 3 to 6.
fn verify_operation(program: &Program, operation: &Operation, axes: &[Axis], machine: &Machine) -> Check {
    let mut accesses = Vec::new();
    for_each_access(operation, |tensor, index, written| accesses.push((tensor, index.to_vec(), written)));
    for (tensor, index, written) in accesses {
        let read = &program.fixed.tensors[tensor.0].name;
        for (form, &axis) in index.iter().zip(&program.tensors[tensor.0]) {
            if let Some(iterator) = form.as_iterator() {
                let same = written || axes[iterator.0] == axis;
                law!(3, same, "{read} on {axis}, its iterator on {}", axes[iterator.0]);
            } else if form.as_constant().is_none() {
                let local = axis == Axis::Local && form.terms.iter().all(|term| axes[term.0.0] == Axis::Local);
                law!(3, local, "a computed index of {read} has left the PE");
            }
        }
    }
    let reshard = Reshard::of(operation, axes, &program.tensors[operation.out.0], machine);
    law!(4, reshard.is_ok(), "the bus cannot take its results to where they lie");
    let reshard = reshard.ok().flatten();
    let masks = reshard::masks_exist(&program.fixed, operation, axes, reshard);
    law!(5, masks.is_met(operation, machine), "no mask holds a tall iterator to its elements");
    let stays = (0..axes.len()).all(|i| axes[i] == Axis::Local || !starts::stays_inside(operation, i));
    law!(6, stays, "the trees cannot do this sum");
    Ok(())
}

/// Law 7.
fn verify_piece(program: &Program, number: usize) -> Check {
    let tensor = &program.fixed.tensors[number];
    let Some(piece) = &program.pieces[number] else {
        law!(7, tensor.role == Role::Temporary, "{} is streamed, and a piece of nothing", tensor.name);
        return Ok(());
    };
    let name = &tensor.name;
    law!(7, tensor.role != Role::Temporary, "the temporary {name} is a piece");
    law!(7, piece.index.len() == piece.shape.len(), "{name}: an index for each dimension of {}", piece.name);
    for &dimension in &piece.turned {
        let own = |form: &Affine| *form == Affine { offset: 1, ..Affine::iterator(IterId(dimension)) };
        let of = piece.index.iter().position(own);
        let all = of.is_some_and(|whole| tensor.shape.get(dimension) == Some(&piece.shape[whole]));
        law!(7, all, "{name}: dimension {dimension} is turned, and not all of one of {}", piece.name);
    }
    for (d, (form, &extent)) in piece.index.iter().zip(&piece.shape).enumerate() {
        if form.terms.iter().any(|term| piece.turned.contains(&term.0.0)) {
            continue;
        }
        let tile = program.tile.filter(|_| piece.samples == Some(d));
        let extent = tile.map_or(extent, |tile| tile.samples);
        let inside = |(low, high): (i64, i64)| low >= 0 && high < i64::from(extent);
        // What no operation reads of a window may lie outside: it is padding.
        let padded = || tensor.role == Role::Input && reads_of(program, number, form).is_none_or(inside);
        let right = inside(reach(form, &tensor.shape)) || padded();
        law!(7, right, "{name}: outside {}", piece.name);
    }
    Ok(())
}

/// The smallest and the largest value of a form over the dimensions of a tensor at what is read of the tensor. What is computed of it element by
/// element is read where that is read.
fn reads_of(program: &Program, number: usize, form: &Affine) -> Option<(i64, i64)> {
    let mut all: Option<(i64, i64)> = None;
    for operation in &program.fixed.operations {
        for_each_access(operation, |tensor, index, written| {
            if tensor.0 == number && !written {
                let at =
                    |sum: Affine, &(dimension, coefficient): &(IterId, i64)| sum.plus(coefficient, &index[dimension.0]);
                let read = form.terms.iter().fold(Affine::constant(form.offset), at);
                let range = match of_map(program, operation, &read) {
                    Some(further) => reads_of(program, operation.out.0, &further),
                    None => Some(read.range(&operation.iterators)),
                };
                let both = |(low, high): (i64, i64), (least, most): (i64, i64)| (least.min(low), most.max(high));
                all = all.into_iter().chain(range).reduce(both);
            }
        });
    }
    all
}

/// A form over the iterators of an operation as one over the dimensions of its result, if that is a temporary with an element for each point.
fn of_map(program: &Program, operation: &fixed::Operation, form: &Affine) -> Option<Affine> {
    let temporary = program.fixed.tensors[operation.out.0].role == Role::Temporary;
    let place = |iterator: IterId| operation.out_index.iter().position(|form| form.as_iterator() == Some(iterator));
    let alone = program.fixed.operations.iter().filter(|other| other.out == operation.out).count() == 1;
    let plain = temporary && alone && operation.free == operation.iterators.len();
    let terms = form.terms.iter().map(|&(iterator, coefficient)| Some((IterId(place(iterator)?), coefficient)));
    let terms = terms.collect::<Option<_>>().filter(|_| plain)?;
    Some(Affine { offset: form.offset, terms })
}

/// The smallest and the largest value of a form over the elements of a box.
fn reach(form: &Affine, shape: &[u32]) -> (i64, i64) {
    form.terms.iter().fold((form.offset, form.offset), |(low, high), &(dimension, coefficient)| {
        let last = coefficient * (i64::from(shape[dimension.0]) - 1);
        (low + last.min(0), high + last.max(0))
    })
}

/// Law 8.
fn verify_tiles(program: &Program) -> Check {
    let Some(tile) = program.tile else {
        let samples = program.pieces.iter().flatten().find(|piece| piece.samples.is_some());
        law!(8, samples.is_none(), "a piece of some samples where a step has all");
        return Ok(());
    };
    for piece in program.pieces.iter().flatten() {
        let Some(dimension) = piece.samples else { continue };
        law!(8, piece.shape[dimension] == tile.samples * tile.count, "{}: samples of a batch", piece.name);
    }
    if let Err(whole) = tile::tiles(&program.fixed) {
        return Err(Fault { law: 8, why: format!("a step is a tile, but {}", whole.why) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Program, laws, verify};
    use crate::laws::{Laws, first};
    use crate::text::changed;
    use arch::machine::{Machine, MachineSpec};

    const SUM: &str = "placed
tensor %0 on [grid] of x [6] at [d0]
tensor %1 on [grid] of w [6] at [d0]
tensor %2 on []
tensor %3 on [] of y [] at []
operation %0 on [grid]
operation %1 on [grid]
word 16
accumulator 48
input x[6]: q8
state w[6]: q8
temporary h: q8
input y: q8

h = round(+ w[i] * x[i]) >> 8  over i in 0..6
w[i] = round(w[i] << 8 - h * x[i]) >> 8  for i in 0..6
";

    const SIGN: &str = "placed
tensor %0 on [local] of x [6] at [d0]
tensor %1 on []
operation %0 on [local]
word 16
accumulator 48
input x[6]: q8
temporary h: q0

h = negative(+ x[i] * x[i])  over i in 0..6
";

    const INSIDE: &str = "placed
tensor %0 on [local] of x [8] at [d0]
tensor %1 on [row, column] of w [6, 3] at [d0, d1]
tensor %2 on [local] of o [6] at [d0]
operation %0 on [local, local]
operation %1 on [row, column]
word 16
accumulator 48
input x[8]: q8
state w[6][3]: q8
output o[6]: q8

o[i] = round(+ x[i + k] * 256:q8) >> 8  for i in 0..6  over k in 0..3
w[i][k] = round(w[i][k] << 1) >> 1  for i in 0..6, k in 0..3
";

    const TILES: &str = "placed
tile 3 samples, 2 tiles
tensor %0 on [local, local] of x [6, 5] at [d0, d1] samples 0
tensor %1 on [local] of w [5] at [d0]
tensor %2 on [local]
tensor %3 on [local]
operation %0 on [local, local]
operation %1 on [local, local]
operation %2 on [local]
word 16
accumulator 48
input x[3][5]: q8
state w[5]: q8
temporary h[3]: q8
temporary s[5]: q8

h[b] = round(+ w[i] * x[b][i]) >> 8  for b in 0..3  over i in 0..5
s[i] = round(+ h[b] * x[b][i]) >> 8  for i in 0..5  over b in 0..3
w[i] = round(w[i] << 8 - s[i] * 128:q8) >> 8  for i in 0..5
";

    fn machine() -> Machine {
        Machine::try_from(MachineSpec { pus: Some(2), pes_per_pu: Some(2), ..MachineSpec::default() })
            .expect("a machine")
    }

    fn of(text: &str, from: &str, to: &str) -> Laws {
        laws(&changed(text, from, to), &machine())
    }

    #[test]
    fn every_law_is_checked() {
        for right in [SUM, SIGN, INSIDE, TILES] {
            assert_eq!(laws(&right.parse().expect("a good text"), &machine()), Ok(()));
        }
        for (law, text, from, to) in [
            (8, SUM, "for i in 0..6", "for i in 0..7"),
            (1, SUM, "operation %1 on [grid]\n", ""),
            (1, SUM, "tensor %0 on [grid]", "tensor %0 on [grid, local]"),
            (1, SUM, "operation %0 on [grid]", "operation %0 on [grid, local]"),
            (2, INSIDE, "tensor %1 on [row, column]", "tensor %1 on [row, grid]"),
            (2, INSIDE, "operation %1 on [row, column]", "operation %1 on [grid, column]"),
            (3, SUM, "tensor %1 on [grid]", "tensor %1 on [row]"),
            (3, INSIDE, "tensor %0 on [local]", "tensor %0 on [grid]"),
            (3, INSIDE, "operation %0 on [local, local]", "operation %0 on [row, local]"),
            (4, INSIDE, "tensor %2 on [local]", "tensor %2 on [grid]"),
            (
                6,
                &SIGN.replace("tensor %0 on [local]", "tensor %0 on [grid]"),
                "operation %0 on [local]",
                "operation %0 on [grid]",
            ),
            (6, SUM, "h = round(+ w[i] * x[i]) >> 8", "h = product(x[i]) >> 8 from 256"),
            (7, SUM, " of w [6] at [d0]", ""),
            (7, SUM, "tensor %2 on []", "tensor %2 on [] of h [] at []"),
            (7, SUM, "of x [6] at [d0]", "of x [6] at [d0, d0]"),
            (7, SUM, "of x [6] at [d0]", "of x [5] at [d0]"),
            (7, SUM, "of w [6] at [d0]", "of w [6] at [d0 - 1]"),
            (7, SUM, "of w [6] at [d0]", "of w [6] at [d0] turned [0]"),
            (8, SUM, "of x [6] at [d0]", "of x [6] at [d0] samples 0"),
            (8, TILES, "2 tiles", "3 tiles"),
            (8, TILES, "round(+ h[b] * x[b][i]) >> 8", "product(x[b][i]) >> 8 from 256"),
        ] {
            assert_eq!(first(of(text, from, to)).0, law, "{to}");
        }
        // The trees compare a start with what they find; one that is added lies in the first PE.
        assert_eq!(of(SUM, "round(+ w", "round(y << 8 max w"), Ok(()));
        assert_eq!(of(SUM, "round(+ w", "round(y << 8 + w"), Ok(()));
    }

    /// Where the elements of an output lie in the whole tensor, and how many that has.
    #[test]
    fn a_piece_is_inside_its_tensor() {
        let whole = |extent: u32, index: &str| of(INSIDE, "of o [6] at [d0]", &format!("of o [{extent}] at [{index}]"));
        for (right, extent, index) in [
            (true, 6, "d0"),
            (false, 5, "d0"),
            (true, 11, "2*d0"),
            (false, 10, "2*d0"),
            (true, 7, "d0 + 1"),
            (false, 6, "d0 + 1"),
            (true, 6, "5 - d0"),
            (false, 6, "4 - d0"),
            (false, 5, "5 - d0"),
        ] {
            let found = whole(extent, index);
            assert_eq!(found.is_ok(), right, "{extent} at {index}: {found:?}");
        }
    }

    /// Blocks of an input reach beyond its end, with what no operation reads.
    #[test]
    fn a_window_is_padded_where_nobody_reads() {
        let window = |extent: u32| {
            let text = "placed
tensor %0 on [local, local] of x [9] at [4*d0 + d1 + 1]
tensor %1 on [local, local] of o [4] at [2*d0 + d1]
tensor %2 on [local, local] of v [2, 9] at [d0, d1]
operation %0 on [local, local, local]
operation %1 on [local, local]
word 16
accumulator 48
input x.in[2][4]: q8
output o[2][2]: q8
state v[2][9]: q8

o[i#0][i#1] = round(+ x.in[i#0][2*i#1 + k] * 256:q8) >> 8  for i#0 in 0..2, i#1 in 0..2  over k in 0..1
v[j#0][j#1] = round(v[j#0][j#1] << 1) >> 1  for j#0 in 0..2, j#1 in 0..9
";
            of(text, "x [9]", &format!("x [{extent}]"))
        };
        assert_eq!((window(9), window(8)), (Ok(()), Ok(())));
        let broken = window(7).expect_err("element 7 is read");
        assert_eq!((broken[0].law, broken[0].text.as_str()), (7, "x.in"));
    }

    #[test]
    #[should_panic(expected = "law 3 of the placed program")]
    fn a_bug_stops_the_compiler() {
        verify(&changed::<Program>(SUM, "tensor %1 on [grid]", "tensor %1 on [row]"), &machine());
    }
}
