//! A grid in rust-hdl's own simulator.
//!
//! Slow (it runs every block's Rust code until nothing changes), but it needs no other tool, and it checks that the two
//! descriptions of the leaf blocks, Rust and Verilog, say the same: tests run it beside the other simulators.

use crate::grid::Grid;
use crate::{Design, Leaves};
use rust_hdl_core::prelude::*;

/// What the ports of a grid are given for one cycle.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Synchronous reset.
    pub reset: bool,
    /// Address and data of a control write.
    pub control_write: Option<(u32, u32)>,
    /// Address of a control read, where nothing is written.
    pub control_address: u32,
    /// One word per lane.
    pub in_data: Option<Vec<i64>>,
    /// The output is accepted.
    pub out_ready: bool,
}

/// What the ports of a grid show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outputs {
    /// The register at the address of [`arch::timing::CONTROL_READ`] cycles before.
    pub control_read: u32,
    /// The input is taken.
    pub in_ready: bool,
    /// The words at the output, one per lane; empty if there are none.
    pub out: Vec<i64>,
}

/// A grid in rust-hdl's simulator.
pub struct Model {
    grid: Grid,
    word: u32,
}

impl Model {
    /// A grid before its reset.
    pub fn new<'a>(design: impl Into<Design<'a>>) -> Model {
        let design = design.into();
        let mut grid = Grid::new(design, Leaves::GENERIC);
        grid.connect_all();
        Model { grid, word: design.machine().word() }
    }

    fn settle(&mut self) {
        loop {
            self.grid.update_all();
            if !self.grid.has_changed() {
                return;
            }
        }
    }

    /// One clock cycle: what the ports show in it.
    pub fn cycle(&mut self, inputs: &Inputs) -> Outputs {
        let grid = &mut self.grid;
        grid.clock.next.clk = false;
        grid.reset.next = inputs.reset;
        grid.control_write.next = inputs.control_write.is_some();
        let (address, data) = inputs.control_write.unwrap_or((inputs.control_address, 0));
        grid.control_address.next = address.into();
        grid.control_data.next = data.into();
        grid.in_valid.next = inputs.in_data.is_some();
        for (lane, &word) in grid.in_data.iter_mut().zip(inputs.in_data.iter().flatten()) {
            lane.next = word.into();
        }
        grid.out_ready.next = inputs.out_ready;
        self.settle();
        let outputs = self.outputs();
        self.grid.clock.next.clk = true;
        self.settle();
        outputs
    }

    /// What the ports show now: after a cycle, what its clock edge left.
    pub fn outputs(&self) -> Outputs {
        let lanes = std::iter::once(&self.grid.out_data).chain(&self.grid.out_further);
        let words = lanes.map(|lane| arch::number::wrap(lane.val(), self.word) as i64);
        Outputs {
            control_read: self.grid.control_read.val() as u32,
            in_ready: self.grid.in_ready.val(),
            out: if self.grid.out_valid.val() { words.collect() } else { Vec::new() },
        }
    }
}
