//! A simulator that is wrong is noticed: the generated Verilog with a fault in it gives the exit codes 3 and 101.
//!
//! A program that calls itself Verilator changes the text before the real one reads it.

mod tool;

use arch::tools::Toolbox;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tool::tool;

/// Train on Verilog that `sed` has changed; the exit code and the document.
fn trained_with(fault: &str) -> (Option<i32>, Value) {
    let toolbox = Toolbox::default();
    let real = toolbox.package("verilator").expect("run scripts/setup");
    let folder = tempfile::tempdir().unwrap();
    let (root, cache) = (folder.path().join("root"), folder.path().join("cache"));
    fs::create_dir_all(root.join("bin")).unwrap();
    symlink(real.join("include"), root.join("include")).unwrap();
    let program = root.join("bin/verilator_bin");
    let binary = real.join("bin/verilator_bin");
    let text =
        format!("#!/bin/sh\n[ ! -e design.v ] || sed -i \"{fault}\" design.v\nexec \"{}\" \"$@\"\n", binary.display());
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    // Verilator's own objects need not be built again.
    keep_objects(&toolbox.cache().join("simulators"), &cache.join("simulators"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(root.join("bin")).chain(std::env::split_paths(&path))).unwrap();
    let mut command =
        tool(&["train", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--config", "tiny"]);
    command.args(["--engine", "rtl", "--limit", "8", "--epochs", "1", "--format", "json"]);
    let output =
        command.env("TABLA_GEN_TOOLS", &cache).env("VERILATOR_ROOT", &root).env("PATH", path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{said}"));
    (output.status.code(), document)
}

fn keep_objects(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "o") {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn other_words_are_a_mismatch() {
    // The lowest bit of every word on the first lane.
    let (code, document) = trained_with(r"s/\(in_data_0(in_data\[0 +: 16\]\))/\1 ^ 16'd1)/");
    assert_eq!(code, Some(3), "{document}");
    assert!(document["words_differing"].as_u64().unwrap() > 0, "{document}");
    assert_eq!(document["diagnostics"][0]["code"], "E-MISMATCH", "{document}");
}

#[test]
fn a_grid_that_never_answers_is_a_bug() {
    let (code, document) = trained_with("s/assign out_valid = .*;/assign out_valid = 1'b0;/");
    assert_eq!(code, Some(101), "{document}");
    let first = &document["diagnostics"][0];
    assert_eq!(first["code"], "E-INTERNAL", "{document}");
    assert!(first["message"].as_str().unwrap().contains("the grid is stuck"), "{document}");
}
