//! House rules that the compiler does not check. Each rule is one test; its message says what to do.

#[path = "tidy/duplicates.rs"]
mod duplicates;
#[path = "tidy/imports.rs"]
mod imports;
#[path = "tidy/words.rs"]
mod words;

use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of each crate and what it may depend on, of ours. Development dependencies may be in the second list, too.
const GRAPH: &[(&str, &[&str], &[&str])] = &[
    ("arch", &[], &[]),
    ("compiler", &["arch"], &[]),
    ("hdl", &["arch", "blocks"], &["fpga"]),
    ("hdl/blocks", &[], &[]),
    ("fpga", &["arch"], &[]),
    ("sim", &["arch", "compiler"], &["hdl", "fpga", "onnx", "sim"]),
    ("compiler/tile", &["compiler"], &["arch", "sim"]),
    ("compiler/onnx", &["arch", "compiler"], &["sim"]),
    ("compiler/tflite", &["arch", "onnx"], &["compiler", "sim"]),
    ("workbench", &["arch", "compiler", "hdl", "fpga", "onnx", "sim", "tflite"], &[]),
    ("python", &["arch", "compiler", "sim", "workbench"], &[]),
    ("measure", &["compiler", "sim", "workbench"], &[]),
    ("tabla-gen", &["arch", "compiler", "hdl", "fpga", "sim", "workbench"], &["measure", "onnx", "tflite"]),
];

/// Error codes that no test names yet. Never add to this list.
const CODES_WITHOUT_TEST: &[&str] = &[];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Bytes of a file at most.
const MOST_BYTES: u64 = 1_000_000;

/// Every file of the project, by its path from the root: what git tracks or would, or all files where there is no git.
fn names() -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let tracked = Command::new("git").args(list).current_dir(root()).output().ok().filter(|o| o.status.success());
    match tracked {
        Some(output) => String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect(),
        None => walk(root()),
    }
}

/// Every text file of the project.
fn files() -> BTreeMap<String, String> {
    let read = |name: String| fs::read_to_string(root().join(&name)).ok().map(|text| (name, text));
    let files: BTreeMap<_, _> = names().into_iter().filter_map(read).collect();
    assert!(files.contains_key("tests/tidy.rs"), "the files of the project were not found");
    files
}

fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if !["target", "out", ".git"].contains(&name.as_str()) {
                names.extend(walk(&path));
            }
        } else {
            names.push(name);
        }
    }
    names
}

fn rust_files() -> BTreeMap<String, String> {
    files().into_iter().filter(|(name, _)| Path::new(name).extension().is_some_and(|e| e == "rs")).collect()
}

/// `file:line: text` of each line of `files` that `is_wrong`.
fn lines(files: &BTreeMap<String, String>, is_wrong: impl Fn(&str) -> bool) -> String {
    let mut found = String::new();
    for (name, text) in files {
        for (line, number) in text.lines().zip(1..) {
            if is_wrong(line) {
                let _ = writeln!(found, "{name}:{number}: {}", line.trim());
            }
        }
    }
    found
}

/// Whether `text` contains `word`, not as a part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    text.match_indices(word).any(|(at, _)| {
        let after = &text[at + word.len()..];
        let longer = text[..at].ends_with(is_name) || word.ends_with(is_name) && after.starts_with(is_name);
        !longer
    })
}

fn assert_none(found: &str, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{found}");
}

/// Entries of the top level at most, dot-files not counted.
const MOST_AT_THE_TOP: usize = 24;
/// What users and CI run, and the pins and locks of the tools.
const MOST_SCRIPTS: usize = 16;

/// The map of ARCHITECTURE.md: a table whose first column names entries of the top level in backticks.
#[test]
fn the_top_level_is_short_and_mapped() {
    let is_generated = |name: &str| ["target", "out"].contains(&name) || name.starts_with('.');
    let entries: BTreeSet<String> = files()
        .into_keys()
        .map(|name| name.split('/').next().unwrap_or_default().to_owned())
        .filter(|name| !is_generated(name))
        .collect();
    assert!(entries.len() <= MOST_AT_THE_TOP, "{} entries: put some beside what they belong to", entries.len());
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let map = page.split("## Map\n").nth(1).expect("ARCHITECTURE.md has a section `## Map`");
    let rows = map.split("\n## ").next().unwrap_or_default().lines().filter(|line| line.starts_with("| `"));
    let mapped: BTreeSet<String> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2).map(str::to_owned))
        .collect();
    assert_eq!(mapped, entries, "the map of ARCHITECTURE.md has a line for each entry of the top level");
}

#[test]
fn crates_depend_downwards_only() {
    let name_of = |folder: &'static str| folder.rsplit('/').next().unwrap();
    let ours: BTreeSet<&str> = GRAPH.iter().map(|(folder, ..)| name_of(folder)).collect();
    let mut wrong = String::new();
    for (folder, allowed, allowed_in_tests) in GRAPH {
        let name = name_of(folder);
        let folder = if name == "tabla-gen" { root().to_owned() } else { root().join(folder) };
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        let names = |section: &str| -> Vec<String> {
            manifest.get(section).and_then(toml::Value::as_table).into_iter().flat_map(|t| t.keys().cloned()).collect()
        };
        for dependency in names("dependencies") {
            if ours.contains(dependency.as_str()) && !allowed.contains(&dependency.as_str()) {
                let _ = writeln!(wrong, "{name} depends on {dependency}");
            }
        }
        for dependency in names("dev-dependencies") {
            let allowed = [*allowed, *allowed_in_tests].concat();
            if ours.contains(dependency.as_str()) && !allowed.contains(&dependency.as_str()) {
                let _ = writeln!(wrong, "the tests of {name} depend on {dependency}");
            }
        }
        let rust_hdl = [names("dependencies"), names("dev-dependencies")].concat();
        if name != "hdl" && rust_hdl.iter().any(|dependency| dependency.starts_with("rust-hdl")) {
            let _ = writeln!(wrong, "{name} depends on rust-hdl");
        }
    }
    assert_none(&wrong, "the graph of crates is that of GRAPH in this file");
}

/// The stages of the compiler, without circles between them; `search` knows those behind fixed-point IR.
const STAGES: &[&str] =
    &["language", "derived", "tensor", "canonical", "fixed", "placed", "jobs", "scheduled", "image"];

/// Circles of files that import from each other, in one stage at most.
const MOST_CIRCLES: usize = 3;

#[test]
fn stages_import_in_no_circle() {
    let sources = rust_files().into_iter();
    let sources =
        sources.filter_map(|(name, text)| Some((name.strip_prefix("compiler/src/")?.to_owned(), text))).collect();
    let imports = imports::imports(&sources);
    let stage = |module: &[String]| {
        module.first().cloned().filter(|first| STAGES.contains(&first.as_str()) || first == "search")
    };
    let mut between: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut inside: BTreeMap<String, BTreeMap<imports::Module, BTreeSet<imports::Module>>> = BTreeMap::new();
    for (from, to) in imports.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to))) {
        let (Some(one), Some(other)) = (stage(from), stage(to)) else { continue };
        if one != other {
            between.entry(one).or_default().insert(other);
        } else if !from.starts_with(to) {
            // What the root of a folder declares, all files in it may use.
            inside.entry(one).or_default().entry(from.clone()).or_default().insert(to.clone());
        }
    }
    assert!(between.len() >= 5 && inside.len() >= 5, "the imports of the stages were not found: {between:?}");
    assert_eq!(imports::circles(&between), Vec::new() as Vec<BTreeSet<String>>, "stages import from those before them");
    for (stage, files) in inside {
        let circles = imports::circles(&files);
        assert!(circles.len() <= MOST_CIRCLES, "{stage} has {} circles: {circles:?}", circles.len());
    }
}

/// Source files in one folder, and lines in one source file, at most.
const MOST_FILES: usize = 20;
const MOST_LINES: usize = 600;

/// What a package manager left, or a result, is no source.
#[test]
fn no_file_is_a_download() {
    let large = |name: &String| fs::metadata(root().join(name)).is_ok_and(|file| file.len() > MOST_BYTES);
    let package = |name: &String| Path::new(name).extension().is_some_and(|kind| kind == "whl" || kind == "gz");
    let wrong: Vec<String> = names().into_iter().filter(|name| large(name) || package(name)).collect();
    assert_none(&wrong.join("\n"), "no packages, and at most 1 MB in a file");
}

#[test]
fn folders_and_files_are_small() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = String::new();
    for (name, text) in rust_files() {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        // Each file of `tests` is a program of its own, found by its place.
        if !folder.ends_with("tests") {
            *folders.entry(folder.to_owned()).or_insert(0) += 1;
        }
        let lines = text.lines().count();
        if lines > MOST_LINES {
            let _ = writeln!(wrong, "{name} has {lines} lines: it is two ideas");
        }
    }
    for (folder, files) in folders.into_iter().filter(|(_, files)| *files > MOST_FILES) {
        let _ = writeln!(wrong, "{folder} has {files} source files: put some into folders");
    }
    assert_none(&wrong, "at most 20 source files in a folder and 600 lines in a file");
}

#[test]
fn scripts_are_few() {
    let scripts = files().into_keys().filter(|name| name.starts_with("scripts/")).count();
    assert!(scripts <= MOST_SCRIPTS, "{scripts} files in scripts/: what measures is a command of the crate `measure`");
}

#[test]
fn only_hdl_names_rust_hdl() {
    let outside = rust_files().into_iter().filter(|(name, _)| !name.starts_with("hdl/")).collect();
    let name = ["rust_hdl", "_core::"].concat();
    assert_none(&lines(&outside, |line| line.contains(&name)), "only the crate hdl uses rust-hdl");
}

#[test]
fn only_the_command_line_prints() {
    let libraries = rust_files().into_iter();
    // A `main.rs` is a command line, and so is all of `measure`.
    let command =
        |name: &str| ["src/", "measure/"].iter().any(|folder| name.starts_with(folder)) || name.ends_with("/main.rs");
    let library = |name: &str| name.contains("/src/") && !command(name);
    let libraries = libraries.filter(|(name, _)| library(name)).collect();
    let prints = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        ["print!", "println!", "eprint!", "eprintln!"].iter().any(|name| has_word(code, name))
    };
    assert_none(&lines(&libraries, prints), "libraries return values; the command line prints them");
}

#[test]
fn every_module_says_what_it_is() {
    let silent: String = rust_files()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .fold(String::new(), |list, (name, _)| list + &name + "\n");
    assert_none(&silent, "each file begins with `//!` and its one idea");
}

#[test]
fn names_of_modules_say_something() {
    let empty = ["utils", "util", "common", "helpers", "helper", "misc"];
    let wrong: String = rust_files()
        .into_keys()
        .filter(|name| name.split('/').any(|part| empty.contains(&part.trim_end_matches(".rs"))))
        .fold(String::new(), |list, name| list + &name + "\n");
    assert_none(&wrong, "name the idea of the module");
}

#[test]
fn nothing_is_left_for_later() {
    let words = ["todo!", "unimplemented!", "FIXME", "XXX"];
    let mut files = rust_files();
    files.remove("tests/tidy.rs");
    let later = |line: &str| words.iter().any(|word| has_word(line, word)) || line.contains("#[ignore");
    assert_none(&lines(&files, later), "finish it, or leave it out and say so in the documentation");
}

#[test]
fn no_paths_of_one_machine() {
    let folders = ["home", "root", "Users", "work", "tmp/wt"].map(|name| format!("/{name}/"));
    let mut files = files();
    files.remove("Cargo.lock");
    let is_inside = |c: char| c.is_alphanumeric() || "._-}*)/".contains(c);
    let absolute = |line: &str| {
        folders.iter().any(|folder| line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(is_inside)))
    };
    assert_none(&lines(&files, absolute), "paths are relative to the project, or come from the environment");
}

/// Name and version of a pin, as the lock writes names.
fn pinned(pin: &str) -> Option<String> {
    let (name, version) = pin.split([' ', ';']).next()?.split_once("==")?;
    Some(format!("{}=={version}", name.to_lowercase().replace(['_', '.'], "-")))
}

#[test]
fn every_package_is_locked_with_its_hashes() {
    let files = files();
    let mut wrong = String::new();
    // What each group installs, from the comments at the ends of entries.
    let mut locked: BTreeSet<(&str, String)> = BTreeSet::new();
    let mut entry: Vec<&str> = Vec::new();
    for line in files["scripts/tools.lock"].lines().skip(1) {
        let Some(groups) = line.strip_prefix("    # ") else {
            entry.push(line);
            continue;
        };
        let (Some(name), true) = (pinned(entry[0]), entry.iter().skip(1).any(|line| line.contains("--hash=sha256:")))
        else {
            let _ = writeln!(wrong, "{} has no hash", entry[0]);
            continue;
        };
        locked.extend(groups.split(' ').map(|group| (group, name.clone())));
        entry.clear();
    }
    let groups: toml::Table = files["scripts/pyproject.toml"].parse().unwrap();
    for (group, pins) in groups["dependency-groups"].as_table().unwrap() {
        for pin in pins.as_array().unwrap().iter().filter_map(toml::Value::as_str) {
            if !locked.contains(&(group.as_str(), pinned(pin).unwrap())) {
                let _ = writeln!(wrong, "{group}: {pin} is not in the lock: run scripts/lock {group}");
            }
        }
    }
    assert!(entry.is_empty() && locked.len() > 100, "{entry:?}");
    assert_none(&wrong, "packages are installed by their hashes");
}

/// The program looks for tools where `scripts/setup` puts them: both name folders by the entries of the lock.
#[test]
fn tools_are_looked_for_where_setup_puts_them() {
    let toolbox = arch::tools::Toolbox::default();
    for (group, folder) in [("tools", toolbox.folder().to_owned()), ("sdram", toolbox.group("sdram"))] {
        let option = (group != "tools").then(|| format!("--{group}"));
        let setup = Command::new(root().join("scripts/setup")).arg("--print").args(option).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&setup.stdout).trim_end(), folder.display().to_string(), "{group}");
    }
}

#[test]
fn every_crate_asked_for_is_reviewed() {
    let files = files();
    let manifest: toml::Table = files["Cargo.toml"].parse().unwrap();
    let crates = manifest["workspace"]["dependencies"].as_table().unwrap();
    let foreign = crates.iter().filter(|(_, of)| of.get("path").is_none()).map(|(name, _)| name);
    let page = &files["docs/dependencies.md"];
    let missing = foreign
        .filter(|name| !page.contains(&format!("`{name}`")))
        .fold(String::new(), |text, name| text + name + "\n");
    assert_none(&missing, "docs/dependencies.md has a row for each crate");
}

#[test]
fn every_error_code_has_a_test() {
    let is_test = |name: &str| {
        let inside = name.starts_with("tests/") || name.contains("/tests/");
        inside && !["tests/tidy.rs"].contains(&name)
    };
    let tests: BTreeMap<_, _> = files().into_iter().filter(|(name, _)| is_test(name)).collect();
    let mut untested = String::new();
    for code in arch::Code::ALL {
        let tested = tests.iter().any(|(name, text)| name.contains(code.as_str()) || has_word(text, code.as_str()));
        if !tested && !CODES_WITHOUT_TEST.contains(&code.as_str()) {
            let _ = writeln!(untested, "{code}");
        }
    }
    assert_none(&untested, "each code is named by a test or by a conformance program");
}

/// What docs/robustness.md says to hold is there: each row of its tables names a test or a script that is, in the file that it names.
#[test]
fn every_attack_has_its_test() {
    let (files, rust, mut wrong) = (files(), rust_files(), String::new());
    let rows =
        files["docs/robustness.md"].lines().filter(|line| line.starts_with("| ") && !line.ends_with("held by |"));
    let mut count = 0;
    for row in rows {
        count += 1;
        let held = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let mut known = 0;
        for part in held.split(", ") {
            let (quoted, file) = part.split_once(" in ").map_or((part, None), |(name, file)| (name, Some(file)));
            let name = quoted.trim_matches('`');
            let is_script = name.starts_with("scripts/");
            let measured = name.strip_prefix("measure ").and_then(|name| name.split(' ').next());
            let stands = |text: &str| text.contains(&format!("fn {name}("));
            let found = match file {
                _ if measured.is_some() => files["measure/src/lib.rs"].contains(&format!("\"{}\"", measured.unwrap())),
                _ if is_script => files.contains_key(name.split(' ').next().unwrap()),
                Some(file) => files.get(file).is_some_and(|text| stands(text)),
                None => rust.values().any(|text| stands(text)),
            };
            known += usize::from(found);
            if !found {
                let _ = writeln!(wrong, "{part}: {row}");
            }
        }
        assert!(known > 0 || !wrong.is_empty(), "{row}");
    }
    assert!(count >= 40, "{count} rows");
    assert_none(
        &wrong,
        "a row ends with tests and programs that are there: `test` in path/file.rs, `scripts/name`, `measure name`",
    );
}

/// A fault that cannot be put in any more, or of which nothing is known, shows nothing.
#[test]
fn every_deliberate_fault_stands_and_is_caught() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let faults: toml::Table = toml::from_str(&read("tests/mutations.toml")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&read("tests/mutations.json")).unwrap();
    let (mut stale, mut names) = (String::new(), BTreeSet::new());
    for fault in faults["fault"].as_array().unwrap() {
        let part = |part: &str| fault[part].as_str().unwrap();
        let (name, file) = (part("name"), part("file"));
        if !names.insert(name) {
            let _ = writeln!(stale, "{name}: twice");
        }
        let stands = read(file).matches(part("before")).count();
        if stands != 1 {
            let _ = writeln!(stale, "{name}: stands {stands} times in {file}");
        }
        let identity = arch::tools::hex(&Sha256::digest(["before", "after"].map(part).join("\0"))[..6]);
        if results[name]["verdict"] != "caught" || results[name]["fault"] != identity.as_str() {
            let _ = writeln!(stale, "{name}: not known to be caught");
        }
    }
    assert!(names.len() >= 30);
    assert_none(&stale, "run scripts/mutate NAME for each fault of tests/mutations.toml that changed");
}

/// The shell commands of a page: the lines of each block ```` ```sh ```` that follows a line `<!-- test -->`.
fn tested_commands(page: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "<!-- test -->" {
            continue;
        }
        let opening = lines.by_ref().find(|line| !line.trim().is_empty());
        assert_eq!(opening.map(str::trim), Some("```sh"), "a block of commands follows `<!-- test -->`");
        let block: Vec<&str> = lines.by_ref().take_while(|line| line.trim() != "```").collect();
        blocks.push(block.join("\n"));
    }
    blocks
}

#[test]
fn commands_are_found_in_a_page() {
    let page =
        "# A\n\n<!-- test -->\n\n```sh\none\ntwo\n```\n\n```sh\nnot this\n```\n<!-- test -->\n```sh\nthree\n```\n";
    assert_eq!(tested_commands(page), ["one\ntwo", "three"]);
    assert!(tested_commands("```sh\nx\n```\n").is_empty());
}

/// The pages in which commands are tested, by their paths: the README, and those of docs/.
fn pages() -> Vec<(String, String)> {
    let files = files();
    let is_page = |path: &Path| {
        path == Path::new("README.md") || path.starts_with("docs") && path.extension().is_some_and(|e| e == "md")
    };
    files.into_iter().filter(|(name, _)| is_page(Path::new(name))).collect()
}

#[test]
fn commands_of_the_pages_work() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains("```sh\nscripts/test\n```"), "the README's second command is what CI runs");
    let mut tested = Vec::new();
    for (name, page) in pages() {
        let blocks = tested_commands(&page);
        if !blocks.is_empty() {
            run_commands(&name, blocks);
            tested.push(name);
        }
    }
    assert!(["README.md", "docs/models.md"].iter().all(|page| tested.iter().any(|name| name == page)), "{tested:?}");
}

/// Runs the commands in a copy of the project (by links), with our program first on `PATH`.
fn run_commands(page: &str, blocks: Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root()).unwrap() {
        let entry = entry.unwrap();
        if !["target", "out", ".git"].contains(&entry.file_name().to_str().unwrap()) {
            std::os::unix::fs::symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let programs = PathBuf::from(env!("CARGO_BIN_EXE_tabla-gen")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).unwrap();
    for block in blocks {
        // The program under test is the one that is built already.
        let block = block.replace("cargo run --", "tabla-gen");
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &block]).current_dir(folder.path()).env("PATH", &path);
        let output = shell.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{page}:\n{block}\n{}", String::from_utf8_lossy(&said));
    }
}
