//! The Verilog of the grids of `configs`, of ten random ones, and of some with every part, one file each, and a sum of each text on standard output.
//! `measure compare-trees` compares what two versions of the project write.
//!
//!     cargo run -p hdl --example grids -- FOLDER
//!     cargo run -p hdl --example grids -- FOLDER time     and how long rust-hdl's simulator takes for some of them

use arch::Machine;
use arch::machine::MachineSpec;
use arch::registers;
use hdl::{Inputs, Leaves, Model};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Values from which random machines take theirs.
const CHOICES: &[(&str, &[&str])] = &[
    ("pus", &["1", "2", "3", "4", "8"]),
    ("pes_per_pu", &["1", "2", "3", "4", "5"]),
    ("word", &["8", "9", "16", "24", "32"]),
    ("accumulator", &["auto", "64", "96"]),
    ("stream_words", &["auto", "1", "2"]),
    ("output_words", &["1", "auto", "2"]),
    ("emit_words", &["auto", "2", "4", "8"]),
    ("model_depth", &["2", "64"]),
    ("gradient_depth", &["0", "16", "64"]),
    ("partial_sums", &["false", "true"]),
    ("block_depth", &["0", "32"]),
    ("pads_in_rows", &["false", "true"]),
    ("pad_register", &["false", "true"]),
    ("table_entries", &["0", "64", "1024"]),
    ("output_fifo", &["4", "32"]),
    ("divider", &["false", "true"]),
    ("extremes", &["false", "true"]),
    ("squares", &["false", "true"]),
    ("rectifiers", &["false", "true"]),
    ("limits", &["false", "true"]),
    ("column_buses", &["false", "false", "true"]),
    ("loops", &["4", "5", "6"]),
    ("scalar", &["false", "true"]),
    ("alignments", &["auto", "0,4,9", "0"]),
    ("shifts", &["auto", "0,7,8,16", "3"]),
    ("root_shifts", &["auto", "0,16"]),
];

/// Machines by their names.
fn machines() -> Vec<(String, Machine, Leaves)> {
    let mut all = Vec::new();
    for name in ["tiny", "ulx3s", "zcu102", "icebreaker"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs").join(name).with_extension("toml");
        let text = std::fs::read_to_string(path).expect("there is a configuration");
        let machine = Machine::try_from(table(&text)).expect("a valid grid");
        all.push((name.to_owned(), machine.clone(), Leaves::GENERIC));
        for family in ["ice40", "ecp5", "xcup", "gw2a", "gatemate"] {
            let leaves = fpga::family::Family::named(family).expect("a family").leaves();
            all.push((format!("{name}_{family}"), machine.clone(), leaves));
        }
    }
    let full = "pus=3 pes_per_pu=3 word=16 divider=true extremes=true squares=true scalar=true gradient_depth=16 column_buses=true";
    for (name, text) in [
        ("full", full.to_owned()),
        ("full_sums", format!("{full} partial_sums=true")),
        ("full_rows", format!("{full} pads_in_rows=true pad_register=true")),
        ("full_lists", format!("{full} alignments=0,4,9 shifts=0,4,9 root_shifts=0,4,9")),
        ("full_rectifiers", format!("{full} rectifiers=true")),
        ("full_limits", format!("{full} rectifiers=true limits=true")),
        (
            "full_limits_lists",
            format!("{full} rectifiers=true limits=true alignments=0,4,9 shifts=0,4,9 root_shifts=0,4,9"),
        ),
        ("full_loops", format!("{full} loops=6")),
        ("one", "pus=1 pes_per_pu=1 word=8 table_entries=0".to_owned()),
        ("lanes", "pus=4 pes_per_pu=2 word=9 output_words=2 emit_words=8".to_owned()),
        ("lane_each", "pus=1 pes_per_pu=4 word=24 output_words=1 emit_words=4 extremes=true".to_owned()),
    ] {
        let mut spec = MachineSpec::default();
        for (key, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
            spec.set(key, value).expect("a key with a value");
        }
        all.push((name.to_owned(), Machine::try_from(spec).expect("a valid grid"), Leaves::GENERIC));
    }
    let mut random = Random(1);
    let ten = std::iter::repeat_with(move || random.machine()).flatten().take(10);
    all.extend(ten.enumerate().map(|(n, machine)| (format!("random_{n}"), machine, Leaves::GENERIC)));
    all
}

/// The table `[machine]` of a configuration.
fn table(text: &str) -> MachineSpec {
    let mut spec = MachineSpec::default();
    let lines = text.lines().skip_while(|line| *line != "[machine]").skip(1).take_while(|line| !line.starts_with('['));
    for (key, value) in lines.filter_map(|line| line.split_once(" = ")) {
        spec.set(key, value).expect("a key with a value");
    }
    spec
}

/// Knuth's generator: the same machines everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Some choices exclude each other.
    fn machine(&mut self) -> Option<Machine> {
        let mut spec = MachineSpec::default();
        for (key, values) in CHOICES {
            spec.set(key, values[self.below(values.len())]).expect("a key with a value");
        }
        Machine::try_from(spec).ok()
    }
}

/// Writes a program of random words into a grid, starts it, and feeds it: the sum of all that its ports show.
fn simulate(machine: &Machine, cycles: u32) -> u64 {
    let (mut grid, mut random, mut sum) = (Model::new(machine), Random(7), DefaultHasher::new());
    for cycle in 0..cycles {
        let mut inputs = Inputs { reset: cycle < 3, out_ready: !cycle.is_multiple_of(5), ..Inputs::default() };
        inputs.control_write = match cycle {
            4..=400 => {
                let region = [1, 2, 3, 4][random.below(4)] << 16;
                Some((region + random.below(64) as u32, random.below(1 << 31) as u32))
            }
            401 => Some((registers::STEPS, 1000)),
            402 => Some((registers::STEP_LENGTH, 40)),
            403..=411 => {
                let entries = [
                    registers::ENTRY_STEP_ALU,
                    registers::ENTRY_STEP_ROOT,
                    registers::ENTRY_STEP_MOVE,
                    registers::ENTRY_STEP_LOAD,
                    registers::ENTRY_EMIT_STEP,
                ];
                Some((entries[(cycle - 403) as usize % entries.len()], registers::ENTRY_ENABLE))
            }
            412 => Some((registers::CONTROL, 1)),
            _ => None,
        };
        let words = (0..machine.stream_words()).map(|_| random.below(1 << machine.word().min(16)) as i64);
        inputs.in_data = Some(words.collect());
        let shown = grid.cycle(&inputs);
        (shown.control_read, shown.in_ready, shown.out).hash(&mut sum);
    }
    sum.finish()
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("usage: grids FOLDER [time]"));
    let timed = std::env::args().nth(2).is_some_and(|word| word == "time");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let mut lines = String::new();
    for (name, machine, leaves) in machines() {
        let text = hdl::elaborate_with(&machine, leaves).verilog;
        let mut sum = DefaultHasher::new();
        text.hash(&mut sum);
        std::fs::write(folder.join(&name).with_extension("v"), &text).expect("the file can be written");
        lines += &format!("{:016x} {name}: {machine}\n", sum.finish());
        if timed && ["tiny", "full", "full_sums", "full_lists"].contains(&name.as_str()) {
            let start = Instant::now();
            let shown = simulate(&machine, 1500);
            lines += &format!("{shown:016x} {name} simulated in {:.2} s\n", start.elapsed().as_secs_f64());
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), lines.as_bytes()).expect("stdout takes text");
}
