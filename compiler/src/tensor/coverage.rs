//! The elements of a tensor that have a value so far.
//!
//! ```text
//! a[q] = ...;    q: 1..4           . # # #
//! a[0] = 1;                        # # # #   complete
//! ```
//!
//! A list of boxes, which neighbours join; a bit per element once there are too many, or when a diagonal (`a[i][i]`) is written.

/// The elements that one subscripted variable touches, over all values of its iterators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    /// Half-open range per dimension.
    pub(crate) ranges: Vec<(i64, i64)>,
    /// For each dimension, the first dimension with the same iterator, itself if none.
    pub(crate) tied: Vec<usize>,
}

impl Region {
    /// All elements of a shape.
    pub(crate) fn whole(shape: &[u32]) -> Region {
        let ranges = shape.iter().map(|&extent| (0, i64::from(extent))).collect();
        Region { ranges, tied: (0..shape.len()).collect() }
    }

    /// Whether no two dimensions are tied.
    pub(crate) fn is_box(&self) -> bool {
        self.tied.iter().enumerate().all(|(dimension, &first)| dimension == first)
    }

    /// Whether an element may belong to both.
    pub(crate) fn touches(&self, other: &Region) -> bool {
        self.ranges.iter().zip(&other.ranges).all(|(a, b)| a.0 < b.1 && b.0 < a.1)
    }

    /// Call `visit` for every element until it returns false.
    fn each_point(&self, visit: &mut impl FnMut(&[i64]) -> bool) {
        let mut point: Vec<i64> = self.ranges.iter().map(|range| range.0).collect();
        loop {
            if !visit(&point) {
                return;
            }
            let mut dimension = point.len();
            loop {
                if dimension == 0 {
                    return;
                }
                dimension -= 1;
                if self.tied[dimension] != dimension {
                    continue;
                }
                point[dimension] += 1;
                if point[dimension] < self.ranges[dimension].1 {
                    break;
                }
                point[dimension] = self.ranges[dimension].0;
            }
            for dimension in 0..point.len() {
                point[dimension] = point[self.tied[dimension]];
            }
        }
    }
}

/// Boxes beyond which a bit per element is cheaper.
const MOST_BOXES: usize = 16;

/// A half-open range per dimension.
pub(crate) type Ranges = Vec<(i64, i64)>;

/// The elements that have a value.
#[derive(Debug, Clone)]
pub(crate) struct Coverage {
    shape: Vec<u32>,
    known: Known,
}

#[derive(Debug, Clone)]
enum Known {
    All,
    Boxes(Vec<Ranges>),
    Bits(Vec<bool>),
}

impl Coverage {
    /// No element.
    pub(crate) fn none(shape: &[u32]) -> Coverage {
        Coverage { shape: shape.to_vec(), known: Known::Boxes(Vec::new()) }
    }

    /// Every element.
    pub(crate) fn all(shape: &[u32]) -> Coverage {
        Coverage { shape: shape.to_vec(), known: Known::All }
    }

    /// Whether every element has a value.
    #[cfg(test)]
    fn is_complete(&self) -> bool {
        matches!(self.known, Known::All)
    }

    /// The elements of `region` now have a value.
    pub(crate) fn add(&mut self, region: &Region) {
        if let Known::Boxes(boxes) = &mut self.known {
            if region.is_box() && boxes.len() < MOST_BOXES {
                insert(boxes, region.ranges.clone());
            } else {
                self.make_bits();
            }
        }
        if let Known::Bits(bits) = &mut self.known {
            let shape = &self.shape;
            region.each_point(&mut |point| {
                bits[position(shape, point)] = true;
                true
            });
        }
        if self.missing(&Region::whole(&self.shape)).is_none() {
            self.known = Known::All;
        }
    }

    /// The first element of `region` without a value.
    pub(crate) fn missing(&self, region: &Region) -> Option<Vec<i64>> {
        match &self.known {
            Known::All => None,
            Known::Boxes(boxes) if region.is_box() => {
                let mut rest = vec![region.ranges.clone()];
                for known in boxes {
                    rest = rest.iter().flat_map(|piece| subtract(piece, known)).collect();
                }
                rest.into_iter().map(|piece| piece.iter().map(|range| range.0).collect()).min()
            }
            Known::Boxes(boxes) => first_point(region, |point| boxes.iter().any(|known| holds(known, point))),
            Known::Bits(bits) => first_point(region, |point| bits[position(&self.shape, point)]),
        }
    }

    /// Whether an element of `region` may have a value.
    pub(crate) fn touches(&self, region: &Region) -> bool {
        self.boxes().iter().any(|known| known.iter().zip(&region.ranges).all(|(a, b)| a.0 < b.1 && b.0 < a.1))
    }

    /// Whether all elements with a value lie between the smallest and the largest index of `region`.
    pub(crate) fn lies_in(&self, region: &Region) -> bool {
        self.boxes().iter().all(|known| known.iter().zip(&region.ranges).all(|(a, b)| b.0 <= a.0 && a.1 <= b.1))
    }

    /// The elements with a value, as boxes without common elements.
    pub(crate) fn boxes(&self) -> Vec<Ranges> {
        match &self.known {
            Known::All => vec![Region::whole(&self.shape).ranges],
            Known::Boxes(boxes) => {
                let mut apart: Vec<Ranges> = Vec::new();
                for known in boxes {
                    let mut rest = vec![known.clone()];
                    for earlier in &apart {
                        rest = rest.iter().flat_map(|piece| subtract(piece, earlier)).collect();
                    }
                    apart.extend(rest);
                }
                apart
            }
            Known::Bits(bits) => runs(&self.shape, bits),
        }
    }

    fn make_bits(&mut self) {
        let Known::Boxes(boxes) = &self.known else { return };
        let elements = self.shape.iter().map(|&extent| extent as usize).product();
        let mut bits = vec![false; elements];
        for known in boxes {
            let region = Region { ranges: known.clone(), tied: (0..known.len()).collect() };
            region.each_point(&mut |point| {
                bits[position(&self.shape, point)] = true;
                true
            });
        }
        self.known = Known::Bits(bits);
    }
}

/// Neighbours in the last dimension as boxes.
fn runs(shape: &[u32], bits: &[bool]) -> Vec<Ranges> {
    let mut found: Vec<Ranges> = Vec::new();
    Region::whole(shape).each_point(&mut |point| {
        if bits[position(shape, point)] {
            let mut next: Ranges = point.iter().map(|&index| (index, index + 1)).collect();
            if let (Some(before), Some(last)) = (found.last_mut(), next.len().checked_sub(1))
                && before[..last] == next[..last]
                && before[last].1 == next[last].0
            {
                before[last].1 += 1;
            } else {
                found.push(std::mem::take(&mut next));
            }
        }
        true
    });
    found
}

/// The first point of a region that has not the property; an element outside every box counts as one without.
fn first_point(region: &Region, mut known: impl FnMut(&[i64]) -> bool) -> Option<Vec<i64>> {
    let mut found = None;
    region.each_point(&mut |point| {
        if known(point) {
            return true;
        }
        found = Some(point.to_vec());
        false
    });
    found
}

fn holds(known: &Ranges, point: &[i64]) -> bool {
    known.iter().zip(point).all(|(range, &index)| range.0 <= index && index < range.1)
}

/// Row-major position; what lies outside the shape is never asked for (declared bounds are checked before, interims grow).
fn position(shape: &[u32], point: &[i64]) -> usize {
    shape.iter().zip(point).fold(0, |position, (&extent, &index)| position * extent as usize + index as usize)
}

/// Add a box and join it with neighbours that differ in one dimension only.
fn insert(boxes: &mut Vec<Ranges>, mut new: Ranges) {
    while let Some((place, joined)) = boxes.iter().enumerate().find_map(|(place, old)| Some((place, join(old, &new)?)))
    {
        boxes.swap_remove(place);
        new = joined;
    }
    boxes.push(new);
}

fn join(a: &Ranges, b: &Ranges) -> Option<Ranges> {
    let differing: Vec<usize> = (0..a.len()).filter(|&dimension| a[dimension] != b[dimension]).collect();
    match differing.as_slice() {
        [] => Some(a.clone()),
        &[dimension] if a[dimension].0 <= b[dimension].1 && b[dimension].0 <= a[dimension].1 => {
            let mut joined = a.clone();
            joined[dimension] = (a[dimension].0.min(b[dimension].0), a[dimension].1.max(b[dimension].1));
            Some(joined)
        }
        _ => None,
    }
}

/// What is left of `piece` without `known`, as disjoint boxes.
fn subtract(piece: &Ranges, known: &Ranges) -> Vec<Ranges> {
    if !piece.iter().zip(known).all(|(a, b)| a.0 < b.1 && b.0 < a.1) {
        return vec![piece.clone()];
    }
    let (mut core, mut rest) = (piece.clone(), Vec::new());
    for dimension in 0..piece.len() {
        let (low, high) = core[dimension];
        let (from, to) = known[dimension];
        for side in [(low, from.min(high)), (to.max(low), high)] {
            if side.0 < side.1 {
                let mut outside = core.clone();
                outside[dimension] = side;
                rest.push(outside);
            }
        }
        core[dimension] = (low.max(from), high.min(to));
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{Coverage, Region};

    fn region(ranges: &[(i64, i64)]) -> Region {
        Region { ranges: ranges.to_vec(), tied: (0..ranges.len()).collect() }
    }

    #[test]
    fn rows_and_an_element_complete_a_vector() {
        let mut coverage = Coverage::none(&[4]);
        coverage.add(&region(&[(1, 4)]));
        assert_eq!(coverage.missing(&Region::whole(&[4])), Some(vec![0]));
        assert_eq!(coverage.missing(&region(&[(2, 3)])), None);
        coverage.add(&region(&[(0, 1)]));
        assert!(coverage.is_complete());
    }

    #[test]
    fn a_diagonal_is_exact() {
        let mut coverage = Coverage::none(&[3, 3]);
        let diagonal = Region { ranges: vec![(0, 3), (0, 3)], tied: vec![0, 0] };
        coverage.add(&diagonal);
        assert_eq!(coverage.missing(&diagonal), None);
        assert_eq!(coverage.missing(&Region::whole(&[3, 3])), Some(vec![0, 1]));
    }

    #[test]
    fn boxes_tell_every_element_once() {
        let mut coverage = Coverage::none(&[3, 4]);
        coverage.add(&region(&[(0, 2), (0, 2)]));
        coverage.add(&region(&[(1, 3), (1, 4)]));
        let size = |boxes: &[super::Ranges]| -> i64 {
            boxes.iter().map(|ranges| ranges.iter().map(|range| range.1 - range.0).product::<i64>()).sum()
        };
        assert_eq!(size(&coverage.boxes()), 4 + 6 - 1);
        assert!(coverage.touches(&region(&[(2, 3), (3, 4)])) && !coverage.touches(&region(&[(2, 3), (0, 1)])));
        assert!(coverage.lies_in(&region(&[(0, 3), (0, 4)])) && !coverage.lies_in(&region(&[(0, 3), (1, 4)])));
        let diagonal = Region { ranges: vec![(0, 3), (0, 3)], tied: vec![0, 0] };
        let mut coverage = Coverage::none(&[3, 3]);
        coverage.add(&diagonal);
        assert_eq!(coverage.boxes(), [[(0, 1), (0, 1)], [(1, 2), (1, 2)], [(2, 3), (2, 3)]]);
    }

    #[test]
    fn many_scattered_elements_become_bits() {
        let mut coverage = Coverage::none(&[100]);
        for index in (0..100).step_by(2) {
            coverage.add(&region(&[(index, index + 1)]));
        }
        assert_eq!(coverage.missing(&region(&[(40, 42)])), Some(vec![41]));
        for index in (1..100).step_by(2) {
            coverage.add(&region(&[(index, index + 1)]));
        }
        assert!(coverage.is_complete());
    }
}
