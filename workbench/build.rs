//! Embeds the data files of the project, so that the installed tool works in an empty folder: `fpga/boards/`, `configs/`,
//! `programs/`, `programs/kernels/` and the tables of `examples/` become lists of path and text. A file that is put there needs no mention
//! elsewhere. The paths are those of a user's project, which has its boards in `boards/`.

#![allow(clippy::print_stdout, reason = "a build script talks to cargo")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// List, folder here, folder in a user's project, how names end.
const FOLDERS: [(&str, &str, &str, &str); 5] = [
    ("BOARDS", "fpga/boards", "boards", ""),
    ("CONFIGS", "configs", "configs", ""),
    ("PROGRAMS", "programs", "programs", ""),
    ("KERNELS", "programs/kernels", "programs/kernels", ""),
    ("TABLES", "examples", "examples", ".csv"),
];

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = folder.parent().expect("the crate lies in the project");
    let mut text = String::new();
    for (list, folder, shown, end) in FOLDERS {
        println!("cargo:rerun-if-changed=../{folder}");
        let mut names: Vec<String> = fs::read_dir(root.join(folder))
            .expect("the folder is part of the project")
            .map(|entry| entry.expect("it can be listed"))
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().into_string().expect("names are text"))
            .filter(|name| !name.starts_with('.') && name.ends_with(end))
            .collect();
        names.sort();
        writeln!(text, "/// Path and text of every file in `{shown}/`.").expect("strings take text");
        writeln!(text, "pub const {list}: &[(&str, &str)] = &[").expect("strings take text");
        for name in names {
            let path = root.join(folder).join(&name);
            let label = format!("{shown}/{name}");
            let path = path.to_str().expect("names are text");
            writeln!(text, "    ({label:?}, include_str!({path:?})),").expect("strings take text");
        }
        text.push_str("];\n");
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("embedded.rs"), text).expect("the build folder can be written");
}
