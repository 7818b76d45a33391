//! Values that are overwritten before anybody reads them.

use super::each_point;
use crate::canonical::expr::reads;
use crate::tensor::{Nest, Program};

/// Elements of a tensor that are looked at one by one.
const LARGEST: u64 = 1 << 22;

/// Remove assignments all of whose elements are written again before the tensor is read: the zeros of a contraction that turns out to
/// write every element.
///
///     o[p] = 0;   o[4*i + j] = x[i][j]      =>      o[4*i + j] = x[i][j]
pub fn remove_overwritten(program: &Program) -> Program {
    let mut result = program.clone();
    let mut number = 0;
    while number < result.nests.len() {
        if is_overwritten(&result, number) {
            result.nests.remove(number);
        } else {
            number += 1;
        }
    }
    result
}

fn is_overwritten(program: &Program, number: usize) -> bool {
    let nest = &program.nests[number];
    let shape = &program.tensors[nest.out.0].shape;
    let elements: u64 = shape.iter().map(|&extent| u64::from(extent)).product();
    let others = program.nests[number + 1..].iter().any(|later| later.out == nest.out);
    if !others || elements > LARGEST {
        return false;
    }
    let mut pending = vec![false; elements as usize];
    each_written(nest, shape, |place| pending[place] = true);
    let mut left = pending.iter().filter(|&&pending| pending).count();
    for later in &program.nests[number + 1..] {
        if reads(later).contains(&nest.out) {
            return false;
        }
        if later.out == nest.out && later.guards.is_empty() {
            each_written(later, shape, |place| left -= usize::from(std::mem::take(&mut pending[place])));
            if left == 0 {
                return true;
            }
        }
    }
    false
}

/// Call `visit` with the place of every element that a nest writes.
fn each_written(nest: &Nest, shape: &[u32], mut visit: impl FnMut(usize)) {
    each_point(&nest.iterators[..nest.free], |point| {
        let place = nest.out_index.iter().zip(shape);
        visit(place.fold(0, |place, (form, &extent)| place * extent as usize + form.at(point) as usize));
    });
}
