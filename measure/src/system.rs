//! `system`: whole systems, and the same trainings on one core of this computer: both tables of docs/tables/system.txt.
//! Needs scripts/setup --peers and --sdram; takes an hour on a quiet computer.

use crate::project::none;
use crate::{Outcome, Project, tables};
use serde::Serialize;
use std::error::Error;
use std::fs;
use std::path::Path;
use workbench::system::{self, Case};
use workbench::{Training, samples, writing};
use xshell::cmd;

/// What a program elsewhere needs for the same training.
#[derive(Serialize)]
struct Task<'a> {
    name: &'a str,
    program: &'a str,
    /// The step size.
    mu: f64,
    /// Names and elements of a sample's tensors.
    fields: Vec<(&'a str, usize)>,
    /// Names and extents of the weights.
    weights: Vec<(&'a str, &'a [u32])>,
    samples: usize,
}

/// Write `NAME.json`, and `NAME.f32`: weights before the first step, then sample after sample, 32 bits each, lowest byte first.
///
/// # Errors
/// The training cannot be prepared, or nothing can be written.
pub fn write_samples(case: &Case, folder: &Path) -> Result<(), Box<dyn Error>> {
    let training = system::training(case, &case.runs[0], &()).map_err(|failure| failure.to_string())?;
    let Training { samples, start, project, .. } = &training;
    let constants = project.constants(&samples::defaults(&samples.settings, &samples.encoding));
    let shapes = samples.shapes_of_weights();
    let task = Task {
        name: &case.name,
        program: &case.program,
        mu: constants.iter().find(|(name, _)| name == "mu").map_or(0.0, |&(_, mu)| mu),
        fields: samples.signature.fields.iter().map(|field| (field.name.as_str(), field.elements())).collect(),
        weights: shapes.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect(),
        samples: samples.train.len(),
    };
    let values = start.values().chain(samples.train.iter().flatten()).flatten();
    let bytes: Vec<u8> = values.flat_map(|&value| (value as f32).to_le_bytes()).collect();
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{}.json", case.name)), writing::pretty(&task))?;
    fs::write(folder.join(format!("{}.f32", case.name)), bytes)?;
    Ok(())
}

/// Measure, and write both tables.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    none(arguments)?;
    let shell = &project.shell;
    let python = project.interpreter(Some("peers"))?;
    project.group("sdram")?;
    let work = shell.create_dir("target/system")?;
    let (peers, samples) = (work.join("peers"), work.join("samples"));
    // Sums are vectorised only where their order does not matter.
    cmd!(shell, "gcc -O3 -march=native -ffast-math -o {peers} measure/python/peers.c -lm").quiet().run()?;
    let measured = project.document(&project.tool(false)?, &["bench", "--system"])?;
    for case in system::read().map_err(|failure| failure.to_string())? {
        write_samples(&case, &samples)?;
    }
    shell.write_file(samples.join("rows.json"), measured.to_string())?;
    project.put("docs/tables/system.txt", "boards", &tables::systems(&measured)?)?;
    let table = cmd!(shell, "{python} measure/python/peers.py {samples} {peers}").quiet().read()?;
    let processor = shell.read_file("/proc/cpuinfo")?;
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let processor = processor.trim_start_matches(['\t', ' ', ':']);
    let compiler = cmd!(shell, "gcc -dumpfullversion").quiet().read()?;
    let packages = cmd!(shell, "{python} -m pip freeze").quiet().read()?;
    let used = |line: &&str| ["numpy==", "scikit-learn==", "torch=="].iter().any(|name| line.starts_with(name));
    let packages: Vec<String> = packages.lines().filter(used).map(|line| line.replace("==", " ")).collect();
    let with = format!("{table}\n\n{processor}, gcc {compiler}, {}.\n", packages.join(", "));
    project.put("docs/tables/system.txt", "peers", &with)?;
    Ok(())
}
