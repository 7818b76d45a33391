//! Arguments become what a command works on: a project, records, a function or a training.

use crate::arguments::{DataFile, Dialect, Entry, Global, PlanOptions, SelectionOptions, Target};
use crate::output::Talk;
use compiler::language::{Limits, Options};
use std::path::Path;
use workbench::functions::is_function;
use workbench::functions::segmented::SegmentedFunction;
use workbench::records::calibration::Origin;
use workbench::resident::FunctionOptions;
use workbench::{Data, Failure, Project, Records, Request, Subject};

/// Config and program that the arguments name.
pub fn project(global: &Global, program: Option<&Path>, entry: &Entry) -> Result<Project, Failure> {
    let reading = Options {
        set: [global.set.clone(), entry.shape.clone()].concat(),
        entry: entry.function.clone(),
        seed_dialect: global.dialect == Dialect::Seed,
        rink_left: global.rink_left,
        cfdlang: global.cfdlang,
        gaussian: global.gaussian,
        limits: limits(entry),
        ..Options::default()
    };
    let project = Project::open(&Request {
        config: global.config.clone(),
        machine: global.machine.clone(),
        program: program.map(Path::to_owned),
        language: global.lang,
        reading,
        function: FunctionOptions::from(&entry.stays),
        records: entry.stays.records,
        segments: entry.stays.segments,
        module: global.module.clone(),
    })?;
    global.guard.reading(&project.files()).check()?;
    Ok(project)
}

/// Config and program that a target names, with the records that its binary points are chosen from.
pub fn target(global: &Global, target: &Target) -> Result<Project, Failure> {
    let mut project = project(global, target.program.as_deref(), &target.entry)?;
    project.calibrate = target.calibrate.clone().map(Origin::File);
    Ok(project)
}

fn limits(entry: &Entry) -> Limits {
    let mut limits = Limits::default();
    for (name, value) in &entry.limits.limit {
        limits.set(name, *value);
    }
    limits
}

/// The records in a file, or on stdin where it is called `-`.
pub fn records(path: Option<&Path>) -> Result<Option<Records>, Failure> {
    path.map(Records::open).transpose()
}

/// What is said of it.
const COMPILING: &str = "compiling";

/// What an image is made for, from text and data to images.
///
/// # Errors
/// Whatever is wrong with any of them; data for a function, or records for a training.
pub fn subject(project: &Project, target: &Target, talk: &Talk) -> Result<Subject, Failure> {
    if is_function(project, target.data.is_some(), target.inputs.is_some())? {
        project.is_program()?;
        if let Some(data) = &target.data {
            let message = format!("--data {}: a function has records, given by --inputs", data.display());
            return Err(Failure::Usage(message));
        }
        no_training(&target.plan, &target.file, &target.selection)?;
        let records = records(target.inputs.as_deref())?;
        return talk.during(COMPILING, || Subject::function(project, records.as_ref(), talk));
    }
    no_records(target)?;
    if target.calibrate.is_some() {
        let message = "--calibrate has no effect: binary points of a training are chosen from its data (--data)";
        return Err(Failure::Usage(message.to_owned()));
    }
    talk.during(COMPILING, || Subject::training(project, &data(target), &target.plan.choices, talk))
}

/// A function in segments, from text and records to images.
///
/// # Errors
/// Whatever is wrong with any of them; the program trains.
pub fn segmented(project: &Project, target: &Target, talk: &Talk) -> Result<SegmentedFunction, Failure> {
    if !is_function(project, target.data.is_some(), target.inputs.is_some())? {
        project.refuse_stays()?;
        return Err(SegmentedFunction::refused());
    }
    no_training(&target.plan, &target.file, &target.selection)?;
    let records = records(target.inputs.as_deref())?;
    talk.during(COMPILING, || SegmentedFunction::new(project, records.as_ref(), talk))
}

/// Refuse what only a training looks at, for a function.
pub fn no_training(plan: &PlanOptions, file: &DataFile, selection: &SelectionOptions) -> Result<(), Failure> {
    let data = [
        ("--separator", file.separator.is_some()),
        ("--header", file.header.is_some()),
        ("--arrays", file.arrays.is_some()),
    ];
    let given = data.iter().filter(|(_, given)| *given).map(|(name, _)| (*name).to_owned());
    match plan.given(&[]).into_iter().chain(selection.given(&[])).chain(given).next() {
        Some(name) => {
            Err(Failure::Usage(format!("{name} has no effect: this program is a function, which trains nothing")))
        }
        None => Ok(()),
    }
}

/// Refuse records for a training.
pub fn no_records(target: &Target) -> Result<(), Failure> {
    match target.inputs {
        Some(_) => {
            Err(Failure::Usage("--inputs gives the records of a function; this program trains on --data".to_owned()))
        }
        None => Ok(()),
    }
}

/// The data that the arguments name.
pub fn data(target: &Target) -> Data {
    Data {
        path: target.data.clone(),
        reading: target.file.reading(&target.entry.limits),
        selection: target.selection.choices.clone(),
    }
}
