//! The generated Verilog as a simulator.

use crate::failure::Failure;
use crate::output::Talk;
use arch::Machine;
use sim::verilator::{GridDevice, Library, Options, VerilatorError};

/// A verilated grid; any number of devices share it.
pub struct Simulator {
    library: Library,
}

impl From<VerilatorError> for Failure {
    fn from(error: VerilatorError) -> Failure {
        match error {
            VerilatorError::File { .. } => Failure::File(error.to_string()),
            _ => Failure::Tool(format!("{error}")),
        }
    }
}

impl Simulator {
    /// Build it, or take it from the cache.
    ///
    /// # Errors
    /// Verilator or the C++ compiler is missing or fails.
    pub fn build(machine: &Machine, talk: Option<&Talk>) -> Result<Simulator, Failure> {
        if let Some(talk) = talk {
            talk.detail(format!("simulating the Verilog of {machine}"));
        }
        Ok(Simulator { library: Library::build(&hdl::elaborate(machine), &Options::default())? })
    }

    /// A grid after reset.
    pub fn device(&self, machine: &Machine) -> GridDevice {
        GridDevice::new(&self.library, machine)
    }
}
