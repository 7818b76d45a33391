//! Reads: how many elements of an input a program reads. What nothing reads need not come in.
//!
//!     y[i] = x[2 * i] + x[2 * i + 1], i in 0..4      x[0] to x[7]: 8
//!     y[i] = x[2 * i], i in 0..4                     x[0], x[2], x[4], x[6]: 4

use compiler::fixed::{Program, for_each_access};
use compiler::tensor::{Affine, Iterator, TensorId};

/// Elements of a tensor that operations read, each counted once.
pub(super) fn elements_read(program: &Program, id: TensorId) -> u64 {
    let shape = &program.tensors[id.0].shape;
    let elements = shape.iter().map(|&n| n as usize).product();
    let mut read = vec![false; elements];
    let mut all = false;
    for operation in &program.operations {
        for_each_access(operation, |tensor, index, written| {
            if tensor != id || written || all {
                return;
            }
            all = covers(index, shape, &operation.iterators);
            if !all {
                mark(&mut read, &address(index, shape), &operation.iterators);
            }
        });
    }
    if all { elements as u64 } else { read.into_iter().filter(|&read| read).count() as u64 }
}

/// Whether an access goes through all elements: each dimension has an iterator of its own, over its whole extent.
fn covers(index: &[Affine], shape: &[u32], iterators: &[Iterator]) -> bool {
    let mut used = Vec::new();
    index.iter().zip(shape).all(|(form, &extent)| {
        let Some(iterator) = form.as_iterator().filter(|iterator| !used.contains(iterator)) else {
            return extent == 1 && form.as_constant() == Some(0);
        };
        used.push(iterator);
        let Iterator { low, high, .. } = iterators[iterator.0];
        (low, high) == (0, i64::from(extent))
    }) && iterators.iter().all(|iterator| iterator.extent() > 0)
}

/// The row-major number of the element at an index.
fn address(index: &[Affine], shape: &[u32]) -> Affine {
    let number = |number: Affine, (form, &extent): (&Affine, &u32)| {
        Affine::constant(0).plus(i64::from(extent), &number).plus(1, form)
    };
    index.iter().zip(shape).fold(Affine::constant(0), number)
}

/// Mark the elements at all points, iterator by iterator: from the smallest address on, each adds multiples of its stride.
fn mark(read: &mut [bool], address: &Affine, iterators: &[Iterator]) {
    if iterators.iter().any(|iterator| iterator.extent() == 0) {
        return;
    }
    let (lowest, _) = address.range(iterators);
    let mut reached = vec![lowest as usize];
    for &(iterator, stride) in &address.terms {
        let steps = 0..iterators[iterator.0].extent() as usize;
        let stride = stride.unsigned_abs() as usize;
        let next = reached.iter().flat_map(|&at| steps.clone().map(move |step| at + step * stride));
        reached = next.collect();
        reached.sort_unstable();
        reached.dedup();
    }
    for at in reached {
        read[at] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of `x` that one operation reads.
    fn read(shape: &str, out: &str, operation: &str) -> u64 {
        let text =
            format!("word 16\naccumulator 48\ninput x{shape}: q8\ninput z: q8\noutput y{out}: q8\n{operation}\n");
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        elements_read(&program, TensorId(0))
    }

    #[test]
    fn each_element_is_counted_once() {
        // All of them, in order, transposed, and twice.
        assert_eq!(read("[6]", "[6]", "y[i] = round(x[i])  for i in 0..6"), 6);
        assert_eq!(read("[2][3]", "[3][2]", "y[i][j] = round(x[j][i])  for i in 0..3, j in 0..2"), 6);
        assert_eq!(read("[6]", "[6]", "y[i] = round(+ x[i] * x[i]) >> 8  for i in 0..6"), 6);
        // A part, every other one, backwards, one by its number, none.
        assert_eq!(read("[6]", "[4]", "y[i] = round(x[i + 1])  for i in 0..4"), 4);
        assert_eq!(read("[8]", "[4]", "y[i] = round(x[2*i])  for i in 0..4"), 4);
        assert_eq!(read("[8]", "[3]", "y[i] = round(x[7 - 2*i])  for i in 0..3"), 3);
        assert_eq!(read("[8]", "[4]", "y[i] = round(x[5])  for i in 0..4"), 1);
        assert_eq!(read("[8]", "[4]", "y[i] = round(z)  for i in 0..4"), 0);
        // A window: 0 to 5 of 8. A diagonal. Two of three rows.
        assert_eq!(read("[8]", "[4]", "y[i] = round(+ x[i + k] * 1:q0)  for i in 0..4  over k in 0..3"), 6);
        assert_eq!(read("[4][4]", "[4]", "y[i] = round(x[i][i])  for i in 0..4"), 4);
        assert_eq!(read("[3][4]", "[2][4]", "y[i][j] = round(x[2*i][j])  for i in 0..2, j in 0..4"), 8);
    }
}
