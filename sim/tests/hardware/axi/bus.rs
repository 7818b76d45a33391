//! A bus-functional model: a master of AXI4-Lite, a source and a sink of AXI4-Stream, all with random stalls, at the ports of
//! [`hdl::shell::axi`]. Every cycle the rules of the protocol are checked.

use arch::Machine;
use arch::axi::{self, Geometry, WINDOW};
use arch::registers::{BUSY, CONTROL, DONE, SATURATED, START};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sim::grid::{CycleResult, Grid};
use sim::verilator::{Device, Library};
use std::collections::VecDeque;

/// Response of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    Okay,
    SlaveError,
}

/// A transfer of the input stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub words: Vec<i64>,
    pub keep: u64,
    pub last: bool,
}

/// What a channel of the device showed: while it is valid and not ready, it must stay.
#[derive(Default)]
struct Held(Option<Vec<u64>>);

impl Held {
    fn check(&mut self, name: &str, valid: bool, ready: bool, payload: Vec<u64>) {
        if let Some(held) = &self.0 {
            assert!(valid, "{name} withdrew what it offered");
            assert_eq!(*held, payload, "{name} changed what it offered");
        }
        self.0 = (valid && !ready).then_some(payload);
    }
}

/// The design and the masters at its ports.
pub(crate) struct Bus {
    device: Device,
    library: Library,
    pub geometry: Geometry,
    word: u32,
    random: ChaCha8Rng,
    /// Stalls, in percent, of every valid and ready.
    pub stalls: u32,
    aw: VecDeque<u32>,
    w: VecDeque<(u32, u32)>,
    ar: VecDeque<u32>,
    /// Which of the channels offer, once they do, until they are taken.
    offering: [bool; 4],
    /// Which memory ports have their part of the transfer that comes next.
    parts: Vec<bool>,
    pub responses: VecDeque<Response>,
    pub reads: VecDeque<(Response, u32)>,
    pub input: VecDeque<Transfer>,
    /// Beats of the output, and whether a packet ends with them.
    pub output: VecDeque<(Vec<i64>, bool)>,
    outstanding: [usize; 3],
    held: [Held; 3],
    pub output_ready: bool,
}

impl Bus {
    pub(crate) fn new(machine: &Machine, library: &Library, seed: u64, stalls: u32) -> Bus {
        let mut bus = Bus {
            device: library.device(),
            library: library.clone(),
            geometry: Geometry::of(machine),
            word: machine.word(),
            random: ChaCha8Rng::seed_from_u64(seed),
            stalls,
            aw: VecDeque::new(),
            w: VecDeque::new(),
            ar: VecDeque::new(),
            offering: [false; 4],
            parts: vec![false; Geometry::of(machine).ports() as usize],
            responses: VecDeque::new(),
            reads: VecDeque::new(),
            input: VecDeque::new(),
            output: VecDeque::new(),
            outstanding: [0; 3],
            held: Default::default(),
            output_ready: true,
        };
        bus.reset();
        bus
    }

    fn set(&mut self, name: &str, value: u64) {
        self.device.set(self.library.port(name).unwrap(), value);
    }

    fn get(&self, name: &str) -> u64 {
        self.device.get(self.library.port(name).unwrap())
    }

    fn get_wide(&self, name: &str, bits: u32) -> Vec<u64> {
        let mut words = vec![0; bits.div_ceil(32) as usize];
        self.device.get_words(self.library.port(name).unwrap(), &mut words);
        words.into_iter().map(u64::from).collect()
    }

    /// Reset, whatever is going on; the masters forget what they were doing.
    pub(crate) fn reset(&mut self) {
        for queue in [&mut self.aw, &mut self.ar] {
            queue.clear();
        }
        self.w.clear();
        self.input.clear();
        self.responses.clear();
        self.reads.clear();
        (self.offering, self.outstanding, self.held) = ([false; 4], [0; 3], Default::default());
        self.parts.fill(false);
        for name in ["s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axis_tvalid", "s_axi_aresetn"] {
            self.set(name, 0);
        }
        for _ in 0..3 {
            self.device.step();
            self.device.settle();
            for name in ["s_axi_bvalid", "s_axi_rvalid", "m_axis_tvalid", "run_done"] {
                assert_eq!(self.get(name), 0, "{name} in reset");
            }
        }
        self.set("s_axi_aresetn", 1);
    }

    fn chance(&mut self) -> bool {
        self.random.next_u32() % 100 >= self.stalls
    }

    /// Ask for a write; the address and the data go their own ways.
    pub(crate) fn begin_write(&mut self, address: u32, data: u32, strobes: u32) {
        self.aw.push_back(address);
        self.w.push_back((data, strobes));
    }

    /// Ask for a read.
    pub(crate) fn begin_read(&mut self, address: u32) {
        self.ar.push_back(address);
    }

    pub(crate) fn write(&mut self, address: u32, data: u32) -> Response {
        self.begin_write(address, data, 15);
        self.wait(|bus| bus.responses.pop_front())
    }

    pub(crate) fn read(&mut self, address: u32) -> (Response, u32) {
        self.begin_read(address);
        self.wait(|bus| bus.reads.pop_front())
    }

    /// Cycles until there is an answer.
    pub(crate) fn wait<T>(&mut self, mut answer: impl FnMut(&mut Bus) -> Option<T>) -> T {
        for _ in 0..10_000 {
            self.cycle();
            if let Some(answer) = answer(self) {
                return answer;
            }
        }
        panic!("no answer in 10000 cycles");
    }

    pub(crate) fn interrupt(&self) -> bool {
        self.get("run_done") == 1
    }

    /// One cycle of everything.
    pub(crate) fn cycle(&mut self) {
        let wanted = [!self.aw.is_empty(), !self.w.is_empty(), !self.ar.is_empty(), !self.input.is_empty()];
        for (channel, wanted) in wanted.into_iter().enumerate() {
            // What is offered stays offered.
            self.offering[channel] = wanted && (self.offering[channel] || channel != 3 && self.chance());
        }
        // A transfer of the input is there when every port has its part.
        if wanted[3] && !self.offering[3] {
            for port in 0..self.parts.len() {
                self.parts[port] = self.parts[port] || self.chance();
            }
            self.offering[3] = self.parts.iter().all(|&there| there);
        }
        self.set("s_axi_awvalid", self.offering[0].into());
        self.set("s_axi_awaddr", self.aw.front().copied().unwrap_or(0).into());
        self.set("s_axi_wvalid", self.offering[1].into());
        let (data, strobes) = self.w.front().copied().unwrap_or((0, 0));
        self.set("s_axi_wdata", data.into());
        self.set("s_axi_wstrb", strobes.into());
        self.set("s_axi_arvalid", self.offering[2].into());
        self.set("s_axi_araddr", self.ar.front().copied().unwrap_or(0).into());
        self.set("s_axis_tvalid", self.offering[3].into());
        if let Some(Transfer { words, keep, last }) = self.input.front().cloned() {
            let lane = self.geometry.lane as usize;
            let mut bits = vec![0u32; (self.geometry.bits() as usize).div_ceil(32)];
            for (n, word) in words.iter().enumerate() {
                let mask = u32::MAX >> (32 - lane);
                bits[n * lane / 32] |= (*word as u32 & mask) << (n * lane % 32);
            }
            self.device.set_words(self.library.port("s_axis_tdata").unwrap(), &bits);
            self.set("s_axis_tkeep", keep);
            self.set("s_axis_tlast", last.into());
        }
        let ready = [self.chance(), self.chance(), self.output_ready && self.chance()];
        for (name, ready) in ["s_axi_bready", "s_axi_rready", "m_axis_tready"].into_iter().zip(ready) {
            self.set(name, ready.into());
        }
        self.device.settle();
        self.take();
        self.sample(ready);
        self.device.tick();
    }

    /// What the device takes in this cycle.
    fn take(&mut self) {
        let taken = |bus: &Bus, channel: usize, name: &str| bus.offering[channel] && bus.get(name) == 1;
        let accepted = ["s_axi_awready", "s_axi_wready", "s_axi_arready"];
        for (channel, name) in accepted.into_iter().enumerate() {
            if taken(self, channel, name) {
                self.offering[channel] = false;
                match channel {
                    0 => self.aw.pop_front().is_some(),
                    1 => self.w.pop_front().is_some(),
                    _ => self.ar.pop_front().is_some(),
                };
                self.outstanding[channel] += 1;
            }
        }
        if taken(self, 3, "s_axis_tready") {
            self.offering[3] = false;
            self.parts.fill(false);
            self.input.pop_front();
        }
    }

    /// What it gives.
    fn sample(&mut self, ready: [bool; 3]) {
        let response = |value| match value {
            0 => Response::Okay,
            2 => Response::SlaveError,
            other => panic!("response {other}"),
        };
        let valid = ["s_axi_bvalid", "s_axi_rvalid", "m_axis_tvalid"].map(|name| self.get(name) == 1);
        let payload = [
            vec![self.get("s_axi_bresp")],
            vec![self.get("s_axi_rresp"), self.get("s_axi_rdata")],
            [
                vec![self.get("m_axis_tlast")],
                self.get_wide("m_axis_tkeep", self.geometry.output_bits() / 8),
                self.get_wide("m_axis_tdata", self.geometry.output_bits()),
            ]
            .concat(),
        ];
        for (channel, name) in ["b", "r", "m_axis"].into_iter().enumerate() {
            self.held[channel].check(name, valid[channel], ready[channel], payload[channel].clone());
        }
        if valid[0] && ready[0] {
            assert!(self.outstanding[0] > 0 && self.outstanding[1] > 0, "a response before address and data");
            self.outstanding[0] -= 1;
            self.outstanding[1] -= 1;
            self.responses.push_back(response(payload[0][0]));
        }
        if valid[1] && ready[1] {
            assert!(self.outstanding[2] > 0, "data before an address");
            self.outstanding[2] -= 1;
            self.reads.push_back((response(payload[1][0]), payload[1][1] as u32));
        }
        if valid[2] && ready[2] {
            let lane = self.geometry.lane;
            let bytes = self.geometry.output_bits() / 8;
            let (keep, data) = payload[2][1..].split_at(bytes.div_ceil(32) as usize);
            let kept: u32 = keep.iter().map(|bits| bits.count_ones()).sum();
            assert_eq!(kept, bytes, "every byte of a beat is kept");
            let word = |n: u32| {
                let bits = data[(n * lane / 32) as usize] >> (n * lane % 32);
                let word = (bits << (64 - lane)) as i64 >> (64 - lane);
                assert_eq!(word, arch::number::wrap(word.into(), self.word) as i64, "the word is sign-extended");
                word
            };
            let words = (0..self.geometry.outputs).map(word).collect();
            self.output.push_back((words, payload[2][0] == 1));
        }
    }
}

fn offset(name: &str) -> u32 {
    axi::REGISTERS.iter().find(|register| register.name == name).unwrap().offset
}

/// The shell behind the interface of all grids: runs are started and watched through the registers at its front.
pub(crate) struct AxiGrid {
    pub bus: Bus,
    done: bool,
    /// Runs that ended.
    pub runs: u32,
}

impl AxiGrid {
    pub(crate) fn new(mut bus: Bus) -> AxiGrid {
        for name in ["gie", "ier"] {
            assert_eq!(bus.write(offset(name), 1), Response::Okay);
        }
        AxiGrid { bus, done: false, runs: 0 }
    }

    pub(crate) fn register(&mut self, name: &str) -> u32 {
        let (response, value) = self.bus.read(offset(name));
        assert_eq!(response, Response::Okay);
        value
    }

    fn status(&mut self) -> u32 {
        let interrupt = self.bus.interrupt();
        let ctrl = self.register("ctrl");
        let idle = ctrl & axi::CTRL_IDLE != 0;
        assert_eq!(ctrl & axi::CTRL_START == 0, idle, "start stays set while it runs");
        if ctrl & axi::CTRL_DONE != 0 {
            assert!(idle && self.bus.interrupt(), "a run that is done says so");
            assert_eq!(self.register("ctrl") & axi::CTRL_DONE, 0, "done is cleared by reading");
            self.bus.write(offset("isr"), 1);
            assert!(!self.bus.interrupt(), "cleared by writing 1");
            (self.done, self.runs) = (true, self.runs + 1);
        } else {
            assert!(!interrupt, "an interrupt before the end");
        }
        let saturated = self.register("status") & 1 != 0;
        (if idle { 0 } else { BUSY }) | (if self.done { DONE } else { 0 }) | (if saturated { SATURATED } else { 0 })
    }
}

impl Grid for AxiGrid {
    fn control_write(&mut self, address: u32, data: u32) {
        if address == CONTROL && data & START != 0 {
            self.done = false;
            self.bus.write(offset("run_flags"), data >> 1);
            assert_eq!(self.bus.write(offset("ctrl"), axi::CTRL_START), Response::Okay);
        } else {
            assert_eq!(self.bus.write(WINDOW + 4 * address, data), Response::Okay, "{address:#x}");
        }
    }

    fn control_read(&mut self, address: u32) -> u32 {
        if address == CONTROL { self.status() } else { self.bus.read(WINDOW + 4 * address).1 }
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let mut input_taken = false;
        if let Some(beat) = input
            && self.bus.input.is_empty()
        {
            let keep = u64::MAX >> (64 - self.bus.geometry.bits() / 8);
            let words = self.bus.geometry.words as usize;
            let transfer = |words: &[i64]| Transfer { words: words.to_vec(), keep, last: false };
            self.bus.input.extend(beat.chunks(words).map(transfer));
            input_taken = true;
        }
        self.bus.output_ready = output_ready;
        self.bus.cycle();
        let output = if output_ready { self.bus.output.pop_front().map(|(words, _)| words) } else { None };
        CycleResult { input_taken, output: output.unwrap_or_default() }
    }
}
