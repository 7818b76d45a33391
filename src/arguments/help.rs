//! Help before a command begins: valid names, and a word that was meant to be a subcommand.

use super::Arguments;
use clap::CommandFactory;
use compiler::language::nearest;
use std::path::Path;
use workbench::library;

/// What `--config` is, with the names of all that are built in.
pub(super) fn config_help() -> String {
    let names = library::configs().join(", ");
    format!("Machine, board and numbers: a TOML file, or the name of one in configs/ ({names})")
}

/// A word that was meant to be a subcommand, if the first argument is one, and the subcommand.
pub fn misspelt(arguments: &[String]) -> Option<(&str, String)> {
    let first = arguments.get(1)?.as_str();
    let command = Arguments::command();
    let names: Vec<&str> =
        command.get_subcommands().flat_map(|command| command.get_name_and_visible_aliases()).collect();
    let path = Path::new(first);
    let is_other = first.starts_with('-') || names.contains(&first) || first == "help" || path.exists();
    if is_other || library::find_program(path).is_ok() {
        return None;
    }
    nearest(first, names).map(|near| (first, near.to_owned()))
}
