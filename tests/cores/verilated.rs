//! Verilator's runtime as one object file, and its header as the compiler has read it: the same for every design, and most of the time of a small one.

use arch::tools::Toolbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What C++ of Verilator is compiled with.
pub(crate) const FLAGS: [&str; 9] = [
    "-std=gnu++17",
    "-O0",
    "-w",
    "-pthread",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE=0",
    "-DVM_TRACE_VCD=0",
    "-DVM_TRACE_FST=0",
];

/// Files that all test programs share.
pub(crate) struct Shared {
    /// The runtime.
    pub(crate) object: PathBuf,
    /// To be included first. The compiler takes the file beside it, or reads this one.
    pub(crate) header: PathBuf,
}

impl Shared {
    /// Of the pinned Verilator, made if they are not there.
    pub(crate) fn of(toolbox: &Toolbox) -> Shared {
        let root = toolbox.package("verilator").unwrap_or_else(|missing| panic!("{missing}; run scripts/setup"));
        let include = root.join("include");
        let tools = toolbox.folder().file_name().expect("a name").to_string_lossy().into_owned();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verilated-{tools}"));
        let shared = |folder: &Path| Shared { object: folder.join("runtime.o"), header: folder.join("all.h") };
        if !folder.is_dir() {
            let made = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let Shared { object, header } = shared(made.path());
            let source = made.path().join("runtime.cpp");
            fs::write(&source, "#include \"verilated.cpp\"\n#include \"verilated_threads.cpp\"\n").unwrap();
            fs::write(&header, "#include \"verilated.h\"\n").unwrap();
            let compile = |arguments: &[&str], from: &Path, to: &Path| {
                let mut cpp = Command::new(toolbox.program("g++").unwrap_or_else(|missing| panic!("{missing}")));
                cpp.args(FLAGS).arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
                let output = cpp.args(arguments).arg(from).arg("-o").arg(to).output().unwrap();
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            };
            compile(&["-c"], &source, &object);
            compile(&["-x", "c++-header"], &header, &header.with_extension("h.gch"));
            // Another test program may be faster.
            if fs::rename(made.path(), &folder).is_ok() {
                let _ = made.keep();
            }
        }
        shared(&folder)
    }
}
