//! Sums of products in tiles: a vector of one factor serves several rows of the other.
//!
//! ```text
//! sums[m][n] += across[k][n] * along[m][k]      n: values of the vector; m: rows; k: the innermost reduction
//!
//! h[s][j] += w[j][i] * x[s][i]                  n: j, of w, which is packed; m: samples s
//! g[j][i] += d[s][j] * x[s][i]                  n: i, of x, as it lies; m: j; k: samples s
//! ```
//!
//! Every sum stays in a register from its first product to its last, in the order of the reduction. Integers of which doubles hold every sum
//! are computed as doubles: none is rounded.

#![allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]

use super::loops::{A, B, Loop, Loops, Places, each};
use super::{Products, Sum, Values};
use arch::isa::Combine;
use pulp::{Simd, WithSimd, bytemuck};

/// Vectors, and rows of them, whose sums registers hold.
const VECTORS: usize = 2;
const HIGH: usize = 4;
/// Doubles of the widest vectors.
const WIDEST: usize = VECTORS * 8;
/// Rows that a packed factor serves, and products between two looks at it: both fit the first-level cache.
const ROWS: usize = 64;
const DEEP: usize = 128;

/// Such loops.
#[derive(Debug, Clone)]
pub(crate) struct Tiled {
    /// Free loops but the vector and the rows.
    outer: Vec<Loop>,
    rows: Loop,
    /// The factor that changes along the vector, and that which changes along the rows.
    factors: [usize; 2],
}

impl Tiled {
    /// If some free loop has rows, and enough of them.
    pub(super) fn new(free: &[Loop], vector: &Loop, inner: &Loop) -> Option<Tiled> {
        let crossed = |row: &Loop| {
            let crosses = |[a, b]: &[usize; 2]| vector.strides[*b] == 0 && row.strides[*a] == 0;
            [[A, B], [B, A]].into_iter().find(crosses).filter(|&[a, b]| vector.strides[a] != 0 && row.strides[b] != 0)
        };
        let (place, factors) = (0..free.len())
            .filter_map(|n| Some((n, crossed(&free[n])?)))
            .max_by_key(|&(n, _)| free[n].extent)
            .filter(|&(n, _)| free[n].extent >= HIGH && vector.extent >= HIGH && inner.extent >= HIGH)?;
        let mut outer = free.to_vec();
        let rows = outer.remove(place);
        Some(Tiled { outer, rows, factors })
    }
}

/// All free points of some loops, to be computed.
pub(super) struct Tiles<'a, S: Sum, V> {
    loops: &'a Loops,
    tiled: &'a Tiled,
    /// Integers are subtracted from the negative sum: the same bits.
    turned: bool,
    values: &'a mut V,
    /// Factors that are no doubles, as such.
    factors: Option<[Vec<f64>; 2]>,
    sums: std::marker::PhantomData<S>,
}

impl<'a, S: Sum, V: Values<S>> Tiles<'a, S, V> {
    pub(super) fn new(loops: &'a Loops, tiled: &'a Tiled, products: Products, values: &'a mut V) -> Self {
        let (a, b) = values.factors();
        let factors = S::as_doubles(a).is_none().then(|| [S::to_doubles(a), S::to_doubles(b)]);
        let turned = products.combine == Combine::Subtract;
        Tiles { loops, tiled, turned, values, factors, sums: std::marker::PhantomData }
    }
}

/// Some sums: the place of the first one, and how many there are side by side.
type Block<'a> = (&'a Places, usize);

impl<S: Sum, V: Values<S>> WithSimd for Tiles<'_, S, V> {
    type Output = ();

    #[inline(always)]
    fn with_simd<M: Simd>(mut self, simd: M) {
        let zero = [simd.splat_f64s(0.0); VECTORS];
        let (mut sums, mut packed) = ([zero; ROWS], [zero; DEEP]);
        let (loops, tiled) = (self.loops, self.tiled);
        let widest = VECTORS * M::F64_LANES;
        each(
            &tiled.outer,
            loops.first,
            #[inline(always)]
            |places| {
                for row in (0..tiled.rows.extent).step_by(ROWS) {
                    for first in (0..loops.vector.extent).step_by(widest) {
                        let places = moved(&moved(&places, &loops.vector, first), &tiled.rows, row);
                        let sums = &mut sums[..ROWS.min(tiled.rows.extent - row)];
                        let block = (&places, widest.min(loops.vector.extent - first));
                        self.start(block, sums);
                        self.join(simd, block, sums, &mut packed);
                        self.put(block, sums);
                    }
                }
            },
        );
    }
}

impl<S: Sum, V: Values<S>> Tiles<'_, S, V> {
    #[inline(always)]
    fn start<L: bytemuck::Pod>(&self, (places, wide): Block<'_>, sums: &mut [[L; VECTORS]]) {
        let mut starts = [S::ZERO; WIDEST];
        for (row, sums) in sums.iter_mut().enumerate() {
            let places = moved(places, &self.tiled.rows, row);
            self.values.start(&places, &self.loops.vector.strides, &mut starts[..wide]);
            let sums: &mut [f64] = bytemuck::cast_slice_mut(sums);
            for (sum, &start) in sums.iter_mut().zip(&starts) {
                *sum = S::to_double(if self.turned { S::ZERO.minus(start) } else { start });
            }
        }
    }

    #[inline(always)]
    fn put<L: bytemuck::Pod>(&mut self, (places, wide): Block<'_>, sums: &mut [[L; VECTORS]]) {
        let mut ends = [S::ZERO; WIDEST];
        for (row, sums) in sums.iter_mut().enumerate() {
            let sums: &[f64] = bytemuck::cast_slice(sums);
            for (end, &sum) in ends.iter_mut().zip(sums) {
                let sum = S::of_double(sum);
                *end = if self.turned { S::ZERO.minus(sum) } else { sum };
            }
            let places = moved(places, &self.tiled.rows, row);
            self.values.put(&places, &self.loops.vector.strides, &mut ends[..wide]);
        }
    }

    /// Add the products of all points of the reduction.
    #[inline(always)]
    fn join<M: Simd>(
        &self,
        simd: M,
        (places, wide): Block<'_>,
        sums: &mut [[M::f64s; VECTORS]],
        packed: &mut [[M::f64s; VECTORS]],
    ) {
        let (loops, rows, [across, along]) = (self.loops, &self.tiled.rows, self.tiled.factors);
        let (a, b) = self.values.factors();
        let (a, b) = self.factors.as_ref().map_or_else(
            #[inline(always)]
            || (S::as_doubles(a).unwrap_or_default(), S::as_doubles(b).unwrap_or_default()),
            |[a, b]| (a.as_slice(), b.as_slice()),
        );
        let (vectors, other) = if across == A { (a, b) } else { (b, a) };
        let dense = loops.vector.strides[across] == 1 && wide == VECTORS * M::F64_LANES;
        each(
            &loops.reduced,
            *places,
            #[inline(always)]
            |places| {
                for first in (0..loops.inner.extent).step_by(DEEP) {
                    let deep = DEEP.min(loops.inner.extent - first);
                    let places = moved(&places, &loops.inner, first);
                    let panel = if dense {
                        Panel { words: vectors, first: places[across], step: loops.inner.strides[across] }
                    } else {
                        let strides = (loops.vector.strides[across], loops.inner.strides[across]);
                        let packed: &mut [f64] = bytemuck::cast_slice_mut(&mut packed[..deep]);
                        pack(packed, deep, (vectors, places[across]), strides, wide);
                        Panel { words: packed, first: 0, step: (VECTORS * M::F64_LANES) as i64 }
                    };
                    let (row, step) = (rows.strides[along], loops.inner.strides[along]);
                    let other = Other { words: other, first: places[along], row, step };
                    if wide <= M::F64_LANES {
                        tiles::<M, 1, S>(simd, sums, panel, other, deep);
                    } else {
                        tiles::<M, VECTORS, S>(simd, sums, panel, other, deep);
                    }
                }
            },
        );
    }
}

/// The factor that changes along the vector: the place of the first product's words, and how far it is to those of the next one.
#[derive(Clone, Copy)]
struct Panel<'a> {
    words: &'a [f64],
    first: i64,
    step: i64,
}

/// The other one: the place of the first row's first word, and how far it is to the next row and to the next product.
#[derive(Clone, Copy)]
struct Other<'a> {
    words: &'a [f64],
    first: i64,
    row: i64,
    step: i64,
}

/// Add so many products to the first `N` vectors of each row.
#[inline(always)]
fn tiles<M: Simd, const N: usize, S: Sum>(
    simd: M,
    sums: &mut [[M::f64s; VECTORS]],
    panel: Panel<'_>,
    mut other: Other<'_>,
    deep: usize,
) {
    let (tiles, rest) = sums.as_chunks_mut::<HIGH>();
    for sums in tiles {
        tile::<M, N, HIGH, S>(simd, sums, panel, other, deep);
        other.first += HIGH as i64 * other.row;
    }
    for sums in rest {
        tile::<M, N, 1, S>(simd, std::array::from_mut(sums), panel, other, deep);
        other.first += other.row;
    }
}

#[inline(always)]
fn tile<M: Simd, const N: usize, const HIGH: usize, S: Sum>(
    simd: M,
    sums: &mut [[M::f64s; VECTORS]; HIGH],
    panel: Panel<'_>,
    other: Other<'_>,
    deep: usize,
) {
    let mut totals = *sums;
    let (mut at, mut from) = (panel.first, other.first);
    for _ in 0..deep {
        let (vectors, _) = M::as_simd_f64s(&panel.words[at as usize..][..N * M::F64_LANES]);
        let mut place = from;
        for totals in &mut totals {
            let factor = simd.splat_f64s(other.words[place as usize]);
            for n in 0..N {
                totals[n] = if S::ORDERED {
                    simd.add_f64s(totals[n], simd.mul_f64s(vectors[n], factor))
                } else {
                    simd.mul_add_e_f64s(vectors[n], factor, totals[n])
                };
            }
            place += other.row;
        }
        at += panel.step;
        from += other.step;
    }
    *sums = totals;
}

/// Put words side by side: strides along the vector and along the products.
#[inline(always)]
fn pack(packed: &mut [f64], deep: usize, (words, first): (&[f64], i64), (vector, inner): (i64, i64), wide: usize) {
    let width = packed.len() / deep;
    for n in 0..wide {
        let mut at = first + vector * n as i64;
        for row in packed.chunks_exact_mut(width) {
            row[n] = words[at as usize];
            at += inner;
        }
    }
}

/// Places so many values farther along a loop.
#[inline(always)]
fn moved(places: &Places, along: &Loop, count: usize) -> Places {
    let mut places = *places;
    places.iter_mut().zip(&along.strides).for_each(|(place, stride)| *place += stride * count as i64);
    places
}

#[cfg(test)]
mod tests {
    use super::super::loops::OUT;
    use super::*;

    /// How tiles are computed.
    type Way<'a, S> = dyn Fn(Tiles<'_, S, Sums<S>>) + 'a;

    struct Sums<S: Sum> {
        factors: [Vec<S::Word>; 2],
        sums: Vec<S>,
    }

    impl<S: Sum> Values<S> for Sums<S> {
        fn factors(&self) -> (&[S::Word], &[S::Word]) {
            (&self.factors[0], &self.factors[1])
        }

        fn start(&self, places: &Places, vector: &Places, sums: &mut [S]) {
            let at = |t: usize| (places[OUT] + vector[OUT] * t as i64) as usize;
            sums.iter_mut().enumerate().for_each(|(t, sum)| *sum = self.sums[at(t)]);
        }

        fn put(&mut self, places: &Places, vector: &Places, sums: &mut [S]) {
            let at = |t: usize| (places[OUT] + vector[OUT] * t as i64) as usize;
            sums.iter().enumerate().for_each(|(t, &sum)| self.sums[at(t)] = sum);
        }
    }

    /// `sums[m][n] += a[n][k] * b[m][k]` in the vectors of every processor, and one product after the other; `a` lies the one way or the other, and
    /// is read forwards or backwards.
    fn every_processor<S: Sum>(word: impl Fn(i64) -> S::Word, start: S, combine: Combine, bits: impl Fn(S) -> u64) {
        let shapes = [(5, 17, 9), (70, 40, 131), (4, 9, 4)].into_iter();
        let ways = [(true, false), (false, false), (true, true), (false, true)];
        for ((rows, wide, deep), (across, back)) in shapes.flat_map(|shape| ways.map(|way| (shape, way))) {
            let words =
                |count: i64, seed: i64| (0..count).map(|n| word(n * seed % 1999 - 1000)).collect::<Vec<S::Word>>();
            let (a, b) = (words(wide * deep, 7919), words(rows * deep, 104_729));
            let (along_a, along_k) = if across { (1, wide) } else { (deep, 1) };
            let (first, along_k) = if back { ((deep - 1) * along_k, -along_k) } else { (0, along_k) };
            let mut expected = vec![start; (rows * wide) as usize];
            for (m, n, k) in (0..rows).flat_map(|m| (0..wide).flat_map(move |n| (0..deep).map(move |k| (m, n, k)))) {
                let sum = &mut expected[(m * wide + n) as usize];
                let product = S::product(a[(first + n * along_a + k * along_k) as usize], b[(m * deep + k) as usize]);
                *sum = if combine == Combine::Add { sum.plus(product) } else { sum.minus(product) };
            }
            let (of_sum, of_a, of_b) = ([wide, 1, 0], [0, along_a, along_k], [deep, 0, 1]);
            let accesses = [Some((0, &of_sum[..])), None, Some((first, &of_a[..])), Some((0, &of_b[..]))];
            let loops = Loops::new(&[rows, wide, deep].map(|extent| extent as usize), 2, accesses, true);
            let products = Products { square: false, combine, doubles: true };
            let found = |run: &Way<'_, S>| {
                let mut sums = Sums { factors: [a.clone(), b.clone()], sums: vec![start; expected.len()] };
                run(Tiles::new(&loops, loops.tiled.as_ref().expect("rows and a vector"), products, &mut sums));
                sums.sums.into_iter().map(&bits).collect::<Vec<u64>>()
            };
            let expected: Vec<u64> = expected.iter().map(|&sum| bits(sum)).collect();
            assert_eq!(found(&|tiles| tiles.with_simd(pulp::Scalar)), expected, "{rows} x {wide} x {deep}");
            assert_eq!(found(&|tiles| pulp::Arch::new().dispatch(tiles)), expected, "{rows} x {wide} x {deep}");
            #[cfg(target_arch = "x86_64")]
            if let Some(older) = pulp::x86::V3::try_new() {
                assert_eq!(found(&|tiles| Simd::vectorize(older, tiles)), expected, "{rows} x {wide} x {deep}");
            }
        }
    }

    #[test]
    fn sums_of_doubles_keep_their_order() {
        every_processor::<f64>(|n| 1.0 / (n as f64 + 0.3), 0.7, Combine::Add, f64::to_bits);
    }

    #[test]
    fn sums_of_words_are_exact() {
        for combine in [Combine::Add, Combine::Subtract] {
            every_processor::<i64>(|n| (n * 32) as i32, -5, combine, |sum| sum as u64);
        }
    }
}
