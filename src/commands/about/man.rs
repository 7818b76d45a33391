//! `man`: the manual page, from the same arguments that are read; with `--out` one per subcommand.

use crate::arguments::{Arguments, Global};
use crate::output::{self, Talk};
use clap::{Command, CommandFactory};
use workbench::Failure;
use workbench::writing::Files;

/// Print the page, or write all of them.
pub fn run(global: &Global, talk: &Talk) -> Result<(), Failure> {
    let command = Arguments::command();
    let name = command.get_name().to_owned();
    let Some(folder) = &global.out else { return output::result(&page(command, &name)?) };
    let mut files = Files::new();
    for sub in command.get_subcommands() {
        let full = format!("{name}-{}", sub.get_name());
        files.add(format!("{full}.1"), page(sub.clone(), &full)?);
    }
    files.add(format!("{name}.1"), page(command, &name)?);
    files.write(folder, &global.guard)?;
    talk.say(format!("wrote {} pages to {}", files.names().count(), folder.display()));
    Ok(())
}

fn page(command: Command, title: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    // The date of the page would make it differ from day to day.
    let written = clap_mangen::Man::new(command).title(title).date("").render(&mut bytes);
    written.map_err(|error| Failure::Bug(format!("the manual page: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
