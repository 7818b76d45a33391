//! Channels of a computed tensor, each with its own power of two: rows of constant weights that differ in size keep their bits.
//!
//!     h[o] = b[o] + sum[i](w[o][i] * x[i]);  r[o] = max(h[o], 0);  y[p] = sum[o](v[p][o] * r[o])         w, b, v constant
//!     =>  w[o][i] * 2^e[o], b[o] * 2^e[o], v[p][o] * 2^-e[o]
//!
//! As of columns of an input ([`super::columns`]), on real numbers nothing changes and no operation is added: the constants of the program
//! give and take the powers. They bring rows of `w` and columns of `v` to sizes that differ less, and no channel beyond the largest one.

use super::columns::{APART, MOST, Powered, ROOM, Scaling, fold_sizes, merge};
use crate::canonical::primitive::{Atom, Primitive};
use crate::ranges::Ranges;
use crate::tensor::{IterId, Nest, Program, Role, TensorId};

/// Powers below this are not worth other words.
const LEAST: i32 = 2;

/// The program with powers of two in its constants; `None` where no channels have any. Tensors with a `given` binary point keep their values.
pub(super) fn scaled(program: &Program, ranges: &Ranges, given: impl Fn(&str) -> bool) -> Option<Powered> {
    let mut found: Option<Powered> = None;
    for number in 0..program.nests.len() {
        let (program, ranges) = found.as_ref().map_or((program, ranges), |(program, ranges, _)| (program, ranges));
        if let Some(better) = channels(program, ranges, number)
            && !better.changed(program).any(&given)
        {
            let (program, ranges, mut columns) = better.finish();
            merge(&mut columns, found.map(|(_, _, columns)| columns).unwrap_or_default());
            found = Some((program, ranges, columns));
        }
    }
    found
}

/// Computed tensors whose elements decide about channels: all, if rows of some constant differ in size.
pub fn with_channels(program: &Program) -> Vec<TensorId> {
    let any = program.nests.iter().any(|nest| weights(program, nest).is_some());
    let computed = (0..program.tensors.len()).filter(|&id| program.tensors[id].role.is_computed());
    if any { computed.map(TensorId).collect() } else { Vec::new() }
}

/// Constant weights of a product, with the free iterator that counts their rows and the sizes of these.
fn weights(program: &Program, nest: &Nest) -> Option<(Atom, IterId, Vec<f64>)> {
    let Some(Primitive::MultiplyAdd {
        product: Some((a, b)),
        square: false,
        combine,
        negative: false,
        whole: false,
        ..
    }) = Primitive::of(nest)
    else {
        return None;
    };
    if combine.compares() {
        return None;
    }
    [a, b].into_iter().find_map(|atom| {
        let Atom::Read(tensor, index) = &atom else { return None };
        let Role::Parameter(values) = &program.tensors[tensor.0].role else { return None };
        let shape = &program.tensors[tensor.0].shape;
        let (iterator, sizes) = index.iter().enumerate().find_map(|(dimension, form)| {
            let iterator = form.as_iterator().filter(|iterator| iterator.0 < nest.free)?;
            let is_shown = nest.out_index.iter().any(|form| form.as_iterator() == Some(iterator));
            let sizes = fold_sizes(shape, dimension, values.iter().map(|value| value.abs()));
            (is_shown && apart(&sizes) >= f64::from(APART)).then_some((iterator, sizes))
        })?;
        Some((atom, iterator, sizes))
    })
}

/// Powers of two between the largest and the smallest size.
fn apart(sizes: &[f64]) -> f64 {
    let some = || sizes.iter().copied().filter(|&size| size > 0.0);
    let (least, most) = (some().fold(f64::INFINITY, f64::min), some().fold(0.0, f64::max));
    if most > 0.0 { libm::log2(most / least) } else { 0.0 }
}

/// The program with powers of two for the channels of what a nest computes.
fn channels(program: &Program, ranges: &Ranges, number: usize) -> Option<Scaling> {
    let (weights, iterator, rows) = weights(program, &program.nests[number])?;
    let out = program.nests[number].out;
    if program.nests[..number].iter().any(|nest| nest.out == out) {
        return None;
    }
    let with = |more: Vec<i32>| Scaling::of_channels(program, ranges, number, &weights, (iterator, more));
    // First without powers: who takes them in, and how large the channels are on the way.
    let probe = with(vec![0; rows.len()])?;
    let columns = probe.taken_in()?;
    let wish = |channel: usize| {
        let (row, column) = (rows[channel], *columns.get(channel)?);
        (row > 0.0 && column > 0.0).then(|| 0.5 * libm::log2(column / row))
    };
    let wishes: Vec<Option<f64>> = (0..rows.len()).map(wish).collect();
    let least = wishes.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let room = probe.room();
    let more = |(wish, room): (&Option<f64>, &i32)| {
        wish.map_or(0, |wish| (libm::floor(wish - least) as i32).min(room - ROOM).clamp(0, MOST))
    };
    let more: Vec<i32> = wishes.iter().zip(&room).map(more).collect();
    if more.iter().all(|&more| more < LEAST) {
        return None;
    }
    with(more)
}
