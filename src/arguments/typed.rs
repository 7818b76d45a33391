//! Arguments as typed, for programs that type them again.

use super::Arguments;
use clap::parser::ValueSource;
use clap::{ArgAction, CommandFactory};
use std::any::TypeId;
use std::path::{Path, PathBuf};

/// The arguments of the subcommand as they were typed, in the order of their names; those in `without` are left out, and `path` says what becomes of
/// a path, by the name of its argument.
pub fn typed(without: &[&str], path: &dyn Fn(&str, &Path) -> String) -> Vec<String> {
    of(std::env::args_os().collect(), without, path)
}

fn of(words: Vec<std::ffi::OsString>, without: &[&str], path: &dyn Fn(&str, &Path) -> String) -> Vec<String> {
    let mut command = Arguments::command();
    command.build();
    let matches = command.clone().get_matches_from(words);
    let Some((name, matches)) = matches.subcommand() else { return Vec::new() };
    let arguments = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let mut typed = Vec::new();
    for argument in arguments {
        let id = argument.get_id().as_str();
        if without.contains(&id) || matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let option = argument.get_long().map(|long| format!("--{long}"));
        if matches!(argument.get_action(), ArgAction::SetTrue) {
            typed.extend(option);
            continue;
        }
        let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        for occurrence in matches.get_raw_occurrences(id).into_iter().flatten() {
            let value = |raw: &std::ffi::OsStr| {
                if is_path { path(id, Path::new(raw)) } else { raw.to_string_lossy().into_owned() }
            };
            let values: Vec<String> = occurrence.map(value).collect();
            let value = values.join(&argument.get_value_delimiter().unwrap_or(' ').to_string());
            typed.push(option.as_ref().map_or(value.clone(), |option| format!("{option}={value}")));
        }
    }
    typed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_typed_again() {
        let words = "tabla-gen --config c.toml explore p.t --pus 1,2 --data d.csv --set a=1 --target x,y --set b=-2 --rink-left";
        let path = |id: &str, path: &Path| format!("{id}/{}", path.display());
        let mut again = of(words.split(' ').map(Into::into).collect(), &["pus"], &path);
        again.sort();
        let expected =
            ["--config=config/c.toml", "--data=data/d.csv", "--rink-left", "--set=a=1", "--set=b=-2", "--target=x,y"];
        assert_eq!(again, [&expected[..], &["program/p.t"]].concat());
    }
}
