//! Files of `build` for Zynq: the driver trains as the array does, C compiles it, Tcl runs the script, and no name escapes its scope.

#[path = "zynq/ranks.rs"]
mod ranks;

use arch::axi::{self, Behind, WINDOW};
use arch::machine::MachineSpec;
use arch::registers::{ABORT, BUSY, CONTROL, DONE, SATURATED, STEP_LENGTH};
use arch::tools::Toolbox;
use arch::{Machine, number};
use serde_json::{Value, json};
use sim::array::Array;
use sim::grid::Grid;
use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const PROGRAM: &str =
    "mu = 0.25; m = 6; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m];
h = sum[i](w[i] * x[i]); d = h - y; g[i] = d * x[i];";

const TRAIN: &str =
    "[train]\nprediction = \"h\"\nloss = \"squared\"\nstandardise = false\nstandardise_target = false\nepochs = 2\n";

/// The machine of the config below.
fn machine(stream_words: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(u32::max(4, stream_words / 2)),
        word: Some(16),
        // Otherwise as narrow as the program allows, for a board.
        accumulator: Some(48),
        stream_words: Some(stream_words),
        model_depth: Some(64),
        data_depth: Some(64),
        temporary_depth: Some(16),
        program_depth: Some(64),
        table_entries: Some(0),
        scalar: Some(false),
        // The stand-in below takes one word per beat.
        output_words: Some(1),
        ..MachineSpec::default()
    }
}

fn config(machine: &MachineSpec) -> String {
    format!(
        "program = \"line.t\"\n[machine]\n{}[board]\nname = \"zcu102\"\n[numbers.fractions]\nx = 12\ny = 12\nw = 12\nh = 12\nd = 12\n",
        toml::to_string(machine).unwrap()
    )
}

/// Rows of `x0 .. x5, y`, exact in 12 bits.
fn rows() -> Vec<[f64; 7]> {
    let value = |n: usize, i: usize| ((n * 37 + i * i * 11 + 5) % 64) as f64 / 64.0 - 0.5;
    (0..24).map(|n| std::array::from_fn(|i| value(n, i))).collect()
}

fn tool(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tabla-gen")).args(arguments).current_dir(folder).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Samples, the order in which `train` takes them, as the driver wants them.
fn steps() -> Value {
    let order = sim::data::split::split(rows().len(), 1.0, 1).train;
    let rows: Vec<[f64; 7]> = order.into_iter().map(|row| rows()[row]).collect();
    let x: Vec<&[f64]> = rows.iter().map(|row| &row[..6]).collect();
    json!({ "x": x, "y": rows.iter().map(|row| row[6]).collect::<Vec<f64>>() })
}

fn project(stream_words: u32) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
    write("line.t", PROGRAM.to_owned());
    write("line.toml", TRAIN.to_owned());
    write("zynq.toml", config(&machine(stream_words)));
    let mut csv = "x0,x1,x2,x3,x4,x5,y\n".to_owned();
    for row in rows() {
        csv += &(row.map(|value| value.to_string()).join(",") + "\n");
    }
    write("data.csv", csv);
    folder
}

fn build(folder: &Path) -> PathBuf {
    build_core(folder, "tabla")
}

fn build_core(folder: &Path, core: &str) -> PathBuf {
    let (code, said) =
        tool(folder, &["--config", "zynq.toml", "build", "--module", core, "--data", "data.csv", "--out", "out"]);
    assert_eq!(code, 0, "{said}");
    folder.join("out")
}

/// The AXI shell, played by the array.
struct Shell {
    array: Array,
    machine: Machine,
    flags: u32,
    /// A program is loaded and has not been changed since.
    loaded: bool,
    told: bool,
    output: VecDeque<i64>,
    /// The ranks of which this is one, and how often they have added something.
    world: Option<(Arc<ranks::World>, usize)>,
}

impl Shell {
    fn new(machine: Machine, world: Option<Arc<ranks::World>>) -> Shell {
        let (array, world) = (Array::new(&machine), world.map(|world| (world, 0)));
        Shell { array, machine, flags: 0, loaded: false, told: true, output: VecDeque::new(), world }
    }

    fn place(offset: u32) -> Result<&'static str, u32> {
        match axi::REGISTERS.iter().find(|register| register.offset == offset) {
            Some(register) => match register.behind {
                Behind::Shell => Ok(register.name),
                Behind::Grid(number) => Err(number),
            },
            None => Err((offset - WINDOW) / 4),
        }
    }

    fn read(&mut self, offset: u32) -> u32 {
        let status = self.array.control_read(CONTROL);
        match Shell::place(offset) {
            Err(number) => self.array.control_read(number),
            Ok("version") => axi::VERSION,
            Ok("stop" | "cause") => 0,
            Ok("status") => u32::from(status & SATURATED != 0),
            Ok("ctrl") if status & (BUSY | DONE) == DONE && !self.told => {
                self.told = true;
                axi::CTRL_DONE | axi::CTRL_IDLE
            }
            Ok("ctrl") => (status & BUSY ^ 1) * axi::CTRL_IDLE,
            Ok(name) => panic!("nobody reads {name}"),
        }
    }

    fn write(&mut self, offset: u32, value: u32) {
        match Shell::place(offset) {
            Err(number) => {
                // docs/registers.md, "A way out".
                self.loaded = if number == STEP_LENGTH { value >= 2 } else { self.loaded && number >> 16 == 0 };
                self.array.control_write(number, value);
            }
            Ok("run_flags") => self.flags = value,
            Ok("output_words" | "watchdog" | "cause") => {}
            Ok("stop") => {
                self.array.control_write(CONTROL, ABORT);
                self.cycle(None);
                self.output.clear();
            }
            Ok("ctrl") => {
                assert!(self.loaded, "a start without a program is refused");
                self.told = false;
                self.array.control_write(CONTROL, value | self.flags << 1);
            }
            Ok(name) => panic!("nobody writes {name}"),
        }
    }

    fn cycle(&mut self, beat: Option<&[i64]>) -> bool {
        let result = self.array.cycle(beat, true);
        self.output.extend(result.output);
        result.input_taken
    }

    /// One line of the driver, answered.
    fn answer(&mut self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap();
        if let Some((world, calls)) = &mut self.world
            && ["add", "sums"].contains(&command)
        {
            let (Some(sums), true) = (world.answer(*calls, words), command == "sums") else { return "wait".to_owned() };
            *calls += 1;
            return sums;
        }
        let numbers: Vec<i64> = words.map(|word| word.parse().unwrap()).collect();
        match command {
            "read" => self.read(numbers[0] as u32).to_string(),
            "write" => {
                self.write(numbers[0] as u32, numbers[1] as u32);
                "ok".to_owned()
            }
            "send" => {
                assert!(numbers.iter().all(|&word| number::wrap(word.into(), 16) as i64 == word));
                for beat in numbers.chunks(self.machine.stream_words() as usize) {
                    while !self.cycle(Some(beat)) {}
                }
                "ok".to_owned()
            }
            "receive" => {
                while self.output.len() < numbers[0] as usize {
                    self.cycle(None);
                }
                let words: Vec<String> =
                    self.output.drain(..numbers[0] as usize).map(|word| word.to_string()).collect();
                for _ in 0..1000 {
                    self.cycle(None);
                }
                words.join(" ")
            }
            _ => panic!("{line}"),
        }
    }

    /// Answer the driver until it says what came of it; nothing if it ends without a word.
    fn serve(&mut self, from: impl BufRead, mut to: impl Write) -> Option<Value> {
        for line in from.lines() {
            let line = line.ok()?;
            if let Some(result) = line.strip_prefix("result ") {
                return Some(serde_json::from_str(result).unwrap());
            }
            writeln!(to, "{}", self.answer(&line)).ok()?;
        }
        None
    }
}

/// The driver in `out`, with these values.
fn host(python: &Path, out: &Path, values: &Value) -> Command {
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zynq/host.py")).arg(out).arg(values.to_string());
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn python() -> PathBuf {
    Toolbox::default().program("python3").unwrap_or_else(|missing| panic!("{missing}"))
}

/// Run the driver in `out` on the array; its result.
fn drive(out: &Path, stream_words: u32, values: &Value) -> Value {
    drive_on(Machine::try_from(machine(stream_words)).unwrap(), out, values)
}

fn drive_on(machine: Machine, out: &Path, values: &Value) -> Value {
    let mut child = host(&python(), out, values).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let result = Shell::new(machine, None).serve(from, to);
    let status = child.wait().unwrap();
    result.unwrap_or_else(|| panic!("the driver failed: {status}"))
}

#[test]
fn the_python_driver_trains_as_the_array_does() {
    for stream_words in [8, 1, 16, 32] {
        let folder = project(stream_words);
        let out = build(folder.path());
        let train = ["--config", "zynq.toml", "train", "--data", "data.csv", "--split", "1", "--save", "model.json"];
        let (code, said) = tool(folder.path(), &train);
        assert_eq!(code, 0, "{said}");
        let expected: Value =
            serde_json::from_str(&fs::read_to_string(folder.path().join("model.json")).unwrap()).unwrap();
        let values = json!({ "steps": steps(), "model": { "w": vec![0.0; 6] }, "epochs": 2 });
        let found = drive(&out, stream_words, &values);
        assert_eq!(found["model"], expected["model"]);
        let w: Vec<f64> = serde_json::from_value(found["model"]["w"].clone()).unwrap();
        assert!(w.iter().any(|&value| value != 0.0), "it learned something: {w:?}");
        let x: Vec<Vec<f64>> = serde_json::from_value(values["steps"]["x"].clone()).unwrap();
        for (row, prediction) in x.iter().zip(found["predictions"].as_array().unwrap()) {
            let exact: f64 = row.iter().zip(&w).map(|(x, w)| x * w).sum();
            let prediction = prediction[0].as_f64().unwrap();
            assert!((prediction - exact).abs() <= 0.5 / 4096.0, "{prediction} for {exact}");
        }
    }
}

/// A function: the driver loads what is resident once, and its records after that.
#[test]
fn the_python_driver_keeps_what_is_resident() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "dense.tc",
        "def dense(float(3) x, float(2,3) W, float(2) b) -> (y) {\n  h(i) +=! W(i,j) * x(j)\n  y(i) = h(i) + b(i)\n}\n",
    );
    write("dense.toml", "[function]\nresident = [\"W\", \"b\"]\n");
    write("in.json", r#"{"x": [4, 4, 4], "W": [[1, -2, 0.5], [0.25, 3, -1]], "b": [0.5, -1]}"#);
    let machine = toml::to_string(&machine(8)).unwrap();
    write("zynq.toml", &format!("program = \"dense.tc\"\n[machine]\n{machine}[board]\nname = \"zcu102\"\n"));
    let (code, said) = tool(
        folder.path(),
        &["--config", "zynq.toml", "build", "--module", "tabla", "--inputs", "in.json", "--out", "out"],
    );
    assert_eq!(code, 0, "{said}");
    let records = json!([{ "x": [[1, 2, 4]] }, { "x": [[2, -1, 4], [0, 0, 1]] }]);
    let values = json!({ "records": records, "model": { "W": [[1, -2, 0.5], [0.25, 3, -1]], "b": [0.5, -1] } });
    // W x + b by hand.
    let [first, second, third] = [[-0.5, 1.25], [6.5, -7.5], [1.0, -2.0]];
    assert_eq!(drive(&folder.path().join("out"), 8, &values), json!([first, second, third, second, third]));
}

/// A function that its pads do not hold: the driver takes it segment by segment.
#[test]
fn the_python_driver_runs_segments() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "net.tc",
        "def net(float(8) x, float(16,8) W, float(4,16) V) -> (y) {\n  h(i) +=! W(i,j) * x(j)\n  r(i) = fmax(h(i), 0)\n  y(k) +=! V(k,i) * r(i)\n}\n",
    );
    write("net.toml", "[function]\nresident = [\"W\", \"V\"]\n");
    let value = |n: usize| ((n * 37 + 11) % 9) as f64 / 4.0 - 1.0;
    let matrix = |rows: usize, columns: usize| -> Vec<Vec<f64>> {
        (0..rows).map(|i| (0..columns).map(|j| value(i * columns + j + rows)).collect()).collect()
    };
    let (w, v, x) = (matrix(16, 8), matrix(4, 16), matrix(3, 8));
    let records: Vec<Value> = x.iter().map(|x| json!({ "x": x, "W": w, "V": v })).collect();
    write("in.json", &Value::from(records).to_string());
    let machine = MachineSpec { model_depth: Some(8), data_depth: Some(8), rectifiers: Some(true), ..machine(8) };
    let text = toml::to_string(&machine).unwrap();
    let config =
        format!("program = \"net.tc\"\n[machine]\n{text}[board]\nname = \"zcu102\"\n[build]\nsegments = \"auto\"\n");
    write("zynq.toml", &config);
    let build = ["--config", "zynq.toml", "build", "--module", "tabla", "--inputs", "in.json", "--out", "out"];
    let (code, said) = tool(folder.path(), &build);
    assert_eq!(code, 0, "{said}");
    let out = folder.path().join("out");
    let plan: Value = serde_json::from_str(&fs::read_to_string(out.join("function/segments.json")).unwrap()).unwrap();
    assert!(plan["segments"].as_array().unwrap().len() >= 3, "{plan}");
    let given = json!({ "segments": [{ "x": x[..1] }, { "x": x[1..] }], "model": { "W": w, "V": v } });
    // Multiples of a quarter are exact in words, and so are their products.
    let product = |m: &[Vec<f64>], x: &[f64]| -> Vec<f64> {
        m.iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    };
    let rectified = |x: &Vec<f64>| product(&w, x).into_iter().map(|h| h.max(0.0)).collect::<Vec<f64>>();
    let expected: Vec<Vec<f64>> = x.iter().map(|x| product(&v, &rectified(x))).collect();
    assert_eq!(drive_on(Machine::try_from(machine).unwrap(), &out, &given), json!(expected));
}

#[test]
fn the_c_header_compiles_and_works() {
    let folder = project(16);
    let out = build(folder.path());
    let program = r#"#include <stdlib.h>
#include "tabla.h"
int main(void)
{
    static const struct tabla_write writes[] = {{0x10000u, 7u}, {0x50003u, 9u}};
    volatile uint8_t *base = calloc(TABLA_ADDRESS_SPACE, 1);
    if (base == NULL || tabla_is_there(base)) return 1;
    tabla_set(base, TABLA_ID, 0x54410002u);
    tabla_set(base, TABLA_VERSION, 2u);
    tabla_set(base, TABLA_GRID, 0x20008u);
    tabla_set(base, TABLA_WIDTHS, 0x100030u);
    if (!tabla_is_there(base) || TABLA_STREAM_WORDS != 16u || TABLA_LANE_BITS != 16u) return 2;
    tabla_load(base, writes, 2);
    if (tabla_get(base, 0x440000u) != 7u || tabla_get(base, 0x54000cu) != 9u) return 3;
    tabla_start(base, 5u, 1, 1, 6u);
    if (tabla_get(base, 0x24u) != 5u || tabla_get(base, 0x28u) != 3u || tabla_get(base, 0x30u) != 6u) return 4;
    if (tabla_get(base, 0u) != 1u || tabla_is_done(base)) return 5;
    tabla_set(base, 0u, 6u);
    tabla_set(base, 0x1cu, 3u);
    tabla_set(base, 0x20u, 1u);
    /* Memory is no accelerator: what is written to `stop` stays, as if it did not stop. */
    if (tabla_abort(base, 3) != 1 || tabla_get(base, 0x40u) != 1u) return 7;
    tabla_set(base, 0x48u, TABLA_CAUSE_ABORTED);
    tabla_set(base, 0x4cu, 9u);
    uint32_t place;
    if (tabla_cause(base, &place) != 6u || place != 9u || tabla_get(base, 0x48u) != 0u) return 8;
    /* Two transfers of 16 words from two ports: words 0 to 7 and 16 to 23, the others. */
    static tabla_word words[32], part[16];
    for (int n = 0; n < 32; n++) words[n] = (tabla_word)n;
    if (TABLA_PORTS != 2u) return 9;
    tabla_part(1u, words, 32, part);
    if (part[0] != 8 || part[7] != 15 || part[8] != 24 || part[15] != 31) return 10;
    tabla_part(0u, words, 32, part);
    if (part[0] != 0 || part[7] != 7 || part[8] != 16) return 11;
    return tabla_is_done(base) && tabla_cycles(base) == 0x100000003u ? 0 : 6;
}
"#;
    fs::write(folder.path().join("main.c"), program).unwrap();
    let compiler = Toolbox::default().program("g++").unwrap_or_else(|missing| panic!("{missing}"));
    let binary = folder.path().join("main");
    let output = Command::new(compiler)
        .args(["-x", "c", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(out.join("driver"))
        .args([folder.path().join("main.c").as_os_str(), "-o".as_ref(), binary.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(Command::new(binary).status().unwrap().code(), Some(0));
}

/// What Vivado would find, in the order of [`GOOD`].
const FINDINGS: [&str; 6] = ["SETUP", "HOLD", "PULSE", "PERIOD", "CDC", "METHODOLOGY"];
const GOOD: [&str; 6] = ["0.123", "0.01", "1.2", "5.000", "0", "0"];

/// What a script in `out` asks Vivado for, and whether it ended well.
fn vivado(out: &Path, script: &str, findings: [&str; 6]) -> (String, bool) {
    vivado_of("tabla", out, script, findings)
}

fn vivado_of(core: &str, out: &Path, script: &str, findings: [&str; 6]) -> (String, bool) {
    let tcl = Toolbox::default().program("tclsh").unwrap_or_else(|missing| panic!("{missing}"));
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zynq/vivado_stub.tcl");
    let shell = fs::read_to_string(out.join(format!("rtl/{core}_axi.v"))).unwrap();
    let bits = |port: &str| {
        let line = shell.lines().find(|line| line.ends_with(&format!(" {port},"))).unwrap();
        line.split_once('[').unwrap().1.split_once(':').unwrap().0.parse::<u32>().unwrap() + 1
    };
    let mut command = Command::new(tcl);
    command.arg(stub).arg(out.join(script)).envs(FINDINGS.into_iter().zip(findings));
    command.env("WIDTHS", format!("{} {}", bits("s_axis_tdata"), bits("m_axis_tdata")));
    let output = command.output().unwrap();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
}

#[test]
fn the_script_of_vivado_runs_to_its_end() {
    for (stream_words, last) in [(8, 0), (32, 3)] {
        let out = project(stream_words);
        let (log, ended) = vivado(&build(out.path()), "vivado.tcl", GOOD);
        assert!(ended, "{log}");
        let port = |n: u32| log.contains(&format!("connect memory_{n}/M00_AXI ps/S_AXI_HP{n}_FPD"));
        assert!(port(0) && port(last) && !port(last + 1) && log.contains("join/M_AXIS") == (last > 0), "{log}");
    }
    let folder = project(16);
    let out = build(folder.path());
    let (log, ended) = vivado(&out, "vivado.tcl", GOOD);
    assert!(ended, "{log}");
    for asked in [
        "-part xczu9eg-ffvb1156-2-e",
        "rtl/device/multiply_add.v",
        "rtl/device/processing_engine.v",
        "rtl/device/block_tree.v",
        "rtl/narrow.v",
        "rtl/tabla_axi.v",
        "tabla.xdc",
        "create_bd_cell tabla_axi tabla_axi_0",
        "CONFIG.c_m_axis_mm2s_tdata_width 128",
        "FREQMHZ 200.000000",
        "connect axi_dma_0/M_AXIS_MM2S join/S00_AXIS",
        "connect axi_dma_1/M_AXIS_MM2S join/S01_AXIS",
        "connect join/M_AXIS tabla_axi_0/s_axis",
        "connect memory_1/M00_AXI ps/S_AXI_HP1_FPD",
        "connect tabla_axi_0/run_done interrupts/In0",
        "set_property range 8M",
        "validate_bd_design",
        "report_timing_summary",
        "tabla.bit",
        "tabla.hwh",
    ] {
        assert!(log.contains(asked), "no {asked:?} in\n{log}");
    }
    // The block design names ports that the module has.
    let shell = fs::read_to_string(out.join("rtl/tabla_axi.v")).unwrap();
    for port in ["s_axi_aclk", "s_axi_aresetn", "run_done", "s_axis_tdata", "m_axis_tdata", "s_axi_awaddr"] {
        assert!(shell.contains(&format!(" {port}")), "{port}");
    }
}

/// Two cores have block designs and accelerators of different names, which the driver of each knows.
#[test]
fn names_of_the_block_design_are_those_of_the_core() {
    let folder = project(16);
    let out = build_core(folder.path(), "second");
    let (log, ended) = vivado_of("second", &out, "vivado.tcl", GOOD);
    assert!(ended, "{log}");
    for asked in [
        "create_bd_design second_system",
        "create_bd_cell second_axi second_axi_0",
        "connect second_axi_0/m_axis",
        "NAME =~ *second_axi_0*",
        "get_files second_system.bd",
        "set_property top second_system_wrapper",
        "second_system.hwh",
    ] {
        assert!(log.contains(asked), "no {asked:?} in\n{log}");
    }
    assert!(!log.contains("tabla_axi"), "{log}");
    let driver = fs::read_to_string(out.join("driver/tabla.py")).unwrap();
    assert!(driver.contains("\nCORE = \"second\"\n") && driver.contains("getattr(overlay, CORE + \"_axi_0\")"));
}

/// Each gate by itself keeps a bitstream back.
#[test]
fn the_script_of_vivado_refuses_what_is_not_good() {
    let folder = project(16);
    let out = build(folder.path());
    for (finding, bad, said) in [
        ("SETUP", "-0.5", "setup is missed by 0.5 ns"),
        ("SETUP", "", "no setup slack is known"),
        ("HOLD", "-0.02", "hold is missed by 0.02 ns"),
        ("PULSE", "-0.1", "pulse width is missed by 0.1 ns"),
        ("PERIOD", "5.3", "the clock has a period of 5.3 ns, not the 5.000 ns of 200.000000 MHz"),
        ("CDC", "2", "2 unsafe clock crossings"),
        ("METHODOLOGY", "1", "1 critical warnings of methodology"),
    ] {
        let mut findings = GOOD;
        findings[FINDINGS.iter().position(|&name| name == finding).unwrap()] = bad;
        let (log, ended) = vivado(&out, "vivado.tcl", findings);
        assert!(!ended && log.contains(said), "{finding} {bad}: {log}");
        assert!(!log.contains("tabla.bit\n"), "no bitstream with {finding} {bad}\n{log}");
    }
    // Rules of the block design.
    let script = fs::read_to_string(out.join("vivado.tcl")).unwrap();
    for (right, wrong, said) in [
        ("ps/saxihp${n}_fpd_aclk ", "", "ps/saxihp0_fpd_aclk is connected 0 times"),
        ("CONFIG.NUM_MI [expr {$ports + 1}]", "CONFIG.NUM_MI 4", "control/M03_AXI is connected 0 times"),
        ("CONFIG.c_m_axis_mm2s_tdata_width $port_bits", "CONFIG.c_m_axis_mm2s_tdata_width 64", "64 bits"),
        ("memory_0/S01_AXI", "memory_0/S00_AXI", "connected"),
        ("PSU__USE__S_AXI_GP$gp 1", "PSU__USE__S_AXI_GP2 1", "zynq_ultra_ps_e has no pin S_AXI_HP1_FPD"),
        ("CONFIG.NUM_SI $ports", "CONFIG.NUM_SI 4", "join/S02_AXIS is connected 0 times"),
        ("$accelerator/m_axis]", "$accelerator/n_axis]", "tabla_axi has no pin n_axis"),
        ("\nassign_bd_address\n", "\n", "without addresses"),
    ] {
        assert!(script.contains(right), "{right}");
        fs::write(out.join("wrong.tcl"), script.replacen(right, wrong, 1)).unwrap();
        let (log, ended) = vivado(&out, "wrong.tcl", GOOD);
        assert!(!ended && log.contains(said), "{wrong}: {log}");
    }
}

/// Names that would do harm in Verilog, Tcl, Python or C, had they a way in. Names of programs are words of the language; those of
/// boards are strings.
#[test]
fn hostile_names_stay_names() {
    let folder = project(8);
    let boards = folder.path().join("boards");
    fs::create_dir(&boards).unwrap();
    let facts = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fpga/boards/zcu102.toml")).unwrap();
    let hostile = r#"x"; exec touch hacked; [exec touch hacked] $::env(HOME) {"#;
    let facts = facts.replace("\"xczu9eg-ffvb1156-2-e\"", &format!("'''{hostile}'''"));
    assert!(facts.contains("hacked"));
    fs::write(boards.join("evil board [exec touch hacked].toml"), facts).unwrap();
    let words = ["endmodule", "import_os", "_", "__import__", "exit", "proc", "define"];
    for word in words {
        let text = PROGRAM.replace("h = ", &format!("{word} = ")).replace("d = h", &format!("d = {word}"));
        fs::write(folder.path().join("line.t"), text).unwrap();
        fs::write(folder.path().join("line.toml"), TRAIN.replace("\"h\"", &format!("\"{word}\""))).unwrap();
        let config =
            config(&machine(8)).replace("h = 12\n", "").replace("\"zcu102\"", "\"evil board [exec touch hacked]\"");
        fs::write(folder.path().join("zynq.toml"), config).unwrap();
        let (code, said) = tool(
            folder.path(),
            &["--config", "zynq.toml", "build", "--module", "tabla", "--data", "data.csv", "--out", "out"],
        );
        // A board file or a word may be refused; what is accepted does no harm.
        if code != 0 {
            assert_eq!(code, 1, "{word}: {said}");
            continue;
        }
        let out = folder.path().join("out");
        for file in ["rtl/tabla.v", "rtl/tabla_axi.v", "vivado.tcl", "driver/tabla.py", "driver/tabla.h"] {
            let text = fs::read_to_string(out.join(file)).unwrap();
            assert!(!text.contains("exec touch"), "{file}");
            assert!(
                !text.contains(word) || ["endmodule", "_", "exit", "proc", "define"].contains(&word),
                "{word} in {file}"
            );
        }
        let (log, ended) = vivado(&out, "vivado.tcl", GOOD);
        assert!(ended, "{log}");
        assert!(log.contains(r"exec\ touch\ hacked"), "the part is told as it is written: {log}");
    }
    for place in [folder.path().to_owned(), folder.path().join("out"), PathBuf::from(env!("CARGO_MANIFEST_DIR"))] {
        assert!(!place.join("hacked").exists());
    }
}
