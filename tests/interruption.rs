//! Interrupted, or out of space: no half-written file, nothing outside the folder that was asked for, no program left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn tabla_gen(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Every file below a folder, hidden ones and folders among them.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Wait until something holds.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_training_writes_nothing() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = tabla_gen(folder.path());
        command.arg("train").arg(root().join("programs/logistic.t"));
        command.arg("--data").arg(root().join("examples/breast_cancer.csv"));
        let mut child = command.args(["--epochs", "1000000", "--save", "model.json"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(everything(folder.path()), Vec::<PathBuf>::new(), "{signal}");
    }
}

/// The ids of processes that mention a folder in their arguments or work in it.
fn processes_in(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let is_process = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let working = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if is_process && (String::from_utf8_lossy(&arguments).contains(folder) || working.starts_with(folder)) {
            found.push(String::from_utf8_lossy(&arguments).replace('\0', " "));
        }
    }
    found
}

/// Verilator, the compiler and what the compiler starts end with the process that waits for them.
#[test]
fn no_compiler_outlives_an_interrupted_simulation() {
    let folder = tempfile::tempdir().unwrap();
    // An empty cache of simulators beside the tools that are installed.
    let cache = folder.path().join("cache");
    fs::create_dir(&cache).unwrap();
    let tools = arch::tools::Toolbox::default().folder().to_owned();
    std::os::unix::fs::symlink(&tools, cache.join(tools.file_name().unwrap())).unwrap();
    let mut command = tabla_gen(folder.path());
    command.env("TABLA_GEN_TOOLS", &cache).args(["--config", "zcu102", "sim", "--steps", "1"]);
    let mut child = command.arg(root().join("programs/logistic.t")).spawn().unwrap();
    let simulators = cache.join("simulators");
    eventually("a compiler is started", || {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the simulation has ended; are the tools installed? run scripts/setup"
        );
        // The library of a design is compiled in a folder of its own; by then Verilator has run.
        processes_in(&simulators).iter().any(|process| process.contains("cc1plus"))
    });
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // The kernel needs a moment to take away what was ended.
    let begin = Instant::now();
    while !processes_in(&simulators).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(5), "still running: {:?}", processes_in(&simulators));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nor do yosys and nextpnr, whose processes work in the folder of the results.
#[test]
fn no_synthesis_outlives_an_interrupted_build() {
    // Who is killed can end nobody.
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        no_synthesis_outlives(signal, code);
    }
}

fn no_synthesis_outlives(signal: &str, code: Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("out/fpga");
    let mut command = tabla_gen(folder.path());
    command.args(["--config", "ulx3s-25f", "bitstream", "--out", "out", "--data"]);
    let mut child = command.arg(root().join("examples/breast_cancer.csv")).spawn().unwrap();
    eventually("yosys is started", || {
        assert!(child.try_wait().unwrap().is_none(), "synthesis has ended; are the tools installed? run scripts/setup");
        !processes_in(&work).is_empty()
    });
    send(signal, &child);
    assert_eq!(child.wait().unwrap().code(), code);
    let begin = Instant::now();
    while !processes_in(&work).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(5), "still running: {:?}", processes_in(&work));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A disk that is full after some kilobytes: a limit on the size of files says the same.
#[test]
fn a_full_disk_leaves_no_half_written_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = root().join("programs/logistic.t");
    let data = root().join("examples/breast_cancer.csv");
    let run = |arguments: &str| {
        // Without the trap the kernel would end the process; a full disk gives an error.
        let script = format!("trap '' XFSZ; ulimit -f 1; exec \"$0\" {arguments} \"$1\" --data \"$2\"");
        let mut command = Command::new("bash");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_tabla-gen")]).args([&program, &data]);
        command.current_dir(folder.path()).output().unwrap()
    };
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(folder.path().join("out/report.txt"), "of before").unwrap();
    fs::write(folder.path().join("model.json"), "of before").unwrap();
    for arguments in [
        "build --config tiny --out out --force",
        "train --epochs 1 --limit 9 --save model.json",
        "sim --config tiny --engine array --wave run.vcd",
        "sim --config tiny --engine array --wave run.fst",
    ] {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{arguments}: {said}");
        assert!(said.contains("cannot write"), "{arguments}: {said}");
        let mut left = everything(folder.path());
        left.sort();
        let expected = ["model.json", "out", "out/report.txt"].map(|name| folder.path().join(name));
        assert_eq!(left, expected, "{arguments}");
        assert_eq!(fs::read_to_string(&left[2]).unwrap(), "of before");
    }
}

/// Killed at any moment, a build leaves the old folder or the new one: all files are of one, as its hashes say. What it leaves beside it
/// the next build removes.
#[test]
fn a_killed_build_leaves_no_mixture() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let build = |pus: usize| {
        let mut command = tabla_gen(folder.path());
        command.args(["--config", "tiny", "build", "--out", "out", "--machine", &format!("pus={pus}")]);
        command.arg(root().join("programs/logistic.t")).spawn().unwrap()
    };
    let is_whole = |moment: &str| {
        let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
        let checked = Command::new("sha256sum").args(["--quiet", "--check", "SHA256SUMS"]).current_dir(&out).output();
        let checked = checked.unwrap();
        assert!(checked.status.success(), "{moment}: {}", String::from_utf8_lossy(&checked.stdout));
        let files = everything(&out).into_iter().filter(|path| path.is_file()).count();
        assert_eq!(files, sums.lines().count() + 1, "{moment}: every file is listed");
    };
    let begin = Instant::now();
    assert!(build(1).wait().unwrap().success());
    let length = begin.elapsed();
    is_whole("whole");
    for number in 0..12 {
        let mut child = build(1 + number % 2);
        std::thread::sleep(length.mul_f64(0.5 + 0.05 * number as f64));
        let _ = child.kill();
        child.wait().unwrap();
        is_whole(&format!("killed after {number}"));
    }
    assert!(build(2).wait().unwrap().success());
    let beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["out"]);
}

#[test]
fn build_writes_below_its_folder_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tabla_gen(folder.path());
    command.args(["--config", "tiny", "build", "--out", "a/b"]).arg(root().join("programs/logistic.t"));
    assert!(command.status().unwrap().success());
    let outside: Vec<PathBuf> =
        everything(folder.path()).into_iter().filter(|path| !path.starts_with(folder.path().join("a/b"))).collect();
    assert_eq!(outside, [folder.path().join("a")]);
    let hidden = everything(&folder.path().join("a/b"));
    assert!(hidden.iter().all(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.')), "{hidden:?}");
}
