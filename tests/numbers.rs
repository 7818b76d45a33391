//! `fixed` a second time: an interpreter of `ir --after fixed` in Python, as docs/numbers.md describes it, gives the words of `eval`.
//!
//! `tests/numbers/compare.py --all` runs every program, in words of 8 to 32 bits; the test a selection.

use arch::tools::Toolbox;
use std::path::Path;
use std::process::Command;

#[test]
fn the_page_is_enough_to_compute_every_word() {
    let python = Toolbox::default().program("python3").unwrap_or_else(|missing| panic!("{missing}"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numbers/compare.py");
    let ran =
        Command::new(python).arg("-B").arg(script).env("TABLA_GEN", env!("CARGO_BIN_EXE_tabla-gen")).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let programs: usize = said.split_whitespace().next().unwrap().parse().unwrap();
    assert!(programs >= 50, "{said}");
}
