//! `prove`: the source against canonical form and fixed point, and each image against its fixed-point program, for all inputs and weights.

use crate::arguments::{Global, Prove};
use crate::interrupt;
use crate::output::{self, Talk};
use crate::subject;
use arch::Image;
use compiler::fixed::Program;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use schemars::JsonSchema;
use serde::Serialize;
use sim::prove::{Difference, Proof, Verdict, prove};
use workbench::checked::Checked;
use workbench::documents::Document;
use workbench::{Failure, Project};

/// What is proven of the images.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Judgement {
    /// Whether all are.
    proven: bool,
    /// Each of them.
    images: Vec<Judged>,
    /// How the way from the source down to the words was checked, where the images are segments of a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
}

/// What is proven of one image.
#[derive(Debug, Serialize, JsonSchema)]
struct Judged {
    /// `training`, `last batch`, `prediction` or `function`, or a segment of a function.
    image: String,
    /// `proven`; `refuted`, with inputs that show the difference or a grid that is stuck; or `undecided`.
    #[schemars(extend("enum" = ["proven", "refuted", "undecided"]))]
    verdict: &'static str,
    /// How the way from the source down to its words was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Checked>,
    /// What was proven, and how much work it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Proof>,
    /// The first word that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Difference>,
    /// Why nothing could be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Judged {
    fn new(image: String, checked: Option<&Checked>, verdict: &Verdict) -> Judged {
        let checked = checked.cloned();
        let open = Judged { image, verdict: "undecided", checked, proof: None, difference: None, reason: None };
        match verdict.clone() {
            Verdict::Proven(proof) => Judged { verdict: "proven", proof: Some(proof), ..open },
            Verdict::Refuted(first) => Judged { verdict: "refuted", difference: Some(*first), ..open },
            Verdict::Undecided(first) => Judged { difference: Some(*first), ..open },
            Verdict::Stuck(reason) => Judged { verdict: "refuted", reason: Some(reason), ..open },
            Verdict::Incomparable(reason) => Judged { reason: Some(reason), ..open },
            // The command has no budget.
            Verdict::Cancelled | Verdict::Sampled(_) => open,
        }
    }
}

/// Prove, print.
pub fn run(global: &Global, options: &Prove, talk: &Talk) -> Result<(), Failure> {
    let project = subject::project(global, options.target.program.as_deref(), &options.target.entry)?;
    if project.in_segments() {
        let function = subject::segmented(&project, &options.target, talk)?;
        return judge(global, &project, &[function.checked()?], function.images(), options.steps as usize, talk);
    }
    let subject = subject::subject(&project, &options.target, talk)?;
    let images = subject.images().into_iter().map(|(name, program, image)| (name.to_owned(), program, image)).collect();
    judge(global, &project, &subject.checked()?, images, options.steps as usize, talk)
}

/// Prove each image, and say so beside what was checked above them.
fn judge(
    global: &Global,
    project: &Project,
    checks: &[Checked],
    images: Vec<(String, &Program, &Image)>,
    steps: usize,
    talk: &Talk,
) -> Result<(), Failure> {
    let checked = |name: &str| checks.iter().find(|checked| checked.image == name);
    // Of a function in segments no image is the whole of it.
    let above = checks.iter().find(|checked| images.iter().all(|(name, ..)| name != checked.image));
    let mut verdicts = Vec::new();
    for (name, program, image) in images {
        let verdict = watched(&name, (program, image), &project.source.text, steps, talk);
        if verdict == Verdict::Cancelled {
            return Err(Failure::Interrupted);
        }
        verdicts.push((name, verdict));
    }
    let failed = verdicts.iter().find(|(_, verdict)| !matches!(verdict, Verdict::Proven(_)));
    let differs = failed.map(|(name, verdict)| Failure::Mismatch(format!("{name}: {verdict}")));
    output::either(
        global.format,
        || {
            let line = |(name, verdict): &(String, Verdict)| match checked(name) {
                Some(above) => format!("{name}: {above} | fixed = image: {verdict}\n"),
                None => format!("{name}: fixed = image: {verdict}\n"),
            };
            let above =
                above.map(|above| format!("{}: {above} | fixed = its segments, one after the other\n", above.image));
            above.into_iter().chain(verdicts.iter().map(line)).collect()
        },
        || {
            let images =
                verdicts.iter().map(|(name, verdict)| Judged::new(name.clone(), checked(name), verdict)).collect();
            Document::new(Judgement { proven: differs.is_none(), images, checked: above.cloned() })
                .failed(differs.as_ref())
        },
    )?;
    differs.map_or(Ok(()), Err)
}

/// A proof with a bar, which Ctrl-C ends.
fn watched(name: &str, (program, image): (&Program, &Image), source: &str, steps: usize, talk: &Talk) -> Verdict {
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    if !talk.shows_progress() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{prefix:12} {wide_bar} {pos}/{len} words") {
        bar.set_style(style);
    }
    bar.set_prefix(name.to_owned());
    let verdict = prove(program, image, source, steps, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        !interrupt::requested()
    });
    bar.finish_and_clear();
    verdict
}
