//! `run`: training over a serial port: a pseudo-terminal whose other end is the Verilog of a board's top module, through its UART.

#[path = "board/functions.rs"]
mod functions;
#[path = "board/optimiser.rs"]
mod optimiser;
mod tool;
#[path = "board/unplugged.rs"]
mod unplugged;

use arch::Machine;
use arch::link::Size;
use arch::machine::MachineSpec;
use arch::tools::Toolbox;
use hdl::shell;
use hdl::store::Store;
use serialport::{SerialPort, TTYPort};
use sim::verilator::{BoardDevice, Library, Options};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tool::{Ran, run};
use workbench::sdram::{Place, controller};

/// Clock cycles of one bit.
const DIVISOR: u32 = 4;

/// What happens to the bytes on their way.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    Good,
    /// One of so many bytes is changed.
    Noisy(u32),
    /// The board vanishes after so many bytes from the host.
    Unplugged(usize),
    /// Nobody listens.
    Dead,
}

/// A board behind a pseudo-terminal.
struct Bench {
    name: String,
    /// Bytes that the host has sent.
    sent: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Kept open, so that the terminal outlives the program under test.
    _other_end: fs::File,
}

impl Bench {
    fn new(line: Line) -> Bench {
        // Built here, so that nobody waits for it with a deadline.
        Bench::of(line, (line != Line::Dead).then(library))
    }

    fn of(line: Line, library: Option<Library>) -> Bench {
        let (mut ours, theirs) = TTYPort::pair().unwrap();
        ours.set_timeout(Duration::from_millis(2)).unwrap();
        let name = theirs.name().unwrap();
        // A port is locked while it is open; a file is not.
        let other_end = fs::File::open(&name).unwrap();
        drop(theirs);
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let thread = std::thread::spawn(move || {
            if let Some(library) = library {
                serve(&mut ours, BoardDevice::new(&library, DIVISOR, true), line, &seen, &count);
            } else {
                while !seen.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Bench { name, sent, stop, thread: Some(thread), _other_end: other_end }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn machine() -> Machine {
    let spec = MachineSpec { pus: Some(2), pes_per_pu: Some(4), word: Some(16), ..MachineSpec::default() };
    Machine::try_from(spec).unwrap()
}

fn library() -> Library {
    library_of(&facts())
}

fn library_of(facts: &shell::Board<'_>) -> Library {
    let rtl = shell::board(&machine(), facts).unwrap();
    Library::build(&rtl, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn facts() -> shell::Board<'static> {
    shell::Board {
        pll: None,
        pin_hz: 4_000_000,
        grid_hz: 4_000_000,
        baud: 1_000_000,
        link_size: Size::LEAST,
        leds: 3,
        lit_by_one: true,
        pressed_is_one: true,
        held: &[],
        store: None,
    }
}

fn serve(terminal: &mut TTYPort, mut board: BoardDevice, line: Line, stop: &AtomicBool, sent: &AtomicUsize) {
    let (mut buffer, mut random, mut resting) = ([0; 4096], 1u32, false);
    let mut disturb = |bytes: &mut [u8]| {
        if let Line::Noisy(interval) = line {
            for byte in bytes {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte ^= u8::from((random >> 8).is_multiple_of(interval)) << (random >> 29);
            }
        }
    };
    while !stop.load(Ordering::Relaxed) {
        if resting || terminal.bytes_to_read().unwrap_or(0) > 0 {
            let read = terminal.read(&mut buffer).unwrap_or(0);
            disturb(&mut buffer[..read]);
            board.send(&buffer[..read]);
            sent.fetch_add(read, Ordering::Relaxed);
        }
        // The host's end of the line is still there, and takes what it is sent.
        if matches!(line, Line::Unplugged(limit) if sent.load(Ordering::Relaxed) > limit) {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        board.run(400);
        let mut answer = board.take();
        resting = board.sent() && answer.is_empty();
        disturb(&mut answer);
        terminal.write_all(&answer).unwrap();
    }
}

fn config(folder: &Path, machine: &str) -> String {
    let path = folder.join("board.toml");
    fs::write(&path, format!("[machine]\n{machine}\n")).unwrap();
    path.display().to_string()
}

const GRID: &str = "pus = 2\npes_per_pu = 4\nword = 16";
const TRAINING: [&str; 8] =
    ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--epochs", "1", "--limit", "100", "--format"];

fn on_board(bench: &Bench, config: &str, more: &[&str]) -> Ran {
    let port = ["run", "--port", &bench.name, "--config", config];
    run(&[&port[..], &TRAINING, &["json"], more].concat())
}

#[test]
fn training_on_a_board_is_training_on_the_array() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let array = run(&[&["train", "--config", &config][..], &TRAINING, &["json"]].concat());
    assert_eq!(array.code, 0, "{}", array.stderr);
    let array = array.json();
    // What `train` decides, `run` decides.
    let settings = |more: &[&str]| {
        let mut settings = array["settings"].clone();
        if let [_, batch] = more {
            settings["batch"] = batch.parse::<u32>().unwrap().into();
        }
        settings
    };
    // The rest of the rows predicts with a batch of their own; the engines of both share the board.
    for (line, more) in [(Line::Good, &[][..]), (Line::Noisy(3000), &[]), (Line::Good, &["--batch", "8"])] {
        let bench = Bench::new(line);
        let ran = on_board(&bench, &config, more);
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        tool::schema::holds(&board, "run");
        assert_eq!(board["settings"], settings(more), "{board}");
        assert_eq!(board["words_differing"], 0, "{board}");
        assert!(board["words_compared"].as_u64().unwrap() > 150, "{board}");
        if more.is_empty() {
            assert_eq!(board["train"]["board"], array["train"]["array"]);
            assert_eq!(board["test"]["board"], array["test"]["array"]);
        }
    }
}

/// Two boards share every batch: the weights of one process. When one of them is unplugged, the error says which, the epochs before are kept, and one
/// board alone goes on with the same bits.
#[test]
fn boards_share_batches() {
    let folder = tempfile::tempdir().unwrap();
    let more = "partial_sums = true\ngradient_depth = 64";
    let config = config(folder.path(), &format!("{GRID}\n{more}"));
    let spec = MachineSpec { partial_sums: Some(true), gradient_depth: Some(64), ..machine().into() };
    let rtl = shell::board(&Machine::try_from(spec).unwrap(), &facts()).unwrap();
    let board =
        |line| Bench::of(line, Some(Library::build(&rtl, &Options::default()).unwrap_or_else(|e| panic!("{e}"))));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, checkpoint) = (path("m.json"), path("c.json"));
    let data = ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--limit", "100", "--batch", "24"];
    let settings = ["--epochs", "4", "--config", &config, "--format", "json"];
    let weights = || {
        let model: serde_json::Value = serde_json::from_str(&fs::read_to_string(&model).unwrap()).unwrap();
        model["model"].clone()
    };
    let on = |boards: &[&Bench], more: &[&str]| {
        let ports = boards.iter().map(|board| board.name.as_str()).collect::<Vec<_>>().join(",");
        let ranks = format!("--ranks={}", boards.len());
        run(&[&["run", "--port", &ports, &ranks][..], &data, &settings, more].concat())
    };
    let alone = run(&[&["train", "--engine", "fixed", "--save", &model][..], &data, &settings].concat());
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    let expected = weights();
    let (first, second) = (board(Line::Good), board(Line::Good));
    let ran = on(&[&first, &second], &["--save", &model]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let result = ran.json();
    tool::schema::holds(&result, "run");
    assert_eq!(result["words_differing"], 0, "{result}");
    assert_eq!(weights(), expected);
    // What goes out in predictions at the end is small beside four epochs.
    let half = second.sent.load(Ordering::Relaxed) / 2;
    let (first, second) = (board(Line::Good), board(Line::Unplugged(half)));
    let lost = on(&[&first, &second], &["--checkpoint", &checkpoint]);
    assert_eq!(lost.code, 6, "{}\n{}", lost.stdout, lost.stderr);
    assert!(
        lost.stderr.contains(&format!("rank 1: {}", second.name)) || lost.stderr.contains("rank 1: "),
        "{}",
        lost.stderr
    );
    let errors = lost.stderr.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 1, "{}", lost.stderr);
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(&checkpoint).unwrap()).unwrap();
    let epochs = kept["lower"]["epochs"].as_u64().unwrap();
    assert!((1..4).contains(&epochs), "{epochs} epochs are kept");
    let goes_on = on(&[&board(Line::Good)], &["--resume", &checkpoint, "--save", &model]);
    assert_eq!(goes_on.code, 0, "{}\n{}", goes_on.stdout, goes_on.stderr);
    assert_eq!(weights(), expected);
    // A board with another grid.
    let other = on(&[&board(Line::Good), &Bench::new(Line::Good)], &[]);
    assert_eq!(other.code, 6, "{}\n{}", other.stdout, other.stderr);
    assert!(other.stderr.contains("the board has another grid"), "{}", other.stderr);
}

/// A board with a store is sent its samples once, however many epochs there are, and gives the words of one without.
#[test]
fn a_board_keeps_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let trained = |store_rows: u32, epochs: &str| {
        let store = Some(Store::of_rows(store_rows)).filter(|store| store.rows > 0);
        let bench = Bench::of(Line::Good, Some(library_of(&shell::Board { store, ..facts() })));
        let settings = ["--order", "store", "--epochs", epochs, "--limit", "100", "--format", "json"];
        let data = ["programs/logistic.t", "--data", "examples/breast_cancer.csv"];
        let ran = run(&[&["run", "--port", &bench.name, "--config", &config][..], &data, &settings].concat());
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        assert_eq!(board["words_differing"], 0, "{board}");
        (board["train"]["board"].clone(), bench.sent.load(Ordering::Relaxed), ran.stderr)
    };
    let (sent, bytes_sent, _) = trained(0, "3");
    let (kept, bytes_kept, said) = trained(512, "3");
    assert!(!said.contains("sample store"), "{said}");
    assert_eq!(kept, sent);
    // An epoch of 100 samples has 100 x 5 beats of 8 words of 2 bytes.
    assert!(bytes_kept + 100 * 5 * 16 < bytes_sent, "{bytes_kept} of {bytes_sent}");
    // While a training runs the host asks for its progress, and sends nothing else.
    let (_, more, _) = trained(512, "4");
    assert!(more < bytes_kept + 100 * 5 * 16, "{more} after {bytes_kept}");
    // A store that is too small is not used. A sample has 31 inputs in rows of 8, and a label.
    let (small, _, said) = trained(256, "3");
    assert_eq!(small, sent);
    let too_small = "the samples take 500 rows, the board's sample store has 256: they are sent in every epoch";
    assert!(said.contains(too_small), "{said}");
}

/// A set that is larger than the store goes through it, packed, while it plays: fewer bytes, the same words, whatever the order is, and even where the store
/// does not hold a batch. A label of a network is one word, which a beat repeats for all engines: five of them lie in a row of eight.
#[test]
fn a_larger_set_goes_through_the_store_while_it_plays() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "pus = 4\npes_per_pu = 4\nword = 16\nstream_words = 8");
    let four = Some(4);
    let (word, stream_words) = (Some(16), Some(8));
    let grid = MachineSpec { pus: four, pes_per_pu: four, word, stream_words, ..MachineSpec::default() };
    let grid = Machine::try_from(grid).unwrap();
    let row = |n: usize| {
        format!("{},{}\n", (0..7).map(|i| ((3 * n + i * i) % 11).to_string() + ",").collect::<String>(), n % 5)
    };
    let text: String = (0..60).map(row).map(|row| row.replace(",,", ",")).collect();
    let data = folder.path().join("data.csv");
    fs::write(&data, "a,b,c,d,e,f,g,class\n".to_owned() + &text).unwrap();
    let data = data.display().to_string();
    let trained = |store_rows: u32, order: &str| {
        let store = Some(Store::of_rows(store_rows)).filter(|store| store.rows > 0);
        let rtl = shell::board(&grid, &shell::Board { store, ..facts() }).unwrap();
        let library = Library::build(&rtl, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let bench = Bench::of(Line::Good, Some(library));
        let network = ["programs/backpropagation.t", "--set", "l2=6", "--data", &data];
        let settings = ["--epochs", "2", "--limit", "40", "--order", order, "--format", "json"];
        let ran = run(&[&["run", "--port", &bench.name, "--config", &config][..], &network, &settings].concat());
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        assert_eq!(board["words_differing"], 0, "{board}");
        (board["train"]["board"].clone(), bench.sent.load(Ordering::Relaxed), ran.stderr)
    };
    for order in ["store", "permuted", "shuffled"] {
        let (sent, bytes_sent, _) = trained(0, order);
        let (streamed, bytes_of_rows, said) = trained(if order == "permuted" { 2 } else { 50 }, order);
        assert_eq!(streamed, sent, "{order}");
        // In each of two epochs, 40 samples take at least one row less than beats, of 16 bytes.
        assert!(bytes_of_rows + 2 * 40 * 16 < bytes_sent, "{order}: {bytes_of_rows} of {bytes_sent}");
        assert!(order == "shuffled" || said.contains("through the store, which plays meanwhile"), "{said}");
    }
}

/// Each epoch has an order of its own, which the board computes: the words are those of all other engines, and samples are sent once. A board that was
/// made without that is sent them in every epoch, and gives the same.
#[test]
fn a_board_permutes_its_batches() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let training = ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--epochs", "3", "--limit", "60"];
    let order = ["--order", "permuted", "--config", &config, "--format", "json"];
    let rtl = run(&[&["train", "--engine", "rtl"], &training[..], &order].concat());
    assert_eq!(rtl.code, 0, "{}\n{}", rtl.stdout, rtl.stderr);
    let rtl = rtl.json();
    assert_eq!(rtl["words_differing"], 0, "{rtl}");
    let trained = |permutes: bool| {
        let store = Some(Store { permutes, ..Store::of_rows(512) });
        let bench = Bench::of(Line::Good, Some(library_of(&shell::Board { store, ..facts() })));
        let ran = run(&[&["run", "--port", &bench.name], &training[..], &order].concat());
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        assert_eq!(board["words_differing"], 0, "{board}");
        assert_eq!((&board["train"]["board"], &board["test"]["board"]), (&rtl["train"]["rtl"], &rtl["test"]["rtl"]));
        (bench.sent.load(Ordering::Relaxed), ran.stderr)
    };
    let (kept, said) = trained(true);
    assert!(!said.contains("sample store"), "{said}");
    let (sent, said) = trained(false);
    assert!(said.contains("the board's sample store plays in one order only"), "{said}");
    // An epoch of 60 samples has 60 x 5 beats of 8 words of 2 bytes.
    assert!(kept + 60 * 5 * 16 < sent, "{kept} of {sent}");
}

/// Ctrl-C while the board plays: it stops after its epoch, and what is resumed gives the weights of a training that was never interrupted.
#[test]
fn a_board_stops_after_an_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let training = ["programs/logistic.t", "--data", "examples/breast_cancer.csv", "--epochs", "400", "--limit", "40"];
    let order = ["--order", "permuted", "--config", &config, "--format", "json"];
    let library = library_of(&shell::Board { store: Some(Store::of_rows(512)), ..facts() });
    let bench = Bench::of(Line::Good, Some(library));
    let port = ["run", "--port", &bench.name, "--checkpoint-every", "400"];
    let kept = path("kept.json");
    let mut first = Command::new(env!("CARGO_BIN_EXE_tabla-gen"));
    first.args(port).args(training).args(order).args(["--checkpoint", &kept]);
    let mut child = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Rows of 40 samples, program and weights are about 6,000 bytes; then it only asks how far the board is.
    let begun = Instant::now();
    while bench.sent.load(Ordering::Relaxed) < 9_000 {
        assert!(begun.elapsed() < Duration::from_mins(2) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let checkpoint: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let done = checkpoint["lower"]["epochs"].as_u64().unwrap();
    assert!((1..400).contains(&done), "{done} epochs");
    let resumed = run(&[&port[..], &training, &order, &["--resume", &kept, "--save", &path("board.json")]].concat());
    assert_eq!(resumed.code, 0, "{}\n{}", resumed.stdout, resumed.stderr);
    let array = run(&[&["train"], &training[..], &order, &["--save", &path("array.json")]].concat());
    assert_eq!(array.code, 0, "{}", array.stderr);
    let model = |name: &str| -> serde_json::Value {
        serde_json::from_str::<serde_json::Value>(&fs::read_to_string(path(name)).unwrap()).unwrap()["model"].clone()
    };
    assert_eq!(model("board.json"), model("array.json"));
}

/// The port `simulated` is the board of the configuration, whose time is counted at its clock and rate.
#[test]
fn a_board_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let ordered = |machine: &str, epochs: &str, order: &str| {
        let config = config(folder.path(), machine);
        let settings = ["--order", order, "--epochs", epochs, "--limit", "100", "--format", "json"];
        let data = ["programs/logistic.t", "--data", "examples/breast_cancer.csv"];
        run(&[&["run", "--port", "simulated", "--config", &config][..], &data, &settings].concat())
    };
    let simulated = |machine: &str, epochs: &str| ordered(machine, epochs, "store");
    let board = |name: &str, store: &str| {
        format!("pus = 1\npes_per_pu = 2\n\n[board]\nname = \"{name}\"\nclock_mhz = 60.0\nstore = \"{store}\"")
    };
    let system = |ran: Ran| {
        assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
        let board = ran.json();
        tool::schema::holds(&board, "run");
        assert_eq!((&board["words_differing"], &board["system"]["words_differing"]), (&0.into(), &0.into()), "{board}");
        board["system"].clone()
    };
    let number = |system: &serde_json::Value, key: &str| system[key].as_f64().unwrap();

    // Without a word the store is "auto".
    let kept = simulated(&board("tangnano20k", "bram").replace("\nstore = \"bram\"", ""), "3");
    assert!(!kept.stderr.contains("every epoch"), "{}", kept.stderr);
    let kept = system(kept);
    assert_eq!((&kept["samples"], &kept["epochs"], &kept["bound_by"]), (&300.into(), &3.into(), &"grid".into()));
    // By hand: 100 samples of 15 beats of two words and one of one word, in rows of two words; ten bits for each of four bytes at 1 Mbaud.
    let upload = 100.0 * 16.0 * 4.0 * 10.0 / 1e6;
    let seconds = number(&kept, "upload_seconds");
    assert!((upload..1.3 * upload).contains(&seconds), "{seconds} against {upload}");
    assert!(number(&kept, "seconds") > seconds && number(&kept, "samples_per_second") > 100_000.0, "{kept}");

    // The place of the next batch is there before it is wanted.
    let permuted = system(ordered(&board("tangnano20k", "bram"), "3", "permuted"));
    assert_eq!(permuted["bound_by"], "grid");
    let pace = |system: &serde_json::Value| number(system, "samples_per_second");
    assert!(pace(&permuted) > 0.95 * pace(&kept), "{permuted} beside {kept}");

    let sent = simulated(&board("tangnano20k", "none"), "1");
    assert!(sent.stderr.contains("no sample store: all samples are sent in every epoch"), "{}", sent.stderr);
    let sent = system(sent);
    assert_eq!((&sent["upload_seconds"], &sent["bound_by"]), (&0.0.into(), &"link".into()));
    assert!(number(&sent, "samples_per_second") < 100.0 / upload, "{sent}");

    let refused = simulated(&board("zcu102", "bram"), "1");
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("no serial port that could fill a sample store"), "{}", refused.stdout);
}

/// Data beyond their limit are refused before a sample is sent: the checkpoint is the one that was there, and the board goes on from it.
#[test]
fn data_that_are_too_many_leave_board_and_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let (bench, checkpoint) = (Bench::new(Line::Good), folder.path().join("c.json").display().to_string());
    let rows = fs::read_to_string(TRAINING[2]).unwrap();
    fs::write(folder.path().join("large.csv"), rows.clone() + &rows.split_once('\n').unwrap().1.repeat(11)).unwrap();
    let large = folder.path().join("large.csv").display().to_string();
    let first = on_board(&bench, &config, &["--checkpoint", &checkpoint]);
    assert_eq!(first.code, 0, "{}\n{}", first.stdout, first.stderr);
    let (before, sent) = (fs::read(&checkpoint).unwrap(), bench.sent.load(Ordering::Relaxed));
    let resume = ["--resume", &checkpoint];
    let data = ["run", "--port", &bench.name, "--config", &config, TRAINING[0], "--data", &large, "--format", "json"];
    let refused = run(&[&data[..], &["--limit", "data_mib=1"], &resume].concat());
    assert!(refused.code == 1 && refused.stdout.contains("E-LIMIT"), "{}\n{}", refused.stdout, refused.stderr);
    assert_eq!(fs::read(&checkpoint).unwrap(), before);
    // What the host asks a board when it meets it.
    assert!(bench.sent.load(Ordering::Relaxed) < sent + 1000, "samples were sent");
    let again = on_board(&bench, &config, &resume);
    assert_eq!((again.code, again.json()["train"].clone()), (0, first.json()["train"].clone()), "{}", again.stderr);
}

/// A grid whose program is part of it trains like the others, and refuses another program.
#[test]
fn a_board_with_a_fixed_program() {
    let folder = tempfile::tempdir().unwrap();
    let depths = "model_depth = 256\ndata_depth = 256\ntemporary_depth = 64\nprogram_depth = 64\ntable_entries = 1024";
    let rom = format!("{GRID}\n{depths}\n\n[build]\nmicrocode = \"rom\"");
    let config = config(folder.path(), &rom);
    let out = folder.path().join("out").display().to_string();
    // What decides binary points is the same for both commands: program, settings, data.
    let copy = |from: &str, name: &str, change: &dyn Fn(String) -> String| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(from)).unwrap();
        fs::write(folder.path().join(name), change(text)).unwrap();
        folder.path().join(name).display().to_string()
    };
    let program = copy("programs/logistic.t", "logistic.t", &|text| text);
    copy("programs/logistic.toml", "logistic.toml", &|text| text.replace("epochs = 20", "epochs = 1"));
    let data = copy("examples/breast_cancer.csv", "data.csv", &|text| {
        text.lines().take(60).fold(String::new(), |text, line| text + line + "\n")
    });
    let built = run(&["build", "--module", "tabla", "--config", &config, "--out", &out, &program, "--data", &data]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    // The board's top around the grid that was written.
    let mut rtl = shell::board(&machine(), &facts()).unwrap();
    let loadable = hdl::elaborate(&machine()).verilog;
    assert!(rtl.verilog.contains(&loadable));
    let written = |name: &str| fs::read_to_string(folder.path().join("out").join(name)).unwrap();
    let fixed: Vec<String> = written("rtl/tabla.f").lines().map(written).collect();
    rtl.verilog = rtl.verilog.replace(&loadable, &fixed.join("\n"));
    let library = || Library::build(&rtl, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let trained = |more: &[&str]| {
        let bench = Bench::of(Line::Good, Some(library()));
        let fixed = ["run", "--port", &bench.name, "--config", &config, &program, "--data", &data, "--format", "json"];
        run(&[&fixed[..], more].concat())
    };
    let ran = trained(&[]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let board = ran.json();
    assert_eq!(board["words_differing"], 0, "{board}");
    assert!(board["words_compared"].as_u64().unwrap() > 30, "{board}");
    let other = trained(&["--set", "mu=0.4"]);
    assert_eq!(other.code, 6, "{}\n{}", other.stdout, other.stderr);
    assert!(other.stderr.contains("another program is part of the board's grid"), "{}", other.stderr);
}

/// Words that differ from the array's are exit code 3, and neither a model nor a checkpoint.
#[test]
fn what_a_wrong_board_trains_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let mut rtl = shell::board(&machine(), &facts()).unwrap();
    let right = "product <= held_a * ";
    assert!(rtl.verilog.contains(right));
    rtl.verilog = rtl.verilog.replace(right, "product <= 1 + held_a * ");
    let library = Library::build(&rtl, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let bench = Bench::of(Line::Good, Some(library));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (model, checkpoint) = (path("m.json"), path("c.json"));
    let ran = on_board(&bench, &config, &["--save", &model, "--checkpoint", &checkpoint]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("m.json is not written"), "{}", ran.stderr);
    assert!(!Path::new(&model).exists(), "a model that differs");
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(&checkpoint).unwrap()).unwrap();
    assert_eq!(kept["lower"], serde_json::Value::Null, "golden's epochs are kept, those of the board are not");
}

/// An SDRAM in which a bit is stuck: nothing is trained on, and the word is named.
#[test]
fn a_board_whose_memory_failed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), GRID);
    let board = toml::from_str(include_str!("../fpga/boards/ulx3s-85f.toml")).unwrap();
    let sdram = controller(&board, 100_000_000, Place::Simulated { stuck: Some(0x321) }, &Toolbox::default());
    let sdram = sdram.unwrap_or_else(|error| panic!("{error}"));
    let store = Store { sdram: Some(&sdram), ..Store::of_rows(sdram.rows(&machine())) };
    let bench = Bench::of(Line::Good, Some(library_of(&shell::Board { store: Some(store), ..facts() })));
    let ran = on_board(&bench, &config, &[]);
    assert_eq!(ran.code, 6, "{}\n{}", ran.stdout, ran.stderr);
    let words = "the board's SDRAM failed its test after power-on: the word at 0x321 was read otherwise than written";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

#[test]
fn what_goes_wrong_with_a_board_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let right = config(folder.path(), GRID);
    let told = |ran: &Ran, words: &str| {
        assert_eq!(ran.code, 6, "{}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(words), "no {words:?} in {}", ran.stderr);
    };
    told(&on_board(&Bench::new(Line::Dead), &right, &[]), "no answer after 6 attempts");
    told(&on_board(&Bench::new(Line::Noisy(3)), &right, &[]), "damaged bytes (is the rate right?)");
    let missing = run(&[&["run", "--port", "/dev/no-such-port"][..], &TRAINING, &["text"]].concat());
    told(&missing, "/dev/no-such-port: cannot open: No such file or directory");
    // A port belongs to one program at a time.
    let bench = Bench::new(Line::Good);
    let first = TTYPort::open(&serialport::new(&bench.name, 1_000_000)).unwrap();
    told(&on_board(&bench, &right, &[]), "cannot open: another program uses it");
    drop(first);
    assert_eq!(on_board(&bench, &right, &[]).code, 0);
    let stored = config(folder.path(), &format!("{GRID}\n\n[board]\nname = \"tangnano20k\"\nstore = \"bram\""));
    told(&on_board(&bench, &stored, &[]), "asks for a sample store, the bitstream on the board has none");
    let wrong = config(folder.path(), "pus = 4\npes_per_pu = 2\nword = 16");
    let ran = on_board(&Bench::new(Line::Good), &wrong, &[]);
    told(&ran, "the board has another grid than");
    told(&ran, "pus = 2 there, 4 here");
}
