//! With the feature `verilated`: a fixed small grid as a static library for `tests/verilated.rs`. Without it: nothing.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "verilated")]
    verilated::build();
}

#[cfg(feature = "verilated")]
mod verilated {
    use std::env;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    fn variable(name: &str) -> PathBuf {
        println!("cargo::rerun-if-env-changed={name}");
        env::var_os(name).unwrap_or_else(|| panic!("{name} is not set; scripts/verilated sets it")).into()
    }

    /// Verilate the Verilog that `scripts/verilated` has written, and compile it.
    pub(super) fn build() {
        let (grid, root) = (variable("TABLA_GEN_GRID"), variable("VERILATOR_ROOT"));
        println!("cargo::rerun-if-changed={}", grid.display());
        println!("cargo::rerun-if-changed=tests/verilated/shim.cpp");
        let out = variable("OUT_DIR");
        let mut verilator = Command::new(root.join("bin/verilator_bin"));
        verilator.args([
            "--cc",
            "-O3",
            "--x-initial",
            "fast",
            "-Wno-fatal",
            "-Wno-lint",
            "-Wno-style",
            "--threads",
            "1",
        ]);
        verilator.args(["--top-module", "tabla", "--prefix", "Vgrid", "--Mdir"]).arg(&out).arg(&grid);
        let output = verilator.output().unwrap_or_else(|error| panic!("verilator: {error}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut sources: Vec<PathBuf> =
            out.read_dir().expect("the output folder").map(|entry| entry.expect("a file").path()).collect();
        sources.retain(|path| path.extension().is_some_and(|extension| extension == "cpp"));
        sources.sort();
        let mut compiler = cc::Build::new();
        compiler.cpp(true).std("gnu++17").warnings(false).opt_level(1).include(&out);
        compiler.include(root.join("include")).include(root.join("include/vltstd"));
        compiler.files(sources).file(Path::new("tests/verilated/shim.cpp")).compile("grid");
        println!("cargo::rustc-link-lib=pthread");
    }
}
