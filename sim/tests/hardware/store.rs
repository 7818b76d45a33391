//! The sample store: the hardware against its model in every cycle, and trainings from it against trainings that are sent.

use crate::logistic::{ALL, climb};
use crate::{made_up, tiles};
use arch::link::{self, Command, Size};
use arch::machine::{Machine, MachineSpec};
use arch::store::order::{Permutation, key_of_epoch};
use arch::store::{self, BEATS_BITS, Mode, Pattern, WIDTH_BITS};
use arch::tools::Toolbox;
use arch::{Image, registers};
use compiler::canonical::{Batch, Keep, Options, Reduction};
use hdl::shell;
use hdl::store::Store;
use sim::array::Array;
use sim::driver::played::{Play, SampleSet};
use sim::driver::{Driver, Outcome, Run};
use sim::grid::{CycleResult, Grid, Lockstep, Recorded, Stalls};
use sim::ladder::Climb;
use sim::link::{BoardModel, Link, LinkedGrid, Patience, Wire};
use sim::store::Stored;
use sim::verilator::{self, GridDevice, Library};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

const EPOCHS: u32 = 3;
const ROWS: u32 = 100;

/// Weights at the end and nothing else, as in a training.
const TRAINING: Options = Options { keep: Keep::Training { predictions: Vec::new() }, batch: Batch::SINGLE };

fn spec(pus: u32, pes_per_pu: u32, word: u32, stream_words: u32) -> MachineSpec {
    MachineSpec {
        pus: Some(pus),
        pes_per_pu: Some(pes_per_pu),
        word: Some(word),
        stream_words: Some(stream_words),
        ..MachineSpec::default()
    }
}

fn model(machine: &Machine, rows: u32) -> Stored<Array> {
    Stored::new(Array::new(machine), rows, machine.stream_words())
}

fn hardware(machine: &Machine, rows: u32) -> GridDevice {
    let rtl = hdl::store::stored(machine, &Store::of_rows(rows));
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    GridDevice::new(&library, machine)
}

/// The key of orders of their own, and none.
const KEYS: [Option<u32>; 2] = [None, Some(0x3141_5926)];

/// All epochs, sent one after the other to a grid without a store.
fn sent_in_order(climb: &Climb, batches: usize, epochs: u32, key: Option<u32>) -> Outcome {
    let run = climb.first_steps(batches);
    let order = |epoch: u32| -> Vec<usize> {
        let Some(key) = key else { return (0..batches).collect() };
        let order = Permutation::new(batches as u32, key_of_epoch(key, epoch));
        (0..batches as u32).map(|n| order.place(n) as usize).collect()
    };
    let steps: Vec<_> = (0..epochs).flat_map(order).map(|batch| run.steps[batch].clone()).collect();
    let mut driver = Driver::new(Array::new(&climb.image().machine), climb.image().clone(), Stalls::none());
    driver.run(Run { steps: &steps, emit_model: true, ..run }).unwrap()
}

fn sent(climb: &Climb, batches: usize) -> Outcome {
    sent_in_order(climb, batches, EPOCHS, None)
}

/// The same from a store; `goes_on` may end it.
fn played_while<G: Grid>(
    climb: &Climb,
    (batches, epochs): (usize, u32),
    key: Option<u32>,
    (grid, stalls): (G, Stalls),
    goes_on: &mut dyn FnMut(u32) -> bool,
) -> (Outcome, u32) {
    let run = climb.first_steps(batches);
    let set = SampleSet::new(climb.image(), run.steps, key.is_some()).unwrap();
    let mut driver = Driver::new(grid, climb.image().clone(), stalls);
    assert!(set.rows() <= driver.store_rows());
    let play = Play { epochs, key, load_model: run.load_model, emit_model: true, goes_on };
    driver.play(&set, play).unwrap()
}

fn played<G: Grid>(climb: &Climb, batches: usize, grid: G, stalls: Stalls) -> Outcome {
    played_while(climb, (batches, EPOCHS), None, (grid, stalls), &mut |_| true).0
}

/// Grids with beats of eight words, of six, which is no power of two, and of one; with and without words after each step.
#[test]
fn hardware_and_model_play_alike() {
    for (spec, options, batches) in [
        (spec(2, 4, 16, 8), &ALL, 7),
        (spec(2, 3, 16, 6), &TRAINING, 4),
        (spec(1, 2, 24, 1), &TRAINING, 2),
        (spec(1, 4, 16, 2), &TRAINING, 1),
    ] {
        plays_alike(&climb(&spec, batches, options), batches);
    }
}

/// The hardware against its model, from the store, and what comes out against the same batches sent.
fn plays_alike(climb: &Climb, batches: usize) {
    let machine = &climb.image().machine;
    let needed = |permuted| SampleSet::new(climb.image(), climb.first_steps(batches).steps, permuted).unwrap().rows();
    let rows = ROWS.max(needed(true) as u32);
    for (key, stalls) in KEYS.into_iter().flat_map(|key| [Stalls::none(), Stalls::seeded(5, 30, 40)].map(|s| (key, s)))
    {
        let expected = sent_in_order(climb, batches, EPOCHS, key);
        let mut both = Lockstep::new(model(machine, rows), hardware(machine, rows));
        let (outcome, _) = played_while(climb, (batches, EPOCHS), key, (&mut both, stalls), &mut |_| true);
        assert!(both.mismatch().is_none(), "{machine}: {}", both.mismatch().unwrap());
        assert_eq!((outcome.raw, outcome.model), (expected.raw, expected.model), "{machine}, key {key:x?}");
    }
}

/// A network's inputs lie on the columns and its labels on the rows: several lanes of a beat have the same word, which lies in a row once.
#[test]
fn words_of_several_lanes_are_played_to_all_of_them() {
    let batches = 3;
    let program = tiles::program("backpropagation.t", &[("l1", 8), ("l2", 33), ("l3", 3)]);
    let (weights, steps) = made_up::values(&program, 1, batches);
    let climb = Climb::new(&program, &TRAINING, &weights, &steps, &spec(4, 4, 16, 8)).unwrap();
    let pattern = Pattern::of(climb.image(), false).unwrap();
    assert!(pattern.entries().iter().any(|entry| entry.shape.repeated), "{pattern:?}");
    plays_alike(&climb, batches);
    // Weights and samples take the line as rows, and the weights are fewer rows than beats.
    let weights = Pattern::of_model(climb.image()).unwrap();
    let mut recorded = Recorded::new(model(&climb.image().machine, ROWS));
    played(&climb, batches, &mut recorded, Stalls::none());
    assert_eq!(recorded.into_session().beats.len() as u64, weights.rows() + batches as u64 * pattern.rows());
    assert!(weights.rows() < weights.beats(), "{weights:?}");
}

/// Beats of several shapes change in a batch of 64 tiles more often than a pattern has entries: each tile is a record, unless batches are permuted.
#[test]
fn tiles_are_played_as_records() {
    let program = tiles::program("recommender.t", &[("m", 6), ("n", 5), ("k", 2)]);
    let (weights, steps) = made_up::values(&program, 64, 3);
    let options = Options { batch: Batch { size: 64, reduction: Reduction::Mean }, ..TRAINING };
    let climb = Climb::new(&program, &options, &weights, &steps, &tiled(16)).unwrap();
    let [played, permuted] = [false, true].map(|permuted| Pattern::of(climb.image(), permuted).unwrap());
    assert!(played.records() == climb.image().tiles && played.records() > 1, "{played:?}");
    assert!(permuted.records() == 1 && permuted.rows() > played.rows(), "{permuted:?}");
    plays_alike(&climb, 3);
}

fn tiled(data_depth: u32) -> MachineSpec {
    MachineSpec { data_depth: Some(data_depth), ..spec(2, 4, 16, 8) }
}

/// A training that is told to stop ends with the epoch that is played; the weights are those of as many epochs, and the next training finds its
/// samples. The orders of its epochs go on where they were.
#[test]
fn a_training_stops_after_an_epoch() {
    for (options, batches) in [(&TRAINING, 7), (&ALL, 5)] {
        let climb = climb(&spec(2, 4, 16, 8), batches, options);
        let machine = &climb.image().machine;
        let mut both = Lockstep::new(model(machine, ROWS), hardware(machine, ROWS));
        for key in KEYS {
            let (mut heard, mut stops) = (Vec::new(), false);
            let mut after_two = |done: u32| {
                heard.push(done);
                stops |= done >= 2;
                !stops
            };
            let (outcome, epochs) =
                played_while(&climb, (batches, 1000), key, (&mut both, Stalls::none()), &mut after_two);
            assert!((3..6).contains(&epochs), "{epochs}");
            assert!(heard.is_sorted() && heard[0] == 0 && heard.contains(&1), "{heard:?}");
            let expected = sent_in_order(&climb, batches, epochs, key);
            assert_eq!((outcome.raw, outcome.model), (expected.raw, expected.model), "key {key:x?}");
            assert_eq!(both.control_read(registers::CONTROL) & registers::BUSY, 0);
        }
        assert_eq!(played(&climb, batches, &mut both, Stalls::none()).model, sent(&climb, batches).model);
        assert!(both.mismatch().is_none(), "{}", both.mismatch().unwrap());
    }
}

/// One batch has one order; of many, those are found whose number needs another way through the network. A batch has one row or many, and the place
/// after each is asked for as late as it is or earlier.
#[test]
fn batches_begin_where_their_order_says() {
    let machine = Machine::try_from(spec(1, 2, 16, 2)).unwrap();
    let (rows, epochs, key) = (1100, 3, 0xfeed_beef);
    let mut both = Lockstep::new(model(&machine, rows), hardware(&machine, rows));
    both.control_write(store::MODE, Mode::Fill as u32);
    let mut filled = 0;
    while filled < rows {
        filled += u32::from(both.cycle(Some(&[i64::from(filled), 0]), true).input_taken);
    }
    for (records, batch_rows) in [(1, 1), (1, 3), (2, 2), (3, 5), (33, 1), (64, 17), (65, 16), (1100, 1), (5, 220)] {
        // A grid without a program takes nothing: what is played is read by the row that comes next.
        for (register, value) in [
            (store::PATTERN, batch_rows | 1 << BEATS_BITS | 1 << (BEATS_BITS + WIDTH_BITS + 1)),
            (store::RECORDS, records),
            (store::EPOCHS, epochs),
            (store::KEY, key),
            (store::BATCH_ROWS, batch_rows),
            (store::MODE, Mode::Permuted as u32),
        ] {
            both.control_write(register, value);
        }
        assert_eq!(both.control_read(store::MODE), Mode::Play as u32);
        assert_eq!(
            [store::KEY, store::BATCH_ROWS, store::PERMUTES].map(|at| both.control_read(at)),
            [key, batch_rows, 1]
        );
        for _ in 0..100 {
            both.cycle(None, true);
        }
        // The queue holds eight beats, each of them a row; of shorter batches both say the same.
        if batch_rows > 8 {
            let first = Permutation::new(records, key).place(0) * batch_rows;
            assert_eq!(both.control_read(store::ROW), first + 8, "{records} of {batch_rows}");
        }
        both.control_write(registers::CONTROL, registers::ABORT);
    }
    assert!(both.mismatch().is_none(), "{}", both.mismatch().unwrap());
}

/// A store that was made without that plays in one order, and says so.
#[test]
fn a_store_may_have_one_order_only() {
    let machine = Machine::try_from(spec(1, 2, 16, 2)).unwrap();
    let rtl = hdl::store::stored(&machine, &Store { permutes: false, ..Store::of_rows(3) });
    assert!(!rtl.verilog.contains("store_order"));
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    let mut grid = GridDevice::new(&library, &machine);
    for (register, value) in
        [(store::RECORDS, 1), (store::EPOCHS, 1), (store::KEY, 5), (store::MODE, Mode::Permuted as u32)]
    {
        grid.control_write(register, value);
    }
    assert_eq!([store::MODE, store::KEY, store::PERMUTES].map(|at| grid.control_read(at)), [Mode::Pass as u32, 0, 0]);
}

/// What is loaded and what came out has to be the same, too, where a batch has several samples, whose words lie packed.
#[test]
fn batches_are_records() {
    let batch = Batch { size: 4, reduction: Reduction::Mean };
    let options = Options { keep: Keep::Training { predictions: Vec::new() }, batch };
    let climb = climb(&spec(2, 4, 16, 4), 5, &options);
    let machine = &climb.image().machine;
    assert_eq!(played(&climb, 5, model(machine, ROWS), Stalls::none()).model, sent(&climb, 5).model);
}

/// The grid is fed as fast as it takes: a run from the store is no longer than one whose beats are always there.
#[test]
fn the_grid_never_waits_for_the_store() {
    let shapes = [(spec(2, 4, 16, 8), 7), (spec(1, 2, 16, 1), 2)];
    for ((spec, batches), key) in shapes.into_iter().flat_map(|shape| KEYS.map(|key| (shape.clone(), key))) {
        let climb = climb(&spec, batches, &TRAINING);
        let machine = &climb.image().machine;
        let run = climb.first_steps(batches);
        let steps: Vec<_> = (0..EPOCHS).flat_map(|_| run.steps.to_vec()).collect();
        let mut driver = Driver::new(Array::new(machine), climb.image().clone(), Stalls::none());
        driver.run(Run { steps: &[], emit_model: false, ..run }).unwrap();
        let expected = driver.run(Run { load_model: None, steps: &steps, emit_model: true }).unwrap();
        let stored = (model(machine, ROWS), Stalls::none());
        let (outcome, _) = played_while(&climb, (batches, EPOCHS), key, stored, &mut |_| true);
        // While it is asked for its state, no word leaves. The first place of an order takes the network once or twice, and its product.
        let more = 8 + if key.is_some() { 2 * 7 + 5 } else { 0 };
        assert!(outcome.cycles <= expected.cycles + more, "{machine}: {} of {}", outcome.cycles, expected.cycles);
    }
}

/// Counts the beats that a host sends.
struct Counted<G>(G, usize);

impl<G: Grid> Grid for Counted<G> {
    fn control_write(&mut self, address: u32, data: u32) {
        self.0.control_write(address, data);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.0.control_read(address)
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.0.cycle(input, output_ready);
        self.1 += usize::from(result.input_taken);
        result
    }
}

#[test]
fn samples_are_sent_once() {
    let climb = climb(&spec(2, 4, 16, 8), 6, &TRAINING);
    let machine = &climb.image().machine;
    let rows = |batches: usize| SampleSet::new(climb.image(), climb.first_steps(batches).steps, false).unwrap().rows();
    let mut grid = Counted(model(machine, ROWS), 0);
    let mut beats = || {
        let before = grid.1;
        played(&climb, 6, &mut grid, Stalls::none());
        grid.1 - before
    };
    let weights = beats() - rows(6);
    assert_eq!(beats(), weights, "the second time they are there");
    grid.0.reset(Array::reset);
    let mut beats = |batches: usize| {
        let before = grid.1;
        played(&climb, batches, &mut grid, Stalls::none());
        grid.1 - before
    };
    assert_eq!(beats(6), weights, "a reset leaves them");
    assert_eq!(beats(5), weights + rows(5), "others are sent");
}

/// An epoch that is sent while it is played.
fn streamed<G: Grid>(climb: &Climb, batches: usize, grid: G, stalls: Stalls) -> Outcome {
    let run = climb.first_steps(batches);
    let set = SampleSet::new(climb.image(), run.steps, false).unwrap();
    let mut driver = Driver::new(grid, climb.image().clone(), stalls);
    assert!(driver.store_streams());
    driver.stream(&set, run.load_model, true).unwrap()
}

/// Rings of one row, of fewer rows than a batch has, of some that are no power of two, and of more than there are.
#[test]
fn rows_are_filled_while_others_are_played() {
    for (spec, options, batches, rows) in [
        (spec(2, 4, 16, 8), &ALL, 7, 3),
        (spec(2, 3, 16, 6), &TRAINING, 4, 13),
        (spec(1, 2, 24, 1), &TRAINING, 2, 1),
        (spec(1, 4, 16, 2), &TRAINING, 5, ROWS),
    ] {
        let climb = climb(&spec, batches, options);
        let machine = &climb.image().machine;
        let expected = sent_in_order(&climb, batches, 1, None);
        for stalls in [Stalls::none(), Stalls::seeded(5, 30, 40), Stalls::seeded(6, 90, 0)] {
            let mut both = Lockstep::new(model(machine, rows), hardware(machine, rows));
            let outcome = streamed(&climb, batches, &mut both, stalls);
            assert!(both.mismatch().is_none(), "{machine}, {rows} rows: {}", both.mismatch().unwrap());
            assert_eq!((&outcome.raw, &outcome.model), (&expected.raw, &expected.model), "{machine}, {rows} rows");
        }
    }
}

/// An epoch that comes slowly takes as long as it comes, not that and the time of the grid.
#[test]
fn a_stream_takes_the_longer_of_two_times() {
    let batches = 7;
    let climb = climb(&spec(2, 4, 16, 8), batches, &TRAINING);
    let machine = &climb.image().machine;
    let on_grid = played_while(&climb, (batches, 1), None, (model(machine, ROWS), Stalls::none()), &mut |_| true).0;
    let rows = SampleSet::new(climb.image(), climb.first_steps(batches).steps, false).unwrap().rows() as u64;
    // A host that offers a row in one of ten cycles.
    let outcome = streamed(&climb, batches, model(machine, 8), Stalls::seeded(5, 90, 0));
    let (longer, sum) = (on_grid.cycles.max(10 * rows), on_grid.cycles + 10 * rows);
    assert!(
        2 * outcome.cycles < longer + sum,
        "{} cycles, {} on the grid, {rows} rows",
        outcome.cycles,
        on_grid.cycles
    );
}

/// A store that is too small takes what it holds, and no more.
#[test]
fn a_full_store_takes_no_more() {
    let machine = Machine::try_from(spec(1, 2, 16, 2)).unwrap();
    let mut both = Lockstep::new(model(&machine, 3), hardware(&machine, 3));
    both.control_write(store::MODE, Mode::Fill as u32);
    let taken = (0..10).filter(|&n| both.cycle(Some(&[n, -n]), true).input_taken).count();
    assert_eq!((taken, both.control_read(store::ROW), both.control_read(store::ROWS)), (3, 3, 3));
    assert!(both.mismatch().is_none(), "{}", both.mismatch().unwrap());
}

/// In the middle of a training the run is aborted; the next one finds the samples, and a grid that works.
#[test]
fn an_abort_ends_a_training() {
    let climb = climb(&spec(2, 4, 16, 8), 7, &TRAINING);
    let machine = &climb.image().machine;
    let mut both = Lockstep::new(model(machine, ROWS), hardware(machine, ROWS));
    let outcome = played(&climb, 7, &mut both, Stalls::none());
    for (cycles, mode) in [1, 2, 3, 4, 5, 6, 9, 40, 333].into_iter().flat_map(|n| [(n, Mode::Play), (n, Mode::Stream)])
    {
        both.control_write(store::MODE, mode as u32);
        both.control_write(registers::CONTROL, registers::START);
        for _ in 0..cycles {
            both.cycle((mode == Mode::Stream).then_some(&[7; 8]), true);
        }
        assert_eq!(both.control_read(store::MODE), Mode::Play as u32);
        both.control_write(registers::CONTROL, registers::ABORT);
        assert_eq!(both.control_read(store::MODE), Mode::Pass as u32);
        let again = played(&climb, 7, &mut both, Stalls::none());
        assert_eq!((again.model, again.cycles), (outcome.model.clone(), outcome.cycles));
    }
    assert!(both.mismatch().is_none(), "{}", both.mismatch().unwrap());
}

// ---- over the link ------------------------------------------------------------------------------------------------------------

/// A line to a model of a board with a store, on which one of so many bytes is lost, changed or doubled.
struct Line {
    board: BoardModel<Stored<Array>>,
    waiting: VecDeque<u8>,
    noise: Option<u32>,
    random: u32,
}

impl Line {
    fn new(machine: &Machine, noise: Option<u32>) -> Line {
        let reset: fn(&mut Stored<Array>) = |grid| grid.reset(Array::reset);
        let board = BoardModel::new(machine.clone(), Size::LEAST, model(machine, ROWS), reset, 300);
        Line { board, waiting: VecDeque::new(), noise, random: 1 }
    }

    fn disturbed(&mut self, byte: u8) -> Vec<u8> {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let random = self.random >> 8;
        match self.noise {
            Some(noise) if random.is_multiple_of(noise) => match random / noise % 3 {
                0 => vec![],
                1 => vec![byte ^ 16],
                _ => vec![byte, byte],
            },
            _ => vec![byte],
        }
    }
}

impl Wire for Line {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for &byte in bytes {
            for byte in self.disturbed(byte) {
                for answer in self.board.byte(byte) {
                    let answer = self.disturbed(answer);
                    self.waiting.extend(answer);
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], _: Duration) -> io::Result<usize> {
        let count = self.waiting.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(self.waiting.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

#[test]
fn a_store_is_filled_and_played_over_good_and_bad_lines() {
    let climb = climb(&spec(2, 4, 16, 8), 7, &TRAINING);
    let machine = &climb.image().machine;
    let patience = Patience { reply: Duration::from_millis(5), attempts: 40, progress: Duration::from_secs(10) };
    for noise in [None, Some(700)] {
        let link = Link::open(Line::new(machine, noise), patience).unwrap();
        assert_eq!(played(&climb, 7, LinkedGrid::new(link), Stalls::none()).model, sent(&climb, 7).model);
    }
}

/// A board without a store says so, and is driven as before.
#[test]
fn a_board_without_a_store_has_no_rows() {
    let machine = Machine::try_from(spec(1, 2, 16, 2)).unwrap();
    let mut board = BoardModel::new(machine.clone(), Size::LEAST, Array::new(&machine), Array::reset, 300);
    let mut ask =
        |frame: &[u8]| -> Vec<u8> { link::encode(frame).into_iter().flat_map(|byte| board.byte(byte)).collect() };
    ask(&[1, Command::Hello as u8]);
    let answer = ask(&[&[2, Command::Read as u8][..], &store::ROWS.to_le_bytes()].concat());
    assert_eq!(answer, link::encode(&[2, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
}

#[test]
fn the_store_lints_clean() {
    for (spec, rows) in
        [(spec(2, 4, 16, 8), 1000), (spec(2, 3, 24, 6), 256), (spec(1, 1, 8, 1), 300), (spec(1, 2, 32, 2), 2048)]
    {
        let machine = Machine::try_from(spec).unwrap();
        let facts = |store| shell::Board {
            pll: None,
            pin_hz: 4_000_000,
            grid_hz: 4_000_000,
            baud: 1_000_000,
            link_size: Size::USUAL,
            leds: 3,
            lit_by_one: true,
            pressed_is_one: true,
            held: &[],
            store: Some(store),
        };
        for permutes in [false, true] {
            let store = Store { permutes, ..Store::of_rows(rows) };
            let rtl = shell::board(&machine, &facts(store)).unwrap();
            verilator::lint(&rtl, hdl::lint_waivers(), &Toolbox::default()).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Memories of 256 kbit have one shape, so a store in them consists of banks of 16,384 rows, one after the other: the last batches lie in the second one,
/// whose rows are those that the model has.
#[test]
fn large_memories_keep_the_rows_of_small_ones() {
    let climb = climb(&spec(1, 1, 8, 1), 5, &TRAINING);
    let machine = &climb.image().machine;
    let run = climb.first_steps(5);
    let rows = SampleSet::new(climb.image(), run.steps, false).unwrap().rows() / 5;
    let steps: Vec<_> = run.steps.iter().cycle().take((1 << 14) / rows + 5).cloned().collect();
    let set = SampleSet::new(climb.image(), &steps, false).unwrap();
    let store = Store { large: true, ..Store::of_rows(1 << 15) };
    assert!(set.rows() > 1 << 14);
    let rtl = hdl::store::stored(machine, &store);
    let library = Library::build(&rtl, &verilator::Options::brief()).unwrap_or_else(|error| panic!("{error}"));
    let mut both = Lockstep::new(model(machine, store.rows), GridDevice::new(&library, machine));
    let mut driver = Driver::new(&mut both, climb.image().clone(), Stalls::none());
    let (key, load_model) = (None, run.load_model);
    driver.play(&set, Play { epochs: 1, key, load_model, emit_model: true, goes_on: &mut |_| true }).unwrap();
    assert!(both.mismatch().is_none(), "{}", both.mismatch().unwrap());
}

/// Nothing to send, nothing to keep.
#[test]
fn an_image_without_input_has_no_set() {
    let climb = climb(&spec(1, 2, 16, 2), 1, &TRAINING);
    let mut image: Image = climb.image().clone();
    assert!(SampleSet::new(&image, &[], false).is_none());
    image.entries.step_load = None;
    assert!(SampleSet::new(&image, climb.first_steps(1).steps, false).is_none());
}
