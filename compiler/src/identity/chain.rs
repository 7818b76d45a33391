//! The canonical passes of a program, checked.

use super::{DRAWS, Difference, Effort, Evidence, Law, Side, compare};
use crate::canonical::{Keep, Options, Pass, canonicalise_watched};
use crate::tensor::Program;
use arch::Diagnostic;
use std::collections::BTreeSet;

/// Passes that use a named law of functions.
const LAWS: [(&str, &str); 2] = [("shift_exponentials", "log-sum-exp"), ("recognise_functions", "logistic functions")];

/// What has been shown of a program and its canonical form.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// The canonical form.
    pub canonical: Program,
    /// From the source to the canonical form, between the passes that use a named law.
    pub field: Evidence,
    /// Named laws of functions that were used; each was checked in floating point.
    pub laws: Vec<&'static str>,
}

impl std::fmt::Display for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Evidence { values, rounded, draws, log2_error, one_of } = self.field;
        write!(f, "identical polynomials, {draws} draws, p < 2^{:.0}", libm::ceil(log2_error))?;
        if let Some(one_of) = one_of {
            write!(f, ", {values} results, a sample of 1 in {one_of}")?;
        }
        if rounded > 0 {
            write!(f, ", {rounded} of {values} results up to rounded constants")?;
        }
        for law in &self.laws {
            write!(f, ", law {law} in floating point")?;
        }
        Ok(())
    }
}

/// A pass that has changed the meaning of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    /// The pass; the passes from the first one to the last one, if not one by one.
    pub pass: &'static str,
    /// What is not the same.
    pub difference: Difference,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.pass, self.difference)
    }
}

/// A program between two passes.
struct Stage {
    pass: &'static str,
    program: Program,
    vectorised: bool,
}

/// Check that the canonical form of a program is the same function, from end to end: a named law of functions splits the way in two.
///
/// # Errors
/// The passes refuse the program: `Ok(None)` is their answer then, as [`crate::canonical::canonicalise`] gives the diagnostics.
/// A pass has changed the meaning.
pub fn check(source: &Program, options: &Options, effort: Effort) -> Result<Option<Chain>, Broken> {
    let Ok(mut stages) = stages(source, options, false) else { return Ok(None) };
    let mut laws = Vec::new();
    let mut field: Option<Evidence> = None;
    let mut begin = 0;
    let last = stages.len() - 1;
    for number in 1..stages.len() {
        let law = law_of(&stages, number);
        if law.is_none() && number < last {
            continue;
        }
        let end = if law.is_some() { number - 1 } else { number };
        field = Some(joined(field, step(&stages, begin, end, Law::Field, options, effort)?));
        if let Some(law) = law {
            step(&stages, end, number, Law::Functions, options, effort)?;
            laws.push(law);
            if number == last {
                break;
            }
        }
        begin = number;
    }
    let field = match field {
        Some(field) => field,
        None => step(&stages, 0, last, Law::Field, options, effort)?,
    };
    Ok(stages.pop().map(|Stage { program: canonical, .. }| Chain { canonical, field, laws }))
}

/// Check every pass of a program against the program before it: how many changed it.
///
/// # Errors
/// The first pass that has changed the meaning.
pub fn check_each_pass(source: &Program, options: &Options, effort: Effort) -> Result<usize, Broken> {
    let Ok(stages) = stages(source, options, true) else { return Ok(0) };
    let mut changed = 0;
    for number in 1..stages.len() {
        if stages[number - 1].program == stages[number].program {
            continue;
        }
        step(&stages, number - 1, number, law(stages[number].pass), options, effort)?;
        changed += 1;
    }
    Ok(changed)
}

/// What has to be equal before and after a pass.
pub fn law(pass: &str) -> Law {
    if LAWS.iter().any(|(known, _)| *known == pass) { Law::Functions } else { Law::Field }
}

/// The law by which a pass has changed its program.
fn law_of(stages: &[Stage], number: usize) -> Option<&'static str> {
    let (_, law) = LAWS.iter().find(|(pass, _)| *pass == stages[number].pass)?;
    (stages[number - 1].program != stages[number].program).then_some(*law)
}

/// What is worse of two pieces of evidence, and their results together.
fn joined(first: Option<Evidence>, second: Evidence) -> Evidence {
    first.map_or(second, |first| Evidence {
        values: first.values + second.values,
        rounded: first.rounded + second.rounded,
        draws: first.draws.min(second.draws),
        log2_error: first.log2_error.max(second.log2_error),
        one_of: first.one_of.max(second.one_of),
    })
}

/// The source, and the program after each pass; or only what a check from end to end needs: both sides of a named law, and the last one.
fn stages(source: &Program, options: &Options, all: bool) -> Result<Vec<Stage>, Vec<Diagnostic>> {
    let mut vectorised = false;
    let mut stages = vec![Stage { pass: "source", program: source.clone(), vectorised }];
    // Whether the last stage may go when another one comes.
    let mut spare = false;
    canonicalise_watched(source, options, &mut |pass: &Pass, program| {
        vectorised |= pass.name == "vectorise";
        stages.push(Stage { pass: pass.name, program: program.clone(), vectorised });
        let last = stages.len() - 1;
        let by_law = law_of(&stages, last).is_some();
        if spare && !all && !by_law {
            stages.remove(last - 1);
        }
        spare = !by_law;
    })?;
    Ok(stages)
}

fn step(
    stages: &[Stage],
    from: usize,
    to: usize,
    law: Law,
    options: &Options,
    effort: Effort,
) -> Result<Evidence, Broken> {
    let broken = |difference| Broken { pass: stages[to].pass, difference };
    let side = |stage: usize| {
        let Stage { program, vectorised, .. } = &stages[stage];
        Side { program, batch: options.batch, vectorised: *vectorised }
    };
    let (before, after) = (side(from), side(to));
    // `select_results` is the third stage.
    if let Some(result) = lost(before.program, after.program, (from < 2).then_some(&options.keep)) {
        let values = (None, None);
        return Err(broken(Difference { result, element: 0, values, certain: true }));
    }
    if before.program == after.program {
        let evidence = Evidence { values: 0, rounded: 0, draws: DRAWS, log2_error: f64::NEG_INFINITY, one_of: None };
        return Ok(evidence);
    }
    compare(before, after, law, effort).map_err(broken)
}

/// A result of the first program that is wanted and that the second does not have. `keep` says which are, else all of them.
fn lost(before: &Program, after: &Program, keep: Option<&Keep>) -> Option<String> {
    let (names, states) = match keep {
        None | Some(Keep::AllNames) => (None, None),
        Some(Keep::Training { predictions }) => (Some(predictions), None),
        Some(Keep::Prediction { names, states }) => (Some(names), Some(states)),
    };
    let wanted = |list: Option<&Vec<String>>, name: &String| list.is_none_or(|list| list.contains(name));
    let named: BTreeSet<&String> = after.names.iter().map(|(name, _)| name).collect();
    let has_elements = |tensor: crate::tensor::TensorId| before.tensors[tensor.0].shape.iter().all(|&n| n > 0);
    let name = before
        .names
        .iter()
        .find(|(name, tensor)| wanted(names, name) && has_elements(*tensor) && !named.contains(name));
    if let Some((name, _)) = name {
        return Some(format!("`{name}`"));
    }
    let after = updated(after);
    let state = updated(before).into_iter().find(|state| wanted(states, state) && !after.contains(state));
    state.map(|state| format!("the next `{state}`"))
}

/// States that have a next value.
fn updated(program: &Program) -> BTreeSet<&String> {
    let updates = program.updates.iter().map(|update| update.state);
    let states = updates.chain(program.descents.iter().map(|descent| descent.state));
    states.map(|state| &program.tensors[state.0].name).collect()
}
