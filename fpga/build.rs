//! Embeds `families/`: a list of folder, file and text. A family that is put there needs no mention elsewhere.

#![allow(clippy::print_stdout, reason = "a build script talks to cargo")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is part of the project");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("it can be listed").file_name().into_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry).expect("names are text")).collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

fn main() {
    println!("cargo:rerun-if-changed=families");
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("families");
    let mut text = "/// Family, file and text of everything in `families/`.\n".to_owned();
    text += "const FILES: &[(&str, &str, &str)] = &[\n";
    for family in names(&root) {
        for file in names(&root.join(&family)) {
            let path = root.join(&family).join(&file);
            let path = path.to_str().expect("names are text");
            writeln!(text, "    ({family:?}, {file:?}, include_str!({path:?})),").expect("strings take text");
        }
    }
    text += "];\n";
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("families.rs"), text).expect("the build folder can be written");
}
