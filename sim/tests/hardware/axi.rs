//! The AXI shell against the rules of AXI and against what docs/machine.md and the table below say: random stalls, narrow and back-to-back transfers, places that
//! are not mapped, reset in the middle of everything; and a program, through it, as on the array.

mod bus;
mod map;

use crate::logistic::{ALL, climb};
use arch::axi::{self, Geometry, WINDOW};
use arch::machine::{Machine, MachineSpec};
use arch::number::wrap;
use arch::registers;
use arch::tools::Toolbox;
use bus::{AxiGrid, Bus, Response, Transfer};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use compiler::language::{self, Language};
use hdl::shell;
use map::Map;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::array::Array;
use sim::driver::shares::Share;
use sim::driver::{Driver, Given, Run, Words};
use sim::grid::{Grid, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::verilator::{self, Library};

fn spec(pes_per_pu: u32, word: u32, stream_words: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        stream_words: Some(stream_words),
        ..MachineSpec::default()
    }
}

fn library(machine: &Machine) -> Library {
    Library::build(&shell::axi(machine), &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"))
}

fn random_address(random: &mut ChaCha8Rng) -> u32 {
    let mut below = |n: u32| random.next_u32() % n;
    match below(10) {
        0..=4 => 4 * below(24),
        5..=6 => WINDOW + 4 * below(24),
        7 => WINDOW + 4 * (below(8) << 16 | below(64)),
        8 => below(80),
        _ => below(1 << axi::ADDRESS_BITS),
    }
}

/// Many accesses are on their way at once; reads and writes are ordered among themselves. Nothing starts a run.
#[test]
fn accesses_are_answered_as_the_map_says() {
    let machine = Machine::try_from(spec(2, 16, 4)).unwrap();
    let library = library(&machine);
    for (seed, stalls) in [(1, 0), (2, 50), (3, 90)] {
        let mut bus = Bus::new(&machine, &library, seed, stalls);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut map = Map::new(&machine);
        let mut refused = 0;
        for _ in 0..400 {
            // A burst of writes, then one of reads.
            let count = 1 + random.next_u32() % 5;
            let mut expected = Vec::new();
            for _ in 0..count {
                let (address, data) = (random_address(&mut random), random.next_u32() & !1);
                let strobes = [15, 15, 15, 0, 3, 8][(random.next_u32() % 6) as usize];
                bus.begin_write(address, data, strobes);
                expected.push(map.write(address, data, strobes));
            }
            for expected in expected {
                assert_eq!(bus.wait(|bus| bus.responses.pop_front()), expected);
                refused += u32::from(expected == Response::SlaveError);
            }
            let addresses: Vec<u32> = (0..count).map(|_| random_address(&mut random)).collect();
            for &address in &addresses {
                bus.begin_read(address);
            }
            for address in addresses {
                let answer = bus.wait(|bus| bus.reads.pop_front());
                assert_eq!(answer, map.read(address), "{address:#x}");
            }
        }
        assert!(refused > 50, "{refused} writes were refused");
    }
}

/// Steps of a run.
const STEPS: usize = 20;

/// One and three transfers per beat, from one memory port and from two; words of two bytes and four; an odd number of lanes; two words of output per transfer.
#[test]
fn a_program_runs_behind_axi_as_on_the_array() {
    let two = |spec: MachineSpec| MachineSpec { output_words: Some(2), ..spec };
    for spec in
        [spec(8, 16, 16), spec(12, 24, 24), spec(3, 16, 3), spec(2, 16, 1), two(spec(3, 16, 3)), two(spec(2, 24, 1))]
    {
        let climb = climb(&spec, STEPS, &ALL);
        let machine = &climb.image().machine;
        let library = library(machine);
        let array = climb.run(Array::new(machine), Stalls::none()).unwrap();
        for (seed, stalls) in [(1, 0), (2, 60)] {
            let mut grid = AxiGrid::new(Bus::new(machine, &library, seed, stalls));
            let agreement = climb.run(&mut grid, Stalls::none()).unwrap();
            assert_eq!((agreement.words, grid.runs), (array.words, 1), "{machine}");
        }
    }
}

/// Linear regression with 784 features, sample by sample: 49 beats of 16 words, which two memory ports bring in a cycle each. Without waits the
/// shell costs no cycle of a sample; the bound is 49.06.
#[test]
fn linear_784_comes_through_two_memory_ports_in_54_cycles() {
    let text = include_str!("../../../programs/linear.t").replace("m = 11;", "m = 784;");
    let (program, _) = language::parse(Language::Tabla, &text, &language::Options::default()).unwrap();
    let spec = MachineSpec { pus: Some(8), ..spec(8, 16, 16) };
    let wave = |n: usize| (0..784).map(|i| f64::from((i * n + 3 * n) as u32 % 17) / 64.0 - 0.125).collect::<Vec<_>>();
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };
    let cycles = [4, 20].map(|count| {
        let step =
            |n: usize| NamedValues::from([("x".to_owned(), wave(n)), ("y".to_owned(), vec![f64::from(n as u32 % 2)])]);
        let steps: Vec<NamedValues> = (0..count).map(step).collect();
        let climb =
            Climb::new(&program, &options, &NamedValues::from([("w".to_owned(), wave(5))]), &steps, &spec).unwrap();
        let machine = &climb.image().machine;
        assert_eq!(Geometry::of(machine).ports(), 2);
        let mut grid = AxiGrid::new(Bus::new(machine, &library(machine), 1, 0));
        let agreement = climb.run(&mut grid, Stalls::none()).unwrap();
        assert_eq!((agreement.words, grid.runs), (784, 1));
        u64::from(grid.register("cycles"))
    });
    let per_sample = (cycles[1] - cycles[0]) as f64 / 16.0;
    assert!((49.0..=54.0).contains(&per_sample), "{per_sample} cycles per sample");
}

/// Grids that share one batch of a program: what leaves each of them, and the weights of each.
fn share<G: Grid>(climb: &Climb, grids: Vec<G>) -> (Vec<Vec<i128>>, Vec<Words>) {
    let (image, run) = (climb.image(), climb.first_steps(1));
    let (last, count) = (image.tiles - 1, grids.len() as u32);
    let mut drivers: Vec<_> = grids.into_iter().map(|grid| Driver::new(grid, image.clone(), Stalls::none())).collect();
    let mut sums = Vec::new();
    for (number, driver) in (0..).zip(&mut drivers) {
        let tiles = number * last / count..(number + 1) * last / count;
        let share = Share { load_model: run.load_model, batch: Given::Words(&run.steps[0]), tiles, emit_model: false };
        sums.push(driver.share(&share).unwrap().0);
    }
    let of_all = |n: usize| wrap(sums.iter().map(|sums| sums[n]).sum(), image.machine.accumulator());
    let totals: Vec<i128> = (0..sums[0].len()).map(of_all).collect();
    let finish =
        Share { load_model: None, batch: Given::Words(&run.steps[0]), tiles: last..image.tiles, emit_model: true };
    let models = drivers.iter_mut().map(|driver| driver.conclude_with(&totals, &finish).unwrap().model).collect();
    (sums, models)
}

/// Two and three grids, sums of several words, one lane and two of the output: sums are those of arrays, weights those of one array with the whole batch.
#[test]
fn sums_leave_and_come_back_behind_axi() {
    let batch = Batch { size: 40, reduction: Reduction::Mean };
    let training = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
    for (grids, accumulator, lanes) in [(2, 48, 1), (3, 40, 2)] {
        let spec = MachineSpec {
            data_depth: Some(16),
            accumulator: Some(accumulator),
            output_words: Some(lanes),
            partial_sums: Some(true),
            ..spec(4, 16, 8)
        };
        let climb = climb(&spec, 1, &training);
        let machine = &climb.image().machine;
        assert!(climb.image().tiles > 3, "{} tiles", climb.image().tiles);
        let run = Run { emit_model: true, ..climb.first_steps(1) };
        let whole = Driver::new(Array::new(machine), climb.image().clone(), Stalls::none()).run(run).unwrap().model;
        let arrays = share(&climb, (0..grids).map(|_| Array::new(machine)).collect());
        let library = library(machine);
        let shells = (0..grids).map(|seed| AxiGrid::new(Bus::new(machine, &library, seed, 30))).collect();
        let shells = share(&climb, shells);
        assert_eq!(shells.0, arrays.0, "{machine}");
        assert!(shells.0.iter().all(|sums| sums.iter().any(|&sum| sum != 0)), "every grid has a part of the sums");
        assert!(shells.1.iter().chain(&arrays.1).all(|model| *model == whole), "{machine}");
    }
}

#[test]
fn reset_in_the_middle_leaves_nothing_behind() {
    let spec = spec(4, 16, 8);
    let climb = climb(&spec, STEPS, &ALL);
    let machine = &climb.image().machine;
    let mut bus = Bus::new(machine, &library(machine), 4, 30);
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for round in 0..12 {
        let mut grid = AxiGrid::new(bus);
        if round % 3 == 2 {
            climb.run(&mut grid, Stalls::none()).unwrap();
            assert_eq!(grid.runs, 1);
        }
        bus = grid.bus;
        // A run that waits for input, half a beat, an address without data, a read: then reset.
        bus.write(WINDOW + 4 * registers::STEP_LENGTH, 9);
        bus.write(WINDOW + 4 * registers::STEPS, 3);
        bus.write(0x00, axi::CTRL_START);
        bus.input.push_back(Transfer { words: vec![1; 8], keep: 0xffff, last: false });
        bus.begin_read(0x18);
        bus.begin_write(0x24, 7, 15);
        for _ in 0..random.next_u32() % 12 {
            bus.cycle();
        }
        bus.reset();
        bus.output.clear();
        assert_eq!(bus.read(0x00), (Response::Okay, axi::CTRL_IDLE), "round {round}");
        assert_eq!(bus.read(0x30), (Response::Okay, 0));
    }
}

/// Packets of the output end where `output_words` says; short packets and unused bytes of the input are told.
#[test]
fn packets() {
    let spec = spec(12, 16, 24);
    let climb = climb(&spec, STEPS, &ALL);
    let machine = &climb.image().machine;
    let library = library(machine);
    let mut grid = AxiGrid::new(Bus::new(machine, &library, 5, 40));
    grid.bus.write(0x30, 5);
    climb.run(&mut grid, Stalls::none()).unwrap();
    assert_eq!(grid.register("status") & 6, 0);

    // A run of one step, by hand: all its words are read, and packets counted.
    grid.bus.write(0x24, 1);
    grid.bus.write(0x28, 2);
    grid.bus.write(0x00, 1);
    // Two beats for the model and the step: one is cut after a third of it, a transfer of the other has unused bytes.
    let whole = Transfer { words: vec![1; 8], keep: 0xffff, last: false };
    let beats = climb.image().step_in.iter().map(arch::image::Feed::beats).sum::<u64>();
    for beat in 0..beats {
        if beat == 0 {
            grid.bus.input.push_back(Transfer { last: true, ..whole.clone() });
        } else {
            grid.bus.input.push_back(Transfer { keep: if beat == 1 { 0x00ff } else { 0xffff }, ..whole.clone() });
            grid.bus.input.push_back(whole.clone());
            grid.bus.input.push_back(Transfer { last: true, ..whole.clone() });
        }
    }
    for _ in 0..3000 {
        grid.bus.cycle();
    }
    assert!(grid.bus.input.is_empty() && grid.bus.interrupt(), "the run ended");
    let words =
        climb.image().step_out.iter().chain(&climb.image().model_out).map(arch::image::Feed::beats).sum::<u64>();
    assert_eq!(grid.bus.output.len() as u64, words);
    for (n, (_, last)) in grid.bus.output.iter().enumerate() {
        assert_eq!(*last, n % 5 == 4, "word {n}");
    }
    let expected = 4 | if beats > 1 { 2 } else { 0 };
    assert_eq!(grid.register("status") & 6, expected);
    assert_eq!(grid.register("status") & 6, 0, "cleared by reading");
}

#[test]
fn the_shell_lints_clean() {
    let two = |spec: MachineSpec| MachineSpec { output_words: Some(2), ..spec };
    for spec in
        [spec(16, 16, 32), spec(12, 24, 24), spec(3, 8, 3), spec(1, 32, 1), two(spec(8, 16, 8)), two(spec(2, 24, 2))]
    {
        let rtl = shell::axi(&Machine::try_from(spec).unwrap());
        verilator::lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
    }
}
