//! `deploy`: a function as hardware, if its written Verilog scores as golden does.

use super::figures;
use crate::arguments::{Deploy, Format, Global};
use crate::output::{self, Talk};
use crate::render;
use schemars::JsonSchema;
use serde::Serialize;
use workbench::build::hardware::{Hardware, Made};
use workbench::documents::Document;
use workbench::functions::deploy::{Deployed, Deployment, Terms};
use workbench::writing::folder::Earlier;
use workbench::{Failure, documents};

/// What the command has written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Written {
    /// The folder; missing where nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<String>,
    /// What `--bitstream` has made of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
    #[serde(flatten)]
    deployed: Deployed,
}

/// Build, run what was built, and put it in its place or refuse it.
pub fn run(global: &Global, options: &Deploy, talk: &Talk) -> Result<(), Failure> {
    let project = options.scored.project(global)?;
    let rows = options.scored.rows()?;
    let terms = Terms { within: options.within, share: options.split, seed: options.seed };
    let folder = project.out_folder(global.out.as_deref());
    let hardware_of = |project| options.bitstream.then(|| Hardware::new(project, &folder, &global.guard)).transpose();
    hardware_of(&project)?;
    let deployment = talk.during("compiling", || Deployment::new(&project, &rows, terms, talk))?;
    let project = &deployment.project;
    let mut hardware = hardware_of(project)?;
    let warnings = deployment.built.report.warnings();
    if global.format == Format::Text {
        render::warnings(&project.source, warnings, talk);
    }
    let guard = global.guard.reading(&project.files());
    if let Some(hardware) = &mut hardware {
        hardware.check(&deployment.built, &folder, &guard)?;
    }
    let mut judged = None;
    let published = deployment.built.files.publish_checked(&folder, Earlier::Removed, &guard, |written| {
        let deployed = deployment.judge.judge(project, written, talk)?;
        let denied = || Some(&deployed.verdict).filter(|_| global.deny_inaccuracy).and_then(Failure::of_verdict);
        let refusal = deployed.refusal.clone().or_else(denied);
        judged = Some(deployed);
        refusal.map_or(Ok(()), Err)
    });
    let Some(deployed) = judged else { return published };
    let out = published.is_ok().then(|| folder.display().to_string());
    let make = |hardware: &Hardware<'_>| hardware.bitstream(&deployment.built, &folder, &global.guard, talk);
    let made = hardware.as_ref().filter(|_| out.is_some()).map(make).transpose()?;
    let text = text(&deployed, out.as_deref()) + made.as_ref().map_or("", |made| &made.text);
    output::either(
        global.format,
        || text,
        || {
            let warnings = documents::messages(&project.source, warnings);
            Document::with(Written { out, made, deployed }, warnings).failed(published.as_ref().err())
        },
    )?;
    published
}

fn text(deployed: &Deployed, out: Option<&str>) -> String {
    let Deployed { result, calibrated, rows, golden, hardware, words_compared, grid, clock_mhz, verdict, .. } =
        deployed;
    let mut text =
        format!("`{result}` of {rows} rows; binary points from {calibrated} others\n{grid}, {clock_mhz} MHz\n");
    if let Some(hardware) = hardware {
        text += &figures("hardware", hardware, golden);
    }
    let end = match out {
        Some(out) => format!("{words_compared} words of the written Verilog equal fixed point\nwrote {out}\n"),
        None => "nothing was written\n".to_owned(),
    };
    format!("{text}{verdict}\n{end}")
}
