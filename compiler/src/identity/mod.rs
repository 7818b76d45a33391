//! Are two programs the same function of real numbers? Polynomial identity testing, between the program of the source and what the
//! canonical passes make of it.
//!
//! ```text
//!  before ──evaluate──▶ residues modulo 2^61 - 1 ─┐
//!     same unknowns, a few draws                  ├─ equal: the same polynomials, but for a stated probability
//!  after  ──evaluate──▶ residues modulo 2^61 - 1 ─┘  other: the first result that differs
//! ```
//!
//! Every value is computed twice at once ([`value`]): as a residue, in which functions are uninterpreted symbols of their arguments, and as a
//! real number, which decides how comparisons go. Draws take other sides of comparisons; one of them is of a few small numbers, so that
//! maxima have ties and values are 0.
//!
//! Besides the laws of a field, rewrites may use *named laws*, each with a test of its own:
//!
//! | law | is | tested by |
//! |---|---|---|
//! | constants | a folded constant is a rounding of its value ([`constants`]) | its tests |
//! | functions | a function of the table is the formula that it is written out as | `arch::function` |
//! | powers | `pow` with a constant exponent is products, roots, or by the logarithm | `sim/tests/programs/identity` |
//! | zero | 0 times a value that is not defined is 0: words are finite | `canonical::logic` |
//! | infinities | a number beyond all others is as good as an infinity | `canonical::infinite` |
//! | logistic functions | quotients and logarithms of two exponentials are sigmoid, tanh, softplus: compared in floating point | `canonical::spelled` |
//! | masks | what is far below the largest of a softmax may be nearer | `sim/tests/programs/distance/columns` |
//! | log-sum-exp | exponents may be counted from the largest: compared in floating point | `sim/tests/programs/identity` |
//!
//! | module | holds |
//! |---|---|
//! | `chain` | the passes of a program, checked one by one or from end to end |
//! | `draw` | unknowns by name and place |
//! | `plan`, `evaluate` | tensor IR at a draw, for one sample or a batch |
//! | `value`, `field`, `constants` | arithmetic |
//! | `unrounded` | fixed-point IR at a draw, without its roundings |
//! | `degree` | the probability that a wrong rewrite is not seen |
//! | `sampled` | a sample of the results, where all would take too long |

mod chain;
mod constants;
mod degree;
mod draw;
mod evaluate;
mod field;
mod plan;
mod sampled;
mod unrounded;
mod value;

pub use chain::{Broken, Chain, check, check_each_pass, law};

use crate::canonical::Batch;
use crate::fixed;
use crate::tensor::{Iterator, Nest, Node, Program, TensorId};
use draw::{Draw, Region};
use evaluate::{Outcome, Outside, Run};
use sampled::{Sample, is_sampled, sample};
use std::collections::BTreeMap;
use value::{Arithmetic, Value};

/// Draws of unknowns, where there is time for them. One would do for polynomials; a threshold of a comparison is seen where values lie on its
/// two sides.
pub const DRAWS: u32 = 16;
/// Every so many draws one is of small numbers, with ties.
const GRID: u64 = 5;
/// Tries of a draw whose comparisons are too close to call.
const TRIES: u64 = 8;
/// Relative to the largest element of a result: real numbers that are the same but for roundings.
const ROUNDING: f64 = 1e-9;

/// A program and the batch it is for.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The program.
    pub program: &'a Program,
    /// The batch.
    pub batch: Batch,
    /// Whether the program says itself what becomes of the samples; else it speaks of one, and each of them is one.
    pub vectorised: bool,
}

impl Side<'_> {
    /// Samples of which it speaks one by one.
    fn samples(&self) -> u32 {
        if self.vectorised { 1 } else { self.batch.size.max(1) }
    }
}

/// How much work a comparison may take, in operations on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort(pub u64);

impl Effort {
    /// About a tenth of what it takes to compile a program, which grows with its statements.
    pub fn of(program: &Program) -> Effort {
        Effort(PER_STATEMENT * (program.nests.len() as u64 + 1))
    }
}

/// Operations on values in a tenth of the time that a statement takes to compile.
const PER_STATEMENT: u64 = 500_000;

/// What has to be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// Residues: the laws of a field.
    Field,
    /// Real numbers: a named law of functions.
    Functions,
}

/// What was compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Elements of results.
    pub values: u64,
    /// Of these, in how many a rounded constant is not recognised: equal in floating point only.
    pub rounded: u64,
    /// Draws.
    pub draws: u32,
    /// Binary logarithm of the probability that two different polynomials were equal in all draws.
    pub log2_error: f64,
    /// One of so many elements was compared, if not all.
    pub one_of: Option<u64>,
}

/// A result that is not the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Its name in the source; or the state whose next value it is.
    pub result: String,
    /// Which element, row-major.
    pub element: usize,
    /// Its values before and after, if they have any.
    pub values: (Option<f64>, Option<f64>),
    /// Whether it is certain: else no draw could tell how a comparison goes.
    pub certain: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |value: Option<f64>| value.map_or("nothing".to_owned(), |value| format!("{value:.6}"));
        let (before, after) = (show(self.values.0), show(self.values.1));
        let Difference { result, element, .. } = self;
        write!(
            f,
            "element {element} of {result} is another polynomial: {before} before, {after} after at a random point"
        )
    }
}

/// Compare two programs: everything that `after` names, and the next values of its states.
///
/// # Errors
/// The first result that differs.
pub fn compare(before: Side<'_>, after: Side<'_>, law: Law, effort: Effort) -> Result<Evidence, Difference> {
    let each = work(before).saturating_add(work(after)).max(1);
    let draws = (effort.0 / each).min(DRAWS.into());
    let one_of = (draws == 0).then(|| one_of(before.program));
    let mut comparison = Comparison::new(before, after, law, one_of);
    for number in 0..draws.max(1) {
        comparison.draw(number)?;
    }
    let random = draws.max(1) - draws / GRID;
    let log2_error = random as f64 * (libm::log2(degree::of_difference(before.program, after.program)) - 61.0);
    let Comparison { values, rounded, .. } = comparison;
    Ok(Evidence { values, rounded, draws: draws.max(1) as u32, log2_error, one_of })
}

/// Compare a program in fixed point, without its roundings, with the canonical program that it was made of. `Ok(None)`: numbers beyond all others
/// take the place of infinities, and are smaller in words.
///
/// # Errors
/// The first result that differs by more than roundings.
pub fn compare_unrounded(
    canonical: &Program,
    lowered: &fixed::Program,
    effort: Effort,
) -> Result<Option<Evidence>, Difference> {
    if unrounded::has_numbers_beyond(canonical) {
        return Ok(None);
    }
    let side = Side { program: canonical, batch: Batch::SINGLE, vectorised: true };
    let draws = (effort.0 / work(side).saturating_mul(2).max(1)).clamp(1, DRAWS.into());
    let mut comparison = Comparison::new(side, side, Law::Field, None);
    for number in 0..draws {
        comparison.attempts(number, |comparison, draw, arithmetic| {
            let before = Run::of(side, &[], draw, arithmetic).map_err(|Outside| None)?;
            let after = unrounded::Run::of(lowered, canonical, draw, arithmetic);
            // States that no update names stay as they are.
            let states = after.states.into_iter().filter(|(name, _)| before.states.iter().any(|(old, _)| old == name));
            let after = Outcome { states: states.collect(), ..after };
            comparison.results(&before, &after).map_err(Some)
        })?;
    }
    let random = draws - draws / GRID;
    let log2_error = random as f64 * (libm::log2(degree::of_difference(canonical, canonical)) - 61.0);
    let Comparison { values, rounded, .. } = comparison;
    Ok(Some(Evidence { values, rounded, draws: draws as u32, log2_error, one_of: None }))
}

/// So many elements that about a dozen of the largest result are compared.
fn one_of(program: &Program) -> u64 {
    let elements = |tensor: &TensorId| program.tensors[tensor.0].shape.iter().map(|&n| u64::from(n)).product::<u64>();
    let named = program.names.iter().map(|(_, tensor)| *tensor);
    let states = program.updates.iter().map(|update| update.state);
    let descents = program.descents.iter().map(|descent| descent.state);
    named.chain(states).chain(descents).map(|tensor| elements(&tensor)).max().unwrap_or(1).div_ceil(12).max(2)
}

/// Operations of an evaluation.
fn work(side: Side<'_>) -> u64 {
    let of_nest = |nest: &Nest| {
        let points: u64 = nest.iterators.iter().map(Iterator::extent).product();
        points.saturating_mul(nest.body.nodes.len() as u64 + 1)
    };
    let once: u64 = side.program.nests.iter().map(of_nest).fold(0, u64::saturating_add);
    once.saturating_mul(side.samples().into())
}

/// Tensors that a nest reads in its body.
fn sources(nest: &Nest) -> impl std::iter::Iterator<Item = TensorId> {
    nest.body.nodes.iter().filter_map(|node| match node {
        Node::Read { tensor, .. } | Node::Gather { tensor, .. } => Some(*tensor),
        _ => None,
    })
}

/// Elements of each result for one sample, by name.
fn elements(program: &Program) -> BTreeMap<String, usize> {
    let count = |tensor: TensorId| program.tensors[tensor.0].shape.iter().map(|&n| n as usize).product();
    let states = program.updates.iter().map(|update| update.state);
    let states = states.chain(program.descents.iter().map(|descent| descent.state));
    let states = states.map(|state| (program.tensors[state.0].name.clone(), count(state)));
    program.names.iter().map(|(name, tensor)| (name.clone(), count(*tensor))).chain(states).collect()
}

struct Comparison<'a> {
    before: Side<'a>,
    after: Side<'a>,
    law: Law,
    one_of: Option<u64>,
    elements: BTreeMap<String, usize>,
    needed: [Sample; 2],
    largest_integer: i64,
    values: u64,
    rounded: u64,
}

impl<'a> Comparison<'a> {
    fn new(before: Side<'a>, after: Side<'a>, law: Law, one_of: Option<u64>) -> Comparison<'a> {
        let elements = elements(before.program);
        let needed = [before, after].map(|side| match one_of {
            Some(one_of) => sample(side.program, one_of, &elements),
            None => Sample::new(),
        });
        Comparison { before, after, law, one_of, elements, needed, largest_integer: 3, values: 0, rounded: 0 }
    }

    /// Compare at one draw.
    fn draw(&mut self, number: u64) -> Result<(), Difference> {
        self.attempts(number, |comparison, draw, arithmetic| {
            let [needed_before, needed_after] = &comparison.needed;
            // An input was no index.
            let before = Run::of(comparison.before, needed_before, draw, arithmetic).map_err(|Outside| None)?;
            let mut after = Run::of(comparison.after, needed_after, draw, arithmetic).map_err(|Outside| None)?;
            let found = comparison.results(&before, &after);
            if !matches!(&found, Err(difference) if difference.values.1.is_none()) {
                return found.map_err(Some);
            }
            // It computes what its source does not take.
            arithmetic.finite = true;
            after = Run::of(comparison.after, needed_after, draw, arithmetic).map_err(|Outside| None)?;
            comparison.results(&before, &after).map_err(Some)
        })
    }

    /// Draw until comparisons of values are clear, or the results are the same whatever they are. `evaluate` gives the number of results and of
    /// rounded ones, a difference, or nothing where the draw says nothing.
    fn attempts(
        &mut self,
        number: u64,
        evaluate: impl Fn(&Self, &Draw, &mut Arithmetic) -> Result<(u64, u64), Option<Difference>>,
    ) -> Result<(), Difference> {
        let mut doubtful = None;
        for attempt in 0..TRIES {
            let region = match (number + attempt) % 4 {
                _ if number % GRID == GRID - 1 => Region::Grid,
                1 => Region::Positive,
                3 => Region::Small,
                _ => Region::Mixed,
            };
            let seed = 1 + number * TRIES + attempt;
            let draw = Draw { seed, region, largest_integer: self.largest_integer };
            let mut arithmetic = Arithmetic::default();
            match evaluate(self, &draw, &mut arithmetic) {
                Ok((values, rounded)) => {
                    (self.values, self.rounded) = (values.max(self.values), rounded.max(self.rounded));
                    return Ok(());
                }
                Err(Some(difference)) if !arithmetic.unclear => return Err(difference),
                Err(Some(difference)) => doubtful = Some(Difference { certain: false, ..difference }),
                Err(None) => self.largest_integer /= 2,
            }
        }
        doubtful.map_or(Ok(()), Err)
    }

    /// Compare the results: how many there are, and in how many a constant was rounded.
    fn results(&self, before: &Outcome, after: &Outcome) -> Result<(u64, u64), Difference> {
        let (mut values, mut rounded) = (0, 0);
        let both = [(&before.names, &after.names, ""), (&before.states, &after.states, "the next ")];
        for (olds, news, kind) in both {
            for (name, new) in news {
                let result = format!("{kind}`{name}`");
                let missing = Difference { result: result.clone(), element: 0, values: (None, None), certain: true };
                let (_, old) = olds.iter().rev().find(|(known, _)| known == name).ok_or_else(|| missing.clone())?;
                if old.len() != new.len() {
                    return Err(missing);
                }
                let real = |value: &Option<Value>| value.map_or(0.0, |value| value.real.abs());
                let largest = old.iter().map(real).filter(|size| size.is_finite()).fold(0.0, f64::max);
                for (element, (old, new)) in old.iter().zip(new).enumerate() {
                    let sampled = self.one_of.is_none_or(|one_of| is_sampled(name, element, one_of, &self.elements));
                    let Some(old) = old.filter(|_| sampled) else { continue };
                    values += 1;
                    let same = new.is_some_and(|new| new.residue == old.residue);
                    let close = |new: Value| (new.real - old.real).abs() <= ROUNDING * largest;
                    match new {
                        _ if same => {}
                        Some(new) if close(*new) => rounded += u64::from(self.law == Law::Field),
                        _ => {
                            let values = (Some(old.real), new.map(|new| new.real));
                            return Err(Difference { result, element, values, certain: true });
                        }
                    }
                }
            }
        }
        Ok((values, rounded))
    }
}
