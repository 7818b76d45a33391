//! Every path that can be typed, and which of them are read and which written.

use super::Arguments;
use clap::{ArgMatches, Command, CommandFactory};
use std::any::TypeId;
use std::path::{Path, PathBuf};
use workbench::writing::guard::Guard;

/// The use of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A file that is read.
    Read,
    /// A file that is written, with those beside it that differ from it by these extensions.
    Write(&'static [&'static str]),
    /// A folder: its files are compared when they are written.
    Folder,
}

/// By the name of the argument.
const USES: &[(&str, Use)] = &[
    ("board", Use::Read),
    ("calibrate", Use::Read),
    ("checkpoint", Use::Write(&[])),
    ("collect", Use::Folder),
    ("config", Use::Read),
    ("data", Use::Read),
    ("evaluate", Use::Read),
    ("folder", Use::Folder),
    ("from", Use::Read),
    ("inputs", Use::Read),
    ("load", Use::Read),
    ("model", Use::Read),
    ("onnx", Use::Read),
    ("others", Use::Folder),
    ("out", Use::Folder),
    ("pass_input", Use::Read),
    ("port", Use::Read),
    ("program", Use::Read),
    // It is kept up to date.
    ("resume", Use::Write(&[])),
    ("save", Use::Write(&[])),
    ("svg", Use::Write(&[])),
    ("to", Use::Write(&[])),
    ("wave", Use::Write(&["gtkw", "sucl"])),
    ("weights", Use::Read),
    ("workflow", Use::Folder),
];

/// Names and options of the paths of a command.
fn paths(command: &Command) -> impl Iterator<Item = (&str, String)> {
    let arguments = command.get_arguments();
    let paths = arguments.filter(|argument| argument.get_value_parser().type_id() == TypeId::of::<PathBuf>());
    paths.map(|argument| {
        let said = argument.get_long().map_or_else(String::new, |long| format!("--{long} "));
        (argument.get_id().as_str(), said)
    })
}

/// What the typed command reads and writes.
pub fn guard(matches: &ArgMatches, force: bool) -> Guard {
    let mut command = Arguments::command();
    command.build();
    let mut guard = Guard::new(force);
    let (command, matches) = match matches.subcommand() {
        Some((name, inner)) => (command.find_subcommand(name).unwrap_or(&command), inner),
        None => (&command, matches),
    };
    for (id, said) in paths(command) {
        let given = matches.try_get_many::<PathBuf>(id).ok().flatten().into_iter().flatten();
        for path in given.filter(|path| path.as_path() != Path::new("-")) {
            let said = format!("{said}{}", path.display());
            match USES.iter().find(|(name, _)| *name == id) {
                Some((_, Use::Write(beside))) => {
                    guard.writes(said.clone(), path);
                    for end in *beside {
                        guard.writes(format!("{said} (.{end})"), &path.with_extension(end));
                    }
                }
                Some((_, Use::Folder)) => {}
                Some((_, Use::Read)) | None => guard.reads(said, path),
            }
        }
    }
    guard
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A new path has to be told from the others.
    #[test]
    fn every_path_has_its_use() {
        let mut command = Arguments::command();
        command.build();
        let all = command.get_subcommands().chain([&command]).flat_map(paths);
        let found: BTreeSet<&str> = all.map(|(id, _)| id).collect();
        let known: BTreeSet<&str> = USES.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, known);
    }

    #[test]
    fn outputs_are_compared_with_inputs() {
        let refused = |line: &str| {
            let words = line.split(' ');
            guard(&Arguments::command().get_matches_from(words), false).check().err().map(|failure| failure.to_string())
        };
        for (line, said) in [
            ("t train p.t --data d.csv --save d.csv", "--save d.csv would replace an input, --data d.csv"),
            ("t train p.t --data d.csv --save p.t", "--save p.t would replace an input, p.t"),
            ("t train p.t --data d.csv --checkpoint z --save ./z", "are the same file"),
            ("t train p.t --data d.csv --load m --save m", "would replace an input, --load m"),
            ("t --config c.toml train p.t --data d.csv --save c.toml", "--config c.toml"),
            ("t sim p.t --data w.gtkw --wave w.vcd", "--wave w.vcd (.gtkw) would replace an input"),
            ("t weights m.json --to m.json", "would replace an input, m.json"),
            ("t graph p.t --svg p.t", "would replace an input, p.t"),
        ] {
            let told = refused(line).unwrap_or_else(|| panic!("{line}"));
            assert!(told.contains(said), "{line}: {told}");
        }
        assert_eq!(refused("t train p.t --data d.csv --resume z --save m"), None);
        assert_eq!(refused("t check p.t --inputs -"), None);
    }
}
