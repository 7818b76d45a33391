//! The first samples of the data as a simulation that checks itself and needs nothing of ours: Verilator and make, or another simulator.
//!
//! ```text
//! testbench/ ─┬─ main.cpp, Makefile        the same for every grid
//!             ├─ testbench.v               the same in Verilog, from an unknown state on
//!             ├─ axi.v                     the same through AXI, where there is a shell
//!             ├─ grid.h, grid.vh           what this grid looks like
//!             ├─ control.hex               load the program, start the run
//!             └─ input.hex, expected.hex   what goes in, what comes out and when
//! ```

use crate::Design;
use crate::Failure;
use crate::Function;
use crate::build::LICENCE;
use crate::design::quick_steps;
use crate::engines::{EngineMaker, Rung, Which};
use crate::functions::segmented::Segmented;
use crate::writing::Files;
use arch::axi::{self, Cause, Geometry};
use arch::rtl::CoreName;
use arch::{Image, registers, timing};
use hdl::shell;
use sim::array::Array;
use sim::grid::{Recorded, Session, Stalls};
use sim::segments::{All, run};
use sim::train::engine::Engine;
use std::fmt::Write;

/// Steps that are simulated, unless the data has fewer, or a step is too large.
const STEPS: usize = 16;

/// Add the files of the testbench of a training.
///
/// # Errors
/// The array is stuck.
pub fn add(files: &mut Files, core: &CoreName, design: &Design) -> Result<(), Failure> {
    let maker = EngineMaker::new(Rung::Array, &design.lowered, Some(&design.images), &())?;
    let image = maker.image(Which::Full).ok_or_else(|| Failure::Bug("a testbench without an image".to_owned()))?;
    let steps = design.steps(STEPS.min(quick_steps(image)).min(design.samples.train.len() / design.schedule.batch));
    let mut grid = Recorded::new(Array::new(&design.images.machine));
    let mut device = maker.device(&mut grid, Which::Full, &design.samples.signature);
    device.load(&design.start);
    let cycles = device.run(&steps)?.cycles.unwrap_or(0);
    drop(device);
    write(files, core, image, &grid.into_session(), cycles);
    Ok(())
}

/// Add those of a function.
///
/// # Errors
/// The array is stuck.
pub fn add_function(files: &mut Files, core: &CoreName, function: &Function) -> Result<(), Failure> {
    let image = function.climb.image();
    let mut grid = Recorded::new(Array::new(&image.machine));
    let records = STEPS.min(quick_steps(image)) * function.climb.per_step;
    let cycles = function.run(&mut grid, records, Stalls::none())?.cycles;
    write(files, core, image, &grid.into_session(), cycles);
    Ok(())
}

/// Add those of the first segment of a function, which runs the steps that are given.
///
/// # Errors
/// The array is stuck.
pub fn add_segment(
    files: &mut Files,
    core: &CoreName,
    segmented: &Segmented,
    mut steps: Vec<All>,
) -> Result<(), Failure> {
    let Some((segment, compiled)) = segmented.segments.first() else { return Ok(()) };
    let image = &compiled.image;
    steps.truncate(STEPS.min(quick_steps(image)));
    let mut grid = Recorded::new(Array::new(&image.machine));
    let ran = run(&mut grid, &segmented.whole, &[(segment, image)], steps, Stalls::none());
    let ran = ran.map_err(|stuck| Failure::Bug(stuck.to_string()))?;
    // The testbench counts from the start of the run.
    let cycles = ran.cycles[0] - image.control_writes().len() as u64;
    write(files, core, image, &grid.into_session(), cycles);
    Ok(())
}

/// The words of a beat in hexadecimal digits. Weights make millions of them.
fn push_beat(text: &mut String, beat: &[i64], word: u32) {
    for (lane, &value) in beat.iter().enumerate() {
        if lane > 0 {
            text.push(' ');
        }
        let bits = value as u64 & (u64::MAX >> (64 - word));
        let digits = (0..word.div_ceil(4)).rev().map(|place| (bits >> (4 * place)) as u32 & 15);
        text.extend(digits.filter_map(|digit| char::from_digit(digit, 16)));
    }
}

/// The files: what went through the ports of the array is what the Verilog is given and asked for.
#[allow(clippy::too_many_lines, reason = "one list of files and one table of numbers")]
fn write(files: &mut Files, core: &CoreName, image: &Image, session: &Session, cycles: u64) {
    let machine = &image.machine;
    let word = machine.word();
    let mut control =
        format!("// {LICENCE}\n// Writes of the control port: load the program, start the run. Address, data.\n");
    for (address, data) in &session.writes {
        let _ = writeln!(control, "{address:05x} {data:08x}");
    }
    let mut input =
        format!("// {LICENCE}\n// Beats of the input stream: the weights, then sample by sample. One word per lane.\n");
    for beat in &session.beats {
        push_beat(&mut input, beat, word);
        input.push('\n');
    }
    let mut expected = format!(
        "// {LICENCE}\n// Beats of the output stream, one word per lane, each with its cycle, counted from the start of the run.\n"
    );
    for (beat, cycle) in &session.results {
        push_beat(&mut expected, beat, word);
        let _ = writeln!(expected, " {cycle:x}");
    }
    let [top, axi_top] = [hdl::TOP, shell::AXI_TOP].map(|generic| core.module(generic));
    let patience = 4 * u64::from(image.step_length) + 10_000;
    let geometry = Geometry::of(machine);
    let mut numbers = vec![
        ("WORD", word.into()),
        ("LANES", machine.stream_words().into()),
        ("WRITES", session.writes.len() as u64),
        ("BEATS", session.beats.len() as u64),
        ("OUTPUT_LANES", machine.output_words().into()),
        ("RESULTS", session.results.len() as u64),
        ("EXPECTED_CYCLES", cycles),
        ("PATIENCE", patience),
        ("CONTROL", registers::CONTROL.into()),
        ("READ_CYCLES", timing::CONTROL_READ),
        ("BUSY", registers::BUSY.into()),
        ("DONE", registers::DONE.into()),
        ("CYCLES_LOW", registers::CYCLES_LOW.into()),
        ("CYCLES_HIGH", registers::CYCLES_HIGH.into()),
        ("IDENTITY", registers::IDENTITY.into()),
        ("IDENTITY_VALUE", registers::IDENTITY_VALUE.into()),
        ("LANE", geometry.lane.into()),
        ("TRANSFER_WORDS", geometry.words.into()),
        ("AXI_WINDOW", axi::WINDOW.into()),
        ("AXI_START", axi::CTRL_START.into()),
        ("AXI_DONE", axi::CTRL_DONE.into()),
        ("AXI_ABORT", axi::STOP_ABORT.into()),
        ("AXI_OUTPUT_WAITS", axi::STATUS_OUTPUT_WAITS.into()),
        ("AXI_ABORTED", Cause::Aborted as u64),
    ];
    let names = axi::REGISTERS.map(|register| format!("AXI_{}", register.name.to_uppercase()));
    numbers.extend(names.iter().map(String::as_str).zip(axi::REGISTERS.map(|register| register.offset.into())));
    files.add("testbench/grid.h", header(&top, &numbers));
    files.add("testbench/grid.vh", verilog_header(&numbers));
    files.add("testbench/main.cpp", format!("// {LICENCE}\n//\n{}", include_str!("testbench/main.cpp")));
    let makefile = include_str!("testbench/Makefile").replace("@TOP@", &top).replace("@AXI@", &axi_top);
    files.add("testbench/Makefile", format!("# {LICENCE}\n#\n{makefile}"));
    files.add("testbench/control.hex", control);
    files.add("testbench/input.hex", input);
    files.add("testbench/expected.hex", expected);
    let bench = include_str!("testbench/testbench.v").replace("@TOP@", &top);
    files.add("testbench/testbench.v", format!("// {LICENCE}\n//\n{bench}"));
}

/// Add the testbench of the grid behind AXI, which reads the files of the other one.
pub fn add_axi(files: &mut Files, top: &str) {
    let bench = include_str!("testbench/axi.v").replace("@AXI@", top);
    files.add("testbench/axi.v", format!("// {LICENCE}\n//\n{bench}"));
}

/// What the grid looks like, for `main.cpp`.
fn header(top: &str, numbers: &[(&str, u64)]) -> String {
    let mut text = format!(
        "// {LICENCE}\n// What this grid looks like, for main.cpp.\n\n#include \"V{top}.h\"\n\n#define GRID_CLASS V{top}\n"
    );
    for (name, value) in numbers {
        let _ = writeln!(text, "#define GRID_{name} {value}u");
    }
    text
}

/// The same for `testbench.v`.
fn verilog_header(numbers: &[(&str, u64)]) -> String {
    let mut text = format!("// {LICENCE}\n// What this grid looks like, for testbench.v.\n\n");
    for (name, value) in numbers {
        let _ = writeln!(text, "`define GRID_{name} {value}");
    }
    text
}
