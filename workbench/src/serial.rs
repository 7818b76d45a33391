//! Boards behind a serial port.
//!
//! ```text
//! --port /dev/ttyUSB0 ──▶ Port (bytes) ──▶ Link (requests) ──▶ LinkedGrid ──▶ engines, which take turns
//! ```

use crate::config::{Config, StoreOption};
use crate::failure::{Failure, Source};
use crate::progress::Cancel;
use crate::simulated::{SimulatedLine, Spent};
use arch::machine::MachineSpec;
use arch::store::State;
use arch::{Image, Machine, registers, store};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde_json::Value;
use serialport::{ClearBuffer, SerialPort};
use sim::grid::Grid;
use sim::link::{Link, LinkError, LinkedGrid, Patience, Shared, Wire};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A serial port as a line.
pub struct Port {
    line: Box<dyn SerialPort>,
    /// The same port, opened again: writing into it never waits.
    out: File,
    /// How long a port that takes no byte is waited for.
    taking: Duration,
    cancel: Cancel,
    /// Nobody has answered yet. Later it is the training that ends, after its epoch, not the line.
    opening: Arc<AtomicBool>,
}

impl Wire for Port {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        // Not flushed: that would wait until all of it has left, and the line would be silent before the next request.
        let (mut rest, mut taken) = (bytes, Instant::now());
        while !rest.is_empty() {
            let count = match self.out.write(rest) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
                result => result?,
            };
            if count > 0 {
                (rest, taken) = (&rest[count..], Instant::now());
            } else if self.opening.load(Ordering::Relaxed) && self.cancel.is_asked() {
                return Err(io::Error::other("interrupted"));
            } else if taken.elapsed() > self.taking {
                let message = format!("the port has taken no byte for {} s", self.taking.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, message));
            } else {
                wait_for_room(&self.out)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], patience: Duration) -> io::Result<usize> {
        if self.opening.load(Ordering::Relaxed) && self.cancel.is_asked() {
            return Err(io::Error::other("interrupted"));
        }
        // A timeout of 0 would mean for ever on some systems.
        self.line.set_timeout(patience.max(Duration::from_millis(1)))?;
        match self.line.read(buffer) {
            Ok(0) => Err(io::Error::from(ErrorKind::BrokenPipe)),
            Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Interrupted) => Ok(0),
            result => result,
        }
    }
}

impl Port {
    fn open(address: &Address, cancel: &Cancel, opening: Arc<AtomicBool>) -> Result<Port, String> {
        let port = || {
            // First, since the other one locks the port. A write of the crate's own blocks for as long as a device takes nothing.
            let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
            let out = OpenOptions::new().write(true).custom_flags(flags.bits().cast_signed()).open(&address.port)?;
            let line = serialport::new(address.port.to_string_lossy(), address.baud).open()?;
            line.clear(ClearBuffer::All)?;
            Ok(Port { line, out, taking: TAKING, cancel: cancel.clone(), opening })
        };
        port().map_err(|error: io::Error| {
            // What another program has locked.
            let taken = error.raw_os_error() == Some(Errno::BUSY.raw_os_error())
                || error.kind() == ErrorKind::NotFound && address.port.exists();
            let why = if taken { "another program uses it".to_owned() } else { format!("{error}{}", known_ports()) };
            format!("cannot open: {why}")
        })
    }
}

/// Until a port takes bytes again, or a moment has passed.
fn wait_for_room(port: &File) -> io::Result<()> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    match rustix::event::poll(&mut [PollFd::new(port, PollFlags::OUT)], Some(&moment)) {
        Err(error) if error != Errno::INTR => Err(error.into()),
        _ => Ok(()),
    }
}

/// Any line to a board.
pub type AnyWire = Box<dyn Wire + Send>;

/// A grid that is there.
pub struct AttachedBoard {
    name: String,
    machine: Machine,
    /// Which image is part of it; 0: none.
    image: u32,
    /// Rows of its sample store; 0: there is none.
    store_rows: u32,
    grid: Shared<LinkedGrid<AnyWire>>,
    /// What keeps its line from being quick.
    slow: Option<String>,
    /// What a simulated line has spent.
    spent: Option<Arc<Mutex<Spent>>>,
}

/// Where a board is.
#[derive(Debug, Clone)]
pub struct Address {
    /// The serial port, such as /dev/ttyUSB0.
    pub port: PathBuf,
    /// Bits per second.
    pub baud: u32,
    /// How long a grid that makes no progress is waited for.
    pub patience: Duration,
}

/// The port of a board that is simulated.
pub const SIMULATED: &str = "simulated";

/// How long a port may take no byte at all. Its buffer has 4 KiB, which leave in less at any rate from 9,600 bits per second on.
const TAKING: Duration = Duration::from_secs(5);

/// Bits per second where nothing else is known.
pub const BAUD: u32 = 1_000_000;

impl AttachedBoard {
    /// Open the port and ask what is there; give up when `cancel` is asked.
    ///
    /// # Errors
    /// The port cannot be opened, nothing answers, or something else.
    pub fn open(address: &Address, cancel: &Cancel) -> Result<AttachedBoard, Failure> {
        let name = address.port.display().to_string();
        let slow = ask_for_low_latency(&address.port);
        let failed = |message: String| Failure::File(format!("{name}: {message}"));
        let patience = Patience { progress: address.patience, ..Patience::default() };
        let link_failed = |error: LinkError| {
            if cancel.is_asked() { Failure::Interrupted } else { failed(error.to_string()) }
        };
        let opening = Arc::new(AtomicBool::new(true));
        let port = Port::open(address, cancel, Arc::clone(&opening)).map_err(failed)?;
        let board = AttachedBoard::attach(&name, Box::new(port), patience).map_err(link_failed)?;
        board.check_store(patience.progress)?;
        opening.store(false, Ordering::Relaxed);
        Ok(AttachedBoard { slow, ..board })
    }

    /// A simulated one.
    ///
    /// # Errors
    /// It does not answer: a bug of ours.
    pub fn simulated(line: SimulatedLine) -> Result<AttachedBoard, Failure> {
        // The time of the simulator is not the time of the board.
        let patience = Patience { reply: Duration::from_mins(10), attempts: 1, progress: Duration::from_hours(24) };
        let spent = line.spent();
        let board = AttachedBoard::attach(SIMULATED, Box::new(line), patience);
        let board = board.map_err(|error| Failure::File(format!("{SIMULATED}: {error}")))?;
        board.check_store(patience.progress)?;
        Ok(AttachedBoard { spent: Some(spent), ..board })
    }

    /// Wait until the memory of the store has been tested.
    fn check_store(&self, patience: Duration) -> Result<(), Failure> {
        let failed = |message: String| Err(Failure::File(format!("{}: {message}", self.name)));
        if self.store_rows == 0 {
            return Ok(());
        }
        let (mut grid, begun) = (self.grid(), Instant::now());
        loop {
            let state = State::of(grid.control_read(store::STATUS));
            if let Some(lost) = grid.failure() {
                return failed(lost);
            }
            match state {
                Some(State::Ready) => return Ok(()),
                Some(State::Starting) if begun.elapsed() < patience => {}
                Some(State::Starting) => {
                    return failed(format!("the board's SDRAM is still being tested after {} s", patience.as_secs()));
                }
                Some(State::Failed) | None => {
                    let wrong = grid.control_read(store::WRONG);
                    return failed(format!(
                        "the board's SDRAM failed its test after power-on: the word at {wrong:#x} was read otherwise than written; \
                         `store = \"bram\"` in [board] makes a bitstream that does without it"
                    ));
                }
            }
        }
    }

    fn attach(name: &str, wire: AnyWire, patience: Patience) -> Result<AttachedBoard, LinkError> {
        let mut link = Link::open(wire, patience)?;
        let values = link.read(&[registers::IMAGE, store::ROWS])?;
        let (image, store_rows) = (values[0], values[1]);
        let machine = link.machine().clone();
        let grid = Shared::new(LinkedGrid::new(link));
        let name = name.to_owned();
        Ok(AttachedBoard { name, machine, image, store_rows, grid, slow: None, spent: None })
    }

    /// What the line has spent so far, if it is simulated.
    pub fn spent(&self) -> Option<Spent> {
        self.spent.as_ref().map(|spent| *spent.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same for the last time: from now on a simulated line is as fast as it can be.
    pub fn settle(&self) -> Option<Spent> {
        let mut spent = self.spent.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let all = *spent;
        spent.settled = true;
        Some(all)
    }

    /// What keeps its line from being quick, if something does.
    pub fn slow(&self) -> Option<&str> {
        self.slow.as_deref()
    }

    /// The port's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The grid on the board.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Rows of its sample store, each as wide as a beat; 0: there is none.
    pub fn store_rows(&self) -> u32 {
        self.store_rows
    }

    /// Whether its sample store plays the batches of an epoch in an order of its own.
    pub fn permutes(&self) -> bool {
        self.grid().control_read(store::PERMUTES) == 1
    }

    /// Whether its sample store can be filled while it plays.
    pub fn streams(&self) -> bool {
        self.grid().control_read(store::STREAMS) == 1
    }

    /// Whether it can run this image: programs are loaded, or it is the one that is part of the board's grid.
    pub fn runs(&self, image: &Image) -> bool {
        self.image == 0 || self.image == image.identity()
    }

    /// A training on a board whose program is part of it needs that program.
    ///
    /// # Errors
    /// It is another one.
    pub fn check_program(&self, image: &Image) -> Result<(), Failure> {
        if self.runs(image) {
            return Ok(());
        }
        Err(Failure::File(format!(
            "{}: another program is part of the board's grid ({:#x} there, {:#x} here): program, constants, batch and binary points have \
             to be those of the bitstream; it was made with `[build] microcode = \"rom\"`",
            self.name,
            self.image,
            image.identity()
        )))
    }

    /// Why the board is lost, if it is.
    pub fn failure(&self) -> Option<String> {
        self.grid.failure()
    }

    /// For one more engine.
    pub fn grid(&self) -> Shared<LinkedGrid<AnyWire>> {
        self.grid.handle()
    }

    /// What a configuration says about the grid has to be true of the one that is there.
    ///
    /// # Errors
    /// It is another grid.
    pub fn check_config(&self, config: &Config, source: Option<&(PathBuf, Source)>) -> Result<(), Failure> {
        let there = MachineSpec::from(self.machine.clone());
        let differences = differences(&config.spec.of_programs(), &MachineSpec::from(config.machine.clone()), &there);
        let name = || source.map_or("the config".to_owned(), |(path, _)| path.display().to_string());
        let asks = matches!(config.board.store, StoreOption::Bram | StoreOption::Sdram);
        if differences.is_empty() && asks && self.store_rows == 0 {
            return Err(Failure::File(format!(
                "{}: {} asks for a sample store, the bitstream on the board has none; make it anew with this config, or `store = \"auto\"` goes without",
                self.name,
                name()
            )));
        }
        if differences.is_empty() {
            return Ok(());
        }
        let config = name();
        Err(Failure::File(format!(
            "{}: the board has another grid than {config}: {}; load the bitstream of this config, or name the config of the bitstream",
            self.name,
            differences.join(", ")
        )))
    }
}

/// Keys of `given` whose values (`asked`, after rounding) are not those of the board.
fn differences(given: &MachineSpec, asked: &MachineSpec, there: &MachineSpec) -> Vec<String> {
    let values = |spec: &MachineSpec| match serde_json::to_value(spec) {
        Ok(Value::Object(values)) => values,
        _ => serde_json::Map::new(),
    };
    let (asked, there) = (values(asked), values(there));
    let differs = |(key, given): (String, Value)| {
        let differs = !given.is_null() && asked.get(&key) != there.get(&key);
        differs.then(|| format!("{key} = {} there, {} here", there[&key], asked[&key]))
    };
    values(given).into_iter().filter_map(differs).collect()
}

/// An FTDI bridge keeps an answer back for 16 ms unless it is told not to. Where the system refuses, the line works all the same: what is said
/// about it then.
fn ask_for_low_latency(port: &Path) -> Option<String> {
    let port = port.canonicalize().ok()?;
    let timer = Path::new("/sys/class/tty").join(port.file_name()?).join("device/latency_timer");
    shorten(&timer, |timer| fs::write(timer, "1"))
}

fn shorten(timer: &Path, write: impl Fn(&Path) -> io::Result<()>) -> Option<String> {
    let before: u32 = fs::read_to_string(timer).ok()?.trim().parse().ok()?;
    let refused = before > 1 && write(timer).is_err();
    let timer = timer.display();
    refused.then(|| {
        format!("the port keeps each answer back for {before} ms, and this user may not change that; as root: echo 1 > {timer}")
    })
}

fn known_ports() -> String {
    let ports = serialport::available_ports().unwrap_or_default();
    let names: Vec<String> = ports.into_iter().map(|port| port.port_name).collect();
    if names.is_empty() { String::new() } else { format!("; ports of this machine: {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serialport::TTYPort;

    #[test]
    fn a_timer_is_shortened_or_told() {
        let folder = tempfile::tempdir().unwrap();
        let timer = folder.path().join("latency_timer");
        let refuse = |_: &Path| Err(io::Error::from(ErrorKind::PermissionDenied));
        assert_eq!(shorten(&timer, refuse), None, "there is no timer");
        fs::write(&timer, "16\n").unwrap();
        let told = shorten(&timer, refuse).unwrap();
        assert!(told.starts_with("the port keeps each answer back for 16 ms"), "{told}");
        assert_eq!(shorten(&timer, |timer| fs::write(timer, "1")), None);
        assert_eq!(fs::read_to_string(&timer).unwrap(), "1");
        assert_eq!(shorten(&timer, refuse), None, "it is short already");
    }

    #[test]
    fn a_port_that_takes_no_bytes_is_given_up() {
        let (board, host) = TTYPort::pair().unwrap();
        let address = Address { port: host.name().unwrap().into(), baud: BAUD, patience: Duration::from_secs(1) };
        drop(host);
        let mut port = Port::open(&address, &Cancel::default(), Arc::default()).unwrap();
        port.taking = Duration::from_secs(1);
        port.send(&[1; 1000]).unwrap();
        let begun = Instant::now();
        let error = port.send(&vec![1; 1 << 20]).unwrap_err();
        assert_eq!(error.to_string(), "the port has taken no byte for 1 s");
        assert!(begun.elapsed() < Duration::from_secs(30));
        drop(board);
    }

    #[test]
    fn only_what_is_said_has_to_agree() {
        let spec = MachineSpec { pus: Some(2), model_depth: Some(100), ..MachineSpec::default() };
        let asked = MachineSpec::from(Machine::try_from(spec.clone()).unwrap());
        let there = MachineSpec { word: Some(24), ..asked.clone() };
        assert!(differences(&spec, &asked, &there).is_empty());
        let there = MachineSpec { model_depth: Some(64), ..asked.clone() };
        assert_eq!(differences(&spec, &asked, &there), ["model_depth = 64 there, 128 here"]);
    }
}
