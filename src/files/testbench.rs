//! The first samples of the data as a simulation that checks itself and needs nothing of ours: Verilator and make, or another simulator.
//!
//!     testbench/ ─┬─ main.cpp, Makefile        the same for every grid
//!                 ├─ testbench.v               the same in Verilog, from an unknown state on
//!                 ├─ grid.h, grid.vh           what this grid looks like
//!                 ├─ control.hex               load the program, start the run
//!                 └─ input.hex, expected.hex   what goes in, what comes out and when
//!     NAME.core                                the same for FuseSoC

use crate::commands::build::LICENCE;
use crate::output::Files;
use arch::{Image, registers};
use sim::array::Array;
use sim::grid::{Recorded, Session, Stalls};
use sim::train::engine::Engine;
use std::fmt::Write;
use workbench::Design;
use workbench::Failure;
use workbench::Function;
use workbench::Project;
use workbench::engines::{EngineMaker, Rung, Which};

/// Steps that are simulated, unless the data has fewer.
const STEPS: usize = 16;

/// Add the files of the testbench of a training.
///
/// # Errors
/// The array is stuck.
pub fn add(files: &mut Files, design: &Design) -> Result<(), Failure> {
    let steps = design.steps(STEPS.min(design.samples.train.len() / design.schedule.batch));
    let maker = EngineMaker::new(Rung::Array, &design.lowered, Some(&design.images), &())?;
    let image = maker.image(Which::Full).ok_or_else(|| Failure::Bug("a testbench without an image".to_owned()))?;
    let mut grid = Recorded::new(Array::new(&design.images.machine));
    let mut device = maker.device(&mut grid, Which::Full, &design.samples.signature);
    device.load(&design.start);
    let cycles = device.run(&steps)?.cycles.unwrap_or(0);
    drop(device);
    write(files, image, &grid.into_session(), cycles);
    Ok(())
}

/// Add those of a function.
///
/// # Errors
/// The array is stuck.
pub fn add_function(files: &mut Files, function: &Function) -> Result<(), Failure> {
    let image = function.climb.image();
    let mut grid = Recorded::new(Array::new(&image.machine));
    let cycles = function.run(&mut grid, STEPS, Stalls::none())?.cycles;
    write(files, image, &grid.into_session(), cycles);
    Ok(())
}

/// The files: what went through the ports of the array is what the Verilog is given and asked for.
fn write(files: &mut Files, image: &Image, session: &Session, cycles: u64) {
    let machine = &image.machine;
    let word = machine.word();
    let hex = |value: i64| {
        let bits = (value as u64) & (u64::MAX >> (64 - word));
        format!("{bits:0width$x}", width = word.div_ceil(4) as usize)
    };
    let mut control =
        format!("// {LICENCE}\n// Writes of the control port: load the program, start the run. Address, data.\n");
    for (address, data) in &session.writes {
        let _ = writeln!(control, "{address:05x} {data:08x}");
    }
    let mut input =
        format!("// {LICENCE}\n// Beats of the input stream: the weights, then sample by sample. One word per lane.\n");
    for beat in &session.beats {
        let words: Vec<String> = beat.iter().map(|&word| hex(word)).collect();
        let _ = writeln!(input, "{}", words.join(" "));
    }
    let mut expected = format!(
        "// {LICENCE}\n// Words of the output stream, each with its cycle, counted from the start of the run.\n"
    );
    for &(word, cycle) in &session.words {
        let _ = writeln!(expected, "{} {cycle:x}", hex(word));
    }
    let top = hdl::TOP;
    let patience = 4 * u64::from(image.step_length) + 10_000;
    let numbers = [
        ("WORD", word.into()),
        ("LANES", machine.stream_words().into()),
        ("WRITES", session.writes.len() as u64),
        ("BEATS", session.beats.len() as u64),
        ("WORDS", session.words.len() as u64),
        ("EXPECTED_CYCLES", cycles),
        ("PATIENCE", patience),
        ("CONTROL", registers::CONTROL.into()),
        ("BUSY", registers::BUSY.into()),
        ("DONE", registers::DONE.into()),
        ("CYCLES_LOW", registers::CYCLES_LOW.into()),
        ("CYCLES_HIGH", registers::CYCLES_HIGH.into()),
        ("IDENTITY", registers::IDENTITY.into()),
        ("IDENTITY_VALUE", registers::IDENTITY_VALUE.into()),
    ];
    files.add("testbench/grid.h", header(top, &numbers));
    files.add("testbench/grid.vh", verilog_header(&numbers));
    files.add("testbench/main.cpp", format!("// {LICENCE}\n//\n{}", include_str!("testbench/main.cpp")));
    let makefile = include_str!("testbench/Makefile").replace("@TOP@", top);
    files.add("testbench/Makefile", format!("# {LICENCE}\n#\n{makefile}"));
    files.add("testbench/control.hex", control);
    files.add("testbench/input.hex", input);
    files.add("testbench/expected.hex", expected);
    let bench = include_str!("testbench/testbench.v").replace("@TOP@", top);
    files.add("testbench/testbench.v", format!("// {LICENCE}\n//\n{bench}"));
}

/// Add the core: the simulation for `FuseSoC`, with the files of the grid.
pub fn add_core(files: &mut Files, project: &Project, sources: &[String]) {
    let name = core_name(&project.name());
    files.add(format!("{name}.core"), core(&name, hdl::TOP, sources));
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

/// A name that `FuseSoC`, file systems and shells take: letters, digits and `_`, beginning with a letter.
fn core_name(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("grid_{name}") }
}

/// A `FuseSoC` core: `fusesoc --cores-root . run --target=sim NAME`.
fn core(name: &str, top: &str, sources: &[String]) -> String {
    let sources = sources.iter().fold(String::new(), |list, path| list + "      - " + path + "\n");
    format!(
        "CAPI=2:\n\
         # {LICENCE}\n\
         name: \"tabla-gen:generated:{name}:1.0.0\"\n\
         description: Generated accelerator and its self-checking simulation\n\
         \n\
         filesets:\n\
         \x20 rtl:\n\
         \x20   files:\n\
{sources}\
         \x20   file_type: verilogSource\n\
         \x20 testbench:\n\
         \x20   files:\n\
         \x20     - testbench/main.cpp: {{file_type: cppSource}}\n\
         \x20     - testbench/grid.h: {{file_type: cppSource, is_include_file: true}}\n\
         \x20     - testbench/control.hex: {{file_type: user, copyto: control.hex}}\n\
         \x20     - testbench/input.hex: {{file_type: user, copyto: input.hex}}\n\
         \x20     - testbench/expected.hex: {{file_type: user, copyto: expected.hex}}\n\
         \n\
         targets:\n\
         \x20 default: &default\n\
         \x20   filesets: [rtl]\n\
         \x20   toplevel: {top}\n\
         \x20 sim:\n\
         \x20   <<: *default\n\
         \x20   default_tool: verilator\n\
         \x20   filesets: [rtl, testbench]\n\
         \x20   tools:\n\
         \x20     verilator:\n\
         \x20       mode: cc\n\
         \x20       verilator_options: [-Wno-fatal, -Wno-lint, -Wno-style, --x-assign, fast, --x-initial, fast, -CFLAGS, -std=gnu++17]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::core_name;

    #[test]
    fn names_of_cores_are_harmless() {
        assert_eq!(core_name("logistic"), "logistic");
        assert_eq!(core_name("a b\"; $(x)\n"), "a_b_____x__");
        assert_eq!(core_name("3"), "grid_3");
        assert_eq!(core_name("\u{e4}"), "grid__");
    }
}
