//! External programs: start, wait, report.

use super::VerilatorError;
use super::cache::failed;
use arch::children::{self, Running};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program that runs.
pub(super) struct Job {
    program: PathBuf,
    child: Running,
}

/// Start a program without input.
pub(super) fn start(command: &mut Command) -> Result<Job, VerilatorError> {
    let program = PathBuf::from(command.get_program());
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = children::start(command).map_err(failed("run", &program))?;
    Ok(Job { program, child })
}

/// Wait for a program; what it said is part of the error if it fails.
pub(super) fn finish(job: Job) -> Result<(), VerilatorError> {
    let output = job.child.output().map_err(failed("run", &job.program))?;
    if output.status.success() {
        return Ok(());
    }
    let name = job.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let first: Vec<&str> = said.lines().take(30).collect();
    Err(VerilatorError::Failed { program: name, status: output.status, output: first.join("\n") })
}

/// Wait for all of them, then report the first that failed.
pub(super) fn finish_all(jobs: Vec<Job>) -> Result<(), VerilatorError> {
    let results: Vec<_> = jobs.into_iter().map(finish).collect();
    results.into_iter().collect()
}
