//! Waves of a run, read back from both formats: the words at the ports, what the PEs do, and the window.

mod files;

use arch::isa::Pad;
use arch::machine::MachineSpec;
use arch::timing;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use files::{Changes, at, bits, signed};
use sim::array::Array;
use sim::grid::{CycleResult, Grid, Stalls};
use sim::ladder::{Climb, NamedValues};
use sim::waves::signals::{self, Kind};
use sim::waves::writer::WriteWaves;
use sim::waves::{CYCLE, Waved, Window, view};
use std::collections::BTreeSet;
use std::path::Path;

const PROGRAM: &str = "mu = 0.5;\nmodel_input x[3];\nmodel_output y;\nmodel w[3];\ngradient g[3] -> w;\niterator i[0:3];\n\
                       h = sum[i](w[i] * x[i]);\nd = sigmoid(h) - y;\ng[i] = d * x[i];\n";

const STEPS: usize = 3;

fn climb(pus: u32) -> Climb {
    let (program, _) = language::parse(Language::Tabla, PROGRAM, &language::Options::default()).unwrap();
    let spec = MachineSpec { pus: Some(pus), pes_per_pu: Some(2), word: Some(16), ..MachineSpec::default() };
    let model = NamedValues::from([("w".to_owned(), vec![0.5, -0.25, 1.0])]);
    let step = |n: usize| {
        NamedValues::from([("x".to_owned(), vec![1.0, 0.5 * n as f64, -0.75]), ("y".to_owned(), vec![(n % 2) as f64])])
    };
    let steps: Vec<NamedValues> = (0..STEPS).map(step).collect();
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    Climb::new(&program, &options, &model, &steps, &spec).unwrap()
}

/// Keeps the words that come out.
struct Tee {
    waved: Waved,
    words: Vec<i64>,
}

impl Grid for Tee {
    fn control_write(&mut self, address: u32, data: u32) {
        self.waved.control_write(address, data);
    }
    fn control_read(&mut self, address: u32) -> u32 {
        self.waved.control_read(address)
    }
    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let result = self.waved.cycle(input, output_ready);
        self.words.extend_from_slice(&result.output);
        result
    }
}

/// Run and record; the words, the cycles of the run, and those in the file.
fn record(climb: &Climb, path: &Path, window: Window, stalls: Stalls) -> (Vec<i64>, u64, u64) {
    let file = Box::new(std::fs::File::create(path).unwrap());
    let is_vcd = path.extension().unwrap() == "vcd";
    let to = if is_vcd { WriteWaves::Vcd(file) } else { WriteWaves::Fst(file) };
    let signals = signals::all(climb.image(), PROGRAM, 0);
    let waved = Waved::new(Array::new(&climb.image().machine), 0, signals, window, to).unwrap();
    let mut tee = Tee { waved, words: Vec::new() };
    let agreement = climb.run(&mut tee, stalls).unwrap();
    let recorded = tee.waved.finish().unwrap();
    (tee.words, agreement.cycles, recorded)
}

fn is_text(climb: &Climb) -> impl Fn(&str) -> bool {
    let signals = signals::all(climb.image(), PROGRAM, 0).into_iter();
    let texts = signals.filter(|signal| matches!(signal.kind, Kind::Text(_)));
    let texts: BTreeSet<String> = texts.map(|s| format!("{}.{}", s.scope.join("."), s.name)).collect();
    move |name| texts.contains(name)
}

/// The words that pass the output port, in order.
fn output_words(changes: &Changes, cycles: u64) -> Vec<i64> {
    let high = |name: &str, time: u64| at(changes, name, time) == "1";
    let passes = |time: &u64| high("grid.out_valid", *time) && high("grid.out_ready", *time);
    let times = (0..cycles).map(|cycle| cycle * CYCLE).filter(passes);
    times.map(|time| signed(at(changes, "grid.out_data", time)) as i64).collect()
}

#[test]
fn the_files_show_every_word_that_came_out() {
    let folder = tempfile::tempdir().unwrap();
    let climb = climb(2);
    for stalls in [Stalls::none(), Stalls::seeded(5, 40, 40)] {
        let (text, compressed) = (folder.path().join("a.vcd"), folder.path().join("a.fst"));
        let (words, cycles, recorded) = record(&climb, &text, Window::All, stalls.clone());
        assert_eq!(recorded, cycles);
        let changes = files::vcd(&text);
        assert!(words.len() > STEPS);
        // The last word may leave in the cycle in which the run ends.
        let shown = output_words(&changes, cycles);
        assert!(words.starts_with(&shown) && shown.len() + 1 >= words.len(), "{shown:?} of {words:?}");
        let steps: Vec<u64> = changes["grid.sequencer.step"].iter().map(|change| bits(&change.1)).collect();
        assert_eq!(steps, (0..=STEPS as u64).collect::<Vec<_>>());

        assert_eq!(record(&climb, &compressed, Window::All, stalls).0, words);
        let other = files::fst(&compressed, &is_text(&climb));
        assert_eq!(other.keys().collect::<Vec<_>>(), changes.keys().collect::<Vec<_>>());
        for cycle in 0..cycles {
            for name in changes.keys() {
                assert_eq!(
                    at(&changes, name, cycle * CYCLE),
                    at(&other, name, cycle * CYCLE),
                    "{name} in cycle {cycle}"
                );
            }
        }
    }
}

/// What an emitting beat leaves in the accumulators of the only PU, two cycles after its issue, is what comes out.
#[test]
fn sums_of_the_pes_come_out() {
    let folder = tempfile::tempdir().unwrap();
    let climb = climb(1);
    let path = folder.path().join("a.vcd");
    let (words, cycles, _) = record(&climb, &path, Window::All, Stalls::none());
    let changes = files::vcd(&path);
    let mut sums = Vec::new();
    for cycle in 0..cycles - timing::DISTRIBUTION {
        let issue = cycle * CYCLE;
        let emits = at(&changes, "grid.sequencer.alu.text", issue).contains(" out = ");
        if emits && at(&changes, "grid.sequencer.alu.beat", issue) == "1" {
            let time = (cycle + timing::DISTRIBUTION) * CYCLE;
            assert_eq!(at(&changes, "grid.pu0.beat", time), "1");
            let sum = |pe: u32| signed(at(&changes, &format!("grid.pu0.pe{pe}.accumulator"), time));
            sums.push((sum(0) + sum(1)) as i16);
        }
    }
    assert_eq!(sums, words.iter().map(|&word| word as i16).collect::<Vec<_>>());
}

#[test]
fn results_are_seen_when_they_land() {
    let folder = tempfile::tempdir().unwrap();
    let climb = climb(1);
    let path = folder.path().join("a.vcd");
    let (_, cycles, _) = record(&climb, &path, Window::All, Stalls::none());
    let changes = files::vcd(&path);
    let mut written = 0;
    for cycle in 0..cycles {
        let time = cycle * CYCLE;
        if at(&changes, "grid.pu0.write", time) == "1" {
            // A write lands a fixed time after the beat that made it.
            let beat = (cycle - timing::ALU_WRITE) * CYCLE;
            assert_eq!(at(&changes, "grid.pu0.beat", beat), "1", "cycle {cycle}");
            assert_eq!(at(&changes, "grid.pu0.pe0.write", time), at(&changes, "grid.pu0.pe0.taken", beat));
            let pad = at(&changes, "grid.pu0.write_pad", time);
            assert!(pad != "data" && Pad::NAMES.contains(&pad), "{pad}");
            written += 1;
        }
    }
    assert!(written >= STEPS, "{written} writes");
}

#[test]
fn a_window_shows_its_cycles_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let climb = climb(1);
    let path = folder.path().join("a.vcd");
    let (_, cycles, recorded) = record(&climb, &path, Window::Cycles(7..19), Stalls::none());
    assert_eq!(recorded, 12);
    let changes = files::vcd(&path);
    let times: Vec<u64> = changes.values().flatten().map(|change| change.0).collect();
    assert!(times.iter().all(|&time| (7 * CYCLE..19 * CYCLE).contains(&time)) && cycles > 19);
    let (.., recorded) = record(&climb, &path, Window::Steps(1..2), Stalls::none());
    assert!(recorded >= u64::from(climb.image().step_length) && recorded < cycles);
    let steps: Vec<u64> = files::vcd(&path)["grid.sequencer.step"].iter().map(|change| bits(&change.1)).collect();
    assert_eq!(steps, [1]);
    let (.., recorded) = record(&climb, &path, Window::Cycles(1 << 40..1 << 41), Stalls::none());
    assert_eq!(recorded, 0);
}

#[test]
fn views_name_signals_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    let climb = climb(2);
    let path = folder.path().join("a.vcd");
    record(&climb, &path, Window::All, Stalls::none());
    let changes = files::vcd(&path);
    let signals = signals::all(climb.image(), PROGRAM, 0);
    let gtkwave = view::gtkwave(&signals, false);
    let named = gtkwave.lines().filter(|line| line.starts_with("grid."));
    let named: Vec<&str> = named.map(|line| line.split('[').next().unwrap()).collect();
    assert!(named.len() > 40);
    let surfer = view::surfer(&signals);
    let also: Vec<&str> = surfer.lines().filter_map(|line| line.strip_prefix("variable_add ")).collect();
    assert_eq!(named, also);
    for name in named {
        assert!(changes.contains_key(name), "{name}");
    }
    assert!(view::gtkwave(&signals, true).contains("grid.sequencer.run_state[79:0]"));
}
