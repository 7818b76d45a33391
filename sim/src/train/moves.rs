//! Updates that change a weight, and those that round to nothing.
//!
//! ```text
//! golden:  w = 0.5 ──▶ 0.499990      moved
//! words:   w = 0.5 ──▶ 0.5           the update is less than half of a last place: stalled
//! ```
//!
//! Every element of a weight counts once for each update. Golden's that move and the words' that do not are stalled. A weight with a master counts as
//! that: its words and its lower part together.

use crate::lanes::in_vectors;
use compiler::rounding::{is_of_words, low};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// How often elements of a weight changed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Moves {
    /// Elements that changed, added up over the updates.
    pub moved: u64,
    /// How far, all of them together.
    pub distance: f64,
}

/// By weight, since the engine was made.
pub type AllMoves = BTreeMap<String, Moves>;

impl Moves {
    /// What has come since an earlier time.
    #[must_use]
    pub fn since(self, earlier: Moves) -> Moves {
        Moves { moved: self.moved - earlier.moved, distance: self.distance - earlier.distance }
    }

    /// Look at a weight before and after an update, after which what was before is what is now.
    pub(crate) fn update(&mut self, before: &mut [f64], after: &[f64]) {
        let mut lanes = Lanes::default();
        in_vectors(
            #[inline(always)]
            || {
                let (rows, rest) = before.as_chunks_mut::<LANES>();
                let (after, rest_after) = after.as_chunks::<LANES>();
                for (before, after) in rows.iter_mut().zip(after) {
                    lanes.look(before, after);
                }
                lanes.look(rest, rest_after);
            },
        );
        self.add(&lanes);
    }

    /// What was counted in lanes.
    pub(crate) fn add(&mut self, lanes: &Lanes) {
        self.moved += lanes.moved.iter().sum::<u64>();
        self.distance += lanes.distance.iter().sum::<f64>();
    }
}

/// Distances that are added up side by side, always so many: the sum is the same on every processor.
pub(crate) const LANES: usize = 32;

/// Moves of the elements whose places have the same remainder.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lanes {
    moved: [u64; LANES],
    distance: [f64; LANES],
}

#[allow(clippy::inline_always, reason = "what is not inlined is compiled for the oldest processor")]
impl Lanes {
    /// Count each element in its lane.
    #[inline(always)]
    fn look(&mut self, before: &mut [f64], after: &[f64]) {
        for (lane, (before, &after)) in before.iter_mut().zip(after).enumerate() {
            self.count(lane, *before, after);
            *before = after;
        }
    }

    /// Count one.
    #[inline(always)]
    pub(crate) fn count(&mut self, lane: usize, before: f64, after: f64) {
        let way = after - before;
        let moves = before.to_bits() != after.to_bits() && way.is_finite();
        self.moved[lane] += u64::from(moves);
        self.distance[lane] += if moves { way.abs() } else { 0.0 };
    }
}

/// Both, weight by weight.
pub fn sum(one: AllMoves, other: &AllMoves) -> AllMoves {
    let mut all = one;
    for (name, moves) in other {
        let entry = all.entry(name.clone()).or_default();
        *entry = Moves { moved: entry.moved + moves.moved, distance: entry.distance + moves.distance };
    }
    all
}

/// Updates of a weight that rounded to nothing in an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StalledEpoch {
    /// Number of the epoch, from 1.
    pub epoch: usize,
    /// Updates that move an element on golden.
    pub updates: u64,
    /// How many of these move none in words.
    pub stalled: u64,
}

/// Updates of a weight that rounded to nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// The weight.
    pub tensor: String,
    /// Their share of those that move an element on golden.
    pub share: f64,
    /// Mean size of golden's updates.
    pub mean_update: f64,
    /// The smallest update that moves a word: half of a last place.
    pub least_update: f64,
    /// Epoch by epoch.
    pub epochs: Vec<StalledEpoch>,
}

/// What each engine moved, epoch by epoch: the number of the epoch, from 1, and the moves in it.
pub type ByEpoch = [(usize, AllMoves)];

/// Which weights stalled, and how often; `least` is half of a last place of each.
pub fn stalls(golden: &ByEpoch, words: &ByEpoch, least: impl Fn(&str) -> Option<f64>) -> Vec<Stall> {
    let names: Vec<&String> = golden.first().map_or_else(Vec::new, |(_, moves)| moves.keys().collect());
    let stall = |name: &String| {
        let of = |all: &AllMoves| all.get(name).copied().unwrap_or_default();
        let both = golden.iter().filter_map(|(epoch, moves)| {
            let (_, words) = words.iter().find(|(other, _)| other == epoch)?;
            // Engines that nobody watches, such as those of ranks, have no entry.
            Some((*epoch, of(moves), *words.get(name)?))
        });
        let both: Vec<(usize, Moves, Moves)> = both.collect();
        let epochs = both.iter().map(|&(epoch, golden, words)| StalledEpoch {
            epoch,
            updates: golden.moved,
            stalled: golden.moved.saturating_sub(words.moved),
        });
        let epochs: Vec<StalledEpoch> = epochs.collect();
        let updates: u64 = epochs.iter().map(|epoch| epoch.updates).sum();
        let stalled: u64 = epochs.iter().map(|epoch| epoch.stalled).sum();
        let distance: f64 = both.iter().map(|(_, golden, _)| golden.distance).sum();
        (stalled > 0).then_some(())?;
        Some(Stall {
            tensor: name.clone(),
            share: stalled as f64 / updates as f64,
            mean_update: distance / updates as f64,
            least_update: least(name)?,
            epochs,
        })
    };
    names.into_iter().filter_map(stall).collect()
}

impl Stall {
    /// How many times larger an update of mean size has to be to move a word.
    pub fn times(&self) -> f64 {
        (self.least_update / self.mean_update).max(1.0)
    }

    /// Bits of a word that such an update moves, where it has `word` now.
    pub fn bits(&self, word: u32) -> u32 {
        word + libm::ceil(libm::log2(self.times())).max(1.0) as u32
    }
}

/// Watches the weights of an engine.
#[derive(Debug, Default)]
pub(super) struct Watched {
    before: BTreeMap<String, Vec<f64>>,
    all: AllMoves,
}

/// The name and the values of a weight.
pub(super) type Weight<'a> = (&'a str, Cow<'a, [f64]>);

impl Watched {
    /// The weights are these, by no update.
    pub(super) fn begin<'a>(&mut self, weights: impl Iterator<Item = Weight<'a>>) {
        self.before = masters(weights).map(|(name, values)| (name.to_owned(), values.into_owned())).collect();
    }

    /// An update has made them these.
    pub(super) fn update<'a>(&mut self, weights: impl Iterator<Item = Weight<'a>>) {
        for (name, after) in masters(weights) {
            // Names are copied once.
            if !self.all.contains_key(name) {
                self.all.insert(name.to_owned(), Moves::default());
                self.before.entry(name.to_owned()).or_insert_with(|| after.to_vec());
            }
            if let (Some(moves), Some(before)) = (self.all.get_mut(name), self.before.get_mut(name)) {
                moves.update(before, &after);
            }
        }
    }

    pub(super) fn all(&self) -> AllMoves {
        self.all.clone()
    }
}

/// The weights that updates add to.
fn masters<'a>(weights: impl Iterator<Item = Weight<'a>>) -> impl Iterator<Item = Weight<'a>> {
    let (rests, weights): (Vec<Weight<'_>>, Vec<Weight<'_>>) = weights.partition(|(name, _)| is_of_words(name));
    weights.into_iter().map(move |(name, mut values)| {
        let own = rests.iter().find(|(rest, _)| *rest == low(name));
        if let Some((_, low)) = own {
            values.to_mut().iter_mut().zip(low.iter()).for_each(|(value, low)| *value += low);
        }
        (name, values)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: golden moves both elements in both epochs, words one of them in the first.
    #[test]
    fn updates_that_round_to_nothing_are_stalled() {
        let epochs = |steps: &[[f64; 2]]| -> Vec<(usize, AllMoves)> {
            let mut watched = Watched::default();
            watched.begin(std::iter::once(("w", Cow::from(&[0.0, 0.0][..]))));
            let mut earlier = Moves::default();
            let mut epoch = |(number, step): (usize, &[f64; 2])| {
                watched.update(std::iter::once(("w", Cow::from(&step[..]))));
                let now = watched.all()["w"];
                let moves = now.since(earlier);
                earlier = now;
                (number + 1, AllMoves::from([("w".to_owned(), moves)]))
            };
            steps.iter().enumerate().map(&mut epoch).collect()
        };
        let (golden, words) = (epochs(&[[0.01, 0.2], [0.02, 0.3]]), epochs(&[[0.0, 0.25], [0.0, 0.25]]));
        let found = stalls(&golden, &words, |_| Some(0.125));
        let [stall] = &found[..] else { panic!("one weight: {found:?}") };
        let counts: Vec<(u64, u64)> = stall.epochs.iter().map(|epoch| (epoch.updates, epoch.stalled)).collect();
        assert_eq!((counts, stall.share), (vec![(2, 1), (2, 2)], 0.75));
        assert!((stall.mean_update - 0.08).abs() < 1e-12, "{stall:?}");
        // With one bit more, half of a last place is 0.0625.
        assert_eq!(stall.bits(8), 9);
        assert!((stall.times() - 1.5625).abs() < 1e-9);
        assert!(stalls(&golden, &golden, |_| Some(0.125)).is_empty());
    }
}
