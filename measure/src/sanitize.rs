//! `sanitize`: the verilated side with the address and the undefined-behaviour sanitizer: reads and writes outside of what is there, use after free,
//! overflows of signed numbers, shifts that are too far.
//!
//! | part | what is compiled with the sanitizers |
//! |---|---|
//! | testbench | the C++ that `build` writes, Verilator's model and its runtime; run with and without stalls |
//! | simulator | the shared object that `--engine rtl` loads, with its runtime and the C interface between; the sanitizers are preloaded |
//!
//! `sanitize PART` runs one of them. A sanitizer that says something ends the run. Leaks of the loading process are not asked for: those of the model are,
//! in the testbench. Needs scripts/setup; takes some minutes. docs/robustness.md has the result of a run.

#![allow(clippy::print_stdout, reason = "what was found is what it is run for")]

use crate::{Outcome, Project};
use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use xshell::{Cmd, cmd};

const FLAGS: &str = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1";
const OPTIONS: &str = "abort_on_error=0:exitcode=99:detect_stack_use_after_return=1";
const PROGRAMS: [(&str, &str); 3] = [("logistic", "breast_cancer"), ("softmax", "iris"), ("linear", "diabetes")];

/// One read behind the end of an array.
const WRONG: &str = "int main(int n, char**) { int* a = new int[2]{n, n}; int b = a[n + 1]; delete[] a; return b; }\n";

struct Sanitizers<'a> {
    project: &'a Project,
    tool: PathBuf,
    /// The pinned tools.
    tools: PathBuf,
    work: PathBuf,
}

impl Sanitizers<'_> {
    fn sanitized(command: Cmd<'_>) -> Cmd<'_> {
        command.env("ASAN_OPTIONS", OPTIONS).env("UBSAN_OPTIONS", "print_stacktrace=1").quiet()
    }

    /// A sanitizer that finds nothing may not be there: a wrong program has to end in its exit code.
    fn find_what_is_wrong(&self) -> Outcome {
        let shell = &self.project.shell;
        let (source, program) = (self.work.join("wrong.cpp"), self.work.join("wrong"));
        shell.write_file(&source, WRONG)?;
        let flags = FLAGS.split(' ');
        cmd!(shell, "g++ {flags...} {source} -o {program}").quiet().run()?;
        let output = Self::sanitized(cmd!(shell, "{program}").ignore_status()).output()?;
        let found = String::from_utf8_lossy(&output.stderr).contains("heap-buffer-overflow");
        if output.status.code() == Some(99) && found { Ok(()) } else { Err("the sanitizers find nothing".into()) }
    }

    fn testbench(&self, program: &str, data: &str) -> Outcome {
        let (shell, tool) = (&self.project.shell, &self.tool);
        let out = self.work.join(program);
        shell.remove_path(&out)?;
        let (source, data) = (format!("programs/{program}.t"), format!("examples/{data}.csv"));
        cmd!(shell, "{tool} --config tiny build {source} --data {data} --out {out} --quiet")
            .quiet()
            .ignore_stdout()
            .run()?;
        let root = self.verilator()?;
        let (verilator, folder) = (root.join("bin/verilator_bin"), out.join("testbench"));
        for stalls in ["0", "7"] {
            let options = format!("-O1 {FLAGS}");
            let run = cmd!(shell, "make --quiet -C {folder} run STALLS={stalls} VERILATOR={verilator} OPT={options}");
            let said = Self::sanitized(run).env("VERILATOR_ROOT", &root).read()?;
            println!("{}", said.lines().last().unwrap_or_default());
        }
        println!("testbench of {program}: no complaint");
        Ok(())
    }

    fn verilator(&self) -> Result<PathBuf, Box<dyn Error>> {
        let mut pythons = fs::read_dir(self.tools.join("lib"))?.flatten().map(|entry| entry.path());
        let found =
            pythons.find_map(|python| Some(python.join("site-packages/verilator")).filter(|path| path.is_dir()));
        Ok(found.ok_or("run scripts/setup")?)
    }

    /// A compiler that comes first on the path and adds the sanitizers, and a cache of simulators with none in it.
    fn prepare(&self) -> Outcome {
        let shell = &self.project.shell;
        let (bin, cache) = (self.work.join("bin"), self.work.join("cache"));
        for folder in [&bin, &cache] {
            shell.remove_path(folder)?;
            shell.create_dir(folder)?;
        }
        fs::set_permissions(&cache, Permissions::from_mode(0o700))?;
        let compiler = cmd!(shell, "sh -c 'command -v g++'").quiet().read()?;
        // Objects that are only put together get nothing linked in.
        let script = format!(
            "#!/bin/sh\nfor argument in \"$@\"; do\n    case $argument in -r | --version) exec \"{compiler}\" \"$@\" ;; esac\ndone\n\
             exec \"{compiler}\" \"$@\" {FLAGS}\n"
        );
        shell.write_file(bin.join("g++"), script)?;
        fs::set_permissions(bin.join("g++"), Permissions::from_mode(0o755))?;
        // Compilers and Verilator run without: they leak, and are none of ours.
        Ok(symlink(&self.tools, cache.join(self.tools.file_name().ok_or("no folder of tools")?))?)
    }

    fn simulator(&self, program: &str, data: &str) -> Outcome {
        let (shell, tool) = (&self.project.shell, &self.tool);
        let library = |name: &str| cmd!(shell, "g++ -print-file-name={name}").quiet().read();
        let preload = format!("{} {}", library("libasan.so")?, library("libubsan.so")?);
        let path = format!("{}:{}", self.work.join("bin").display(), std::env::var("PATH")?);
        let (source, data) = (format!("programs/{program}.t"), format!("examples/{data}.csv"));
        let train =
            cmd!(shell, "{tool} --config tiny train {source} --data {data} --engine rtl --epochs 1 --limit 20 --quiet");
        let train = Self::sanitized(train).env("ASAN_OPTIONS", format!("{OPTIONS}:detect_leaks=0"));
        let said = train
            .env("PATH", path)
            .env("TABLA_GEN_TOOLS", self.work.join("cache"))
            .env("LD_PRELOAD", preload)
            .read()?;
        if !said.lines().any(|line| line.starts_with("rtl")) {
            return Err(format!("simulator of {program}: {said}").into());
        }
        println!("simulator of {program}: no complaint");
        Ok(())
    }
}

/// Both parts, or the one that the argument names.
pub(crate) fn run(project: &Project, arguments: &[String]) -> Outcome {
    let parts = ["testbench", "simulator"];
    if let Some(unknown) = arguments.iter().find(|part| !parts.contains(&part.as_str())) {
        return Err(format!("no part is called {unknown}: {}", parts.join(", ")).into());
    }
    let wanted = |part: &str| arguments.is_empty() || arguments.iter().any(|asked| asked == part);
    let work = project.shell.create_dir(Path::new("target/sanitize"))?;
    let work = project.shell.current_dir().join(work);
    let sanitizers = Sanitizers { project, tool: project.tool(false)?, tools: project.group("tools")?, work };
    sanitizers.find_what_is_wrong()?;
    if wanted("testbench") {
        PROGRAMS.iter().try_for_each(|(program, data)| sanitizers.testbench(program, data))?;
    }
    if wanted("simulator") {
        sanitizers.prepare()?;
        PROGRAMS.iter().try_for_each(|(program, data)| sanitizers.simulator(program, data))?;
    }
    Ok(())
}
