//! The micro-kernel of `golden` and `fixed`: sums of products side by side.
//!
//! ```text
//! across   sum[t] += a[k][t] * b[k]      t: values of the vector; k: the innermost reduction
//! along    sum[t] += a[t][..] . b[..]    one scalar product after the other; of real numbers, several rows side by side
//! tiles    sum[s][t] += a[k][t] * b[s][k]    every word that is read serves several sums (`tiles`)
//! ```
//!
//! But for tiles these are plain loops over slices, which the compiler makes vectors of: once for every set of vector instructions that
//! [`pulp`] finds at run time. Integers wrap and real sums keep their order, so every set gives the same bits.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

pub(crate) mod loops;
mod tiles;

use arch::isa::Combine;
use arch::number::ONES;
use loops::{A, B, Loop, Loops, Places, each};
use std::ops::{Add, Mul, Sub};
use tiles::Tiles;

/// How many sums are made side by side: so many stay in the first-level cache.
const BLOCK: usize = 256;
/// Ordered sums that grow side by side along the innermost loop: an addition takes several cycles, and those of other sums fill them.
const ROWS: usize = 8;
/// Products of each of them that are made before they are added.
const DEEP: usize = 64;

/// What products are added up in.
pub(crate) trait Sum: Copy {
    /// What is multiplied.
    type Word: Copy + Default;
    /// Whether sums depend on their order.
    const ORDERED: bool;
    const ZERO: Self;
    const LOW: Self;
    const HIGH: Self;
    fn of(word: Self::Word) -> Self;
    fn product(a: Self::Word, b: Self::Word) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    /// Words that are doubles.
    fn as_doubles(words: &[Self::Word]) -> Option<&[f64]>;
    fn to_doubles(words: &[Self::Word]) -> Vec<f64>;
    /// Of at most [`DOUBLE`] bits.
    fn to_double(self) -> f64;
    fn of_double(double: f64) -> Self;
}

/// Bits of integers that are added up as doubles.
pub(crate) const DOUBLE: u32 = 51;

macro_rules! sum {
    (
        $type:ty: $word:ty, $ordered:expr, $low:expr, $high:expr,
        $plus:path, $minus:path, $times:path, $larger:path, $smaller:path,
        $as_doubles:expr, $to_double:expr, $of_double:expr
    ) => {
        impl Sum for $type {
            type Word = $word;
            const ORDERED: bool = $ordered;
            const ZERO: $type = 0 as $type;
            const LOW: $type = $low;
            const HIGH: $type = $high;
            #[inline(always)]
            fn of(word: $word) -> $type {
                word.into()
            }
            #[inline(always)]
            fn product(a: $word, b: $word) -> $type {
                $times(Self::of(a), Self::of(b))
            }
            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                $plus(self, other)
            }
            #[inline(always)]
            fn minus(self, other: $type) -> $type {
                $minus(self, other)
            }
            #[inline(always)]
            fn times(self, other: $type) -> $type {
                $times(self, other)
            }
            #[inline(always)]
            fn larger(self, other: $type) -> $type {
                $larger(self, other)
            }
            #[inline(always)]
            fn smaller(self, other: $type) -> $type {
                $smaller(self, other)
            }
            #[inline(always)]
            fn as_doubles(words: &[$word]) -> Option<&[f64]> {
                $as_doubles(words)
            }
            fn to_doubles(words: &[$word]) -> Vec<f64> {
                words.iter().map(|&word| word.into()).collect()
            }
            #[inline(always)]
            fn to_double(self) -> f64 {
                $to_double(self)
            }
            #[inline(always)]
            fn of_double(double: f64) -> $type {
                $of_double(double)
            }
        }
    };
}

sum!(
    i64: i32, false, i64::MIN, i64::MAX,
    i64::wrapping_add, i64::wrapping_sub, i64::wrapping_mul, Ord::max, Ord::min,
    |_| None,
    |sum: i64| f64::from_bits((sum as u64).wrapping_add(ONES.to_bits())) - ONES,
    |sum: f64| (sum + ONES).to_bits().wrapping_sub(ONES.to_bits()) as i64
);
// Too wide for doubles.
sum!(
    i128: i32, false, i128::MIN, i128::MAX,
    i128::wrapping_add, i128::wrapping_sub, i128::wrapping_mul, Ord::max, Ord::min,
    |_| None, |sum| sum as f64, |sum| sum as i128
);
sum!(
    f64: f64, true, f64::NEG_INFINITY, f64::INFINITY,
    Add::add, Sub::sub, Mul::mul, most, least,
    Some, |sum| sum, |sum| sum
);

/// The smaller; no number if one of them is none.
#[inline(always)]
pub(crate) fn least(a: f64, b: f64) -> f64 {
    if a < b || a.is_nan() { a } else { b }
}

/// The larger; no number if one of them is none.
#[inline(always)]
pub(crate) fn most(a: f64, b: f64) -> f64 {
    if a > b || a.is_nan() { a } else { b }
}

/// Where sums begin and where they go; `vector` has the strides from each sum to the next.
pub(crate) trait Values<S: Sum> {
    /// The words of the factors; those of a tensor that is written as they are so far.
    fn factors(&self) -> (&[S::Word], &[S::Word]);
    /// Before the first product.
    fn start(&self, places: &Places, vector: &Places, sums: &mut [S]);
    /// The results.
    fn put(&mut self, places: &Places, vector: &Places, sums: &mut [S]);
    /// Make the results of a whole vector that has one product for each, if that is quicker than one thing after the other.
    #[inline(always)]
    fn multiply(&mut self, _: Products, _: &Places, _vector: &Loop) -> bool {
        false
    }
}

/// Work with the vector instructions of this processor. It has to be inlined, and so has everything that it calls.
pub(crate) fn in_vectors(work: impl FnMut()) {
    struct Inlined<F>(F);
    impl<F: FnMut()> pulp::NullaryFnOnce for Inlined<F> {
        type Output = ();
        #[inline(always)]
        fn call(mut self) {
            (self.0)();
        }
    }
    pulp::Arch::new().dispatch(Inlined(work));
}

/// What is summed, or compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products {
    /// The difference of the factors is squared.
    pub(crate) square: bool,
    pub(crate) combine: Combine,
    /// Doubles hold every sum.
    pub(crate) doubles: bool,
}

impl Products {
    /// Where a sum starts that has no start.
    #[inline(always)]
    pub(crate) fn nothing<S: Sum>(self) -> S {
        match self.combine {
            Combine::Add | Combine::Subtract => S::ZERO,
            Combine::Maximum => S::LOW,
            Combine::Minimum => S::HIGH,
        }
    }

    /// Whether sums of products may grow in tiles.
    fn in_tiles<S: Sum>(self) -> bool {
        self.adds() && self.doubles && (self.combine == Combine::Add || !S::ORDERED)
    }

    fn adds(self) -> bool {
        !self.square && !self.combine.compares()
    }
}

/// Compute all free points of some loops with the vector instructions of this processor. Without products, starts are results.
pub(crate) fn run<S: Sum>(loops: &Loops, products: Option<Products>, values: &mut impl Values<S>) {
    if let (Some(tiled), Some(products)) = (&loops.tiled, products.filter(|products| products.in_tiles::<S>())) {
        return pulp::Arch::new().dispatch(Tiles::new(loops, tiled, products, values));
    }
    let along = loops.sums_along();
    let single = products.filter(|products| products.adds() && loops.vector.is_dense() && loops.has_no_sums());
    let block = if loops.writes_once { BLOCK } else { 1 };
    let mut buffer = [S::ZERO; BLOCK];
    in_vectors(
        #[inline(always)]
        || {
            loops.each_free(
                #[inline(always)]
                |mut places| {
                    let vector = &loops.vector.strides;
                    if let Some(products) = single
                        && values.multiply(products, &places, &loops.vector)
                    {
                        return;
                    }
                    let mut left = loops.vector.extent;
                    while left > 0 {
                        let sums = &mut buffer[..left.min(block)];
                        values.start(&places, vector, sums);
                        if let Some(products) = products {
                            products.join(loops, along, values.factors(), places, sums);
                        }
                        values.put(&places, vector, sums);
                        places.iter_mut().zip(vector).for_each(|(place, stride)| *place += stride * sums.len() as i64);
                        left -= sums.len();
                    }
                },
            );
        },
    );
}

impl Products {
    /// Join the products of all points of the reduction to some sums, from the place of the first one on.
    #[inline(always)]
    fn join<S: Sum>(
        self,
        loops: &Loops,
        along: bool,
        (a, b): (&[S::Word], &[S::Word]),
        places: Places,
        sums: &mut [S],
    ) {
        // Integers are subtracted from the negative sum: the same bits.
        let turned = !S::ORDERED && self.combine == Combine::Subtract;
        let turn = |sums: &mut [S]| sums.iter_mut().for_each(|sum| *sum = S::ZERO.minus(*sum));
        if turned {
            turn(sums);
        }
        each(
            &loops.reduced,
            places,
            #[inline(always)]
            |places| {
                let (a, b) = ((a, places[A], loops.inner.strides[A]), (b, places[B], loops.inner.strides[B]));
                if along && self.adds() {
                    sums_along(loops, a, b, sums);
                } else {
                    for k in 0..loops.inner.extent as i64 {
                        self.side_by_side(&loops.vector, (a.0, a.1 + k * a.2), (b.0, b.1 + k * b.2), sums);
                    }
                }
            },
        );
        if turned {
            turn(sums);
        }
    }

    /// Join one product to each sum.
    #[inline(always)]
    fn side_by_side<S: Sum>(self, vector: &Loop, a: (&[S::Word], i64), b: (&[S::Word], i64), sums: &mut [S]) {
        let (strides, count) = ((vector.strides[A], vector.strides[B]), sums.len());
        if !self.adds() || !vector.is_dense() {
            return self.scattered(strides, a, b, sums);
        }
        // Products do not depend on the order of their factors.
        let (a, b) = if strides.0 == 0 { (b, a) } else { (a, b) };
        let minus = S::ORDERED && self.combine == Combine::Subtract;
        let (row, other) = (&a.0[a.1 as usize..][..count], &b.0[b.1 as usize..]);
        if strides == (1, 1) {
            let all = sums.iter_mut().zip(row).zip(&other[..count]);
            if minus {
                all.for_each(|((sum, &a), &b)| *sum = sum.minus(S::product(a, b)));
            } else {
                all.for_each(|((sum, &a), &b)| *sum = sum.plus(S::product(a, b)));
            }
        } else {
            let b = other[0];
            if minus {
                sums.iter_mut().zip(row).for_each(|(sum, &a)| *sum = sum.minus(S::product(a, b)));
            } else {
                sums.iter_mut().zip(row).for_each(|(sum, &a)| *sum = sum.plus(S::product(a, b)));
            }
        }
    }

    /// The same for words that lie anywhere, and anything that is made of two factors.
    #[inline(always)]
    fn scattered<S: Sum>(self, strides: (i64, i64), a: (&[S::Word], i64), b: (&[S::Word], i64), sums: &mut [S]) {
        let (mut at, mut to) = (a.1, b.1);
        for sum in sums {
            let (a, b) = (S::of(a.0[at as usize]), S::of(b.0[to as usize]));
            let product = if self.square { a.minus(b).times(a.minus(b)) } else { a.times(b) };
            *sum = match self.combine {
                Combine::Maximum => sum.larger(product),
                Combine::Minimum => sum.smaller(product),
                Combine::Subtract if S::ORDERED => sum.minus(product),
                Combine::Add | Combine::Subtract => sum.plus(product),
            };
            at += strides.0;
            to += strides.1;
        }
    }
}

/// Words from a place on, and the stride of the innermost loop.
type Along<'a, W> = (&'a [W], i64, i64);

/// A row of each factor.
type Pair<'a, W> = (&'a [W], &'a [W]);

/// Add products sum by sum along the innermost loop, where the words of both factors are side by side.
#[inline(always)]
fn sums_along<S: Sum>(loops: &Loops, a: Along<'_, S::Word>, b: Along<'_, S::Word>, sums: &mut [S]) {
    let (vector, extent) = (loops.vector.strides, loops.inner.extent);
    let mut places = (a.1, b.1);
    let mut next = || {
        let rows = (&a.0[places.0 as usize..][..extent], &b.0[places.1 as usize..][..extent]);
        places = (places.0 + vector[A], places.1 + vector[B]);
        rows
    };
    let (blocks, rest) = if S::ORDERED { sums.as_chunks_mut::<ROWS>() } else { (&mut [][..], sums) };
    let mut products = [[S::ZERO; DEEP]; ROWS];
    for sums in blocks {
        let mut rows: [Pair<'_, S::Word>; ROWS] = [(&[], &[]); ROWS];
        for row in &mut rows {
            *row = next();
        }
        sums_of_rows(extent, &rows, &mut products, sums);
    }
    if S::ORDERED && rest.len() > 1 {
        // The last row again and again, where there are no more.
        let (mut rows, mut sums) = ([next(); ROWS], [S::ZERO; ROWS]);
        for row in &mut rows[1..rest.len()] {
            *row = next();
        }
        sums[..rest.len()].copy_from_slice(rest);
        sums_of_rows(extent, &rows, &mut products, &mut sums);
        rest.copy_from_slice(&sums[..rest.len()]);
        return;
    }
    for sum in rest {
        let (a, b) = next();
        *sum = a.iter().zip(b).fold(*sum, |sum, (&a, &b)| sum.plus(S::product(a, b)));
    }
}

/// Add the products of some rows side by side: products in vectors, then each sum in its order.
#[inline(always)]
fn sums_of_rows<S: Sum>(
    extent: usize,
    rows: &[Pair<'_, S::Word>; ROWS],
    products: &mut [[S; DEEP]; ROWS],
    sums: &mut [S; ROWS],
) {
    let mut totals = *sums;
    for first in (0..extent).step_by(DEEP) {
        let count = DEEP.min(extent - first);
        for (products, (a, b)) in products.iter_mut().zip(rows) {
            let words = a[first..][..count].iter().zip(&b[first..][..count]);
            products[..count].iter_mut().zip(words).for_each(|(product, (&a, &b))| *product = S::product(a, b));
        }
        for k in 0..count {
            for (total, products) in totals.iter_mut().zip(&*products) {
                *total = total.plus(products[k]);
            }
        }
    }
    *sums = totals;
}

/// Put words where the sums of a vector are: the first one's place, and how far it is from each to the next.
#[inline(always)]
pub(crate) fn put_row<W: Copy>(to: &mut [W], first: i64, stride: i64, words: impl ExactSizeIterator<Item = W>) {
    if stride == 1 {
        let to = &mut to[first as usize..][..words.len()];
        to.iter_mut().zip(words).for_each(|(to, word)| *to = word);
    } else {
        words.enumerate().for_each(|(t, word)| to[(first + stride * t as i64) as usize] = word);
    }
}

/// Begin sums with words that lie so.
#[inline(always)]
pub(crate) fn begin<W: Copy, S>(sums: &mut [S], from: &[W], first: i64, stride: i64, of: impl Fn(W) -> S) {
    if stride == 1 {
        let from = &from[first as usize..][..sums.len()];
        sums.iter_mut().zip(from).for_each(|(sum, &word)| *sum = of(word));
    } else {
        sums.iter_mut().enumerate().for_each(|(t, sum)| *sum = of(from[(first + stride * t as i64) as usize]));
    }
}
