//! The way from the source to the words of an image, as `build` and `prove` say it.
//!
//! ```text
//! source = canonical: identical polynomials, 16 draws, p < 2^-700  |  canonical ≈ fixed: rounding only  |  fixed = image: proven: ...
//! ```
//!
//! `prove` climbs the last step for all inputs and all words; `build` as far as a tenth of the compiler's work goes: with residues in place of
//! terms, and of large images with the first words of a step.

use super::design::Design;
use super::subject::Subject;
use crate::engines::{prediction_options, step_options};
use crate::failure::Failure;
use crate::functions::Function;
use arch::Image;
use compiler::canonical::Options;
use compiler::fixed;
use compiler::identity::{self, Effort};
use compiler::tensor::Program;
use schemars::JsonSchema;
use serde::Serialize;
use sim::prove::{Verdict, Work, prove_within};

/// What has been checked of one image, from the source down to its words.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Checked {
    /// `training`, `last batch`, `prediction` or `function`.
    pub image: &'static str,
    /// How the canonical form was compared with the source.
    pub canonical: String,
    /// How fixed point was compared with the canonical form.
    pub fixed: String,
    /// How the image was compared with fixed point, by `build`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// Multiply-adds in a tenth of the time that a program takes to compile, which grows with its operations.
fn budget(program: &fixed::Program) -> Work {
    Work { terms: 10_000, residues: 30_000 * (program.operations.len() as u64 + 1) }
}

impl std::fmt::Display for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "source = canonical: {} | canonical ≈ fixed: {}", self.canonical, self.fixed)?;
        self.words.as_ref().map_or(Ok(()), |words| write!(f, " | fixed = image: {words}"))
    }
}

impl Subject {
    /// Check every image above its words.
    ///
    /// # Errors
    /// A pass of the compiler has changed the meaning of the program.
    pub fn checked(&self) -> Result<Vec<Checked>, Failure> {
        match self {
            Subject::Function(function) => function.checked(),
            Subject::Training(design) => design.checked(),
        }
    }

    /// What can be proven: the name of each image, its fixed-point program, and the image.
    pub fn images(&self) -> Vec<(&'static str, &fixed::Program, &Image)> {
        match self {
            Subject::Function(function) => function.images(),
            Subject::Training(design) => design.named_images(),
        }
    }
}

impl Function {
    /// As [`Subject::checked`].
    pub(crate) fn checked(&self) -> Result<Vec<Checked>, Failure> {
        Ok(vec![checked("function", &self.parsed, &self.options(), &self.climb.fixed)?])
    }

    /// As [`Subject::checked`], down to the image.
    pub(crate) fn proven(&self, source: &str) -> Result<Vec<Checked>, Failure> {
        proven(self.checked()?, &self.images(), source)
    }

    fn images(&self) -> Vec<(&'static str, &fixed::Program, &Image)> {
        vec![("function", &self.climb.step, self.climb.image())]
    }
}

impl Design {
    /// As [`Subject::checked`].
    pub(crate) fn checked(&self) -> Result<Vec<Checked>, Failure> {
        let Design { samples, schedule, lowered, .. } = self;
        let left = schedule.left_over(samples.train.len());
        let step = |size: usize| step_options(size, schedule.reduction);
        let updates = [
            ("training", lowered.full.as_ref(), step(schedule.batch)),
            ("last batch", lowered.rest.as_ref(), step(left)),
            ("prediction", Some(&lowered.predict), prediction_options(&samples.signature)),
        ];
        let images = updates.into_iter().filter_map(|(name, lowered, options)| Some((name, lowered?, options)));
        images.map(|(name, lowered, options)| checked(name, &samples.program, &options, lowered)).collect()
    }

    /// As [`Subject::checked`], down to the images.
    pub(crate) fn proven(&self, source: &str) -> Result<Vec<Checked>, Failure> {
        proven(self.checked()?, &self.named_images(), source)
    }

    fn named_images(&self) -> Vec<(&'static str, &fixed::Program, &Image)> {
        let Design { lowered, images, .. } = self;
        let updates = [("training", &lowered.full, &images.full), ("last batch", &lowered.rest, &images.rest)];
        let updates = updates
            .into_iter()
            .filter_map(|(name, program, compiled)| Some((name, program.as_ref()?, &compiled.as_ref()?.image)));
        updates.chain([("prediction", &lowered.predict, &images.predict.image)]).collect()
    }
}

/// Prove the images as far as their budgets go.
fn proven(
    checks: Vec<Checked>,
    images: &[(&'static str, &fixed::Program, &Image)],
    source: &str,
) -> Result<Vec<Checked>, Failure> {
    let words = |checked: Checked| {
        let found = images.iter().find(|(name, ..)| *name == checked.image);
        let Some(&(name, program, image)) = found else { return Ok(checked) };
        let verdict = within_budget(name, (program, image), source)?;
        Ok(Checked { words: Some(verdict.to_string()), ..checked })
    };
    checks.into_iter().map(words).collect()
}

/// Prove an image as far as its budget goes.
///
/// # Errors
/// It is refuted.
pub(crate) fn within_budget(
    name: &str,
    (program, image): (&fixed::Program, &Image),
    source: &str,
) -> Result<Verdict, Failure> {
    match prove_within(program, image, source, budget(program)) {
        wrong @ (Verdict::Refuted(_) | Verdict::Stuck(_)) => {
            Err(Failure::Mismatch(format!("{name}: fixed ≠ image: {wrong}; this is a fault of tabla-gen")))
        }
        verdict => Ok(verdict),
    }
}

pub(crate) fn checked(
    image: &'static str,
    source: &Program,
    options: &Options,
    lowered: &fixed::Program,
) -> Result<Checked, Failure> {
    let wrong =
        |rung: &str, why: String| Failure::Mismatch(format!("{image}: {rung}: {why}; this is a fault of tabla-gen"));
    let effort = Effort::of(source);
    let chain =
        identity::check(source, options, effort).map_err(|broken| wrong("source ≠ canonical", broken.to_string()))?;
    let Some(chain) = chain else {
        return Err(Failure::Bug(format!("{image}: a program that was compiled has no canonical form")));
    };
    let fixed = identity::compare_unrounded(&chain.canonical, lowered, effort)
        .map_err(|difference| wrong("canonical ≠ fixed", difference.to_string()))?;
    let fixed = match fixed {
        Some(evidence) if evidence.rounded == 0 => "rounding only".to_owned(),
        Some(evidence) => {
            format!("rounding only, {} of {} results up to rounded constants", evidence.rounded, evidence.values)
        }
        None => "rounding, and numbers beyond the word in the place of infinities".to_owned(),
    };
    Ok(Checked { image, canonical: chain.to_string(), fixed, words: None })
}
