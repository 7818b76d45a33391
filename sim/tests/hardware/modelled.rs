//! The blocks of a grid in rust-hdl's simulator.

use arch::timing;
use hdl::{Design, Inputs, Model};
use sim::grid::{CycleResult, Grid};

pub(crate) struct Modelled(Model);

impl Modelled {
    /// A grid after its reset.
    pub(crate) fn new<'a>(design: impl Into<Design<'a>>) -> Modelled {
        let mut model = Model::new(design);
        for _ in 0..2 {
            model.cycle(&Inputs { reset: true, ..Inputs::default() });
        }
        Modelled(model)
    }
}

impl Grid for Modelled {
    fn control_write(&mut self, address: u32, data: u32) {
        self.0.cycle(&Inputs { control_write: Some((address, data)), ..Inputs::default() });
    }

    fn control_read(&mut self, address: u32) -> u32 {
        for _ in 0..timing::CONTROL_READ {
            self.0.cycle(&Inputs { control_address: address, ..Inputs::default() });
        }
        self.0.outputs().control_read
    }

    fn cycle(&mut self, input: Option<&[i64]>, output_ready: bool) -> CycleResult {
        let in_data = input.map(<[i64]>::to_vec);
        let outputs = self.0.cycle(&Inputs { in_data, out_ready: output_ready, ..Inputs::default() });
        let output = if output_ready { outputs.out } else { Vec::new() };
        CycleResult { input_taken: input.is_some() && outputs.in_ready, output }
    }
}
