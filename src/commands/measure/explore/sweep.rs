//! The combinations of `explore` as a Snakemake workflow: machines, batches and word widths, on a board with synthesis and with seeds of place and
//! route.
//!
//! ```text
//! folder/  Snakefile, points.json, profiles/   written here; swapped as a whole, what jobs have left stays
//!          results/POINT/  measure.json, synth.json, place-SEED.json      one job each: `explore`, `synth`, `place`
//!          report/         table.csv, table.json, index.html             the last job: `explore --collect`
//! ```
//!
//! The name of a point has a hash of its arguments and of the files that they name, so that no result is taken for one of other arguments.

use super::{Combination, Point};
use crate::arguments::{Explore, Global, typed};
use crate::output::Talk;
use crate::subject;
use arch::tools::hex;
use arch::{Code, Diagnostic};
use fpga::flow::OpenFlow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Component, Path, PathBuf};
use workbench::design::prepare;
use workbench::writing::folder::Earlier;
use workbench::writing::{Files, pretty};
use workbench::{Choices, Failure, Project, reading};

/// The file of the points.
const POINTS: &str = "points.json";

/// `points.json`: what a workflow measures.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// Version of the document's form.
    #[schemars(extend("const" = 1))]
    schema_version: u32,
    /// The program.
    pub program: String,
    /// The board; `none` where there is none.
    pub board: String,
    /// Clock of the grid.
    pub clock_mhz: f64,
    /// What the whole board takes, W, where the configuration says it.
    pub watts: Option<f64>,
    /// Whether each machine is synthesised.
    pub synthesis: bool,
    /// Seeds of place and route; none where there is no open flow.
    pub place_seeds: Vec<u32>,
    /// Files that the arguments name, as seen from this one's folder: a job is done again when they change.
    files: Vec<String>,
    /// Machine and batch of each job.
    pub points: Vec<Planned>,
}

/// One machine and batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Planned {
    /// Folder of its results.
    pub name: String,
    /// Rows of the grid.
    pub pus: u32,
    /// Columns of the grid.
    pub pes_per_pu: u32,
    /// Words of input per cycle.
    pub stream_words: u32,
    /// Samples per update.
    pub batch: u32,
    /// Bits of a word.
    pub word: u32,
    /// Arguments of `explore`, `synth` and `place`, as seen from this file's folder.
    arguments: Vec<String>,
    /// Why there is no such machine; it has no jobs then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Sweep {
    /// The sweep of a workflow's folder.
    ///
    /// # Errors
    /// The file cannot be read, or is no sweep of this version.
    pub fn read(folder: &Path) -> Result<Sweep, Failure> {
        let path = folder.join(POINTS);
        let text = reading::text(&path, reading::TEXT)?;
        let name = path.display().to_string();
        let sweep: Sweep = serde_json::from_str(&text).map_err(|error| {
            Failure::json(name.clone(), text, format!("these are no points of a workflow: {error}"), &error)
        })?;
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let wrong = match sweep.points.iter().find(|point| !is_name(&point.name)) {
            _ if sweep.schema_version != 1 => format!("version {} of the points is not known", sweep.schema_version),
            Some(point) => format!("`{}` is no name of a point", point.name),
            None => return Ok(sweep),
        };
        Err(Failure::data(name, vec![Diagnostic::global(Code::Data, wrong)]))
    }
}

/// Write the workflow into `folder`.
///
/// # Errors
/// Whatever is wrong with program or data; something cannot be written.
pub(super) fn write(
    global: &Global,
    options: &Explore,
    project: &Project,
    combinations: &[Combination],
    folder: &Path,
    talk: &Talk,
) -> Result<(), Failure> {
    not_beside_the_jobs(project)?;
    // What is wrong with program or data is said now, not by every job.
    let first = combinations.first().map(|combination| combination.point.batch);
    let asked = Choices { batch: first, ..options.target.plan.choices };
    prepare(project, &subject::data(&options.target), &asked, talk)?;
    let place = fs::create_dir_all(folder).and_then(|()| fs::canonicalize(folder));
    let place = place.map_err(|error| Failure::file("write", folder, &error))?;
    // Snakemake's own mark.
    if fs::read_dir(place.join(".snakemake/locks")).is_ok_and(|mut locks| locks.next().is_some()) {
        let message = format!(
            "cannot write {}: Snakemake is at work there, or was killed: `snakemake --unlock`",
            folder.display()
        );
        return Err(Failure::File(message));
    }
    let sweep = planned(options, project, combinations, &place)?;
    let jobs = sweep.points.iter().filter(|point| point.refused.is_none()).count();
    let each = 1 + usize::from(sweep.synthesis) + sweep.place_seeds.len();
    let mut files = Files::new();
    files.add("Snakefile", include_str!("Snakefile"));
    files.add("profiles/default/config.yaml", include_str!("profile.yaml"));
    files.add(POINTS, pretty(&sweep));
    files.publish(folder, Earlier::Removed, &global.guard.reading(&project.files()))?;
    let shown = folder.display();
    talk.say(format!("wrote {shown}/Snakefile: {} machines, {} jobs", sweep.points.len(), jobs * each + 1));
    match global.format {
        crate::arguments::Format::Text => crate::output::result(&format!("cd {shown} && snakemake -c2\n")),
        crate::arguments::Format::Json => crate::output::json(&sweep),
    }
}

/// Refuse a board whose file only lies in the working folder, which is not that of the jobs.
fn not_beside_the_jobs(project: &Project) -> Result<(), Failure> {
    let file = Path::new("boards").join(&project.board.name).with_extension("toml");
    let beside = project.config_source.as_ref().and_then(|(config, _)| config.parent()).unwrap_or(Path::new(""));
    let found = [beside.join("..").join(&file), beside.join(&file)].iter().any(|path| path.is_file());
    if !file.is_file() || found {
        return Ok(());
    }
    let file = file.display();
    Err(Failure::Usage(format!(
        "jobs do not look for {file} in this folder: move the folder of boards beside the configuration"
    )))
}

/// The arguments of `explore` that a point has for itself, and those that no job needs.
const NOT_PASSED_ON: [&str; 15] = [
    "pus",
    "pes_per_pu",
    "stream_words",
    "batches",
    "batch",
    "words",
    "workflow",
    "place_seeds",
    "collect",
    "out",
    "force",
    "format",
    "jobs",
    "quiet",
    "verbose",
];

/// A job: its arguments, and a name that follows from them and from what it is `about`.
fn planned_point(point: &Point, possible: bool, passed: &[String], widths: bool, about: &Sha256) -> Planned {
    let key = |name: &str, value: u32| format!("--machine={name}={value}");
    let mut arguments = passed.to_vec();
    arguments.extend([
        key("pus", point.pus),
        key("pes_per_pu", point.pes_per_pu),
        key("stream_words", point.stream_words),
        format!("--batch={}", point.batch),
    ]);
    if widths {
        arguments.extend([key("word", point.word), "--machine=accumulator=auto".to_owned()]);
    }
    let mut hash = about.clone();
    hash.update(arguments.join("\0"));
    let name = format!(
        "{}x{}-s{}-b{}-w{}-{}",
        point.pus,
        point.pes_per_pu,
        point.stream_words,
        point.batch,
        point.word,
        hex(&hash.finalize()[..4])
    );
    Planned {
        name,
        pus: point.pus,
        pes_per_pu: point.pes_per_pu,
        stream_words: point.stream_words,
        batch: point.batch,
        word: point.word,
        arguments,
        refused: point.refused.clone().filter(|_| !possible),
    }
}

/// What the jobs are.
fn planned(options: &Explore, project: &Project, combinations: &[Combination], place: &Path) -> Result<Sweep, Failure> {
    let seen = |path: &Path| seen_from(place, path);
    let config = project.config_source.as_ref().map(|(path, _)| path.clone());
    let resolved = |name: &str, path: &Path| match name {
        "config" => config.clone().unwrap_or_else(|| path.to_owned()),
        "program" => project.path.clone(),
        _ => path.to_owned(),
    };
    // What is built in has the same name everywhere.
    let passed = typed(&NOT_PASSED_ON, &|name, path| {
        let file = resolved(name, path);
        if file.is_file() { seen(&file) } else { path.display().to_string() }
    });
    let own_data = project.beside_config(project.config.build.data.as_ref()).filter(|_| project.configured);
    let data = options.target.data.clone().or(own_data);
    let all = [config, Some(project.path.clone()), Some(project.path.with_extension("toml")), data];
    let files: Vec<PathBuf> = all.into_iter().flatten().filter(|file| file.is_file()).collect();
    let mut about = Sha256::new();
    about.update(env!("CARGO_PKG_VERSION"));
    for file in &files {
        let bytes = reading::bytes(file, reading::TABLE)?;
        about.update(Sha256::digest(bytes));
    }
    let mut points: Vec<Planned> = Vec::new();
    for Combination { point, machine, .. } in combinations {
        let planned = planned_point(point, machine.is_some(), &passed, !options.words.is_empty(), &about);
        if points.iter().all(|point| point.name != planned.name) {
            points.push(planned);
        }
    }
    let flow = project.board.facts().and_then(|facts| OpenFlow::of(facts, project.board.clock_mhz));
    let placed = project.board.known.as_ref().filter(|known| flow.is_some() && known.constraints.is_some());
    let mut place_seeds = options.place_seeds.clone();
    place_seeds.sort_unstable();
    place_seeds.dedup();
    Ok(Sweep {
        schema_version: 1,
        program: project.name(),
        board: project.board.name.clone(),
        clock_mhz: project.board.clock_mhz,
        watts: project.board.watts,
        synthesis: project.board.known.is_some(),
        place_seeds: placed.map_or(Vec::new(), |_| place_seeds),
        files: files.iter().map(|file| seen(file)).collect(),
        points,
    })
}

/// A file as it is called in a folder. The file may be a link, its folder not.
fn seen_from(folder: &Path, file: &Path) -> String {
    let parent = file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
    let common = folder.components().zip(parent.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let down = parent.components().skip(common).collect::<Vec<_>>();
    let path: PathBuf = up.chain(down).collect();
    path.join(file.file_name().unwrap_or_default()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_seen_from_a_folder() {
        let outside = tempfile::tempdir().unwrap();
        let outside = fs::canonicalize(outside.path()).unwrap();
        fs::create_dir_all(outside.join("a/b")).unwrap();
        fs::create_dir_all(outside.join("c")).unwrap();
        let seen = |folder: &str, file: &str| seen_from(&outside.join(folder), &outside.join(file));
        assert_eq!(seen("a/b", "c/x.t"), "../../c/x.t");
        assert_eq!(seen("a/b", "a/b/../x.t"), "../x.t");
        assert_eq!(seen("a", "a/x.t"), "x.t");
        assert_eq!(seen("a", "a/b/x.t"), "b/x.t");
    }
}
