//! `completions`: a script for a shell, on stdout.

use crate::arguments::{Arguments, Completions};
use crate::output;
use clap::CommandFactory;
use workbench::Failure;

/// Print the script.
pub fn run(options: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "tabla-gen", &mut script);
    output::result(&String::from_utf8_lossy(&script))
}
