//! The rooms of this crate: each uses those before it in the list, none after it. So a room can be read, and tested, without the
//! rooms that stand on it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the bottom up. `store` and `shell` stand around the text of a grid, so they see the crate's own interface too.
const ROOMS: &[&str] = &["rtl", "beats", "datapath", "control", "reduction", "pu", "grid", "rules", "store", "shell"];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Rooms that `text` names as `crate::room`, outside of comments.
fn rooms_used(text: &str) -> Vec<&'static str> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    ROOMS.iter().copied().filter(|room| code.contains(&format!("crate::{room}::"))).collect()
}

#[test]
fn rooms_use_those_below_them_only() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).unwrap().with_extension("");
        let room = inside.iter().next().unwrap().to_str().unwrap();
        let Some(own) = ROOMS.iter().position(|known| *known == room) else {
            assert!(["lib", "model"].contains(&room), "{room} is in no room");
            continue;
        };
        for used in rooms_used(&fs::read_to_string(&file).unwrap()) {
            if ROOMS.iter().position(|known| *known == used).unwrap() > own {
                wrong.push(format!("{} uses {used}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_room_above_is_noticed() {
    assert_eq!(rooms_used("use crate::grid::Grid;\n// crate::shell::x\n"), ["grid"]);
}

/// The table at the top of the crate names every module, so that it can be found without a search.
#[test]
fn the_map_names_every_module() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let map = fs::read_to_string(source.join("lib.rs")).unwrap();
    let mut files = Vec::new();
    rust_files(&source, &mut files);
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        // A part of a block, in a folder of the block's name, is found through the block.
        let depth = file.strip_prefix(&source).unwrap().iter().count();
        let named = map.contains(&format!("`{name}`"));
        assert!(named || name == "lib" || depth > 2, "lib.rs does not name {}", file.display());
    }
}

/// Lines of code of each block of a file, with its attribute; clippy does not see what a macro makes.
fn blocks(text: &str) -> Vec<(&str, usize)> {
    let items = text.split("\n#[block").skip(1).filter_map(|rest| rest.split_once("\n}\n"));
    let code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    items.map(|(item, _)| (item.lines().next().unwrap(), item.lines().filter(code).count() - 2)).collect()
}

#[test]
fn long_blocks_say_why() {
    assert_eq!(blocks("\n#[block(clock)]\nfn A() {\n    // b\n\n    b = c;\n}\n"), [("(clock)]", 1)]);
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    for file in files {
        for (head, lines) in blocks(&fs::read_to_string(&file).unwrap()) {
            assert_eq!(lines > 60, head.contains("long = "), "{}: a block of {lines} lines: {head}", file.display());
        }
    }
}
