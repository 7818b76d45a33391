//! Extents that two shapes of equally many elements have in common, for reshaping without computed indices.

use crate::expression::it;
use compiler::tensor::Affine;

/// Extents that make two shapes of equally many elements, and the indices in both; nothing if no such extents exist.
pub(crate) fn common(from: &[i64], to: &[i64]) -> Option<(Vec<i64>, Vec<Affine>, Vec<Affine>)> {
    let (mut extents, mut left, mut right) = (Vec::new(), vec![Vec::new(); from.len()], vec![Vec::new(); to.len()]);
    let (mut i, mut j) = (0, 0);
    let (mut a, mut b) = (1, 1);
    loop {
        while a == 1 && i < from.len() {
            a = from[i];
            i += 1;
        }
        while b == 1 && j < to.len() {
            b = to[j];
            j += 1;
        }
        if a == 1 && b == 1 {
            break;
        }
        let own = inner(a, b)?;
        // The innermost factor is taken last: these lists go from the outside in.
        extents.push(own);
        left[i - 1].push(extents.len() - 1);
        right[j - 1].push(extents.len() - 1);
        (a, b) = (a / own, b / own);
    }
    let forms = |lists: &[Vec<usize>]| -> Vec<Affine> {
        let form = |list: &Vec<usize>| {
            list.iter().fold(Affine::default(), |form, &n| Affine::default().plus(extents[n], &form).plus(1, &it(n)))
        };
        lists.iter().map(form).collect()
    };
    Some((extents.clone(), forms(&left), forms(&right)))
}

/// The outermost factor that two extents have in common, if one divides the other.
fn inner(a: i64, b: i64) -> Option<i64> {
    let (small, large) = (a.min(b), a.max(b));
    (small > 1 && large % small == 0).then_some(small)
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::tensor::IterId;

    #[test]
    fn shapes_are_made_of_common_extents() {
        let (extents, from, to) = common(&[4, 6], &[2, 12]).unwrap();
        assert_eq!(extents, [2, 2, 6]);
        assert_eq!(from, [Affine { offset: 0, terms: vec![(IterId(0), 2), (IterId(1), 1)] }, it(2)]);
        assert_eq!(to, [it(0), Affine { offset: 0, terms: vec![(IterId(1), 6), (IterId(2), 1)] }]);
        assert_eq!(common(&[2, 3], &[3, 2]), None);
        assert_eq!(common(&[1, 5, 1], &[5]).unwrap().0, [5]);
    }
}
