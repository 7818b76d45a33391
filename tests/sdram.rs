//! A sample store in an SDRAM: the grid, `LiteDRAM`'s controller and a model of the memory at its pins, against the array. `measure sdram` runs
//! whole boards of more shapes.

mod tool;

use arch::machine::MachineSpec;
use arch::store::order::{Permutation, key_of_epoch};
use arch::store::{self, Mode, State};
use arch::tools::Toolbox;
use arch::{Machine, registers};
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use fpga::board::Board;
use hdl::store::{Model, Sdram};
use sim::array::Array;
use sim::driver::played::{Play, SampleSet};
use sim::driver::{Driver, Outcome, Run};
use sim::grid::{Grid, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{self, GridDevice, Library};
use std::sync::OnceLock;
use workbench::sdram::{Place, controller};

const EPOCHS: u32 = 3;
const BATCHES: usize = 40;
/// Control-port reads within which the memory is started and tested.
const PATIENCE: usize = 100_000;

/// 21 inputs for each of two outputs; a record takes several rows, some of words that are sent one by one.
const PROGRAM: &str =
    "mu = 0.25; m = 21; model_input x[m]; model_output y; model w[m]; gradient g[m] -> w; iterator i[0:m];
h = sum[i](w[i] * x[i]); h = sigmoid(h); d = h - y; g[i] = d * x[i];";

fn climb() -> Climb {
    let spec = MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(2),
        word: Some(16),
        stream_words: Some(4),
        ..MachineSpec::default()
    };
    let (program, _) = language::parse(Language::Tabla, PROGRAM, &language::Options::default()).unwrap();
    let wave = |n: usize| (0..21).map(|i| f64::from((i * n + 3 * n) as u32 % 17) / 8.0 - 1.0).collect::<Vec<_>>();
    let y = |n: usize| vec![f64::from(n as u32 % 2)];
    let step = |n: usize| NamedValues::from([("x".to_owned(), wave(n)), ("y".to_owned(), y(n))]);
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };
    let steps: Vec<NamedValues> = (0..BATCHES).map(step).collect();
    Climb::new(&program, &options, &NamedValues::from([("w".to_owned(), wave(5))]), &steps, &spec).unwrap()
}

fn sdram(stuck: Option<u32>) -> Sdram {
    sdram_of(include_str!("../fpga/boards/ulx3s-85f.toml"), 100_000_000, stuck)
}

fn sdram_of(board: &str, clock_hz: u64, stuck: Option<u32>) -> Sdram {
    let board: Board = toml::from_str(board).unwrap();
    controller(&board, clock_hz, Place::Simulated { stuck }, &Toolbox::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn library(machine: &Machine, sdram: &Sdram) -> Library {
    let rtl = hdl::store::simulated(machine, sdram);
    Library::build(&rtl, &verilator::Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A grid whose memory has been tested: what its status says.
fn started(machine: &Machine, library: &Library) -> (GridDevice, u32) {
    let mut grid = GridDevice::new(library, machine);
    let state = (0..PATIENCE).map(|_| grid.control_read(store::STATUS)).find(|&state| state != State::Starting as u32);
    (grid, state.expect("the test of the memory ends"))
}

/// The one whose memory is good, built once.
fn good(machine: &Machine) -> GridDevice {
    static GOOD: OnceLock<Library> = OnceLock::new();
    let (grid, state) = started(machine, GOOD.get_or_init(|| library(machine, &sdram(None))));
    assert_eq!(state, State::Ready as u32);
    grid
}

/// All epochs, sent one after the other to the array.
fn sent(climb: &Climb, batches: usize) -> Outcome {
    sent_in_order(climb, batches, None)
}

fn sent_in_order(climb: &Climb, batches: usize, key: Option<u32>) -> Outcome {
    let run = climb.first_steps(batches);
    let order = |epoch: u32| -> Vec<usize> {
        let order = key.map(|key| Permutation::new(batches as u32, key_of_epoch(key, epoch)));
        (0..batches as u32).map(|n| order.map_or(n, |order| order.place(n)) as usize).collect()
    };
    let steps: Vec<_> = (0..EPOCHS).flat_map(order).map(|batch| run.steps[batch].clone()).collect();
    let mut driver = Driver::new(Array::new(&climb.image().machine), climb.image().clone(), Stalls::none());
    driver.run(Run { steps: &steps, emit_model: true, ..run }).unwrap()
}

/// The same from a store.
fn played<G: Grid>(climb: &Climb, batches: usize, grid: G, stalls: Stalls) -> Outcome {
    played_in_order(climb, batches, grid, (stalls, None))
}

fn played_in_order<G: Grid>(climb: &Climb, batches: usize, grid: G, (stalls, key): (Stalls, Option<u32>)) -> Outcome {
    let run = climb.first_steps(batches);
    let set = SampleSet::new(climb.image(), run.steps, false).unwrap();
    assert!(set.rows() >= 3 * batches, "a record takes several rows: {}", set.rows());
    let mut driver = Driver::new(grid, climb.image().clone(), stalls);
    let play = Play { epochs: EPOCHS, key, load_model: run.load_model, emit_model: true, goes_on: &mut |_| true };
    driver.play(&set, play).unwrap().0
}

/// Several epochs, with and without stalls, sets that are longer than what is on its way at a time and one that is shorter.
#[test]
fn weights_are_those_of_the_array() {
    let climb = climb();
    let machine = &climb.image().machine;
    let mut grid = good(machine);
    // 2^24 words of 16 bits, four to a row.
    assert_eq!(grid.control_read(store::ROWS), 1 << 22);
    for batches in [BATCHES, 1, 2, BATCHES] {
        let expected = sent(&climb, batches);
        for stalls in [Stalls::none(), Stalls::seeded(5, 30, 40)] {
            assert_eq!(played(&climb, batches, &mut grid, stalls).model, expected.model, "{batches}");
        }
        // Rows that lie anywhere are asked for as early.
        let key = Some(77);
        let permuted = played_in_order(&climb, batches, &mut grid, (Stalls::none(), key));
        assert_eq!(permuted.model, sent_in_order(&climb, batches, key).model, "{batches} permuted");
    }
}

/// An epoch that is sent while it is played: rows are written between those that are read.
#[test]
fn rows_are_filled_while_others_are_played() {
    let climb = climb();
    let machine = &climb.image().machine;
    let mut grid = good(machine);
    let run = climb.first_steps(BATCHES);
    let set = SampleSet::new(climb.image(), run.steps, false).unwrap();
    let expected = Driver::new(Array::new(machine), climb.image().clone(), Stalls::none())
        .run(Run { emit_model: true, ..run })
        .unwrap();
    for stalls in [Stalls::none(), Stalls::seeded(5, 30, 40), Stalls::seeded(6, 95, 0)] {
        let mut driver = Driver::new(&mut grid, climb.image().clone(), stalls);
        assert!(driver.store_streams());
        assert_eq!(driver.stream(&set, run.load_model, true).unwrap().model, expected.model);
    }
}

/// The memory in the package of a Tang Nano 20K: words of 32 bits, two of a row of four words; fewer rows and columns.
#[test]
fn words_of_32_bits() {
    let climb = climb();
    let machine = &climb.image().machine;
    let sdram = sdram_of(include_str!("../fpga/boards/tangnano20k.toml"), 81_000_000, None);
    let (mut grid, state) = started(machine, &library(machine, &sdram));
    assert_eq!(
        (state, grid.control_read(store::ROWS)),
        (State::Ready as u32, 1 << 20),
        "8 MB are 2^20 rows of 8 bytes"
    );
    let expected = sent(&climb, BATCHES);
    for stalls in [Stalls::none(), Stalls::seeded(5, 30, 40)] {
        assert_eq!(played(&climb, BATCHES, &mut grid, stalls).model, expected.model);
    }
}

/// In the middle of a training the run is aborted, whatever is on its way from the memory; the next one finds its samples.
#[test]
fn an_abort_ends_a_training() {
    let climb = climb();
    let mut grid = good(&climb.image().machine);
    let expected = sent(&climb, BATCHES).model;
    assert_eq!(played(&climb, BATCHES, &mut grid, Stalls::none()).model, expected);
    let tag = grid.control_read(store::TAG);
    for cycles in [0, 1, 2, 3, 5, 8, 11, 13, 17, 19, 22, 29, 40, 333, 1000] {
        grid.control_write(store::MODE, Mode::Play as u32);
        grid.control_write(registers::CONTROL, registers::START);
        for _ in 0..cycles {
            grid.cycle(None, true);
        }
        grid.control_write(registers::CONTROL, registers::ABORT);
        assert_eq!(grid.control_read(store::MODE), Mode::Pass as u32);
        assert_eq!(grid.control_read(store::TAG), tag, "nothing is sent again");
        assert_eq!(played(&climb, BATCHES, &mut grid, Stalls::none()).model, expected, "{cycles}");
    }
}

/// A filling that is broken off leaves no name, and the next one works.
#[test]
fn a_filling_may_be_broken_off() {
    let climb = climb();
    let mut grid = good(&climb.image().machine);
    for rows in [1, 2, 30] {
        grid.control_write(store::MODE, Mode::Fill as u32);
        let mut taken = 0;
        for n in 0.. {
            taken += usize::from(grid.cycle(Some(&[n % 99, -1, 0, 1]), true).input_taken);
            if taken == rows {
                break;
            }
        }
        grid.control_write(registers::CONTROL, registers::ABORT);
        assert_eq!((grid.control_read(store::MODE), grid.control_read(store::TAG)), (Mode::Pass as u32, 0));
        assert_eq!(played(&climb, BATCHES, &mut grid, Stalls::none()).model, sent(&climb, BATCHES).model);
    }
}

/// A bit that is stuck is found by the test after power-on, at its word; a part that is slower than its controller believes is found as well. Then nothing
/// is filled.
#[test]
fn a_bad_memory_is_found() {
    let spec = MachineSpec {
        pus: Some(1),
        pes_per_pu: Some(1),
        word: Some(16),
        stream_words: Some(1),
        ..MachineSpec::default()
    };
    let machine = Machine::try_from(spec).unwrap();
    let stuck = sdram(Some(1234));
    let model = Model { stuck: None, ..stuck.model.unwrap() };
    let slow = Model { timing: hdl::store::Timing { rcd: model.timing.rcd + 1, ..model.timing }, ..model };
    let late = Model { delay: model.delay + 1, ..model };
    for (sdram, wrong) in [
        (stuck.clone(), 1234),
        (Sdram { model: Some(slow), ..stuck.clone() }, 0),
        (Sdram { model: Some(late), ..stuck.clone() }, 0),
    ] {
        let (mut grid, state) = started(&machine, &library(&machine, &sdram));
        assert_eq!((state, grid.control_read(store::WRONG)), (State::Failed as u32, wrong), "{:?}", sdram.model);
        grid.control_write(store::MODE, Mode::Fill as u32);
        assert!((0..1000).all(|_| !grid.cycle(Some(&[1]), true).input_taken));
    }
}

/// What cannot be is refused where it stands.
#[test]
fn a_store_needs_an_sdram_and_its_clock() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |board: &str, words: &[&str]| {
        let text = format!("[machine]\npus = 1\npes_per_pu = 2\nword = 16\n\n[board]\n{board}\nstore = \"sdram\"\n");
        let config = tool::file(folder.path(), "config.toml", text);
        let program = ["run", "programs/logistic.t", "--data", "examples/breast_cancer.csv", "--port", "simulated"];
        tool::fails(&[&program[..], &["--config", &config, "--limit", "20", "--epochs", "1"]].concat(), 1, words);
    };
    refused("name = \"tangnano9k\"", &["has no SDRAM", "store = \"sdram\"", "store = \"bram\""]);
    refused("name = \"tangnano20k\"\nclock_mhz = 60.0", &["works at 75 to 110 MHz, not at 60"]);
    refused("name = \"ulx3s-85f\"\nclock_mhz = 50.0", &["works at 70 to 115 MHz, not at 50"]);
    // Without LiteDRAM it is said how to get it.
    let board: Board = toml::from_str(include_str!("../fpga/boards/ulx3s-85f.toml")).unwrap();
    let nothing = Toolbox::only(folder.path());
    let missing = controller(&board, 100_000_000, Place::Board, &nothing).unwrap_err().to_string();
    assert!(missing.contains("run scripts/setup --sdram"), "{missing}");
    let mut unknown = board.clone();
    unknown.sdram.as_mut().unwrap().module = "MT48".to_owned();
    let unknown = controller(&unknown, 100_000_000, Place::Board, &Toolbox::default()).unwrap_err().to_string();
    assert!(
        unknown.contains("LiteDRAM knows no SDR SDRAM `MT48`; it knows") && unknown.contains("MT48LC16M16"),
        "{unknown}"
    );
}
