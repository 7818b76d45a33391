//! Every program of the conformance suite and every published benchmark, compiled: its image as text, the cycles of a run on `array`, and
//! the Verilog of its grid, one file each. `measure compare-trees` compares what two versions of the project write.
//!
//!     cargo run -p sim --example images -- FOLDER      FOLDER/tabla/…_2x4.image   FOLDER/benchmarks/…   FOLDER/verilog/….v

#[path = "../tests/programs/languages.rs"]
mod languages;

use arch::Image;
use arch::diagnostic::Diagnostic;
use languages::{Outcome, cases, climb, machines};
use sim::array::Array;
use sim::benchmarks::{self, Prepared};
use sim::grid::Stalls;
use sim::ladder::Climb;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: images FOLDER [WORD]"));
    let wanted = std::env::args().nth(2).unwrap_or_default();
    for case in cases(&["tabla", "tc", "tile", "rink"]).iter().filter(|case| case.file.contains(&wanted)) {
        for spec in machines() {
            let name =
                format!("{}_{}x{}", case.file, spec.pus.unwrap_or_default(), spec.pes_per_pu.unwrap_or_default());
            let text = match climb(case, &spec) {
                Outcome::Climbs(climb) => described(&folder, &climb, true),
                Outcome::Refused(reason) => format!("refused: {reason}\n"),
            };
            write(&folder.join(name + ".image"), &text);
        }
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    let table = fs::read_to_string(programs.join("benchmarks.toml")).expect("the table is there");
    for benchmark in benchmarks::read(&table).expect("the table is right") {
        for run in benchmark.runs.iter().filter(|_| benchmark.name.contains(&wanted)) {
            let text = fs::read_to_string(programs.join(&benchmark.program)).expect("the program is there");
            let described = match Prepared::new(&benchmark, run, &text) {
                Ok(prepared) => described(&folder, &prepared.climb, run.pus * run.pes_per_pu <= 64),
                Err(errors) => format!("refused: {:?}\n", errors.iter().map(message).collect::<Vec<_>>()),
            };
            let name = format!("{}_{}x{}x{}_{}", benchmark.name, run.pus, run.pes_per_pu, run.stream_words, run.batch);
            write(&folder.join("benchmarks").join(name + ".image"), &described);
        }
    }
}

fn message(diagnostic: &Diagnostic) -> &str {
    &diagnostic.message
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a file in a folder")).expect("the folder can be made");
    fs::write(path, text).expect("the file can be written");
}

/// The image of a program, and the cycles of its run; the Verilog of small grids goes to a file of its own.
fn described(folder: &Path, climb: &Climb, small: bool) -> String {
    let image = climb.image();
    let mut text = programs(image);
    match climb.run(Array::new(&image.machine), Stalls::none()) {
        Ok(agreement) => writeln!(text, "run: {} words, {} cycles", agreement.words, agreement.cycles),
        Err(fall) => writeln!(text, "run: {fall}"),
    }
    .expect("a string takes everything");
    if small {
        let rtl = hdl::elaborate(&image.machine);
        let file = format!("{:016x}.v", hash(&format!("{:?}", image.machine)));
        writeln!(text, "verilog: {file}").expect("a string takes everything");
        let path = folder.join("verilog").join(file);
        if !path.exists() {
            write(&path, &rtl.verilog);
        }
    }
    text
}

/// What is loaded into the grid, and what the streams carry.
fn programs(image: &Image) -> String {
    let mut text = format!("{}\n{:?}\n", image.machine, image.entries);
    let length = (image.step_length, image.tiles);
    writeln!(text, "step length and tiles: {length:?}").expect("a string takes everything");
    for (address, data) in image.control_writes() {
        writeln!(text, "{address:05x} {data:08x}").expect("a string takes everything");
    }
    let feeds = [&image.model_in, &image.step_in, &image.step_out, &image.model_out];
    for feed in feeds.into_iter().flatten() {
        writeln!(text, "{feed:?}").expect("a string takes everything");
    }
    for tensor in &image.tensors {
        writeln!(text, "{tensor:?}").expect("a string takes everything");
    }
    text
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
