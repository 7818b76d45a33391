//! Verilog to shared library.
//!
//!     Verilog ──verilator_bin──▶ C++ ──┬─ fast files + shim, FAST ─┐
//!                                      └─ slow files, SLOW ────────┼─▶ g++ -shared ──▶ cache
//!     Verilator's runtime, -O2 (built once per installation) ──────┘
//!
//! Reading Verilator's header takes a second for each of the two, so it is precompiled, once per installation, too.
//! `-O2` and more for the design takes seven times as long to compile and gains 1 %. Neither make nor perl is used.
//!
//! What was tried, and its time for the digits network:
//!
//! | tried | PEs | times as long |
//! |---|---|---|
//! | profile-guided, `-O1` | 64 on the simulated ULX3S | 1.02 |
//! | profile-guided, `-O2` | 64 on the simulated ULX3S | 0.98, after 23 s more in the compiler |
//! | profile-guided, `-O1` | 512 | 0.91 to 1.04, after 63 s more in the compiler and a training |
//! | two threads | 64 on the simulated ULX3S | 2.5 |
//! | two threads | 512 | 0.8, with 1.5 times the processor time |
//! | modules that are not inlined | 512 | 2.5 |
//! | pads of 1056 words, so that their words do not share cache lines | 512 | 1.0 |
//! | memory in huge pages | 512 | 1.0 |
//! | `-Os`, `-march=native` | 64 | 1.0 |
//!
//! So there is no second build by a profile: every program is a design of its own, and would need one.

use super::cache::{Built, Cache, failed, hash};
use super::installation::Installation;
use super::process::{finish, finish_all, start};
use super::{Options, VerilatorError, shim};
use arch::rtl::Rtl;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts up when this file changes what a library contains.
const FORMAT: &str = "1";

const VERILATOR_FLAGS: &[&str] = &[
    "--cc",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
    "--noassert",
    "--threads",
    "1",
    // tests/lint.rs lints, with the list of waivers; here we simulate.
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
];

/// Hidden and not unique, so that libraries of different designs in one process share nothing.
const COMPILER_FLAGS: &[&str] = &[
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-gnu-unique",
    "-w",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE_FST=0",
];

/// How the code that runs in every cycle is compiled. It is a few functions of tens of thousands of stores each; how many of them
/// the compiler may look through for each load and store is half of its time, and nearly all of it is for nothing.
const FAST: &[&str] =
    &["-O1", "--param", "sccvn-max-alias-queries-per-access=20", "--param", "dse-max-alias-queries-per-store=16"];

/// How the code that runs once is compiled, and that of a simulator for few cycles.
const SLOW: &[&str] = &["-O0"];

/// Path of the library for this design, built if it is not in the cache.
pub(super) fn library(rtl: &Rtl, options: &Options) -> Result<PathBuf, VerilatorError> {
    let installation = Installation::find(&options.toolbox)?;
    let cache = Cache::of(&options.toolbox)?;
    let shim = shim::text(rtl, options.trace);
    let often = if options.brief { SLOW } else { FAST };
    let flags = [VERILATOR_FLAGS, COMPILER_FLAGS, often].concat().join(" ");
    let key = hash(&[FORMAT, &installation.versions, &flags, &rtl.top, &shim, &rtl.verilog]);
    cache.entry(&format!("{key}.so"), || {
        let runtime = runtime(&installation, &cache, options.trace)?;
        let [fast, slow] = [often, SLOW].map(|level| header(&installation, &cache, options.trace, level));
        let parts = Parts { runtime, often, fast: fast?, slow: slow? };
        Build { installation: &installation, cache: &cache, trace: options.trace }.design(rtl, &shim, &parts)
    })
}

/// What designs share.
struct Parts {
    /// How the code that runs in every cycle is compiled.
    often: &'static [&'static str],
    /// Verilator's runtime, one object file.
    runtime: PathBuf,
    /// Its header as the compiler has read it, for the two ways to compile.
    fast: PathBuf,
    slow: PathBuf,
}

/// Path of Verilator's own runtime as one object file, built if it is not in the cache.
fn runtime(installation: &Installation, cache: &Cache, trace: bool) -> Result<PathBuf, VerilatorError> {
    let kind = if trace { "traced" } else { "untraced" };
    let key = hash(&[FORMAT, &installation.versions, &COMPILER_FLAGS.join(" "), kind]);
    cache.entry(&format!("{key}.o"), || Build { installation, cache, trace }.runtime())
}

/// Path of Verilator's header as the compiler has read it at this level, made if it is not in the cache.
fn header(installation: &Installation, cache: &Cache, trace: bool, level: &[&str]) -> Result<PathBuf, VerilatorError> {
    let flags = [COMPILER_FLAGS, level].concat().join(" ");
    let kind = if trace { "traced" } else { "untraced" };
    let key = hash(&[FORMAT, &installation.versions, &flags, kind, "header"]);
    cache.entry(&format!("{key}.gch"), || Build { installation, cache, trace }.header(level))
}

struct Build<'a> {
    installation: &'a Installation,
    cache: &'a Cache,
    trace: bool,
}

impl Build<'_> {
    fn runtime(&self) -> Result<Built, VerilatorError> {
        let folder = self.cache.work_folder()?;
        let mut names = vec!["verilated", "verilated_threads"];
        if self.trace {
            names.push("verilated_vcd_c");
        }
        let object = |name: &str| folder.path().join(name).with_extension("o");
        let jobs = names
            .iter()
            .map(|name| {
                let source = self.installation.include().join(name).with_extension("cpp");
                start(self.compiler().args(["-O2", "-c"]).arg(source).arg("-o").arg(object(name)))
            })
            .collect::<Result<Vec<_>, _>>()?;
        finish_all(jobs)?;
        let file = object("runtime");
        let objects = names.iter().map(|name| object(name));
        finish(start(self.compiler().args(["-r", "-nostdlib"]).args(objects).arg("-o").arg(&file))?)?;
        Ok(Built { file, _folder: folder })
    }

    fn header(&self, level: &[&str]) -> Result<Built, VerilatorError> {
        let folder = self.cache.work_folder()?;
        let (source, file) = (folder.path().join("all.h"), folder.path().join("all.h.gch"));
        write(&source, self.headers())?;
        finish(start(self.compiler().args(level).args(["-x", "c++-header"]).arg(source).arg("-o").arg(&file))?)?;
        Ok(Built { file, _folder: folder })
    }

    fn headers(&self) -> &'static str {
        if self.trace {
            "#include \"verilated.h\"\n#include \"verilated_vcd_c.h\"\n"
        } else {
            "#include \"verilated.h\"\n"
        }
    }

    fn design(&self, rtl: &Rtl, shim: &str, parts: &Parts) -> Result<Built, VerilatorError> {
        let folder = self.cache.work_folder()?;
        let at = |name: &str| folder.path().join(name);
        write(&at("design.v"), &rtl.verilog)?;
        let mut verilator = Command::new(&self.installation.verilator);
        verilator
            .env("VERILATOR_ROOT", &self.installation.root)
            .current_dir(folder.path())
            .args(VERILATOR_FLAGS)
            .args(["--prefix", shim::CLASS, "--Mdir", ".", "--top-module", &rtl.top])
            .args(self.trace.then_some("--trace"))
            .arg("design.v");
        finish(start(&mut verilator)?)?;

        let (slow, fast): (Vec<String>, Vec<String>) = sources(folder.path())?
            .into_iter()
            .partition(|name| name.contains("__Slow") || name.contains("__Syms") || name.contains("__Trace"));
        write(&at("fast.cc"), &(includes(&fast) + shim))?;
        write(&at("slow.cc"), &includes(&slow))?;
        let compile = |name: &str, level: &[&str], precompiled: &Path| {
            let [source, object, header] = ["cc", "o", "h"].map(|extension| at(name).with_extension(extension));
            // A compiler that cannot use the file beside the header reads the header.
            write(&header, self.headers())?;
            let beside = at(name).with_extension("h.gch");
            symlink(precompiled, &beside).map_err(failed("write", &beside))?;
            let mut compiler = self.compiler();
            start(compiler.args(level).arg("-include").arg(header).arg("-c").arg(source).arg("-o").arg(object))
        };
        finish_all(vec![compile("fast", parts.often, &parts.fast)?, compile("slow", SLOW, &parts.slow)?])?;

        let file = at("simulator.so");
        let mut link = self.compiler();
        link.arg("-shared")
            .arg(at("fast.o"))
            .arg(at("slow.o"))
            .arg(&parts.runtime)
            .arg("-pthread")
            .arg("-o")
            .arg(&file);
        finish(start(&mut link)?)?;
        Ok(Built { file, _folder: folder })
    }

    fn compiler(&self) -> Command {
        let include = self.installation.include();
        let traced = i32::from(self.trace);
        let mut command = Command::new(&self.installation.compiler);
        command
            .args(COMPILER_FLAGS)
            .args([format!("-DVM_TRACE={traced}"), format!("-DVM_TRACE_VCD={traced}")])
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("vltstd"));
        command
    }
}

/// The C++ files that Verilator made, sorted.
fn sources(folder: &Path) -> Result<Vec<String>, VerilatorError> {
    let mut names = Vec::new();
    for entry in folder.read_dir().map_err(failed("read", folder))? {
        let name = entry.map_err(failed("read", folder))?.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "cpp") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn includes(names: &[String]) -> String {
    names.iter().fold(String::new(), |text, name| text + "#include \"" + name + "\"\n")
}

fn write(path: &Path, text: &str) -> Result<(), VerilatorError> {
    fs::write(path, text).map_err(failed("write", path))
}
