//! Loads libraries and clocks instances. The only unsafe code of the project.
//!
//!              ┌───────────────┐     ┌───────────────┐
//!     clock ───┘ inputs stable └─────┘ inputs stable └──
//!            ▲ set   ▲ settle        ▲ tick: rising edge, then low again
//!
//! What unsafe code relies on, and who sees to it: a library comes from our own cache, whole ([`super::cache`]); its functions
//! have the types declared here ([`super::shim`]); each port has the size its width demands (a static assertion in the shim).

#![allow(unsafe_code, reason = "the functions of a library that is built at run time have to be called somewhere")]

use super::{Options, VerilatorError, build, shim};
use arch::rtl::{Direction, Port, Rtl};
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// A port of one design: its place in the port table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(u32);

/// A compiled design, loaded. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Library {
    loaded: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    new: unsafe extern "C" fn() -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
    eval: unsafe extern "C" fn(*mut c_void),
    port: unsafe extern "C" fn(*mut c_void, u32) -> *mut c_void,
    trace: Option<TraceFunctions>,
    ports: Vec<Port>,
    /// Keeps the functions above in memory.
    _library: libloading::Library,
}

#[derive(Debug, Clone, Copy)]
struct TraceFunctions {
    open: unsafe extern "C" fn(*mut c_void, *const c_char) -> bool,
    dump: unsafe extern "C" fn(*mut c_void, u64),
    close: unsafe extern "C" fn(*mut c_void),
}

impl Library {
    /// Compile a design, or take it from the cache, and load it.
    ///
    /// # Panics
    /// If the first port is not the clock.
    pub fn build(rtl: &Rtl, options: &Options) -> Result<Library, VerilatorError> {
        let clock = &rtl.ports[0];
        assert!(clock.width == 1 && clock.direction == Direction::Input, "the first port is the clock");
        let path = build::library(rtl, options)?;
        let loaded =
            load(&path, rtl, options.trace).map_err(|source| VerilatorError::Load { path: path.clone(), source })?;
        Ok(Library { loaded: Arc::new(loaded) })
    }

    /// The port of this name.
    pub fn port(&self, name: &str) -> Option<PortId> {
        self.loaded.ports.iter().position(|port| port.name == name).map(|index| PortId(index as u32))
    }

    /// A new instance, clock low, all inputs 0.
    pub fn device(&self) -> Device {
        // SAFETY: `new` is the shim's constructor; it takes nothing and returns an instance that we own.
        let instance =
            NonNull::new(unsafe { (self.loaded.new)() }).expect("operator new throws rather than return null");
        let storage = (0..)
            .zip(&self.loaded.ports)
            .map(|(index, port)| {
                // SAFETY: `instance` is alive and `index` is in the port table that the shim was made from.
                let address = unsafe { (self.loaded.port)(instance.as_ptr(), index) };
                let input = port.direction == Direction::Input;
                Storage { address: NonNull::new(address).expect("the shim knows the port"), width: port.width, input }
            })
            .collect();
        let mut device = Device { instance, storage, loaded: Arc::clone(&self.loaded), cycles: 0, tracing: false };
        device.settle();
        device
    }
}

fn load(path: &Path, rtl: &Rtl, trace: bool) -> Result<Loaded, libloading::Error> {
    // SAFETY: the file is whole and was made by us; its initialisers are those of Verilator's runtime, which are harmless.
    let library = unsafe { libloading::Library::new(path)? };
    // SAFETY: the shim defines these functions with these types, and `Loaded` keeps the library in memory as long as them.
    unsafe {
        let trace = if trace {
            Some(TraceFunctions {
                open: *library.get(c"shim_trace_open")?,
                dump: *library.get(c"shim_trace_dump")?,
                close: *library.get(c"shim_trace_close")?,
            })
        } else {
            None
        };
        Ok(Loaded {
            new: *library.get(c"shim_new")?,
            delete: *library.get(c"shim_delete")?,
            eval: *library.get(c"shim_eval")?,
            port: *library.get(c"shim_port")?,
            trace,
            ports: rtl.ports.clone(),
            _library: library,
        })
    }
}

/// Where the value of a port lives, for as long as its device.
#[derive(Debug, Clone, Copy)]
struct Storage {
    address: NonNull<c_void>,
    width: u32,
    input: bool,
}

impl Storage {
    /// The value of a port of up to 64 bits.
    fn load(self) -> u64 {
        // SAFETY: the device that owns this storage is alive, and the address holds an integer of this size (see `shim`).
        unsafe {
            match shim::bytes(self.width) {
                1 => self.address.cast::<u8>().read().into(),
                2 => self.address.cast::<u16>().read().into(),
                4 => self.address.cast::<u32>().read().into(),
                _ => self.address.cast::<u64>().read(),
            }
        }
    }

    /// Change the value of a port of up to 64 bits.
    fn store(self, value: u64) {
        // SAFETY: as in `load`; `&mut Device` above us says that nobody else uses the device.
        unsafe {
            match shim::bytes(self.width) {
                1 => self.address.cast::<u8>().write(value as u8),
                2 => self.address.cast::<u16>().write(value as u16),
                4 => self.address.cast::<u32>().write(value as u32),
                _ => self.address.cast::<u64>().write(value),
            }
        }
    }

    /// Address of word `index` of a port of more than 64 bits.
    fn word(self, index: u32) -> NonNull<u32> {
        assert!(self.width > 64 && index < self.width.div_ceil(32), "word {index} of a port of {} bits", self.width);
        // SAFETY: such a port is an array of `ceil(width / 32)` words (see `shim`), and the index was just checked.
        unsafe { self.address.cast::<u32>().add(index as usize) }
    }
}

/// One instance of a design under a clock. It stays on the thread that made it.
#[derive(Debug)]
pub struct Device {
    instance: NonNull<c_void>,
    storage: Vec<Storage>,
    loaded: Arc<Loaded>,
    cycles: u64,
    tracing: bool,
}

impl Device {
    /// Set an input of up to 64 bits; higher bits of `value` are dropped.
    ///
    /// # Panics
    /// If the port is an output, the clock, or wider.
    pub fn set(&mut self, port: PortId, value: u64) {
        let storage = self.input(port);
        assert!(storage.width <= 64, "use set_words for a port of {} bits", storage.width);
        storage.store(value & (u64::MAX >> (64 - storage.width)));
    }

    /// The value of a port of up to 64 bits, as of the last [`settle`](Device::settle) or [`tick`](Device::tick).
    ///
    /// # Panics
    /// If the port is wider.
    pub fn get(&self, port: PortId) -> u64 {
        let storage = self.storage[port.0 as usize];
        assert!(storage.width <= 64, "use get_words for a port of {} bits", storage.width);
        storage.load()
    }

    /// Set an input of any width from words of 32 bits, lowest first; missing words are 0, higher bits are dropped.
    ///
    /// # Panics
    /// If the port is an output or the clock.
    pub fn set_words(&mut self, port: PortId, words: &[u32]) {
        let storage = self.input(port);
        let word = |index: u32| words.get(index as usize).copied().unwrap_or(0);
        if storage.width <= 64 {
            return self.set(port, u64::from(word(0)) | u64::from(word(1)) << 32);
        }
        let last = (storage.width - 1) / 32;
        for index in 0..=last {
            let bits = if index == last { storage.width - last * 32 } else { 32 };
            // SAFETY: `Storage::word` checked the address; `&mut self` says that nobody else uses the device.
            unsafe { storage.word(index).write(word(index) & (u32::MAX >> (32 - bits))) };
        }
    }

    /// The value of a port of any width in words of 32 bits, lowest first; words beyond the port are 0.
    pub fn get_words(&self, port: PortId, words: &mut [u32]) {
        let storage = self.storage[port.0 as usize];
        for (index, word) in (0..).zip(words) {
            *word = match index {
                _ if index * 32 >= storage.width => 0,
                0 | 1 if storage.width <= 64 => (storage.load() >> (index * 32)) as u32,
                // SAFETY: `Storage::word` checked the address, and the device is alive.
                _ => unsafe { storage.word(index).read() },
            };
        }
    }

    /// Let the inputs take effect on outputs that depend on them without a register. The clock is low.
    pub fn settle(&mut self) {
        self.eval();
        self.dump(0);
    }

    /// One rising edge of the clock. The inputs must have been [settled](Device::settle).
    pub fn tick(&mut self) {
        self.storage[0].store(1);
        self.eval();
        self.dump(1);
        // The falling edge is evaluated together with the next inputs: nothing in our designs is clocked by it.
        self.storage[0].store(0);
        self.cycles += 1;
    }

    /// Settle and tick.
    pub fn step(&mut self) {
        self.settle();
        self.tick();
    }

    /// Rising edges so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Write waveforms to this file from now on (VCD, ten time units per cycle). False if the file cannot be written, or the
    /// library was built without [`Options::trace`].
    pub fn trace(&mut self, path: &Path) -> bool {
        let path = path.as_os_str().to_str().and_then(|path| CString::new(path).ok());
        let (Some(trace), Some(path), false) = (self.loaded.trace, path, self.tracing) else {
            return false;
        };
        // SAFETY: the instance is alive and `path` is a C string that outlives the call.
        self.tracing = unsafe { (trace.open)(self.instance.as_ptr(), path.as_ptr()) };
        self.tracing
    }

    /// Finish the waveform file.
    pub fn end_trace(&mut self) {
        if let (Some(trace), true) = (self.loaded.trace, self.tracing) {
            // SAFETY: the instance is alive.
            unsafe { (trace.close)(self.instance.as_ptr()) };
            self.tracing = false;
        }
    }

    fn input(&self, port: PortId) -> Storage {
        let storage = self.storage[port.0 as usize];
        assert!(
            storage.input && port.0 != 0,
            "port {} is not an input to set",
            self.loaded.ports[port.0 as usize].name
        );
        storage
    }

    fn eval(&mut self) {
        // SAFETY: the instance is alive, and `&mut self` says that nobody else uses it.
        unsafe { (self.loaded.eval)(self.instance.as_ptr()) };
    }

    fn dump(&mut self, half: u64) {
        if let (Some(trace), true) = (self.loaded.trace, self.tracing) {
            // SAFETY: the instance is alive and its waveform file is open.
            unsafe { (trace.dump)(self.instance.as_ptr(), self.cycles * 10 + half * 5) };
        }
    }
}

// SAFETY: an instance has no thread of its own and keeps nothing per thread (it is verilated for one thread); the device owns it alone, and whoever
// holds the device may use it.
unsafe impl Send for Device {}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the instance is alive and ours; after this nobody can use it.
        unsafe { (self.loaded.delete)(self.instance.as_ptr()) };
    }
}
