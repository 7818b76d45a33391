//! One program, evaluated three times: plain, golden, and golden after the canonical passes.
//!
//!     tensor::Program ──▶ plain  =  golden
//!            └─canonicalise─▶ golden  ≈      and each pass is an identity of polynomials

use super::identities::{EFFORT, rewrites};
use compiler::canonical::{Batch, Keep, Options, canonicalise};
use compiler::tensor::{self, Program, TensorId};
use sim::eval::{Elements, Engine};
use sim::golden::Golden;
use sim::plain::Plain;

/// What is set before a step.
pub(crate) type Inputs = Vec<(TensorId, Elements)>;

/// How three evaluations came out that did not differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// All three.
    Three,
    /// The program as it is; it has no canonical form, or that was not asked for.
    Two,
    /// Both evaluators refuse the values.
    Fault,
}

/// All tensors after each step, or the step and the code of what is wrong with the values.
type Outcome = Result<Vec<Vec<Elements>>, (usize, arch::Code)>;

fn outcome(engine: &mut impl Engine, tensors: &[TensorId], steps: &[Inputs]) -> Outcome {
    let mut after = Vec::new();
    for (number, inputs) in steps.iter().enumerate() {
        for (tensor, values) in inputs {
            engine.set(*tensor, values);
        }
        engine.step().map_err(|diagnostic| (number, diagnostic.code))?;
        after.push(tensors.iter().map(|&tensor| engine.value(tensor)).collect());
    }
    Ok(after)
}

/// Evaluate a program as it is, plain and by golden.
fn evaluators(program: &Program, steps: &[Inputs]) -> Result<Outcome, String> {
    let all: Vec<TensorId> = (0..program.tensors.len()).map(TensorId).collect();
    let plain = outcome(&mut Plain::new(program), &all, steps);
    let golden = outcome(&mut Golden::new(program), &all, steps);
    let name = |id: usize| program.tensors[id].name.clone();
    compare("golden", &golden, &plain, close, name).map_err(|why| format!("{why}\n{program}"))?;
    Ok(plain)
}

/// The same on values that may be none: canonical form is for numbers.
///
/// # Errors
/// The first element that differs, in words.
pub(crate) fn evaluators_agree(program: &Program, steps: &[Inputs]) -> Result<Agreement, String> {
    evaluators(program, steps).map(|plain| if plain.is_ok() { Agreement::Two } else { Agreement::Fault })
}

/// Evaluate a program in all ways.
///
/// # Errors
/// The first element that differs, in words.
pub(crate) fn agree(program: &Program, steps: &[Inputs]) -> Result<Agreement, String> {
    let plain = evaluators(program, steps)?;
    if plain.is_err() {
        return Ok(Agreement::Fault);
    }
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let Ok(canonical) = canonicalise(program, &options) else { return Ok(Agreement::Two) };
    tensor::verify(&canonical);
    rewrites(program, EFFORT).map_err(|broken| format!("{broken}\n{program}"))?;
    let pairs = same_names(program, &canonical);
    let (here, there): (Vec<TensorId>, Vec<TensorId>) = pairs.into_iter().unzip();
    let moved = |inputs: &Inputs| -> Inputs {
        let place =
            |id: TensorId| canonical.tensors.iter().position(|tensor| tensor.name == program.tensors[id.0].name);
        inputs.iter().filter_map(|(id, values)| Some((TensorId(place(*id)?), values.clone()))).collect()
    };
    let steps: Vec<Inputs> = steps.iter().map(moved).collect();
    let mut golden = outcome(&mut Golden::new(&canonical), &there, &steps);
    // A weight whose next value is not known keeps its own. Canonical form may know it, and goes another way from there on.
    let known = plain
        .iter()
        .flatten()
        .take_while(|step| program.updates.iter().all(|update| step[update.next.0].iter().all(Option::is_some)));
    let known = known.count();
    let mut plain: Outcome = plain.map(|steps| {
        let chosen = |step: Vec<Elements>| here.iter().map(|id| step[id.0].clone()).collect();
        steps.into_iter().map(chosen).collect()
    });
    for outcome in [&mut golden, &mut plain].into_iter().flatten() {
        outcome.truncate(known);
    }
    compare("golden in canonical form", &golden, &plain, close_where_known, |n| {
        program.tensors[here[n].0].name.clone()
    })
    .map_err(|why| format!("{why}\n{program}\ncanonical:\n{canonical}"))?;
    Ok(Agreement::Three)
}

/// Results and weights of a program, and where its canonical form has them.
fn same_names(program: &Program, canonical: &Program) -> Vec<(TensorId, TensorId)> {
    let named = program.names.iter().filter_map(|(name, id)| {
        canonical.names.iter().find(|(other, _)| other == name).map(|&(_, other)| (*id, other))
    });
    let states = program.tensors.iter().enumerate().filter(|(_, tensor)| tensor.role == tensor::Role::State);
    let states = states.filter_map(|(id, tensor)| {
        let other = canonical.tensors.iter().position(|other| other.name == tensor.name)?;
        Some((TensorId(id), TensorId(other)))
    });
    named.chain(states).collect()
}

/// `name`: of a place in the list of tensors.
fn compare(
    what: &str,
    found: &Outcome,
    expected: &Outcome,
    close: impl Fn(Option<f64>, Option<f64>, f64) -> bool,
    name: impl Fn(usize) -> String,
) -> Result<(), String> {
    let (found, expected) = match (found, expected) {
        (Ok(found), Ok(expected)) => (found, expected),
        (Err(found), Err(expected)) if found == expected => return Ok(()),
        (found, expected) => {
            let said = |outcome: &Outcome| match outcome {
                Ok(_) => "values".to_owned(),
                Err((step, code)) => format!("{code} in step {step}"),
            };
            return Err(format!("{what} gives {}, plain {}", said(found), said(expected)));
        }
    };
    // Rounding errors grow with the numbers on the way.
    let largest = expected.iter().flatten().flatten().flatten().filter(|value| value.is_finite());
    let largest = largest.fold(1.0, |largest: f64, value| largest.max(value.abs()));
    for (step, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (tensor, (found, expected)) in found.iter().zip(expected).enumerate() {
            for (element, (found, expected)) in found.iter().zip(expected).enumerate() {
                if !close(*found, *expected, largest) {
                    let place = format!("step {step}: {}[{element}]", name(tensor));
                    return Err(format!("{place} is {found:?} in {what}, {expected:?} in plain"));
                }
            }
        }
    }
    Ok(())
}

#[allow(clippy::float_cmp, reason = "infinities are equal to themselves only")]
fn close(found: Option<f64>, expected: Option<f64>, largest: f64) -> bool {
    match (found, expected) {
        (Some(found), Some(expected)) => {
            found == expected || found.is_nan() && expected.is_nan() || (found - expected).abs() <= 1e-12 * largest
        }
        (None, None) => true,
        _ => false,
    }
}

/// Canonical form is exact on numbers. What has no value or is none may be another thing there: both ways of a choice are computed,
/// and `0 * x` is 0.
fn close_where_known(found: Option<f64>, expected: Option<f64>, largest: f64) -> bool {
    expected.is_none_or(|expected| !expected.is_finite()) || found.is_none() || close(found, expected, largest)
}
