//! The array against a grid that is linked in statically and uses the runtime that the crate `verilated` compiles.
//!
//! Only with the feature `verilated`, which needs Verilator at build time: `scripts/verilated`. Everything else loads its simulators at
//! run time ([`sim::verilator`]).

#![cfg(feature = "verilated")]
#![allow(unsafe_code, reason = "a library in C++ can only be called so; this is a test")]

use arch::machine::MachineSpec;
use arch::rtl::Rtl;
use arch::timing;
use compiler::canonical::{Batch, Keep, Options};
use compiler::language::{self, Language};
use sim::array::Array;
use sim::grid::{CycleResult, Grid, Lockstep, Stalls};
use sim::ladder::{Climb, NamedValues};
use std::ffi::c_void;
use verilated::RandomMode;

unsafe extern "C" {
    fn grid_new() -> *mut c_void;
    fn grid_delete(grid: *mut c_void);
    fn grid_eval(grid: *mut c_void);
    fn grid_set(grid: *mut c_void, port: u32, value: u32);
    fn grid_get(grid: *mut c_void, port: u32) -> u32;
}

/// The machine whose Verilog `scripts/verilated` writes.
fn spec() -> MachineSpec {
    MachineSpec {
        pus: Some(2),
        pes_per_pu: Some(3),
        word: Some(16),
        stream_words: Some(2),
        model_depth: Some(64),
        data_depth: Some(64),
        temporary_depth: Some(64),
        program_depth: Some(32),
        table_entries: Some(512),
        scalar: Some(false),
        ..MachineSpec::default()
    }
}

struct Static {
    grid: *mut c_void,
}

impl Static {
    fn new() -> Static {
        // SAFETY: the shim returns an instance that we own.
        let mut new = Static { grid: unsafe { grid_new() } };
        new.set("reset", 1);
        new.step();
        new.step();
        new.set("reset", 0);
        new
    }

    fn port(name: &str) -> u32 {
        Rtl::grid_ports(32, 16).iter().position(|port| port.name == name).expect("a port of a grid") as u32
    }

    fn set(&mut self, port: &str, value: u32) {
        // SAFETY: the instance is alive; the shim ignores ports that it does not know.
        unsafe { grid_set(self.grid, Static::port(port), value) }
    }

    fn get(&self, port: &str) -> u32 {
        // SAFETY: as in `set`.
        unsafe { grid_get(self.grid, Static::port(port)) }
    }

    fn eval(&mut self) {
        // SAFETY: the instance is alive.
        unsafe { grid_eval(self.grid) }
    }

    fn step(&mut self) {
        self.eval();
        self.tick();
    }

    fn tick(&mut self) {
        self.set("clock", 1);
        self.eval();
        self.set("clock", 0);
    }

    fn idle(&mut self) {
        for port in ["control_write", "in_valid", "out_ready"] {
            self.set(port, 0);
        }
    }
}

impl Drop for Static {
    fn drop(&mut self) {
        // SAFETY: the instance is alive and ours.
        unsafe { grid_delete(self.grid) }
    }
}

impl Grid for Static {
    fn control_write(&mut self, address: u32, data: u32) {
        self.idle();
        self.set("control_write", 1);
        self.set("control_address", address);
        self.set("control_data", data);
        self.step();
        self.set("control_write", 0);
    }

    fn control_read(&mut self, address: u32) -> u32 {
        self.idle();
        self.set("control_address", address);
        (0..timing::CONTROL_READ).for_each(|_| self.step());
        self.get("control_read")
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        self.set("in_valid", input.is_some().into());
        self.set("out_ready", output_ready.into());
        if let Some(words) = input {
            self.set("in_data", words.iter().rev().fold(0, |data, &word| data << 16 | u32::from(word as u16)));
        }
        self.eval();
        let input_taken = input.is_some() && self.get("in_ready") == 1;
        let output = (output_ready && self.get("out_valid") == 1).then(|| i64::from(self.get("out_data") as i16));
        self.tick();
        CycleResult { input_taken, output: output.into_iter().collect() }
    }
}

#[test]
fn a_static_grid_agrees_with_the_array() {
    verilated::set_rand_reset(RandomMode::AllZeros);
    let version = verilated::product_version().to_str().unwrap();
    assert!(version.starts_with("5."), "the runtime is that of Verilator {version}");
    let text = "mu = 0.5;\nmodel_input x[7];\nmodel_output y;\nmodel w[7];\ngradient g[7] -> w;\niterator i[0:7];\n\
                h = sigmoid(sum[i](w[i] * x[i]));\nd = h - y;\ng[i] = d * x[i];\n";
    let (program, _) = language::parse(Language::Tabla, text, &language::Options::default()).unwrap();
    let values = |from: usize| (0..7).map(|k| ((from + 5 * k) % 9) as f64 / 4.0 - 1.0).collect::<Vec<f64>>();
    let model = NamedValues::from([("w".to_owned(), values(2))]);
    let step = |n: usize| NamedValues::from([("x".to_owned(), values(n)), ("y".to_owned(), vec![(n % 2) as f64])]);
    let steps: Vec<NamedValues> = (0..5).map(step).collect();
    let options = Options { keep: Keep::AllNames, batch: Batch::SINGLE };
    let climb = Climb::new(&program, &options, &model, &steps, &spec()).unwrap();
    for stalls in [Stalls::none(), Stalls::seeded(3, 40, 40)] {
        let mut pair = Lockstep::new(Array::new(&climb.image().machine), Static::new());
        let agreement = climb.run(&mut pair, stalls);
        assert!(pair.mismatch().is_none(), "{}", pair.mismatch().unwrap());
        assert!(agreement.unwrap().words > 40);
    }
}
